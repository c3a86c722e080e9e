//! Whether Armadex has what the members have: every object, by cluster, uid and resource version.
//!
//! Both sides are listed page by page as any client lists them; the comparison is pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Context, Result, ensure};
use http::Request;
use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// kubectl's own page size.
const PAGE: &str = "500";
/// The annotation by which Armadex tells an object's cluster.
pub(crate) const CLUSTER: &str = "shadow.clusterpedia.io/cluster-name";
/// Differences that are told one by one.
const TOLD: usize = 10;

/// A kind by the path of its list, over all namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    path: &'static str,
}

/// The kinds that the shipped policy collects and that the seed makes.
pub const SEEDED_KINDS: [Kind; 8] = [
    Kind {
        path: "/api/v1/pods",
    },
    Kind {
        path: "/api/v1/services",
    },
    Kind {
        path: "/api/v1/configmaps",
    },
    Kind {
        path: "/api/v1/secrets",
    },
    Kind {
        path: "/api/v1/namespaces",
    },
    Kind {
        path: "/api/v1/nodes",
    },
    Kind {
        path: "/apis/apps/v1/deployments",
    },
    Kind {
        path: "/apis/apps/v1/replicasets",
    },
];

/// All kinds that the shipped policy collects.
pub const COLLECTED_KINDS: [Kind; 12] = [
    SEEDED_KINDS[0],
    SEEDED_KINDS[1],
    SEEDED_KINDS[2],
    SEEDED_KINDS[3],
    SEEDED_KINDS[4],
    SEEDED_KINDS[5],
    SEEDED_KINDS[6],
    SEEDED_KINDS[7],
    Kind::at("/apis/apps/v1/daemonsets"),
    Kind::at("/apis/apps/v1/statefulsets"),
    Kind::at("/apis/batch/v1/jobs"),
    Kind::at("/apis/batch/v1/cronjobs"),
];

impl Kind {
    /// Pods.
    pub const PODS: Self = SEEDED_KINDS[0];
    /// ConfigMaps.
    pub const CONFIG_MAPS: Self = SEEDED_KINDS[2];
    /// Secrets.
    pub const SECRETS: Self = SEEDED_KINDS[3];

    /// The kind whose list over all namespaces is at `path`.
    #[must_use]
    pub const fn at(path: &'static str) -> Self {
        Self { path }
    }

    /// The path in a cluster's own API.
    #[must_use]
    pub fn path(self) -> &'static str {
        self.path
    }

    /// `GROUP/RESOURCE`, with nothing for the core group.
    pub(crate) fn resource(self) -> String {
        let (place, resource) = self.path.rsplit_once('/').unwrap_or_default();
        let group = place
            .strip_prefix("/apis/")
            .and_then(|rest| rest.split('/').next());
        format!("{}/{resource}", group.unwrap_or_default())
    }

    /// The path in the fleet's API.
    #[must_use]
    pub fn fleet_path(self) -> String {
        format!("/apis/clusterpedia.io/v1beta1/resources{}", self.path)
    }

    /// The path of one cluster's objects in the fleet's API.
    #[must_use]
    pub fn path_of(self, cluster: &str) -> String {
        let path = self.path;
        format!("/apis/clusterpedia.io/v1beta1/resources/clusters/{cluster}{path}")
    }
}

/// What tells an object from all others, and one state of it from another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// The object's uid.
    pub uid: String,
    /// The member's resource version.
    pub resource_version: String,
}

/// Objects by kind and by `cluster/namespace/name`.
pub type Objects = BTreeMap<(Kind, String), State>;

/// What the members and Armadex do not agree on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// The members have it, Armadex has not.
    pub missing: Vec<String>,
    /// Armadex has it, the members have not.
    pub extra: Vec<String>,
    /// Both have it, in different states.
    pub stale: Vec<String>,
}

impl Difference {
    /// What `theirs` (the members) and `ours` (Armadex) do not agree on.
    #[must_use]
    pub fn between(theirs: &Objects, ours: &Objects) -> Self {
        let name = |(kind, object): &(Kind, String)| format!("{} {object}", kind.path);
        let mut difference = Self::default();
        for (key, state) in theirs {
            match ours.get(key) {
                None => difference.missing.push(name(key)),
                Some(own) if own != state => {
                    difference
                        .stale
                        .push(format!("{}: {own:?} instead of {state:?}", name(key)));
                }
                Some(_) => {}
            }
        }
        difference.extra = ours
            .keys()
            .filter(|&key| !theirs.contains_key(key))
            .map(name)
            .collect();
        difference
    }

    /// Whether they agree on everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty() && self.stale.is_empty()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, names) in [
            ("missing", &self.missing),
            ("extra", &self.extra),
            ("stale", &self.stale),
        ] {
            writeln!(out, "{what}: {}", names.len())?;
            for name in names.iter().take(TOLD) {
                writeln!(out, "  {name}")?;
            }
        }
        Ok(())
    }
}

/// All objects of `kinds` in the member called `name`, asked directly.
pub async fn list_member(member: &Client, name: &str, kinds: &[Kind]) -> Result<Objects> {
    let mut objects = Objects::new();
    for &kind in kinds {
        for item in list(member, kind.path).await? {
            objects.insert((kind, item.metadata.place(name)), item.metadata.state());
        }
    }
    Ok(objects)
}

/// All objects of `kinds` that Armadex has of any cluster, asked through the control plane.
pub async fn list_fleet(host: &Client, kinds: &[Kind]) -> Result<Objects> {
    let mut objects = Objects::new();
    for &kind in kinds {
        for item in list(host, &kind.fleet_path()).await? {
            let Some(cluster) = item.metadata.annotations.get(CLUSTER) else {
                anyhow::bail!(
                    "{} {} has no annotation {CLUSTER}",
                    kind.path,
                    item.metadata.name
                );
            };
            let before =
                objects.insert((kind, item.metadata.place(cluster)), item.metadata.state());
            ensure!(
                before.is_none(),
                "{} {} was listed twice",
                kind.path,
                item.metadata.place(cluster)
            );
        }
    }
    Ok(objects)
}

/// All pages of a list as one.
#[derive(Deserialize)]
pub(crate) struct Listed<T> {
    /// `PodList`, ...
    pub(crate) kind: String,
    #[serde(rename = "apiVersion")]
    pub(crate) api_version: String,
    metadata: PageMetadata,
    pub(crate) items: Vec<T>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    token: String,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: String,
    uid: String,
    resource_version: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Metadata {
    fn place(&self, cluster: &str) -> String {
        format!("{cluster}/{}/{}", self.namespace, self.name)
    }

    fn state(&self) -> State {
        State {
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
        }
    }
}

/// Walks all pages of the list at `path`.
async fn list(client: &Client, path: &str) -> Result<Vec<Item>> {
    Ok(list_with(client, path, &[]).await?.items)
}

/// The same with more in the query, which may have a `limit` of its own: it decides only how long a page is.
pub(crate) async fn list_with<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    parameters: &[(&str, &str)],
) -> Result<Listed<T>> {
    let has_limit = parameters.iter().any(|(name, _)| *name == "limit");
    let limit = (!has_limit).then_some(("limit", PAGE));
    let asked: Vec<String> = parameters
        .iter()
        .chain(&limit)
        .map(|(name, value)| format!("{name}={}", encode(value)))
        .collect();
    let asked = asked.join("&");
    let mut items = Vec::new();
    let mut token = String::new();
    loop {
        let url = if token.is_empty() {
            format!("{path}?{asked}")
        } else {
            format!("{path}?{asked}&continue={}", encode(&token))
        };
        let text = client
            .request_text(Request::get(&url).body(Vec::new())?)
            .await;
        let text = text.with_context(|| format!("cannot list {path}"))?;
        let mut page: Listed<T> =
            serde_json::from_str(&text).with_context(|| format!("{path} is no list"))?;
        items.append(&mut page.items);
        ensure!(
            page.metadata.token.is_empty() || page.metadata.token != token,
            "{path} repeats its token"
        );
        token.clone_from(&page.metadata.token);
        if token.is_empty() {
            return Ok(Listed { items, ..page });
        }
    }
}

/// Whole objects of the list at `path`, page by page, in its order.
pub async fn objects(
    client: &Client,
    path: &str,
    parameters: &[(&str, &str)],
) -> Result<Vec<serde_json::Value>> {
    Ok(list_with(client, path, parameters).await?.items)
}

/// `namespace/name` of what the list at `path` has for a field selector, page by page.
pub async fn selected(client: &Client, path: &str, selector: &str) -> Result<BTreeSet<String>> {
    selected_by(client, path, &[("fieldSelector", selector)]).await
}

/// The same for whatever parameters.
pub async fn selected_by(
    client: &Client,
    path: &str,
    parameters: &[(&str, &str)],
) -> Result<BTreeSet<String>> {
    let listed: Listed<Item> = list_with(client, path, parameters).await?;
    let place = |item: Item| format!("{}/{}", item.metadata.namespace, item.metadata.name);
    Ok(listed.items.into_iter().map(place).collect())
}

/// Percent-encodes everything but letters, digits, dashes and underscores.
fn encode(token: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    token
        .bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(entries: &[(&str, &str, &str)]) -> Objects {
        let state = |uid: &str, version: &str| State {
            uid: uid.to_owned(),
            resource_version: version.to_owned(),
        };
        entries
            .iter()
            .map(|&(name, uid, version)| ((Kind::PODS, name.to_owned()), state(uid, version)))
            .collect()
    }

    #[test]
    fn each_way_to_differ_is_told_apart() {
        let theirs = objects(&[
            ("m/a", "1", "1"),
            ("m/b", "2", "2"),
            ("m/c", "3", "3"),
            ("m/d", "4", "4"),
        ]);
        let ours = objects(&[
            ("m/a", "1", "1"),
            ("m/b", "2", "1"),
            ("m/c", "9", "3"),
            ("m/e", "5", "5"),
        ]);
        let difference = Difference::between(&theirs, &ours);
        assert_eq!(difference.missing, ["/api/v1/pods m/d"]);
        assert_eq!(difference.extra, ["/api/v1/pods m/e"]);
        assert_eq!(difference.stale.len(), 2);
        assert!(Difference::between(&theirs, &theirs).is_empty());
    }

    #[test]
    fn a_token_survives_the_url() {
        assert_eq!(encode("aZ9-_+/="), "aZ9-_%2B%2F%3D");
    }
}
