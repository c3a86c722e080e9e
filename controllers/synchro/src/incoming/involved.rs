//! Of which kinds a stream of Events keeps the Events, and which Events these are. Pure.
//!
//! An Event names what it is about in `involvedObject`, by kind and `apiVersion`. What counts of the version is its group: objects are not told apart by
//! the version that somebody reads them in. An Event without it is about any kind of that name, as Clusterpedia has it of all Events.

use std::collections::{BTreeMap, BTreeSet};

use armadex_conversion::{KINDS, Kind};
use armadex_model::ResourceType;
use armadex_model::rules::digest;
use serde::Deserialize;

/// Kinds, and of each its groups: those of which the Events are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Involved {
    kinds: BTreeMap<String, BTreeSet<String>>,
    /// What the member may be asked for instead of all Events.
    selector: Option<String>,
}

/// What an Event says of what it is about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    involved_object: Option<Reference>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    kind: Option<String>,
    api_version: Option<String>,
}

impl Involved {
    /// The Events of these types; `None` without any.
    pub(crate) fn in_types<'a>(types: impl Iterator<Item = &'a ResourceType>) -> Option<Self> {
        let mut kinds = BTreeMap::<String, BTreeSet<String>>::new();
        for resource in types {
            let groups = kinds.entry(resource.kind.clone()).or_default();
            groups.insert(resource.gvr.group.clone());
            groups.extend(older_groups(resource).map(str::to_owned));
        }
        let selector = selector(&kinds);
        (!kinds.is_empty()).then_some(Self { kinds, selector })
    }

    /// A field selector that leaves out no Event that is kept: one kind can be asked for, of several each needs a request of its own.
    pub(crate) fn selector(&self) -> Option<&str> {
        self.selector.as_deref()
    }

    /// Whether an Event is about one of them. What cannot be read as one is for whoever reads all of it to say something of.
    pub(crate) fn takes(&self, json: &[u8]) -> bool {
        let Ok(About { involved_object }) = serde_json::from_slice(json) else {
            return true;
        };
        let Some(Reference { kind, api_version }) = involved_object else {
            return false;
        };
        let groups = kind.and_then(|kind| self.kinds.get(&kind));
        let version = api_version.filter(|version| !version.is_empty());
        groups.is_some_and(|groups| {
            version.is_none_or(|version| {
                let group = version.split_once('/').map_or("", |(group, _)| group);
                groups.contains(group)
            })
        })
    }

    /// The number of a stream of such Events, if that of all Events is this: rows of other kinds are taken away, and those that are missing listed.
    pub(crate) fn rules_version(&self, of_all: i64) -> i64 {
        let mut text = format!("{of_all} involved");
        for (kind, groups) in &self.kinds {
            for group in groups {
                text.push_str(&format!("\n{kind}.{group}"));
            }
        }
        digest(&text).cast_signed()
    }
}

/// The groups in which older API servers had a kind of Kubernetes, which whoever tells of it may still write.
fn older_groups(resource: &ResourceType) -> impl Iterator<Item = &'static str> {
    let (group, kind) = (resource.gvr.group.clone(), resource.kind.clone());
    let is_it = move |known: &&'static Kind| (known.stored.group, known.kind) == (&*group, &*kind);
    let known = KINDS.iter().filter(is_it);
    let older = known.flat_map(armadex_conversion::of_kind);
    older.map(|conversion| conversion.served().group)
}

fn selector(kinds: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let mut names = kinds.keys();
    let (only, None) = (names.next()?, names.next()) else {
        return None;
    };
    // A selector has an escape for what no kind has in its name.
    let is_plain = only.chars().all(|letter| letter.is_ascii_alphanumeric());
    is_plain.then(|| format!("involvedObject.kind={only}"))
}

#[cfg(test)]
mod tests {
    use armadex_model::GroupVersionResource;

    use super::*;
    use crate::testing::named;

    fn of(types: &[(&str, &str)]) -> Involved {
        let types = types.iter().map(|(group, kind)| ResourceType {
            gvr: GroupVersionResource::new(*group, "v1", kind.to_lowercase()),
            kind: (*kind).to_owned(),
            ..named("")
        });
        Involved::in_types(types.collect::<Vec<_>>().iter()).expect("kinds")
    }

    fn takes(involved: &Involved, about: &str) -> bool {
        involved.takes(format!(r#"{{"metadata":{{"name":"e"}}{about}}}"#).as_bytes())
    }

    #[test]
    fn an_event_is_taken_by_the_kind_and_the_group_that_it_names() {
        let involved = of(&[
            ("", "Pod"),
            ("apps", "Deployment"),
            ("networking.k8s.io", "Ingress"),
        ]);
        let cases = [
            (r#"{"kind":"Pod","apiVersion":"v1"}"#, true),
            (r#"{"kind":"Deployment","apiVersion":"apps/v1"}"#, true),
            (r#"{"kind":"Deployment","apiVersion":"apps/v1beta1"}"#, true),
            (
                r#"{"kind":"Ingress","apiVersion":"extensions/v1beta1"}"#,
                true,
            ),
            (r#"{"kind":"Pod"}"#, true),
            (r#"{"kind":"Pod","apiVersion":""}"#, true),
            (r#"{"kind":"Pod","apiVersion":"example.com/v1"}"#, false),
            (r#"{"kind":"Deployment","apiVersion":"v1"}"#, false),
            (r#"{"kind":"Node","apiVersion":"v1"}"#, false),
            (r#"{"apiVersion":"v1"}"#, false),
            ("{}", false),
            ("null", false),
        ];
        for (reference, expected) in cases {
            let about = format!(r#","involvedObject":{reference}"#);
            assert_eq!(takes(&involved, &about), expected, "{reference}");
        }
        assert!(!takes(&involved, ""), "it is about nothing");
        let broken = r#","involvedObject":7"#;
        assert!(takes(&involved, broken), "it is told of as broken");
    }

    #[test]
    fn the_member_is_asked_for_one_kind_and_not_for_several() {
        let pods = of(&[("", "Pod"), ("example.com", "Pod")]);
        assert_eq!(pods.selector(), Some("involvedObject.kind=Pod"));
        assert_eq!(of(&[("", "Pod"), ("", "Node")]).selector(), None);
        assert_eq!(of(&[("example.com", "Pod,x=y")]).selector(), None);
        assert!(Involved::in_types([].iter()).is_none());
    }

    #[test]
    fn each_set_of_kinds_is_a_rule_of_its_own() {
        let sets = [
            of(&[("", "Pod")]),
            of(&[("", "Node")]),
            of(&[("", "Node"), ("", "Pod")]),
            of(&[("example.com", "Pod")]),
        ];
        let numbers: BTreeSet<_> = sets.iter().map(|set| set.rules_version(7)).collect();
        assert_eq!(numbers.len(), sets.len());
        assert!(!numbers.contains(&7));
        assert_ne!(sets[0].rules_version(7), sets[0].rules_version(8));
        let again = of(&[("", "Pod"), ("", "Node")]);
        assert_eq!(again.rules_version(7), sets[2].rules_version(7));
    }
}
