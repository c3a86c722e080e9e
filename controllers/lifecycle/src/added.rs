//! What somebody has added to the connection of a PediaCluster that a policy rendered. Server-side apply leaves fields that others set,
//! and here they would decide where the cluster is read from. Pure.

use armadex_crds::{PediaClusterSpec, RenderedConnection};
use serde_json::{Map, Value, json};

/// The fields of the connection that are there and were not rendered, as a merge patch of the spec that takes them away.
pub(crate) fn added(present: &PediaClusterSpec, rendered: &PediaClusterSpec) -> Option<Value> {
    let value = |spec: &PediaClusterSpec| {
        let mut value = serde_json::to_value(spec).unwrap_or_default();
        if let Value::Object(fields) = &mut value {
            fields.retain(|name, _| RenderedConnection::FIELDS.contains(&name.as_str()));
        }
        value
    };
    surplus(&value(present), &value(rendered))
}

fn surplus(present: &Value, rendered: &Value) -> Option<Value> {
    let (Value::Object(present), Value::Object(rendered)) = (present, rendered) else {
        return None;
    };
    let fields: Map<String, Value> = present
        .iter()
        .filter_map(|(name, there)| match rendered.get(name) {
            None => Some((name.clone(), Value::Null)),
            Some(rendered) => Some((name.clone(), surplus(there, rendered)?)),
        })
        .collect();
    (!fields.is_empty()).then(|| json!(fields))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_to_the_connection_goes_and_nothing_else() {
        let spec = |mut value: Value| -> PediaClusterSpec {
            value["syncResources"] = json!([]);
            serde_json::from_value(value).unwrap()
        };
        let token = json!({"name": "east", "key": "token"});
        let rendered =
            spec(json!({"apiserver": "https://east", "authenticationFrom": {"token": token}}));
        let table = [
            (
                json!({"apiserver": "https://east", "authenticationFrom": {"token": token}}),
                None,
            ),
            // What others may set.
            (
                json!({"shardingName": "a", "authorizationMode": "inner"}),
                None,
            ),
            // What is put back by being applied.
            (json!({"apiserver": "https://theirs"}), None),
            (
                json!({"kubeconfig": "eA=="}),
                Some(json!({"kubeconfig": null})),
            ),
            (
                json!({"tokenData": "eA==", "certData": "eA==", "keyData": "eA==", "caData": "eA=="}),
                Some(json!({"tokenData": null, "certData": null, "keyData": null, "caData": null})),
            ),
            (
                json!({"authenticationFrom": {"token": token, "ca": token}}),
                Some(json!({"authenticationFrom": {"ca": null}})),
            ),
            (
                json!({"connection": {"proxyURL": "http://theirs"}}),
                Some(json!({"connection": null})),
            ),
        ];
        for (present, expected) in table {
            assert_eq!(
                added(&spec(present.clone()), &rendered),
                expected,
                "{present}"
            );
        }
        let proxied = |connection: Value| spec(json!({"connection": connection}));
        let headers = proxied(
            json!({"proxyURL": "http://ours", "proxyHeader": {"a": "ours", "b": "theirs"}}),
        );
        let ours = proxied(json!({"proxyURL": "http://ours", "proxyHeader": {"a": "ours"}}));
        let expected = json!({"connection": {"proxyHeader": {"b": null}}});
        assert_eq!(added(&headers, &ours), Some(expected));
    }
}
