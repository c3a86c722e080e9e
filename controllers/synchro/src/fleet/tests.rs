//! Clusters that come and go, with scripted members and a real store.

use crate::testing::{ScriptedMember, Stage, pedia_cluster, relist};
use std::time::Duration;

const GRACE: Duration = Duration::from_secs(900);

#[tokio::test]
async fn a_control_plane_that_was_empty_for_a_while_costs_no_list() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid-of-member", &["a", "b"]).await;
    let mut fleet = stage.synchro("");
    relist(&mut fleet, [pedia_cluster("m", "first", &member)]);
    stage.shows(&["m/n/a", "m/n/b"]).await;
    member.until_watched(1).await;

    relist(&mut fleet, []);
    stage.shows(&[]).await;
    let purged = stage.store.sink.purge(100, GRACE).await.expect("purged");
    assert_eq!(purged.objects, 0, "they are kept");

    relist(&mut fleet, [pedia_cluster("m", "second", &member)]);
    stage.shows(&["m/n/a", "m/n/b"]).await;
    member.until_watched(2).await;
    assert_eq!(member.requests(), ["list", "watch", "watch"]);
    fleet.shutdown().await;
}

#[tokio::test]
async fn another_member_under_an_old_name_brings_nothing_back() {
    let stage = Stage::new().await;
    let before = ScriptedMember::start("uid-before", &["a"]).await;
    let after = ScriptedMember::start("uid-after", &["z"]).await;
    let mut fleet = stage.synchro("");
    relist(&mut fleet, [pedia_cluster("m", "first", &before)]);
    stage.shows(&["m/n/a"]).await;
    relist(&mut fleet, []);
    stage.shows(&[]).await;
    relist(&mut fleet, [pedia_cluster("m", "second", &after)]);
    stage.shows(&["m/n/z"]).await;
    fleet.shutdown().await;
}

#[tokio::test]
async fn clusters_that_left_while_nobody_looked_are_found_by_their_owner() {
    let stage = Stage::new().await;
    let member = ScriptedMember::start("uid", &["a"]).await;
    let mut fleet = stage.synchro("");
    relist(
        &mut fleet,
        ["m", "stays"].map(|name| pedia_cluster(name, name, &member)),
    );
    stage.shows(&["m/n/a", "stays/n/a"]).await;
    fleet.shutdown().await;

    // Another synchro, of the same store and of a control plane that has neither.
    let mut other = stage.synchro("other");
    relist(&mut other, []);
    other.is_swept().await;
    stage.shows(&["m/n/a", "stays/n/a"]).await;
    other.shutdown().await;

    let mut again = stage.synchro("");
    relist(&mut again, [pedia_cluster("stays", "stays", &member)]);
    stage.shows(&["stays/n/a"]).await;
    again.shutdown().await;
}
