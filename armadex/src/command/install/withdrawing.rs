//! The rights of an Armadex that are on a control plane beside those that are wanted: found by the labels that they were installed with, and withdrawn, unless a
//! policy that is there needs them.

use std::collections::BTreeSet;

use armadex_control_plane::{Objects, Trouble};
use kube::Client;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, ObjectMeta};

use super::decision::{LABELLED_OURS, is_installed, is_ours};
use super::granted::is_granted;
use super::homes::{HOME_LABEL, is_of_accounts};
use super::manifests::{CREDENTIALS, Manifest, SERVING, Wanted, policy};
use super::shipped;

const RBAC: &str = "rbac.authorization.k8s.io";
/// Bindings first: a role that nobody has grants nothing.
const KINDS: [&str; 4] = ["RoleBinding", "ClusterRoleBinding", "Role", "ClusterRole"];
/// Rights in one answer.
const PAGE: u32 = 500;
/// Answers for one kind. Nobody has members' credentials in so many namespaces.
const PAGES: usize = 100;

/// A right that is there.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) manifest: Manifest,
    pub(super) uid: String,
    /// It was granted for something that is not installed.
    is_granted: bool,
}

/// Those of the Armadex of this home, in all namespaces.
pub(crate) async fn standing(client: &Client, home: &str) -> Result<Vec<Standing>, Trouble> {
    let mut all = Vec::new();
    for kind in KINDS {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(RBAC, "v1", kind));
        let found = of_kind(client, &kind, home).await?;
        all.extend(found.into_iter().map(|metadata| Standing {
            is_granted: is_granted(&metadata),
            uid: metadata.uid.unwrap_or_default(),
            manifest: Manifest::right(
                kind.clone(),
                metadata.namespace,
                metadata.name.unwrap_or_default(),
            ),
        }));
    }
    Ok(all)
}

async fn of_kind(
    client: &Client,
    kind: &ApiResource,
    home: &str,
) -> Result<Vec<ObjectMeta>, Trouble> {
    let mut found = Vec::new();
    for metadata in labelled_ours(client, kind).await? {
        let labels = metadata.labels.as_ref();
        let is_of_home = match labels.and_then(|labels| labels.get(HOME_LABEL)) {
            Some(said) => said == home,
            None => is_held_by(client, kind, &metadata, home).await?,
        };
        if is_of_home {
            found.push(metadata);
        }
    }
    Ok(found)
}

/// Those of a kind that an Armadex made, in all namespaces.
pub(super) async fn labelled_ours(
    client: &Client,
    kind: &ApiResource,
) -> Result<Vec<ObjectMeta>, Trouble> {
    let objects = Objects::<DynamicObject>::of_kind(client.clone(), kind, None);
    let mut params = ListParams::default().labels(LABELLED_OURS).limit(PAGE);
    let mut found = Vec::new();
    for _ in 0..PAGES {
        let page = objects.list_metadata(&params).await?;
        let of_page = page.items.into_iter().map(|object| object.metadata);
        // Whoever deletes by labels looks at them.
        found.extend(of_page.filter(is_ours));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    Ok(found)
}

/// Whether it is one of a release that did not say whose a right is, and the accounts of this home alone have it. Of a role that cannot be seen, and without a binding
/// it grants nothing.
async fn is_held_by(
    client: &Client,
    kind: &ApiResource,
    metadata: &ObjectMeta,
    home: &str,
) -> Result<bool, Trouble> {
    let (Some(name), true) = (&metadata.name, is_installed(metadata)) else {
        return Ok(false);
    };
    if !kind.kind.ends_with("Binding") {
        return Ok(false);
    }
    let namespace = metadata.namespace.as_deref();
    let objects = Objects::<DynamicObject>::of_kind(client.clone(), kind, namespace);
    let found = objects.get_opt(name).await?;
    let is_the_same = |found: &DynamicObject| found.metadata.uid == metadata.uid;
    Ok(found.is_some_and(|found| is_the_same(&found) && is_of_accounts(&found, home)))
}

/// The policies that were not named and are there, with their rights.
pub(super) async fn unnamed_policies(
    client: &Client,
    wanted: &Wanted,
    standing: &[Standing],
) -> Result<Vec<&'static str>, Trouble> {
    let installed = standing.iter().filter(|right| !right.is_granted);
    let there: BTreeSet<_> = addresses(installed.map(|right| &right.manifest));
    let is_named = |name: &&str| {
        let mut named = wanted.policies.iter().chain(&wanted.rights);
        named.any(|named| named == name)
    };
    let unnamed = shipped::policies()
        .into_iter()
        .filter(|name| !is_named(name));
    let mut found = Vec::new();
    for name in unnamed {
        let rights = wanted.rights_of(name);
        if addresses(&rights).is_disjoint(&there) {
            continue;
        }
        for policy in policy(name) {
            let objects = Objects::<DynamicObject>::of_kind(client.clone(), &policy.kind, None);
            // Whoever made it: its clusters live on these rights.
            if objects.get_metadata_opt(&policy.name).await?.is_some() {
                found.push(name);
            }
        }
    }
    Ok(found)
}

fn addresses<'a>(
    manifests: impl IntoIterator<Item = &'a Manifest>,
) -> BTreeSet<(String, Option<String>)> {
    manifests.into_iter().map(Manifest::address).collect()
}

/// Those that are there and not wanted. What was granted beside what is installed is not asked for here, and is somebody's all the same.
pub(super) fn unwanted(mut standing: Vec<Standing>, wanted: &[Manifest]) -> Vec<Standing> {
    let wanted = addresses(wanted);
    standing.retain(|right| !right.is_granted && !wanted.contains(&right.manifest.address()));
    standing
}

/// What somebody may miss when a right is gone.
pub(super) fn missed(right: &Manifest) -> Option<String> {
    let namespace = right.namespace.as_ref()?;
    match (right.kind.kind.as_str(), right.name.as_str()) {
        ("RoleBinding", CREDENTIALS) => Some(format!(
            "Armadex reads Secrets in {namespace} no longer, so members whose credentials lie there are not reached any more; if they are to be, add \
             --credential-namespaces {namespace}, or the policy that they are of"
        )),
        ("RoleBinding", SERVING) => Some(format!(
            "an API server with --serving-namespace {namespace} may keep its certificate there no longer, and is not ready when it starts again; if there is one, \
             add --serving-namespace {namespace}"
        )),
        _ => None,
    }
}

/// What is said of a policy that was not named.
pub(super) fn kept(policy: &str) -> String {
    format!(
        "the policy {policy} is on the control plane and was not named, so its rights stay: name it in --policies, or take it away, with the clusters \
         that it brought in, by `kubectl delete clusterimportpolicy {policy}`, and install again"
    )
}
