//! Labels of a PediaCluster out of what a platform says of a cluster: whatever that is, what comes of it is labels. Pure.
//!
//! A platform's texts are not made to be labels. What an API server would refuse as one is made one that it takes, or is left out: a region with a space in its
//! name keeps no cluster from coming in.

use std::collections::{BTreeMap, BTreeSet};

use armadex_model::cluster_labels::MOST_LABELS;
use armadex_model::label::is_key;
use serde_json::{Map, Value};

/// The longest name or value of a label.
const LONGEST: usize = 63;

/// Prefixes of labels by which a tool that deploys knows what is its own, and prunes what it did not make: on a copy they would say that this is its own too.
const OF_TOOLS: [&str; 10] = [
    "applyset.kubernetes.io",
    "argocd.argoproj.io",
    "fleet.cattle.io",
    "helm.sh",
    "helm.toolkit.fluxcd.io",
    "k0s.k0sproject.io",
    "kapp.k14s.io",
    "kubectl.kubernetes.io",
    "kustomize.toolkit.fluxcd.io",
    "objectset.rio.cattle.io",
];
/// The same where others of the prefix say what something is.
const OF_TOOLS_ALONE: [&str; 3] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "clusterctl.cluster.x-k8s.io",
];

/// Prefixes of labels by which Karmada's control plane knows what it does with an object, of whatever kind: a copy of
/// `resourcetemplate.karmada.io/deletion-protected=Always` could not be deleted, and with one of a policy's id the copy would count among what that policy propagates.
const OF_KARMADA: [&str; 7] = [
    "clusterpropagationpolicy.karmada.io",
    "clusterresourcebinding.karmada.io",
    "karmada.io",
    "propagationpolicy.karmada.io",
    "resourcebinding.karmada.io",
    "resourcetemplate.karmada.io",
    "work.karmada.io",
];

/// Taints by which controllers of Karmada and of Open Cluster Management say what the conditions of a cluster say, as often as these change: as labels they would be
/// two writes of a PediaCluster, and revisions of the store, for each member that is away for a moment.
const OF_HEALTH: [&str; 4] = [
    "cluster.karmada.io/not-ready",
    "cluster.karmada.io/unreachable",
    "cluster.open-cluster-management.io/unavailable",
    "cluster.open-cluster-management.io/unreachable",
];

/// The most labels of a source that are carried: the first by name. What a policy adds has room for sixteen whatever labels the source has, and none of
/// several that it sets throws out another.
const MOST_CARRIED: usize = MOST_LABELS - 16;

/// Names that are noted of one object: no cluster has so many labels by far, and with 317 bytes each they take 300 KiB.
const MOST_NOTED: usize = 1_000;

/// What a call gives.
#[derive(Default)]
pub(super) struct Labels {
    given: Map<String, Value>,
    /// Labels that found no room among them.
    left_out: Vec<String>,
    /// The one that the template says is not to be there.
    unset: Option<String>,
}

/// What calls left out while one object was rendered, for want of room and because the template says so.
#[derive(Debug, Default)]
pub(super) struct Noted {
    left_out: BTreeSet<String>,
    unset: BTreeSet<String>,
}

impl Noted {
    /// Of what a call gives.
    pub(super) fn note(&mut self, labels: &Labels) {
        add(&mut self.left_out, &labels.left_out);
        add(&mut self.unset, &labels.unset);
    }

    /// What is told of labels that found no room in these, which were rendered in the end.
    pub(super) fn warning(&self, rendered: &BTreeMap<String, String>) -> Option<String> {
        let has_no_room = |name: &&String| !rendered.contains_key(*name);
        let left_out = self.left_out.difference(&self.unset);
        let left_out = left_out.filter(has_no_room).count();
        (left_out > 0).then(|| {
            format!(
                "{left_out} labels found no room: carriedLabels gives the first {MOST_CARRIED} by name, and a PediaCluster has {MOST_LABELS} that are searched by; \
                 have the template set with setLabel those that matter"
            )
        })
    }
}

/// Adds what may be the name of a label.
fn add<'a>(noted: &mut BTreeSet<String>, names: impl IntoIterator<Item = &'a String>) {
    for name in names {
        if noted.len() < MOST_NOTED && is_key(name) {
            noted.insert(name.clone());
        }
    }
}

impl Labels {
    /// The labels of a value, if it has some.
    fn of(labels: &Value) -> Self {
        Self {
            given: labels.as_object().cloned().unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Leaves so many, the first by name.
    fn limit(&mut self, most: usize) {
        let mut all = std::mem::take(&mut self.given).into_iter();
        self.given = all.by_ref().take(most).collect();
        self.left_out.extend(all.map(|(name, _)| name));
    }

    /// Nothing where there are as many as a cluster may have: of more the first by name would count, and what a platform tells would throw out what was there.
    fn add(&mut self, key: &str, value: String) {
        if !is_key(key) || self.given.contains_key(key) {
            return;
        }
        if self.given.len() < MOST_LABELS {
            self.given.insert(key.to_owned(), value.into());
        } else {
            self.left_out.push(key.to_owned());
        }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.given)
    }
}

/// These labels without those by which tools know what they deployed, and control planes what they do with an object.
pub(super) fn carried(labels: &Value) -> Labels {
    let mut labels = Labels::of(labels);
    let is_carried = |key: &str, value: &Value| value.is_string() && !is_acted_on(key);
    labels.given.retain(|key, value| is_carried(key, value));
    labels.limit(MOST_CARRIED);
    labels
}

fn is_acted_on(key: &str) -> bool {
    let is_of = |prefix| OF_TOOLS.contains(&prefix) || OF_KARMADA.contains(&prefix);
    OF_TOOLS_ALONE.contains(&key) || key.split_once('/').is_some_and(|(prefix, _)| is_of(prefix))
}

/// These taints without those by which controllers say how a cluster fares.
pub(super) fn carried_taints(taints: &Value) -> Value {
    let taints = taints.as_array().into_iter().flatten();
    let is_of_health = |taint: &&Value| {
        taint["key"]
            .as_str()
            .is_some_and(|key| OF_HEALTH.contains(&key))
    };
    taints
        .filter(|taint| !is_of_health(taint))
        .cloned()
        .collect()
}

/// These labels and one more, unless its key is there or its value comes to nothing.
pub(super) fn with_one(key: &str, value: &Value, labels: &Value) -> Labels {
    let mut labels = Labels::of(labels);
    if let Some(value) = value_of(value) {
        labels.add(key, value);
    }
    labels
}

/// These labels, which say this of the key and nothing else: where the value comes to nothing they have none of it. Where there are as many as there may be, the
/// last by name make room.
pub(super) fn with_set(key: &str, value: &Value, labels: &Value) -> Labels {
    let mut labels = Labels::of(labels);
    labels.given.remove(key);
    match value_of(value).filter(|_| is_key(key)) {
        Some(value) => {
            labels.limit(MOST_LABELS - 1);
            labels.given.insert(key.to_owned(), value.into());
        }
        None => labels.unset = Some(key.to_owned()),
    }
    labels
}

/// These labels and one more for each item. A text is the name behind the prefix; a map has a `name`, or a `key` of which what stands after the `/` counts,
/// with its `effect` where it has one, and a `value`.
pub(super) fn with_each(prefix: &str, items: &Value, labels: &Value) -> Labels {
    let mut labels = Labels::of(labels);
    for item in items.as_array().into_iter().flatten() {
        let (item, value) = match item {
            Value::Object(fields) => (of_fields(fields), fields.get("value")),
            item => (text(item).unwrap_or_default(), None),
        };
        let value = value.and_then(text).unwrap_or_default();
        labels.add(&format!("{prefix}/{}", name(&item)), name(&value));
    }
    labels
}

/// What the label of a value has. A list counts where it has one item.
fn value_of(value: &Value) -> Option<String> {
    let value = match value {
        Value::Array(items) => items.first().filter(|_| items.len() == 1)?,
        value => value,
    };
    let value = name(&text(value)?);
    (!value.is_empty()).then_some(value)
}

fn of_fields(fields: &Map<String, Value>) -> String {
    let field = |name: &str| fields.get(name).and_then(text).unwrap_or_default();
    if fields.contains_key("name") {
        return field("name");
    }
    let (key, effect) = (field("key"), field("effect"));
    let last = key.rsplit('/').next().unwrap_or_default();
    match effect.as_str() {
        "" => last.to_owned(),
        effect => format!("{last}.{effect}"),
    }
}

/// As much of a text as may be the name or the value of a label, with `-` for what may not stand in one; nothing, if that is all.
fn name(text: &str) -> String {
    let is_end = |char: char| !char.is_ascii_alphanumeric();
    let allowed = |char: char| match char {
        char if char.is_ascii_alphanumeric() || "-_.".contains(char) => char,
        _ => '-',
    };
    let text = text.trim_matches(is_end).chars().take(LONGEST);
    let cut: String = text.map(allowed).collect();
    cut.trim_end_matches(is_end).to_owned()
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn carried(labels: &Value) -> Value {
        super::carried(labels).into_value()
    }

    fn with_one(key: &str, value: &Value, labels: &Value) -> Value {
        super::with_one(key, value, labels).into_value()
    }

    fn with_set(key: &str, value: &Value, labels: &Value) -> Value {
        super::with_set(key, value, labels).into_value()
    }

    fn with_each(prefix: &str, items: &Value, labels: &Value) -> Value {
        super::with_each(prefix, items, labels).into_value()
    }

    /// So many, that come before all others by name.
    fn many(count: usize) -> Value {
        let labels = (0..count).map(|number| (format!("a{number:03}"), json!("own")));
        Value::Object(labels.collect())
    }

    #[test]
    fn labels_that_find_no_room_are_named_and_no_others() {
        let none = [""; 0];
        let mut own = many(MOST_CARRIED);
        own["karmada.io/managed"] = json!("true");
        let left_out = super::carried(&own).left_out;
        assert_eq!(left_out, none, "a control plane's is not carried");
        own["team"] = json!("a");
        assert_eq!(super::carried(&own).left_out, ["team"]);

        let full = many(MOST_LABELS);
        let one = |key| super::with_one(key, &json!("v"), &full).left_out;
        assert_eq!(
            (one("b"), one("a000"), one("no key")),
            (vec!["b".to_owned()], vec![], vec![])
        );
        assert_eq!(super::with_one("b", &json!(""), &full).left_out, none);
        let zones = json!(["b", "c", ""]);
        let each = |labels| super::with_each("z", &zones, &labels).left_out;
        assert_eq!(each(many(MOST_LABELS - 1)), ["z/c"]);
        assert_eq!(each(json!({})), none);
        let set = |key| super::with_set(key, &json!("v"), &full).left_out;
        assert_eq!(set("b"), ["a063"]);
        assert_eq!(set("a000"), none);
    }

    #[test]
    fn each_label_that_is_not_there_in_the_end_is_told_of_once() {
        let own = many(MOST_CARRIED + 4);
        let told = |keys: &[(&str, &str)]| {
            let mut noted = Noted::default();
            let mut labels = json!({});
            // As two templates of an object call it.
            for _ in 0..2 {
                let carried = super::carried(&own);
                noted.note(&carried);
                labels = carried.into_value();
            }
            for (key, value) in keys {
                let set = super::with_set(key, &json!(value), &labels);
                noted.note(&set);
                labels = set.into_value();
            }
            let rendered = serde_json::from_value(labels).expect("labels");
            let words = noted.warning(&rendered)?;
            words.split(' ').next().map(ToOwned::to_owned)
        };
        assert_eq!(told(&[]).as_deref(), Some("4"));
        assert_eq!(told(&[("a048", "own"), ("b", "c")]).as_deref(), Some("3"));
        // What is set to nothing is not to be there.
        let all = [
            ("a048", "own"),
            ("a049", "other"),
            ("a050", ""),
            ("a051", "?"),
        ];
        assert_eq!(told(&all), None);
    }

    #[test]
    fn what_is_noted_of_labels_is_bounded() {
        let mut noted = Noted::default();
        let mut own = many(3 * MOST_NOTED);
        own[&"z".repeat(1 << 20)] = json!("no label at all");
        noted.note(&super::carried(&own));
        let long = noted.left_out.iter().filter(|name| name.len() > 317);
        assert_eq!((noted.left_out.len(), long.count()), (MOST_NOTED, 0));
    }

    #[test]
    fn any_text_becomes_a_value_of_a_label_or_nothing() {
        let long = format!("{}-{}", "x".repeat(62), "y".repeat(9));
        for (text, expected) in [
            ("eu-1", "eu-1"),
            ("Frankfurt am Main", "Frankfurt-am-Main"),
            (" (west) ", "west"),
            ("ä/b:c", "b-c"),
            ("東京", ""),
            (&long, &"x".repeat(62)),
            ("", ""),
        ] {
            assert_eq!(name(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_platform_says_is_added_to_the_labels_that_are_there() {
        let own = json!({"env": "prod"});
        let with = |key, value| with_one(key, &value, &own);
        assert_eq!(
            with("a/b", json!("c d")),
            json!({"env": "prod", "a/b": "c-d"})
        );
        assert_eq!(
            with("a/b", json!(["c"])),
            json!({"env": "prod", "a/b": "c"})
        );
        let none = [
            json!(null),
            json!(""),
            json!("?"),
            json!(["c", "d"]),
            json!([]),
            json!({"a": 1}),
        ];
        for value in none {
            assert_eq!(with("a/b", value), own);
        }
        assert_eq!(with("env", json!("test")), own, "its own counts");
        assert_eq!(with("A/b", json!("c")), own, "no key");
        assert_eq!(with_one("n", &json!(3), &json!(null)), json!({"n": "3"}));
    }

    #[test]
    fn each_item_of_a_list_becomes_a_label() {
        let zones = json!(["eu-1a", "eu 1b", "", "eu-1a", 7]);
        let expected = json!({"z/eu-1a": "", "z/eu-1b": "", "z/7": ""});
        assert_eq!(with_each("z", &zones, &json!(null)), expected);
        let taints = json!([
            {"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"},
            {"key": "cluster.karmada.io/not-ready", "effect": "NoExecute"},
            {"key": "dedicated", "value": "team a", "effect": "NoSchedule"},
            {"effect": 1},
        ]);
        let expected = json!({"t/not-ready.NoSchedule": "", "t/not-ready.NoExecute": "", "t/dedicated.NoSchedule": "team-a", "t/1": ""});
        assert_eq!(with_each("t", &taints, &json!({})), expected);
        let claims = json!([{"name": "platform.open-cluster-management.io", "value": "AWS"}, {"value": "x"}]);
        let expected = json!({"c/platform.open-cluster-management.io": "AWS"});
        assert_eq!(with_each("c", &claims, &json!({})), expected);
        for nothing in [json!(null), json!("a"), json!({"a": "b"})] {
            assert_eq!(
                with_each("c", &nothing, &json!({"a": "b"})),
                json!({"a": "b"})
            );
        }
    }

    #[test]
    fn labels_that_a_control_plane_acts_on_are_not_carried() {
        let labels = json!({
            "cluster.karmada.io/tier": "gold",
            "clusterpropagationpolicy.karmada.io/permanent-id": "a",
            "clusterresourcebinding.karmada.io/permanent-id": "a",
            "karmada.io/managed": "true",
            "propagationpolicy.karmada.io/permanent-id": "a",
            "resourcebinding.karmada.io/permanent-id": "a",
            "resourcetemplate.karmada.io/deletion-protected": "Always",
            "work.karmada.io/permanent-id": "a",
        });
        assert_eq!(carried(&labels), json!({"cluster.karmada.io/tier": "gold"}));
    }

    #[test]
    fn labels_that_are_there_are_not_thrown_out_by_those_that_a_platform_tells() {
        let own = json!({"env": "prod", "region": "eu"});
        let claims: Vec<Value> = (0..MOST_LABELS + 6)
            .map(|number| json!({"name": format!("n{number:02}"), "value": "v"}))
            .collect();
        let labels = with_each("claim", &json!(claims), &own);
        let labels = with_one("a", &json!("b"), &labels);
        let keys = Vec::from_iter(labels.as_object().unwrap().keys());
        assert_eq!(keys.len(), MOST_LABELS);
        assert_eq!(keys[..1], ["claim/n00"]);
        assert_eq!(keys[MOST_LABELS - 3..], ["claim/n61", "env", "region"]);
    }

    #[test]
    fn a_label_that_is_set_counts_whatever_labels_there_are() {
        let own = json!({"env": "prod", "tier": "trusted"});
        let set = |value| with_set("tier", &value, &own);
        let expected = json!({"env": "prod", "tier": "not-trusted"});
        assert_eq!(set(json!("not trusted")), expected);
        for nothing in [json!(null), json!("?"), json!([])] {
            assert_eq!(set(nothing), json!({"env": "prod"}), "not its own either");
        }
        assert_eq!(with_set("A/b", &json!("c"), &own), own, "no key");
    }

    #[test]
    fn no_labels_of_a_source_throw_out_what_a_policy_sets_and_adds() {
        let own: Map<String, Value> = (0..2 * MOST_LABELS)
            .map(|number| (format!("a{number:03}"), json!("own")))
            .collect();
        let mut labels = carried(&json!(own));
        let set = Vec::from_iter((0..16).map(|number| format!("z{number:02}")));
        for key in &set {
            labels = with_set(key, &json!("set"), &labels);
        }
        labels = with_one("zone", &json!("b"), &labels);
        let keys = Vec::from_iter(labels.as_object().unwrap().keys());
        assert_eq!(keys.len(), MOST_LABELS);
        assert!(keys.ends_with(&Vec::from_iter(&set)), "{keys:?}");
        // Further out than what fills them up.
        let labels = with_set("b", &json!("c"), &labels);
        assert_eq!(labels.as_object().unwrap().len(), MOST_LABELS);
        assert_eq!((&labels["b"], &labels["z15"]), (&json!("c"), &Value::Null));
    }

    #[test]
    fn taints_that_say_how_a_cluster_fares_are_not_carried() {
        let taint = |key| json!({"key": key, "effect": "NoSchedule"});
        let own = [
            taint("cluster.karmada.io/unschedulable"),
            taint("team.example.com/not-ready"),
            json!("x"),
        ];
        let told = OF_HEALTH.map(taint);
        let all = [&own[..], &told[..]].concat();
        assert_eq!(carried_taints(&json!(all)), json!(own));
        for nothing in [json!(null), json!("a"), json!({"key": "a"})] {
            assert_eq!(carried_taints(&nothing), json!([]));
        }
    }

    #[test]
    fn labels_by_which_tools_know_their_own_are_not_carried() {
        let labels = json!({"env": "prod", "app.kubernetes.io/name": "a", "app.kubernetes.io/instance": "b",
            "argocd.argoproj.io/instance": "c", "applyset.kubernetes.io/part-of": "d", "bad": 1});
        let expected = json!({"env": "prod", "app.kubernetes.io/name": "a"});
        assert_eq!(carried(&labels), expected);
        assert_eq!(carried(&json!(null)), json!({}));
    }
}
