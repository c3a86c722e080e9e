//! `armadex install` and `armadex uninstall` on a control plane where something is there already: what they make, what they take over and what they leave. That Armadex works with
//! what is installed is what all other tests here show.

use anyhow::{Context, Result, ensure};
use armadex_e2e::issued::Issued;
use armadex_e2e::{Harness, Options, account, armadex, deploy, rights};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const NAMESPACE: &str = "fleet";
const USER: &str = "karmada-armadex";
const DEFINITION: &str = "pediaclusters.cluster.clusterpedia.io";
const POLICY: &str = "clusterimportpolicy.policy.clusterpedia.io/karmada";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_installed_is_what_is_needed_and_goes_again() -> Result<()> {
    let fleet = Harness::start(Options::default()).await?;
    a_dry_run_leaves_nothing_behind(&fleet).await?;
    a_definition_of_somebody_else_is_taken_over(&fleet).await?;
    the_user_that_is_named_has_the_rights(&fleet).await?;
    a_changed_policy_stays_as_it_is(&fleet).await?;
    who_may_not_install_is_told_so(&fleet).await?;
    what_was_installed_goes_and_the_rest_stays(&fleet).await?;
    a_namespace_that_is_missing_is_waited_for(&fleet).await?;
    a_binding_of_another_role_is_made_anew(&fleet).await?;
    kubeconfigs_are_issued_and_renewed(&fleet).await?;
    what_is_no_place_for_a_kubeconfig_is_told(&fleet).await?;
    whoever_has_the_rights_of_the_page_can_do_it(&fleet).await?;
    fleet.finish().await;
    Ok(())
}

/// The lines that are printed.
async fn run(fleet: &Harness, arguments: &[&str]) -> Result<Vec<String>> {
    let kubeconfig = fleet.host().kubeconfig().display().to_string();
    let printed = armadex::run(&[arguments, &["--kubeconfig", &kubeconfig]].concat()).await?;
    Ok(printed.lines().map(str::to_owned).collect())
}

async fn install(fleet: &Harness, more: &[&str]) -> Result<Vec<String>> {
    let user = format!("user:{USER}");
    let usual = [
        "install",
        "--namespace",
        NAMESPACE,
        "--subject",
        &user,
        "--policies",
        "karmada",
    ];
    run(fleet, &[&usual, more].concat()).await
}

/// What is said of one that fails.
async fn refused(installed: impl Future<Output = Result<Vec<String>>>) -> Result<String> {
    match installed.await {
        Ok(lines) => anyhow::bail!("nothing was wrong: {lines:#?}"),
        Err(error) => Ok(error.to_string()),
    }
}

fn all_are(lines: &[String], verb: &str) -> Result<()> {
    let word = |line: &String| line.split(' ').nth(1).map(str::to_owned);
    let others = lines
        .iter()
        .filter(|line| word(line).as_deref() != Some(verb));
    let others: Vec<_> = others.collect();
    ensure!(
        !lines.is_empty() && others.is_empty(),
        "not {verb}: {others:#?}"
    );
    Ok(())
}

async fn is_there(fleet: &Harness, what: &[&str]) -> Result<bool> {
    let get = [&["get", "--ignore-not-found", "--output", "name"], what].concat();
    Ok(!fleet.kubectl("host").run(&get).await?.trim().is_empty())
}

async fn a_dry_run_leaves_nothing_behind(fleet: &Harness) -> Result<()> {
    let lines = install(fleet, &["--dry-run"]).await?;
    let dry = lines.iter().filter(|line| line.ends_with(" (dry run)"));
    ensure!(dry.count() == lines.len(), "{lines:#?}");
    let is_made = |line: &&String| line.contains(" created");
    // A namespace of the platform's may be there.
    let made = lines.iter().filter(is_made).count();
    ensure!(made + 1 >= lines.len(), "{lines:#?}");
    ensure!(
        !is_there(fleet, &["crd", DEFINITION]).await?,
        "it was a dry run"
    );
    ensure!(
        !is_there(fleet, &["namespace", NAMESPACE]).await?,
        "it was a dry run"
    );
    Ok(())
}

/// As one of Clusterpedia: the same names, and less in it.
async fn a_definition_of_somebody_else_is_taken_over(fleet: &Harness) -> Result<()> {
    let text = armadex::run(&["crds"]).await?;
    let text = text.trim_start_matches("---\n");
    let definitions = deploy::objects(text)?;
    let definition = definitions
        .into_iter()
        .find(|object| object["metadata"]["name"] == DEFINITION);
    let mut definition = definition.context("there is one")?;
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = json!([]);
    let host = fleet.kubectl("host");
    host.apply(&definition.to_string()).await?;
    let lines = install(fleet, &[]).await?;
    let configured =
        format!("customresourcedefinition.apiextensions.k8s.io/{DEFINITION} configured");
    ensure!(lines.contains(&configured), "{lines:#?}");
    ensure!(
        lines.last() == Some(&format!("{POLICY} created")),
        "{lines:#?}"
    );
    all_are(&install(fleet, &[]).await?, "unchanged")
}

async fn the_user_that_is_named_has_the_rights(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    for (question, answer) in [
        (
            &["patch", "pediaclusters.cluster.clusterpedia.io"][..],
            "yes",
        ),
        (&["list", "secrets", "--namespace", NAMESPACE], "yes"),
        (
            &["list", "secrets", "--namespace", "karmada-cluster"],
            "yes",
        ),
        (&["list", "secrets", "--namespace", "default"], "no"),
        (
            &["create", "clusterimportpolicies.policy.clusterpedia.io"],
            "no",
        ),
    ] {
        let ask = [&["auth", "can-i", "--as", USER], question].concat();
        let said = String::from_utf8_lossy(&host.output(&ask).await?.stdout).into_owned();
        ensure!(said.trim() == answer, "{question:?}: {said}");
    }
    let account = ["serviceaccount", "armadex", "--namespace", NAMESPACE];
    ensure!(!is_there(fleet, &account).await?, "nobody needs it");
    let label = [
        "namespace",
        "--selector",
        "namespace.karmada.io/skip-auto-propagation=true",
    ];
    ensure!(
        is_there(fleet, &label).await?,
        "Karmada would make it in its members"
    );
    Ok(())
}

async fn a_changed_policy_stays_as_it_is(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    let patch = |kind: &'static str, patch: String| {
        let host = host.clone();
        async move {
            host.run(&["patch", POLICY, "--type", kind, "--patch", &patch])
                .await
        }
    };
    let change = json!({"spec": {"creationCondition": "true"}});
    patch("merge", change.to_string()).await?;
    let said = refused(install(fleet, &[])).await?;
    ensure!(said.contains(".spec.creationCondition"), "{said}");
    let lines = install(fleet, &["--edited-policies", "keep"]).await?;
    ensure!(
        lines.last() == Some(&format!("{POLICY} kept")),
        "{lines:#?}"
    );
    let lines = install(fleet, &["--edited-policies", "replace"]).await?;
    ensure!(
        lines.last() == Some(&format!("{POLICY} configured")),
        "{lines:#?}"
    );
    // Who takes a field away has none that could be in conflict.
    let take_away = json!([{"op": "remove", "path": "/spec/templateEngine"}]);
    patch("json", take_away.to_string()).await?;
    let said = refused(install(fleet, &[])).await?;
    ensure!(said.contains(".spec.templateEngine"), "{said}");
    install(fleet, &["--edited-policies", "replace"]).await?;
    all_are(&install(fleet, &[]).await?, "unchanged")?;
    // One that was applied by other means is its owner's.
    let mut theirs: Value = serde_saphyr::from_str(&deploy::policy()?)?;
    theirs["spec"]["template"] = json!("mine");
    let get = ["delete", POLICY];
    host.run(&get).await?;
    host.apply(&theirs.to_string()).await?;
    let said = refused(install(fleet, &[])).await?;
    ensure!(said.contains("set by kubectl-client-side-apply"), "{said}");
    install(fleet, &["--edited-policies", "replace"])
        .await
        .map(drop)
}

/// The account of Armadex, for one: of another one, which takes the place of the first.
async fn who_may_not_install_is_told_so(fleet: &Harness) -> Result<()> {
    let beside = ["install", "--only", "rights"];
    let said = refused(run(fleet, &beside)).await?;
    let other = format!("is of the Armadex in {NAMESPACE}");
    ensure!(
        said.contains(&other) && said.contains("--take-over"),
        "{said}"
    );
    run(fleet, &[&beside[..], &["--take-over"]].concat()).await?;
    account::use_one(&fleet.kubectl("host"), fleet.folder()).await?;
    let kubeconfig = fleet.folder().account_kubeconfig(account::ACCOUNT);
    let kubeconfig = kubeconfig.display().to_string();
    let said = refused(async {
        let printed = armadex::run(&["install", "--kubeconfig", &kubeconfig]).await?;
        Ok(vec![printed])
    });
    let said = said.await?;
    for words in [
        "cannot get resource \"customresourcedefinitions\"",
        "cannot get resource \"clusterroles\"",
        "docs/permissions.md",
    ] {
        ensure!(said.contains(words), "{words:?} is not in {said}");
    }
    Ok(())
}

/// Rancher makes it.
async fn a_namespace_that_is_missing_is_waited_for(fleet: &Harness) -> Result<()> {
    const NAME: &str = "fleet-default";
    let rancher = ["install", "--rights", "rancher", "--only", "rights"];
    let binding =
        format!("rolebinding.rbac.authorization.k8s.io/armadex-credentials created in {NAME}");
    let lines = run(fleet, &rancher).await?;
    ensure!(!lines.contains(&binding), "{lines:#?}");
    fleet
        .kubectl("host")
        .run(&["create", "namespace", NAME])
        .await?;
    let lines = run(fleet, &rancher).await?;
    ensure!(lines.contains(&binding), "{lines:#?}");
    Ok(())
}

/// No API server changes the role of a binding.
async fn a_binding_of_another_role_is_made_anew(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    let place = ["--namespace", "fleet-default"];
    let binding = ["rolebinding", "armadex-credentials"];
    let of = |words: &[&str]| [words, &binding, &place].concat().join(" ");
    let run_words = |words: String| {
        let host = host.clone();
        async move { host.run(&words.split(' ').collect::<Vec<_>>()).await }
    };
    run_words(of(&["delete"])).await?;
    let create = format!("{} --clusterrole view --user somebody", of(&["create"]));
    run_words(create).await?;
    let lines = run(
        fleet,
        &["install", "--rights", "rancher", "--only", "rights"],
    )
    .await?;
    let configured =
        "rolebinding.rbac.authorization.k8s.io/armadex-credentials configured in fleet-default";
    ensure!(lines.iter().any(|line| line == configured), "{lines:#?}");
    let role = run_words(of(&["get", "--output", "jsonpath={.roleRef.kind}"])).await?;
    ensure!(role == "Role", "{role}");
    all_are(&run(fleet, &["uninstall"]).await?, "deleted")
}

/// The namespace `default` of the control plane is the place of the pods here.
fn issuing(fleet: &Harness, secret: &str) -> Vec<String> {
    let pods = fleet.host().kubeconfig().display().to_string();
    let words = ["--kubeconfig-secret", secret, "--secret-kubeconfig", &pods];
    words.map(str::to_owned).to_vec()
}

async fn issue(fleet: &Harness, secret: &str, more: &[&str]) -> Result<Vec<String>> {
    let issuing = issuing(fleet, secret);
    let issuing: Vec<&str> = issuing.iter().map(String::as_str).collect();
    run(fleet, &[&["install"], more, &issuing].concat()).await
}

/// As often as it is run: what is good stays.
async fn kubeconfigs_are_issued_and_renewed(fleet: &Harness) -> Result<()> {
    let all = |verb: &str, end: &str| {
        ["apiserver", "synchro", "controllers"].map(|part| format!("{part} {verb} in default{end}"))
    };
    let dry = of_the_parts(fleet, &["--dry-run"]).await?;
    ensure!(dry == all("created", " (dry run)"), "{dry:?}");
    let made = of_the_parts(fleet, &[]).await?;
    ensure!(made == all("created", ""), "{made:?}");
    let same = of_the_parts(fleet, &[]).await?;
    ensure!(same == all("unchanged", ""), "{same:?}");
    let first = of_the_synchro(fleet).await?;
    another_account_has_another_token(fleet).await?;
    first.until_it_is_nobodys(fleet).await?;
    a_token_that_is_refused_is_renewed(fleet).await?;
    what_was_issued_goes_with_the_rest(fleet).await
}

async fn what_was_issued_goes_with_the_rest(fleet: &Harness) -> Result<()> {
    let issued = issuing(fleet, "default/fleet");
    let issued: Vec<&str> = issued.iter().map(String::as_str).collect();
    let lines = run(fleet, &[&["uninstall"], &issued[..]].concat()).await?;
    let expected = ["apiserver", "synchro", "controllers"]
        .map(|part| format!("secret/fleet-{part} deleted in default"));
    ensure!(lines.starts_with(&expected), "{lines:?}");
    all_are(&lines, "deleted")
}

/// What becomes of the kubeconfig of each part.
async fn of_the_parts(fleet: &Harness, more: &[&str]) -> Result<Vec<String>> {
    const ALL: [&str; 3] = ["--apart", "--only", "rights,kubeconfigs"];
    let lines = issue(fleet, "default/fleet", &[&ALL[..], more].concat()).await?;
    let lines = lines
        .iter()
        .filter_map(|line| line.strip_prefix("secret/fleet-"));
    Ok(lines.map(str::to_owned).collect())
}

/// The kubeconfig of one, which is good.
async fn of_the_synchro(fleet: &Harness) -> Result<Issued> {
    let issued = Issued::of(&fleet.kubectl("host"), "default/fleet-synchro").await?;
    let holder = issued.holder(fleet).await?;
    let expected = "system:serviceaccount:clusterpedia-system:armadex-synchro";
    ensure!(holder.as_deref() == Some(expected), "{holder:?}");
    Ok(issued)
}

/// Nothing becomes of the others.
async fn that_of_the_synchro_is_renewed(fleet: &Harness) -> Result<()> {
    let anew = [
        ("apiserver", "unchanged"),
        ("synchro", "configured"),
        ("controllers", "unchanged"),
    ];
    let renewed = of_the_parts(fleet, &[]).await?;
    ensure!(
        renewed == anew.map(|(part, verb)| format!("{part} {verb} in default")),
        "{renewed:?}"
    );
    of_the_synchro(fleet).await.map(drop)
}

async fn another_account_has_another_token(fleet: &Harness) -> Result<()> {
    let account = ["armadex-synchro", "--namespace", deploy::NAMESPACE];
    let delete = [&["delete", "serviceaccount"], &account[..]].concat();
    fleet.kubectl("host").run(&delete).await?;
    that_of_the_synchro_is_renewed(fleet).await
}

/// One that only the control plane can tell from a good one.
async fn a_token_that_is_refused_is_renewed(fleet: &Harness) -> Result<()> {
    let good = of_the_synchro(fleet).await?;
    let (claims, _) = good.token.rsplit_once('.').context("a token")?;
    let forged = STANDARD.encode(format!("{claims}.c2lnbmF0dXJl"));
    let forged = json!({"data": {"token": forged}}).to_string();
    let patch = [
        "patch",
        "secret/fleet-synchro",
        "--namespace",
        "default",
        "--patch",
        &forged,
    ];
    fleet.kubectl("host").run(&patch).await?;
    that_of_the_synchro_is_renewed(fleet).await
}

async fn what_is_no_place_for_a_kubeconfig_is_told(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    let create = [
        "create",
        "secret",
        "generic",
        "mine",
        "--namespace",
        "default",
    ];
    host.run(&create).await?;
    run(fleet, &["install", "--only", "rights"]).await?;
    let only = ["--only", "kubeconfigs"];
    let said = refused(issue(fleet, "default/mine", &only)).await?;
    ensure!(said.contains("it is there and of kubectl-create"), "{said}");
    let said = refused(issue(fleet, "nowhere/fleet", &only)).await?;
    ensure!(said.contains("\"nowhere\" not found"), "{said}");
    let apart = ["--only", "kubeconfigs", "--apart"];
    let said = refused(issue(fleet, "default/fleet", &apart)).await?;
    ensure!(
        said.contains("there is no serviceaccount clusterpedia-system/armadex-synchro"),
        "{said}"
    );
    let named = ["--only", "kubeconfigs", "--subject", "user:me"];
    let said = refused(issue(fleet, "default/fleet", &named)).await?;
    ensure!(
        said.contains("--subject") && said.contains("--kubeconfig-secret"),
        "{said}"
    );
    let said = refused(run(fleet, &["install", "--only", "kubeconfigs"])).await?;
    ensure!(said.contains("by --kubeconfig-secret"), "{said}");
    let outside = [
        "install",
        "--only",
        "kubeconfigs",
        "--kubeconfig-secret",
        "fleet",
    ];
    let said = refused(run(fleet, &outside)).await?;
    ensure!(said.contains("in --secret-kubeconfig"), "{said}");
    all_are(&run(fleet, &["uninstall"]).await?, "deleted")
}

/// The tables of docs/permissions.md, and nothing beside them.
async fn whoever_has_the_rights_of_the_page_can_do_it(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    let [installs, removes] = rights::of_whoever_installs()?;
    account::use_stranger(&host, fleet.folder(), "installer", &installs).await?;
    account::use_stranger(&host, fleet.folder(), "remover", &removes).await?;
    let run_as = async |account: &str, arguments: &[&str]| {
        let kubeconfig = fleet.folder().account_kubeconfig(account);
        let kubeconfig = kubeconfig.display().to_string();
        let printed = armadex::run(&[arguments, &["--kubeconfig", &kubeconfig]].concat()).await?;
        anyhow::Ok(printed.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let issuing = issuing(fleet, "default/fleet");
    let issuing: Vec<&str> = issuing.iter().map(String::as_str).collect();
    let install = ["install", "--apart", "--policies", "karmada"];
    let install = [&install[..], &issuing].concat();
    let with = [&install[..], &["--credential-namespaces", "fleet-default"]].concat();
    for again in [&["--dry-run"][..], &[], &["--keep-holders"]] {
        run_as("installer", &[&with[..], again].concat()).await?;
    }
    all_are(&run_as("installer", &with).await?, "unchanged")?;
    let lines = run_as("installer", &install).await?;
    let withdrawn =
        "rolebinding.rbac.authorization.k8s.io/armadex-credentials deleted in fleet-default";
    ensure!(lines.iter().any(|line| line == withdrawn), "{lines:#?}");
    host.apply(&trial().to_string()).await?;
    let lines = run_as("remover", &["uninstall"]).await?;
    all_are(&lines, "deleted")?;
    let of_trial = "apiservice.apiregistration.k8s.io/v1beta1.trial.clusterpedia.io deleted";
    ensure!(lines.iter().any(|line| line == of_trial), "{lines:#?}");
    let lines = run_as("remover", &["uninstall", "--policies", "karmada"]).await?;
    all_are(&lines, "deleted")
}

/// As an API server of another `--api-group` registers itself.
fn trial() -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {
            "name": "v1beta1.trial.clusterpedia.io",
            "labels": {"app.kubernetes.io/managed-by": "armadex"},
        },
        "spec": {
            "group": "trial.clusterpedia.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 100,
            "insecureSkipTLSVerify": true,
            "service": {"namespace": deploy::NAMESPACE, "name": "armadex-apiserver"},
        },
    })
}

async fn what_was_installed_goes_and_the_rest_stays(fleet: &Harness) -> Result<()> {
    const APISERVICE: [&str; 2] = ["apiservice", "v1beta1.clusterpedia.io"];
    let host = fleet.kubectl("host");
    let registration = deploy::registration("localhost", 1, "none")?;
    let registration = registration.replace(deploy::NAMESPACE, NAMESPACE);
    host.apply(&registration).await?;
    for namespace in [NAMESPACE, deploy::NAMESPACE] {
        let lines = run(fleet, &["uninstall", "--namespace", namespace]).await?;
        all_are(&lines, "deleted")?;
    }
    ensure!(is_there(fleet, &APISERVICE).await?, "somebody else made it");
    let file = fleet.folder().root().join("registration.yaml");
    std::fs::write(&file, &registration)?;
    host.run(&["delete", "apiservice", "v1beta1.clusterpedia.io"])
        .await?;
    let file = file.display().to_string();
    let manager = "--field-manager=armadex-registration";
    host.run(&[
        "apply",
        "--server-side",
        "--force-conflicts",
        manager,
        "--filename",
        &file,
    ])
    .await?;
    let lines = run(fleet, &["uninstall", "--namespace", NAMESPACE]).await?;
    let first = "apiservice.apiregistration.k8s.io/v1beta1.clusterpedia.io deleted";
    ensure!(
        lines.first().is_some_and(|line| line == first),
        "{lines:#?}"
    );
    ensure!(!is_there(fleet, &APISERVICE).await?, "{lines:#?}");
    let roles = [
        "clusterroles,roles,clusterrolebindings,rolebindings",
        "--all-namespaces",
    ];
    let get = [&["get", "--output", "name"], &roles[..]].concat();
    let left = host.run(&get).await?;
    ensure!(!left.contains("armadex"), "{left}");
    ensure!(is_there(fleet, &[POLICY]).await? && is_there(fleet, &["namespace", NAMESPACE]).await?);
    let lines = run(fleet, &["uninstall", "--policies", "karmada"]).await?;
    ensure!(lines == [format!("{POLICY} deleted")], "{lines:#?}");
    ensure!(!is_there(fleet, &[POLICY]).await? && is_there(fleet, &["crd", DEFINITION]).await?);
    Ok(())
}
