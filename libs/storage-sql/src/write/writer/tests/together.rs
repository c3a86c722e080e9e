//! What a writer does to many clusters at once takes as many statements as what it does to one.

use super::*;
use crate::backend::rows;
use crate::backend::several::place::wait_until_a_row_is_waited_for;
use crate::sql::catalog::{self, HealthRow};

/// Rows that every dialect takes in one statement.
const MANY: usize = 32;

fn said(cluster: ClusterId, reason: &str, version: Option<&str>) -> Work {
    let health = Health {
        healthy: reason.is_empty(),
        reason: reason.into(),
    };
    Work::Health(cluster, String::new(), health, version.map(String::from))
}

/// What is recorded of clusters.
async fn recorded(fleet: &Fleet, clusters: &[ClusterId]) -> Vec<HealthRow> {
    let mut reader = fleet.database.read(Lane::Short).await.expect("a reader");
    let ids = Vec::from_iter(clusters.iter().map(|cluster| cluster.0));
    let statement = catalog::health_of(fleet.database.dialect(), &ids);
    let found = rows(&mut *reader, statement, catalog::decode_health).await;
    reader.rollback().await.expect("ended");
    let mut found = found.expect("rows");
    found.sort_by_key(|row| row.cluster);
    found
}

/// Statements of telling the health of clusters, the same again, and another.
async fn statements_of_health(place: Place, clusters: usize) -> [usize; 3] {
    let mut fleet = Fleet::in_place(place, clusters).await;
    let mut statements = [0; 3];
    for (count, reason) in statements.iter_mut().zip(["", "", "NotReachable"]) {
        let work = fleet.clusters.iter().rev();
        let work = work.map(|cluster| said(*cluster, reason, Some("v1.36.0")));
        *count = fleet.carry_out(work.collect()).await.1;
        let recorded = recorded(&fleet, &fleet.clusters).await;
        let told = recorded.iter().filter(|row| row.health.reason == reason);
        assert_eq!(told.count(), clusters);
    }
    statements
}

/// Who looks after the clusters, what is recorded, whoever looks after them until the end, what is new, and three for the catalogue. Of what is recorded only
/// the first two.
#[tokio::test]
async fn the_health_of_many_clusters_takes_as_many_statements_as_that_of_one() {
    for place in Place::of_each_kind() {
        assert_eq!(statements_of_health(place, 1).await, [7, 2, 7]);
    }
    for place in Place::of_each_kind() {
        assert_eq!(statements_of_health(place, MANY).await, [7, 2, 7]);
    }
}

#[tokio::test]
async fn of_what_is_said_of_a_cluster_at_once_the_last_counts_and_the_version_that_was_said_last() {
    for place in Place::of_each_kind() {
        let mut fleet = Fleet::in_place(place, 2).await;
        let [one, other] = fleet.clusters[..] else {
            panic!("two")
        };
        let told = async |fleet: &mut Fleet, work: Vec<Work>| {
            fleet.carry_out(work).await;
            let recorded = recorded(fleet, &[one, other]).await;
            let told = recorded.into_iter();
            Vec::from_iter(told.map(|row| (row.health.reason, row.version.unwrap_or_default())))
        };
        let row = |reason: &str, version: &str| (reason.to_owned(), version.to_owned());
        let work = vec![
            said(one, "first", Some("v1")),
            said(other, "other", None),
            said(one, "second", Some("v2")),
            said(one, "last", None),
        ];
        let expected = [row("last", "v2"), row("other", "")];
        assert_eq!(told(&mut fleet, work).await, expected);
        // What is known stays where none is said.
        let work = vec![said(one, "", None), said(other, "other", Some("v3"))];
        let expected = [row("", "v2"), row("other", "v3")];
        assert_eq!(told(&mut fleet, work).await, expected);
        let work = vec![said(one, "passing", None), said(one, "", None)];
        assert_eq!(told(&mut fleet, work).await, expected);
        assert!(fleet.tables.is_empty(), "{:?}", fleet.tables);
    }
}

/// Statements of closing the stream of each cluster.
async fn statements_of_closing(place: Place, clusters: usize) -> usize {
    let mut fleet = Fleet::in_place(place, clusters).await;
    fleet.open().await;
    let closes = fleet.clusters.iter().zip(&fleet.streams);
    let closes =
        closes.map(|(cluster, stream)| Work::Close(*cluster, Some(String::new()), stream.resource));
    fleet.carry_out(closes.collect()).await.1
}

#[tokio::test]
async fn each_stream_that_is_closed_together_with_others_takes_one_statement_more() {
    for (place, other) in Place::of_each_kind().zip(Place::of_each_kind()) {
        let one = statements_of_closing(place, 1).await;
        let many = statements_of_closing(other, MANY).await;
        assert_eq!(many - one, MANY - 1);
    }
}

/// Another one in which they are in another order would hold what this one waits for, and wait for what it has.
#[tokio::test]
async fn whoever_looks_after_clusters_is_held_in_the_order_of_their_numbers() {
    for place in Place::of_each_kind() {
        // In a file nobody else writes.
        let Some(engine) = place.engine() else {
            continue;
        };
        let location = place.url().parse().expect("a location");
        let mut fleet = Fleet::in_place(place, 3).await;
        let other = crate::open::database(&location, &Options::default()).await;
        let other = other.expect("a database");
        let [first, second, third] = fleet.clusters[..] else {
            panic!("three")
        };
        let mut holder = other.write().await.expect("a transaction");
        let hold = catalog::hold_owners(holder.dialect(), &[second.0]);
        rows(&mut *holder, hold, |row| row.int(0))
            .await
            .expect("held");
        let work = [third, second, first].map(|cluster| said(cluster, "a reason", None));
        let looking = async {
            wait_until_a_row_is_waited_for(engine, &other).await;
            let free = "SELECT id FROM cluster WHERE id = ? FOR UPDATE NOWAIT";
            let mut is_free = async |cluster: ClusterId| {
                let free = Statement::fixed("test.free", free, [cluster.0.into()]);
                rows(&mut *holder, free, |row| row.int(0)).await.is_ok()
            };
            assert!(is_free(third).await, "it comes after what is waited for");
            assert!(!is_free(first).await, "it comes before");
            holder.rollback().await.expect("let go");
        };
        tokio::join!(fleet.carry_out(work.into()), looking);
        assert_eq!(recorded(&fleet, &[first, second, third]).await.len(), 3);
    }
}
