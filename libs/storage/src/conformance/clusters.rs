//! Clusters and types that come and go.

use std::time::Duration;

use armadex_model::{ClusterName, Query, ResourceType};

use super::fixture::{Fixture, RULES, Writer, all_pods, live, name, object, resource};
use crate::{Change, Health, Heard, Joined, MemberPosition, Phase, StoreError, StreamState};

/// The same incarnation is the same cluster.
pub async fn joining_twice_is_joining_once(fixture: &Fixture) {
    let first = fixture
        .sink
        .join(&name("member1"), "incarnation-1", "")
        .await
        .expect("joined");
    let second = fixture
        .sink
        .join(&name("member1"), "incarnation-1", "")
        .await
        .expect("joined");
    assert_eq!(first, second);
}

/// No old row, no old position.
pub async fn a_cluster_that_joins_again_is_empty(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "old")]).await;
    fixture
        .sink
        .write(pods.batch([], Some(live("7"))))
        .await
        .expect("written");
    let cluster = fixture
        .sink
        .join(&name("member1"), "incarnation-2", "")
        .await
        .expect("joined");
    assert_ne!(cluster, pods.cluster);
    assert!(fixture.list(&all_pods(), 10).await.is_empty());
    let stream = fixture
        .sink
        .open(cluster, "", &resource("", "pods", "Pod", true), RULES)
        .await;
    let stream = stream.expect("opened");
    assert_eq!(stream.position, None);
    let again = super::fixture::Writer { cluster, stream };
    fixture.put(&again, [object("ns", "new")]).await;
    assert_eq!(fixture.list(&all_pods(), 10).await, ["member1/ns/new"]);
    assert_eq!(fixture.purge(100).await, 1);
    assert_eq!(fixture.list(&all_pods(), 10).await, ["member1/ns/new"]);
    assert_eq!(fixture.count(&all_pods()).await, 1);
}

/// A message that took its time harms nobody.
pub async fn a_late_leave_of_a_former_incarnation_changes_nothing(fixture: &Fixture) {
    fixture
        .sink
        .join(&name("member1"), "incarnation-0", "")
        .await
        .expect("joined");
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    fixture
        .sink
        .leave(&name("member1"), "incarnation-0")
        .await
        .expect("no error");
    fixture
        .sink
        .leave(&name("stranger"), "incarnation-0")
        .await
        .expect("no error");
    assert_eq!(fixture.list(&all_pods(), 10).await, ["member1/ns/a"]);
}

/// Hidden in the moment of leaving, removed by and by; neighbours are not touched.
pub async fn leaving_hides_at_once_and_purging_removes(fixture: &Fixture) {
    let mut writers = Vec::new();
    for cluster in ["a", "b", "c"] {
        let pods = fixture.pods_of(cluster).await;
        let objects = (0..7).map(|n| object("ns", &format!("pod-{n}")).label("app", "web"));
        fixture.put(&pods, objects).await;
        writers.push(pods);
    }
    fixture
        .sink
        .leave(&name("b"), "incarnation-1")
        .await
        .expect("left");
    assert!(
        fixture
            .list(&all_pods(), 4)
            .await
            .iter()
            .all(|row| !row.starts_with("b/"))
    );
    assert_eq!(fixture.count(&all_pods()).await, 14);
    let catalog = fixture.search.catalog().await.expect("catalog");
    assert_eq!(catalog.clusters.len(), 2);
    assert_eq!(fixture.purge(2).await, 7);
    assert_eq!(fixture.list(&all_pods(), 4).await.len(), 14);
    assert!(
        fixture
            .sink
            .streams(writers[1].cluster)
            .await
            .expect("streams")
            .is_empty()
    );
}

const GRACE: Duration = Duration::from_secs(900);

/// As it left: with its rows, its positions and its health, for whoever looks now and for whoever looked before.
pub async fn a_cluster_that_comes_back_in_time_is_as_it_was(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let at = pods.batch([], Some(live("7")));
    fixture.sink.write(at).await.expect("written");
    let ill = Health {
        healthy: false,
        reason: "refused".into(),
    };
    let told = fixture.sink.set_health(pods.cluster, "", &ill, None).await;
    told.expect("told");
    let before = fixture.search.catalog().await.expect("catalog");
    let left = fixture.sink.leave(&name("member1"), "incarnation-1").await;
    left.expect("left");
    assert!(fixture.list(&all_pods(), 10).await.is_empty());
    let catalog = fixture.search.catalog().await.expect("catalog");
    assert!(catalog.clusters.is_empty());
    let purged = fixture.sink.purge(100, GRACE).await.expect("purged");
    assert_eq!((purged.objects, purged.finished), (0, true));
    let again = fixture.pods_of("member1").await;
    assert_eq!(again.cluster, pods.cluster);
    assert_eq!(again.stream.position, Some(live("7")));
    assert_eq!(fixture.list(&all_pods(), 10).await, ["member1/ns/a"]);
    let after = fixture.search.catalog().await.expect("catalog");
    let shown = [&after, &before].map(|catalog| format!("{:?}", catalog.clusters));
    assert_eq!(shown[0], shown[1]);
    assert_eq!(after.types, before.types);
    assert_eq!(fixture.purge(100).await, 0);
}

/// The PediaCluster is another one, the member is not.
pub async fn a_member_that_is_known_brings_its_rows_along(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let at = pods.batch([], Some(live("7")));
    fixture.sink.write(at).await.expect("written");
    let left = fixture.sink.leave(&name("member1"), "incarnation-1").await;
    left.expect("left");
    let join = async |incarnation: &str| {
        let joined = fixture.sink.join(&name("member1"), incarnation, "").await;
        joined.expect("joined")
    };
    // One that came and went before its member answered.
    join("incarnation-2").await;
    let new = join("incarnation-3").await;
    assert_ne!(new, pods.cluster);
    let adopt = async |member: &str| {
        let name = name("member1");
        let adopted = fixture.sink.adopt(&name, "incarnation-3", member).await;
        adopted.expect("an answer")
    };
    assert_eq!(adopt("another member").await, new);
    assert!(fixture.list(&all_pods(), 10).await.is_empty());
    assert_eq!(adopt(&live("7").member).await, pods.cluster);
    // Whoever did not hear the answer asks again.
    assert_eq!(adopt(&live("7").member).await, pods.cluster);
    assert_eq!(join("incarnation-3").await, pods.cluster);
    assert_eq!(
        adopt("another member").await,
        pods.cluster,
        "it has streams"
    );
    let streams = fixture.sink.streams(pods.cluster).await.expect("streams");
    let states = streams.iter().map(|one| (one.objects, one.is_beside));
    assert_eq!(Vec::from_iter(states), [(1, false)]);
    let kind = resource("", "pods", "Pod", true);
    let stream = fixture.sink.open(pods.cluster, "", &kind, RULES).await;
    let stream = stream.expect("opened");
    assert_eq!((&stream.position, stream.hidden), (&Some(live("7")), true));
    assert_eq!(fixture.purge(100).await, 0);
    assert!(
        fixture.list(&all_pods(), 10).await.is_empty(),
        "whether the member lets them be read is not known"
    );
    let writer = super::fixture::Writer {
        cluster: pods.cluster,
        stream,
    };
    let empty = writer.batch([], Some(live("7")));
    fixture.sink.write(empty).await.expect("written");
    assert_eq!(fixture.list(&all_pods(), 10).await, ["member1/ns/a"]);
    let again = fixture.sink.open(pods.cluster, "", &kind, RULES).await;
    assert!(!again.expect("opened").hidden);
}

/// A version of one resource.
fn things(version: &str) -> ResourceType {
    let mut kind = resource("shop.example", "things", "Thing", true);
    kind.gvr.version = version.to_owned();
    kind
}

/// Who names no version is sent to one that is shown, and would find nothing.
pub async fn a_version_that_is_opened_beside_another_is_shown_when_it_is_listed(fixture: &Fixture) {
    let (first, second) = (things("v1"), things("v2"));
    let shows = async |kind: &ResourceType| {
        let catalog = fixture.search.catalog().await.expect("a catalogue");
        catalog.clusters[&name("member1")]
            .resources
            .contains(&kind.gvr)
    };
    let rows = async |kind: &ResourceType| fixture.list(&Query::all(kind.gvr.clone()), 10).await;
    let listing = |phase| MemberPosition { phase, ..live("7") };
    let thing = || [Change::Put(object("ns", "a").build())];

    let former = fixture.writer("member1", &first).await;
    assert!(shows(&first).await, "the first one is shown at once");
    let listed = former.batch(thing(), Some(live("7")));
    fixture.sink.write(listed).await.expect("written");
    let told = async || {
        let streams = fixture.sink.streams(former.cluster).await.expect("streams");
        let told = streams.iter().filter(|one| one.is_beside);
        told.map(|one| one.resource.gvr.version.clone())
            .collect::<Vec<_>>()
    };
    let elsewhere = fixture.writer("member2", &second).await;
    let before = fixture.search.head().await.expect("a head").revision;
    for phase in [Phase::Live, Phase::Listing] {
        // The former one may be listed anew meanwhile, and whoever begins anew in the middle hides it as well.
        let at = former.batch([], Some(listing(phase)));
        fixture.sink.write(at).await.expect("written");
        let latter = fixture.writer("member1", &second).await;
        let begun = latter.batch(thing(), Some(listing(Phase::Listing)));
        fixture.sink.write(begun).await.expect("written");
        assert!(!shows(&second).await && shows(&first).await);
        let told = told().await;
        assert_eq!(told, ["v2"], "as whoever writes is told");
        assert_eq!(rows(&second).await, [""; 0]);
    }
    let latter = fixture.writer("member1", &second).await;
    let listed = latter.batch([], Some(listing(Phase::Live)));
    fixture.sink.write(listed).await.expect("written");
    assert!(shows(&second).await);
    assert_eq!(told().await, [""; 0]);
    assert_eq!(rows(&second).await, ["member1/ns/a"]);
    let after = fixture.search.head().await.expect("a head").revision;
    assert!(after > before, "lists of one revision are alike");
    let closed = fixture
        .sink
        .close(former.cluster, "", former.stream.resource);
    closed.await.expect("closed");
    assert!(!shows(&first).await && shows(&second).await);
    // Of which nothing else was listed.
    fixture.put(&elsewhere, [object("ns", "b")]).await;
    assert_eq!(rows(&second).await, ["member1/ns/a", "member2/ns/b"]);
}

/// Whoever looks after the cluster then follows the one that was shown, however many rows the other one has by now.
pub async fn a_version_that_was_never_listed_is_told_beside_another_also_once_its_cluster_is_back(
    fixture: &Fixture,
) {
    let thing = |name| Change::Put(object("ns", name).build());
    let shown = fixture.writer("member1", &things("v1")).await;
    let listed = shown.batch([thing("a")], Some(live("7")));
    fixture.sink.write(listed).await.expect("written");
    let beside = fixture.writer("member1", &things("v2")).await;
    let begun = MemberPosition {
        phase: Phase::Listing,
        ..live("7")
    };
    let begun = beside.batch([thing("a"), thing("b")], Some(begun));
    fixture.sink.write(begun).await.expect("written");
    let told = async || {
        let streams = fixture.sink.streams(shown.cluster).await.expect("streams");
        let told = |one: &StreamState| {
            let version = one.resource.gvr.version.clone();
            (version, one.objects, one.is_beside)
        };
        let mut told: Vec<_> = streams.iter().map(told).collect();
        told.sort();
        told
    };
    let before = told().await;
    let expected = [("v1", 1, false), ("v2", 2, true)];
    let expected = expected.map(|(version, objects, is)| (version.to_owned(), objects, is));
    assert_eq!(before, expected);
    let (member1, sink) = (name("member1"), &fixture.sink);
    let left = sink.leave(&member1, "incarnation-1").await;
    left.expect("left");
    let joined = sink.join(&member1, "incarnation-2", "").await;
    joined.expect("joined");
    let adopted = sink
        .adopt(&member1, "incarnation-2", &live("7").member)
        .await;
    assert_eq!(adopted.expect("adopted"), shown.cluster);
    assert_eq!(told().await, expected);
}

/// It was never shown, and its rows are not left behind.
pub async fn a_type_that_nobody_reads_any_more_goes_with_its_rows(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let at = pods.batch([], Some(live("7")));
    fixture.sink.write(at).await.expect("written");
    let member1 = name("member1");
    let joined = fixture.sink.join(&member1, "incarnation-2", "").await;
    joined.expect("joined");
    let (sink, member) = (&fixture.sink, live("7").member);
    let adopted = sink.adopt(&member1, "incarnation-2", &member).await;
    assert_eq!(adopted.expect("adopted"), pods.cluster);
    let closed = sink.close(pods.cluster, "", pods.stream.resource).await;
    closed.expect("closed");
    assert_eq!(fixture.purge(100).await, 1);
    assert!(fixture.list(&all_pods(), 10).await.is_empty());
}

/// Time is up.
pub async fn a_cluster_that_stays_away_has_nothing_when_it_comes_back(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let at = pods.batch([], Some(live("7")));
    fixture.sink.write(at).await.expect("written");
    let left = fixture.sink.leave(&name("member1"), "incarnation-1").await;
    left.expect("left");
    let expired = fixture.sink.purge(1, Duration::ZERO).await;
    expired.expect("purged");
    let again = fixture.pods_of("member1").await;
    assert_ne!(again.cluster, pods.cluster);
    assert_eq!(again.stream.position, None);
    let new = fixture
        .sink
        .join(&name("member1"), "incarnation-2", "")
        .await;
    let new = new.expect("joined");
    let adopt = async |incarnation: &str| {
        let (name, member) = (name("member1"), live("7").member);
        fixture.sink.adopt(&name, incarnation, &member).await
    };
    assert_eq!(adopt("incarnation-2").await.expect("an answer"), new);
    let gone = adopt("incarnation-1").await;
    assert!(matches!(gone, Err(StoreError::Left { .. })), "{gone:?}");
    assert!(fixture.list(&all_pods(), 10).await.is_empty());
}

/// Of several that share a store each knows its own, and whether the others live.
pub async fn clusters_are_told_with_their_owner(fixture: &Fixture) {
    let join = async |cluster: &str, incarnation: &str, owner: &str| {
        let cluster = name(cluster);
        let joined = fixture.sink.join(&cluster, incarnation, owner).await;
        joined.expect("joined")
    };
    let told = async || {
        let found = fixture.sink.clusters().await.expect("clusters");
        let words = |joined: &Joined| {
            let Joined {
                name,
                incarnation,
                owner,
                heard,
            } = joined;
            let heard = *heard != Heard::default();
            format!("{name}@{incarnation} {owner} {heard}")
        };
        found.iter().map(words).collect::<Vec<_>>()
    };
    let a = join("a", "1", "x").await;
    join("b", "1", "").await;
    let c = join("c", "1", "x").await;
    assert_eq!(join("c", "1", "y").await, c, "another looks after it");
    let [in_a, in_c] = ["a@1 x true", "c@1 y true"];
    assert_eq!(told().await, [in_a, "b@1  false", in_c], "y has just come");
    fixture.sink.leave(&name("a"), "1").await.expect("left");
    assert_eq!(told().await, ["b@1  false", in_c]);
    assert_eq!(join("a", "1", "y").await, a, "it came back to another");
    let b = join("b", "2", "").await;
    let pods = resource("", "pods", "Pod", true);
    let stream = fixture
        .sink
        .open(b, "", &pods, RULES)
        .await
        .expect("opened");
    let in_a = "a@1 y true";
    assert_eq!(
        told().await,
        [in_a, in_c, "b@2  false"],
        "a stream alone is nothing"
    );
    let writer = super::fixture::Writer { cluster: b, stream };
    fixture.put(&writer, [object("ns", "a")]).await;
    assert_eq!(told().await, [in_a, in_c, "b@2  true"]);
}

/// Who wants a name asks for it alone, and not for all that there are.
pub async fn a_name_is_told_whose_it_is(fixture: &Fixture) {
    let sink = &fixture.sink;
    let join = async |cluster: &str, incarnation: &str, owner: &str| {
        let joined = sink.join(&name(cluster), incarnation, owner).await;
        joined.expect("joined")
    };
    let whose = async |cluster: &str| {
        let holder = sink.holder(&name(cluster)).await.expect("an answer");
        holder.map(|holder| format!("{} {}", holder.incarnation, holder.owner))
    };
    join("b", "1", "z").await;
    assert_eq!(whose("a").await, None);
    join("a", "1", "x").await;
    join("a", "2", "x").await;
    join("a", "2", "y").await;
    assert_eq!(whose("a").await.as_deref(), Some("2 y"));
    sink.leave(&name("a"), "2").await.expect("left");
    assert_eq!(whose("a").await, None);
    assert_eq!(whose("b").await.as_deref(), Some("1 z"));
}

/// Whoever joins a cluster looks after it from then on. Who did before may have been cut off, and learns it here.
pub async fn a_cluster_that_was_taken_over_takes_nothing_from_who_had_it(fixture: &Fixture) {
    let (sink, member1) = (&fixture.sink, name("member1"));
    let pods = resource("", "pods", "Pod", true);
    let join = async |owner: &str| {
        let joined = sink.join(&member1, "incarnation-1", owner).await;
        joined.expect("joined")
    };
    let lost = Health {
        healthy: false,
        reason: "no synchro looks after it now".into(),
    };
    let cluster = join("cp/a").await;
    let stream = sink.open(cluster, "cp/a", &pods, RULES).await;
    let stream = stream.expect("opened");
    let former = Writer { cluster, stream };
    fixture.put(&former, [object("ns", "a")]).await;
    let told = sink.set_health(cluster, "cp/a", &well(), None).await;
    told.expect("told");

    assert_eq!(join("cp/b").await, cluster);
    let is_refused = async || {
        let refused = [
            sink.open(cluster, "cp/a", &pods, RULES).await.map(drop),
            sink.close(cluster, "cp/a", former.stream.resource).await,
            sink.set_health(cluster, "cp/a", &lost, None).await,
        ];
        for refused in refused {
            assert!(
                matches!(refused, Err(StoreError::TakenOver { .. })),
                "{refused:?}"
            );
        }
    };
    is_refused().await;
    // What it has open goes on until the other one has it.
    fixture.put(&former, [object("ns", "b")]).await;
    let stream = sink.open(cluster, "cp/b", &pods, RULES).await;
    let present = Writer {
        cluster,
        stream: stream.expect("opened"),
    };
    is_refused().await;
    fixture.put(&present, [object("ns", "c")]).await;
    let all = ["member1/ns/a", "member1/ns/b", "member1/ns/c"];
    assert_eq!(fixture.list(&all_pods(), 10).await, all);
    let catalog = fixture.search.catalog().await.expect("catalog");
    assert_eq!(catalog.clusters[&member1].health, Some(well()));

    // The way back is the same.
    join("cp/a").await;
    let told = sink.set_health(cluster, "cp/b", &lost, None).await;
    assert!(
        matches!(told, Err(StoreError::TakenOver { .. })),
        "{told:?}"
    );
    let closed = sink.close(cluster, "cp/a", present.stream.resource).await;
    closed.expect("closed");
    assert!(fixture.list(&all_pods(), 10).await.is_empty());
}

/// Each step leaves a sound store behind.
pub async fn a_purge_that_is_interrupted_goes_on(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let objects = || (0..9).map(|n| object("ns", &format!("pod-{n}")).label("app", "web"));
    fixture.put(&pods, objects()).await;
    fixture
        .sink
        .close(pods.cluster, "", pods.stream.resource)
        .await
        .expect("closed");
    let purged = fixture.sink.purge(4, Duration::ZERO).await.expect("purged");
    assert_eq!((purged.objects, purged.finished), (4, false));
    let again = fixture.pods_of("member1").await;
    // What is left may be gone in the member by now: only a list that is compared tells.
    let position = again.stream.position.as_ref();
    assert_eq!(position.map(|at| at.phase), Some(Phase::Listing));
    fixture.put(&again, objects()).await;
    assert_eq!(fixture.list(&all_pods(), 4).await.len(), 9);
    assert_eq!(fixture.count(&all_pods()).await, 9);
    assert_eq!(fixture.purge(4).await, 0);
}

/// Nothing is left to be compared.
pub async fn a_type_that_is_opened_after_its_purge_begins_with_nothing(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let closed = fixture
        .sink
        .close(pods.cluster, "", pods.stream.resource)
        .await;
    closed.expect("closed");
    assert_eq!(fixture.purge(4).await, 1);
    assert_eq!(fixture.pods_of("member1").await.stream.position, None);
    // Nobody has written to it in between.
    assert_eq!(fixture.pods_of("member1").await.stream.position, None);
}

/// The other types of the cluster stay.
pub async fn a_closed_type_is_hidden_at_once(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let nodes = fixture
        .writer("member1", &resource("", "nodes", "Node", false))
        .await;
    fixture.put(&pods, [object("ns", "a")]).await;
    fixture.put(&nodes, [object("", "node-1")]).await;
    fixture
        .sink
        .close(pods.cluster, "", pods.stream.resource)
        .await
        .expect("closed");
    assert!(fixture.list(&all_pods(), 10).await.is_empty());
    let key = armadex_model::ObjectKey::new("ns", "a");
    let found = fixture
        .search
        .get(&name("member1"), &super::fixture::pods(), &key)
        .await;
    assert!(found.expect("read").is_none());
    let states = fixture.sink.streams(pods.cluster).await.expect("streams");
    assert_eq!(states.len(), 1);
    assert_eq!(
        (states[0].resource.kind.as_str(), states[0].objects),
        ("Node", 1)
    );
    assert_eq!(fixture.purge(100).await, 1);
}

/// Every cluster that is there, and of types those that somebody has.
pub async fn the_catalog_lists_open_types_only(fixture: &Fixture) {
    fixture
        .sink
        .join(&name("empty"), "incarnation-1", "")
        .await
        .expect("joined");
    let pods = fixture.pods_of("member1").await;
    fixture
        .writer(
            "member1",
            &resource("apps", "deployments", "Deployment", true),
        )
        .await;
    let catalog = fixture.search.catalog().await.expect("catalog");
    let clusters: Vec<&str> = catalog.clusters.keys().map(ClusterName::as_str).collect();
    assert_eq!(clusters, ["empty", "member1"]);
    assert_eq!(catalog.types.len(), 2);
    assert_eq!(catalog.clusters[&name("member1")].resources.len(), 2);
    assert!(catalog.clusters[&name("empty")].resources.is_empty());
    fixture
        .sink
        .close(pods.cluster, "", pods.stream.resource)
        .await
        .expect("closed");
    let catalog = fixture.search.catalog().await.expect("catalog");
    let kinds: Vec<&str> = catalog.types.values().map(|t| t.kind.as_str()).collect();
    assert_eq!(kinds, ["Deployment"]);
}

/// A version that is not known leaves the one that was.
pub async fn health_and_version_are_in_the_catalog(fixture: &Fixture) {
    let cluster = fixture
        .sink
        .join(&name("member1"), "incarnation-1", "")
        .await
        .expect("joined");
    let entry = || async {
        let catalog = fixture.search.catalog().await.expect("catalog");
        (*catalog.clusters[&name("member1")]).clone()
    };
    assert_eq!((entry().await.health, entry().await.version), (None, None));
    let well = Health {
        healthy: true,
        reason: String::new(),
    };
    let ill = Health {
        healthy: false,
        reason: "connection refused".into(),
    };
    fixture
        .sink
        .set_health(cluster, "", &well, Some("v1.36.0"))
        .await
        .expect("recorded");
    assert_eq!(entry().await.health, Some(well));
    fixture
        .sink
        .set_health(cluster, "", &ill, None)
        .await
        .expect("recorded");
    assert_eq!(entry().await.health, Some(ill));
    assert_eq!(entry().await.version.as_deref(), Some("v1.36.0"));
}

/// Short names and the like follow the member's discovery, as long as it is the only one.
pub async fn a_type_that_is_opened_again_keeps_its_description_up_to_date(fixture: &Fixture) {
    fixture.pods_of("member1").await;
    let mut changed = resource("", "pods", "Pod", true);
    changed.short_names = vec!["po".into(), "p".into()];
    fixture.writer("member1", &changed).await;
    let catalog = fixture.search.catalog().await.expect("catalog");
    assert_eq!(catalog.types.values().next().map(|t| &**t), Some(&changed));
}

/// What types there are is for members to say: what none has any more is not kept for ever, and its number is nothing else's.
pub async fn a_type_that_none_has_any_more_is_forgotten(fixture: &Fixture) {
    let foos = resource("example.com", "foos", "Foo", true);
    let first = fixture.writer("member1", &foos).await;
    let kept = fixture.pods_of("member2").await;
    let number = first.stream.resource;
    fixture
        .sink
        .close(first.cluster, "", number)
        .await
        .expect("closed");
    // One step notes that none has it, the next finds that nothing of the past names it.
    for _ in 0..3 {
        let step = fixture.sink.purge(100, Duration::ZERO).await;
        step.expect("purged");
    }
    let again = fixture.writer("member1", &foos).await;
    assert!(again.stream.resource > number.max(kept.stream.resource));
    fixture.put(&again, [object("n", "a")]).await;
    let all = Query::all(foos.gvr.clone());
    assert_eq!(fixture.list(&all, 10).await, ["member1/n/a"]);
    let pods = fixture.pods_of("member3").await;
    assert_eq!(pods.stream.resource, kept.stream.resource);
}

/// Kind and scope are part of what is served of everybody's objects.
pub async fn what_a_type_is_stays_while_another_cluster_has_it(fixture: &Fixture) {
    let foos = resource("example.com", "foos", "Foo", true);
    let mut otherwise = resource("example.com", "foos", "Bar", false);
    otherwise.short_names = vec!["f".into()];
    let all = Query::all(foos.gvr.clone());
    let first = fixture.writer("member1", &foos).await;
    fixture.put(&first, [object("n", "a")]).await;
    let shown = async || {
        let catalog = fixture.search.catalog().await.expect("catalog");
        let types = catalog.types.values();
        types.map(|shown| (**shown).clone()).collect::<Vec<_>>()
    };
    let second = name("member2");
    let second = fixture.sink.join(&second, "incarnation-1", "").await;
    let second = second.expect("joined");
    let open = async |described| fixture.sink.open(second, "", described, RULES).await;
    let refused = open(&otherwise).await.expect_err("refused");
    assert!(
        matches!(&refused, StoreError::Differs { what } if what.contains("Foo in a namespace")),
        "{refused}"
    );
    assert_eq!(shown().await, std::slice::from_ref(&foos));
    // Whoever changes its mind has the type no more: what is stored of it is none.
    let agreed = open(&foos).await.expect("opened");
    let agreed = Writer {
        cluster: second,
        stream: agreed,
    };
    fixture.put(&agreed, [object("n", "b")]).await;
    assert_eq!(fixture.list(&all, 10).await.len(), 2);
    open(&otherwise).await.expect_err("refused");
    assert_eq!(fixture.list(&all, 10).await, ["member1/n/a"]);
    // Words differ between releases.
    let mut worded = foos.clone();
    worded.short_names = vec!["f".into()];
    let worded = Writer {
        cluster: second,
        stream: open(&worded).await.expect("opened"),
    };
    assert_eq!(shown().await, std::slice::from_ref(&foos));
    let listed = fixture.sink.write(worded.batch([], Some(live("7"))));
    listed.await.expect("written");
    // Once the last of them has it no more the type is what the others say.
    let last = fixture
        .sink
        .open(first.cluster, "", &otherwise, RULES)
        .await;
    last.expect_err("refused");
    let opened = open(&otherwise).await.expect("opened");
    assert_eq!(shown().await, [otherwise]);
    let phase = opened.position.map(|position| position.phase);
    assert_eq!(phase, Some(Phase::Listing), "its rows were something else");
}

/// What a namespace is known by: objects of an open type of a cluster that is there.
pub async fn a_namespace_is_there_as_long_as_something_in_it_is_shown(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let services = resource("", "services", "Service", true);
    let services = fixture.writer("member1", &services).await;
    fixture
        .put(&pods, [object("a", "x"), object("b", "x")])
        .await;
    fixture.put(&services, [object("c", "x")]).await;
    let seen = async || {
        let mut seen = Vec::new();
        for cluster in ["member1", "member2"].map(name) {
            for namespace in ["", "a", "b", "c"] {
                let found = fixture.search.has_namespace(&cluster, namespace);
                if found.await.expect("an answer") {
                    seen.push(format!("{cluster}/{namespace}"));
                }
            }
        }
        seen
    };
    assert_eq!(seen().await, ["member1/a", "member1/b", "member1/c"]);
    fixture.delete(&pods, "b", &["x"]).await;
    let closed = fixture
        .sink
        .close(services.cluster, "", services.stream.resource);
    closed.await.expect("closed");
    assert_eq!(seen().await, ["member1/a"]);
    let other = fixture.pods_of("member2").await;
    fixture.put(&other, [object("b", "x")]).await;
    assert_eq!(seen().await, ["member1/a", "member2/b"]);
    let left = fixture.sink.leave(&name("member1"), "incarnation-1").await;
    left.expect("left");
    assert_eq!(seen().await, ["member2/b"]);
}

/// Whoever looked after the clusters of an owner before learns that it does so no more; other owners have nothing to do with it.
pub async fn a_tenure_lasts_until_the_next_one_of_its_owner_begins(fixture: &Fixture) {
    let begin = async |owner| fixture.sink.begin(owner).await.expect("begun");
    let lasts = async |owner, tenure| {
        let lasts = fixture.sink.keep_alive(owner, tenure).await;
        lasts.expect("told")
    };
    let (former, other) = (begin("cp/a").await, begin("cp/b").await);
    assert!(lasts("cp/a", former).await);
    let present = begin("cp/a").await;
    assert!(!lasts("cp/a", former).await);
    assert!(lasts("cp/a", present).await && lasts("cp/b", other).await);
    // The store knows of none, as one that was restored: nobody has replaced it.
    assert!(lasts("cp/c", present).await);
    let next = begin("cp/c").await;
    assert!(!lasts("cp/c", present).await && lasts("cp/c", next).await);
    // Nor does it know of any where a former one is the first to say that it lives.
    let (former, latter) = (begin("cp/d").await, begin("cp/a").await);
    assert!(lasts("cp/e", former).await && lasts("cp/e", latter).await);
    assert!(!lasts("cp/e", former).await && lasts("cp/e", latter).await);
}

/// Lists of one revision are alike, whoever came or went between them; what no list shows takes none.
pub async fn what_comes_and_goes_in_lists_takes_a_revision(fixture: &Fixture) {
    let sink = &fixture.sink;
    let kind = resource("", "pods", "Pod", true);
    let mut last = Seen::of(fixture).await;

    let pods = fixture.pods_of("member1").await;
    last = last
        .stays(fixture, "a type is opened for the first time")
        .await;
    fixture.put(&pods, [object("ns", "a")]).await;
    last = last.moves(fixture, "an object is written").await;
    let told = sink.set_health(pods.cluster, "", &well(), Some("v1")).await;
    told.expect("told");
    let at = sink.write(pods.batch([], Some(live("7")))).await;
    at.expect("written");
    fixture.pods_of("member1").await;
    last = last
        .stays(fixture, "health, progress and another process")
        .await;

    sink.close(pods.cluster, "", pods.stream.resource)
        .await
        .expect("closed");
    last = last.moves(fixture, "a type is closed").await;
    sink.close(pods.cluster, "", pods.stream.resource)
        .await
        .expect("closed");
    last = last.stays(fixture, "a type is closed again").await;
    sink.open(pods.cluster, "", &kind, RULES)
        .await
        .expect("opened");
    last = last.moves(fixture, "a type is opened again").await;

    let other = resource("", "pods", "Capsule", true);
    sink.open(pods.cluster, "", &other, RULES)
        .await
        .expect("opened");
    last.changes(fixture, "rows are served as another kind")
        .await;
    fixture.assert_sound().await;
    fixture.purge(100).await;
    fixture.assert_sound().await;
}

/// What a cluster had goes with it, and comes back with it or with its successor.
pub async fn a_cluster_that_comes_or_goes_takes_a_revision(fixture: &Fixture) {
    let (sink, member) = (&fixture.sink, name("member1"));
    let kind = resource("", "pods", "Pod", true);
    let pods = fixture.pods_of("member1").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    let mut last = Seen::of(fixture).await;

    sink.leave(&member, "incarnation-1").await.expect("left");
    last = last.moves(fixture, "a cluster leaves").await;
    let back = fixture.pods_of("member1").await;
    last = last.moves(fixture, "a cluster comes back").await;
    let at = sink.write(back.batch([], Some(live("8")))).await;
    at.expect("written");
    last = last.stays(fixture, "a position").await;

    let anew = sink.join(&member, "incarnation-2", "").await;
    anew.expect("joined");
    last = last.moves(fixture, "another incarnation joins").await;
    let adopted = sink
        .adopt(&member, "incarnation-2", &live("8").member)
        .await;
    assert_eq!(adopted.expect("adopted"), back.cluster);
    last = last
        .changes(fixture, "what a former one had is kept for it")
        .await;
    let stream = sink
        .open(back.cluster, "", &kind, RULES)
        .await
        .expect("opened");
    assert!(stream.hidden);
    last = last.stays(fixture, "what is kept is opened").await;
    let kept = Writer {
        cluster: back.cluster,
        stream,
    };
    let at = sink.write(kept.batch([], Some(live("9")))).await;
    at.expect("written");
    last = last.moves(fixture, "what was kept is shown").await;
    assert_eq!(last.rows, ["member1/ns/a"]);
    fixture.assert_sound().await;
    fixture.purge(100).await;
    fixture.assert_sound().await;
}

fn well() -> Health {
    Health {
        healthy: true,
        reason: String::new(),
    }
}

/// A list and its revision.
struct Seen {
    revision: i64,
    rows: Vec<String>,
}

impl Seen {
    async fn of(fixture: &Fixture) -> Self {
        Self {
            revision: fixture.search.head().await.expect("a head").revision,
            rows: fixture.list(&all_pods(), 10).await,
        }
    }

    /// It is of the same revision and the same rows.
    async fn stays(self, fixture: &Fixture, what: &str) -> Self {
        let now = Self::of(fixture).await;
        assert_eq!(
            (now.revision, &now.rows),
            (self.revision, &self.rows),
            "{what}"
        );
        now
    }

    /// It is of the next revision and other rows.
    async fn moves(self, fixture: &Fixture, what: &str) -> Self {
        let now = Self::of(fixture).await;
        assert_ne!(now.rows, self.rows, "{what}");
        assert_eq!(now.revision, self.revision + 1, "{what}");
        now
    }

    /// It is of the next revision, whatever its rows.
    async fn changes(self, fixture: &Fixture, what: &str) -> Self {
        let now = Self::of(fixture).await;
        assert_eq!(now.revision, self.revision + 1, "{what}");
        now
    }
}
