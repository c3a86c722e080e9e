//! Kubeconfig documents as values: which entries the fleet needs, and how they get into a document without harming what others wrote.
//!
//! Documents are kept as untyped values, so that fields which this version does not know survive. An entry of ours carries a named
//! extension; only such entries are ever replaced or removed.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The name of the entries for the whole fleet, as Clusterpedia's users know it.
pub(crate) const FLEET: &str = "clusterpedia";

/// The extension that marks an entry as ours.
const MARK: &str = "armadex";

/// The API group and version under which the aggregator reaches us.
const API: &str = "/apis/clusterpedia.io/v1beta1";

/// How the control plane is reached and as whom: a context of an existing kubeconfig, resolved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    /// The `cluster` of the control plane: server, CA, proxy.
    pub(crate) cluster: Map<String, Value>,
    /// The name of its user.
    pub(crate) user_name: String,
    /// The `user`, if it has to be copied into another document.
    pub(crate) user: Option<Value>,
}

/// The entries to write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entries {
    clusters: Vec<(String, Value)>,
    contexts: Vec<(String, Value)>,
    users: Vec<(String, Value)>,
}

/// A document with the entries in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Merged {
    /// The document to write.
    pub(crate) document: Value,
    /// Entries that somebody else wrote under a name that we need; they are left alone.
    pub(crate) foreign: Vec<String>,
}

/// A document that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidKubeconfig {
    /// A part has another shape than a kubeconfig.
    #[error("{0} is not what a kubeconfig has there")]
    Shape(&'static str),
    /// Nothing says which context to use.
    #[error("no context is chosen: pass --context")]
    NoContext,
    /// A name leads nowhere.
    #[error("there is no {kind} named {name:?}")]
    Missing {
        /// `context`, `cluster` or `user`.
        kind: &'static str,
        /// The name.
        name: String,
    },
}

/// Resolves a context (the current one by default) over documents in their order of precedence. Also tells which document has it.
pub(crate) fn resolve(
    documents: &[Value],
    context: Option<&str>,
) -> Result<(Source, usize), InvalidKubeconfig> {
    let current = documents.iter().find_map(|document| {
        document
            .get("current-context")
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
    });
    let context = context.or(current).ok_or(InvalidKubeconfig::NoContext)?;
    let (found, place) = find(documents, "context", context)?;
    let part = |key: &'static str| {
        found
            .get(key)
            .and_then(Value::as_str)
            .ok_or(InvalidKubeconfig::Shape("context"))
    };
    let (cluster, _) = find(documents, "cluster", part("cluster")?)?;
    let user_name = part("user")?.to_owned();
    let (user, _) = find(documents, "user", &user_name)?;
    let cluster = cluster
        .as_object()
        .cloned()
        .ok_or(InvalidKubeconfig::Shape("cluster"))?;
    if !cluster.get("server").is_some_and(Value::is_string) {
        return Err(InvalidKubeconfig::Shape("cluster.server"));
    }
    Ok((
        Source {
            cluster,
            user_name,
            user: Some(user.clone()),
        },
        place,
    ))
}

fn find<'a>(
    documents: &'a [Value],
    kind: &'static str,
    name: &str,
) -> Result<(&'a Value, usize), InvalidKubeconfig> {
    let list = format!("{kind}s");
    documents
        .iter()
        .enumerate()
        .find_map(|(place, document)| {
            let entries = document.get(&list)?.as_array()?;
            let entry = entries.iter().find(|entry| name_of(entry) == Some(name))?;
            Some((entry.get(kind)?, place))
        })
        .ok_or_else(|| InvalidKubeconfig::Missing {
            kind,
            name: name.to_owned(),
        })
}

/// The entries for the fleet and for each of `members`.
pub(crate) fn entries(source: &Source, members: &BTreeSet<String>) -> Entries {
    let server = source
        .cluster
        .get("server")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let base = format!("{}{API}", server.trim_end_matches('/'));
    let paths = std::iter::once((FLEET.to_owned(), format!("{base}/fleets/all/proxy"))).chain(
        members
            .iter()
            .map(|name| (name.clone(), format!("{base}/clusters/{name}/proxy"))),
    );
    let user_name = if source.user.is_some() {
        FLEET
    } else {
        &source.user_name
    };
    let (mut clusters, mut contexts) = (Vec::new(), Vec::new());
    for (name, server) in paths {
        clusters.push((name.clone(), marked(with_server(&source.cluster, server))));
        let context = json!({"cluster": name, "user": user_name});
        contexts.push((name, marked(context)));
    }
    let users = source
        .user
        .iter()
        .map(|user| (FLEET.to_owned(), marked(user.clone())))
        .collect();
    Entries {
        clusters,
        contexts,
        users,
    }
}

fn with_server(cluster: &Map<String, Value>, server: String) -> Value {
    let mut cluster = cluster.clone();
    cluster.remove("extensions");
    cluster.insert("server".to_owned(), Value::String(server));
    Value::Object(cluster)
}

fn marked(mut entry: Value) -> Value {
    if let Some(object) = entry.as_object_mut() {
        let mark = json!([{"name": MARK, "extension": {"writtenBy": "armadex kubeconfig"}}]);
        object.insert("extensions".to_owned(), mark);
    }
    entry
}

/// Puts the entries into a document: replaces and removes what we wrote before, adds what is new, and leaves the rest alone.
pub(crate) fn merge(document: Value, entries: Entries) -> Result<Merged, InvalidKubeconfig> {
    let Value::Object(mut document) = document else {
        return Err(InvalidKubeconfig::Shape("the document"));
    };
    document.entry("apiVersion").or_insert_with(|| json!("v1"));
    document.entry("kind").or_insert_with(|| json!("Config"));
    let Entries {
        clusters,
        contexts,
        users,
    } = entries;
    let mut foreign = Vec::new();
    for (kind, wanted) in [
        ("cluster", clusters),
        ("context", contexts),
        ("user", users),
    ] {
        let list = document
            .entry(format!("{kind}s"))
            .or_insert_with(|| json!([]));
        if list.is_null() {
            *list = json!([]);
        }
        let list = list.as_array_mut().ok_or(InvalidKubeconfig::Shape(kind))?;
        foreign.extend(replace(list, kind, wanted));
    }
    let current = document
        .entry("current-context")
        .or_insert_with(|| json!(FLEET));
    if current.as_str().is_none_or(str::is_empty) {
        *current = json!(FLEET);
    }
    Ok(Merged {
        document: Value::Object(document),
        foreign,
    })
}

fn replace(list: &mut Vec<Value>, kind: &str, wanted: Vec<(String, Value)>) -> Vec<String> {
    let was_ours = |entry: &Value| entry.get(kind).is_some_and(is_marked);
    list.retain(|entry| !was_ours(entry));
    let taken: BTreeSet<String> = list.iter().filter_map(name_of).map(str::to_owned).collect();
    let mut foreign = Vec::new();
    for (name, value) in wanted {
        if taken.contains(&name) {
            foreign.push(format!("{kind} {name}"));
        } else {
            list.push(json!({"name": name, kind: value}));
        }
    }
    foreign
}

fn is_marked(entry: &Value) -> bool {
    let extensions = entry.get("extensions").and_then(Value::as_array);
    extensions.is_some_and(|list| {
        list.iter()
            .any(|extension| name_of(extension) == Some(MARK))
    })
}

fn name_of(entry: &Value) -> Option<&str> {
    entry.get("name")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Value {
        json!({
            "current-context": "host",
            "clusters": [{"name": "cp", "cluster": {"server": "https://cp:6443/", "certificate-authority-data": "Q0E="}}],
            "contexts": [{"name": "host", "context": {"cluster": "cp", "user": "admin"}}],
            "users": [{"name": "admin", "user": {"token": "t"}}],
        })
    }

    fn members(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn named<'a>(document: &'a Value, list: &str, name: &str) -> Option<&'a Value> {
        document[list]
            .as_array()?
            .iter()
            .find(|entry| entry["name"] == name)
    }

    fn fleet(document: Value, names: &[&str]) -> Merged {
        let (source, _) = resolve(&[host()], None).expect("resolves");
        merge(document, entries(&source, &members(names))).expect("merges")
    }

    #[test]
    fn the_fleet_and_each_member_get_a_cluster_and_a_context() {
        let merged = fleet(json!({}), &["member1"]);
        let server =
            |name| &named(&merged.document, "clusters", name).expect("there")["cluster"]["server"];
        let api = "https://cp:6443/apis/clusterpedia.io/v1beta1";
        assert_eq!(
            server("clusterpedia"),
            &json!(format!("{api}/fleets/all/proxy"))
        );
        assert_eq!(
            server("member1"),
            &json!(format!("{api}/clusters/member1/proxy"))
        );
        let context = named(&merged.document, "contexts", "member1").expect("there");
        assert_eq!(context["context"]["user"], "clusterpedia");
        assert_eq!(merged.document["current-context"], "clusterpedia");
    }

    #[test]
    fn repeating_changes_nothing_and_a_member_that_left_is_removed() {
        let first = fleet(host(), &["member1", "member2"]);
        assert_eq!(
            fleet(first.document.clone(), &["member1", "member2"]),
            first
        );
        let later = fleet(first.document, &["member1"]);
        assert!(named(&later.document, "clusters", "member2").is_none());
        assert!(named(&later.document, "contexts", "host").is_some());
        assert_eq!(later.document["current-context"], "host");
    }

    #[test]
    fn an_entry_of_somebody_else_is_left_alone_and_named() {
        let mut document = host();
        document["contexts"][0]["name"] = json!("member1");
        let merged = fleet(document, &["member1"]);
        assert_eq!(merged.foreign, ["context member1"]);
        let context = named(&merged.document, "contexts", "member1").expect("kept");
        assert_eq!(context["context"]["cluster"], "cp");
    }

    #[test]
    fn a_dangling_name_is_an_error_that_says_it() {
        let mut document = host();
        document["users"] = json!([]);
        let error = resolve(&[document], None).expect_err("no user");
        assert_eq!(error.to_string(), "there is no user named \"admin\"");
        let error = resolve(&[json!({})], None).expect_err("no context");
        assert_eq!(error, InvalidKubeconfig::NoContext);
    }
}
