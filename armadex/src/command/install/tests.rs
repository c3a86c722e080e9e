use std::path::PathBuf;

use armadex_control_plane::testing::{Host, Log, ServedType};
use armadex_control_plane::{Applied, Objects};
use clap::{Command, FromArgMatches as _};
use kube::api::PatchParams;
use serde_json::{Value, json};

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

fn host() -> Host {
    let served = ServedType::new;
    let rbac = "rbac.authorization.k8s.io";
    Host::new(&[
        served(
            "apiextensions.k8s.io",
            "v1",
            "customresourcedefinitions",
            "CustomResourceDefinition",
        ),
        served("", "v1", "namespaces", "Namespace"),
        served("", "v1", "serviceaccounts", "ServiceAccount").namespaced(),
        served(rbac, "v1", "clusterroles", "ClusterRole"),
        served(rbac, "v1", "clusterrolebindings", "ClusterRoleBinding"),
        served(rbac, "v1", "roles", "Role").namespaced(),
        served(rbac, "v1", "rolebindings", "RoleBinding").namespaced(),
        served(
            "policy.clusterpedia.io",
            "v1alpha1",
            "clusterimportpolicies",
            "ClusterImportPolicy",
        ),
    ])
}

/// One that says of each definition that comes that it is served, or why it is not.
fn serving_host(established: &'static str) -> Host {
    let host = host();
    for definition in definitions() {
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
        client: host.client(),
        edited: flags.edited_policies,
        dry_run: flags.dry_run,
        limit: LIMIT,
    };
    let mut printed = Vec::new();
    let done = installer.run(&manifests(&flags), &mut printed).await;
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
    let definition = &definitions()[0];
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
    let all = manifests(&flags(&["--policies", "karmada"]).expect("understood"));
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

#[test]
fn flags_say_what_is_wrong_with_them() {
    for (words, word) in [
        (&["--namespace", "kube-system"][..], "one of its own"),
        (&["--namespace", "default"], "one of its own"),
        (&["--namespace", "a.b"], "letters"),
        (&["--namespace", "A"], "letters"),
        (
            &["--credential-namespaces", "a,kube-public"],
            "one of its own",
        ),
        (
            &["--policies", "karmda"],
            "a similar value exists: 'karmada'",
        ),
        (&["--subject", "armadex"], "expected user:NAME"),
        (&["--apart", "--subject", "user:a"], "cannot be used with"),
        (&["--only", "roles"], "possible values: crds"),
    ] {
        let error = flags(words).expect_err("it is refused");
        assert!(error.contains(word), "{words:?}: {error}");
    }
}

#[test]
fn a_share_is_all_of_its_sort() {
    let count = |words: &[&str]| {
        let words = [words, &["--policies", "karmada"]].concat();
        manifests(&flags(&words).expect("understood")).len()
    };
    let (crds, policies) = (count(&["--only", "crds"]), count(&["--only", "policies"]));
    assert_eq!((crds, policies), (4, 1));
    let rights = count(&["--only", "rights"]);
    assert_eq!(count(&[]), crds + rights + policies);
    assert_eq!(count(&["--only", "crds,policies"]), crds + policies);
    let given = flags(&["--kubeconfig", "a"]).expect("understood");
    assert_eq!(given.control_plane.kubeconfig, Some(PathBuf::from("a")));
}
