//! Kubeconfigs of the accounts, one after the other: what lies in a Secret is kept as long as it is good, and issued anew otherwise.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use armadex_control_plane::{Objects, Trouble, TroubleKind};
use armadex_crds::Sensitive;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::{Patch, PatchParams};
use kube::{Config, ResourceExt as _};
use serde_json::{Map, Value, json};
use tracing::{error, info, warn};

use super::applying::Verb;
use super::decision::{MANAGER, is_ours, owner};
use super::due::{Granted, Kept, Reason, Wanted, due};
use super::holders::Holders;
use super::kubeconfigs::{KUBECONFIG, SecretName, TOKEN, kubeconfig, lifetime, secret, secret_of};
use super::patience::Patience;
use crate::command::kubeconfig::{folder_of, source};
use crate::control_plane::{ControlPlaneFlags, client_of_pod, client_with_token};
use crate::token::{Claims, now};
use crate::visible::visible;

/// What is issued, and where it is kept.
#[derive(Clone, Debug, Args)]
pub(super) struct KubeconfigFlags {
    /// Issue a kubeconfig for each account that is made, and keep it in this Secret of the cluster of this pod, under the keys `kubeconfig` and `token`; without a namespace it is in that of the pod. With
    /// --apart there are three, with `-apiserver`, `-synchro` and `-controllers` behind the name. It leads where the kubeconfig of this run does, which is an administrator's. Run it again
    /// and again, as each hour: a token is renewed when half of its time is over, and when it is no good any more.
    #[arg(long, value_name = "[NAMESPACE/]NAME", conflicts_with = "subject")]
    kubeconfig_secret: Option<SecretName>,
    /// Kubeconfig of the cluster with that Secret, where this is no pod of it.
    #[arg(long, value_name = "FILE", requires = "kubeconfig_secret")]
    secret_kubeconfig: Option<PathBuf>,
    /// How long tokens are to be good, in hours or minutes. The control plane may grant less, which is told.
    #[arg(long, value_name = "LENGTH", default_value = "168h", value_parser = lifetime, requires = "kubeconfig_secret")]
    token_lifetime: Duration,
}

/// Issues kubeconfigs.
pub(super) struct Issuer {
    /// How the control plane is reached.
    way: Config,
    accounts: Objects<ServiceAccount>,
    /// The namespace of the accounts.
    home: String,
    secrets: Objects<Secret>,
    /// Their namespace.
    namespace: String,
    lifetime: Duration,
    issued: Vec<Issued>,
    dry_run: bool,
    control_plane: Asked,
    pods: Asked,
}

/// A cluster, as it is told to people, and until when it is asked.
struct Asked {
    server: String,
    patience: Patience,
}

/// One kubeconfig.
struct Issued {
    account: &'static str,
    secret: String,
    kubeconfig: String,
}

/// What is the same for all.
pub(super) struct Run<'a> {
    pub(super) control_plane: &'a ControlPlaneFlags,
    pub(super) home: &'a str,
    pub(super) holders: &'a Holders,
    pub(super) dry_run: bool,
    pub(super) limit: Duration,
}

impl KubeconfigFlags {
    /// Whether there is something to issue.
    pub(super) fn are_wanted(&self) -> bool {
        self.kubeconfig_secret.is_some()
    }

    /// Who does so, if it is wanted. An error: this is no place to do so from.
    pub(super) async fn issuer(&self, run: Run<'_>) -> anyhow::Result<Option<Issuer>> {
        let Some(kept) = &self.kubeconfig_secret else {
            return Ok(None);
        };
        let cluster = cluster(run.control_plane)?;
        let (client, server) = run.control_plane.client_and_server().await?;
        let (pods, pods_server) = cluster_of_pods(self.secret_kubeconfig.as_deref()).await?;
        let namespace = kept.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| pods.default_namespace().to_owned());
        let issued = run.holders.accounts().into_iter().map(|account| Issued {
            account,
            secret: secret_of(&kept.name, account),
            kubeconfig: kubeconfig(&cluster, account),
        });
        Ok(Some(Issuer {
            way: run.control_plane.config().await?,
            accounts: Objects::namespaced(client, run.home),
            home: run.home.to_owned(),
            secrets: Objects::namespaced(pods, &namespace),
            namespace,
            lifetime: self.token_lifetime,
            issued: issued.collect(),
            dry_run: run.dry_run,
            control_plane: Asked::new(server, run.limit),
            pods: Asked::new(pods_server, run.limit),
        }))
    }
}

/// The cluster whose Secrets are meant: that of this pod, or of this kubeconfig.
pub(crate) async fn cluster_of_pods(
    kubeconfig: Option<&Path>,
) -> anyhow::Result<(kube::Client, String)> {
    match kubeconfig {
        None => client_of_pod().context(
            "--kubeconfig-secret is a Secret of the cluster of this pod: elsewhere name a kubeconfig of its cluster in --secret-kubeconfig",
        ),
        Some(file) => {
            let flags = ControlPlaneFlags {
                kubeconfig: Some(file.to_owned()),
                context: None,
            };
            flags.client_and_server().await
        }
    }
}

/// How the control plane is reached by the kubeconfig in use, with what that has in files.
fn cluster(control_plane: &ControlPlaneFlags) -> anyhow::Result<Map<String, Value>> {
    const DATA: &str = "certificate-authority-data";
    let (files, source, places) = source(control_plane)?;
    let mut cluster = source.cluster;
    cluster.remove("extensions");
    if let Some(Value::String(path)) = cluster.remove("certificate-authority")
        && !path.is_empty()
        && !cluster.contains_key(DATA)
    {
        let path = folder_of(&files[places.cluster]).join(path);
        let pem = std::fs::read(&path);
        let pem = pem.with_context(|| format!("cannot read the CA {}", path.display()))?;
        cluster.insert(DATA.to_owned(), json!(STANDARD.encode(pem)));
    }
    Ok(cluster)
}

impl Asked {
    fn new(server: String, limit: Duration) -> Self {
        Self {
            patience: Patience::new(limit, &server),
            server,
        }
    }

    async fn ask<T>(&self, ask: impl AsyncFn() -> Result<T, Trouble>) -> Result<T, Trouble> {
        self.patience.ask(TroubleKind::is_outage, ask).await
    }
}

impl Issuer {
    /// All of them in turn. One that fails does not stop those that come after it.
    pub(super) async fn run(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let mut failed = 0;
        for issued in &self.issued {
            let (name, namespace) = (&issued.secret, &self.namespace);
            match self.keep(issued).await {
                Ok(verb) => {
                    let dry = if self.dry_run { " (dry run)" } else { "" };
                    writeln!(out, "secret/{name} {verb} in {namespace}{dry}")
                        .context("cannot print")?;
                }
                Err(error) => {
                    failed += 1;
                    let words = format!("{error:#}");
                    error!(secret = %name, namespace, "its kubeconfig is not as it is to be: {}", visible(&words));
                }
            }
        }
        let all = self.issued.len();
        ensure!(
            failed == 0,
            "{failed} of {all} kubeconfigs are not as they are to be, as told above; it may be run again (docs/permissions.md, \"Kubeconfigs that are issued\")"
        );
        Ok(())
    }

    async fn keep(&self, issued: &Issued) -> anyhow::Result<Verb> {
        let name = issued.secret.as_str();
        let found = self.pods.ask(async || self.secrets.get_opt(name).await);
        let found = found
            .await
            .with_context(|| format!("cannot read it on {}", self.pods.server))?;
        let theirs = found.as_ref().filter(|found| !is_ours(&found.metadata));
        if let Some(theirs) = theirs {
            let other = owner(&theirs.metadata);
            bail!(
                "it is there and of {other}: name another one in --kubeconfig-secret, or delete it"
            );
        }
        let verb = if found.is_some() {
            Verb::Configured
        } else {
            Verb::Created
        };
        let Some(account) = self.account(issued.account).await? else {
            return Ok(verb);
        };
        let Some(reason) = self.reason(issued, found, &account).await else {
            return Ok(Verb::Unchanged);
        };
        if !self.dry_run {
            let (token, claims) = self.token(issued.account).await?;
            self.write(issued, token.expose()).await?;
            info!(secret = %name, namespace = %self.namespace, "a token of {} was issued: {reason}", issued.account);
            if let Some(words) = much_less(self.lifetime, &claims)? {
                warn!(account = issued.account, "{words}");
            }
        }
        Ok(verb)
    }

    /// The uid of an account. `None`: a dry run, in which it was not made.
    async fn account(&self, name: &str) -> anyhow::Result<Option<String>> {
        let (server, home) = (&self.control_plane.server, &self.home);
        let look = async || self.accounts.get_opt(name).await;
        let found = self.control_plane.ask(look).await;
        let found =
            found.with_context(|| format!("{server}: cannot see serviceaccount {home}/{name}"))?;
        match found {
            Some(found) => Ok(Some(found.uid().unwrap_or_default())),
            None if self.dry_run => Ok(None),
            None => bail!(
                "{server}: there is no serviceaccount {home}/{name}: make it first, by --only rights or without --only"
            ),
        }
    }

    /// Why a token is issued, if one is.
    async fn reason(
        &self,
        issued: &Issued,
        found: Option<Secret>,
        account: &str,
    ) -> Option<Reason> {
        let data = found.and_then(|found| found.data).unwrap_or_default();
        let of = |key: &str| data.get(key).map(|bytes| bytes.0.as_slice());
        let of = |key: &str| of(key).filter(|bytes| !bytes.is_empty());
        let kept = of(KUBECONFIG).zip(of(TOKEN));
        let kept = kept.map(|(kubeconfig, token)| Kept { kubeconfig, token });
        let wanted = Wanted {
            kubeconfig: &issued.kubeconfig,
            account,
            lifetime: self.lifetime,
        };
        let reason = due(kept, &wanted, now());
        match (reason, kept) {
            (None, Some(kept)) => self.is_refused(kept.token).await.then_some(Reason::Refused),
            (reason, _) => reason,
        }
    }

    /// Whether the control plane says that it does not know a token. Whatever else comes of the question says nothing of it.
    async fn is_refused(&self, token: &[u8]) -> bool {
        let token = String::from_utf8_lossy(token).into_owned();
        let Ok(client) = client_with_token(&self.way, token) else {
            return false;
        };
        let reviews = Objects::<SelfSubjectReview>::all(client);
        let review = SelfSubjectReview::default();
        let asked = reviews.create(&review);
        let asked = self.control_plane.patience.answer(asked).await;
        matches!(asked, Err(trouble) if trouble.kind == TroubleKind::Unauthenticated)
    }

    async fn token(&self, account: &str) -> anyhow::Result<(Sensitive<String>, Claims)> {
        let (server, home) = (&self.control_plane.server, &self.home);
        let asked = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: i64::try_from(self.lifetime.as_secs()).ok(),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let issue = async || self.accounts.issue_token(account, &asked).await;
        let issued = self.control_plane.ask(issue).await;
        let issued = issued
            .with_context(|| format!("{server}: no token of serviceaccount {home}/{account}"))?;
        let token = issued
            .status
            .and_then(|status| status.token)
            .unwrap_or_default();
        let Some(claims) = Claims::of(&token) else {
            bail!(
                "{server}: a token of serviceaccount {home}/{account} does not say until when it is good"
            );
        };
        Ok((Sensitive::from(token), claims))
    }

    async fn write(&self, issued: &Issued, token: &str) -> anyhow::Result<()> {
        let (name, server) = (issued.secret.as_str(), &self.pods.server);
        let place = (self.namespace.as_str(), name);
        let object = secret(place, &issued.kubeconfig, token);
        let (params, patch) = (PatchParams::apply(MANAGER).force(), Patch::Apply(&object));
        let apply = async || self.secrets.patch(name, &params, &patch).await;
        let written = self.pods.ask(apply).await;
        written.with_context(|| format!("cannot write it on {server}"))?;
        Ok(())
    }
}

/// What is said of a token that is good for much less than was asked for. An error: it is good for too little.
fn much_less(asked: Duration, claims: &Claims) -> anyhow::Result<Option<String>> {
    let words = format!(
        "the control plane grants a token for {} minutes, where {} were asked for (--token-lifetime)",
        claims.life() / 60,
        asked.as_secs() / 60
    );
    match Granted::of(claims, asked) {
        Granted::AsAsked => Ok(None),
        Granted::Less => Ok(Some(format!(
            "{words}: run this again well before half of that is over"
        ))),
        Granted::TooLittle => bail!(
            "{words}: let it grant two hours at least (--service-account-max-token-expiration of its kube-apiserver)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::testing::{Host, Log, ServedType};
    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;

    use super::*;
    use crate::token::token;

    const ACCOUNT: &str = "/api/v1/namespaces/fleet/serviceaccounts/armadex";
    const WEEK: u64 = 7 * 24 * 3600;
    const SECRET: &str = "/api/v1/namespaces/pods/secrets/fleet";

    /// Both clusters in one, with an account.
    fn host() -> Host {
        let served = |resource, kind| ServedType::new("", "v1", resource, kind).namespaced();
        let host = Host::new(&[
            served("serviceaccounts", "ServiceAccount"),
            served("secrets", "Secret"),
        ]);
        host.put(ACCOUNT, json!({}));
        host
    }

    /// Nobody answers a question by the token itself.
    fn issuer(host: &Host, dry_run: bool) -> Issuer {
        let asked = || Asked::new("https://fleet.example".to_owned(), Duration::from_secs(1));
        Issuer {
            way: Config::new("http://127.0.0.1:1".parse().expect("an address")),
            accounts: Objects::namespaced(host.client(), "fleet"),
            home: "fleet".to_owned(),
            secrets: Objects::namespaced(host.client(), "pods"),
            namespace: "pods".to_owned(),
            lifetime: Duration::from_secs(3600),
            issued: vec![Issued {
                account: "armadex",
                secret: "fleet".to_owned(),
                kubeconfig: "k".to_owned(),
            }],
            dry_run,
            control_plane: asked(),
            pods: asked(),
        }
    }

    /// A token of the account that was issued so long ago for so long.
    fn token_of(host: &Host, age: i64, life: i64) -> String {
        let uid = host.get(ACCOUNT).expect("it is there")["metadata"]["uid"].take();
        let issued = now() - age;
        token(
            &json!({"iat": issued, "exp": issued + life, "kubernetes.io": {"serviceaccount": {"uid": uid}}}),
        )
    }

    /// One of an hour.
    fn keep(host: &Host, age: i64) {
        let kept = secret(("pods", "fleet"), "k", &token_of(host, age, 3600));
        host.put(SECRET, kept);
    }

    /// Asks for a week, and is granted so much.
    fn granted(host: &Host, life: i64) -> Issuer {
        let (asked, issued) = (host.client(), token_of(host, 0, life));
        let answers = tower::service_fn(move |request: Request<Body>| {
            let (asked, issued) = (asked.clone(), issued.clone());
            async move {
                if !request
                    .uri()
                    .path()
                    .ends_with("/serviceaccounts/armadex/token")
                {
                    return asked.send(request).await;
                }
                let issued = json!({"metadata": {}, "spec": {"audiences": []},
                    "status": {"token": issued, "expirationTimestamp": "2026-01-02T03:04:05Z"}});
                Ok(Response::new(Body::from(issued.to_string().into_bytes())))
            }
        });
        Issuer {
            accounts: Objects::namespaced(Client::new(answers, "default"), "fleet"),
            lifetime: Duration::from_secs(WEEK),
            ..issuer(host, false)
        }
    }

    async fn run(issuer: &Issuer) -> (Result<(), String>, String) {
        let mut told = Vec::new();
        let done = issuer.run(&mut told).await;
        let told = String::from_utf8(told).expect("text");
        (done.map_err(|error| error.to_string()), told)
    }

    #[tokio::test]
    async fn what_is_good_is_left_alone_also_where_the_control_plane_does_not_say_so() {
        let host = host();
        keep(&host, 60);
        let before = host.get(SECRET);
        let (done, told) = run(&issuer(&host, false)).await;
        assert_eq!(done, Ok(()));
        assert_eq!(told, "secret/fleet unchanged in pods\n");
        assert_eq!(host.get(SECRET), before);
    }

    /// A Job is tried twice, and the same helm command is run again when the control plane grants more.
    #[tokio::test]
    async fn a_token_that_is_too_short_is_an_error_until_more_is_granted() {
        let host = host();
        keep(&host, 60);
        let words = "grants a token for 100 minutes, where 10080 were asked for (--token-lifetime): let it grant two hours at least";
        for _ in 0..2 {
            let log = Log::warnings_of("armadex");
            let (done, told) = run(&granted(&host, 6000)).await;
            let error = done.expect_err("it is too short");
            assert!(error.starts_with("1 of 1 kubeconfigs"), "{error}");
            assert_eq!(told, "");
            let said = log.told();
            assert!(said.iter().any(|line| line.contains(words)), "{said:#?}");
        }
        let log = Log::warnings_of("armadex");
        for (life, verb, warnings) in [
            (7200, "configured", 1),
            (7200, "unchanged", 1),
            (WEEK.cast_signed(), "unchanged", 1),
        ] {
            let (done, told) = run(&granted(&host, life)).await;
            assert_eq!(done, Ok(()));
            assert_eq!(told, format!("secret/fleet {verb} in pods\n"));
            assert_eq!(log.told().len(), warnings);
        }
        keep(&host, 60);
        let (done, told) = run(&granted(&host, WEEK.cast_signed())).await;
        assert_eq!(done, Ok(()));
        assert_eq!(told, "secret/fleet configured in pods\n");
        assert_eq!(log.told().len(), 1);
    }

    #[tokio::test]
    async fn a_dry_run_tells_what_would_be_issued_and_issues_nothing() {
        let host = host();
        let dry = issuer(&host, true);
        let (done, told) = run(&dry).await;
        assert_eq!(done, Ok(()));
        assert_eq!(told, "secret/fleet created in pods (dry run)\n");
        assert_eq!(host.get(SECRET), None);
        keep(&host, 1800);
        let (_, told) = run(&dry).await;
        assert_eq!(told, "secret/fleet configured in pods (dry run)\n");
        host.remove(ACCOUNT);
        let (done, _) = run(&dry).await;
        assert_eq!(done, Ok(()), "it would have been made");
    }

    #[tokio::test]
    async fn without_its_account_nothing_is_issued_and_what_is_there_stays() {
        let host = host();
        keep(&host, 60);
        host.remove(ACCOUNT);
        let before = host.get(SECRET);
        let (done, told) = run(&issuer(&host, false)).await;
        let error = done.expect_err("there is no account");
        assert!(error.starts_with("1 of 1 kubeconfigs"), "{error}");
        assert_eq!(told, "");
        assert_eq!(host.get(SECRET), before);
    }
}
