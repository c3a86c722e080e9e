//! Random batches and random queries, against a plain map that can do no wrong.

mod dice;
mod draw;
mod evaluate;
mod fleet;
mod map;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use armadex_model::query::Start;
use armadex_model::{ObjectKey, Query};
use rand::SeedableRng;
use rand::rngs::StdRng;

use self::dice::{Dice, SEED, seed};
use self::draw::{changes, query};
use self::evaluate::evaluate;
use self::fleet::{Called, Joined, Kind};
use self::map::{CLUSTERS, KINDS, Key, MEMBERS, Model, described};
use super::fixture::{Fixture, RULES, Writer, name, path};
use crate::{Change, ClusterId, Found, Health, MemberPosition, Phase};

/// Longer than a test takes.
const GRACE: Duration = Duration::from_secs(900);
const ROUNDS: u64 = 40;
const QUERIES: usize = 10;

/// Lists and counts agree with the map after every batch, for any page size; so do the store's index and counters with its objects.
#[allow(clippy::print_stdout, reason = "the seed is shown when the test fails")]
pub async fn random_batches_and_queries_agree_with_a_map(fixture: &Fixture) {
    let seed = seed();
    println!("run again with {SEED}={seed}");
    let mut dice = Dice(StdRng::seed_from_u64(seed));
    let mut model = Model::new();
    let mut fleet: BTreeMap<&'static str, Called> = BTreeMap::new();
    for round in 0..ROUNDS {
        let cluster = dice.pick(&CLUSTERS);
        let called = fleet.entry(cluster).or_default();
        come_and_go(fixture, &mut dice, (cluster, called), &mut model).await;
        if let Some(joined) = &mut called.present {
            if dice.one_in(4) {
                report_health(fixture, &mut dice, joined).await;
            }
            let kind = dice.below(KINDS.len());
            work(
                fixture,
                &mut dice,
                (cluster, joined, kind),
                round,
                &mut model,
            )
            .await;
        }
        if dice.one_in(3) {
            let grace = dice.pick(&[GRACE, Duration::ZERO]);
            fixture.sink.purge(10, grace).await.expect("purged");
            let away = fleet.values_mut().flat_map(|called| &mut called.away);
            away.for_each(|away| away.may_be_gone |= grace.is_zero());
        }
        fixture.assert_sound().await;
        compare_catalog(fixture, &fleet).await;
        for _ in 0..QUERIES {
            let query = query(&mut dice, &model);
            compare(fixture, &model, &query, &mut dice).await;
        }
    }
}

/// A cluster leaves, stays away or comes back, as itself or as another that may be the same member.
async fn come_and_go(
    fixture: &Fixture,
    dice: &mut Dice,
    (cluster, called): (&'static str, &mut Called),
    model: &mut Model,
) {
    match &called.present {
        Some(joined) if dice.one_in(10) => {
            let incarnation = joined.incarnation.to_string();
            let left = fixture.sink.leave(&name(cluster), &incarnation).await;
            left.expect("left");
            called.leaves(cluster, model);
        }
        Some(_) if dice.one_in(20) => joins_anew(fixture, dice, (cluster, called), model).await,
        None if !called.away.is_empty() && dice.one_in(3) => {
            let back = called.away.remove(dice.below(called.away.len()));
            comes_back(fixture, (cluster, called), back, model).await;
        }
        None if called.away.is_empty() || dice.one_in(3) => {
            joins_anew(fixture, dice, (cluster, called), model).await;
        }
        _ => {}
    }
}

/// The same incarnation: what it showed is shown again, if it is kept.
async fn comes_back(
    fixture: &Fixture,
    (cluster, called): (&'static str, &mut Called),
    mut back: Joined,
    model: &mut Model,
) {
    let id = join(fixture, cluster, back.incarnation).await;
    if id != back.id {
        assert!(back.may_be_gone, "{cluster} is lost");
        called.present = Some(Joined::new(id, back.incarnation, back.member));
        return;
    }
    back.may_be_gone = false;
    for kind in &mut back.kinds {
        if kind.is_open {
            model.append(&mut kind.kept);
        }
    }
    called.present = Some(back);
}

/// Another incarnation, which goes on with what the last one had that had anything, if that was the same member.
async fn joins_anew(
    fixture: &Fixture,
    dice: &mut Dice,
    (cluster, called): (&'static str, &mut Called),
    model: &mut Model,
) {
    called.leaves(cluster, model);
    called.incarnations += 1;
    let (incarnation, member) = (called.incarnations, dice.pick(&MEMBERS));
    let id = join(fixture, cluster, incarnation).await;
    let new = Joined::new(id, incarnation, member);
    let adopts = dice.one_in(2);
    called.present = Some(match adopts {
        true => adopt(fixture, (cluster, called), new).await,
        false => new,
    });
}

/// The new one with what a former one had, if there is one.
async fn adopt(
    fixture: &Fixture,
    (cluster, called): (&'static str, &mut Called),
    new: Joined,
) -> Joined {
    let (name, incarnation) = (name(cluster), new.incarnation.to_string());
    let adopted = fixture.sink.adopt(&name, &incarnation, new.member).await;
    let adopted = adopted.expect("an answer");
    let may_be = |away: &Joined| away.is_of(new.member);
    let expected = called
        .away
        .iter()
        .rposition(|away| may_be(away) && !away.may_be_gone);
    let found = called.away.iter().position(|away| away.id == adopted);
    assert!(
        found >= expected,
        "{cluster} did not take the last one over"
    );
    let Some(found) = found else {
        assert_eq!(adopted, new.id);
        return new;
    };
    let former = called.away.remove(found);
    assert!(may_be(&former), "{cluster} of {}", new.member);
    Joined {
        incarnation: new.incarnation,
        kinds: former.kinds.map(Kind::hidden),
        may_be_gone: false,
        ..former
    }
}

/// Some changes of a stream, or its end.
async fn work(
    fixture: &Fixture,
    dice: &mut Dice,
    (cluster, joined, number): (&'static str, &mut Joined, usize),
    round: u64,
    model: &mut Model,
) {
    let (id, member) = (joined.id, joined.member);
    let kind = &mut joined.kinds[number];
    if kind.stream.is_none() {
        open(fixture, (id, cluster), (number, kind), model).await;
    }
    let stream = kind.stream.clone().expect("opened");
    if dice.one_in(5) {
        let closed = fixture.sink.close(id, stream.resource).await;
        closed.expect("closed");
        *kind = Kind::default();
        model.retain(|(of, path), _| *of != number || path.0 != cluster);
        return;
    }
    let changes = changes(dice, (number, cluster), round, model);
    if !dice.one_in(3) {
        kind.position = Some(MemberPosition {
            resource_version: round.to_string(),
            member: member.to_owned(),
            phase: dice.pick(&[Phase::Listing, Phase::Live]),
        });
    }
    let writer = Writer {
        cluster: id,
        stream,
    };
    let batch = writer.batch(changes, kind.position.clone());
    fixture.sink.write(batch).await.expect("written");
}

async fn join(fixture: &Fixture, cluster: &str, incarnation: u32) -> ClusterId {
    let incarnation = incarnation.to_string();
    let joined = fixture.sink.join(&name(cluster), &incarnation, "").await;
    joined.expect("joined")
}

/// Opens a stream, which stands where it stood and has what it had; of what a closed one has left behind, it removes everything, as whoever
/// compares it with the member does.
async fn open(
    fixture: &Fixture,
    (cluster, name): (ClusterId, &'static str),
    (number, kind): (usize, &mut Kind),
    model: &mut Model,
) {
    let is_here = |(of, path): &Key| *of == number && path.0 == name;
    let opened = fixture.sink.open(cluster, &described(number), RULES).await;
    let stream = opened.expect("opened");
    let rest = fixture.sink.keys(cluster, stream.resource, None, 1000);
    let rest = rest.await.expect("keys");
    let writer = Writer {
        cluster,
        stream: stream.clone(),
    };
    if kind.position.is_some() {
        assert_eq!(stream.position, kind.position);
        assert_eq!(stream.hidden, !kind.is_open);
        fixture.write(&writer, []).await.expect("written");
        model.append(&mut kind.kept);
        let known = model.keys().filter(|key| is_here(key));
        let known = known.map(|(_, path)| ObjectKey::new(path.1, path.2));
        let (known, rest) = (BTreeSet::from_iter(known), BTreeSet::from_iter(rest));
        assert_eq!(rest, known, "rows of {name}");
    } else {
        let phase = stream.position.as_ref().map(|position| position.phase);
        let expected = (!rest.is_empty()).then_some(Phase::Listing);
        assert_eq!(phase, expected, "rows that are left must be compared");
        let gone: Vec<Change> = rest.into_iter().map(Change::Delete).collect();
        fixture.write(&writer, gone).await.expect("written");
        model.retain(|key, _| !is_here(key));
        kind.kept.clear();
    }
    kind.is_open = true;
    kind.stream = Some(stream);
}

async fn report_health(fixture: &Fixture, dice: &mut Dice, joined: &mut Joined) {
    let health = Health {
        healthy: dice.one_in(2),
        reason: dice.pick(&["", "refused", "too late"]).to_owned(),
    };
    let told = fixture.sink.set_health(joined.id, &health, None).await;
    told.expect("told");
    joined.health = Some(health);
}

/// Readers know which clusters there are, what is shown of them, and how they are.
async fn compare_catalog(fixture: &Fixture, fleet: &BTreeMap<&'static str, Called>) {
    let catalog = fixture.search.catalog().await.expect("a catalogue");
    let found: Vec<_> = catalog
        .clusters
        .iter()
        .map(|(name, entry)| {
            let resources = Vec::from_iter(entry.resources.iter().cloned());
            (name.to_string(), resources, entry.health.clone())
        })
        .collect();
    let present = fleet.iter().filter_map(|(name, called)| {
        let joined = called.present.as_ref()?;
        Some((*name, joined))
    });
    let expected = present.map(|(name, joined)| {
        let open = (0..KINDS.len()).filter(|&kind| joined.kinds[kind].is_open);
        let mut resources: Vec<_> = open.map(|kind| described(kind).gvr).collect();
        resources.sort();
        (name.to_owned(), resources, joined.health.clone())
    });
    assert_eq!(found, Vec::from_iter(expected));
}

async fn compare(fixture: &Fixture, model: &Model, query: &Query, dice: &mut Dice) {
    let expected = evaluate(model, query);
    let rows = 1 + dice.below(30);
    let page_size = u32::try_from(rows).expect("small");
    let listed = fixture.rows(query, page_size).await;
    let listed: Vec<String> = listed.iter().map(full_path).collect();
    assert_eq!(listed, expected, "{query:#?} in pages of {rows}");
    let count = fixture.count(query).await;
    assert_eq!(count, expected.len() as u64, "{query:#?}");
    let offset = dice.below(20);
    let start = Start::Offset(offset as u64);
    let Some(found) = fixture.rows_from(query, &start, page_size).await else {
        return;
    };
    let found: Vec<String> = found.iter().map(full_path).collect();
    let part: Vec<String> = expected.iter().skip(offset).take(rows).cloned().collect();
    assert_eq!(found, part, "{query:#?} from {offset}");
}

/// `Kind cluster/namespace/name`.
fn full_path(row: &Found) -> String {
    format!("{} {}", row.resource.kind, path(row))
}
