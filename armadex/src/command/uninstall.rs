//! `armadex uninstall`: takes from a control plane what `armadex install` and the API server made there.

mod by_hand;
mod kubeconfigs;

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use armadex_control_plane::{Trouble, TroubleKind};
use clap::Args;
use kube::core::DynamicObject;
use kube::{Client, ResourceExt as _};
use tracing::{error, info, warn};

use self::by_hand::applied_by_hand;
use self::kubeconfigs::KubeconfigFlags;
use super::install::{
    Identity, LABELLED_OURS, Manifest, Patience, PlaceFlags, Search, is_ours, is_the_end, leads_to,
    objects_of, owner, policy, policy_names, registrations, said_release, seconds, standing,
    to_remove,
};
use crate::api_group::ApiGroupFlag;
use crate::control_plane::ControlPlaneFlags;
use crate::visible::visible;

/// Take from a control plane what `armadex install` made there, and the way to Armadex.
///
/// Without --policies: the right to register, and with it the APIServices that lead to it, in whatever group, first of all (one whose server is gone keeps every
/// namespace of the control plane from being deleted), the Service that they name, roles, bindings and accounts, in all namespaces. End Armadex before: parts that have no rights do nothing but complain. In a
/// helm chart this is a hook after the deletion.
///
/// With --policies: these policies alone, and nothing else. A policy takes along the clusters that it brought in, and the policy controllers see to that, so they
/// have to run, with their rights; it is waited until they are done. In a helm chart this is a hook before the deletion.
///
/// With --kubeconfig-secret the kubeconfigs go as well that were issued into it, before the rest.
///
/// CRDs, policies that are not named, PediaClusters, their lifecycles, other Secrets and namespaces stay. So does what somebody else made under these names, what an
/// Armadex in another namespace has, or one of another release in this one (--release), and what was applied from rbac/karmada-proxy.yaml, which is told. It may be run again at any time.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    #[command(flatten)]
    place: PlaceFlags,
    #[command(flatten)]
    group: ApiGroupFlag,
    #[command(flatten)]
    kubeconfigs: KubeconfigFlags,
    /// Delete these policies of Armadex, and the clusters that they brought in, instead of the rest.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = policy_names())]
    policies: Vec<String>,
    /// How long to try again what may pass, and to wait for the policy controllers, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = seconds())]
    timeout: u64,
    /// Say what would be deleted, and delete nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Removes and leaves. Secrets go although the control plane does not answer, and what is there goes although the Secrets are not to be had.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let out = &mut std::io::stdout();
    let kubeconfigs = forget(&flags, out).await;
    let (client, server) = flags.control_plane.client_and_server().await?;
    let remover = Remover::new(&flags, client, server);
    if flags.policies.is_empty() {
        let further = &flags.place.credential_namespaces;
        remover.run_all(further, out).await?;
    } else {
        let policies = flags.policies.iter().flat_map(|name| policy(name));
        remover
            .run_policies(&policies.collect::<Vec<_>>(), out)
            .await?;
    }
    kubeconfigs
}

/// Deletes the kubeconfigs that were issued.
async fn forget(flags: &Flags, out: &mut impl Write) -> anyhow::Result<()> {
    let Some(kept) = flags.kubeconfigs.kubeconfigs().await? else {
        return Ok(());
    };
    let remover = Remover::new(flags, kept.client, kept.server);
    let removed = remover.run(&kept.secrets, None, out).await;
    removed.context("of the kubeconfigs that were issued")
}

/// Deletes objects.
struct Remover {
    client: Client,
    /// As it is told to people.
    server: String,
    ours: Identity,
    /// Whether what says no release is another's.
    is_noted: bool,
    api_group: String,
    dry_run: bool,
    patience: Patience,
}

/// What came of an object.
#[derive(Debug)]
enum Outcome {
    /// It was of this uid.
    Deleted(String),
    NotThere,
    /// It is theirs.
    Left(String),
    Failed(Trouble),
}

impl Remover {
    fn new(flags: &Flags, client: Client, server: String) -> Self {
        Self {
            client,
            ours: flags.place.identity(),
            is_noted: flags.place.noted,
            api_group: flags.group.api_group.clone(),
            dry_run: flags.dry_run,
            patience: Patience::new(Duration::from_secs(flags.timeout), &server),
            server,
        }
    }

    /// All that may be there by its names, the registrations that lead to this home, in whatever group, and the rights that say that they are of it, wherever they lie.
    async fn run_all(
        &self,
        credential_namespaces: &[String],
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let (client, home) = (&self.client, &self.ours.home);
        let mut unseen = Vec::new();
        let ways = self.registered(&mut unseen).await?;
        let rights = async || standing(client, home).await;
        let rights = match self.see(rights).await? {
            Ok(found) => found,
            Err(trouble) => {
                unseen.push(not_looked_for("rights in further namespaces", &trouble));
                Vec::new()
            }
        };
        let mut manifests = to_remove(home, &self.api_group, credential_namespaces, ways);
        let known: BTreeSet<_> = manifests.iter().map(Manifest::address).collect();
        let rights = rights.into_iter().map(|right| right.manifest);
        manifests.extend(rights.filter(|right| !known.contains(&right.address())));
        self.tell_of_what_stays().await;
        let other = self.other_release(&manifests).await?;
        self.run(&manifests, other.as_ref(), out).await?;
        let unseen = unseen.join("; ");
        ensure!(unseen.is_empty(), "{unseen}; it may be run again");
        Ok(())
    }

    /// These policies, if they are not of another release.
    async fn run_policies(
        &self,
        policies: &[Manifest],
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let rights = to_remove(&self.ours.home, &self.api_group, &[], Vec::new());
        let other = self.other_release(&rights).await?;
        self.run(policies, other.as_ref(), out).await
    }

    /// Who has taken this home: what says no release is that one's.
    async fn other_release(&self, manifests: &[Manifest]) -> anyhow::Result<Option<Identity>> {
        let search = Search {
            client: &self.client,
            ours: &self.ours,
            patience: &self.patience,
            is_noted: self.is_noted,
        };
        let found = search.all(manifests).await;
        let found = found.map_err(|(manifest, trouble)| {
            let server = &self.server;
            anyhow!("{server}: cannot see {manifest}, and nothing was tried: {trouble}")
        });
        let mut others = found?.into_iter().map(|(_, other)| other);
        Ok(others.find(|other| other.home == self.ours.home))
    }

    /// The registrations that are seen. A control plane that does not serve APIServices has none. Whoever may not list them deletes by its name the one that an Armadex
    /// has, or fails at that: of further ones, as of a trial, there is a warning and no failure.
    async fn registered(&self, unseen: &mut Vec<String>) -> anyhow::Result<Vec<Manifest>> {
        let (client, home) = (&self.client, &self.ours.home);
        let ways = async || registrations(client, home).await;
        let trouble = match self.see(ways).await? {
            Ok(found) => return Ok(found),
            Err(trouble) => trouble,
        };
        let words = not_looked_for("registrations in further API groups", &trouble);
        match trouble.kind {
            TroubleKind::Missing => {}
            TroubleKind::Forbidden => warn!(
                "{}; `kubectl get apiservices --selector {LABELLED_OURS}` shows whether there are any",
                visible(&words)
            ),
            _ => unseen.push(words),
        }
        Ok(Vec::new())
    }

    /// Rights that were applied by hand. Who may not see them is told so, and the rest goes all the same.
    async fn tell_of_what_stays(&self) {
        let look = async || applied_by_hand(&self.client, &self.ours.home).await;
        match self.patience.ask(TroubleKind::is_outage, look).await {
            Ok(None) => {}
            Ok(Some(words)) => warn!("{}", visible(&words)),
            Err(trouble) => {
                let words = not_looked_for("rights that were applied by hand", &trouble);
                warn!("{}", visible(&words));
            }
        }
    }

    /// What is there beside what is known by its name. Where that cannot be seen the rest goes all the same.
    async fn see<T>(
        &self,
        look: impl AsyncFn() -> Result<Vec<T>, Trouble>,
    ) -> anyhow::Result<Result<Vec<T>, Trouble>> {
        match self.patience.ask(TroubleKind::is_outage, look).await {
            Err(trouble) if is_the_end(&trouble) => {
                let server = &self.server;
                bail!("{server}: cannot see what is there, and nothing was tried: {trouble}")
            }
            seen => Ok(seen),
        }
    }

    /// All of them in this order, and waits until those that are held are gone.
    async fn run(
        &self,
        manifests: &[Manifest],
        other: Option<&Identity>,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let patience = &self.patience;
        let (mut failed, mut deleted) = (0, Vec::new());
        let mut seen = BTreeSet::new();
        for manifest in manifests {
            // What is looked at once more at the end, in case it has come back, has not where nothing was deleted.
            if !seen.insert(manifest.address()) && self.dry_run {
                continue;
            }
            let asked = patience.ask(TroubleKind::is_outage, async || {
                self.delete(manifest, other).await
            });
            let outcome = asked.await.unwrap_or_else(Outcome::Failed);
            self.tell(manifest, &outcome, out)?;
            match outcome {
                Outcome::Deleted(uid) => deleted.push((manifest, uid)),
                Outcome::NotThere | Outcome::Left(_) => {}
                Outcome::Failed(trouble) if is_the_end(&trouble) => {
                    let server = &self.server;
                    bail!("{server}: what comes after {manifest} was not tried: {trouble}")
                }
                Outcome::Failed(_) => failed += 1,
            }
        }
        if !self.dry_run {
            for (manifest, uid) in &deleted {
                failed += usize::from(!self.is_gone(manifest, uid).await?);
            }
        }
        ensure!(
            failed == 0,
            "{failed} objects are there that are not to be, as told above; it may be run again"
        );
        if deleted.is_empty() {
            info!("there is nothing of Armadex to delete");
        }
        Ok(())
    }

    async fn delete(
        &self,
        manifest: &Manifest,
        other: Option<&Identity>,
    ) -> Result<Outcome, Trouble> {
        let objects = objects_of(&self.client, manifest);
        let Some(object) = objects.get_opt(&manifest.name).await? else {
            return Ok(Outcome::NotThere);
        };
        if let Some(words) = left(&object, &self.ours, other) {
            return Ok(Outcome::Left(words));
        }
        let uid = object.uid().unwrap_or_default();
        if !self.dry_run {
            objects.delete(&manifest.name, &uid).await?;
        }
        Ok(Outcome::Deleted(uid))
    }

    fn tell(
        &self,
        manifest: &Manifest,
        outcome: &Outcome,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let place = manifest.place();
        match outcome {
            Outcome::Deleted(_) => {
                let line = manifest.line("deleted", self.dry_run);
                writeln!(out, "{line}").context("cannot print")?;
            }
            Outcome::NotThere => {}
            Outcome::Left(words) => {
                warn!(object = %manifest, "not deleted{place}: {}", visible(words));
            }
            Outcome::Failed(trouble) => {
                error!(object = %manifest, "not deleted{place}: {}", visible(&trouble.message));
            }
        }
        Ok(())
    }

    /// Whether the object of this uid went.
    async fn is_gone(&self, manifest: &Manifest, uid: &str) -> anyhow::Result<bool> {
        let patience = &self.patience;
        let objects = objects_of(&self.client, manifest);
        let present = async || {
            let object = objects.get_opt(&manifest.name).await?;
            Ok::<_, Trouble>(object.filter(|object| object.uid().as_deref() == Some(uid)))
        };
        let gone = patience.look(async || Ok(present().await?.is_none().then_some(())));
        let gone = gone
            .await
            .with_context(|| format!("cannot see whether {manifest} is gone"))?;
        if gone.is_some() {
            return Ok(true);
        }
        let holders = match patience.answer(present()).await {
            Ok(Some(object)) => object.finalizers().join(", "),
            Ok(None) => return Ok(true),
            Err(_) => String::new(),
        };
        error!(
            object = %manifest,
            "deleted, and still held after {} s by {}: it goes when the policy controllers have let go of it, for which `armadex controllers` or `armadex \
             all` has to run, with its rights",
            patience.limit().as_secs(),
            visible(&holders)
        );
        Ok(false)
    }
}

fn not_looked_for(what: &str, trouble: &Trouble) -> String {
    format!("{what} were not looked for: {trouble}")
}

/// Why an object is left alone, where another release may have taken the home.
fn left(object: &DynamicObject, ours: &Identity, other: Option<&Identity>) -> Option<String> {
    let home = &ours.home;
    if !is_ours(&object.metadata) {
        let owner = owner(&object.metadata);
        return Some(format!("it is not of armadex install: {owner} made it"));
    }
    if let Some(other) = ours.other(object) {
        return Some(of_other(&other, ours));
    }
    if let Some(leads_to) = leads_to(object).filter(|leads_to| leads_to != home) {
        return Some(format!(
            "it leads to an Armadex in {leads_to}: if it is that one, say --namespace {leads_to}"
        ));
    }
    let says_no_release = said_release(object).is_none();
    let other = other.filter(|_| says_no_release);
    other.map(|other| of_other(other, ours))
}

fn of_other(other: &Identity, ours: &Identity) -> String {
    if *other == ours.of_no_release() {
        return format!(
            "it says no release, and all of {ours} does: if it is that one's all the same, leave out --noted"
        );
    }
    let flags = other.flags();
    format!("it is of {other}: if it is that one, say {flags}")
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::testing::Host;
    use serde_json::{Value, json};

    use super::*;
    use crate::command::install::testing::host;

    const APISERVICE: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.clusterpedia.io";
    const SERVICE: &str = "/api/v1/namespaces/fleet/services/armadex-apiserver";
    const ACCOUNT: &str = "/api/v1/namespaces/fleet/serviceaccounts/armadex";
    const POLICY: &str = "/apis/policy.clusterpedia.io/v1alpha1/clusterimportpolicies/karmada";
    const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/armadex-synchro";

    fn put(host: &Host, path: &str, by: &str, more: &Value) {
        let mut object = more.clone();
        object["metadata"]["managedFields"] = json!([{"manager": by}]);
        host.put(path, object);
    }

    fn registered(host: &Host, namespace: &str) {
        let service = json!({"name": "armadex-apiserver", "namespace": namespace});
        let registered = json!({"spec": {"service": service}});
        put(host, APISERVICE, "armadex-registration", &registered);
    }

    fn ours() -> Identity {
        Identity {
            home: "fleet".to_owned(),
            release: Some("a/one".to_owned()),
        }
    }

    fn remover(host: &Host) -> Remover {
        Remover {
            client: host.client(),
            server: "https://fleet.example".to_owned(),
            ours: ours(),
            is_noted: false,
            api_group: "clusterpedia.io".to_owned(),
            dry_run: false,
            patience: Patience::new(Duration::from_secs(60), "https://fleet.example"),
        }
    }

    async fn remove_all(host: &Host) -> (anyhow::Result<()>, String) {
        let mut told = Vec::new();
        let done = remover(host).run_all(&[], &mut told).await;
        (done, String::from_utf8(told).expect("text"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_dry_run_tells_each_once_and_deletes_nothing() {
        let host = host();
        registered(&host, "fleet");
        put(&host, SERVICE, "armadex-registration", &json!({}));
        let mut told = Vec::new();
        let dry = Remover {
            dry_run: true,
            ..remover(&host)
        };
        dry.run_all(&[], &mut told).await.expect("no trouble");
        let told = String::from_utf8(told).expect("text");
        assert_eq!(told.lines().count(), 2, "{told}");
        assert!(
            told.lines().all(|line| line.ends_with("(dry run)")),
            "{told}"
        );
        assert!(host.get(APISERVICE).is_some() && host.get(SERVICE).is_some());
    }

    async fn remove_policy(host: &Host) -> (anyhow::Result<()>, String) {
        let mut told = Vec::new();
        let done = remover(host)
            .run_policies(&policy("karmada"), &mut told)
            .await;
        (done, String::from_utf8(told).expect("text"))
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_installed_goes_and_what_others_made_stays() {
        let host = host();
        registered(&host, "fleet");
        put(&host, SERVICE, "armadex-registration", &json!({}));
        put(&host, ACCOUNT, "armadex-install", &json!({}));
        put(&host, ROLE, "kubectl-client-side-apply", &json!({}));
        put(&host, POLICY, "armadex-install", &json!({}));
        let (done, told) = remove_all(&host).await;
        done.expect("no trouble");
        assert_eq!(
            told,
            "apiservice.apiregistration.k8s.io/v1beta1.clusterpedia.io deleted\n\
             service/armadex-apiserver deleted in fleet\n\
             serviceaccount/armadex deleted in fleet\n"
        );
        for (path, stays) in [
            (APISERVICE, false),
            (SERVICE, false),
            (ACCOUNT, false),
            (ROLE, true),
            (POLICY, true),
        ] {
            assert_eq!(host.get(path).is_some(), stays, "{path}");
        }
        let (done, told) = remove_all(&host).await;
        done.expect("nothing is left");
        assert_eq!(told, "");
    }

    /// Without being told its group.
    #[tokio::test(start_paused = true)]
    async fn the_registration_of_a_trial_goes_before_the_service_that_it_names() {
        let host = host();
        let trial = |namespace: &str| {
            let labels = json!({"app.kubernetes.io/managed-by": "armadex"});
            json!({"metadata": {"labels": labels}, "spec": {"service": {"namespace": namespace}}})
        };
        let of = |group: &str| APISERVICE.replace("clusterpedia.io", group);
        host.put(&of("trial.clusterpedia.io"), trial("fleet"));
        host.put(&of("other.clusterpedia.io"), trial("other"));
        put(&host, SERVICE, "armadex-registration", &json!({}));
        let (done, told) = remove_all(&host).await;
        done.expect("no trouble");
        assert_eq!(
            told,
            "apiservice.apiregistration.k8s.io/v1beta1.trial.clusterpedia.io deleted\n\
             service/armadex-apiserver deleted in fleet\n"
        );
        assert!(host.get(&of("other.clusterpedia.io")).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_looked_for_is_told_and_keeps_nothing_else_there() {
        let host = host();
        registered(&host, "fleet");
        host.forbid("list", "rolebindings");
        let (done, told) = remove_all(&host).await;
        let words = done.expect_err("it is forbidden").to_string();
        assert!(
            words.starts_with("rights in further namespaces were not looked for: "),
            "{words}"
        );
        assert_eq!(told.lines().count(), 1, "{told}");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_may_not_list_registrations_fails_only_if_the_own_one_is_not_gone() {
        let host = host();
        registered(&host, "fleet");
        host.forbid("list", "apiservices");
        let (done, told) = remove_all(&host).await;
        done.expect("it is gone");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert_eq!(host.get(APISERVICE), None);
        let (done, _) = remove_all(&host).await;
        done.expect("it was seen that it is not there");

        registered(&host, "fleet");
        host.forbid("get", "apiservices");
        let (done, _) = remove_all(&host).await;
        done.expect_err("nobody saw whether it is there");
    }

    #[tokio::test(start_paused = true)]
    async fn a_control_plane_that_serves_no_registrations_has_none() {
        let host = host();
        host.withdraw("apiregistration.k8s.io", "v1", "apiservices");
        put(&host, ACCOUNT, "armadex-install", &json!({}));
        let (done, told) = remove_all(&host).await;
        done.expect("no trouble");
        assert_eq!(told, "serviceaccount/armadex deleted in fleet\n");
    }

    #[tokio::test(start_paused = true)]
    async fn the_way_to_another_armadex_stays() {
        let host = host();
        registered(&host, "other");
        let (done, told) = remove_all(&host).await;
        done.expect("no trouble");
        assert_eq!(told, "");
        assert!(host.get(APISERVICE).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn rights_go_wherever_they_lie_and_those_of_another_armadex_stay() {
        const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        let host = host();
        let of = |home: &str| {
            let labels =
                json!({"app.kubernetes.io/managed-by": "armadex", "armadex.dev/home": home});
            json!({"metadata": {"labels": labels}})
        };
        let further = |namespace: &str, name: &str| {
            format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}")
        };
        let by_rbac = further("team-a", "armadex:fleet:policy:mine:credentials");
        let of_other = further("team-b", "armadex-credentials");
        let synchro = format!("{BINDINGS}/armadex-synchro");
        let mut granted = of("fleet");
        granted["metadata"]["annotations"] = json!({"armadex.dev/granted-for": "policy/mine"});
        host.put(&by_rbac, granted);
        host.put(&of_other, of("other"));
        host.put(&synchro, of("other"));
        host.put(ROLE, of("fleet"));
        let (done, told) = remove_all(&host).await;
        done.expect("no trouble");
        assert_eq!(
            told,
            "clusterrole.rbac.authorization.k8s.io/armadex-synchro deleted\n\
             rolebinding.rbac.authorization.k8s.io/armadex:fleet:policy:mine:credentials deleted in team-a\n"
        );
        let stays = |path: &str| host.get(path).is_some();
        assert!(stays(&of_other) && stays(&synchro) && !stays(&by_rbac));
    }

    /// As one that was refused beside it, or that it was taken from.
    #[tokio::test(start_paused = true)]
    async fn what_another_release_has_taken_stays_and_what_says_that_it_is_ours_goes() {
        const REGISTERING: &str =
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/armadex-registration";
        const FORMER: &str = "/api/v1/namespaces/fleet/serviceaccounts/armadex-synchro";
        let host = host();
        let of = |release: &str| {
            let mut right =
                json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "armadex"}}});
            let release = Some(release.to_owned());
            Identity { release, ..ours() }.mark(&mut right);
            right
        };
        host.put(REGISTERING, of("a/next"));
        host.put(ACCOUNT, of("a/next"));
        host.put(FORMER, of("a/one"));
        registered(&host, "fleet");
        put(&host, SERVICE, "armadex-registration", &json!({}));
        put(&host, POLICY, "armadex-install", &json!({}));
        let (done, told) = remove_policy(&host).await;
        done.expect("no trouble");
        assert_eq!(told, "");
        let (done, told) = remove_all(&host).await;
        done.expect("no trouble");
        assert_eq!(told, "serviceaccount/armadex-synchro deleted in fleet\n");
        for path in [REGISTERING, ACCOUNT, APISERVICE, SERVICE, POLICY] {
            assert!(host.get(path).is_some(), "{path}");
        }
        host.put(REGISTERING, of("a/one"));
        let (done, _) = remove_all(&host).await;
        done.expect("no trouble");
        assert_eq!(host.get(APISERVICE), None);
        assert!(host.get(ACCOUNT).is_some(), "it says whose it is");
    }

    /// As of a release that a chart of before has made, beside which another one was refused.
    #[tokio::test(start_paused = true)]
    async fn what_says_no_release_stays_where_all_of_ours_says_one() {
        let host = host();
        let of_none = Identity {
            release: None,
            ..ours()
        };
        let mut right =
            json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "armadex"}}});
        of_none.mark(&mut right);
        host.put(ROLE, right.clone());
        host.put(ACCOUNT, right);
        registered(&host, "fleet");
        put(&host, SERVICE, "armadex-registration", &json!({}));
        put(&host, POLICY, "armadex-install", &json!({}));
        let noted = || Remover {
            is_noted: true,
            ..remover(&host)
        };
        let mut told = Vec::new();
        let policies = policy("karmada");
        let done = noted().run_policies(&policies, &mut told).await;
        done.expect("no trouble");
        noted().run_all(&[], &mut told).await.expect("no trouble");
        assert_eq!(String::from_utf8(told).expect("text"), "");
        let (done, told) = remove_all(&host).await;
        done.expect("no trouble");
        assert_eq!(told.lines().count(), 4, "{told}");
    }

    /// As one that an API server had asked for just before it lost the right.
    #[tokio::test(start_paused = true)]
    async fn a_registration_that_comes_back_goes_again() {
        let host = host();
        registered(&host, "fleet");
        put(&host, ACCOUNT, "armadex-install", &json!({}));
        host.ahead("delete", "serviceaccounts", |host| {
            registered(host, "fleet");
        });
        let (done, _) = remove_all(&host).await;
        done.expect("no trouble");
        assert_eq!(host.get(APISERVICE), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_that_is_missing_keeps_nothing_else_there() {
        let host = host();
        registered(&host, "fleet");
        put(&host, ACCOUNT, "armadex-install", &json!({}));
        host.forbid("delete", "apiservices");
        host.throttle("delete", "serviceaccounts", 2);
        let (done, told) = remove_all(&host).await;
        let error = done.expect_err("it is forbidden");
        // It is looked at once more at the end.
        assert!(
            error.to_string().starts_with("2 objects are there"),
            "{error}"
        );
        assert_eq!(told, "serviceaccount/armadex deleted in fleet\n");
        assert!(host.get(APISERVICE).is_some() && host.get(ACCOUNT).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_policy_is_waited_for_until_the_controllers_have_let_go_of_it() {
        let host = host();
        let held = json!({"metadata": {"finalizers": ["clusterpedia.io/cluster-import-policy-controller"]}});
        put(&host, POLICY, "armadex-install", &held);
        let (done, told) = remove_policy(&host).await;
        done.expect_err("nobody lets go of it");
        assert_eq!(
            told,
            "clusterimportpolicy.policy.clusterpedia.io/karmada deleted\n"
        );
        assert!(host.get(POLICY).is_some());

        let controller = host.clone();
        let lets_go = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(20)).await;
            controller.remove(POLICY);
        });
        let (done, _) = remove_policy(&host).await;
        done.expect("it is gone");
        lets_go.await.expect("no panic");
        assert_eq!(host.get(POLICY), None);
    }
}
