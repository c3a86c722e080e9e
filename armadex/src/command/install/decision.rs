//! What becomes of an object that is there: whether it is ours, what is applied to it, and what of a policy somebody has changed since it was
//! installed. Pure.

use armadex_registration::{FIELD_MANAGER as REGISTRAR, MANAGED_BY, NAME, OURS};
use kube::ResourceExt as _;
use kube::core::{DynamicObject, ObjectMeta};
use serde_json::{Map, Value, json};

use super::holders::Told;
use super::manifests::{Manifest, Sort};

/// How install calls itself to an API server.
pub(crate) const MANAGER: &str = "armadex-install";

/// Selects what was installed.
pub(crate) const LABELLED_OURS: &str = "app.kubernetes.io/managed-by=armadex";
/// The spec of a policy as it was installed: what differs from it was changed by somebody. Who takes a field away leaves no trace of it elsewhere.
const INSTALLED: &str = "armadex.dev/installed-spec";

/// What is to be done with an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    /// Nothing: it is there, and the platform's.
    Leave,
    /// This is applied.
    Apply(Value),
    /// Nothing, for these reasons.
    Refuse(String),
}

/// Takes the object as it is on the control plane, if it is there.
pub(super) fn decide(manifest: &Manifest, before: Option<&DynamicObject>) -> Decision {
    let by = before.and_then(|before| managed_by(&before.metadata));
    let is_ours = before.is_none() || by == Some(OURS);
    let other = by.filter(|by| *by != OURS);
    let object = manifest.object.clone();
    match (manifest.sort, other) {
        (Sort::Elsewhere, _) if before.is_some() => Decision::Leave,
        (Sort::Elsewhere, _) => Decision::Apply(object),
        // Whose it is stays as it was: theirs, with the label that Karmada looks for.
        (Sort::Home, _) if !is_ours => Decision::Apply(object),
        (Sort::Definition, other) => match no_longer_served(manifest, before) {
            Some(versions) => Decision::Refuse(versions),
            None if other.is_some() => Decision::Apply(object),
            None => Decision::Apply(labelled(object)),
        },
        (Sort::Right | Sort::Policy | Sort::Registration, Some(other)) => {
            Decision::Refuse(format!(
                "it is managed by {other}, as its label {MANAGED_BY} says: change it there, or delete it first"
            ))
        }
        (Sort::Policy, None) => Decision::Apply(labelled(remembering(object))),
        (Sort::Home | Sort::Right | Sort::Registration, _) => Decision::Apply(labelled(object)),
    }
}

/// Whether it was made by Armadex, and by nobody who says that it is theirs.
pub(crate) fn is_ours(metadata: &ObjectMeta) -> bool {
    match managed_by(metadata) {
        Some(by) => by == OURS,
        None => managers(metadata).any(|manager| [MANAGER, REGISTRAR].contains(&manager)),
    }
}

/// Who it says manages it, or who has written it.
pub(crate) fn owner(metadata: &ObjectMeta) -> String {
    if let Some(by) = managed_by(metadata) {
        return by.to_owned();
    }
    let mut managers: Vec<&str> = managers(metadata).collect();
    managers.sort_unstable();
    managers.dedup();
    match managers.is_empty() {
        true => "somebody".to_owned(),
        false => managers.join(", "),
    }
}

fn managed_by(metadata: &ObjectMeta) -> Option<&str> {
    let labels = metadata.labels.as_ref()?;
    labels.get(MANAGED_BY).map(String::as_str)
}

/// Whether `armadex install` has written it.
pub(super) fn is_installed(metadata: &ObjectMeta) -> bool {
    managers(metadata).any(|manager| manager == MANAGER)
}

fn managers(metadata: &ObjectMeta) -> impl Iterator<Item = &str> {
    let entries = metadata.managed_fields.iter().flatten();
    entries.filter_map(|entry| entry.manager.as_deref())
}

pub(super) fn labelled(mut object: Value) -> Value {
    for label in [NAME, MANAGED_BY] {
        object["metadata"]["labels"][label] = json!(OURS);
    }
    object
}

fn remembering(mut object: Value) -> Value {
    object["metadata"]["annotations"][INSTALLED] = json!(object["spec"].to_string());
    object
}

/// What a definition serves that this one would not: whoever asks for it would find nothing any more.
fn no_longer_served(manifest: &Manifest, before: Option<&DynamicObject>) -> Option<String> {
    let ours = versions(&manifest.object);
    let theirs = before
        .map(|before| versions(&before.data))
        .unwrap_or_default();
    let lost: Vec<&str> = theirs
        .into_iter()
        .filter(|name| !ours.contains(name))
        .collect();
    (!lost.is_empty()).then(|| {
        format!(
            "it serves {}, which this release does not know: a later one has installed it",
            lost.join(", ")
        )
    })
}

fn versions(definition: &Value) -> Vec<&str> {
    let versions = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array);
    let served = versions
        .into_iter()
        .flatten()
        .filter(|version| version["served"] == true);
    served
        .filter_map(|version| version["name"].as_str())
        .collect()
}

/// What a person would call the same object: without what its server writes.
pub(super) fn said(object: &DynamicObject) -> Value {
    let mut said = object.data.clone();
    if let Value::Object(fields) = &mut said {
        fields.remove("status");
    }
    json!({"labels": object.labels(), "annotations": object.annotations(), "rest": said})
}

/// Whoever a binding names now and would not any more.
pub(super) fn no_longer_bound(manifest: &Manifest, before: &DynamicObject) -> Vec<String> {
    let ours = manifest.object["subjects"].as_array();
    let Some(ours) = ours else {
        return Vec::new();
    };
    let ours: Vec<String> = ours
        .iter()
        .map(|subject| Told(subject).to_string())
        .collect();
    let theirs = before.data["subjects"].as_array().into_iter().flatten();
    let theirs = theirs.map(|subject| Told(subject).to_string());
    theirs.filter(|subject| !ours.contains(subject)).collect()
}

/// What is applied to a binding that is to keep whoever it names, or to a role that is to keep its rules.
pub(super) fn with_what_is_there(mut object: Value, before: &DynamicObject) -> Value {
    for field in ["subjects", "rules"] {
        let told = |item: &Value| match field {
            "subjects" => Told(item).to_string(),
            _ => item.to_string(),
        };
        let theirs = before.data[field].as_array();
        let ours = object.get_mut(field).and_then(Value::as_array_mut);
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            let known: Vec<String> = ours.iter().map(told).collect();
            let kept = theirs.iter().filter(|item| !known.contains(&told(item)));
            ours.extend(kept.cloned());
        }
    }
    object
}

/// Whether a binding is of another role than it is to be. No API server changes that.
pub(super) fn is_of_another_role(manifest: &Manifest, before: &DynamicObject) -> bool {
    let (ours, theirs) = (&manifest.object["roleRef"], &before.data["roleRef"]);
    ours.is_object()
        && ["kind", "name"]
            .iter()
            .any(|field| ours[field] != theirs[field])
}

/// Whether it is known how a policy was installed, so that what somebody has changed of it is known.
pub(super) fn is_remembered(before: Option<&DynamicObject>) -> bool {
    before.is_some_and(|before| installed_spec(before).is_some())
}

fn installed_spec(before: &DynamicObject) -> Option<Value> {
    serde_json::from_str(before.annotations().get(INSTALLED)?).ok()
}

/// The fields of a policy that are neither as they were installed nor as they would be now. Nothing else remembers how it was.
pub(super) fn edits(manifest: &Manifest, before: &DynamicObject) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(installed) = &installed_spec(before) {
        let (live, shipped) = (before.data.get("spec"), manifest.object.get("spec"));
        compare(".spec", installed, live, shipped, &mut found);
    }
    found
}

fn compare(
    path: &str,
    installed: &Value,
    live: Option<&Value>,
    shipped: Option<&Value>,
    found: &mut Vec<String>,
) {
    if live == Some(installed) || live == shipped {
        return;
    }
    let fields = |value: Option<&Value>| value.and_then(Value::as_object).cloned();
    let both = [Some(installed), live].map(fields);
    if let [Some(installed), Some(live)] = both {
        let each = Each {
            installed,
            live,
            shipped: fields(shipped),
        };
        each.compare(|name| format!("{path}.{name}"), found);
    } else if let [Some(installed), Some(live)] = [Some(installed), live].map(by_key) {
        let each = Each {
            installed,
            live,
            shipped: by_key(shipped),
        };
        each.compare(|key| format!("{path}[key={key:?}]"), found);
    } else {
        found.push(path.to_owned());
    }
}

/// What has names, field by field.
struct Each {
    installed: Map<String, Value>,
    live: Map<String, Value>,
    shipped: Option<Map<String, Value>>,
}

impl Each {
    fn compare(self, path: impl Fn(&str) -> String, found: &mut Vec<String>) {
        let shipped = self.shipped.unwrap_or_default();
        for (name, installed) in &self.installed {
            compare(
                &path(name),
                installed,
                self.live.get(name),
                shipped.get(name),
                found,
            );
        }
        // What somebody added and a release says otherwise by now.
        let is_new = |name: &&String| !self.installed.contains_key(*name);
        for name in shipped.keys().filter(is_new) {
            let live = self.live.get(name);
            if live.is_some() && live != shipped.get(name) {
                found.push(path(name));
            }
        }
    }
}

/// The items of a list of which each has a key, as references have.
fn by_key(list: Option<&Value>) -> Option<Map<String, Value>> {
    let items = list?.as_array()?.iter();
    let keyed = items.map(|item| Some((item["key"].as_str()?.to_owned(), item.clone())));
    keyed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::install::holders::Holders;
    use crate::command::install::homes::HOME_LABEL;
    use crate::command::install::manifests::{Wanted, definitions, policy};

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).expect("an object")
    }

    fn installed(name: &str) -> Manifest {
        let wanted = Wanted {
            namespace: "fleet".to_owned(),
            release: None,
            serving_namespace: "armadex-serving".to_owned(),
            api_group: "clusterpedia.io".to_owned(),
            credential_namespaces: Vec::new(),
            holders: Holders::One,
            policies: vec!["karmada".to_owned()],
            rights: Vec::new(),
            only: Vec::new(),
        };
        let mut all = wanted.manifests().into_iter();
        all.find(|manifest| manifest.to_string() == name)
            .expect(name)
    }

    fn labels(decision: &Decision) -> Vec<String> {
        let Decision::Apply(object) = decision else {
            panic!("{decision:?}");
        };
        let labels = object.pointer("/metadata/labels");
        let labels = labels.and_then(Value::as_object).into_iter().flatten();
        labels.map(|(name, _)| name.clone()).collect()
    }

    fn with_labels(labels: &Value) -> DynamicObject {
        object(json!({"metadata": {"name": "a", "labels": labels}}))
    }

    #[test]
    fn what_is_made_says_whose_it_is_and_what_is_somebody_elses_goes_on_saying_so() {
        const KARMADA: &str = "namespace.karmada.io/skip-auto-propagation";
        let ours = json!({MANAGED_BY: OURS});
        let helms = json!({MANAGED_BY: "Helm"});
        let role = installed("role.rbac.authorization.k8s.io/armadex-lease");
        let all = [MANAGED_BY, NAME, HOME_LABEL];
        assert_eq!(labels(&decide(&role, None)), all);
        let nobodys = with_labels(&json!({}));
        assert_eq!(labels(&decide(&role, Some(&nobodys))), all);
        let Decision::Refuse(words) = decide(&role, Some(&with_labels(&helms))) else {
            panic!("it is helm's");
        };
        assert!(words.starts_with("it is managed by Helm"), "{words}");

        let home = installed("namespace/fleet");
        assert_eq!(labels(&decide(&home, None)), [MANAGED_BY, NAME, KARMADA]);
        for theirs in [&helms, &json!({})] {
            let theirs = with_labels(theirs);
            assert_eq!(labels(&decide(&home, Some(&theirs))), [KARMADA]);
        }
        // Or it would lose what it was given.
        let again = decide(&home, Some(&with_labels(&ours)));
        assert_eq!(labels(&again), [MANAGED_BY, NAME, KARMADA]);

        let elsewhere = installed("namespace/karmada-cluster");
        assert_eq!(labels(&decide(&elsewhere, None)), Vec::<String>::new());
        assert_eq!(decide(&elsewhere, Some(&nobodys)), Decision::Leave);
    }

    #[test]
    fn a_definition_is_taken_over_unless_it_serves_what_ours_does_not() {
        let ours = &definitions()[0];
        let served = |name: &str, served: bool| json!({"name": name, "served": served});
        let there = |versions: Value, labels: Value| {
            object(
                json!({"metadata": {"name": "a", "labels": labels}, "spec": {"versions": versions}}),
            )
        };
        let clusterpedias = json!([served("v1alpha2", true), served("v1alpha1", false)]);
        let theirs = there(clusterpedias.clone(), json!({}));
        assert_eq!(labels(&decide(ours, Some(&theirs))), [MANAGED_BY, NAME]);
        let helms = there(clusterpedias, json!({MANAGED_BY: "Helm"}));
        assert_eq!(labels(&decide(ours, Some(&helms))), Vec::<String>::new());
        let later = there(
            json!([served("v1alpha2", true), served("v1", true)]),
            json!({}),
        );
        let Decision::Refuse(words) = decide(ours, Some(&later)) else {
            panic!("it serves v1");
        };
        assert!(words.starts_with("it serves v1, "), "{words}");
    }

    #[test]
    fn an_object_is_ours_by_its_label_and_without_one_by_who_wrote_it() {
        let of = |labels: Value, managers: &[&str]| {
            let entry = |manager: &&str| json!({"manager": manager});
            let entries: Vec<Value> = managers.iter().map(entry).collect();
            object(json!({"metadata": {"labels": labels, "managedFields": entries}})).metadata
        };
        let (ours, helms) = (json!({MANAGED_BY: OURS}), json!({MANAGED_BY: "Helm"}));
        assert!(is_ours(&of(ours, &[])));
        assert!(is_ours(&of(json!({}), &["kubectl", MANAGER])));
        assert!(is_ours(&of(json!({}), &[REGISTRAR])));
        assert!(!is_ours(&of(helms.clone(), &[MANAGER])));
        assert!(!is_ours(&of(json!({}), &["kubectl"])));
        assert!(!is_ours(&ObjectMeta::default()));
        assert_eq!(owner(&of(helms, &["helm"])), "Helm");
        assert_eq!(owner(&of(json!({}), &["b", "a", "b"])), "a, b");
        assert_eq!(owner(&ObjectMeta::default()), "somebody");
    }

    /// A policy as it was installed, after somebody did this to it.
    fn edited(edit: impl Fn(&mut Value)) -> DynamicObject {
        let mut spec = json!({
            "source": {"group": "cluster.karmada.io", "resource": "clusters", "selectorTemplate": "true"},
            "references": [{"key": "secret", "nameTemplate": "a"}],
            "template": "of before",
        });
        let mut metadata = json!({"name": "karmada"});
        metadata["annotations"][INSTALLED] = json!(spec.to_string());
        edit(&mut spec);
        object(json!({"metadata": metadata, "spec": spec}))
    }

    #[test]
    fn what_somebody_has_changed_of_a_policy_is_found_and_what_a_release_changes_is_not() {
        let shipped = &policy("karmada")[0];
        let found = |edit: fn(&mut Value)| edits(shipped, &edited(edit));
        let none: [String; 0] = [];
        assert_eq!(found(|_| {}), none);
        assert_eq!(
            found(|spec| spec["templateEngine"] = json!("Handlebars")),
            none
        );
        let added = |spec: &mut Value| spec["source"]["versions"] = json!(["v1"]);
        assert_eq!(found(added), none, "it meets nothing that is shipped");
        let mut with_versions = shipped.clone();
        with_versions.object["spec"]["source"]["versions"] = json!(["v2"]);
        assert_eq!(
            edits(&with_versions, &edited(added)),
            [".spec.source.versions"]
        );
        assert_eq!(
            found(|spec| spec["references"] = json!([{"key": "more"}, spec["references"][0]])),
            none
        );
        assert_eq!(
            found(|spec| spec["template"] = json!("mine")),
            [".spec.template"]
        );
        let taken_away = |spec: &mut Value| {
            let source = spec["source"].as_object_mut().expect("an object");
            source.remove("selectorTemplate");
        };
        // As it is shipped now.
        assert_eq!(found(taken_away), none);
        let with_selector = {
            let mut manifest = shipped.clone();
            manifest.object["spec"]["source"]["selectorTemplate"] = json!("other");
            manifest
        };
        assert_eq!(
            edits(&with_selector, &edited(taken_away)),
            [".spec.source.selectorTemplate"]
        );
        assert_eq!(
            found(|spec| spec["references"][0]["nameTemplate"] = json!("b")),
            [".spec.references[key=\"secret\"].nameTemplate"]
        );
        assert_eq!(
            found(|spec| spec["references"] = json!([])),
            [".spec.references[key=\"secret\"]"]
        );
        let mut by_hand = edited(|spec| spec["template"] = json!("mine"));
        by_hand.metadata.annotations = None;
        assert_eq!(edits(shipped, &by_hand), none, "it was never installed");
    }

    #[test]
    fn what_is_remembered_of_a_policy_is_what_is_applied() {
        let Decision::Apply(applied) = decide(&policy("karmada")[0], None) else {
            panic!("it is not there");
        };
        let there = object(applied);
        assert_eq!(edits(&policy("karmada")[0], &there), [""; 0]);
        assert!(is_ours(&there.metadata));
        let mut other = policy("karmada").remove(0);
        other.object["spec"]["template"] = json!("of another release");
        assert_eq!(edits(&other, &there), [""; 0]);
    }

    #[test]
    fn whoever_has_a_role_may_be_left_with_it() {
        let binding = installed("clusterrolebinding.rbac.authorization.k8s.io/armadex-synchro");
        let account = |namespace: &str| json!({"kind": "ServiceAccount", "name": "armadex", "namespace": namespace});
        let subjects = json!([account("other"), account("fleet")]);
        let there = object(json!({"metadata": {}, "subjects": subjects}));
        let kept = with_what_is_there(binding.object.clone(), &there);
        assert_eq!(
            kept["subjects"],
            json!([account("fleet"), account("other")])
        );
        let role = installed("clusterrole.rbac.authorization.k8s.io/armadex-synchro");
        assert_eq!(with_what_is_there(role.object.clone(), &there), role.object);
    }

    #[test]
    fn a_binding_of_another_role_is_known() {
        let binding = installed("rolebinding.rbac.authorization.k8s.io/armadex-lease");
        let of = |kind: &str| {
            let there = json!({"metadata": {}, "roleRef": {"kind": kind, "name": "armadex-lease"}});
            is_of_another_role(&binding, &object(there))
        };
        assert!(of("ClusterRole") && !of("Role"));
        let role = installed("role.rbac.authorization.k8s.io/armadex-lease");
        assert!(!is_of_another_role(&role, &object(json!({"metadata": {}}))));
    }

    #[test]
    fn who_is_bound_no_longer_is_told() {
        let binding = installed("clusterrolebinding.rbac.authorization.k8s.io/armadex-synchro");
        let account = |namespace: &str| json!({"kind": "ServiceAccount", "name": "armadex", "namespace": namespace});
        let there =
            object(json!({"metadata": {}, "subjects": [account("fleet"), account("other")]}));
        let lost = no_longer_bound(&binding, &there);
        assert_eq!(lost, ["serviceaccount:other/armadex"]);
        let role = installed("clusterrole.rbac.authorization.k8s.io/armadex-synchro");
        assert_eq!(no_longer_bound(&role, &there), [""; 0]);
    }
}
