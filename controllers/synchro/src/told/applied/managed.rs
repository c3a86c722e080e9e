//! From the book of managers of a PediaCluster to one in which its status is this program's alone. Pure.
//!
//! A field that somebody holds by an update stays when it is no longer applied: what Clusterpedia wrote, or a release of ours that did not
//! apply yet. So what is ours by its name is taken over from whoever wrote it, as client-go does for those who begin to apply.

use armadex_crds::PediaCluster;
use armadex_crds::conditions::{ClusterCondition, DEPRECATED_CLUSTER_CONDITION};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use kube::Resource;
use serde_json::{Map, Value, json};

/// Who writes, in `managedFields` and Events.
pub(crate) const MANAGER: &str = "armadex-synchro";
/// Fields of the status: one that is not in a new status is taken out of the old one.
pub(super) const FIELDS: [&str; 11] = [
    "observedGeneration",
    "apiserver",
    "version",
    "identity",
    "conditions",
    "syncResources",
    "shardingName",
    "synchro",
    "objects",
    "behindSince",
    "audit",
];
const STATUS: &str = "f:status";
const CONDITIONS: &str = "f:conditions";
/// The thing itself, beside what is in it.
const ITSELF: &str = ".";
const FIELDS_OF_CONDITION: [&str; 7] = [
    ITSELF,
    "f:type",
    "f:status",
    "f:reason",
    "f:message",
    "f:lastTransitionTime",
    "f:observedGeneration",
];

type Fields = Map<String, Value>;

/// The book after that; `None` if nobody else holds anything that is ours.
pub(super) fn taken_over(managers: &[ManagedFieldsEntry]) -> Option<Vec<ManagedFieldsEntry>> {
    let mut managers = managers.to_vec();
    let mut taken = Value::Null;
    for entry in managers.iter_mut().filter(|entry| is_update(entry)) {
        unite(&mut taken, take_ours(entry));
    }
    if taken.is_null() {
        return None;
    }
    managers.retain(|entry| !is_update(entry) || status_of(entry).is_some());
    let taken = json!({STATUS: taken});
    match managers.iter_mut().find(|entry| is_ours(entry)) {
        Some(entry) => unite(
            &mut entry.fields_v1.get_or_insert(FieldsV1(Value::Null)).0,
            taken,
        ),
        None => managers.push(entry_of(taken)),
    }
    Some(managers)
}

fn is_update(entry: &ManagedFieldsEntry) -> bool {
    entry.operation.as_deref() == Some("Update") && entry.subresource.as_deref() == Some("status")
}

fn is_ours(entry: &ManagedFieldsEntry) -> bool {
    entry.operation.as_deref() == Some("Apply")
        && entry.subresource.as_deref() == Some("status")
        && entry.manager.as_deref() == Some(MANAGER)
}

fn entry_of(fields: Value) -> ManagedFieldsEntry {
    ManagedFieldsEntry {
        api_version: Some(PediaCluster::api_version(&()).into_owned()),
        fields_type: Some("FieldsV1".to_owned()),
        fields_v1: Some(FieldsV1(fields)),
        manager: Some(MANAGER.to_owned()),
        operation: Some("Apply".to_owned()),
        subresource: Some("status".to_owned()),
        time: None,
    }
}

/// What an entry has of the status, if it has anything of it.
fn status_of(entry: &ManagedFieldsEntry) -> Option<&Fields> {
    let status = entry.fields_v1.as_ref()?.0.get(STATUS)?.as_object()?;
    Some(status).filter(|fields| has_more(fields))
}

/// Takes what is ours out of an entry; null if that is nothing.
fn take_ours(entry: &mut ManagedFieldsEntry) -> Value {
    let fields = entry.fields_v1.as_mut();
    let status = fields.and_then(|fields| fields.0.get_mut(STATUS)?.as_object_mut());
    let Some(status) = status else {
        return Value::Null;
    };
    let mut taken = Fields::new();
    for name in FIELDS.map(|field| format!("f:{field}")) {
        let field = match name == CONDITIONS {
            true => take_conditions(status),
            false => status.remove(&name),
        };
        taken.extend(field.map(|field| (name, field)));
    }
    if taken.is_empty() {
        Value::Null
    } else {
        Value::Object(taken)
    }
}

/// A list that was one field in the CRD of whoever wrote it is taken condition by condition as well.
fn take_conditions(status: &mut Fields) -> Option<Value> {
    let types = ClusterCondition::ALL.iter().map(|known| known.as_str());
    let keys = types.chain([DEPRECATED_CLUSTER_CONDITION]);
    let keys = keys.map(|type_| format!("k:{}", json!({"type": type_})));
    let conditions = status.get_mut(CONDITIONS)?.as_object_mut()?;
    let taken: Fields = match conditions.is_empty() {
        true => keys.map(|key| (key, whole_condition())).collect(),
        false => keys
            .filter_map(|key| conditions.remove_entry(&key))
            .collect(),
    };
    if !has_more(conditions) {
        status.remove(CONDITIONS);
    }
    (!taken.is_empty()).then_some(Value::Object(taken))
}

fn whole_condition() -> Value {
    let fields = FIELDS_OF_CONDITION.map(|field| (field.to_owned(), json!({})));
    Value::Object(fields.into_iter().collect())
}

fn has_more(fields: &Fields) -> bool {
    fields.keys().any(|field| field != ITSELF)
}

/// Adds fields to fields.
fn unite(fields: &mut Value, more: Value) {
    match (&mut *fields, more) {
        (Value::Object(fields), Value::Object(more)) => {
            for (name, field) in more {
                unite(fields.entry(name).or_insert(Value::Null), field);
            }
        }
        (Value::Null, more) => *fields = more,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kube::CustomResourceExt as _;

    use super::*;

    fn entry(manager: &str, operation: &str, subresource: &str, fields: &Value) -> Value {
        json!({"apiVersion": "cluster.clusterpedia.io/v1alpha2", "fieldsType": "FieldsV1", "manager": manager,
            "operation": operation, "subresource": subresource, "fieldsV1": fields})
    }

    #[track_caller]
    fn check(before: &Value, after: Option<&Value>) {
        let before: Vec<_> = serde_json::from_value(before.clone()).expect("entries");
        let found = taken_over(&before).map(|after| json!(after));
        assert_eq!(found.as_ref(), after);
    }

    const READY: &str = r#"k:{"type":"Ready"}"#;
    const OLD: &str = r#"k:{"type":"ClusterSynchroInitialized"}"#;
    const MINE: &str = r#"k:{"type":"example.com/Mine"}"#;

    #[test]
    fn what_an_update_wrote_is_taken_over_and_what_others_tell_stays_theirs() {
        let spec = entry(
            "kubectl",
            "Update",
            "",
            &json!({"f:spec": {"f:apiserver": {}}}),
        );
        let all = json!({".": {}, "f:version": {}, "f:audit": {"f:objects": {}},
            CONDITIONS: {".": {}, READY: {".": {}, "f:type": {}}, OLD: {".": {}}, MINE: {".": {}}}});
        let applied = json!({STATUS: {"f:apiserver": {}, "f:audit": {"f:time": {}}}});
        let before = json!([
            spec,
            entry(
                "clustersynchro-manager",
                "Update",
                "status",
                &json!({STATUS: all})
            ),
            entry(
                MANAGER,
                "Update",
                "status",
                &json!({STATUS: {".": {}, "f:syncResources": {}}})
            ),
            entry(MANAGER, "Apply", "status", &applied),
        ]);
        let rest = json!({STATUS: {".": {}, CONDITIONS: {".": {}, MINE: {".": {}}}}});
        let ours = json!({STATUS: {"f:apiserver": {}, "f:version": {}, "f:syncResources": {},
            "f:audit": {"f:objects": {}, "f:time": {}},
            CONDITIONS: {READY: {".": {}, "f:type": {}}, OLD: {".": {}}}}});
        let after = json!([
            spec,
            entry("clustersynchro-manager", "Update", "status", &rest),
            entry(MANAGER, "Apply", "status", &ours),
        ]);
        check(&before, Some(&after));
        check(&after, None);
    }

    /// What is not among them would stay in the status for ever.
    #[test]
    fn all_fields_of_the_status_are_ours() {
        let crd = serde_json::to_value(PediaCluster::crd()).expect("JSON");
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let status = schema["properties"]["status"]["properties"].as_object();
        let status = status.expect("fields").keys().map(String::as_str);
        let (status, ours) = (BTreeSet::from_iter(status), BTreeSet::from(FIELDS));
        assert_eq!(status, ours);
    }

    #[test]
    fn a_list_that_was_one_field_is_taken_over_condition_by_condition() {
        let fields = json!({STATUS: {CONDITIONS: {}}});
        let before = json!([entry("clustersynchro-manager", "Update", "status", &fields)]);
        let before: Vec<_> = serde_json::from_value(before).expect("entries");
        let after = json!(taken_over(&before).expect("another book"));
        assert_eq!(after.as_array().expect("entries").len(), 1);
        let conditions = &after[0]["fieldsV1"][STATUS][CONDITIONS];
        assert_eq!(conditions.as_object().expect("conditions").len(), 6);
        assert_eq!(conditions[OLD]["f:reason"], json!({}));
        assert_eq!(conditions["."], Value::Null);
    }

    #[test]
    fn nothing_is_written_where_nobody_else_holds_anything() {
        let fields = json!({STATUS: {".": {}, CONDITIONS: {".": {}, MINE: {".": {}}}}});
        check(&json!([entry("other", "Update", "status", &fields)]), None);
        check(&json!([]), None);
    }
}
