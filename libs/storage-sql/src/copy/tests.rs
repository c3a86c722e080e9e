//! What a copy is, between all databases, and what it is not made of.

mod held;
mod interrupted;
mod place;
mod refused;

use armadex_model::label::{Operator, Requirement};
use armadex_model::query::{OrderBy, OrderField};
use armadex_model::{NameFilter, Query};
use armadex_storage::conformance::fixture::{all_pods, live};
use armadex_storage::conformance::model::random_batches_and_queries_agree_with_a_map;
use armadex_storage::conformance::{Fixture, object, resource};
use armadex_storage::{Change, Search as _, Sink as _};

use super::*;
use crate::backend::{Lane, rows};
use crate::sql::statement::Statement;
use place::Home;

/// Few enough that each table takes some transactions.
fn small() -> Pace {
    Pace {
        rows: 7,
        bytes: 300,
        ..Pace::default()
    }
}

async fn copied(from: &Home, to: &Home) -> Result<Copied, CopyError> {
    copy(&from.location, &to.location, &small(), &mut |_| {}).await
}

/// A copy that is begun, or goes on.
async fn begun(source: &Source, target: &Target) -> Progress {
    let (standing, key) = source.standing().await.expect("a standing");
    match target.begin(standing, &key).await.expect("begun") {
        Begun::Copying(progress) => progress,
        Begun::Whole(progress) => panic!("it is whole: {progress:?}"),
    }
}

/// Whatever the model does, and what is followed.
async fn fill(place: &Home) {
    let store = place.store().await;
    let fixture = Fixture::of(&store);
    random_batches_and_queries_agree_with_a_map(&fixture).await;
    store.shutdown().await;
    fill_a_little(place).await;
}

/// A cluster whose stream is followed, with something that is past.
async fn fill_a_little(place: &Home) {
    let store = place.store().await;
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("delta").await;
    let objects = (0..20).map(|number| {
        let id = format!("p-{number}");
        let pod = object("ns", &id).label("app", "web").label("id", &id);
        pod.created(1_700_000_000 + number)
    });
    let changes = objects.map(|object| Change::Put(object.build()));
    let batch = pods.batch(changes, Some(live("77")));
    store.write(batch).await.expect("written");
    let again = (0..9).map(|number| object("ns", &format!("p-{number}")).version("101"));
    fixture.put(&pods, again).await;
    fixture.delete(&pods, "ns", &["p-1", "p-19"]).await;
    fixture.purge(3).await;
    store.shutdown().await;
}

/// How many there are, and which, with their bodies.
type Answers = Vec<(u64, Vec<String>)>;

/// What is served, by several ways and in several orders.
async fn answers(fixture: &Fixture) -> Answers {
    let namespaces = Query::all(resource("", "namespaces", "Namespace", true).gvr);
    let (mut one, mut labelled, mut newest, mut sorted) =
        (all_pods(), all_pods(), all_pods(), all_pods());
    one.namespaces = NameFilter::only("a");
    labelled.labels = vec![Requirement {
        key: "app".into(),
        operator: Operator::In(["web".into(), "x".into()].into()),
    }];
    let by = |field| OrderBy {
        field,
        descending: true,
    };
    newest.order = vec![by(OrderField::CreatedAt)];
    sorted.order = vec![by(OrderField::Uid), by(OrderField::Cluster)];
    let mut answers = Vec::new();
    for query in [all_pods(), namespaces, one, labelled, newest, sorted] {
        let rows = fixture.rows(&query, 11).await;
        let rows = rows.iter().map(|row| format!("{row:?}")).collect();
        answers.push((fixture.count(&query).await, rows));
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_is_the_same_in_any_other_database() {
    for from in Home::kinds() {
        let Some(from) = Home::of(from) else {
            continue;
        };
        fill(&from).await;
        for to in Home::kinds() {
            if let Some(to) = Home::of(to) {
                same(&from, &to).await;
            }
        }
    }
}

async fn same(from: &Home, to: &Home) {
    let store = from.store().await;
    let before = store.head().await.expect("a head");
    let expected = answers(&Fixture::of(&store)).await;
    store.shutdown().await;
    let tables = from.tables().await;
    let done = copied(from, to).await.expect("copied");
    assert_eq!(done.revision, before.revision);
    for (expected, found) in tables.iter().zip(to.tables().await) {
        assert_eq!(*expected, found);
    }
    let retired = from.store().await;
    let left = retired.head().await.expect("a head");
    assert_eq!(left.revision, before.revision);
    assert_ne!(left.incarnation, before.incarnation, "it goes its own way");
    retired.shutdown().await;
    goes_on(to, &before, expected).await;
}

/// As if nothing had happened.
async fn goes_on(to: &Home, before: &armadex_storage::Head, expected: Answers) {
    let store = to.store().await;
    assert_eq!(store.head().await.expect("a head"), *before);
    let fixture = Fixture::of(&store);
    assert_eq!(answers(&fixture).await, expected);
    assert_eq!(store.check().await.expect("a report").faults, [""; 0]);
    let pods = fixture.pods_of("delta").await;
    assert_eq!(pods.stream.position, Some(live("77")), "there is no list");
    let changes = [Change::Put(object("ns", "new").label("app", "web").build())];
    let written = store.write(pods.batch(changes, Some(live("78")))).await;
    written.expect("written");
    let after = store.head().await.expect("a head");
    assert_eq!(after.incarnation, before.incarnation);
    assert!(after.revision > before.revision);
    fixture.purge(100).await;
    assert_eq!(store.check().await.expect("a report").faults, [""; 0]);
    store.shutdown().await;
    let again = to.store().await;
    assert_eq!(again.head().await.expect("a head"), after);
    again.shutdown().await;
}

/// A table or a column that is new has to be copied, too.
#[tokio::test]
async fn every_table_of_the_schema_is_copied_whole_and_in_the_order_of_its_key() {
    let place = Home::in_a_file();
    let database = place.database().await;
    let mut transaction = database.read(Lane::Search).await.expect("a read");
    let columns = Statement {
        name: "test.columns",
        sql: "SELECT m.name, c.name, c.pk FROM sqlite_master m JOIN pragma_table_info(m.name) c \
              WHERE m.type = 'table' AND m.name NOT IN ('head', 'meta') AND m.name NOT LIKE '\\_%' ESCAPE '\\' \
              AND m.name NOT LIKE 'sqlite%' ORDER BY m.name, c.name"
            .into(),
        params: vec![],
    };
    let found = rows(&mut *transaction, columns, |row| {
        Ok((row.text(0)?, row.text(1)?, row.int(2)?))
    });
    let found = found.await.expect("columns");
    transaction.rollback().await.expect("ended");
    database.close().await;
    let of = |table: &Table| {
        let columns = table.columns.iter().enumerate();
        let columns = columns.map(|(at, (column, _))| {
            let place = i64::try_from(at).expect("a few columns") + 1;
            let key = if at < table.key { place } else { 0 };
            (table.name.to_owned(), (*column).to_owned(), key)
        });
        columns.collect::<Vec<_>>()
    };
    let mut copied: Vec<_> = TABLES.iter().flat_map(of).collect();
    copied.sort();
    assert_eq!(copied, found);
}

/// A stream that nobody has written yet is opened as one that is to be listed.
#[tokio::test]
async fn a_stream_that_was_never_listed_is_listed() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    let store = from.store().await;
    Fixture::of(&store).pods_of("m").await;
    store.shutdown().await;
    copied(&from, &to).await.expect("copied");
    let store = to.store().await;
    let fixture = Fixture::of(&store);
    let joined = fixture.pods_of("m").await;
    assert_eq!(joined.stream.position, None);
    store.shutdown().await;
}
