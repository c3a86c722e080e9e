//! Callers who are nobody's administrators: who is let in, what they see, and whom they may be, behind the control plane's apiserver and
//! straight at Armadex.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use armadex_e2e::armadex::Armadex;
use armadex_e2e::equality::{Kind, SEEDED_KINDS, selected};
use armadex_e2e::scenario::{SOON, on_board, wait_until_equal};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::{Harness, Kubectl, Options, kubeconfig, wait_until};
use http::Request;
use kube::config::AuthInfo;
use kube::core::Status;

const MEMBERS: [&str; 2] = ["member1", "member2"];
const FLEET: &str = "/apis/clusterpedia.io/v1beta1/fleets/all/proxy";
const PODS: &str = "/apis/clusterpedia.io/v1beta1/fleets/all/proxy/api/v1/pods";
/// The namespace that dave may see, and one that he may not.
const OWN: &str = "own-shop";
const OTHER: &str = "other-shop";
/// May search, and list pods everywhere.
const SEARCHER: &str = "searcher";

#[tokio::test(flavor = "multi_thread")]
async fn callers_get_what_they_may_and_nothing_else() -> Result<()> {
    let fleet = Harness::start(Options {
        members: MEMBERS.len(),
        ..Options::default()
    })
    .await?;
    let plan = Plan {
        count: 200,
        seed: 1,
    };
    let armadex = on_board(&fleet).await?;
    for name in MEMBERS {
        seed::put(&fleet.member(name)?, plan).await?;
        fleet.join(name).await?;
    }
    make_pods(&fleet).await?;
    wait_until_equal(&fleet, &MEMBERS, &SEEDED_KINDS, SOON).await?;
    let token = token(&fleet).await?;
    for door in doors(&fleet, &armadex) {
        nobody_is_turned_away(&fleet, &door).await?;
        a_user_without_rights_is_told_so(&fleet, &door).await?;
        a_token_without_rights_is_told_so(&fleet, &door, &token).await?;
    }
    grant(&fleet).await?;
    for door in doors(&fleet, &armadex) {
        a_token_lists_what_the_members_have(&fleet, &door, &token).await?;
        dave_sees_his_namespace_and_no_other(&fleet, &door).await?;
        whoever_may_acts_as_dave(&fleet, &door).await?;
    }
    armadex.stop()?;
    fleet.finish().await;
    Ok(())
}

/// A server that requests may go to.
struct Door {
    name: &'static str,
    url: String,
    /// Whether a kube-apiserver stands in front, which lets in whoever shows nothing at all, as `system:anonymous`.
    is_aggregated: bool,
}

fn doors(fleet: &Harness, armadex: &Armadex) -> [Door; 2] {
    [
        Door {
            name: "behind the aggregator",
            url: fleet.host().url(),
            is_aggregated: true,
        },
        Door {
            name: "direct",
            url: format!("https://127.0.0.1:{}", armadex.listen),
            is_aggregated: false,
        },
    ]
}

impl Door {
    fn client(&self, fleet: &Harness, caller: AuthInfo) -> Result<kube::Client> {
        let authority = fleet.host().pki().read("ca.crt")?;
        kubeconfig::client_of(&self.url, authority.as_bytes(), caller)
    }

    /// What is said to somebody who gets nothing.
    async fn refusal(&self, fleet: &Harness, caller: AuthInfo, path: &str) -> Result<Status> {
        let client = self.client(fleet, caller)?;
        let request = Request::get(path).body(Vec::new())?;
        match client.request_text(request).await {
            Err(kube::Error::Api(status)) => Ok(*status),
            Err(error) => Err(error).with_context(|| format!("{}: {path}", self.name)),
            Ok(text) => anyhow::bail!("{}: {path} is answered: {text}", self.name),
        }
    }

    /// kubectl as the control plane's administrator.
    fn kubectl(&self, fleet: &Harness) -> Result<Kubectl> {
        let path = fleet.folder().root().join("door.kubeconfig");
        let (url, pki) = (format!("{}{FLEET}", self.url), fleet.host().pki());
        kubeconfig::write(&path, "door", &url, &pki)?;
        Ok(Kubectl::new(&fleet.tools().kubectl, path, "door"))
    }
}

fn certificate(fleet: &Harness, user: &str) -> Result<AuthInfo> {
    let pki = fleet.host().pki();
    if !pki.file(&format!("{user}.crt")).exists() {
        pki.issue_for_user(user, None)?;
    }
    let path = |end: &str| Some(pki.file(&format!("{user}.{end}")).display().to_string());
    Ok(AuthInfo {
        client_certificate: path("crt"),
        client_key: path("key"),
        ..AuthInfo::default()
    })
}

fn bearer(token: &str) -> AuthInfo {
    AuthInfo {
        token: Some(token.to_owned().into()),
        ..AuthInfo::default()
    }
}

fn is(status: &Status, code: u16, reason: &str, words: &[&str]) -> Result<()> {
    let says = words.iter().all(|word| status.message.contains(word));
    ensure!(
        status.code == code && status.reason == reason && says,
        "{status:?} instead of {code} {reason} with {words:?}"
    );
    Ok(())
}

async fn nobody_is_turned_away(fleet: &Harness, door: &Door) -> Result<()> {
    let nothing = door.refusal(fleet, AuthInfo::default(), PODS).await?;
    match door.is_aggregated {
        true => is(&nothing, 403, "Forbidden", &["system:anonymous"])?,
        false => is(&nothing, 401, "Unauthorized", &[])?,
    }
    for token in ["no-token-at-all", "a.b.c"] {
        let status = door.refusal(fleet, bearer(token), PODS).await?;
        is(&status, 401, "Unauthorized", &[])?;
    }
    Ok(())
}

async fn a_user_without_rights_is_told_so(fleet: &Harness, door: &Door) -> Result<()> {
    let carol = certificate(fleet, "carol")?;
    let status = door.refusal(fleet, carol, PODS).await?;
    is(&status, 403, "Forbidden", &["carol", "fleets/proxy"])
}

async fn a_token_without_rights_is_told_so(
    fleet: &Harness,
    door: &Door,
    token: &str,
) -> Result<()> {
    let status = door.refusal(fleet, bearer(token), PODS).await?;
    let who = "system:serviceaccount:default:searcher";
    is(&status, 403, "Forbidden", &[who, "fleets/proxy"])
}

/// Two namespaces with a pod in each member, so that a list of one is of the fleet.
async fn make_pods(fleet: &Harness) -> Result<()> {
    for name in MEMBERS {
        let member = fleet.kubectl(name);
        for namespace in [OWN, OTHER] {
            member.run(&["create", "namespace", namespace]).await?;
            let pod = format!("{namespace}-of-{name}");
            let within = ["--image=app", "--namespace", namespace];
            member
                .run(&[&["run", pod.as_str()][..], &within].concat())
                .await?;
        }
    }
    Ok(())
}

async fn token(fleet: &Harness) -> Result<String> {
    let host = fleet.kubectl("host");
    host.run(&["create", "serviceaccount", SEARCHER, "--namespace=default"])
        .await?;
    let token = ["create", "token", SEARCHER, "--namespace=default"];
    Ok(host.run(&token).await?.trim().to_owned())
}

/// The searcher may list pods everywhere, dave in one namespace. Erin may search nothing, and be dave.
async fn grant(fleet: &Harness) -> Result<()> {
    let host = fleet.kubectl("host");
    let within = format!("--namespace={OWN}");
    let account = format!("--serviceaccount=default:{SEARCHER}");
    let account = account.as_str();
    let paths = "--resource=fleets.clusterpedia.io/proxy";
    for grant in [
        &["namespace", OWN][..],
        &["clusterrole", "searcher", "--verb=get", paths],
        &["clusterrole", "pods", "--verb=get,list", "--resource=pods"],
        &[
            "clusterrole",
            "dave",
            "--verb=impersonate",
            "--resource=users",
            "--resource-name=dave",
        ],
        &[
            "clusterrolebinding",
            "searcher",
            "--clusterrole=searcher",
            account,
            "--user=dave",
        ],
        &["clusterrolebinding", "pods", "--clusterrole=pods", account],
        &[
            "clusterrolebinding",
            "dave",
            "--clusterrole=dave",
            "--user=erin",
        ],
        &[
            "rolebinding",
            "pods",
            "--clusterrole=pods",
            "--user=dave",
            &within,
        ],
    ] {
        host.run(&[&["create"], grant].concat()).await?;
    }
    Ok(())
}

/// Of one namespace, or of all.
async fn of_the_members(fleet: &Harness, namespace: Option<&str>) -> Result<BTreeSet<String>> {
    let mut places = BTreeSet::new();
    for name in MEMBERS {
        let client = fleet.member(name)?.client().await?;
        places.extend(selected(&client, Kind::PODS.path(), "").await?);
    }
    let is_asked =
        |place: &String| namespace.is_none_or(|name| place.starts_with(&format!("{name}/")));
    places.retain(is_asked);
    ensure!(
        !places.is_empty(),
        "the members have no pods in {namespace:?}"
    );
    Ok(places)
}

/// Waits until a list is what is expected: the control plane learns of a binding a moment after it is there, and Armadex keeps a
/// refusal for a while.
async fn lists(
    door: &Door,
    client: &kube::Client,
    path: &str,
    expected: &BTreeSet<String>,
) -> Result<()> {
    wait_until(&format!("{}: {path}", door.name), SOON, || async {
        let found = selected(client, path, "").await?;
        ensure!(found == *expected, "{found:?} instead of {expected:?}");
        Ok(true)
    })
    .await
}

async fn a_token_lists_what_the_members_have(
    fleet: &Harness,
    door: &Door,
    token: &str,
) -> Result<()> {
    let client = door.client(fleet, bearer(token))?;
    lists(door, &client, PODS, &of_the_members(fleet, None).await?).await?;
    let secrets = format!("{FLEET}/api/v1/secrets");
    let status = door.refusal(fleet, bearer(token), &secrets).await?;
    is(&status, 403, "Forbidden", &["secrets"])
}

async fn dave_sees_his_namespace_and_no_other(fleet: &Harness, door: &Door) -> Result<()> {
    let dave = certificate(fleet, "dave")?;
    let client = door.client(fleet, dave.clone())?;
    let own = of_the_members(fleet, Some(OWN)).await?;
    let path = format!("{FLEET}/api/v1/namespaces/{OWN}/pods");
    lists(door, &client, &path, &own).await?;
    let label = format!("{PODS}?namespaces={OWN}");
    let named: serde_json::Value = client
        .request(Request::get(&label).body(Vec::new())?)
        .await?;
    let items = named["items"].as_array().context("no items")?;
    let is_own = |item: &serde_json::Value| item["metadata"]["namespace"] == OWN;
    ensure!(
        items.len() == own.len() && items.iter().all(is_own),
        "{label}: {named}"
    );
    for (path, words) in [
        (PODS.to_owned(), ["dave", "pods"]),
        (
            format!("{PODS}?namespaces={OWN},default"),
            ["dave", "default"],
        ),
        (
            format!("{FLEET}/api/v1/namespaces/default/pods"),
            ["dave", "default"],
        ),
    ] {
        let status = door.refusal(fleet, dave.clone(), &path).await?;
        is(&status, 403, "Forbidden", &words).context(path)?;
    }
    Ok(())
}

/// Erin by a right to it, the administrator by kubectl; carol may not.
async fn whoever_may_acts_as_dave(fleet: &Harness, door: &Door) -> Result<()> {
    let as_dave = |caller: AuthInfo| AuthInfo {
        impersonate: Some("dave".to_owned()),
        ..caller
    };
    let own = of_the_members(fleet, Some(OWN)).await?;
    let path = format!("{FLEET}/api/v1/namespaces/{OWN}/pods");
    let erin = as_dave(certificate(fleet, "erin")?);
    lists(door, &door.client(fleet, erin.clone())?, &path, &own).await?;
    let status = door.refusal(fleet, erin, PODS).await?;
    is(&status, 403, "Forbidden", &["dave", "pods"])?;
    let carol = as_dave(certificate(fleet, "carol")?);
    let status = door.refusal(fleet, carol, &path).await?;
    // A kube-apiserver asks for the narrower rights of constrained impersonation first, and names one of these.
    let words = match door.is_aggregated {
        true => ["carol", "impersonate"],
        false => ["\"carol\" cannot impersonate", "dave"],
    };
    is(&status, 403, "Forbidden", &words)?;
    let kubectl = door.kubectl(fleet)?;
    let get = ["--as=dave", "get", "pods", "--output=name"];
    let rows = kubectl
        .run(&[&get[..], &["--namespace", OWN]].concat())
        .await?;
    ensure!(rows.lines().count() == own.len(), "{}: {rows}", door.name);
    let refused = kubectl
        .output(&[&get[..], &["--all-namespaces"]].concat())
        .await?;
    let said = String::from_utf8_lossy(&refused.stderr);
    ensure!(
        !refused.status.success() && said.contains("Forbidden") && said.contains("\"dave\""),
        "{}: {said}",
        door.name
    );
    Ok(())
}
