//! What a store says of itself.

use super::*;

#[tokio::test]
async fn stats_add_up_what_is_stored_of_each_type_and_cluster() {
    let place = Home::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    let labelled = |name| object("ns", name).label("app", "web").version("1");
    fixture.put(&pods, ["a", "b", "c"].map(labelled)).await;
    fixture.put(&pods, [labelled("a").version("2")]).await;
    fixture.delete(&pods, "ns", &["b"]).await;
    let other = fixture.pods_of("member2").await;
    fixture.put(&other, [object("ns", "d")]).await;
    let member = armadex_storage::conformance::fixture::name("member2");
    let left = fixture.sink.leave(&member, "incarnation-1");
    left.await.expect("left");
    let stats = store.stats().await.expect("stats");
    // The last one is that a cluster left, which is nothing that a type of it has.
    assert_eq!((stats.revision, stats.pruned), (7, 0));
    assert_eq!(stats.shares.len(), 2);
    let named: Vec<(&str, bool, &str)> = stats
        .shares
        .iter()
        .map(|share| {
            (
                share.cluster.as_str(),
                share.has_left,
                share.resource.as_str(),
            )
        })
        .collect();
    assert_eq!(named[0], ("member1", false, "pods"));
    let share = &stats.shares[0];
    // Two versions were superseded, and one is a tombstone; two objects are left under two terms each.
    assert_eq!((share.objects, share.past), (2, 3));
    assert_eq!((share.blocks, share.entries), (2, 4));
    // Two that were superseded, with their names and rows.
    let rows = 2 * (128 + 1);
    assert!(share.past_bytes > rows && share.past_bytes < share.stored_bytes + rows);
    let size = object("ns", "a").build().body.len() as u64;
    assert_eq!(share.served_bytes, 2 * size);
    assert_eq!((stats.shares[1].objects, stats.shares[1].past), (1, 0));
    let tables = &stats.disk.tables;
    assert!(
        tables
            .iter()
            .any(|(name, bytes)| name == "ver" && *bytes > 0)
    );
    assert!(stats.disk.total >= tables.iter().map(|(_, bytes)| bytes).sum());
}
