//! Whose a right is. Several Armadexes may be on one control plane, each with a namespace of its own, its home; some of their rights lie outside of it, under the same names. Pure.

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use serde_json::Value;

use super::holders::{ACCOUNT, Holders};

/// The label that says which home a right is of.
pub(crate) const HOME_LABEL: &str = "armadex.dev/home";

/// The home of the other Armadex that a right serves. One without the label, which was applied by other means or by an earlier release, is of whoever has it.
pub(crate) fn other_home(right: &DynamicObject, home: &str) -> Option<String> {
    if let Some(said) = right.labels().get(HOME_LABEL) {
        return (said != home).then(|| said.clone());
    }
    let homes: Vec<&str> = subjects(right).filter_map(account_home).collect();
    let other = homes.first()?;
    (!homes.contains(&home)).then(|| (*other).to_owned())
}

/// Whether a binding without the label names accounts of the Armadex of this home, and nobody else.
pub(super) fn is_of_accounts(binding: &DynamicObject, home: &str) -> bool {
    let mut subjects = subjects(binding).map(account_home).peekable();
    let is_labelled = binding.labels().contains_key(HOME_LABEL);
    !is_labelled && subjects.peek().is_some() && subjects.all(|said| said == Some(home))
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

    #[test]
    fn a_right_is_of_the_home_that_it_says_or_of_whoever_has_it() {
        let other = |labels: Value, subjects: &[(&str, &str, &str)]| {
            let subjects = subjects.iter().map(|(kind, namespace, name)| {
                json!({"kind": kind, "namespace": namespace, "name": name})
            });
            let subjects: Vec<Value> = subjects.collect();
            let right = json!({"metadata": {"name": "a", "labels": labels}, "subjects": subjects});
            other_home(
                &serde_json::from_value(right).expect("an object"),
                "fleet-a",
            )
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
}
