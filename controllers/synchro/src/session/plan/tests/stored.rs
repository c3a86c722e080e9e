//! What a member serves in an older version than the stored one.

use super::super::stored::as_stored;
use super::*;

const WHOLE: &[&str] = &["list", "watch"];

/// A member with these groups, a line for each: `batch: v1 Job; v1beta1 CronJob; v2 !`, where `!` stands for a version that does not answer.
fn member(groups: &str) -> Discovery {
    let groups = groups.lines().map(|line| {
        let (group, versions) = line.trim().split_once(':').expect("a group");
        let versions = versions.split(';').map(version).collect();
        (group.to_owned(), Group { versions })
    });
    Discovery {
        groups: groups.collect(),
    }
}

fn version(text: &str) -> Version {
    let mut words = text.split_whitespace();
    let name = words.next().expect("a version");
    let kinds: Vec<_> = words.collect();
    if kinds == ["!"] {
        return Version {
            name: name.to_owned(),
            state: VersionState::Failed("it is down".to_owned()),
        };
    }
    let resources = kinds.into_iter().map(|kind| {
        let singular = kind.to_ascii_lowercase();
        let plural = match (singular.strip_suffix('y'), singular.ends_with('s')) {
            (Some(stem), _) => format!("{stem}ies"),
            (None, true) => format!("{singular}es"),
            (None, false) => format!("{singular}s"),
        };
        ServedResource {
            kind: kind.to_owned(),
            ..resource(&plural, &singular, WHOLE)
        }
    });
    served(name, resources.collect())
}

/// What follows for whoever asks for these and knows this, with what is read of what is converted.
fn told_knowing(asked: &str, groups: &str, known: &Known) -> String {
    let discovery = member(groups);
    let as_stored = as_stored(&discovery, known);
    let draft = negotiate(
        &wanted(asked),
        &as_stored.discovery,
        known,
        &most(usize::MAX),
    );
    let converted = as_stored.conversions.iter().filter(|(gvr, _)| {
        let mut planned = draft.types.iter();
        planned.any(|planned| planned.gvr == **gvr)
    });
    let converted = converted.map(|(gvr, conversion)| {
        let served = conversion.served();
        format!("\n{gvr} from {}/{}", served.group, served.version)
    });
    super::told(&draft) + &converted.collect::<String>()
}

fn told_of(asked: &str, groups: &str) -> String {
    told_knowing(asked, groups, &Known::default())
}

#[test]
fn a_kind_that_is_served_in_an_older_version_alone_is_chosen_in_the_stored_one() {
    assert_snapshot!(told_of(
        "batch: *\npolicy: poddisruptionbudget",
        "batch: v1 Job; v1beta1 CronJob\npolicy: v1beta1 PodDisruptionBudget"
    ), @r"
    cronjobs.batch/v1
    jobs.batch/v1
    poddisruptionbudgets.policy/v1
    cronjobs.batch/v1 from batch/v1beta1
    poddisruptionbudgets.policy/v1 from policy/v1beta1
    ");
}

#[test]
fn the_stored_version_is_chosen_whatever_a_member_would_rather_have() {
    let asked = "autoscaling: horizontalpodautoscalers @v1";
    assert_snapshot!(told_of(asked, "autoscaling: v1 HorizontalPodAutoscaler; v2beta2 HorizontalPodAutoscaler; v2 HorizontalPodAutoscaler"), @"horizontalpodautoscalers.autoscaling/v2");
    assert_snapshot!(told_of(asked, "autoscaling: v1 HorizontalPodAutoscaler; v2beta1 HorizontalPodAutoscaler; v2beta2 HorizontalPodAutoscaler"), @r"
    horizontalpodautoscalers.autoscaling/v2
    horizontalpodautoscalers.autoscaling/v2 from autoscaling/v2beta2
    ");
    assert_snapshot!(told_of(asked, "autoscaling: v1 HorizontalPodAutoscaler"), @r"
    horizontalpodautoscalers.autoscaling/v2
    horizontalpodautoscalers.autoscaling/v2 from autoscaling/v1
    ");
}

/// As Clusterpedia has it, who asks for the older group by its name is given what is served in that.
#[test]
fn what_another_group_serves_is_stored_in_the_group_of_its_kind_where_that_is_asked_for() {
    let groups = "extensions: v1beta1 Deployment Ingress\nnetworking.k8s.io: v1 NetworkPolicy\napps: v1 Deployment";
    assert_snapshot!(told_of("networking.k8s.io: ingress", groups), @r"
    ingresses.networking.k8s.io/v1
    ingresses.networking.k8s.io/v1 from extensions/v1beta1
    ");
    assert_snapshot!(told_of("networking.k8s.io: *\napps: *", groups), @r"
    deployments.apps/v1
    ingresses.networking.k8s.io/v1
    networkpolicies.networking.k8s.io/v1
    ingresses.networking.k8s.io/v1 from extensions/v1beta1
    ");
    assert_snapshot!(told_of("extensions: *", groups), @r"
    deployments.extensions/v1beta1
    ingresses.extensions/v1beta1
    ");
    assert_snapshot!(told_of("networking.k8s.io: ingresses", "extensions: v1beta1 Ingress"), @r"
    ingresses.networking.k8s.io/v1
    ingresses.networking.k8s.io/v1 from extensions/v1beta1
    ");
    let both = "extensions: v1beta1 Ingress\nnetworking.k8s.io: v1beta1 Ingress";
    assert_snapshot!(told_of("networking.k8s.io: ingresses", both), @r"
    ingresses.networking.k8s.io/v1
    ingresses.networking.k8s.io/v1 from networking.k8s.io/v1beta1
    ");
}

#[test]
fn nothing_is_converted_while_the_stored_version_does_not_answer() {
    let known = Known {
        types: vec![budgets("v1")],
        ..Known::default()
    };
    let groups = "policy: v1 !; v1beta1 PodDisruptionBudget";
    assert_snapshot!(told_knowing("policy: *", groups, &known), @r"
    - *.policy/v1: it is down
    kept poddisruptionbudgets.policy/v1
    ");
}

/// Its rows would be hidden for good otherwise, for the group in which they are stored answers, and has no place for them.
#[test]
fn what_is_converted_stays_as_it_is_while_the_version_that_is_served_does_not_answer() {
    let ingresses = |groups| told_knowing("networking.k8s.io: *", groups, &Known::default());
    let mut known = Known::default();
    let gvr = GroupVersionResource::new("networking.k8s.io", "v1", "ingresses");
    known.types = vec![ResourceType {
        gvr: gvr.clone(),
        ..budgets("v1")
    }];
    known.doubted.insert(gvr);
    let groups = "extensions: v1beta1 !\nnetworking.k8s.io: v1 NetworkPolicy";
    let told = told_knowing("networking.k8s.io: *", groups, &known);
    assert!(
        told.contains("kept ingresses.networking.k8s.io/v1"),
        "{told}"
    );
    // One that is to be preferred may be what is read.
    let groups = "extensions: v1beta1 Ingress\nnetworking.k8s.io: v1beta1 !";
    let told = told_knowing("networking.k8s.io: *", groups, &known);
    assert!(
        told.contains("kept ingresses.networking.k8s.io/v1"),
        "{told}"
    );
    assert!(!told.contains(" from "), "{told}");
    assert!(!ingresses(groups).contains(" from "));
}

#[test]
fn an_older_version_is_not_stored_as_it_is_while_the_stored_one_does_not_answer() {
    let groups = "policy: v1 !; v1beta1 PodDisruptionBudget";
    assert_snapshot!(told_of("policy: poddisruptionbudgets", groups), @"- poddisruptionbudgets.policy/v1: it is down");
}

fn budgets(version: &str) -> ResourceType {
    let discovery = member(&format!("policy: {version} PodDisruptionBudget"));
    let VersionState::Served(resources) = &discovery.groups["policy"].versions[0].state else {
        panic!("served");
    };
    super::super::chosen::resource_type("policy", &served(version, vec![]), &resources[0])
}

/// API servers of several releases may answer in turns while a member is upgraded.
#[test]
fn what_runs_unconverted_is_converted_once_whole_answers_have_no_place_for_it_twice() {
    let gvr = budgets("v1").gvr;
    let mut known = Known {
        types: vec![budgets("v1")],
        unconverted: [gvr.clone()].into(),
        ..Known::default()
    };
    let groups = "policy: v1beta1 PodDisruptionBudget";
    assert_snapshot!(told_knowing("policy: *", groups, &known), @r"
    - poddisruptionbudgets.policy/v1: the member has just ceased to serve it
    kept poddisruptionbudgets.policy/v1
    ");
    known.doubted.insert(gvr);
    assert_snapshot!(told_knowing("policy: *", groups, &known), @r"
    poddisruptionbudgets.policy/v1
    poddisruptionbudgets.policy/v1 from policy/v1beta1
    ");
    known.unconverted.clear();
    known.doubted.clear();
    assert_snapshot!(told_knowing("policy: *", groups, &known), @r"
    poddisruptionbudgets.policy/v1
    poddisruptionbudgets.policy/v1 from policy/v1beta1
    ");
}

/// As it was stored by a release that converted nothing.
#[test]
fn an_older_version_that_is_stored_is_followed_until_the_stored_one_of_its_kind_has_been_listed() {
    let before = budgets("v1beta1");
    let mut known = Known {
        types: vec![before.clone()],
        listed: [before.gvr.clone()].into(),
        ..Known::default()
    };
    let groups = "policy: v1beta1 PodDisruptionBudget";
    assert_snapshot!(told_knowing("policy: *", groups, &known), @"poddisruptionbudgets.policy/v1beta1");
    known.doubted.insert(before.gvr.clone());
    assert_snapshot!(told_knowing("policy: *", groups, &known), @r"
    poddisruptionbudgets.policy/v1
    poddisruptionbudgets.policy/v1 from policy/v1beta1
    ");
    let discovery = member(groups);
    let as_stored = as_stored(&discovery, &known);
    let plan = negotiate(
        &wanted("policy: *"),
        &as_stored.discovery,
        &known,
        &most(usize::MAX),
    );
    assert_eq!(plan.replaced, [before], "it is followed meanwhile");
}

#[test]
fn a_stream_begins_anew_when_what_it_reads_is_served_in_another_version() {
    let conversion = armadex_conversion::of("policy", "v1beta1", "poddisruptionbudgets");
    let gvr = budgets("v1").gvr;
    let converting = Plan {
        conversions: [(gvr.clone(), conversion.unwrap())].into(),
        ..Plan::default()
    };
    assert!(converting.reads_on(&gvr, conversion));
    assert!(!converting.reads_on(&gvr, None));
    assert!(!Plan::default().reads_on(&gvr, conversion));
    let mut kept = Plan::default();
    kept.kept.types.insert(gvr.clone());
    assert!(kept.reads_on(&gvr, conversion), "whatever it reads");
}

/// A modern member is looked at, and not copied.
#[test]
fn a_member_that_serves_what_is_stored_stays_as_it_is() {
    let discovery = member(
        "batch: v1 Job CronJob\nautoscaling: v2 HorizontalPodAutoscaler; v1 HorizontalPodAutoscaler",
    );
    let as_stored = as_stored(&discovery, &Known::default());
    assert!(matches!(as_stored.discovery, std::borrow::Cow::Borrowed(_)));
    assert!(as_stored.conversions.is_empty());
}
