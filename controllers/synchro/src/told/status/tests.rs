//! What users read in the status.

use armadex_model::GroupVersionResource;
use insta::assert_snapshot;

use super::*;

fn shown(facts: &Facts) -> String {
    let built = build(
        &PediaClusterStatus::default(),
        &[],
        facts,
        &[],
        Timestamp::UNIX_EPOCH,
    );
    let line = |condition: &Condition| {
        let Condition {
            type_,
            status,
            reason,
            message,
            ..
        } = condition;
        format!("{type_}={status} {reason} {message:?}")
    };
    let lines: Vec<_> = built.conditions.iter().map(line).collect();
    lines.join("\n")
}

fn facts(validated: Validated, running: Running, health: MemberHealth) -> Facts {
    Facts {
        generation: Some(3),
        validated,
        running,
        health,
        ..Facts::default()
    }
}

#[test]
fn conditions_are_clusterpedias() {
    let yes = || Validated::Yes(String::new());
    assert_snapshot!(shown(&facts(yes(), Running::Waiting, MemberHealth::Unasked)), @r#"
    Validated=True Validated ""
    SynchroRunning=False WaitInit "pediacluster is validated"
    ClusterHealthy=Unknown MonitorStop "wait cluster synchro"
    Ready=False NotReady "SynchroRunning condition is False, reason is WaitInit"
    "#);
    let no = Validated::No(
        ClusterValidatedReason::InvalidConfig,
        "invalid cluster config: spec.apiserver is required".into(),
    );
    assert_snapshot!(shown(&facts(no, Running::Waiting, MemberHealth::Unasked)), @r#"
    Validated=False InvalidConfig "invalid cluster config: spec.apiserver is required"
    SynchroRunning=False InvalidConfig "invalid cluster config: spec.apiserver is required"
    ClusterHealthy=Unknown MonitorStop "wait cluster synchro"
    Ready=False NotReady "Validated condition is False, reason is InvalidConfig"
    "#);
    let healthy = MemberHealth::Healthy("cluster health responded with ok".into());
    assert_snapshot!(shown(&facts(yes(), Running::Yes, healthy)), @r#"
    Validated=True Validated ""
    SynchroRunning=True Running ""
    ClusterHealthy=True Healthy "cluster health responded with ok"
    Ready=True Ready ""
    "#);
    for (running, before) in [
        (Running::Waiting, "WaitInit \""),
        (Running::Failed("gone".into()), "InitialFailed \"gone; now "),
        (Running::Yes, "Running \""),
    ] {
        let mut in_line = facts(yes(), running, MemberHealth::Unasked);
        in_line.in_line = true;
        let shown = shown(&in_line);
        assert!(shown.contains(&format!("{before}{IN_LINE}\"")), "{shown}");
    }
    let mut undiscovered = facts(yes(), Running::Yes, MemberHealth::Unasked);
    undiscovered.undiscovered = Some("/apis: too much".into());
    for (in_line, after) in [(false, ""), (true, "; now the member waits")] {
        undiscovered.in_line = in_line;
        let shown = shown(&undiscovered);
        let words = format!("Running=True Running \"{UNDISCOVERED}/apis: too much{after}");
        assert!(shown.contains(&words), "{shown}");
    }
    let mut around = facts(yes(), Running::Yes, MemberHealth::Unasked);
    around.around = Some("https://east: health check: refused".into());
    let words = format!(
        "Running=True RunningByControlPlane \"{AROUND}https://east: health check: refused\""
    );
    assert!(shown(&around).contains(&words), "{}", shown(&around));
    let lost = MemberHealth::NotReachable(
        ClusterHealthyReason::NotReachable,
        "connection refused".into(),
    );
    assert_snapshot!(shown(&facts(yes(), Running::Yes, lost)), @r#"
    Validated=True Validated ""
    SynchroRunning=True Running ""
    ClusterHealthy=False NotReachable "connection refused"
    Ready=False NotReady "ClusterHealthy condition is False, reason is NotReachable"
    "#);
}

#[test]
fn only_what_became_another_is_a_transition() {
    let now = Timestamp::UNIX_EPOCH;
    let known = facts(
        Validated::Yes(String::new()),
        Running::Yes,
        MemberHealth::Unasked,
    );
    let first = build(&PediaClusterStatus::default(), &[], &known, &[], now);
    let begun = transitions(&PediaClusterStatus::default(), &first);
    assert_eq!(begun.len(), 4);
    let second = build(&first, &[], &known, &[], now);
    assert_eq!(second, first);
    assert_eq!(transitions(&first, &second), []);
    let lost = Facts {
        health: MemberHealth::NotReachable(ClusterHealthyReason::NotReachable, "gone".into()),
        ..known
    };
    let third = build(&second, &[], &lost, &[], now);
    let health = [ClusterCondition::ClusterHealthy];
    assert_eq!(transitions(&second, &third), health);
}

#[test]
fn the_deprecated_condition_goes() {
    let mut old = PediaClusterStatus::default();
    old.conditions.push(Condition {
        type_: DEPRECATED_CLUSTER_CONDITION.into(),
        status: "True".into(),
        reason: "Old".into(),
        message: String::new(),
        observed_generation: None,
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
    });
    let built = build(&old, &[], &Facts::default(), &[], Timestamp::UNIX_EPOCH);
    assert!(conditions::find(&built.conditions, DEPRECATED_CLUSTER_CONDITION).is_none());
}

#[test]
fn every_resource_says_how_it_is_doing() {
    let pods = ResourceType {
        gvr: GroupVersionResource::new("", "v1", "pods"),
        kind: "Pod".into(),
        namespaced: true,
        singular: "pod".into(),
        short_names: vec![],
        categories: vec![],
    };
    let report = crate::told::report::Report::new(Default::default(), Timestamp::UNIX_EPOCH);
    report.failed("pods is forbidden".into());
    let missing = Missing {
        group: "none.example".into(),
        resource: "things".into(),
        version: String::new(),
        why: "the member has no such group".into(),
    };
    let facts = Facts {
        missing: vec![missing],
        ..Facts::default()
    };
    let first = Timestamp::UNIX_EPOCH;
    let built = build(
        &PediaClusterStatus::default(),
        &[],
        &facts,
        &[(pods.into(), report.shown())],
        first,
    );
    let groups = &built.sync_resources;
    assert_eq!(groups.len(), 2);
    let pods = &groups[0].resources[0].sync_conditions[0];
    assert_eq!(pods.status, ResourceSyncStatus::Error);
    assert_eq!(
        (pods.reason.as_str(), pods.message.as_str()),
        ("ResourceWatchFailed", "pods is forbidden")
    );
    assert!(!pods.initial_list_phase);
    let things = &groups[1].resources[0].sync_conditions[0];
    assert_eq!(things.reason, "ResourceNotServed");
    let later = first + jiff::SignedDuration::from_secs(60);
    let again = build(&built, &built.sync_resources, &facts, &[], later);
    let things = &again.sync_resources[0].resources[0].sync_conditions[0];
    assert_eq!(
        things.last_transition_time.0, first,
        "it is missing since then"
    );
}

/// What a member of so many types may have said of each, at the worst: names as long as names may be, and words that JSON writes twice as long.
fn of_a_hostile_member(
    types: usize,
    names: usize,
    words: &str,
) -> (Facts, Vec<(Arc<ResourceType>, Progress)>) {
    let name = |number: usize| format!("{number:0names$}");
    let audit = ResourceAudit {
        objects: i64::MAX,
        differences: i64::MAX,
        mended: i64::MAX,
        proved_time: Some(Time(Timestamp::UNIX_EPOCH)),
        message: words.to_owned(),
    };
    let stream = |number: usize| {
        let resource = ResourceType {
            gvr: GroupVersionResource::new(name(number), name(0), name(number)),
            kind: name(1),
            namespaced: false,
            singular: String::new(),
            short_names: vec![],
            categories: vec![],
        };
        let report = crate::told::report::Report::new(Arc::default(), Timestamp::UNIX_EPOCH);
        report.failed(words.to_owned());
        report.audited(audit.clone());
        (Arc::new(resource), report.shown())
    };
    let missing = |number: usize| Missing {
        group: name(types + number),
        resource: name(number),
        version: name(0),
        why: words.to_owned(),
    };
    let of_all = Missing {
        group: REST.into(),
        resource: REST.into(),
        version: String::new(),
        why: "17 more are asked for and not served".into(),
    };
    let facts = Facts {
        missing: (0..types).map(missing).chain([of_all]).collect(),
        health: MemberHealth::NotReachable(ClusterHealthyReason::NotReachable, words.to_owned()),
        running: Running::Failed(words.to_owned()),
        validated: Validated::Yes(words.to_owned()),
        ..Facts::default()
    };
    (facts, (0..types).map(stream).collect())
}

#[test]
fn a_status_is_not_too_large_whatever_a_member_says() {
    const CONDITIONS: usize = 8 << 10;
    let most = rows::ROWS_BYTES + rows::WORDS_BYTES + CONDITIONS;
    assert!(most < 5 << 18, "of the 1.5 MiB that etcd takes");
    let words = ["\u{1f600}".repeat(1024), "\"\u{1b}".repeat(512)];
    for (types, names) in [(1, 253), (40, 20), (1000, 20), (1000, 253), (5000, 63)] {
        for words in &words {
            let (facts, streams) = of_a_hostile_member(types, names, words);
            let (nothing, first) = (PediaClusterStatus::default(), Timestamp::UNIX_EPOCH);
            let built = build(&nothing, &[], &facts, &streams, first);
            let bytes = serde_json::to_vec(&built).unwrap().len();
            assert!(
                bytes <= most,
                "{bytes} of {types} types with names of {names}"
            );
            let later = first + jiff::SignedDuration::from_secs(60);
            let again = build(&built, &built.sync_resources, &facts, &streams, later);
            assert!(again == built, "nothing changed");
        }
    }
}

#[test]
fn where_there_is_much_to_say_all_say_less_and_what_has_no_row_is_counted() {
    let words = "all of them are forbidden ".repeat(30);
    let built = |types: usize, names: usize| {
        let (facts, streams) = of_a_hostile_member(types, names, &words);
        let nothing = PediaClusterStatus::default();
        let built = build(&nothing, &[], &facts, &streams, Timestamp::UNIX_EPOCH);
        built.sync_resources
    };
    let rows = |groups: &[GroupResourcesStatus]| {
        groups
            .iter()
            .map(|group| group.resources.len())
            .sum::<usize>()
    };
    let message = |groups: &[GroupResourcesStatus]| {
        let last = groups.last().expect("a group");
        last.resources[0].sync_conditions[0].message.clone()
    };
    let few = built(20, 20);
    assert_eq!((rows(&few), message(&few)), (41, words.clone()));
    let many = built(1000, 20);
    assert_eq!(rows(&many), 2001, "all have a row");
    let said = message(&many);
    assert!((32..=128).contains(&said.len()), "{said}");
    assert!(words.starts_with(said.strip_suffix("...").expect("it was cut")));
    let beyond = built(1000, 253);
    let untold = 2002 - rows(&beyond);
    let said = format!("{untold} more resources have no room in this status");
    assert_eq!(message(&beyond), said);
}
