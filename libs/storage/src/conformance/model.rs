//! Random batches and random queries, against a plain map that can do no wrong.

mod compare;
mod dice;
mod draw;
mod evaluate;
mod fleet;
pub mod former;
mod lists;
mod map;
mod orders;
mod settle;

use std::time::Duration;

use armadex_model::GroupVersionResource;
use rand::SeedableRng;
use rand::rngs::StdRng;

use self::compare::compare;
use self::dice::{Dice, SEED, seed};
use self::draw::query;
use self::fleet::Fleet;
use self::lists::Lists;
use self::map::{KINDS, Model, described};
use self::orders::{Beside, orders_at_once};
use super::fixture::Fixture;

/// Longer than a test takes.
const GRACE: Duration = Duration::from_secs(900);
const ROUNDS: u64 = 24;
const QUERIES: usize = 10;

/// Lists and counts agree with the map whatever was ordered at once, for any page size; so do the store's index and counters with its objects.
#[allow(clippy::print_stdout, reason = "the seed is shown when the test fails")]
pub async fn random_batches_and_queries_agree_with_a_map(fixture: &Fixture) {
    let seed = seed();
    println!("run again with {SEED}={seed}");
    let mut dice = Dice(StdRng::seed_from_u64(seed));
    let mut model = Model::new();
    let mut fleet = Fleet::new();
    let (mut lists, mut beside) = (Lists::default(), Beside::default());
    for round in 0..ROUNDS {
        let orders = orders_at_once(fixture, &mut dice, &mut fleet, round, &mut model);
        beside.add(lists.during(fixture, orders).await);
        if dice.one_in(3) {
            let grace = dice.pick(&[GRACE, Duration::ZERO]);
            let purge = fixture.sink.purge(10, grace);
            lists.across(fixture, purge).await.expect("purged");
            let away = fleet.values_mut().flat_map(|called| &mut called.away);
            away.for_each(|away| away.may_be_gone |= grace.is_zero());
        }
        fixture.assert_sound().await;
        compare_catalog(fixture, &fleet).await;
        for _ in 0..QUERIES {
            let query = query(&mut dice, &model);
            compare(fixture, (&model, &fleet), &query, &mut dice).await;
        }
    }
    let purge = fixture.sink.purge(10, GRACE);
    lists.across(fixture, purge).await.expect("purged");
    beside.print();
}

/// Readers know which clusters there are, what is shown of them, and how they are.
async fn compare_catalog(fixture: &Fixture, fleet: &Fleet) {
    let catalog = fixture.search.catalog().await.expect("a catalogue");
    let found: Vec<_> = catalog
        .clusters
        .iter()
        .map(|(name, entry)| {
            let resources = entry.resources.iter();
            let resources: Vec<_> = resources
                .map(|gvr| GroupVersionResource::clone(gvr))
                .collect();
            let labels = entry.labels.clone();
            (name.to_string(), resources, entry.health.clone(), labels)
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
        let labels = joined.labels.clone();
        (name.to_owned(), resources, joined.health.clone(), labels)
    });
    assert_eq!(found, Vec::from_iter(expected));
}
