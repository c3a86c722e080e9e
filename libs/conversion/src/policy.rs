//! PodDisruptionBudgets of `policy/v1beta1`, of which an empty selector selects nothing, and everything in `v1`.

use serde_json::{Value, json};

use crate::step::{Object, Step, Unconvertible, find, object_at, put};

/// What selects nothing, or everything, is said in other words.
pub(crate) const POD_DISRUPTION_BUDGET: &[Step] = &[Step::By(selector)];

/// The label of which Kubernetes makes selectors that say in one version what an empty one says in the other.
const LABEL: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

fn selector(budget: &mut Object) -> Result<(), Unconvertible> {
    let Some(selector) = object_at(budget, "spec.selector")? else {
        return Ok(());
    };
    if is_empty(selector)? {
        let nothing = json!({"matchExpressions": [{"key": LABEL, "operator": "Exists"}]});
        return put(budget, "spec.selector", nothing);
    }
    // What is left of the selector that means all is an empty one.
    if let Some(Value::Array(expressions)) = selector.get_mut("matchExpressions") {
        expressions
            .retain(|expression| expression.get("key").and_then(Value::as_str) != Some(LABEL));
        if expressions.is_empty() {
            selector.remove("matchExpressions");
        }
    }
    Ok(())
}

fn is_empty(selector: &mut Object) -> Result<bool, Unconvertible> {
    let mut is_empty = true;
    for member in ["matchLabels", "matchExpressions"] {
        is_empty &= match find(selector, member)? {
            None => true,
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::Object(labels)) => labels.is_empty(),
            Some(_) => {
                let words = format!("spec.selector.{member} is neither a list nor an object");
                return Err(Unconvertible::new(words));
            }
        };
    }
    Ok(is_empty)
}
