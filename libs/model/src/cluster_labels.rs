//! The labels of a cluster, by which searches choose clusters: labels in, one text out that a store keeps and a catalogue shares. Pure.
//!
//! They are those of its PediaCluster. Where there are more than a cluster may have, the first by key count.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::label::{Requirement, is_key, is_value};

/// The most labels of one cluster: each takes up to 380 bytes in the memory of every process that searches, for each of its clusters.
pub const MOST_LABELS: usize = 64;

/// The labels of one cluster: `key=value` by key, with commas between them, which no label has in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterLabels(Arc<str>);

impl ClusterLabels {
    /// As many of these as a cluster may have, and how many are left out: those past [`MOST_LABELS`], and what no label can be.
    pub fn of<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> (Self, usize) {
        let all: BTreeMap<&str, &str> = labels.into_iter().collect();
        let mut kept: Vec<(&str, &str)> = all.iter().map(|(key, value)| (*key, *value)).collect();
        kept.retain(|(key, value)| is_key(key) && is_value(value));
        kept.truncate(MOST_LABELS);
        let left_out = all.len() - kept.len();
        let pairs = kept.iter().map(|(key, value)| format!("{key}={value}"));
        (Self(Vec::from_iter(pairs).join(",").into()), left_out)
    }

    /// Those that a store kept as [`ClusterLabels::as_str`]; what is none is left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match is_well_formed(text) {
            true => Self(text.into()),
            false => Self::of(pairs(text)).0,
        }
    }

    /// All of them as one text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and values, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        pairs(&self.0)
    }

    /// Whether all of these hold.
    #[must_use]
    pub fn meet(&self, requirements: &[Requirement]) -> bool {
        requirements.iter().all(|requirement| {
            let value = self.value(requirement.key.as_str());
            requirement.operator.holds(value)
        })
    }

    /// Of the label with this key. Every search by labels asks it of every cluster: nothing is allocated, and no label behind it is looked at.
    fn value(&self, key: &str) -> Option<&str> {
        let mut labels = self.iter();
        let found = labels.find(|(known, _)| *known >= key);
        found
            .filter(|(known, _)| *known == key)
            .map(|(_, value)| value)
    }
}

impl fmt::Display for ClusterLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a text is as [`ClusterLabels::of`] makes it.
fn is_well_formed(text: &str) -> bool {
    let (mut count, mut before) = (0, "");
    text.is_empty()
        || text.split(',').all(|pair| {
            count += 1;
            pair.split_once('=').is_some_and(|(key, value)| {
                let is_next = before < key && count <= MOST_LABELS;
                before = key;
                is_next && is_key(key) && is_value(value)
            })
        })
}

fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(',').filter_map(|pair| pair.split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_one_text_by_key_and_come_back_from_it() {
        let (labels, left_out) = ClusterLabels::of([
            ("zone.topology.kubernetes.io/eu-1a", ""),
            ("env", "prod"),
            ("app.kubernetes.io/name", "a"),
        ]);
        let text = "app.kubernetes.io/name=a,env=prod,zone.topology.kubernetes.io/eu-1a=";
        assert_eq!((labels.as_str(), left_out), (text, 0));
        assert_eq!(ClusterLabels::parse(text), labels);
        assert_eq!(ClusterLabels::parse(""), ClusterLabels::default());
        for unkempt in [
            "b=1,a=2",
            "a=2,b=1,",
            "a=2,a=3,b=1",
            "a=2,b=1,c",
            "a=2,b=1,c d=4",
        ] {
            let parsed = ClusterLabels::parse(unkempt);
            let value = if unkempt.contains("a=3") { 3 } else { 2 };
            assert_eq!(parsed.as_str(), format!("a={value},b=1"), "{unkempt}");
        }
        assert!(ClusterLabels::of([]).0.is_empty());
    }

    #[test]
    fn what_is_no_label_and_what_is_too_much_is_left_out_and_counted() {
        let (labels, left_out) = ClusterLabels::of([("a b", "c"), ("a", "b,c=d"), ("e", "f")]);
        assert_eq!((labels.as_str(), left_out), ("e=f", 2));
        let keys = Vec::from_iter((0..70).map(|number| format!("k{number:02}")));
        let (labels, left_out) = ClusterLabels::of(keys.iter().map(|key| (key.as_str(), "v")));
        assert_eq!((labels.iter().count(), left_out), (MOST_LABELS, 6));
        assert_eq!(labels.iter().last(), Some(("k63", "v")));
    }

    #[test]
    fn all_requirements_have_to_hold() {
        let (labels, _) = ClusterLabels::of([("env", "prod"), ("region", "eu-1"), ("old", "")]);
        for (selector, expected) in [
            ("", true),
            ("env=prod", true),
            ("env=prod,region in (eu-1,eu-2),old", true),
            ("env=prod,region notin (eu-1)", false),
            ("env!=test,tier!=x,!tier", true),
            ("!old", false),
            ("old=", true),
            ("tier=", false),
            ("en=prod", false),
        ] {
            let requirements = crate::label::parse(selector).expect("a selector");
            assert_eq!(labels.meet(&requirements), expected, "{selector}");
        }
        let any = crate::label::parse("!env").expect("a selector");
        assert!(ClusterLabels::default().meet(&any));
    }
}
