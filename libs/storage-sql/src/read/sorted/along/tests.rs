//! How much is held of objects that have one value. SQLite.

use std::collections::BTreeSet;
use std::sync::Arc;

use armadex_model::Query;
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::conformance::{Fixture, object};

use super::*;
use crate::backend::Lane;
use crate::options::Options;
use crate::read::plan::plan;
use crate::store::SqlStore;

/// Namespaces that have an object of one name, as each has its `kube-root-ca.crt`.
const NAMESPACES: usize = 3000;
const WANTED: usize = 10;

/// All pages of an order, each of which holds no more than a few times what it gives.
async fn check(store: &SqlStore, fields: &[OrderField], column: SortColumn) {
    let by = |&field| OrderBy {
        field,
        descending: false,
    };
    let query = Query {
        order: fields.iter().map(by).collect(),
        ..all_pods()
    };
    let tuning = Tuning {
        rows: 100,
        ..Tuning::default()
    };
    let mut moment = store.moment(Lane::Search).await.expect("a reader");
    let plan = plan(&query, &moment.snapshot, &store.hasher).expect("a plan");
    let mut reading = Reading::new(&mut *moment.transaction, store.database.dialect(), &tuning);
    let (mut after, mut all) = (None, BTreeSet::new());
    let planned = &plan.types[0];
    // Each page reads all three thousand.
    for _ in 0..2 {
        let column = (column, false);
        let known = first_rows(&mut reading, &plan, planned, column, after.as_ref(), WANTED).await;
        let known = known.expect("a page").expect("few objects of one value");
        let held = known.rows.capacity();
        // What is wanted and an eighth as much again, what is read at a time, and what a vector has in reserve.
        let most = 2 * (WANTED + WANTED / 8 + tuning.rows);
        assert!(held <= most, "{held} for {WANTED} rows of {fields:?}");
        assert_eq!(known.rows.len(), WANTED);
        let ranks = known.rows.iter().map(|row| Rank::of_row(row, &plan.order));
        all.extend(ranks.map(|rank| rank.keys));
        after = known.rows.last().map(|row| Rank::of_row(row, &plan.order));
    }
    let uids = all.iter().map(|keys| keys[1].clone());
    let first = (0..2 * WANTED).map(|n| SortValue::Text(format!("{n:05}")));
    assert_eq!(Vec::from_iter(uids), Vec::from_iter(first), "{fields:?}");
    moment.transaction.rollback().await.expect("ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_objects_with_one_value_as_many_are_held_as_are_wanted() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = SqlStore::sqlite(&directory.path().join("store.db"), &Options::default()).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("m").await;
    let pod = |n: usize| {
        // A step that shares no factor with the count meets every number once.
        let uid = format!("{:05}", n * 7919 % NAMESPACES);
        object(&format!("ns-{n:05}"), "p").uid(&uid).created(7)
    };
    fixture.put(&pods, (0..NAMESPACES).map(pod)).await;
    check(
        &store,
        &[OrderField::Name, OrderField::Uid],
        SortColumn::Name,
    )
    .await;
    check(
        &store,
        &[OrderField::CreatedAt, OrderField::Uid],
        SortColumn::Created,
    )
    .await;
}
