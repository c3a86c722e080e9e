//! Random batches and random queries, against a plain map that can do no wrong.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use armadex_model::label::{Operator, Requirement};
use armadex_model::query::{NamespaceScope, OrderBy, OrderField, Scope, Searched, Start};
use armadex_model::{NameFilter, ObjectKey, Query, ResourceType};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::fixture::{Fixture, ObjectBuilder, RULES, Writer, name, object, path, resource};
use crate::{Change, ClusterId, Found, Health, MemberPosition, Phase, Stream};

/// The types of objects, by plural and kind; `status.phase` is indexed of both.
const KINDS: [(&str, &str); 2] = [("pods", "Pod"), ("namespaces", "Namespace")];
const CLUSTERS: [&str; 3] = ["alpha", "beta", "gamma"];
const NAMESPACES: [&str; 5] = ["", "a", "b", "default", "kube-system"];
const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
const KEYS: [&str; 3] = ["app", "tier", "zone"];
/// A label that most objects have a value of their own for.
const ID: &str = "id";
const VALUES: [&str; 4] = ["", "x", "y", "z"];
const PHASES: [&str; 3] = ["Pending", "Running", "Failed"];
/// Who the members say they are; a cluster that is made anew may be any of them.
const MEMBERS: [&str; 2] = ["red", "blue"];
/// Longer than a test takes.
const GRACE: Duration = Duration::from_secs(900);
const ROUNDS: u64 = 40;
const QUERIES: usize = 10;

/// What is known of an object.
#[derive(Clone, Debug)]
struct Known {
    uid: String,
    version: i64,
    created: i64,
    labels: BTreeMap<&'static str, String>,
    phase: &'static str,
}

/// Cluster, namespace, name: the page order within one type.
type Path = (&'static str, &'static str, &'static str);
/// A place in [`KINDS`], and the path.
type Key = (usize, Path);
type Model = BTreeMap<Key, Known>;

/// The clusters of one name.
#[derive(Default)]
struct Called {
    /// How many incarnations there were.
    incarnations: u32,
    present: Option<Joined>,
    /// Those that have left and may come back, the last to join at the end.
    away: Vec<Joined>,
}

/// An incarnation of a cluster that has joined.
struct Joined {
    id: ClusterId,
    incarnation: u32,
    /// Which of [`MEMBERS`] it is read from.
    member: &'static str,
    /// One for each of [`KINDS`].
    kinds: [Kind; KINDS.len()],
    health: Option<Health>,
    /// It is away, and a purge without grace has had a step since.
    may_be_gone: bool,
}

/// What is known of one type of a cluster.
#[derive(Default)]
struct Kind {
    /// `None`: it is closed, or nobody has opened it since the cluster came back.
    stream: Option<Stream>,
    /// It is shown.
    is_open: bool,
    position: Option<MemberPosition>,
    /// What it has while it is not shown, and may be shown again.
    kept: Model,
}

struct Dice(StdRng);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0.random_range(0..bound)
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn subset(&mut self, values: &[&str]) -> BTreeSet<String> {
        (0..self.below(4))
            .map(|_| self.pick(values).to_owned())
            .collect()
    }

    fn filter(&mut self, values: &[&str]) -> NameFilter {
        match self.below(5) {
            0 => NameFilter::In(self.subset(values)),
            1 => NameFilter::NotIn(self.subset(values)),
            _ => NameFilter::Any,
        }
    }
}

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

/// Where a run that failed is asked for again.
const SEED: &str = "ARMADEX_TEST_SEED";

fn seed() -> u64 {
    let asked = std::env::var(SEED).ok();
    asked.map_or_else(rand::random, |seed| seed.parse().expect("a number"))
}

async fn join(fixture: &Fixture, cluster: &str, incarnation: u32) -> ClusterId {
    let incarnation = incarnation.to_string();
    let joined = fixture.sink.join(&name(cluster), &incarnation, "").await;
    joined.expect("joined")
}

impl Called {
    /// The present one is hidden.
    fn leaves(&mut self, cluster: &str, model: &mut Model) {
        let Some(mut left) = self.present.take() else {
            return;
        };
        for (number, kind) in left.kinds.iter_mut().enumerate() {
            kind.stream = None;
            let rows = model.extract_if(.., |(of, path), _| *of == number && path.0 == cluster);
            kind.kept.extend(rows);
        }
        self.away.push(left);
        self.away.sort_by_key(|away| away.id);
    }
}

impl Joined {
    fn new(id: ClusterId, incarnation: u32, member: &'static str) -> Self {
        Self {
            id,
            incarnation,
            member,
            kinds: <[Kind; KINDS.len()]>::default(),
            health: None,
            may_be_gone: false,
        }
    }

    /// Whether all that it has was read from this member.
    fn is_of(&self, member: &str) -> bool {
        let positions = self.kinds.iter().filter_map(|kind| kind.position.as_ref());
        let mut members = positions.map(|position| position.member == member);
        members.next().is_some_and(|same| same) && members.all(|same| same)
    }
}

impl Kind {
    /// Its rows wait until somebody writes to it.
    fn hidden(self) -> Self {
        Self {
            is_open: false,
            ..self
        }
    }
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

fn described(kind: usize) -> ResourceType {
    let (plural, kind) = KINDS[kind];
    resource("", plural, kind, true)
}

/// Up to 25 changes of distinct keys, applied to the map as well.
fn changes(
    dice: &mut Dice,
    (kind, cluster): (usize, &'static str),
    round: u64,
    model: &mut Model,
) -> Vec<Change> {
    let count = 1 + dice.below(25);
    let paths: BTreeSet<Path> = (0..count)
        .map(|_| (cluster, dice.pick(&NAMESPACES), dice.pick(&NAMES)))
        .collect();
    paths
        .into_iter()
        .map(|path| change(dice, (kind, path), round, model))
        .collect()
}

fn change(dice: &mut Dice, key: Key, round: u64, model: &mut Model) -> Change {
    let path = key.1;
    if dice.one_in(4) {
        model.remove(&key);
        return Change::Delete(ObjectKey::new(path.1, path.2));
    }
    let known = match model.get(&key) {
        Some(known) if dice.one_in(5) => known.clone(),
        Some(known) if !dice.one_in(4) => {
            let mut changed = known.clone();
            changed.version += 1;
            if dice.one_in(2) {
                changed.labels = labels(dice, &changed.uid);
                changed.phase = dice.pick(&PHASES);
            }
            changed
        }
        _ => {
            let uid = format!("{:08x}-{round}", dice.0.random::<u32>());
            Known {
                version: 100 + dice.below(50) as i64,
                created: 1_700_000_000 + dice.below(6) as i64,
                labels: labels(dice, &uid),
                phase: dice.pick(&PHASES),
                uid,
            }
        }
    };
    let stored = build(path, &known);
    model.insert(key, known);
    Change::Put(stored.build())
}

fn labels(dice: &mut Dice, uid: &str) -> BTreeMap<&'static str, String> {
    let mut labels: BTreeMap<&str, String> = (0..dice.below(4))
        .map(|_| (dice.pick(&KEYS), dice.pick(&VALUES).to_owned()))
        .collect();
    match dice.below(12) {
        0 => {}
        1 => drop(labels.insert(ID, dice.pick(&VALUES).to_owned())),
        _ => drop(labels.insert(ID, uid.to_owned())),
    }
    labels
}

fn build(path: Path, known: &Known) -> ObjectBuilder {
    let plain = object(path.1, path.2)
        .uid(&known.uid)
        .version(&known.version.to_string())
        .created(known.created)
        .field("status.phase", known.phase);
    known
        .labels
        .iter()
        .fold(plain, |object, (key, value)| object.label(key, value))
}

fn query(dice: &mut Dice, model: &Model) -> Query {
    let fields = [
        OrderField::Cluster,
        OrderField::Namespace,
        OrderField::Name,
        OrderField::CreatedAt,
        OrderField::ResourceVersion,
        OrderField::Uid,
    ];
    let keys = if dice.one_in(2) { 0 } else { 1 + dice.below(2) };
    Query {
        types: types(dice),
        clusters: dice.filter(&CLUSTERS),
        namespaces: dice.filter(&NAMESPACES),
        names: dice.filter(&NAMES),
        labels: (0..dice.below(3))
            .map(|_| label_requirement(dice, model))
            .collect(),
        fields: (0..dice.below(4) / 3)
            .map(|_| field_requirement(dice))
            .collect(),
        order: (0..keys)
            .map(|_| OrderBy {
                field: dice.pick(&fields),
                descending: dice.one_in(2),
            })
            .collect(),
    }
}

/// One type or both, either first, each with what may be seen of it.
fn types(dice: &mut Dice) -> Vec<Searched> {
    let first = dice.below(KINDS.len());
    let mut kinds = vec![first];
    if dice.one_in(3) {
        kinds.push(1 - first);
    }
    let searched = kinds.into_iter().map(|kind| Searched {
        resource: described(kind).gvr,
        scope: scope(dice),
    });
    searched.collect()
}

fn scope(dice: &mut Dice) -> Scope {
    if !dice.one_in(4) {
        return Scope::Everything;
    }
    let clusters = dice.subset(&CLUSTERS).into_iter().map(|cluster| {
        let allowed = match dice.one_in(2) {
            true => NamespaceScope::All,
            false => NamespaceScope::Only(dice.subset(&NAMESPACES)),
        };
        (cluster, allowed)
    });
    Scope::Clusters(clusters.collect())
}

fn label_requirement(dice: &mut Dice, model: &Model) -> Requirement {
    let key = if dice.one_in(3) { ID } else { dice.pick(&KEYS) };
    let mut values = dice.subset(&VALUES);
    if key == ID && !model.is_empty() {
        let ids: Vec<&str> = model.values().map(|known| known.uid.as_str()).collect();
        values.extend(dice.subset(&ids));
    }
    let operator = match dice.below(4) {
        0 => Operator::In(values),
        1 => Operator::NotIn(values),
        2 => Operator::Exists,
        _ => Operator::DoesNotExist,
    };
    Requirement {
        key: key.to_owned(),
        operator,
    }
}

fn field_requirement(dice: &mut Dice) -> Requirement {
    let phases = dice.subset(&PHASES);
    let operator = if dice.one_in(2) {
        Operator::In(phases)
    } else {
        Operator::NotIn(phases)
    };
    Requirement {
        key: "status.phase".into(),
        operator,
    }
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

/// The rows that a query must give, as [`full_path`] shows them.
fn evaluate(model: &Model, query: &Query) -> Vec<String> {
    let mut rows: Vec<Candidate<'_>> = Vec::new();
    for (place, searched) in query.types.iter().enumerate() {
        let of_type = model
            .iter()
            .filter(|((kind, _), _)| described(*kind).gvr == searched.resource);
        let admitted = of_type.filter(|((_, path), known)| {
            in_scope(&searched.scope, path) && admits(query, path, known)
        });
        rows.extend(admitted.map(|((kind, path), known)| Candidate {
            kind: *kind,
            place: (place, *path),
            known,
        }));
    }
    rows.sort_by(|a, b| {
        let orderings = query.order.iter().map(|key| {
            let ordering = compare_by(key.field, a, b);
            if key.descending {
                ordering.reverse()
            } else {
                ordering
            }
        });
        orderings
            .into_iter()
            .find(|o| o.is_ne())
            .unwrap_or_else(|| a.place.cmp(&b.place))
    });
    rows.iter()
        .map(|row| {
            let (cluster, namespace, name) = row.place.1;
            format!("{} {cluster}/{namespace}/{name}", KINDS[row.kind].1)
        })
        .collect()
}

/// A row that a query may give.
struct Candidate<'a> {
    kind: usize,
    /// The page order: which of the query's types, and the path.
    place: (usize, Path),
    known: &'a Known,
}

fn compare_by(field: OrderField, a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
    let ((_, one), (_, other)) = (a.place, b.place);
    match field {
        OrderField::Cluster => one.0.cmp(other.0),
        OrderField::Namespace => one.1.cmp(other.1),
        OrderField::Name => one.2.cmp(other.2),
        OrderField::CreatedAt => a.known.created.cmp(&b.known.created),
        OrderField::ResourceVersion => a.known.version.cmp(&b.known.version),
        OrderField::Uid => a.known.uid.cmp(&b.known.uid),
    }
}

fn in_scope(scope: &Scope, path: &Path) -> bool {
    match scope {
        Scope::Everything => true,
        Scope::Clusters(allowed) => match allowed.get(path.0) {
            None => false,
            Some(NamespaceScope::All) => true,
            Some(NamespaceScope::Only(names)) => names.contains(path.1),
        },
    }
}

fn admits(query: &Query, path: &Path, known: &Known) -> bool {
    let label = |r: &Requirement| {
        holds(
            &r.operator,
            known.labels.get(r.key.as_str()).map(String::as_str),
        )
    };
    let field = |r: &Requirement| holds(&r.operator, Some(known.phase));
    query.clusters.admits(path.0)
        && query.namespaces.admits(path.1)
        && query.names.admits(path.2)
        && query.labels.iter().all(label)
        && query.fields.iter().all(field)
}

fn holds(operator: &Operator, value: Option<&str>) -> bool {
    match operator {
        Operator::In(values) => value.is_some_and(|value| values.contains(value)),
        Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::GreaterThan(_) | Operator::LessThan(_) => false,
    }
}
