//! From a group and a resource to the version to use, by requests for that group alone: full
//! discovery fails when any other API of the control plane is down.

use std::{fmt, time::Duration};

use armadex_crds::{LifecycleSource, ResolvedReference, is_subdomain};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResource, APIResourceList};
use kube::Client;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::retries::backoff;
use armadex_control_plane::{Trouble, TroubleKind};

/// Discovery of one group is a few kilobytes; an aggregated API that takes longer is down.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Group, version and plural resource name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvr {
    /// API group; empty for the core group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Plural name.
    pub resource: String,
}

/// A resource that an API server serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The version that was chosen, among the rest.
    pub gvr: Gvr,
    /// Whether its objects lie in namespaces.
    pub namespaced: bool,
}

/// Why a resource can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// There is no such group, or no such resource in it.
    #[error("the control plane does not serve {0}")]
    NotServed(String),
    /// It is there, but not in a version that the policy allows.
    #[error("the control plane serves {name} as {served}, and the policy allows {wanted}")]
    OtherVersions {
        /// Resource and group.
        name: String,
        /// Versions that are served.
        served: String,
        /// Versions that are allowed.
        wanted: String,
    },
    /// It is there, but can't be listed and watched.
    #[error("{0} can't be listed and watched")]
    NotWatchable(String),
    /// It may be there; its API does not answer.
    #[error("discovery of {name}: {trouble}")]
    Unavailable {
        /// Resource and group.
        name: String,
        /// What happened.
        trouble: Trouble,
    },
}

impl fmt::Display for Gvr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&display_name(&self.group, &self.resource))
    }
}

impl From<&LifecycleSource> for Gvr {
    fn from(source: &LifecycleSource) -> Self {
        Self {
            group: source.group.clone(),
            version: source.version.clone(),
            resource: source.resource.clone(),
        }
    }
}

impl From<&ResolvedReference> for Gvr {
    fn from(reference: &ResolvedReference) -> Self {
        Self {
            group: reference.group.clone(),
            version: reference.version.clone(),
            resource: reference.resource.clone(),
        }
    }
}

impl Gvr {
    /// Whether it is the kind of Secrets.
    pub(crate) fn is_of_secrets(&self) -> bool {
        self.group.is_empty() && self.resource == "secrets"
    }

    /// Whether these are the names of a kind; what is wrong, if not.
    pub fn check(&self) -> Result<(), String> {
        let Self {
            group,
            version,
            resource,
        } = self;
        check_kind(group, resource)?;
        check_name("version", version)
    }

    /// As objects carry it: `apps/v1`, or `v1` in the core group.
    pub fn api_version(&self) -> String {
        let Self { group, version, .. } = self;
        if group.is_empty() {
            version.clone()
        } else {
            format!("{group}/{version}")
        }
    }

    /// With its version: `deployments of apps/v1`.
    pub fn in_full(&self) -> String {
        format!("{} of {}", self.resource, self.api_version())
    }
}

/// Whether these are the names of a group and of a resource in it, which become parts of a path and of rules; what is wrong, if not.
/// Anything else in them would lead to other objects than those that are spoken of.
pub fn check_kind(group: &str, resource: &str) -> Result<(), String> {
    if !group.is_empty() {
        check_name("group", group)?;
    }
    check_name("resource", resource)
}

fn check_name(part: &str, text: &str) -> Result<(), String> {
    match is_subdomain(text) {
        true => Ok(()),
        false => Err(format!("{text:?} is not the name of a {part}")),
    }
}

/// Chooses the version of a resource: the first in the server's order of preference among those
/// that are wanted, or of all if none is named.
pub async fn resolve(
    client: &Client,
    group: &str,
    resource: &str,
    wanted: &[String],
) -> Result<Served, ResolveError> {
    let name = display_name(group, resource);
    if check_kind(group, resource).is_err() {
        return Err(ResolveError::NotServed(name));
    }
    let unavailable = |trouble| ResolveError::Unavailable {
        name: name.clone(),
        trouble,
    };
    let served = versions(client, group).await.map_err(unavailable)?;
    if served.is_empty() {
        return Err(ResolveError::NotServed(name));
    }
    for version in allowed_versions(group, resource, &served, wanted)? {
        let known = resources(client, group, &version)
            .await
            .map_err(unavailable)?;
        if let Some(found) = known.into_iter().find(|known| known.name == resource) {
            return chosen(group, version, found);
        }
    }
    Err(ResolveError::NotServed(name))
}

/// Waits until a resource is served; says so once. Returns false when cancelled.
pub async fn wait_until_served(
    client: &Client,
    group: &str,
    resource: &str,
    cancel: &CancellationToken,
) -> bool {
    let mut backoff = backoff();
    let mut told = false;
    loop {
        let Err(error) = resolve(client, group, resource, &[]).await else {
            return true;
        };
        if !std::mem::replace(&mut told, true) {
            info!(resource, group, error = %error, "waiting for {resource}.{group}: {error}");
        }
        tokio::select! {
            () = cancel.cancelled() => return false,
            () = tokio::time::sleep(backoff.next(rand::random())) => {}
        }
    }
}

fn chosen(group: &str, version: String, found: APIResource) -> Result<Served, ResolveError> {
    let can = |verb: &str| found.verbs.iter().any(|known| known == verb);
    if !(can("list") && can("watch")) {
        return Err(ResolveError::NotWatchable(display_name(group, &found.name)));
    }
    let gvr = Gvr {
        group: group.to_owned(),
        version,
        resource: found.name,
    };
    Ok(Served {
        gvr,
        namespaced: found.namespaced,
    })
}

/// The wanted versions of a resource among the served ones, in the server's order, or all of them if none is named. There is one.
pub fn allowed_versions(
    group: &str,
    resource: &str,
    served: &[String],
    wanted: &[String],
) -> Result<Vec<String>, ResolveError> {
    let is_wanted = |version: &&String| wanted.is_empty() || wanted.contains(version);
    let allowed: Vec<String> = served.iter().filter(is_wanted).cloned().collect();
    if allowed.is_empty() {
        return Err(ResolveError::OtherVersions {
            name: display_name(group, resource),
            served: served.join(", "),
            wanted: wanted.join(", "),
        });
    }
    Ok(allowed)
}

/// Versions of a group, preferred one first; none if there is no such group.
async fn versions(client: &Client, group: &str) -> Result<Vec<String>, Trouble> {
    if group.is_empty() {
        return Ok(vec!["v1".to_owned()]);
    }
    let Some(found) = get::<APIGroup>(client, &format!("/apis/{group}")).await? else {
        return Ok(Vec::new());
    };
    let preferred = found.preferred_version.map(|version| version.version);
    let mut versions: Vec<String> = found
        .versions
        .into_iter()
        .map(|version| version.version)
        .collect();
    versions.sort_by_key(|version| Some(version) != preferred.as_ref());
    Ok(versions)
}

async fn resources(
    client: &Client,
    group: &str,
    version: &str,
) -> Result<Vec<APIResource>, Trouble> {
    let path = if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    };
    let found = get::<APIResourceList>(client, &path).await?;
    Ok(found.map(|list| list.resources).unwrap_or_default())
}

/// The answer of a path, or nothing for a 404.
async fn get<T: DeserializeOwned>(client: &Client, path: &str) -> Result<Option<T>, Trouble> {
    let request = http::Request::get(path)
        .body(Vec::new())
        .map_err(|_| Trouble::unavailable("the path can't be requested"))?;
    let answer = tokio::time::timeout(TIMEOUT, client.request::<T>(request))
        .await
        .map_err(|_| Trouble::unanswered())?;
    match answer.map_err(Trouble::from) {
        Ok(found) => Ok(Some(found)),
        Err(trouble) if trouble.kind == TroubleKind::Missing => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

/// A resource as people write it: `clusters.cluster.karmada.io`, or `secrets` of the core group.
pub fn display_name(group: &str, resource: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

#[cfg(test)]
mod tests;
