//! What users read in the status.

use armadex_model::GroupVersionResource;
use armadex_storage::Written;
use insta::assert_snapshot;

use super::*;
use crate::told::report::Report;
use crate::told::tally::Rows;

fn shown(facts: &Facts) -> String {
    let built = build(
        &PediaClusterStatus::default(),
        &[],
        facts,
        (&[], Counts::Now),
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
    Synced=Unknown SynchroNotRunning "nobody syncs the cluster now"
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
    Synced=Unknown SynchroNotRunning "nobody syncs the cluster now"
    "#);
    let healthy = MemberHealth::Healthy("cluster health responded with ok".into());
    assert_snapshot!(shown(&facts(yes(), Running::Yes, healthy)), @r#"
    Validated=True Validated ""
    SynchroRunning=True Running ""
    ClusterHealthy=True Healthy "cluster health responded with ok"
    Ready=True Ready ""
    Synced=Unknown Starting "it is not known yet what is to be synced"
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
}

#[test]
fn a_member_that_does_not_answer_is_not_ready() {
    let lost = MemberHealth::NotReachable(
        ClusterHealthyReason::NotReachable,
        "connection refused".into(),
    );
    assert_snapshot!(shown(&facts(Validated::Yes(String::new()), Running::Yes, lost)), @r#"
    Validated=True Validated ""
    SynchroRunning=True Running ""
    ClusterHealthy=False NotReachable "connection refused"
    Ready=False NotReady "ClusterHealthy condition is False, reason is NotReachable"
    Synced=Unknown Starting "it is not known yet what is to be synced"
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
    let first = build(
        &PediaClusterStatus::default(),
        &[],
        &known,
        (&[], Counts::Now),
        now,
    );
    let begun = transitions(&PediaClusterStatus::default(), &first);
    assert_eq!(begun.len(), 5);
    let second = build(&first, &[], &known, (&[], Counts::Now), now);
    assert_eq!(second, first);
    assert_eq!(transitions(&first, &second), []);
    let lost = Facts {
        health: MemberHealth::NotReachable(ClusterHealthyReason::NotReachable, "gone".into()),
        ..known
    };
    let third = build(&second, &[], &lost, (&[], Counts::Now), now);
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
    let built = build(
        &old,
        &[],
        &Facts::default(),
        (&[], Counts::Now),
        Timestamp::UNIX_EPOCH,
    );
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
    let report = Report::new(Default::default(), Timestamp::UNIX_EPOCH);
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
        (&[(pods.into(), report.shown())], Counts::Now),
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
    let again = build(
        &built,
        &built.sync_resources,
        &facts,
        (&[], Counts::Now),
        later,
    );
    let things = &again.sync_resources[0].resources[0].sync_conditions[0];
    assert_eq!(
        things.last_transition_time.0, first,
        "it is missing since then"
    );
}

/// The row of pods whose stream has this report, after what is told, at a second of the clock; and the whole status.
fn row(
    told: &PediaClusterStatus,
    running: Running,
    (report, counts): (&Report, Counts),
    second: i64,
) -> (ResourceSyncCondition, PediaClusterStatus) {
    let facts = Facts {
        running,
        ..Facts::default()
    };
    let streams = [(Arc::new(crate::testing::named("pods")), report.shown())];
    let now = Timestamp::from_second(second).expect("a time");
    let told_rows = &told.sync_resources;
    let built = build(told, told_rows, &facts, (&streams, counts), now);
    let row = built.sync_resources[0].resources[0].sync_conditions[0].clone();
    (row, built)
}

#[test]
fn counts_are_those_that_are_told_until_it_is_time_to_tell_others() {
    let report = Report::new(Arc::default(), Timestamp::UNIX_EPOCH);
    let nothing = PediaClusterStatus::default();
    let (first, _) = row(&nothing, Running::Yes, (&report, Counts::Told), 0);
    assert_eq!((first.objects, first.bytes), (None, None), "not opened");
    let adds = Written {
        added: 2,
        bytes: 300,
        ..Written::default()
    };
    report.opened(0, Rows::Others);
    report.wrote(adds);
    let (second, told) = row(&nothing, Running::Yes, (&report, Counts::Told), 0);
    assert_eq!((second.objects, second.bytes), (Some(2), Some(300)));
    assert_eq!(told.objects, Some(2));
    report.wrote(adds);
    let (_, same) = row(&told, Running::Yes, (&report, Counts::Told), 0);
    assert!(same == told, "that alone is no news");
    let (now, all) = row(&told, Running::Yes, (&report, Counts::Now), 0);
    assert_eq!((now.objects, now.bytes), (Some(4), Some(600)));
    assert!(now.last_event_time.is_some());
    assert_eq!(all.objects, Some(4));
    let before = Report::new(Arc::default(), Timestamp::UNIX_EPOCH);
    let (kept, _) = row(
        &all,
        Running::Failed(String::new()),
        (&before, Counts::Now),
        0,
    );
    assert_eq!(
        (kept.objects, kept.bytes),
        (Some(4), Some(600)),
        "of a former process"
    );
}

#[test]
fn a_resource_is_behind_since_nothing_proved_it_and_so_is_its_cluster() {
    let report = Report::new(Arc::default(), Timestamp::UNIX_EPOCH);
    let nothing = PediaClusterStatus::default();
    let behind = |running, second| {
        let (row, all) = row(&nothing, running, (&report, Counts::Now), second);
        assert_eq!(row.behind_since, all.behind_since);
        all.behind_since.map(|since| since.0.as_second())
    };
    assert_eq!(behind(Running::Yes, 999), None, "nothing is stored yet");
    report.proved(Timestamp::from_second(100).expect("a time"));
    assert_eq!(behind(Running::Yes, 279), None);
    assert_eq!(behind(Running::Yes, 280), Some(100));
    assert_eq!(
        behind(Running::Shutdown, 101),
        Some(100),
        "nobody follows it"
    );
}

#[test]
fn how_far_a_first_list_is_stands_in_its_row() {
    let report = Report::new(Arc::default(), Timestamp::UNIX_EPOCH);
    let nothing = PediaClusterStatus::default();
    let row = || row(&nothing, Running::Yes, (&report, Counts::Now), 0).0;
    report.listing_goes();
    report.listing();
    assert_eq!(row().initial_list_percent, None);
    report.list_goes_on(500, Some(1_000));
    assert_eq!(
        (row().initial_list_percent, row().message),
        (Some(30), String::new())
    );
    report.list_goes_on(1_000, None);
    assert_eq!(row().initial_list_percent, None);
    assert!(
        row().message.contains("does not tell how many"),
        "{}",
        row().message
    );
    report.listed();
    report.syncing();
    assert_eq!(
        (row().initial_list_percent, row().message),
        (None, String::new())
    );
}

#[test]
fn of_rows_that_do_not_fit_those_stay_that_do_not_do_well() {
    let stream = |number: usize| {
        let report = Report::new(Arc::default(), Timestamp::UNIX_EPOCH);
        report.syncing();
        if number >= 4_990 {
            report.failed("forbidden".to_owned());
        }
        let name = format!("{number:0>60}");
        (Arc::new(crate::testing::named(&name)), report.shown())
    };
    let streams = Vec::from_iter((0..5_000).map(stream));
    let (nothing, facts) = (PediaClusterStatus::default(), Facts::default());
    let streams = (streams.as_slice(), Counts::Now);
    let built = build(&nothing, &[], &facts, streams, Timestamp::UNIX_EPOCH);
    let rows = built
        .sync_resources
        .iter()
        .flat_map(|group| &group.resources);
    let statuses = rows.map(|row| row.sync_conditions[0].status);
    let failing = statuses.filter(|status| *status == ResourceSyncStatus::Error);
    assert_eq!(failing.count(), 10, "they come last by name");
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
        let report = Report::new(Arc::default(), Timestamp::UNIX_EPOCH);
        report.opened(
            u64::MAX,
            match number.is_multiple_of(2) {
                true => Rows::Listed,
                false => Rows::Others,
            },
        );
        report.weighs(u64::MAX, report.mark());
        report.wrote(Written {
            changed: 1,
            ..Written::default()
        });
        report.proved(Timestamp::UNIX_EPOCH - jiff::SignedDuration::from_hours(1));
        report.list_goes_on(1, Some(1));
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
    assert!(most < 1 << 20, "a third of what etcd takes is left");
    let words = ["\u{1f600}".repeat(1024), "\"\u{1b}".repeat(512)];
    for (types, names) in [(1, 253), (40, 20), (1000, 20), (1000, 253), (5000, 63)] {
        for words in &words {
            let (facts, streams) = of_a_hostile_member(types, names, words);
            let (nothing, first) = (PediaClusterStatus::default(), Timestamp::UNIX_EPOCH);
            let built = build(&nothing, &[], &facts, (&streams, Counts::Now), first);
            let bytes = serde_json::to_vec(&built).unwrap().len();
            assert!(
                bytes <= most,
                "{bytes} of {types} types with names of {names}"
            );
            let later = first + jiff::SignedDuration::from_secs(60);
            let again = build(
                &built,
                &built.sync_resources,
                &facts,
                (&streams, Counts::Now),
                later,
            );
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
        let built = build(
            &nothing,
            &[],
            &facts,
            (&streams, Counts::Now),
            Timestamp::UNIX_EPOCH,
        );
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
    assert_eq!(
        rows(&many),
        2002,
        "all have a row, and what is counted has none"
    );
    assert!(
        message(&many).contains("objects and bytes"),
        "{}",
        message(&many)
    );
    // The first stands for several, in words of its own.
    let said = many[1].resources[0].sync_conditions[0].message.clone();
    assert!((32..=128).contains(&said.len()), "{said}");
    assert!(
        words.starts_with(said.strip_suffix("...").expect("it was cut")),
        "{said}"
    );
    let beyond = built(1000, 253);
    let untold = 2002 - rows(&beyond);
    let said = format!("{untold} more resources have no room in this status; ");
    assert!(message(&beyond).starts_with(&said), "{}", message(&beyond));
}
