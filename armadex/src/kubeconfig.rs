//! Kubeconfig documents as values: which entries the fleet needs, and how they get into a document without harming what others wrote.
//!
//! Documents are kept as untyped values, so that fields which this version does not know survive. An entry of ours carries a named
//! extension; only such entries are ever replaced or removed.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value, json};

/// The name of the entries for the whole fleet, as Clusterpedia's users know it.
pub(crate) const FLEET: &str = "clusterpedia";

/// The extension that marks an entry as ours.
const MARK: &str = "armadex";

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

/// The entries to write: a cluster and a context of the same name for each place, and the user that all contexts name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entries {
    places: Vec<Entry>,
    /// Members that get none.
    skipped: Vec<Skipped>,
    /// The user to write; without it the contexts name one that is there already.
    user: Option<(String, Value)>,
}

/// The fleet or a member.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    name: String,
    cluster: Value,
    context: Value,
}

/// A document with the entries in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Merged {
    /// The document to write.
    pub(crate) document: Value,
    /// What was not written.
    pub(crate) skipped: Vec<Skipped>,
}

/// A place that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// The fleet's name or the member's.
    pub(crate) name: String,
    pub(crate) reason: Reason,
}

/// Why it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A name that it needs is somebody else's (`cluster member1`): a context of ours that found a foreign cluster under its name would send
    /// our user's credentials there.
    Taken(Vec<String>),
    /// A member that is named like the fleet: kubectl reads no file that has a name twice.
    NameOfFleet,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(names) => write!(
                f,
                "{} was written by somebody else and is left alone; use --output with another file to get ours",
                names.join(", ")
            ),
            Self::NameOfFleet => f.write_str(
                "that is the name of the fleet's entries; search it there with ?clusters=, or give the PediaCluster another name",
            ),
        }
    }
}

/// Which of the documents each part of a source is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) context: usize,
    pub(crate) cluster: usize,
    pub(crate) user: usize,
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
    /// An entry that an earlier run wrote leads to the fleet or a member, where there are no PediaClusters of the control plane.
    #[error(
        "the context {0:?} was written by armadex kubeconfig and does not lead to the control plane: pass --context with one that does"
    )]
    Ours(String),
    /// A name leads nowhere.
    #[error("there is no {kind} named {name:?}")]
    Missing {
        /// `context`, `cluster` or `user`.
        kind: &'static str,
        /// The name.
        name: String,
    },
}

/// Resolves a context (the current one by default) over documents in their order of precedence. Also tells which documents its parts are in.
pub(crate) fn resolve(
    documents: &[Value],
    context: Option<&str>,
) -> Result<(Source, Places), InvalidKubeconfig> {
    let current = documents.iter().find_map(|document| {
        document
            .get("current-context")
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
    });
    let context = context.or(current).ok_or(InvalidKubeconfig::NoContext)?;
    let (found, context_place) = find(documents, "context", context)?;
    let part = |key: &'static str| {
        found
            .get(key)
            .and_then(Value::as_str)
            .ok_or(InvalidKubeconfig::Shape("context"))
    };
    let (cluster, cluster_place) = find(documents, "cluster", part("cluster")?)?;
    if is_marked(found) || is_marked(cluster) {
        return Err(InvalidKubeconfig::Ours(context.to_owned()));
    }
    let user_name = part("user")?.to_owned();
    let (user, user_place) = find(documents, "user", &user_name)?;
    let cluster = cluster
        .as_object()
        .cloned()
        .ok_or(InvalidKubeconfig::Shape("cluster"))?;
    if !cluster.get("server").is_some_and(Value::is_string) {
        return Err(InvalidKubeconfig::Shape("cluster.server"));
    }
    let source = Source {
        cluster,
        user_name,
        user: Some(user.clone()),
    };
    let places = Places {
        context: context_place,
        cluster: cluster_place,
        user: user_place,
    };
    Ok((source, places))
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

/// The entries for the fleet and for each of `members` that has another name than the fleet's entries, in the group by which the aggregator reaches us.
pub(crate) fn entries(source: &Source, members: &BTreeSet<String>, group: &str) -> Entries {
    let server = source
        .cluster
        .get("server")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let base = format!("{}/apis/{group}/v1beta1", server.trim_end_matches('/'));
    let paths = std::iter::once((FLEET.to_owned(), format!("{base}/fleets/all/proxy"))).chain(
        members
            .iter()
            .filter(|name| *name != FLEET)
            .map(|name| (name.clone(), format!("{base}/clusters/{name}/proxy"))),
    );
    let user_name = if source.user.is_some() {
        FLEET
    } else {
        &source.user_name
    };
    let places = paths.map(|(name, server)| Entry {
        cluster: marked(with_server(&source.cluster, server)),
        context: marked(json!({"cluster": name, "user": user_name})),
        name,
    });
    let user = source.user.as_ref();
    let skipped = members.get(FLEET).map(|name| Skipped {
        name: name.clone(),
        reason: Reason::NameOfFleet,
    });
    Entries {
        places: places.collect(),
        skipped: skipped.into_iter().collect(),
        user: user.map(|user| (FLEET.to_owned(), marked(user.clone()))),
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
///
/// A name that somebody else has given to a cluster, a context or the user is theirs, and nothing that needs it is written.
/// `beside` are the documents that kubectl reads together with this one: a name in any of them is taken too, because kubectl would
/// mix the parts.
pub(crate) fn merge(
    document: Value,
    beside: &[&Value],
    entries: Entries,
) -> Result<Merged, InvalidKubeconfig> {
    let Value::Object(mut document) = document else {
        return Err(InvalidKubeconfig::Shape("the document"));
    };
    document.entry("apiVersion").or_insert_with(|| json!("v1"));
    document.entry("kind").or_insert_with(|| json!("Config"));
    let chosen = our_choice(&document);
    for kind in KINDS {
        let list = list(&mut document, kind)?;
        list.retain(|entry| !entry.get(kind).is_some_and(is_marked));
    }
    let taken = Taken::of(&document, beside);
    let Entries {
        places,
        mut skipped,
        user,
    } = entries;
    let user_name = user.as_ref().map(|(name, _)| name.clone());
    let mut written = 0;
    for Entry {
        name,
        cluster,
        context,
    } in places
    {
        let taken = taken.among([
            ("cluster", Some(&name)),
            ("context", Some(&name)),
            ("user", user_name.as_ref()),
        ]);
        if !taken.is_empty() {
            let reason = Reason::Taken(taken);
            skipped.push(Skipped { name, reason });
            continue;
        }
        written += 1;
        list(&mut document, "cluster")?.push(json!({"name": name, "cluster": cluster}));
        list(&mut document, "context")?.push(json!({"name": name, "context": context}));
        choose_if_none_is_chosen(&mut document, &name);
    }
    if let (Some((name, user)), 1..) = (user, written) {
        list(&mut document, "user")?.push(json!({"name": name, "user": user}));
    }
    if chosen.is_some_and(|name| !has_context(&document, &name)) {
        document.remove("current-context");
        if has_context(&document, FLEET) {
            choose_if_none_is_chosen(&mut document, FLEET);
        }
    }
    Ok(Merged {
        document: Value::Object(document),
        skipped,
    })
}

/// The kinds of entries; their lists are named in the plural.
const KINDS: [&str; 3] = ["cluster", "context", "user"];

fn list<'a>(
    document: &'a mut Map<String, Value>,
    kind: &'static str,
) -> Result<&'a mut Vec<Value>, InvalidKubeconfig> {
    let list = document
        .entry(format!("{kind}s"))
        .or_insert_with(|| json!([]));
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut().ok_or(InvalidKubeconfig::Shape(kind))
}

/// The current context, if it is one of ours: it may be one that is not written again.
fn our_choice(document: &Map<String, Value>) -> Option<String> {
    let current = document.get("current-context")?.as_str()?;
    let mut contexts = document.get("contexts")?.as_array()?.iter();
    let chosen = contexts.find(|entry| name_of(entry) == Some(current))?;
    is_marked(chosen.get("context")?).then(|| current.to_owned())
}

fn has_context(document: &Map<String, Value>, name: &str) -> bool {
    let contexts = document.get("contexts").and_then(Value::as_array);
    contexts.is_some_and(|all| all.iter().any(|entry| name_of(entry) == Some(name)))
}

/// The fleet is what a file without a choice begins with, not a member.
fn choose_if_none_is_chosen(document: &mut Map<String, Value>, name: &str) {
    let current = document.get("current-context").and_then(Value::as_str);
    if name == FLEET && current.is_none_or(str::is_empty) {
        document.insert("current-context".to_owned(), json!(name));
    }
}

/// The names that are somebody else's, by kind.
struct Taken(BTreeSet<(&'static str, String)>);

impl Taken {
    fn of(document: &Map<String, Value>, beside: &[&Value]) -> Self {
        let mut names = BTreeSet::new();
        for kind in KINDS {
            let key = format!("{kind}s");
            let lists = std::iter::once(document.get(&key))
                .chain(beside.iter().map(|other| other.get(&key)));
            let entries = lists.flatten().filter_map(Value::as_array).flatten();
            names.extend(entries.filter_map(|entry| Some((kind, name_of(entry)?.to_owned()))));
        }
        Self(names)
    }

    fn among(&self, wanted: [(&'static str, Option<&String>); 3]) -> Vec<String> {
        let named = wanted
            .into_iter()
            .filter_map(|(kind, name)| Some((kind, name?.clone())));
        named
            .filter(|one| self.0.contains(one))
            .map(|(kind, name)| format!("{kind} {name}"))
            .collect()
    }
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
    use armadex_apiserver::API_GROUP;

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
        merge(document, &[], entries(&source, &members(names), API_GROUP)).expect("merges")
    }

    fn skipped(name: &str, taken: &[&str]) -> Skipped {
        Skipped {
            name: name.to_owned(),
            reason: Reason::Taken(taken.iter().map(|&one| one.to_owned()).collect()),
        }
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

    /// What a document says under a name, in all lists.
    fn entries_named(document: &Value, name: &str) -> Vec<Value> {
        let lists = ["clusters", "contexts", "users"].into_iter();
        lists
            .filter_map(|list| named(document, list, name).cloned())
            .collect()
    }

    #[test]
    fn a_name_of_somebody_else_leaves_out_all_that_needs_it() {
        let cluster = json!({"name": "member1", "cluster": {"server": "https://elsewhere"}});
        let context = json!({"name": "member1", "context": {"cluster": "cp", "user": "admin"}});
        for (kind, theirs) in [("cluster", cluster), ("context", context)] {
            let mut document = host();
            let list = document[format!("{kind}s")].as_array_mut();
            list.expect("a list").push(theirs.clone());
            let merged = fleet(document, &["member1", "member2"]);
            assert_eq!(
                merged.skipped,
                [skipped("member1", &[&format!("{kind} member1")])]
            );
            assert_eq!(entries_named(&merged.document, "member1"), [theirs]);
            assert_eq!(entries_named(&merged.document, "member2").len(), 2);
        }
    }

    #[test]
    fn a_user_of_somebody_else_is_never_sent_to_us() {
        let mut document = host();
        let theirs = json!({"name": "clusterpedia", "user": {"token": "theirs"}});
        document["users"]
            .as_array_mut()
            .expect("a list")
            .push(theirs);
        let merged = fleet(document.clone(), &["member1"]);
        let user = &["user clusterpedia"];
        assert_eq!(
            merged.skipped,
            [skipped("clusterpedia", user), skipped("member1", user)]
        );
        document["apiVersion"] = json!("v1");
        document["kind"] = json!("Config");
        assert_eq!(merged.document, document);
    }

    #[test]
    fn a_context_that_an_earlier_run_tied_to_a_foreign_cluster_is_taken_back() {
        let ours = fleet(host(), &["member1"]).document;
        let mut document = ours.clone();
        for cluster in document["clusters"].as_array_mut().expect("a list") {
            if cluster["name"] == "member1" {
                cluster["cluster"] = json!({"server": "https://elsewhere"});
            }
        }
        let merged = fleet(document, &["member1"]);
        assert!(named(&merged.document, "contexts", "member1").is_none());
        assert_eq!(
            named(&merged.document, "clusters", "member1").expect("kept")["cluster"]["server"],
            "https://elsewhere"
        );
    }

    #[test]
    fn a_name_in_a_file_that_is_read_together_with_this_one_is_taken() {
        let beside =
            json!({"clusters": [{"name": "member1", "cluster": {"server": "https://elsewhere"}}]});
        let (source, _) = resolve(&[host()], None).expect("resolves");
        let entries = entries(&source, &members(&["member1"]), API_GROUP);
        let merged = merge(host(), &[&beside], entries).expect("merges");
        assert_eq!(merged.skipped, [skipped("member1", &["cluster member1"])]);
        assert_eq!(entries_named(&merged.document, "member1"), [json!(null); 0]);
    }

    /// kubectl refuses a file with a name twice, for all of its contexts.
    #[test]
    fn a_member_that_is_named_like_the_fleet_does_not_make_the_file_unreadable() {
        let merged = fleet(host(), &["clusterpedia", "member1"]);
        let left_out = Skipped {
            name: "clusterpedia".to_owned(),
            reason: Reason::NameOfFleet,
        };
        assert_eq!(merged.skipped, [left_out]);
        for kind in KINDS {
            let entries = merged.document[format!("{kind}s")].as_array();
            let names: Vec<_> = entries.expect("a list").iter().map(name_of).collect();
            let different: BTreeSet<_> = names.iter().collect();
            assert_eq!(names.len(), different.len(), "{names:?}");
        }
        let fleet = named(&merged.document, "clusters", "clusterpedia").expect("there");
        let server = fleet["cluster"]["server"].as_str().expect("a server");
        assert!(server.ends_with("/fleets/all/proxy"), "{server}");
    }

    #[test]
    fn an_entry_of_ours_is_not_taken_for_the_control_plane() {
        let written = fleet(host(), &["member1"]).document;
        for ours in ["clusterpedia", "member1"] {
            let error = resolve(std::slice::from_ref(&written), Some(ours));
            assert_eq!(error, Err(InvalidKubeconfig::Ours(ours.to_owned())));
        }
        assert!(resolve(&[written], Some("host")).is_ok());
    }

    #[test]
    fn a_chosen_context_that_is_not_written_again_gives_way_to_the_fleet() {
        let mut document = fleet(host(), &["member1", "member2"]).document;
        document["current-context"] = json!("member2");
        let merged = fleet(document.clone(), &["member1", "member2"]);
        assert_eq!(merged.document["current-context"], "member2");
        let merged = fleet(document, &["member1"]);
        assert_eq!(merged.document["current-context"], "clusterpedia");
    }

    #[test]
    fn a_fleet_that_was_left_out_is_not_chosen() {
        let theirs = json!({"clusters": [{"name": "clusterpedia", "cluster": {"server": "https://elsewhere"}}]});
        let merged = fleet(theirs, &["member1"]);
        assert_eq!(merged.document.get("current-context"), None);
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
