//! What is chosen, and what is said about the rest.

use armadex_member::{Discovery, Group, ServedResource, Version, VersionState};
use insta::assert_snapshot;

use armadex_crds::GroupResources;

use super::chosen::MOST_MISSING;
use super::list::{MOST_ASKED, MOST_NAME_BYTES, MOST_VERSIONS};
use super::*;
use crate::session::new_types::NewTypes;

mod customs;
mod involved;
mod keep;
mod rights;
mod stored;

fn resource(name: &str, singular: &str, verbs: &[&str]) -> ServedResource {
    ServedResource {
        name: name.into(),
        singular: singular.into(),
        kind: capitalised(singular),
        namespaced: true,
        can_sync: verbs.contains(&"list"),
        short_names: vec![],
        categories: vec![],
    }
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    first.to_uppercase() + rest
}

fn served(name: &str, resources: Vec<ServedResource>) -> Version {
    Version {
        name: name.into(),
        state: VersionState::Served(resources),
    }
}

fn member() -> Discovery {
    let whole: &[&str] = &["get", "list", "watch"];
    let failed = Version {
        name: "v1beta1".into(),
        state: VersionState::Failed("it is down".into()),
    };
    let groups = [
        (
            "",
            vec![served(
                "v1",
                vec![
                    resource("pods", "pod", whole),
                    resource("secrets", "secret", whole),
                    resource("bindings", "binding", &["create"]),
                ],
            )],
        ),
        (
            "autoscaling",
            vec![
                served("v2", vec![resource("scalers", "scaler", whole)]),
                served("v1", vec![resource("scalers", "scaler", whole)]),
            ],
        ),
        (
            "example.com",
            vec![
                served("v2", vec![resource("foos", "foo", whole)]),
                served(
                    "v1",
                    vec![
                        resource("foos", "foo", whole),
                        resource("bars", "bar", whole),
                    ],
                ),
            ],
        ),
        ("metrics.k8s.io", vec![failed]),
    ];
    Discovery {
        groups: groups
            .into_iter()
            .map(|(name, versions)| (name.to_owned(), Group { versions }))
            .collect(),
    }
}

fn wanted(text: &str) -> Scope {
    scope_of(text, Gates::default())
}

fn scope_of(text: &str, gates: Gates) -> Scope {
    Scope::new(vec![Arc::new(List::new(&entries(text)))], gates)
}

fn common(text: &str) -> Reference {
    Reference::To("common".to_owned(), Arc::new(List::new(&entries(text))))
}

/// `group: resource resource @version @version !involved`, one entry a line.
fn entries(text: &str) -> Vec<GroupResources> {
    let entry = |line: &str| {
        let (group, rest) = line.split_once(':').unwrap();
        let (versions, others): (Vec<_>, Vec<_>) = rest
            .split_whitespace()
            .partition(|word| word.starts_with('@'));
        let (events, resources): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|word| word.starts_with('!'));
        GroupResources {
            group: group.trim().into(),
            versions: versions
                .iter()
                .map(|version| version[1..].to_owned())
                .collect(),
            resources: resources.iter().map(ToString::to_string).collect(),
            events_involved_resources: events.iter().map(|name| name[1..].to_owned()).collect(),
        }
    };
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(entry)
        .collect()
}

/// With what may begin now.
fn negotiate(wanted: &Scope, discovery: &Discovery, known: &Known, new: &NewTypes) -> Plan {
    let customs = &Customs::default();
    let served = Served { discovery, customs };
    negotiate_served(wanted, served, known, new)
}

fn negotiate_served(wanted: &Scope, served: Served<'_>, known: &Known, new: &NewTypes) -> Plan {
    let draft = super::negotiate(wanted, served, known, new.most());
    let begin = new.let_in(&draft.wants());
    draft.plan(&begin)
}

/// So many may be there and begin.
fn most(most: usize) -> NewTypes {
    NewTypes::new(most)
}

/// The same, of which so many others have begun.
fn most_but(most: usize, began: usize) -> NewTypes {
    let new = NewTypes::new(most);
    let began: Vec<_> = (0..began)
        .map(|number| GroupVersionResource::new("other.example", "v1", format!("r{number}")))
        .collect();
    assert_eq!(new.begin(began.iter(), most).len(), began.len());
    new
}

fn shown(text: &str) -> String {
    told(&negotiate(
        &wanted(text),
        &member(),
        &Known::default(),
        &most(usize::MAX),
    ))
}

fn told(plan: &Plan) -> String {
    let types = plan.types.iter().map(|found| found.gvr.to_string());
    let missing = plan.missing.iter().map(|missing| {
        let Missing {
            group,
            resource,
            version,
            why,
        } = missing;
        format!("- {resource}.{group}/{version}: {why}")
    });
    let kept = plan.kept.types.iter().map(|gvr| format!("kept {gvr}"));
    types
        .chain(missing)
        .chain(kept)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn names_are_plural_or_singular_in_any_case() {
    assert_snapshot!(shown(": Pods secret"), @r"
    pods/v1
    secrets/v1
    ");
}

#[test]
fn what_cannot_be_synced_is_said() {
    assert_snapshot!(shown(": binding po nope\nnone.example: things\nmetrics.k8s.io: nodes"), @r"
    - binding./v1: the member can't list and watch it
    - nope./: the member does not serve it
    - po./: the member does not serve it
    - nodes.metrics.k8s.io/v1beta1: it is down
    - things.none.example/: the member has no such group
    ");
}

#[test]
fn one_version_is_kept_of_each_type() {
    assert_snapshot!(shown("autoscaling: scalers @v1\nexample.com: foos bars\nexample.com: foos @v1"), @r"
    scalers.autoscaling/v2
    bars.example.com/v1
    foos.example.com/v1
    ");
    assert_snapshot!(shown("example.com: foos @v1"), @"foos.example.com/v1");
    assert_snapshot!(shown("example.com: foos @v3 @v4"), @"- foos.example.com/: the member does not serve it in version v3 or v4");
    assert_snapshot!(shown("example.com: foos @v3 @v4 @v5 @v6"), @"- foos.example.com/: the member does not serve it in version v3 or v4 or v5 or others");
}

#[test]
fn versions_that_are_given_by_hand_are_kept_beside_each_other() {
    let all = shown("example.com: foo @*");
    assert_eq!(shown("example.com: foos @v2 @v1"), all);
    assert_snapshot!(all, @r"
    foos.example.com/v1
    foos.example.com/v2
    ");
    assert_snapshot!(shown("example.com: * @*"), @r"
    bars.example.com/v1
    foos.example.com/v1
    foos.example.com/v2
    ");
    assert_snapshot!(shown("example.com: foos gadgets @v1 @v3 @*"), @r"
    foos.example.com/v1
    foos.example.com/v2
    - foos.example.com/: the member does not serve it in version v3
    - gadgets.example.com/: the member does not serve it in version v1 or v3
    ");
    assert_snapshot!(shown("example.com: gadgets @*"), @"- gadgets.example.com/: the member does not serve it");
    // Whichever entries name them.
    assert_eq!(shown("example.com: foos @v1\nexample.com: foos @v2"), all);
    assert_eq!(shown("example.com: foos\nexample.com: foos @v1 @v2"), all);
    assert_snapshot!(shown("example.com: foos @v1 @v2\nexample.com: *"), @r"
    bars.example.com/v1
    foos.example.com/v1
    foos.example.com/v2
    ");
    // Another one takes the place of one that is alone, as of any other.
    let apart = |text: &str| {
        let (wanted, member) = (wanted(text), member());
        negotiate(&wanted, &member, &Known::default(), &most(usize::MAX)).apart
    };
    assert_eq!(apart("example.com: foos @v1 @v3"), [].into());
    let foos = ("example.com".to_owned(), "foos".to_owned());
    assert_eq!(apart("example.com: foos @v1 @v2"), [foos].into());
    // Kubernetes' own are the same in each version.
    assert_snapshot!(shown("autoscaling: scalers @v1 @v2"), @"scalers.autoscaling/v2");
}

#[test]
fn a_star_stands_for_all_that_can_be_synced() {
    assert_snapshot!(shown(": *\nmetrics.k8s.io: *"), @r"
    pods/v1
    secrets/v1
    - *.metrics.k8s.io/v1beta1: it is down
    ");
    assert_eq!(shown("*: x").lines().count(), 6);
}

/// What is said about a spec that refers to nothing.
fn check(spec: &PediaClusterSpec, gates: Gates) -> Result<String, InvalidSyncResources> {
    scope(spec, &Reference::None, gates).map(|(_, warning)| warning)
}

#[test]
fn all_groups_are_asked_for_where_the_gate_lets_them_be() {
    let spec = PediaClusterSpec {
        sync_resources: entries("*: *"),
        ..PediaClusterSpec::default()
    };
    let error = check(&spec, Gates::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "syncResources: group \"*\" needs the feature gate AllowSyncAllResources"
    );
    let gates = Gates {
        allow_sync_all_resources: true,
        ..Gates::default()
    };
    assert_eq!(check(&spec, gates).as_deref(), Ok(""));
    let shared = common("*: *");
    let error = scope(&PediaClusterSpec::default(), &shared, Gates::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("ClusterSyncResources common: group"),
        "{error}"
    );
}

#[test]
fn a_list_that_is_referred_to_comes_behind_the_own_one() {
    let spec = PediaClusterSpec {
        sync_resources: entries(": pods\nexample.com: foos @v1"),
        ..PediaClusterSpec::default()
    };
    let shown = |reference: &Reference| {
        let (scope, warning) = scope(&spec, reference, Gates::default()).expect("a scope");
        let plan = negotiate(&scope, &member(), &Known::default(), &most(usize::MAX));
        format!("{}\n{warning}", told(&plan))
    };
    let shared = common("example.com: foos bars @v2 @v1\n: secrets");
    assert_snapshot!(shown(&shared), @r"
    pods/v1
    secrets/v1
    bars.example.com/v1
    foos.example.com/v1
    foos.example.com/v2
    - bars.example.com/: the member does not serve it in version v2
    ");
    assert_snapshot!(shown(&Reference::Missing("common".to_owned())), @r"
    pods/v1
    foos.example.com/v1
    Warning: sync resource ref is not found: there is no ClusterSyncResources common, so syncResources alone count
    ");
}

#[test]
fn leases_are_left_out_where_the_gate_says_so() {
    let leases = ResourceType {
        gvr: GroupVersionResource::new("coordination.k8s.io", "v1", "leases"),
        kind: "Lease".into(),
        namespaced: true,
        singular: "lease".into(),
        short_names: vec![],
        categories: vec![],
    };
    let whole: &[&str] = &["get", "list", "watch"];
    let mut lease = resource("leases", "lease", whole);
    lease.kind = "Lease".into();
    let group = Group {
        versions: vec![served("v1", vec![lease])],
    };
    let mut member = member();
    member
        .groups
        .insert("coordination.k8s.io".to_owned(), group);
    let shown = |text: &str, ignore_sync_lease| {
        let gates = Gates {
            ignore_sync_lease,
            allow_sync_all_resources: true,
            ..Gates::default()
        };
        let scope = scope_of(text, gates);
        assert_eq!(scope.asks_for(&leases), !ignore_sync_lease, "{text}");
        let plan = negotiate(&scope, &member, &Known::default(), &most(usize::MAX));
        told(&plan)
    };
    for text in [
        "coordination.k8s.io: lease",
        "coordination.k8s.io: *",
        "*: *",
    ] {
        assert!(shown(text, false).contains("leases.coordination.k8s.io/v1"));
        let left_out = shown(text, true);
        let words =
            "- leases.coordination.k8s.io/v1: the feature gate IgnoreSyncLease leaves them out";
        let of_leases = left_out.lines().filter(|line| line.contains("leases"));
        assert_eq!(of_leases.collect::<Vec<_>>(), [words], "{text}");
    }
}

#[test]
fn what_is_asked_for_and_not_done_is_said_and_the_rest_goes_on() {
    let spec = PediaClusterSpec {
        sync_all_custom_resources: true,
        sync_resources: entries(": pods !Pods !nodes !services\napps: * !anything !*"),
        authorization_mode: Some(AuthorizationMode::OuterOnly),
        ..PediaClusterSpec::default()
    };
    assert_snapshot!(
        check(&spec, Gates::default()).expect("the rest goes on"),
        @r#"Warning: syncAllCustomResources is ignored: it needs the feature gate AllowSyncAllCustomResources; Warning: eventsInvolvedResources: "nodes" and 1 more are ignored: name what is named in resources of the same entry, as it is there, or "*", and no more than 5000 in all; Warning: not served by this version of Armadex: authorizationMode outer-only (requests are authorised inside as well)"#
    );
    let plain = PediaClusterSpec {
        authorization_mode: Some(AuthorizationMode::Inner),
        ..PediaClusterSpec::default()
    };
    assert_eq!(check(&plain, Gates::default()).expect("all is done"), "");
}

/// A member with as many resources in one group.
fn with(resources: usize) -> Discovery {
    let resources = (0..resources).map(|number| resource(&format!("r{number:06}"), "", &["list"]));
    let group = Group {
        versions: vec![served("v1", resources.collect())],
    };
    Discovery {
        groups: [("example.com".to_owned(), group)].into(),
    }
}

#[test]
fn a_member_with_very_many_resources_has_so_many_streams_and_those_that_run_go_on() {
    let all = wanted("example.com: *");
    let few = negotiate(&all, &with(12), &Known::default(), &most(10));
    assert_eq!(few.types.len(), 10);
    let known = Known {
        types: negotiate(
            &wanted("example.com: r000011"),
            &with(12),
            &Known::default(),
            &most(10),
        )
        .types,
        ..Known::default()
    };
    let plan = negotiate(&all, &with(12), &known, &most(10));
    assert!(plan.types.contains(&known.types[0]) && plan.types.len() == 10);
    assert_eq!(plan.missing.len(), 1);
    let why = &plan.missing[0].why;
    assert!(
        why.starts_with("2 more resources") && why.contains("--max-resources-per-cluster"),
        "{why}"
    );
}

#[test]
fn of_many_that_are_new_some_wait_and_those_that_run_do_not() {
    let all = wanted("example.com: *");
    let first = negotiate(&all, &with(12), &Known::default(), &most_but(10, 6));
    assert_eq!((first.types.len(), first.wait), (4, 6));
    let words: Vec<_> = first.missing.iter().map(|missing| &missing.why).collect();
    assert_eq!(
        words,
        [
            "2 more resources are not synced: a cluster may have 10 (--max-resources-per-cluster); others are new and are synced by and by: a cluster may \
             have 10 new ones in an hour (--max-resources-per-cluster)"
        ],
        "a status has one row of each resource"
    );
    let known = Known {
        types: first.types,
        ..Known::default()
    };
    let same = negotiate(&all, &with(12), &known, &most_but(10, 10));
    assert_eq!((same.types.len(), same.wait), (4, 6));
    let more = negotiate(&all, &with(12), &known, &most(10));
    assert_eq!((more.types.len(), more.wait), (10, 0));
}

#[test]
fn what_is_missing_fits_into_a_status() {
    let names: Vec<_> = (0..MOST_ASKED)
        .map(|number| format!("none{number}"))
        .collect();
    let plan = negotiate(
        &wanted(&format!("example.com: {}", names.join(" "))),
        &with(10_000),
        &Known::default(),
        &most(10),
    );
    assert_eq!(plan.missing.len(), MOST_MISSING + 1);
    assert_eq!(
        plan.missing[0].why,
        "4000 more are asked for and not served"
    );
}

#[test]
fn more_names_than_anybody_wants_are_refused() {
    let spec = |number: usize| PediaClusterSpec {
        sync_resources: vec![GroupResources {
            group: "apps".to_owned(),
            resources: vec!["x".to_owned(); number],
            ..GroupResources::default()
        }],
        ..PediaClusterSpec::default()
    };
    assert!(check(&spec(MOST_ASKED), Gates::default()).is_ok());
    let error = check(&spec(MOST_ASKED + 1), Gates::default()).unwrap_err();
    assert!(
        error.to_string().starts_with("syncResources: 5001"),
        "{error}"
    );
    let many = vec!["x"; MOST_ASKED + 1].join(" ");
    let shared = common(&format!("apps: {many}"));
    let error = scope(&spec(1), &shared, Gates::default()).unwrap_err();
    let words = "ClusterSyncResources common: 5001 resources are named";
    assert!(error.to_string().starts_with(words), "{error}");
}

/// What is missing is told with the names of its group and versions, each time.
#[test]
fn names_that_nothing_has_and_versions_that_nobody_means_are_refused() {
    let check = |change: &dyn Fn(&mut GroupResources)| {
        let mut entry = entries("apps: deployments @v1").remove(0);
        change(&mut entry);
        let spec = PediaClusterSpec {
            sync_resources: vec![entry],
            ..PediaClusterSpec::default()
        };
        check(&spec, Gates::default()).map_err(|error| error.to_string())
    };
    let (longest, longer) = ("x".repeat(MOST_NAME_BYTES), "x".repeat(MOST_NAME_BYTES + 1));
    assert_eq!(
        check(&|entry| entry.group.clone_from(&longest)),
        Ok(String::new())
    );
    for refused in [
        check(&|entry| entry.group.clone_from(&longer)),
        check(&|entry| entry.resources.push(longer.clone())),
        check(&|entry| entry.versions.push(longer.clone())),
    ] {
        let words = refused.unwrap_err();
        assert!(words.contains("a name of 254 bytes"), "{words}");
    }
    let versions = |number| vec!["v1".to_owned(); number];
    let many = |number| check(&|entry: &mut GroupResources| entry.versions = versions(number));
    assert_eq!(many(MOST_VERSIONS), Ok(String::new()));
    let words = many(MOST_VERSIONS + 1).unwrap_err();
    assert!(words.contains("51 versions of group \"apps\""), "{words}");
}

#[test]
fn a_kind_of_kubernetes_is_not_what_a_member_says_that_it_is() {
    let other = |change: fn(&mut ServedResource)| {
        let mut member = member();
        for group in member.groups.values_mut() {
            for version in &mut group.versions {
                if let VersionState::Served(resources) = &mut version.state {
                    resources.iter_mut().for_each(change);
                }
            }
        }
        let wanted = wanted(": pods\nexample.com: foos");
        told(&negotiate(
            &wanted,
            &member,
            &Known::default(),
            &most(usize::MAX),
        ))
    };
    let cluster_wide = |found: &mut ServedResource| found.namespaced = false;
    assert_snapshot!(other(cluster_wide), @r"
    foos.example.com/v2
    - pods./v1: the member has Pod without a namespace where Kubernetes has Pod in a namespace
    ");
    assert_snapshot!(other(|found| found.kind = "Evil".to_owned()), @r"
    foos.example.com/v2
    - pods./v1: the member has Evil in a namespace where Kubernetes has Pod in a namespace
    ");
    assert_snapshot!(other(|found| found.singular = "evil".to_owned()), @r"
    pods/v1
    foos.example.com/v2
    ");
}
