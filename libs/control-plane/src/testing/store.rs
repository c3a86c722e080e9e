//! The objects of the control plane and their history, and what becomes of them.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value, json};

use super::ServedType;

/// A refusal: code, reason and message.
pub(super) type Refused = (u16, &'static str, String);

/// Group, resource, namespace and name, in this order.
pub(super) type Key = (String, String, String, String);

/// The key of an object, and whether its status alone is meant.
type Part = (Key, bool);

/// A collection or an object of it, as a path names it.
#[derive(Clone, Debug)]
pub(super) struct Addressed {
    pub(super) served: ServedType,
    pub(super) namespace: String,
    pub(super) name: String,
    /// The status of the object alone.
    pub(super) status: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) key: Key,
    pub(super) type_: &'static str,
    pub(super) object: Value,
}

#[derive(Clone, Debug)]
pub(super) struct Store {
    pub(super) types: Vec<ServedType>,
    pub(super) forbidden: Vec<(&'static str, &'static str)>,
    pub(super) forbidden_of: Vec<(&'static str, &'static str, String)>,
    pub(super) hanging: Vec<(&'static str, &'static str)>,
    /// Resources of which what is there is not changed.
    pub(super) hanging_updates: Vec<&'static str>,
    pub(super) failing: Vec<(&'static str, &'static str)>,
    pub(super) slow: Vec<(&'static str, &'static str, Duration)>,
    /// Resources whose watches break, and after how long.
    pub(super) breaking_watches: Vec<(&'static str, Duration)>,
    /// Each is answered with a 429 once.
    pub(super) throttled: Vec<(&'static str, &'static str)>,
    /// Resource, parent and name of each field that is dropped.
    pub(super) pruned: Vec<(&'static str, &'static str, &'static str)>,
    pub(super) asked: Vec<(&'static str, String)>,
    pub(super) history: Vec<Change>,
    pub(super) version: u64,
    /// Watches from before this version are too old.
    pub(super) oldest: u64,
    /// The same for one resource.
    oldest_of: BTreeMap<&'static str, u64>,
    objects: BTreeMap<Key, Value>,
    managers: BTreeMap<Part, String>,
    /// What was last applied to each of them.
    applied: BTreeMap<Part, Value>,
}

/// How an object is applied.
pub(super) struct Apply {
    pub(super) manager: String,
    pub(super) force: bool,
}

impl Store {
    pub(super) fn new(types: &[ServedType]) -> Self {
        Self {
            types: types.to_vec(),
            forbidden: Vec::new(),
            forbidden_of: Vec::new(),
            hanging: Vec::new(),
            hanging_updates: Vec::new(),
            failing: Vec::new(),
            slow: Vec::new(),
            breaking_watches: Vec::new(),
            throttled: Vec::new(),
            pruned: Vec::new(),
            asked: Vec::new(),
            history: Vec::new(),
            // As etcd's: the first write is at 2, so nothing has ever had the version 1.
            version: 1,
            oldest: 0,
            oldest_of: BTreeMap::new(),
            objects: BTreeMap::new(),
            managers: BTreeMap::new(),
            applied: BTreeMap::new(),
        }
    }

    /// The place of a path, if its type is served.
    pub(super) fn place(&self, path: &str) -> Option<Addressed> {
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, version) = match parts.first() {
            Some(&"api") if parts.len() > 2 => ("", parts[1]),
            Some(&"apis") if parts.len() > 3 => (parts[1], parts[2]),
            _ => return None,
        };
        parts.drain(..if group.is_empty() { 2 } else { 3 });
        let mut namespace = "";
        if parts[0] == "namespaces" && parts.len() > 2 {
            namespace = parts[1];
            parts.drain(..2);
        }
        let is_it = |known: &&ServedType| {
            (known.group, known.version, known.resource) == (group, version, parts[0])
        };
        let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
        Some(Addressed {
            served: *self.types.iter().find(is_it)?,
            namespace: namespace.to_owned(),
            name: part(1),
            status: part(2) == "status",
        })
    }

    pub(super) fn is_there(&self, place: &Addressed) -> bool {
        self.objects.contains_key(&place.key())
    }

    pub(super) fn get(&self, path: &str) -> Option<Value> {
        self.objects.get(&self.place(path)?.key()).cloned()
    }

    pub(super) fn put(&mut self, path: &str, mut object: Value) {
        let place = self.place(path).expect("the type is served");
        object["metadata"]["name"] = json!(place.name);
        if !place.namespace.is_empty() {
            object["metadata"]["namespace"] = json!(place.namespace);
        }
        self.save(&place, object);
    }

    pub(super) fn remove(&mut self, path: &str) {
        let place = self.place(path).expect("the type is served");
        self.take_away(&place.key());
    }

    pub(super) fn expire(&mut self) {
        self.version += 1;
        self.oldest = self.version;
        self.history.clear();
    }

    /// What it holds, not what it was asked and how it answers.
    pub(super) fn restore(&mut self, backup: Self) {
        let answers = (self.types.clone(), self.forbidden.clone());
        let forbidden_of = self.forbidden_of.clone();
        let (asked, hanging) = (self.asked.clone(), self.hanging.clone());
        *self = backup;
        (self.types, self.forbidden) = answers;
        self.forbidden_of = forbidden_of;
        (self.asked, self.hanging) = (asked, hanging);
    }

    pub(super) fn expire_of(&mut self, resource: &'static str) {
        self.version += 1;
        self.oldest_of.insert(resource, self.version);
    }

    /// Whether a watch of a resource cannot go on from a version.
    pub(super) fn is_too_old(&self, resource: &str, since: u64) -> bool {
        let of_it = self.oldest_of.get(resource).copied().unwrap_or_default();
        since < self.oldest.max(of_it)
    }

    pub(super) fn list(&self, place: &Addressed, name: Option<&str>) -> Vec<Value> {
        let all = self.objects.iter();
        all.filter(|(key, _)| place.holds(key, name))
            .map(|(_, object)| place.served.as_served(object.clone()))
            .collect()
    }

    /// What a DELETE does.
    pub(super) fn delete(
        &mut self,
        place: &Addressed,
        conditions: &Value,
    ) -> Result<Value, Refused> {
        let key = place.key();
        let Some(object) = self.objects.get(&key).cloned() else {
            return Err(place.missing());
        };
        for field in ["uid", "resourceVersion"] {
            if !conditions[field].is_null() && object["metadata"][field] != conditions[field] {
                let message = format!("the {field} in the precondition is another");
                return Err(place.conflict(&message));
            }
        }
        if !is_held(&object) {
            self.take_away(&key);
        } else if object["metadata"]["deletionTimestamp"].is_null() {
            let mut going = object.clone();
            going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
            self.save(place, going);
        }
        Ok(object)
    }

    /// What a POST does.
    pub(super) fn create(&mut self, place: &Addressed, object: &Value) -> Result<Value, Refused> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let place = Addressed {
            name: name.to_owned(),
            ..place.clone()
        };
        if self.objects.contains_key(&place.key()) {
            return Err(place.conflict("it already exists"));
        }
        Ok(self.save(&place, object.clone()))
    }

    /// What a PUT does.
    pub(super) fn replace(&mut self, place: &Addressed, object: &Value) -> Result<Value, Refused> {
        let present = self.present(place)?;
        if object["metadata"]["resourceVersion"].is_null() {
            let message = "metadata.resourceVersion: must be specified for an update".to_owned();
            return Err((422, "Invalid", message));
        }
        place.expect(&present, object)?;
        Ok(self.write(place, &present, object.clone()))
    }

    /// What a PATCH with a configuration to apply does.
    pub(super) fn apply(
        &mut self,
        place: &Addressed,
        applied: &Value,
        how: &Apply,
    ) -> Result<Value, Refused> {
        let part = (place.key(), place.status);
        let present = self.objects.get(&part.0).cloned();
        match &present {
            Some(present) => place.expect(present, applied)?,
            None if place.status => return Err(place.missing()),
            None if applied["metadata"]["uid"].is_string() => {
                return Err(place.conflict("uid mismatch: no existing object was found"));
            }
            None => {}
        }
        let mut next = present.clone().unwrap_or_else(|| json!({"metadata": {}}));
        let before = next.clone();
        for (field, value) in applied.as_object().into_iter().flatten() {
            match field.as_str() {
                // What else stands there nobody gives up.
                "metadata" => {
                    let earlier = self.applied.get(&part);
                    for map in ["labels", "annotations"] {
                        let earlier = earlier.map(|applied| &applied["metadata"][map]);
                        if let Some(known) = next["metadata"].get_mut(map) {
                            give_up(known, earlier.unwrap_or(&Value::Null), &value[map]);
                        }
                    }
                    merge(&mut next["metadata"], value);
                }
                _ => {
                    let earlier = self.applied.get(&part).map(|applied| &applied[field]);
                    give_up(&mut next[field], earlier.unwrap_or(&Value::Null), value);
                    merge(&mut next[field], value);
                }
            }
        }
        let next = place.written(&before, next);
        if next == before {
            return Ok(next);
        }
        let owner = self.managers.entry(part.clone());
        let owner = owner.or_insert_with(|| how.manager.clone());
        if *owner != how.manager && !how.force {
            let message = format!("Apply failed with a conflict with \"{owner}\"");
            return Err(place.conflict(&message));
        }
        owner.clone_from(&how.manager);
        self.applied.insert(part, applied.clone());
        Ok(self.write(place, &before, next))
    }

    /// What a PATCH with a merge patch does.
    pub(super) fn merge(&mut self, place: &Addressed, patch: &Value) -> Result<Value, Refused> {
        let present = self.present(place)?;
        place.expect(&present, patch)?;
        let mut next = present.clone();
        merge(&mut next, patch);
        Ok(self.write(place, &present, next))
    }

    /// What a PATCH with a JSON patch does; finalizers are all that is changed by one.
    pub(super) fn finalizers(
        &mut self,
        place: &Addressed,
        patch: &Value,
    ) -> Result<Value, Refused> {
        let present = self.present(place)?;
        let mut next = present.clone();
        for step in patch.as_array().into_iter().flatten() {
            let path = step["path"].as_str().unwrap_or_default();
            let known = next.pointer(path).unwrap_or(&Value::Null);
            match step["op"].as_str() {
                Some("test") if *known != step["value"] => {
                    return Err((422, "Invalid", "a test of the patch failed".to_owned()));
                }
                Some("add") => next["metadata"]["finalizers"] = added(known, &step["value"]),
                Some("remove") => take_out(&mut next, path),
                _ => {}
            }
        }
        Ok(self.write(place, &present, next))
    }

    /// Stores what a request makes of an object, if that is another one. One that is being deleted goes with its last finalizer.
    fn write(&mut self, place: &Addressed, present: &Value, next: Value) -> Value {
        let next = place.written(present, next);
        if next == *present {
            return place.served.as_served(next);
        }
        if !is_held(&next) && !next["metadata"]["deletionTimestamp"].is_null() {
            self.take_away(&place.key());
            return place.served.as_served(next);
        }
        self.save(place, next)
    }

    fn present(&self, place: &Addressed) -> Result<Value, Refused> {
        let known = self.objects.get(&place.key()).cloned();
        known.ok_or_else(|| place.missing())
    }

    fn save(&mut self, place: &Addressed, mut object: Value) -> Value {
        self.version += 1;
        let key = place.key();
        for (resource, parent, field) in &self.pruned {
            if let Some(Value::Object(fields)) = object.pointer_mut(parent)
                && *resource == place.served.resource
            {
                fields.remove(*field);
            }
        }
        let known = self.objects.get(&key);
        let uid = known.map_or_else(
            || json!(format!("uid-{}", self.version)),
            |known| known["metadata"]["uid"].clone(),
        );
        let generation = known.map_or(1, |known| {
            let before = known["metadata"]["generation"].as_u64().unwrap_or_default();
            before + u64::from(known["spec"] != object["spec"])
        });
        let metadata = &mut object["metadata"];
        metadata["uid"] = uid;
        metadata["generation"] = json!(generation);
        metadata["resourceVersion"] = json!(self.version.to_string());
        let type_ = if known.is_some() { "MODIFIED" } else { "ADDED" };
        self.objects.insert(key.clone(), object.clone());
        self.remember(key, type_, object.clone());
        place.served.as_served(object)
    }

    fn take_away(&mut self, key: &Key) {
        self.managers.retain(|part, _| part.0 != *key);
        self.applied.retain(|part, _| part.0 != *key);
        if let Some(mut object) = self.objects.remove(key) {
            self.version += 1;
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            self.remember(key.clone(), "DELETED", object);
        }
    }

    fn remember(&mut self, key: Key, type_: &'static str, object: Value) {
        let version = self.version;
        self.history.push(Change {
            version,
            key,
            type_,
            object,
        });
    }
}

impl ServedType {
    /// The object in this version.
    pub(super) fn as_served(&self, mut object: Value) -> Value {
        object["kind"] = json!(self.kind);
        object["apiVersion"] = match self.group {
            "" => json!(self.version),
            group => json!(format!("{group}/{}", self.version)),
        };
        object
    }
}

impl Addressed {
    pub(super) fn key(&self) -> Key {
        let ServedType {
            group, resource, ..
        } = self.served;
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        (group.to_owned(), resource.to_owned(), namespace, name)
    }

    /// Whether the object of a key is in this collection, and of this name if one is given.
    pub(super) fn holds(&self, key: &Key, name: Option<&str>) -> bool {
        (key.0.as_str(), key.1.as_str()) == (self.served.group, self.served.resource)
            && (self.namespace.is_empty() || self.namespace == key.2)
            && name.is_none_or(|name| name == key.3)
    }

    /// As rules of access name it.
    pub(super) fn resource(&self) -> String {
        let subresource = if self.status { "/status" } else { "" };
        format!("{}{subresource}", self.served.resource)
    }

    /// Whether the object is the one that a write says it is for. The uid is of no account where only the status is written: all
    /// that is said of the metadata there is dropped before it is looked at.
    fn expect(&self, present: &Value, said: &Value) -> Result<(), Refused> {
        let is_another = |field: &str| {
            let wanted = &said["metadata"][field];
            !wanted.is_null() && *wanted != present["metadata"][field]
        };
        if is_another("resourceVersion") {
            return Err(self.conflict("the object has been modified"));
        }
        if is_another("uid") && !self.status {
            let message = format!("{} is invalid: metadata.uid: field is immutable", self.name);
            return Err((422, "Invalid", message));
        }
        Ok(())
    }

    /// What is kept of an object that is to be the next: its status where that is what is written, and all but the status
    /// elsewhere.
    fn written(&self, present: &Value, mut next: Value) -> Value {
        let status = if self.status { &next } else { present }.get("status");
        let status = status.filter(|status| !status.is_null()).cloned();
        if self.status {
            next = present.clone();
        }
        next["metadata"]["uid"] = present["metadata"]["uid"].clone();
        next["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"].clone();
        let fields = next.as_object_mut().expect("it has metadata");
        match status {
            Some(status) => fields.insert("status".to_owned(), status),
            None => fields.remove("status"),
        };
        next
    }

    fn missing(&self) -> Refused {
        let message = format!("{} \"{}\" not found", self.served.resource, self.name);
        (404, "NotFound", message)
    }

    fn conflict(&self, why: &str) -> Refused {
        let (resource, name) = (self.served.resource, &self.name);
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        (409, "Conflict", message)
    }
}

/// Whether finalizers keep an object.
fn is_held(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

fn added(known: &Value, value: &Value) -> Value {
    match (known, value) {
        (Value::Array(known), Value::String(_)) => {
            let all: Vec<&Value> = known.iter().chain([value]).collect();
            json!(all)
        }
        (Value::Null, Value::String(_)) => json!([value]),
        _ => value.clone(),
    }
}

/// Takes away what a JSON pointer leads to, and nothing beside it.
fn take_out(object: &mut Value, path: &str) {
    let (parent, last) = path.rsplit_once('/').unwrap_or_default();
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(last)),
        Some(Value::Array(all)) => {
            let place = last.parse().ok().filter(|place| *place < all.len());
            place.map(|place: usize| all.remove(place));
        }
        _ => {}
    }
}

/// Takes away what was applied earlier and is not any more; what others set stays.
fn give_up(object: &mut Value, earlier: &Value, now: &Value) {
    let (Value::Object(fields), Value::Object(earlier)) = (object, earlier) else {
        return;
    };
    for (name, earlier) in earlier {
        let now = &now[name];
        if let Some(field) = fields.get_mut(name) {
            give_up(field, earlier, now);
            let is_empty = field.as_object().is_none_or(Map::is_empty);
            if now.is_null() && is_empty {
                fields.remove(name);
            }
        }
    }
}

/// As RFC 7386 has it.
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    for (field, value) in patch {
        if value.is_null() {
            object
                .as_object_mut()
                .and_then(|fields| fields.remove(field));
        } else {
            merge(&mut object[field], value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/api/v1/nodes/east";

    fn store() -> Store {
        Store::new(&[ServedType::new("", "v1", "nodes", "Node")])
    }

    fn place(store: &Store, path: &str) -> Addressed {
        store.place(path).expect("it is served")
    }

    fn apply(store: &mut Store, path: &str, applied: &Value) -> Result<Value, Refused> {
        let how = Apply {
            manager: "one".to_owned(),
            force: false,
        };
        store.apply(&place(store, path), applied, &how)
    }

    #[test]
    fn of_what_is_not_there_nothing_is_patched_and_only_an_apply_makes_it() {
        let mut store = store();
        let code = |answer: Result<Value, Refused>| answer.err().map(|(code, ..)| code);
        for path in [PATH, "/api/v1/nodes/east/status"] {
            let place = place(&store, path);
            let patch = json!({"status": {"phase": "Up"}});
            assert_eq!(code(store.merge(&place, &patch)), Some(404), "{path}");
            let step = json!([{"op": "add", "path": "/metadata/finalizers", "value": ["a"]}]);
            assert_eq!(code(store.finalizers(&place, &step)), Some(404), "{path}");
        }
        let status = apply(
            &mut store,
            "/api/v1/nodes/east/status",
            &json!({"status": {}}),
        );
        assert_eq!(code(status), Some(404));
        assert_eq!(store.get(PATH), None);
        let made = apply(&mut store, PATH, &json!({"spec": {"zone": "a"}}));
        assert_eq!(code(made), None);
        assert!(store.get(PATH).is_some());
    }

    #[test]
    fn who_takes_a_finalizer_away_leaves_those_of_others() {
        let mut store = store();
        store.put(
            PATH,
            json!({"metadata": {"finalizers": ["theirs", "ours"]}}),
        );
        let place = place(&store, PATH);
        store.delete(&place, &Value::Null).expect("it is there");
        let step = json!([{"op": "remove", "path": "/metadata/finalizers/1"}]);
        store.finalizers(&place, &step).expect("it is there");
        let left = store.get(PATH).expect("it is held");
        assert_eq!(left["metadata"]["finalizers"], json!(["theirs"]));
    }
}
