//! Whose a right is. Several Armadexes may be on one control plane, each with a namespace of its own, its home; some of their rights lie outside of it, under the same names. Releases of the chart
//! of which each takes the same home are told apart by what it notes on its rights. Pure.

use std::fmt;

use armadex_crds::is_subdomain;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::holders::{ACCOUNT, Holders};

/// The label that says which home a right is of.
pub(crate) const HOME_LABEL: &str = "armadex.dev/home";
/// The annotation that says which release of the chart it is of. A label takes no such value.
const RELEASE: &str = "armadex.dev/release";

/// An Armadex, as a control plane knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) home: String,
    /// Of which release of the chart, as NAMESPACE/NAME in the cluster of its pods. `None`: of none, or of one that did not say so.
    pub(crate) release: Option<String>,
}

impl Identity {
    /// Notes on a right whose it is.
    pub(crate) fn mark(&self, right: &mut Value) {
        right["metadata"]["labels"][HOME_LABEL] = json!(self.home);
        if let Some(release) = &self.release {
            right["metadata"]["annotations"][RELEASE] = json!(release);
        }
    }

    /// The other Armadex that a right serves. One without the label, which was applied by other means or by an earlier release, is of whoever has it; one in this home that says no release is ours where [`Self::unsaid`] is not asked as well.
    pub(crate) fn other(&self, right: &DynamicObject) -> Option<Self> {
        let release = said_release(right);
        if let Some(home) = other_home(right, &self.home) {
            return Some(Self { home, release });
        }
        let home = self.home.clone();
        (release.is_some() && release != self.release).then_some(Self { home, release })
    }

    /// The Armadex of this home that says no release, if a right is of that one.
    pub(crate) fn unsaid(&self, right: &DynamicObject) -> Option<Self> {
        let said = right.labels().get(HOME_LABEL);
        let mut homes = said.map(String::as_str).into_iter().chain(homes(right));
        let is_here = homes.any(|said| said == self.home);
        (is_here && said_release(right).is_none()).then(|| self.of_no_release())
    }

    /// The one that is at home there and says no release.
    pub(crate) fn of_no_release(&self) -> Self {
        Self {
            home: self.home.clone(),
            release: None,
        }
    }

    /// How `armadex install` and `armadex uninstall` are told that this one is meant.
    pub(crate) fn flags(&self) -> String {
        let release = self.release.as_ref();
        let release = release.map_or(String::new(), |release| format!(" --release {release}"));
        format!("--namespace {}{release}", self.home)
    }

    /// What somebody does who was refused what this one has.
    pub(super) fn ways_out(&self, refused: &Self) -> String {
        let flags = self.flags();
        let release = self.release.as_deref();
        let which = match release.and_then(|release| release.split_once('/')) {
            Some((namespace, name)) => format!(
                "that is the helm release {name} in {namespace} of its cluster, so upgrade that one or `helm uninstall` it; without helm, "
            ),
            None if self.home == refused.home => {
                "it says no release, as what a chart of before or `armadex install` by hand has made: if that is a helm release, upgrade that one, or `helm uninstall` it; without helm, ".to_owned()
            }
            None => String::new(),
        };
        let named = match self.takes_back(refused) {
            true => {
                " and --release NAMESPACE/NAME, now and with each later run, for what says none is still that one's to remove"
            }
            false => "",
        };
        format!(
            "{which}if that is the one, say {flags}; if it is not needed any more, run `armadex uninstall {flags}`; to give its rights to {refused}, say \
             --take-over{named}, which is install.takeOver of the chart"
        )
    }

    /// Whether the removal of this one takes along what was taken from it, for that says no release.
    pub(super) fn takes_back(&self, taker: &Self) -> bool {
        self.home == taker.home && self.release.is_some() && taker.release.is_none()
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the Armadex in {}", self.home)?;
        match &self.release {
            Some(release) => write!(out, " of the release {release}"),
            None => Ok(()),
        }
    }
}

/// What `--release` takes.
pub(super) fn release(text: &str) -> Result<String, String> {
    let (namespace, name) = text.split_once('/').unwrap_or_default();
    match is_subdomain(namespace) && is_subdomain(name) {
        true => Ok(text.to_owned()),
        false => Err("a release is named NAMESPACE/NAME".to_owned()),
    }
}

/// The release of the chart that an object says it is of.
pub(crate) fn said_release(object: &DynamicObject) -> Option<String> {
    object.annotations().get(RELEASE).cloned()
}

fn other_home(right: &DynamicObject, home: &str) -> Option<String> {
    if let Some(said) = right.labels().get(HOME_LABEL) {
        return (said != home).then(|| said.clone());
    }
    let homes: Vec<&str> = homes(right).collect();
    let other = homes.first()?;
    (!homes.contains(&home)).then(|| (*other).to_owned())
}

/// Whether a binding without the label names accounts of the Armadex of this home, and nobody else.
pub(super) fn is_of_accounts(binding: &DynamicObject, home: &str) -> bool {
    let mut subjects = subjects(binding).map(account_home).peekable();
    let is_labelled = binding.labels().contains_key(HOME_LABEL);
    !is_labelled && subjects.peek().is_some() && subjects.all(|said| said == Some(home))
}

/// Those of the accounts of an Armadex that it names.
fn homes(right: &DynamicObject) -> impl Iterator<Item = &str> {
    subjects(right).filter_map(account_home)
}

fn subjects(right: &DynamicObject) -> impl Iterator<Item = &Value> {
    right.data["subjects"].as_array().into_iter().flatten()
}

/// The namespace of a subject that is an account of Armadex.
fn account_home(subject: &Value) -> Option<&str> {
    let name = subject["name"].as_str()?;
    let is_account = name == ACCOUNT || Holders::Apart.accounts().contains(&name);
    let is_one = subject["kind"] == "ServiceAccount" && is_account;
    subject["namespace"].as_str().filter(|_| is_one)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ours(release: Option<&str>) -> Identity {
        Identity {
            home: "fleet-a".to_owned(),
            release: release.map(str::to_owned),
        }
    }

    fn right(metadata: &Value, subjects: &[(&str, &str, &str)]) -> DynamicObject {
        let subjects = subjects.iter().map(
            |(kind, namespace, name)| json!({"kind": kind, "namespace": namespace, "name": name}),
        );
        let subjects: Vec<Value> = subjects.collect();
        let right = json!({"metadata": metadata, "subjects": subjects});
        serde_json::from_value(right).expect("an object")
    }

    #[test]
    fn a_right_is_of_the_home_that_it_says_or_of_whoever_has_it() {
        let other = |labels: Value, subjects: &[(&str, &str, &str)]| {
            let right = right(&json!({"name": "a", "labels": labels}), subjects);
            ours(None).other(&right).map(|other| other.home)
        };
        let (of_a, of_b) = (
            json!({HOME_LABEL: "fleet-a"}),
            json!({HOME_LABEL: "fleet-b"}),
        );
        let account = |namespace| ("ServiceAccount", namespace, "armadex");
        assert_eq!(other(of_a, &[account("fleet-b")]), None);
        assert_eq!(
            other(of_b, &[account("fleet-a")]),
            Some("fleet-b".to_owned())
        );
        assert_eq!(
            other(json!({}), &[account("fleet-b")]),
            Some("fleet-b".to_owned())
        );
        assert_eq!(
            other(json!({}), &[account("fleet-b"), account("fleet-a")]),
            None
        );
        assert_eq!(
            other(json!({}), &[("ServiceAccount", "fleet-b", "other")]),
            None
        );
        assert_eq!(other(json!({}), &[("User", "", "armadex")]), None);
        assert_eq!(other(json!({}), &[]), None, "a role, for example");
    }

    #[test]
    fn a_right_of_the_same_home_is_of_the_release_that_it_says_or_of_whoever_comes() {
        let said = |identity: Identity| {
            let mut right = json!({"metadata": {"name": "a"}});
            identity.mark(&mut right);
            serde_json::from_value::<DynamicObject>(right).expect("an object")
        };
        let of = |release: Option<&str>| said(ours(release));
        let (one, next) = (Some("a/one"), Some("a/next"));
        for (theirs, mine, other) in [
            (None, None, None),
            (None, one, None),
            (one, one, None),
            (one, next, one),
            (one, None, one),
        ] {
            let found = ours(mine).other(&of(theirs));
            assert_eq!(found, other.map(|it| ours(Some(it))), "{theirs:?} {mine:?}");
            let takes_back = ours(theirs).takes_back(&ours(mine));
            assert_eq!(takes_back, theirs.is_some() && mine.is_none());
        }
        let elsewhere = Identity {
            home: "fleet-b".to_owned(),
            ..ours(one)
        };
        let found = ours(one).other(&said(elsewhere.clone()));
        assert_eq!(found, Some(elsewhere.clone()), "it has the same release");
        assert_eq!(elsewhere.flags(), "--namespace fleet-b --release a/one");
        assert_eq!(
            elsewhere.to_string(),
            "the Armadex in fleet-b of the release a/one"
        );
    }

    #[test]
    fn what_says_no_release_is_of_its_home() {
        let account = [("ServiceAccount", "fleet-a", "armadex")];
        let unsaid = |metadata: &Value, subjects: &[(&str, &str, &str)]| {
            ours(Some("a/one")).unsaid(&right(metadata, subjects))
        };
        let labelled = json!({"name": "a", "labels": {HOME_LABEL: "fleet-a"}});
        let noted = json!({"name": "a", "annotations": {RELEASE: "a/one"}});
        assert_eq!(unsaid(&labelled, &[]), Some(ours(None)));
        assert_eq!(unsaid(&json!({"name": "a"}), &account), Some(ours(None)));
        assert_eq!(unsaid(&json!({"name": "a"}), &[]), None);
        assert_eq!(unsaid(&noted, &account), None);
    }

    #[test]
    fn the_way_out_is_helms_where_a_release_may_have_it() {
        let next = ours(Some("a/next"));
        let way = |other: Identity| other.ways_out(&next);
        let helms = "that is the helm release one in a of its cluster";
        assert!(way(ours(Some("a/one"))).starts_with(helms));
        assert!(way(ours(None)).starts_with("it says no release"));
        let elsewhere = Identity {
            home: "fleet-b".to_owned(),
            release: None,
        };
        assert!(way(elsewhere).starts_with("if that is the one, say --namespace fleet-b; "));
    }

    #[test]
    fn a_release_is_named_with_its_namespace() {
        assert_eq!(
            release("fleet/armadex.one"),
            Ok("fleet/armadex.one".to_owned())
        );
        for wrong in ["", "armadex", "/armadex", "fleet/", "a/b/c", "A/b"] {
            release(wrong).expect_err(wrong);
        }
    }
}
