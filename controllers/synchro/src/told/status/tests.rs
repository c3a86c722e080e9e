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
    let lost = MemberHealth::NotReachable("connection refused".into());
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
        health: MemberHealth::NotReachable("gone".into()),
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
