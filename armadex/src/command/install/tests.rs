use std::path::PathBuf;

use armadex_control_plane::testing::{Host, Log};
use armadex_control_plane::{Applied, Objects};
use clap::{Command, FromArgMatches as _};
use kube::api::PatchParams;
use serde_json::{Value, json};

use super::testing::host;
use super::*;

const LIMIT: Duration = Duration::from_secs(60);
const POLICY: &str = "/apis/policy.clusterpedia.io/v1alpha1/clusterimportpolicies/karmada";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/armadex-synchro";

fn flags(words: &[&str]) -> Result<Flags, String> {
    let words = std::iter::once(&"install").chain(words);
    let command = Flags::augment_args(Command::new("install"));
    let matches = command.try_get_matches_from(words);
    let flags = matches.and_then(|matches| Flags::from_arg_matches(&matches));
    flags.map_err(|error| error.to_string())
}

/// One that says of each definition that comes that it is served, or why it is not.
fn serving_host(established: &'static str) -> Host {
    let host = host();
    for definition in Wanted::definitions().manifests() {
        let (path, host) = (format!("{DEFINITIONS}/{}", definition.name), host.clone());
        tokio::spawn(async move {
            host.until(|host| host.get(&path).is_some()).await;
            let mut object = host.get(&path).expect("it is there");
            let condition = json!({"type": "Established", "status": established, "message": "no room",
                "reason": "a", "lastTransitionTime": "2026-01-02T03:04:05Z"});
            object["status"]["conditions"] = json!([condition]);
            host.put(&path, object);
        });
    }
    host
}

/// What comes of it, and what is printed.
async fn install(host: &Host, words: &[&str]) -> (Result<(), String>, Vec<String>) {
    let flags = flags(words).expect("they are understood");
    let installer = Installer {
        applier: Applier {
            client: host.client(),
            edited: flags.edited_policies,
            keeps_holders: flags.keep_holders,
            dry_run: flags.dry_run,
        },
        server: "https://fleet.example".to_owned(),
        takes_over: flags.take_over,
        is_noted: flags.place.noted,
        limit: LIMIT,
    };
    let mut printed = Vec::new();
    let done = installer.run(&wanted(&flags), &mut printed).await;
    let printed = String::from_utf8(printed).expect("text");
    let lines = printed.lines().map(str::to_owned).collect();
    (done.map_err(|error| format!("{error:#}")), lines)
}

/// The lines that do not end so.
fn others<'a>(lines: &'a [String], end: &str) -> Vec<&'a String> {
    let others = lines.iter().filter(|line| {
        let words = line.split(" in ").next().unwrap_or_default();
        !words.ends_with(end)
    });
    others.collect()
}

#[tokio::test(start_paused = true)]
async fn everything_is_made_once_and_then_unchanged() {
    let host = serving_host("True");
    let (done, lines) = install(&host, &["--policies", "karmada"]).await;
    assert_eq!(done, Ok(()));
    assert_eq!(others(&lines, " created"), [""; 0]);
    assert_eq!(
        lines.first().map(String::as_str),
        Some(
            "customresourcedefinition.apiextensions.k8s.io/pediaclusters.cluster.clusterpedia.io created"
        )
    );
    assert_eq!(
        lines.last().map(String::as_str),
        Some("clusterimportpolicy.policy.clusterpedia.io/karmada created")
    );
    assert!(lines.contains(&"serviceaccount/armadex created in clusterpedia-system".to_owned()));
    let (done, again) = install(&host, &["--policies", "karmada"]).await;
    assert_eq!(done, Ok(()));
    assert_eq!(others(&again, " unchanged"), [""; 0]);
    assert_eq!(again.len(), lines.len());
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_tells_the_same_and_changes_nothing() {
    let host = host();
    host.withdraw(
        "policy.clusterpedia.io",
        "v1alpha1",
        "clusterimportpolicies",
    );
    let words = ["--dry-run", "--policies", "karmada"];
    let (done, lines) = install(&host, &words).await;
    assert_eq!(done, Ok(()));
    let is_dry = |line: &String| line.contains(" created") && line.ends_with(" (dry run)");
    assert!(lines.iter().all(is_dry), "{lines:#?}");
    assert_eq!(host.get(ROLE), None);
    // The definitions are somebody else's to install, and nobody has.
    let (done, lines) = install(
        &host,
        &["--dry-run", "--policies", "karmada", "--only", "policies"],
    )
    .await;
    let error = done.expect_err("no kind");
    assert!(error.starts_with("1 of 1 objects"), "{error}");
    assert_eq!(lines, [""; 0]);
}

async fn apply_as(host: &Host, manager: &str, manifest: &manifests::Manifest, object: &Value) {
    let namespace = manifest.namespace.as_deref();
    let objects = Objects::of_kind(host.client(), &manifest.kind, namespace);
    let params = PatchParams::apply(manager);
    let applied = objects.apply(&manifest.name, &params, object).await;
    assert!(matches!(applied, Ok(Applied::Done(_))), "{applied:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_over_is_told_with_whose_it_was() {
    let host = serving_host("True");
    let definition = &Wanted::definitions().manifests()[0];
    let clusterpedias = json!({"spec": {"versions": [{"name": "v1alpha2", "served": true}]}});
    apply_as(&host, "clusterpedia-helm", definition, &clusterpedias).await;
    let log = Log::warnings_of("armadex");
    let (done, lines) = install(&host, &[]).await;
    assert_eq!(done, Ok(()));
    assert_eq!(
        others(&lines, " created"),
        [
            "customresourcedefinition.apiextensions.k8s.io/pediaclusters.cluster.clusterpedia.io configured"
        ]
    );
    let told = log.told();
    assert!(
        told[0].contains("taken over: .spec, set by clusterpedia-helm"),
        "{told:#?}"
    );
    assert_eq!(told.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_somebody_changed_is_theirs_unless_it_is_said_otherwise() {
    let host = serving_host("True");
    let words = ["--policies", "karmada", "--only", "crds,policies"];
    let (done, _) = install(&host, &words).await;
    assert_eq!(done, Ok(()));
    let shipped = host.get(POLICY).expect("it is there");
    let mut changed = shipped.clone();
    changed["spec"]["creationCondition"] = json!("true");
    host.put(POLICY, changed);
    let condition = || host.get(POLICY).expect("it is there")["spec"]["creationCondition"].clone();

    let log = Log::warnings_of("armadex");
    let (done, lines) = install(&host, &words).await;
    let error = done.expect_err("it was changed");
    assert!(error.starts_with("1 of 5 objects"), "{error}");
    assert_eq!(lines.len(), 4);
    let told = log.told();
    let reason = "changed since it was installed: .spec.creationCondition";
    assert!(
        told[0].contains(reason) && told[0].contains("--edited-policies"),
        "{told:#?}"
    );
    assert_eq!(condition(), json!("true"));

    let (done, lines) = install(
        &host,
        &[&words[..], &["--edited-policies", "keep"]].concat(),
    )
    .await;
    assert_eq!(done, Ok(()));
    let kept = "clusterimportpolicy.policy.clusterpedia.io/karmada kept";
    assert_eq!(lines.last().map(String::as_str), Some(kept));
    assert_eq!(condition(), json!("true"));

    let (done, lines) = install(
        &host,
        &[&words[..], &["--edited-policies", "replace"]].concat(),
    )
    .await;
    assert_eq!(done, Ok(()));
    let configured = "clusterimportpolicy.policy.clusterpedia.io/karmada configured";
    assert_eq!(lines.last().map(String::as_str), Some(configured));
    assert_eq!(condition(), shipped["spec"]["creationCondition"]);
    assert_eq!(log.told().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_before_whose_fields_are_somebody_elses_is_theirs() {
    let host = serving_host("True");
    let mine = json!({"spec": {"template": "mine"}});
    apply_as(&host, "kubectl", &manifests::policy("karmada")[0], &mine).await;
    let log = Log::warnings_of("armadex");
    let (done, _) = install(&host, &["--policies", "karmada"]).await;
    assert!(done.is_err());
    let told = log.told();
    assert!(
        told[0].contains(".spec, set by kubectl; it was left as it is"),
        "{told:#?}"
    );
    let there = host.get(POLICY).expect("it is there");
    assert_eq!(there["spec"], json!({"template": "mine"}));
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_missing_stops_nothing_else() {
    let host = serving_host("True");
    host.forbid("patch", "clusterroles");
    let log = Log::warnings_of("armadex");
    let (done, lines) = install(&host, &["--policies", "karmada"]).await;
    let error = done.expect_err("it is forbidden");
    assert!(error.contains("docs/permissions.md"), "{error}");
    let told = log.told();
    let forbidden = "cannot patch resource \"clusterroles\"";
    assert!(
        told.iter().all(|line| line.contains(forbidden)),
        "{told:#?}"
    );
    let all = wanted(&flags(&["--policies", "karmada"]).expect("understood")).manifests();
    let roles = all
        .iter()
        .filter(|manifest| manifest.kind.kind == "ClusterRole");
    assert_eq!(told.len(), roles.count());
    assert!(error.starts_with(&format!("{} of ", told.len())), "{error}");
    assert_eq!(others(&lines, " created"), [""; 0]);
    assert!(host.get(POLICY).is_some());
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_for_and_what_does_not_ends_it() {
    let host = serving_host("True");
    host.throttle("patch", "clusterroles", 3);
    host.throttle("get", "customresourcedefinitions", 3);
    let (done, _) = install(&host, &[]).await;
    assert_eq!(done, Ok(()));
    assert!(host.get(ROLE).is_some());
    host.hang("get", "namespaces");
    let begun = tokio::time::Instant::now();
    let (done, _) = install(&host, &[]).await;
    let error = done.expect_err("there is no answer");
    assert!(
        error.contains("cannot install namespace/clusterpedia-system, and what"),
        "{error}"
    );
    assert!(begun.elapsed() < 3 * LIMIT);
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_is_not_served_is_told_with_the_reason() {
    let host = serving_host("False");
    let log = Log::warnings_of("armadex");
    let (done, lines) = install(&host, &[]).await;
    let error = done.expect_err("none is served");
    assert!(error.starts_with("4 of "), "{error}");
    let told = log.told();
    assert!(
        told[0].contains("not served within 60 s: no room"),
        "{told:#?}"
    );
    assert!(lines.len() > 20, "the rest is installed");
}

const BINDING: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/armadex-synchro";

fn credentials_in(namespace: &str) -> String {
    format!(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/armadex-credentials"
    )
}

fn holders(host: &Host, binding: &str) -> Vec<String> {
    let binding = host.get(binding).expect("it is there");
    let subjects = binding["subjects"].as_array().into_iter().flatten();
    let told = subjects.map(|subject| holders::Told(subject).to_string());
    told.collect()
}

#[tokio::test(start_paused = true)]
async fn an_armadex_elsewhere_keeps_its_rights_unless_they_are_taken() {
    let host = serving_host("True");
    let (done, _) = install(&host, &["--namespace", "fleet-a"]).await;
    assert_eq!(done, Ok(()));
    let before = host.get(BINDING);
    let (done, lines) = install(&host, &["--namespace", "fleet-b"]).await;
    let error = done.expect_err("it is the other's");
    assert!(
        error.contains("is of the Armadex in fleet-a") && error.contains("--take-over"),
        "{error}"
    );
    assert_eq!((lines, host.get(BINDING)), (Vec::new(), before));

    let log = Log::warnings_of("armadex");
    let (done, _) = install(&host, &["--namespace", "fleet-b", "--take-over"]).await;
    assert_eq!(done, Ok(()));
    assert_eq!(holders(&host, BINDING), ["serviceaccount:fleet-b/armadex"]);
    let told = log.told();
    assert!(
        told.iter()
            .any(|line| line.contains("taken from the Armadex in fleet-a")),
        "{told:#?}"
    );
}

/// Each release of a chart has the same namespace on a control plane elsewhere.
#[tokio::test(start_paused = true)]
async fn a_second_release_takes_nothing_from_the_first_unless_it_is_told_to() {
    let host = serving_host("True");
    let (done, _) = install(&host, &["--apart"]).await;
    assert_eq!(done, Ok(()), "of a release that did not say so");
    let first = ["--apart", "--release", "fleet/armadex"];
    let (done, _) = install(&host, &first).await;
    assert_eq!(done, Ok(()));
    let before = host.get(BINDING);
    for next in [
        &["--release", "fleet/next", "--keep-holders"][..],
        &["--release", "fleet/next"],
        &[],
    ] {
        let (done, lines) = install(&host, next).await;
        let error = done.expect_err("it is the first one's");
        for words in [
            "is of the Armadex in clusterpedia-system of the release fleet/armadex, ",
            "say --namespace clusterpedia-system --release fleet/armadex;",
            "--take-over",
        ] {
            assert!(error.contains(words), "{words}: {error}");
        }
        assert_eq!((lines, host.get(BINDING)), (Vec::new(), before.clone()));
    }
    let (done, lines) = install(&host, &first).await;
    assert_eq!(done, Ok(()));
    assert_eq!(others(&lines, " unchanged"), [""; 0]);

    let (done, lines) = install(&host, &["--take-over"]).await;
    let error = done.expect_err("the first one's removal would take it along");
    let words = "say --take-over and --release NAMESPACE/NAME, ";
    assert!(error.contains(words), "{error}");
    assert_eq!((lines, host.get(BINDING)), (Vec::new(), before));

    let log = Log::warnings_of("armadex");
    let (done, _) = install(&host, &["--release", "fleet/next", "--take-over"]).await;
    assert_eq!(done, Ok(()));
    let account = "serviceaccount:clusterpedia-system/armadex";
    assert_eq!(holders(&host, BINDING), [account]);
    let taken = "taken from the Armadex in clusterpedia-system of the release fleet/armadex";
    let told = log.told();
    assert!(told.iter().any(|line| line.contains(taken)), "{told:#?}");
    let (done, _) = install(&host, &first).await;
    done.expect_err("it is the next one's");
}

/// As what a chart of before has made, which noted nothing.
#[tokio::test(start_paused = true)]
async fn a_new_release_takes_nothing_from_one_that_says_none_and_goes_on_with_what_it_began() {
    let host = serving_host("True");
    let new = ["--release", "fleet/next", "--noted", "--keep-holders"];
    let (done, _) = install(&host, &["--apart"]).await;
    assert_eq!(done, Ok(()));
    let before = host.get(BINDING);
    let (done, lines) = install(&host, &new).await;
    let error = done.expect_err("it is of another");
    for words in ["it says no release", "helm uninstall", "install.takeOver"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!((lines, host.get(BINDING)), (Vec::new(), before));
    let (done, _) = install(&host, &["--apart", "--release", "fleet/armadex"]).await;
    assert_eq!(done, Ok(()), "an upgrade of that one");

    let host = serving_host("True");
    host.forbid("patch", "clusterrolebindings");
    let (done, _) = install(&host, &new).await;
    done.expect_err("it is forbidden");
    host.permit_all();
    for again in [&new[..], &new[..2]] {
        assert_eq!(install(&host, again).await.0, Ok(()));
    }
}

/// Also of a policy that is there and was not named; where no rights are given, as by renewals, nobody asks.
#[tokio::test(start_paused = true)]
async fn a_serving_certificate_among_secrets_that_others_read_is_refused_before_anything_is_made() {
    let host = serving_host("True");
    let words = "name a namespace that is for it alone";
    for namespace in ["clusterpedia-system", "default"] {
        let (done, lines) = install(&host, &["--serving-namespace", namespace]).await;
        let error = done.expect_err(namespace);
        assert!(error.contains(words), "{error}");
        assert_eq!(lines, [""; 0]);
        let renewing = ["--serving-namespace", namespace, "--only", "kubeconfigs"];
        assert_eq!(install(&host, &renewing).await, (Ok(()), Vec::new()));
    }
    let (done, _) = install(&host, &["--policies", "karmada"]).await;
    assert_eq!(done, Ok(()));
    let (done, lines) = install(&host, &["--serving-namespace", "karmada-cluster"]).await;
    let error = done.expect_err("the policy's credentials lie there");
    assert!(error.contains(words), "{error}");
    assert_eq!(lines, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_asked_for_any_more_is_withdrawn() {
    let host = serving_host("True");
    let with = [
        "--credential-namespaces",
        "team-a,team-b",
        "--rights",
        "rancher",
    ];
    let (done, _) = install(&host, &with).await;
    assert_eq!(done, Ok(()));
    let log = Log::warnings_of("armadex");
    let (done, lines) = install(&host, &["--credential-namespaces", "team-b", "--dry-run"]).await;
    assert_eq!(done, Ok(()));
    let withdrawn = [
        "rolebinding.rbac.authorization.k8s.io/armadex-credentials deleted in fleet-default",
        "rolebinding.rbac.authorization.k8s.io/armadex-credentials deleted in team-a",
        "clusterrolebinding.rbac.authorization.k8s.io/armadex-rancher deleted",
        "role.rbac.authorization.k8s.io/armadex-credentials deleted in fleet-default",
        "role.rbac.authorization.k8s.io/armadex-credentials deleted in team-a",
        "clusterrole.rbac.authorization.k8s.io/armadex-rancher deleted",
    ];
    let dry = withdrawn.map(|line| format!("{line} (dry run)"));
    let told = lines.iter().filter(|line| line.contains(" deleted"));
    assert_eq!(Vec::from_iter(told), Vec::from_iter(&dry));
    assert!(host.get(&credentials_in("team-a")).is_some());
    let (done, lines) = install(&host, &["--credential-namespaces", "team-b"]).await;
    assert_eq!(done, Ok(()));
    assert_eq!(others(&lines, " unchanged"), withdrawn);
    assert!(host.get(&credentials_in("team-a")).is_none());
    assert!(host.get(&credentials_in("team-b")).is_some());
    let told = log.told();
    assert!(
        told.iter()
            .any(|line| line.contains("--credential-namespaces team-a")),
        "{told:#?}"
    );
}

/// As `armadex rbac` prints them, for policies and namespaces that an upgrade knows nothing of.
#[tokio::test(start_paused = true)]
async fn what_was_granted_beside_what_is_installed_stays() {
    let host = serving_host("True");
    let grantees = Grantees {
        home: "clusterpedia-system".to_owned(),
        holders: Holders::One,
    };
    let name = grantees.name("policy:mine:credentials");
    let granted = credentials_in("team-c").replace("armadex-credentials", &name);
    let metadata = json!({"name": name, "namespace": "team-c"});
    let binding = grantees.binding(json!({"metadata": metadata}), "policy/mine", "synchro");
    host.put(&granted, binding);
    let (done, _) = install(&host, &["--credential-namespaces", "team-a"]).await;
    assert_eq!(done, Ok(()));
    let (done, lines) = install(&host, &[]).await;
    assert_eq!(done, Ok(()));
    assert!(host.get(&credentials_in("team-a")).is_none(), "{lines:#?}");
    assert!(host.get(&granted).is_some(), "{lines:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_is_still_there_keeps_its_rights_with_whoever_has_them_now() {
    let host = serving_host("True");
    let (done, _) = install(&host, &["--policies", "karmada"]).await;
    assert_eq!(done, Ok(()));
    let log = Log::warnings_of("armadex");
    let (done, lines) = install(&host, &["--apart"]).await;
    assert_eq!(done, Ok(()));
    assert!(
        !lines.iter().any(|line| line.contains(" deleted")),
        "{lines:#?}"
    );
    let source = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/armadex-karmada";
    let controllers = "serviceaccount:clusterpedia-system/armadex-controllers";
    assert_eq!(holders(&host, source), [controllers]);
    let told = log.told();
    let way = "kubectl delete clusterimportpolicy karmada";
    assert!(told.iter().any(|line| line.contains(way)), "{told:#?}");

    host.remove(POLICY);
    let (done, _) = install(&host, &["--apart"]).await;
    assert_eq!(done, Ok(()));
    assert_eq!(host.get(source), None);
}

#[tokio::test(start_paused = true)]
async fn before_an_upgrade_whoever_has_the_rights_keeps_them() {
    let host = serving_host("True");
    let (done, _) = install(&host, &["--credential-namespaces", "team-a"]).await;
    assert_eq!(done, Ok(()));
    let next = ["--subject", "user:next"];
    let (done, _) = install(&host, &[&next[..], &["--keep-holders"]].concat()).await;
    assert_eq!(done, Ok(()));
    let former = "serviceaccount:clusterpedia-system/armadex";
    assert_eq!(holders(&host, BINDING), ["user:next", former]);
    assert_eq!(holders(&host, &credentials_in("team-a")), [former]);
    let (done, _) = install(&host, &next).await;
    assert_eq!(done, Ok(()));
    assert_eq!(holders(&host, BINDING), ["user:next"]);
    assert_eq!(host.get(&credentials_in("team-a")), None);
}

/// As one of a release that asked for something else.
#[tokio::test(start_paused = true)]
async fn before_an_upgrade_a_role_keeps_its_rules() {
    let host = serving_host("True");
    let (done, _) = install(&host, &[]).await;
    assert_eq!(done, Ok(()));
    let shipped = host.get(ROLE).expect("a role")["rules"].clone();
    let mut of_before = host.get(ROLE).expect("a role");
    let former = json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]});
    of_before["rules"] = json!([former]);
    host.put(ROLE, of_before);
    let mut both = shipped.clone();
    both.as_array_mut().expect("rules").push(former);
    for _ in 0..2 {
        let (done, _) = install(&host, &["--keep-holders"]).await;
        assert_eq!(done, Ok(()));
        assert_eq!(host.get(ROLE).expect("a role")["rules"], both);
    }
    let (done, _) = install(&host, &[]).await;
    assert_eq!(done, Ok(()));
    assert_eq!(host.get(ROLE).expect("a role")["rules"], shipped);
}

/// A release that did not say of which Armadex a right is.
#[tokio::test(start_paused = true)]
async fn what_says_no_home_is_withdrawn_if_it_is_of_this_one_alone() {
    let host = serving_host("True");
    let account = |namespace: &str| json!({"kind": "ServiceAccount", "namespace": namespace, "name": "armadex"});
    let (ours, other) = (account("clusterpedia-system"), account("fleet-b"));
    let user = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "armadex"});
    let bindings = [
        ("ours", json!([ours]), "armadex-install", false),
        ("both", json!([ours, other]), "armadex-install", true),
        ("theirs", json!([other]), "armadex-install", true),
        ("users", json!([user]), "armadex-install", true),
        ("further", json!([ours, user]), "armadex-install", true),
        ("by-hand", json!([ours]), "kubectl", true),
    ];
    for (namespace, subjects, manager, _) in &bindings {
        host.put(
            &credentials_in(namespace),
            json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "armadex"},
                "managedFields": [{"manager": manager}]}, "subjects": subjects}),
        );
    }
    let (done, lines) = install(&host, &[]).await;
    assert_eq!(done, Ok(()));
    for (namespace, _, _, stays) in &bindings {
        let is_there = host.get(&credentials_in(namespace)).is_some();
        assert_eq!(is_there, *stays, "{namespace}: {lines:#?}");
    }
}

/// As one of an earlier release, which bound a ClusterRole.
#[tokio::test(start_paused = true)]
async fn a_binding_of_another_role_is_made_anew() {
    let host = serving_host("True");
    let binding = credentials_in("team-a");
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "armadex-credentials"});
    let labels = json!({"app.kubernetes.io/managed-by": "armadex"});
    host.put(
        &binding,
        json!({"metadata": {"labels": labels}, "roleRef": role}),
    );
    let uid = |host: &Host| host.get(&binding).expect("it is there")["metadata"]["uid"].clone();
    let before = uid(&host);
    let (done, _) = install(&host, &["--credential-namespaces", "team-a"]).await;
    assert_eq!(done, Ok(()));
    assert_ne!(uid(&host), before);
    assert_eq!(
        host.get(&binding).expect("it is there")["roleRef"]["kind"],
        "Role"
    );
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_may_not_be_made_anew_is_as_it_was() {
    let host = serving_host("True");
    let binding = credentials_in("team-a");
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "armadex-credentials"});
    let subjects =
        json!([{"kind": "User", "name": "armadex", "apiGroup": "rbac.authorization.k8s.io"}]);
    host.put(
        &binding,
        json!({"metadata": {"labels": {"a": "b"}}, "roleRef": role, "subjects": subjects}),
    );
    host.forbid("patch", "rolebindings");
    let (done, _) = install(&host, &["--credential-namespaces", "team-a"]).await;
    let error = done.expect_err("it is forbidden");
    assert!(error.contains("docs/permissions.md"), "{error}");
    let there = host.get(&binding).expect("it was put back");
    assert_eq!((&there["roleRef"], &there["subjects"]), (&role, &subjects));
    assert_eq!(there["metadata"]["labels"], json!({"a": "b"}));
}

/// What was there before may be what still works.
#[tokio::test(start_paused = true)]
async fn nothing_is_withdrawn_where_something_is_not_as_it_is_to_be() {
    let host = serving_host("True");
    let (done, _) = install(&host, &["--credential-namespaces", "team-a"]).await;
    assert_eq!(done, Ok(()));
    host.forbid("patch", "roles");
    let (done, lines) = install(&host, &["--credential-namespaces", "team-b"]).await;
    done.expect_err("it is forbidden");
    assert!(
        !lines.iter().any(|line| line.contains(" deleted")),
        "{lines:#?}"
    );
    assert!(host.get(&credentials_in("team-a")).is_some());
}

/// Its fields are still said to be theirs.
#[tokio::test(start_paused = true)]
async fn a_policy_that_somebody_changed_and_changed_back_follows_the_releases() {
    let host = serving_host("True");
    let mut earlier = manifests::policy("karmada").remove(0).object;
    earlier["spec"]["template"] = json!("of an earlier release");
    let spec = earlier["spec"].to_string();
    earlier["metadata"]["annotations"]["armadex.dev/installed-spec"] = json!(spec);
    earlier["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "armadex"});
    apply_as(
        &host,
        "kubectl-edit",
        &manifests::policy("karmada")[0],
        &earlier,
    )
    .await;
    let (done, _) = install(&host, &["--policies", "karmada"]).await;
    assert_eq!(done, Ok(()));
    let there = host.get(POLICY).expect("it is there");
    assert_eq!(
        there["spec"],
        manifests::policy("karmada")[0].object["spec"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_withdrawn_is_told() {
    let host = serving_host("True");
    host.forbid("list", "rolebindings");
    let (done, lines) = install(&host, &[]).await;
    let error = done.expect_err("it is forbidden");
    assert!(error.contains("were not withdrawn"), "{error}");
    assert_eq!(others(&lines, " created"), [""; 0], "the rest is installed");
}

#[test]
fn flags_say_what_is_wrong_with_them() {
    for (words, word) in [
        (&["--namespace", "a.b"][..], "letters"),
        (&["--namespace", "A"], "letters"),
        (
            &["--policies", "karmda"],
            "a similar value exists: 'karmada'",
        ),
        (&["--subject", "armadex"], "expected user:NAME"),
        (&["--apart", "--subject", "user:a"], "cannot be used with"),
        (&["--only", "roles"], "possible values: crds"),
        (&["--timeout", "0"], "1..=86400"),
        (&["--timeout", "18446744073709551615"], "1..=86400"),
    ] {
        let error = flags(words).expect_err("it is refused");
        assert!(error.contains(word), "{words:?}: {error}");
    }
}

#[test]
fn a_namespace_that_others_use_is_not_granted() {
    for words in [
        ["--namespace", "kube-system"],
        ["--namespace", "default"],
        ["--credential-namespaces", "a,kube-public"],
    ] {
        let flags = flags(&words).expect("they are understood");
        let (own, further) = (&flags.place.own, &flags.place.credential_namespaces);
        let refused = expect_no_others(own, further).expect_err("others use it");
        assert!(refused.to_string().contains("one of its own"), "{refused}");
    }
}

/// Whoever reads it can pass for Armadex.
#[test]
fn the_serving_certificate_lies_where_nothing_else_is_read() {
    let outcome = |words: &[&str]| {
        let flags = flags(words).expect("they are understood");
        wanted(&flags).expect_serving_apart()
    };
    outcome(&["--policies", "karmada"]).expect("a namespace of its own");
    for words in [
        ["--serving-namespace", "clusterpedia-system"].as_slice(),
        &["--serving-namespace", "kube-system"],
        &[
            "--serving-namespace",
            "karmada-cluster",
            "--rights",
            "karmada",
        ],
        &["--credential-namespaces", "armadex-serving"],
        &["--namespace", "armadex-serving"],
    ] {
        let refused = outcome(words).expect_err("others read there").to_string();
        assert!(refused.starts_with("--serving-namespace "), "{refused}");
    }
}

/// A part that runs apart has no right to it.
#[tokio::test(start_paused = true)]
async fn the_serving_certificate_is_the_api_servers_alone() {
    let host = serving_host("True");
    let words = ["--apart", "--serving-namespace", "keys"];
    let (done, lines) = install(&host, &words).await;
    assert_eq!(done, Ok(()));
    assert!(
        lines.contains(&"namespace/keys created".to_owned()),
        "{lines:#?}"
    );
    let in_keys = lines.iter().filter(|line| line.ends_with(" in keys"));
    assert_eq!(
        Vec::from_iter(in_keys),
        [
            "role.rbac.authorization.k8s.io/armadex-serving created in keys",
            "rolebinding.rbac.authorization.k8s.io/armadex-serving created in keys",
        ]
    );
    let binding = credentials_in("keys").replace("armadex-credentials", "armadex-serving");
    let apiserver = "serviceaccount:clusterpedia-system/armadex-apiserver";
    assert_eq!(holders(&host, &binding), [apiserver]);
    let log = Log::warnings_of("armadex");
    let (done, _) = install(&host, &["--apart"]).await;
    assert_eq!(done, Ok(()));
    assert_eq!(host.get(&binding), None, "the right is withdrawn");
    let told = log.told();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("add --serving-namespace keys"), "{told:?}");
}

/// A policy that is there goes on reading where its clusters' credentials lie.
#[tokio::test(start_paused = true)]
async fn the_serving_certificate_does_not_come_among_credentials_of_a_policy_that_is_there() {
    let host = serving_host("True");
    let (done, _) = install(&host, &["--policies", "karmada"]).await;
    assert_eq!(done, Ok(()));
    let (done, lines) = install(&host, &["--serving-namespace", "karmada-cluster"]).await;
    let refused = done.expect_err("others read there");
    assert!(refused.starts_with("--serving-namespace "), "{refused}");
    assert_eq!(lines, [""; 0], "nothing is changed");
}

#[test]
fn a_share_is_all_of_its_sort() {
    let count = |words: &[&str]| {
        let words = [words, &["--policies", "karmada"]].concat();
        wanted(&flags(&words).expect("understood"))
            .manifests()
            .len()
    };
    let (crds, policies) = (count(&["--only", "crds"]), count(&["--only", "policies"]));
    assert_eq!((crds, policies), (4, 1));
    let rights = count(&["--only", "rights"]);
    assert_eq!(count(&[]), crds + rights + policies);
    assert_eq!(count(&["--only", "crds,policies"]), crds + policies);
    let given = flags(&["--kubeconfig", "a"]).expect("understood");
    assert_eq!(given.control_plane.kubeconfig, Some(PathBuf::from("a")));
}
