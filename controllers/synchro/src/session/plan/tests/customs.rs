//! All that is custom.

use std::collections::BTreeMap;

use super::super::chosen::resource_type;
use super::*;

const WHOLE: &[&str] = &["get", "list", "watch"];

/// `foos` of the member are custom, its `bars` are served by another API server.
fn named() -> Customs {
    Customs::Named(BTreeMap::from([(
        "example.com".to_owned(),
        ["foos".to_owned()].into(),
    )]))
}

fn all_customs(text: &str) -> Scope {
    wanted(text).with_customs(true)
}

/// What is planned of the member while these versions of these are there.
fn planned(wanted: &Scope, customs: &Customs, known: &Known) -> String {
    let discovery = &member();
    let served = Served { discovery, customs };
    told(&negotiate_served(wanted, served, known, &most(usize::MAX)))
}

fn known(names: &[&str]) -> Known {
    let known = |name: &&str| {
        let found = resource(name, "", WHOLE);
        resource_type("example.com", &served("v1", vec![]), &found)
    };
    Known {
        types: names.iter().map(known).collect(),
        ..Known::default()
    }
}

#[test]
fn everything_custom_is_chosen_and_nothing_that_another_server_serves() {
    let nothing = Known::default();
    let plan = planned(&all_customs(": pods"), &named(), &nothing);
    assert_snapshot!(plan, @r"
    pods/v1
    foos.example.com/v2
    ");
    // Versions that are given by hand count: else it would be others while it is not known what is custom.
    let plan = planned(
        &all_customs("example.com: foos bars @v1"),
        &named(),
        &nothing,
    );
    assert_snapshot!(plan, @r"
    bars.example.com/v1
    foos.example.com/v1
    ");
    let by_hand = |customs| planned(&all_customs("example.com: foos @v1"), customs, &nothing);
    assert_eq!(by_hand(&named()), by_hand(&Customs::Unasked));
    let plan = planned(&wanted(": pods"), &named(), &nothing);
    assert_snapshot!(plan, @"pods/v1");
}

#[test]
fn what_is_synced_stays_while_it_is_not_known_what_is_custom_and_nothing_begins() {
    let stored = known(&["foos"]);
    let wanted = all_customs(": pods");
    let unasked = planned(&wanted, &Customs::Unasked, &stored);
    assert_snapshot!(unasked, @r"
    pods/v1
    foos.example.com/v1
    ");
    let untold = Customs::Untold("it is forbidden".to_owned());
    assert_snapshot!(planned(&wanted, &untold, &stored), @r#"
    pods/v1
    foos.example.com/v1
    - customresources.*/: syncAllCustomResources: its CustomResourceDefinitions are not listed, so those that are synced stay and no other begins: it is forbidden
    "#);
    let nothing_begins = planned(&wanted, &untold, &Known::default());
    assert!(!nothing_begins.contains("foos"), "{nothing_begins}");
}

/// Its CRD went, and something else serves a group of this name now.
#[test]
fn what_is_custom_no_more_goes_the_second_time() {
    let mut stored = known(&["bars"]);
    let wanted = all_customs(": pods");
    let (discovery, customs) = (&member(), &named());
    let served = Served { discovery, customs };
    let plan = negotiate_served(&wanted, served, &stored, &most(usize::MAX));
    assert!(plan.types.iter().any(|found| found.gvr.resource == "bars"));
    assert!(plan.kept.is_doubted());
    stored.doubted = plan.kept.doubted;
    let plan = negotiate_served(&wanted, served, &stored, &most(usize::MAX));
    assert!(!plan.types.iter().any(|found| found.gvr.resource == "bars"));
}

/// Before the member is asked anything.
#[test]
fn what_may_be_custom_is_not_taken_back_and_what_is_kubernetes_own_is() {
    let of = |group: &str| ResourceType {
        gvr: GroupVersionResource::new(group, "v1", "foos"),
        ..known(&["foos"]).types.remove(0)
    };
    let wanted = all_customs(": pods");
    assert!(wanted.asks_for(&of("example.com")) && wanted.asks_for_version(&of("example.com")));
    assert!(!wanted.asks_for(&of("apps")) && !wanted.asks_for_version(&of("apps")));
}
