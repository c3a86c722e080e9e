//! The Events of some kinds.

use super::*;

fn events() -> ServedResource {
    resource("events", "event", &["list"])
}

/// A member with Events in both groups.
fn with_events() -> Discovery {
    let mut member = member();
    let core = member.groups.get_mut("").expect("the core group");
    let VersionState::Served(resources) = &mut core.versions[0].state else {
        panic!("it is served");
    };
    resources.push(events());
    let others = Group {
        versions: vec![served("v1", vec![events()])],
    };
    member.groups.insert("events.k8s.io".to_owned(), others);
    member
}

fn planned(text: &str, member: &Discovery, known: &Known) -> Plan {
    negotiate(&wanted(text), member, known, &most(100))
}

/// Which Events are synced, and of which kinds those are taken: `None` of all.
fn of_events(plan: &Plan, cases: &[&str]) -> (Vec<String>, Option<Vec<bool>>) {
    let types = plan.types.iter().map(|planned| planned.gvr.to_string());
    let types = types.filter(|name| name.contains("events")).collect();
    let takes = plan.involved.as_ref().map(|involved| {
        let takes = cases.iter().map(|about| {
            let (kind, version) = about.split_once(' ').expect("a kind and a version");
            let event =
                format!(r#"{{"involvedObject":{{"kind":"{kind}","apiVersion":"{version}"}}}}"#);
            involved.takes(event.as_bytes())
        });
        takes.collect()
    });
    (types, takes)
}

#[test]
fn events_are_synced_of_the_kinds_that_are_asked_for_and_served() {
    let member = with_events();
    let cases = ["Pod v1", "Secret v1", "Scaler autoscaling/v1"];
    let check = |text: &str, types: &[&str], takes: Option<[bool; 3]>| {
        let plan = planned(text, &member, &Known::default());
        let expected = (
            types.iter().map(ToString::to_string).collect(),
            takes.map(Vec::from),
        );
        assert_eq!(of_events(&plan, &cases), expected, "{text}");
    };
    let core = "events/v1";
    let of_core = [core];
    check(": pods secrets !pods", &of_core, Some([true, false, false]));
    check(": pod secrets !POD", &of_core, Some([true, false, false]));
    check(": pods secrets !*", &of_core, Some([true, true, false]));
    check(
        ": pods !pods\nautoscaling: * !scalers",
        &of_core,
        Some([true, false, true]),
    );
    check(
        "autoscaling: *\nautoscaling: scalers !*",
        &of_core,
        Some([false, false, true]),
    );
    // Whoever asks for it names no resource of the entry, or none that the member serves.
    check(": pods !secrets", &[], None);
    check(": nodes !nodes", &[], None);
    // They are synced anyway.
    check(": pods events !pods", &of_core, None);
    check(": * !pods", &of_core, None);
}

#[test]
fn events_of_what_stays_are_kept_on_and_go_with_the_last_kind() {
    let text = "autoscaling: scalers !*";
    let member = with_events();
    let plan = planned(text, &member, &Known::default());
    let cases = ["Scaler autoscaling/v1"];
    let mut known = Known {
        types: plan.types.clone(),
        ..Known::default()
    };
    assert_eq!(known.types.len(), 2);
    let mut without = with_events();
    for group in ["autoscaling", ""] {
        let versions = &mut without.groups.get_mut(group).expect("a group").versions;
        versions[0].state = VersionState::Failed("it is down".into());
    }
    let down = planned(text, &without, &known);
    let gvrs = known.types.iter().map(|known| known.gvr.clone());
    assert_eq!(down.kept.types, gvrs.collect(), "what runs goes on");

    let mut without = with_events();
    without.groups.remove("autoscaling");
    let once = planned(text, &without, &known);
    let of_core = vec!["events/v1".to_owned()];
    assert_eq!(of_events(&once, &cases), (of_core, Some(vec![true])));
    known.doubted = once.kept.doubted;
    let twice = planned(text, &without, &known);
    assert_eq!(of_events(&twice, &cases), (vec![], None));
}

#[test]
fn events_stay_asked_for_while_the_member_does_not_answer() {
    let wanted = wanted(": pods !pods");
    let core = ResourceType {
        gvr: GroupVersionResource::new("", "v1", "events"),
        ..crate::testing::named("events")
    };
    let other = ResourceType {
        gvr: GroupVersionResource::new("events.k8s.io", "v1", "events"),
        ..core.clone()
    };
    assert!(wanted.asks_for(&core) && wanted.asks_for_version(&core));
    assert!(!wanted.asks_for(&other));
    assert!(!super::wanted(": pods").asks_for(&core));
}

/// Before Events were synced they were ignored, however many were named, and whatever.
#[test]
fn whatever_is_named_of_events_refuses_nothing_else() {
    let names = |count: usize| (0..count).map(|number| format!("kind{number}"));
    let entry = |resources: Vec<String>, events: Vec<String>| GroupResources {
        group: String::new(),
        versions: vec![],
        resources,
        events_involved_resources: events,
    };
    let of_all = || vec!["*".to_owned()];
    let long = "x".repeat(MOST_NAME_BYTES + 1);
    let all = Vec::from_iter(names(MOST_ASKED));
    let cases = [
        (entry(all.clone(), all), MOST_ASKED, None),
        (
            entry(of_all(), vec![long.clone()]),
            0,
            Some((&long[1..], 1)),
        ),
        (
            entry(of_all(), names(MOST_ASKED + 2).collect()),
            MOST_ASKED,
            Some(("kind5000", 2)),
        ),
    ];
    for (entry, kept, strays) in cases {
        let list = List::new(&[entry]);
        assert_eq!(list.flaw, None);
        assert_eq!(list.entries[0].events_involved_resources.len(), kept);
        let strays = strays.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(list.strays, strays);
    }
}
