//! What the chart grants where the control plane is its own cluster is what deploy/rbac grants, to the parts that have it there. To another one `armadex install` brings
//! the same.

use std::collections::BTreeSet;

use anyhow::Result;
use armadex_e2e::rights::{self, Right};
use armadex_e2e::{account, deploy};
use serde_json::Value;

use crate::helm::{self, Helm};

/// What helm makes itself, and deletes: a pod that is about to go must not make it anew.
const HELMS: [&str; 4] = [
    "armadex-registration: create apiservices.apiregistration.k8s.io/v1beta1.clusterpedia.io",
    "armadex-registration: create services/armadex-apiserver in clusterpedia-system",
    "armadex-registration: get services/armadex-apiserver in clusterpedia-system",
    "armadex-registration: patch services/armadex-apiserver in clusterpedia-system",
];

/// Of Secrets in the namespace of the release, where others than of members lie.
const HOME: [&str; 3] = [
    "armadex-credentials: get secrets in clusterpedia-system",
    "armadex-credentials: list secrets in clusterpedia-system",
    "armadex-credentials: watch secrets in clusterpedia-system",
];

/// The certificate lies where the manifests have it; if nothing is said, in the namespace of the release.
const SERVING: &str = "controlPlane.servingNamespace=armadex-serving";

/// All rights but those of Jobs.
fn granted(objects: &[Value]) -> Result<BTreeSet<Right>> {
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    let mut all = rights::parse(&texts.join("\n---\n"))?;
    let jobs = ["-install", "-off-board"];
    all.retain(|right| !jobs.iter().any(|job| right.role.ends_with(job)));
    Ok(all)
}

/// As a release in the namespace of the manifests.
fn made(values: &str, flags: &[&str]) -> Result<Vec<Value>> {
    let flags = [&["--namespace", deploy::NAMESPACE], flags].concat();
    Helm::ensure()?.render(&helm::values_named(values), &flags)
}

#[test]
fn the_rights_are_those_of_the_manifests_but_for_what_helm_makes_and_what_lies_in_its_namespace()
-> Result<()> {
    let shipped = rights::parse(&deploy::rights()?)?;
    let home = "controlPlane.credentialNamespaces={clusterpedia-system}";
    let (helms, homes) = (HELMS.to_vec(), [&HOME[..], &HELMS[..]].concat());
    for (flags, missing) in [
        (vec!["policies.karmada.enabled=true"], &homes),
        (vec!["policyRights={karmada}"], &homes),
        (vec!["policyRights={karmada}", home], &helms),
    ] {
        let flags = flags.into_iter().chain([SERVING]);
        let flags: Vec<&str> = flags.flat_map(|flag| ["--set", flag]).collect();
        let granted = granted(&made("default", &flags)?)?;
        let more: Vec<_> = granted.difference(&shipped).map(Right::to_string).collect();
        let less: Vec<_> = shipped.difference(&granted).map(Right::to_string).collect();
        assert!(more.is_empty(), "{more:?}");
        assert_eq!(less, *missing);
    }
    Ok(())
}

/// Wherever the control plane is: those who read Secrets read none there, unless the namespace of a release here is named for it, which the notes tell.
#[test]
fn the_serving_certificate_lies_where_the_api_server_is_told_and_nobody_else_reads() -> Result<()> {
    for (values, flags, place) in [
        ("default", "", "clusterpedia-system"),
        ("default", SERVING, "armadex-serving"),
        ("karmada", "", "armadex-keys"),
        ("try", "", "armadex-serving"),
    ] {
        let made = made(values, &["--set", flags])?;
        let told = |flag: &str| {
            let mut told = BTreeSet::new();
            for (_, pod) in helm::pods(&made) {
                let all = crate::parts::arguments(&pod).into_iter();
                told.extend(
                    all.filter_map(|it| it.strip_prefix(flag))
                        .map(str::to_owned),
                );
            }
            told
        };
        let place = BTreeSet::from([place.to_owned()]);
        assert_eq!(told("--serving-namespace="), place, "{values}");
        let read = told("--credential-namespaces=");
        assert!(
            read.iter()
                .all(|read| read.split(',').all(|it| !place.contains(it))),
            "{read:?}"
        );
        let readers = ["armadex-serving", "armadex-registration"];
        for right in granted(&made)? {
            let reads = right.resource == "secrets" && place.contains(&right.namespace);
            assert!(!reads || readers.contains(&right.role.as_str()), "{right}");
            assert!(!reads || right.verb != "delete", "{right}");
        }
    }
    Ok(())
}

/// Nor is it told that it may: the processes refuse what a policy asks for beyond it.
#[test]
fn credentials_are_read_where_they_may_be_and_nowhere_else() -> Result<()> {
    for (values, expected) in [
        ("default", None),
        ("here", Some("karmada-cluster,team-a")),
        ("karmada", Some("clusterpedia-system,karmada-cluster")),
    ] {
        for (name, pod) in helm::pods(&made(values, &[])?) {
            let arguments = crate::parts::arguments(&pod);
            let mut flags = arguments.iter();
            let told = flags.find_map(|flag| flag.strip_prefix("--credential-namespaces="));
            let reads = ["all", "synchro", "controllers"].contains(&arguments[0]);
            assert_eq!(told, expected.filter(|_| reads), "{values}: {name}");
        }
    }
    Ok(())
}

#[test]
fn what_is_named_twice_is_granted_once() -> Result<()> {
    let named = "controlPlane.credentialNamespaces={fleet-default,team-a}";
    let made = made(
        "default",
        &["--set", named, "--set", "policyRights={rancher}"],
    )?;
    let mut names: Vec<String> = made.iter().map(helm::named).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
    let credentials = names
        .iter()
        .filter(|name| name.contains(" armadex-credentials "));
    assert_eq!(
        credentials.count(),
        4,
        "a role and its binding in both: {names:?}"
    );
    Ok(())
}

/// In this cluster they may do to the enabled policies what they are for.
#[test]
fn the_jobs_may_apply_or_delete_the_enabled_policies_and_do_nothing_else() -> Result<()> {
    let flags = [
        "--set",
        "policies.karmada.enabled=true,install.removePolicies=true",
    ];
    let texts: Vec<String> = made("default", &flags)?
        .iter()
        .map(Value::to_string)
        .collect();
    let mut all = rights::parse(&texts.join("\n---\n"))?;
    all.retain(|right| right.role.ends_with("-install") || right.role.ends_with("-off-board"));
    let all: Vec<String> = all.iter().map(Right::to_string).collect();
    let policies = "clusterimportpolicies.policy.clusterpedia.io";
    let expected = [
        format!("armadex-install: create {policies}/karmada"),
        format!("armadex-install: get {policies}/karmada"),
        format!("armadex-install: patch {policies}/karmada"),
        format!("armadex-off-board: delete {policies}/karmada"),
        format!("armadex-off-board: get {policies}/karmada"),
    ];
    assert_eq!(all, expected);
    Ok(())
}

/// Of a role that is bound in one namespace at a time there is one in each that is named.
#[test]
fn other_platforms_have_their_rights_and_namespaces_that_are_named_those_of_credentials()
-> Result<()> {
    let karmada = ["armadex-karmada", "karmada-cluster"];
    let is_karmadas =
        |right: &Right| right.role.starts_with(karmada[0]) || right.namespace == karmada[1];
    let is_helms = |right: &Right| {
        [&HELMS[..], &HOME]
            .concat()
            .contains(&right.to_string().as_str())
    };
    let mut shipped = rights::parse(&deploy::rights()?)?;
    shipped.extend(rights::parse(&deploy::rights_of_others()?)?);
    shipped.retain(|right| !is_karmadas(right) && !is_helms(right));
    let mut expected = BTreeSet::new();
    for mut right in shipped {
        if right.role == "armadex-credentials" && right.namespace.is_empty() {
            right.namespace = "team-a".to_owned();
        }
        expected.insert(right);
    }
    let serving = ["--set", SERVING];
    assert_eq!(granted(&made("platforms", &serving)?)?, expected);
    Ok(())
}

#[test]
fn each_part_has_the_roles_that_it_has_where_parts_run_apart() -> Result<()> {
    let made = made("here", &[])?;
    let bindings = made.iter().filter(|object| object["roleRef"].is_object());
    let mut seen = 0;
    for binding in bindings {
        let role = binding["roleRef"]["name"].as_str().unwrap();
        if role.ends_with("-install") {
            continue;
        }
        let subjects = binding["subjects"].as_array().unwrap();
        for part in ["apiserver", "synchro", "controllers"] {
            let account = format!("armadex-index-{part}");
            let bound = subjects.iter().any(|subject| {
                subject["name"] == account && subject["namespace"] == deploy::NAMESPACE
            });
            let has = account::has(&format!("armadex-{part}"), role);
            assert_eq!(bound, has, "{part} {role}");
        }
        seen += 1;
    }
    assert!(seen > 9, "{seen}");
    Ok(())
}

/// Whoever is bound to a role that is not there, or has no account, is missed at run time alone.
#[test]
fn every_binding_is_of_a_role_and_of_accounts_that_are_made() -> Result<()> {
    let helm = Helm::ensure()?;
    for values in helm::all_values()? {
        let objects = helm.render(&values, &[])?;
        let is_there = |kind: &Value, name: &Value, namespace: &Value| {
            objects.iter().any(|object| {
                let metadata = &object["metadata"];
                object["kind"] == *kind
                    && metadata["name"] == *name
                    && metadata["namespace"] == *namespace
            })
        };
        let bindings = objects
            .iter()
            .filter(|object| object["roleRef"].is_object());
        for binding in bindings {
            let (role, metadata) = (&binding["roleRef"], &binding["metadata"]);
            let namespace = match role["kind"].as_str() {
                Some("Role") => &metadata["namespace"],
                _ => &Value::Null,
            };
            assert!(
                is_there(&role["kind"], &role["name"], namespace),
                "{binding}"
            );
            let subjects = binding["subjects"].as_array().unwrap();
            assert!(!subjects.is_empty(), "{binding}");
            for subject in subjects {
                assert!(
                    is_there(&subject["kind"], &subject["name"], &subject["namespace"]),
                    "{subject}"
                );
            }
        }
    }
    Ok(())
}

/// What the Secrets of a mode end with, and those of any.
const ONE: &[&str] = &[""];
const EVERY: &[&str] = &["", "-apiserver", "-synchro", "-controllers"];
const MAKES: &[&str] = &["create", "get", "patch"];

/// By name, so that what else lies in the namespace is nothing to them; and who renews makes none, which could come back after the release has gone.
#[test]
fn the_jobs_about_issued_kubeconfigs_may_do_to_these_secrets_what_they_are_for_and_nothing_else()
-> Result<()> {
    let made = Helm::ensure()?.render(&helm::values_named("issued"), &[])?;
    let texts: Vec<String> = made.iter().map(Value::to_string).collect();
    let all = rights::parse(&texts.join("\n---\n"))?;
    let all: BTreeSet<String> = all.iter().map(Right::to_string).collect();
    let mut expected = BTreeSet::new();
    for (job, parts, verbs) in [
        ("install", ONE, MAKES),
        ("prepare", ONE, MAKES),
        ("return", ONE, MAKES),
        ("settle", ONE, MAKES),
        ("renew", ONE, &["get", "patch"]),
        ("uninstall", EVERY, &["get", "delete"]),
    ] {
        for (part, verb) in parts
            .iter()
            .flat_map(|part| verbs.iter().map(move |verb| (part, verb)))
        {
            let secret = format!("secrets/armadex-index-control-plane{part}");
            let right = format!(
                "armadex-index-{job}: {verb} {secret} in {}",
                helm::NAMESPACE
            );
            expected.insert(right);
        }
    }
    assert_eq!(all, expected);
    for (name, pod) in helm::pods(&made) {
        let is_issuing = [
            "install",
            "prepare",
            "return",
            "settle",
            "renew",
            "uninstall",
        ];
        let is_issuing = is_issuing
            .iter()
            .any(|job| name.contains(&format!("armadex-index-{job} ")));
        assert_eq!(
            pod["spec"]["automountServiceAccountToken"], is_issuing,
            "{name}"
        );
    }
    Ok(())
}

/// A control plane elsewhere by a kubeconfig that somebody has made has nothing to do with this cluster's rights.
#[test]
fn with_a_control_plane_elsewhere_nothing_is_granted_here_and_no_pod_has_a_token() -> Result<()> {
    for values in ["karmada", "parts", "try", "as-given"] {
        let made = made(values, &[])?;
        assert!(
            !made.iter().any(|object| object["rules"].is_array()),
            "{values}"
        );
        for (name, pod) in helm::pods(&made) {
            assert_eq!(pod["spec"]["automountServiceAccountToken"], false, "{name}");
        }
    }
    Ok(())
}
