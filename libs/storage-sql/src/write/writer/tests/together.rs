//! What a writer does to many clusters at once takes as many statements as what it does to one.

use super::*;
use crate::backend::rows;
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
