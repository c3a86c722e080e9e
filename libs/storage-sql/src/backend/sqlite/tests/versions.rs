//! Versions that are past: kept as long as asked, and no longer.

use super::*;

/// Revisions of all versions, oldest first.
async fn versions(store: &SqlStore) -> Vec<i64> {
    let mut transaction = store
        .database
        .read(Lane::Short)
        .await
        .expect("a transaction");
    let statement = crate::sql::object::log(0, i64::MAX, 1000);
    let log = rows(&mut *transaction, statement, crate::sql::object::decode_log).await;
    log.expect("a log").iter().map(|row| row.rev).collect()
}

#[tokio::test]
async fn superseded_versions_and_tombstones_are_kept_as_long_as_asked_and_no_longer() {
    let place = Place::new();
    let options = Options {
        retention: 2,
        ..Options::default()
    };
    let store = SqlStore::sqlite(&place.path(), &options)
        .await
        .expect("a store");
    let store = Arc::new(store);
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    for version in ["1", "2", "3"] {
        let put = Change::Put(object("ns", "a").version(version).build());
        fixture.write(&pods, [put]).await.expect("written");
    }
    fixture.delete(&pods, "ns", &["a"]).await;
    assert_eq!(versions(&store).await, [1, 2, 3, 4]);
    fixture.purge(1).await;
    assert_eq!(versions(&store).await, [2, 3, 4]);
    fixture
        .put(&pods, [object("ns", "b"), object("ns", "c").version("7")])
        .await;
    fixture.put(&pods, [object("ns", "c").version("8")]).await;
    fixture.purge(10).await;
    assert_eq!(versions(&store).await, [5, 6, 7]);
    fixture
        .sink
        .close(pods.cluster, pods.stream.resource)
        .await
        .expect("closed");
    assert_eq!(fixture.purge(1).await, 2);
    assert!(versions(&store).await.is_empty());
    store.shutdown().await;
}

/// Versions that were kept under a longer retention go as well once it is none.
#[tokio::test]
async fn lowering_retention_to_nothing_leaves_no_version_behind() {
    let place = Place::new();
    for retention in [100, 0] {
        let options = Options {
            retention,
            ..Options::default()
        };
        let store = SqlStore::sqlite(&place.path(), &options).await;
        let store = Arc::new(store.expect("a store"));
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("member1").await;
        for version in 0..4 {
            let version = format!("{}", retention * 10 + version);
            let pod = object("ns", "a").version(&version);
            fixture.put(&pods, [pod]).await;
        }
        while !store
            .purge(2, std::time::Duration::ZERO)
            .await
            .expect("purged")
            .finished
        {}
        if retention == 0 {
            assert_eq!(versions(&store).await, [8]);
        }
        store.shutdown().await;
    }
}
