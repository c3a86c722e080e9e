//! Kinds that come and go while a session runs: by CustomResourceDefinitions and by APIServices, which the member tells of.

use armadex_model::{GroupVersionResource, Query};

use super::*;
use crate::testing::within;

/// What a kind takes to come or to go once the member has told of it.
const SOON: Duration = Duration::from_secs(10);
/// Long enough for what does not go to be gone.
const LONG: Duration = Duration::from_secs(120);

const SHOP: &str = "shop.example";
/// A group that an API server of its own serves.
const METERS: &str = "meters.example";

/// Group, version and plural.
type Kind = (&'static str, &'static str, &'static str);
const THINGS: Kind = (SHOP, "v1", "things");
const GADGETS: Kind = (SHOP, "v1", "gadgets");
const READINGS: Kind = (METERS, "v1", "readings");

/// A cluster of which all of two groups is asked for.
struct Act {
    stage: Stage,
    member: ScriptedMember,
    fleet: Fleet,
}

impl Act {
    async fn begin() -> Self {
        let stage = Stage::new().await;
        let member = ScriptedMember::start("uid", &["a"]).await;
        member.tells_what_changes();
        member.serves_groups(&[
            (SHOP, &[("v1", Some(&["things"]))]),
            (METERS, &[("v1", Some(&["readings"]))]),
        ]);
        let mut object = pedia_cluster("m", "uid-m", &member);
        for group in [SHOP, METERS] {
            let mut entry = object.spec.sync_resources[0].clone();
            (entry.group, entry.resources) = (group.to_owned(), vec!["*".to_owned()]);
            object.spec.sync_resources.push(entry);
        }
        let mut fleet = stage.synchro("");
        stage.relist(&mut fleet, [object]);
        let act = Self {
            stage,
            member,
            fleet,
        };
        for kind in [THINGS, READINGS] {
            until("it is there", || async { act.shows(kind).await }).await;
        }
        act
    }

    async fn shows(&self, (group, version, plural): Kind) -> bool {
        let resource = GroupVersionResource::new(group, version, plural);
        let found = self.stage.store.list(&Query::all(resource), 10).await;
        assert!(found.is_empty() || found == ["m/n/a"], "{found:?}");
        !found.is_empty()
    }

    async fn comes_soon(&self, kind: Kind) {
        let is_there = || async { self.shows(kind).await };
        within(SOON, &format!("{kind:?}"), is_there).await;
    }

    async fn goes_soon(&self, kind: Kind) {
        let is_gone = || async { !self.shows(kind).await };
        within(SOON, &format!("the end of {kind:?}"), is_gone).await;
    }

    /// Whether it was there all the time, as long as another would have taken to go.
    async fn stays(&self, kind: Kind) {
        let end = Instant::now() + LONG;
        let is_over = || async {
            assert!(self.shows(kind).await, "{kind:?} is gone");
            Instant::now() >= end
        };
        in_time("some time", is_over).await;
    }
}

#[tokio::test]
async fn a_definition_that_comes_or_goes_below_a_star_is_followed_within_seconds() {
    let mut act = Act::begin().await;
    let both = ("v1", Some(&["things", "gadgets"][..]));
    let readings = (METERS, &[("v1", Some(&["readings"][..]))][..]);
    act.member.serves_groups(&[(SHOP, &[both]), readings]);
    act.member.changes_a_crd();
    act.comes_soon(GADGETS).await;
    assert!(act.shows(THINGS).await);

    let one = ("v1", Some(&["things"][..]));
    act.member.serves_groups(&[(SHOP, &[one]), readings]);
    act.member.loses_a_crd();
    act.goes_soon(GADGETS).await;
    assert!(act.shows(THINGS).await && act.shows(READINGS).await);
    act.stage.shows(&[POD]).await;
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn what_another_api_server_serves_stays_while_that_fails_and_goes_with_its_api_service() {
    let mut act = Act::begin().await;
    let things = (SHOP, &[("v1", Some(&["things"][..]))][..]);
    act.member
        .serves_groups(&[things, (METERS, &[("v1", None)])]);
    act.member.answers("/apis/meters.example/v1/readings", 503);
    act.member.changes_an_api_service();
    act.stays(READINGS).await;

    act.member.serves_groups(&[things]);
    act.member.changes_an_api_service();
    act.goes_soon(READINGS).await;
    assert!(act.shows(THINGS).await);
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn a_definition_that_changes_its_versions_is_followed_within_seconds() {
    let mut act = Act::begin().await;
    let readings = (METERS, &[("v1", Some(&["readings"][..]))][..]);
    let things = Some(&["things"][..]);
    act.member
        .serves_groups(&[(SHOP, &[("v2", things), ("v1", things)]), readings]);
    act.member.changes_a_crd();
    act.comes_soon((SHOP, "v2", "things")).await;
    act.goes_soon(THINGS).await;

    act.member
        .serves_groups(&[(SHOP, &[("v3", things)]), readings]);
    act.member.changes_a_crd();
    act.comes_soon((SHOP, "v3", "things")).await;
    act.goes_soon((SHOP, "v2", "things")).await;
    assert!(act.shows(READINGS).await);
    act.fleet.shutdown().await;
}
