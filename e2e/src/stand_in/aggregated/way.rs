//! From `clusters/NAME/proxy` to the member, as Karmada goes: to the endpoint of the Cluster, with the token of its impersonator, as whoever asks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use http::HeaderMap;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Subject};
use kube::api::ListParams;
use kube::{Api, Client, Config, ResourceExt as _};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::super::cluster::{Cluster, SecretReference};
use super::super::join::IMPERSONATOR;

/// The aggregator gives these to everybody, and so does the member.
const EVERYBODYS: [&str; 2] = ["system:authenticated", "system:unauthenticated"];
const PREFIX: &str = "/apis/cluster.karmada.io/v1alpha1/clusters/";

/// Who asks, as the aggregator says.
pub(super) struct Caller {
    user: String,
    groups: Vec<String>,
}

impl Caller {
    pub(super) fn of(headers: &HeaderMap) -> Result<Self> {
        let text = |value: &http::HeaderValue| value.to_str().map(str::to_owned);
        let user = headers.get("x-remote-user").context("nobody asks")?;
        let groups = headers.get_all("x-remote-group").iter().map(text);
        let mut groups = groups.collect::<Result<Vec<_>, _>>()?;
        groups.retain(|group| !EVERYBODYS.contains(&group.as_str()));
        Ok(Self {
            user: text(user)?,
            groups,
        })
    }
}

/// The member, and the path and query that are asked of it.
pub(super) fn proxied(asked: &str) -> Option<(&str, &str)> {
    let (member, below) = asked.strip_prefix(PREFIX)?.split_once("/proxy")?;
    let is_one = !member.contains('/') && below.starts_with('/');
    is_one.then_some((member, below))
}

/// A client, which does not say what it is.
pub(super) struct ClientOf(pub(super) Client);

impl std::fmt::Debug for ClientOf {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("a client")
    }
}

/// How members are reached.
#[derive(Debug)]
pub(super) struct Ways {
    clusters: ClientOf,
    secrets: ClientOf,
    /// Where those are that are elsewhere for the control plane than their Clusters say.
    elsewhere: Mutex<BTreeMap<String, String>>,
}

impl Ways {
    pub(super) fn new(clusters: Client, secrets: Client) -> Self {
        Self {
            clusters: ClientOf(clusters),
            secrets: ClientOf(secrets),
            elsewhere: Mutex::default(),
        }
    }

    pub(super) fn lead(&self, member: &str, url: &str) {
        let elsewhere = self.elsewhere.lock();
        let mut elsewhere = elsewhere.unwrap_or_else(PoisonError::into_inner);
        elsewhere.insert(member.to_owned(), url.to_owned());
    }

    /// A client that asks the member as its caller.
    pub(super) async fn client(&self, member: &str, caller: &Caller) -> Result<Client> {
        self.check_impersonated(caller).await?;
        let clusters: Api<Cluster> = Api::all(self.clusters.0.clone());
        let spec = clusters.get(member).await?.spec;
        let endpoint = spec.api_endpoint.filter(|endpoint| !endpoint.is_empty());
        let endpoint = endpoint
            .with_context(|| format!("API endpoint of cluster {member} should not be empty"))?;
        let impersonator = spec.impersonator_secret_ref;
        let impersonator = impersonator
            .with_context(|| format!("the impersonatorSecretRef of cluster {member} is nil"))?;
        let token = self.secret(&impersonator, "token").await?;
        let mut config = Config::new(self.place(member, endpoint).parse()?);
        config.default_retry = false;
        config.disable_compression = true;
        config.accept_invalid_certs = spec.insecure_skip_tls_verification.unwrap_or_default();
        if let Some(credentials) = &spec.secret_ref {
            let authority = self.secret(credentials, "caBundle").await?;
            let roots = CertificateDer::pem_slice_iter(&authority);
            let roots = roots.map(|root| root.map(|root| root.to_vec()));
            config.root_cert = Some(roots.collect::<Result<_, _>>()?);
        }
        config.auth_info.token = Some(String::from_utf8(token)?.into());
        config.auth_info.impersonate = Some(caller.user.clone());
        config.auth_info.impersonate_groups = Some(caller.groups.clone());
        Ok(Client::try_from(config)?)
    }

    /// In a member Karmada's impersonator may be those alone that are bound to a ClusterRole on `clusters/proxy`, whatever its verb.
    async fn check_impersonated(&self, caller: &Caller) -> Result<()> {
        let (all, front) = (ListParams::default(), &self.secrets.0);
        let roles = Api::<ClusterRole>::all(front.clone()).list(&all).await?;
        let roles = roles.into_iter().filter(is_on_the_proxy);
        let roles: BTreeSet<String> = roles.map(|role| role.name_any()).collect();
        let bindings = Api::<ClusterRoleBinding>::all(front.clone());
        let mut bindings = bindings.list(&all).await?.items;
        bindings.retain(|binding| roles.contains(&binding.role_ref.name));
        let subjects = bindings.into_iter().filter_map(|binding| binding.subjects);
        let subjects: BTreeSet<String> = subjects.flatten().map(known_as).collect();
        for asked in caller.groups.iter().chain([&caller.user]) {
            ensure!(
                subjects.contains(asked),
                "{asked} is forbidden: {IMPERSONATOR} cannot impersonate it"
            );
        }
        Ok(())
    }

    fn place(&self, member: &str, endpoint: String) -> String {
        let elsewhere = self.elsewhere.lock();
        let elsewhere = elsewhere.unwrap_or_else(PoisonError::into_inner);
        elsewhere.get(member).cloned().unwrap_or(endpoint)
    }

    async fn secret(&self, reference: &SecretReference, key: &str) -> Result<Vec<u8>> {
        let SecretReference { namespace, name } = reference;
        let secrets: Api<Secret> = Api::namespaced(self.secrets.0.clone(), namespace);
        let data = secrets.get(name).await?.data.unwrap_or_default();
        let value = data.get(key);
        let value = value.with_context(|| format!("no {key} in the Secret {namespace}/{name}"))?;
        Ok(value.0.clone())
    }
}

fn is_on_the_proxy(role: &ClusterRole) -> bool {
    let has = |all: &Option<Vec<String>>, name: &str| {
        let mut all = all.iter().flatten();
        all.any(|it| it == "*" || it == name)
    };
    let mut rules = role.rules.iter().flatten();
    rules.any(|rule| {
        has(&rule.api_groups, "cluster.karmada.io") && has(&rule.resources, "clusters/proxy")
    })
}

/// The name by which the aggregator tells of a subject.
fn known_as(subject: Subject) -> String {
    match subject.namespace {
        Some(namespace) => format!("system:serviceaccount:{namespace}:{}", subject.name),
        None => subject.name,
    }
}
