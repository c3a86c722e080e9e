//! Whether Armadex serves of each object what the member has, field by field, but for what it leaves out and adds on purpose.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use http::Request;
use kube::Client;
use serde_json::{Map, Value};

use crate::equality::{CLUSTER, Kind, Listed, list_with};

/// What `kubectl apply` keeps for itself: the whole object once more.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// What an apiserver writes into the annotations of a Secret itself.
const KEPT: [&str; 2] = [
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
];

/// Lists a kind in the member called `name` and of it in Armadex; gives how many objects are equal.
pub async fn compare(host: &Client, member: &Client, name: &str, kind: Kind) -> Result<usize> {
    let path = kind.path();
    let own_path = kind.path_of(name);
    let (theirs, ours): (Listed<Value>, Listed<Value>) = tokio::try_join!(
        list_with(member, path, &[]),
        list_with(host, &own_path, &[])
    )?;
    ensure!(
        (&theirs.kind, &theirs.api_version) == (&ours.kind, &ours.api_version),
        "{path}: a {} of {} instead of a {} of {}",
        ours.kind,
        ours.api_version,
        theirs.kind,
        theirs.api_version
    );
    // A kube-apiserver writes into lists of its own kinds what they are lists of, and not into each item.
    let item = theirs.kind.trim_end_matches("List").to_owned();
    let mut served = by_place(ours.items)?;
    let count = theirs.items.len();
    for (place, mut object) in by_place(theirs.items)? {
        object["kind"] = item.clone().into();
        object["apiVersion"] = theirs.api_version.clone().into();
        let own = served.remove(&place);
        let own = own.with_context(|| format!("{path}: {place} is missing"))?;
        equal(&as_served(object, name), &own).with_context(|| format!("{path}: {place}"))?;
    }
    let extra: Vec<_> = served.into_keys().collect();
    ensure!(extra.is_empty(), "{path}: the member has no {extra:?}");
    Ok(count)
}

/// Gets one object of a kind from both, at `place` (`namespace/name`).
pub async fn compare_one(
    host: &Client,
    member: &Client,
    name: &str,
    kind: Kind,
    place: &str,
) -> Result<()> {
    let theirs = get(member, &object_path(kind.path(), place)?).await?;
    let ours = get(host, &object_path(&kind.path_of(name), place)?).await?;
    equal(&as_served(theirs, name), &ours).with_context(|| format!("{}: {place}", kind.path()))
}

async fn get(client: &Client, path: &str) -> Result<Value> {
    let request = Request::get(path).body(Vec::new())?;
    let object = client.request(request).await;
    object.with_context(|| format!("cannot get {path}"))
}

/// `/api/v1/pods` and `default/web` are `/api/v1/namespaces/default/pods/web`.
fn object_path(list: &str, place: &str) -> Result<String> {
    let (api, resource) = list.rsplit_once('/').context("a list has a path")?;
    let (namespace, name) = place.split_once('/').context("a place has two parts")?;
    Ok(match namespace {
        "" => format!("{list}/{name}"),
        _ => format!("{api}/namespaces/{namespace}/{resource}/{name}"),
    })
}

fn by_place(items: Vec<Value>) -> Result<BTreeMap<String, Value>> {
    let mut places = BTreeMap::new();
    for item in items {
        let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default();
        let place = format!("{}/{}", text("namespace"), text("name"));
        ensure!(
            places.insert(place.clone(), item).is_none(),
            "{place} was listed twice"
        );
    }
    Ok(places)
}

/// An object of a member as Armadex serves it: with its cluster, without what only the member's clients need, and without secrets.
fn as_served(mut object: Value, cluster: &str) -> Value {
    let is_secret = object["kind"] == "Secret";
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        let annotations = metadata.entry("annotations");
        let annotations = annotations.or_insert_with(|| Map::new().into());
        if is_secret {
            empty(annotations, &KEPT);
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.remove(LAST_APPLIED);
            annotations.insert(CLUSTER.to_owned(), cluster.into());
        }
    }
    if let Some(data) = object.get_mut("data").filter(|_| is_secret) {
        empty(data, &[]);
    }
    object
}

/// Leaves the names, and the values of those that are kept.
fn empty(map: &mut Value, kept: &[&str]) {
    let values = map.as_object_mut().into_iter().flatten();
    let values = values.filter(|(name, _)| !kept.contains(&name.as_str()));
    values.for_each(|(_, value)| *value = "".into());
}

/// An error names the first field that differs.
fn equal(theirs: &Value, ours: &Value) -> Result<()> {
    let Some((field, theirs, ours)) = difference(theirs, ours) else {
        return Ok(());
    };
    anyhow::bail!("{field} is {ours} instead of {theirs}")
}

fn difference<'a>(theirs: &'a Value, ours: &'a Value) -> Option<(String, &'a Value, &'a Value)> {
    let within = |name: &str, theirs, ours| {
        let (field, theirs, ours) = difference(theirs, ours)?;
        Some((format!("/{name}{field}"), theirs, ours))
    };
    match (theirs, ours) {
        (Value::Object(one), Value::Object(other)) => {
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort();
            let of =
                |object: &'a Map<String, Value>, name| object.get(name).unwrap_or(&Value::Null);
            let mut fields = names.into_iter();
            fields.find_map(
                |name| match one.contains_key(name) == other.contains_key(name) {
                    true => within(name, of(one, name), of(other, name)),
                    false => Some((format!("/{name}"), of(one, name), of(other, name))),
                },
            )
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut items = one.iter().zip(other).enumerate();
            items.find_map(|(index, (theirs, ours))| within(&index.to_string(), theirs, ours))
        }
        _ => (theirs != ours).then(|| (String::new(), theirs, ours)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(theirs: &Value, ours: &Value) -> String {
        equal(theirs, ours).map_or_else(|error| error.to_string(), |()| "equal".to_owned())
    }

    #[test]
    fn the_first_field_that_differs_is_named() {
        let one = json!({"a": {"b": [1, 2]}, "c": null});
        assert_eq!(said(&one, &one.clone()), "equal");
        let other = json!({"a": {"b": [1, 3]}, "c": null});
        assert_eq!(said(&one, &other), "/a/b/1 is 3 instead of 2");
        assert_eq!(
            said(&one, &json!({"a": {"b": [1]}})),
            "/a/b is [1] instead of [1,2]"
        );
        // An absent field is not one that is null.
        let less = json!({"a": {"b": [1, 2]}});
        assert_eq!(said(&one, &less), "/c is null instead of null");
    }

    #[test]
    fn what_armadex_leaves_out_and_adds_is_no_difference() {
        let secret = json!({
            "kind": "Secret", "data": {"password": "aHVudGVyMg=="},
            "metadata": {
                "name": "a", "managedFields": [],
                "annotations": {LAST_APPLIED: "{}", KEPT[0]: "default", "applied": "aHVudGVyMg=="},
            },
        });
        let served = json!({
            "kind": "Secret", "data": {"password": ""},
            "metadata": {"name": "a", "annotations": {CLUSTER: "m", KEPT[0]: "default", "applied": ""}},
        });
        assert_eq!(as_served(secret, "m"), served);
    }

    #[test]
    fn an_object_lies_in_its_namespace() {
        let path = |list, place| object_path(list, place).unwrap();
        let pod = "/api/v1/namespaces/default/pods/web";
        assert_eq!(path("/api/v1/pods", "default/web"), pod);
        assert_eq!(path("/api/v1/nodes", "/n1"), "/api/v1/nodes/n1");
    }
}
