//! Who else than its policy wrote where a PediaCluster connects to, as `managedFields` tell. Pure.
//!
//! Where the connection is not what was rendered, nothing is asked of it. The policy's controller puts it back; whoever looks meanwhile, or
//! writes it again and again, has to be told which field it is.

use armadex_crds::RenderedConnection;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value};

/// Who applies what a policy rendered.
const POLICIES: &str = "armadex-lifecycle";
/// Fields that are named; whoever writes more gets to them when these are gone.
const NAMED: usize = 4;

/// The fields and who wrote them, in words; `None` if nobody else did.
pub(super) fn by_others(managers: &[ManagedFieldsEntry]) -> Option<String> {
    let is_of_policies = |entry: &&ManagedFieldsEntry| entry.manager.as_deref() == Some(POLICIES);
    let rendered = managers.iter().filter(is_of_policies).flat_map(fields_of);
    let rendered: Vec<String> = rendered.collect();
    let mut words = Vec::new();
    for entry in managers.iter().filter(|entry| !is_of_policies(entry)) {
        let manager = entry.manager.as_deref().unwrap_or("somebody");
        let added = fields_of(entry).into_iter();
        let added = added.filter(|field| !rendered.contains(field));
        words.extend(added.map(|field| format!("{field} was written by {manager}")));
    }
    words.truncate(NAMED);
    (!words.is_empty()).then(|| words.join(", "))
}

/// The fields of the connection that an entry holds.
fn fields_of(entry: &ManagedFieldsEntry) -> Vec<String> {
    let mut fields = Vec::new();
    let spec = entry.fields_v1.as_ref().and_then(|all| all.0.get("f:spec"));
    for name in RenderedConnection::FIELDS {
        if let Some(Value::Object(held)) = spec.and_then(|spec| spec.get(format!("f:{name}"))) {
            leaves(format!("spec.{name}"), held, &mut fields);
        }
    }
    fields
}

/// The names below a field, or its own if nothing is below it.
fn leaves(path: String, held: &Map<String, Value>, into: &mut Vec<String>) {
    let below = held.iter().filter_map(|(name, held)| {
        let name = name.strip_prefix("f:")?;
        Some((name, held.as_object()?))
    });
    let before = into.len();
    for (name, held) in below {
        leaves(format!("{path}.{name}"), held, into);
    }
    if into.len() == before {
        into.push(path);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(managers: &[(&str, Value)], words: Option<&str>) {
        let entry = |(manager, spec): &(&str, Value)| json!({"manager": manager, "fieldsV1": {"f:spec": spec}});
        let entries = managers.iter().map(entry).collect();
        let entries: Vec<_> = serde_json::from_value(entries).expect("entries");
        assert_eq!(by_others(&entries).as_deref(), words);
    }

    #[test]
    fn what_somebody_added_is_named_and_what_the_policy_rendered_too_is_not() {
        let rendered =
            json!({"f:apiserver": {}, "f:connection": {"f:insecureSkipTLSVerification": {}}});
        let policy = (POLICIES, rendered);
        check(
            &[policy.clone(), ("kubectl", json!({"f:syncResources": {}}))],
            None,
        );
        check(
            &[policy.clone(), ("kubectl", json!({"f:apiserver": {}}))],
            None,
        );
        let proxy = json!({".": {}, "f:proxyURL": {}, "f:proxyHeader": {".": {}, "f:Via": {}}});
        let both = "spec.connection.proxyHeader.Via was written by kubectl-edit, \
                    spec.connection.proxyURL was written by kubectl-edit";
        check(
            &[
                policy.clone(),
                ("kubectl-edit", json!({"f:connection": proxy})),
            ],
            Some(both),
        );
        let whole = json!({"f:authenticationFrom": {}});
        check(
            &[policy, ("x", whole)],
            Some("spec.authenticationFrom was written by x"),
        );
    }
}
