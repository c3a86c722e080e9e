//! Fields that decide where a credential goes, or who may search, and that no policy for Clusterpedia has: a PediaCluster has them only where the
//! template itself names them. Such policies put values of the source object between quotes as they are, and a value with a quote and a line
//! break in it would be further fields. Pure.

use armadex_crds::{ControlPlaneProxy, LifecycleSource, PediaClusterSpec};

/// Which of them the template does not name, and the way out.
pub(crate) fn check_named(template: &str, spec: &PediaClusterSpec) -> Result<(), String> {
    let (from, way) = (spec.authentication_from.as_ref(), spec.connection.as_ref());
    let fields = [
        (way.is_some(), "connection", "connection"),
        (
            way.is_some_and(|way| way.insecure_skip_tls_verification),
            "connection.insecureSkipTLSVerification",
            "insecureSkipTLSVerification",
        ),
        (
            way.is_some_and(|way| !way.proxy_url.is_empty()),
            "connection.proxyURL",
            "proxyURL",
        ),
        (
            way.is_some_and(|way| !way.proxy_header.is_empty()),
            "connection.proxyHeader",
            "proxyHeader",
        ),
        (
            way.is_some_and(|way| way.control_plane_proxy.is_some()),
            "connection.controlPlaneProxy",
            "controlPlaneProxy",
        ),
        (from.is_some(), "authenticationFrom", "authenticationFrom"),
        (
            from.is_some_and(|from| from.named().any(|key| !key.namespace.is_empty())),
            "authenticationFrom.*.namespace",
            "namespace",
        ),
        (
            spec.authorization_mode.is_some(),
            "authorizationMode",
            "authorizationMode",
        ),
    ];
    let unnamed = fields
        .iter()
        .find(|(is_there, _, key)| *is_there && !names(template, key));
    match unnamed {
        Some((_, field, key)) => Err(format!(
            "spec.{field}: a value of the source object or of a reference brought it in, the template itself has no {key}: put the values \
             that it renders through toJson, or have the template name the field, be it in a comment"
        )),
        None => Ok(()),
    }
}

/// That the control plane leads to no other object than the one that the lifecycle is of: the synchro asks it with a right to all of their kind. A template
/// that takes the name from elsewhere in the object would have whoever writes one be read as another.
pub(crate) fn check_proxy(source: &LifecycleSource, spec: &PediaClusterSpec) -> Result<(), String> {
    let way = spec.connection.as_ref();
    let Some(proxy) = way.and_then(|way| way.control_plane_proxy.as_ref()) else {
        return Ok(());
    };
    let ControlPlaneProxy {
        group,
        version: _,
        resource,
        name,
    } = proxy;
    let is_of_source =
        *group == source.group && *resource == source.resource && *name == source.name;
    if is_of_source && !group.is_empty() && source.namespace.is_empty() {
        return Ok(());
    }
    Err(
        "spec.connection.controlPlaneProxy: not the source object itself, which is of a group and lies in no namespace: no other may be \
         asked in its place"
            .to_owned(),
    )
}

/// Whether a key stands in a template as one: before a colon, or in quotes.
fn names(template: &str, key: &str) -> bool {
    let mut found = template.match_indices(key);
    found.any(|(at, _)| {
        let before = template[..at].chars().next_back();
        let behind = &template[at + key.len()..];
        let quoted =
            before.is_some_and(|quote| "\"'`".contains(quote) && behind.starts_with(quote));
        let part_of_another = before.is_some_and(|c| c.is_alphanumeric() || "_-.$/".contains(c));
        quoted || (!part_of_another && behind.trim_start().starts_with(':'))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(template: &str, spec: &Value) -> Result<(), String> {
        let mut fields = json!({"syncResources": []});
        fields
            .as_object_mut()
            .unwrap()
            .extend(spec.as_object().unwrap().clone());
        check_named(template, &serde_json::from_value(fields).unwrap())
    }

    #[test]
    fn what_is_ours_alone_comes_about_only_where_the_template_names_it() {
        let connection = json!({"connection": {}});
        let token = json!({"authenticationFrom": {"token": {"name": "a", "key": "b"}}});
        let elsewhere =
            json!({"authenticationFrom": {"token": {"name": "a", "key": "b", "namespace": "c"}}});
        let mode = json!({"authorizationMode": "outer-only"});
        let named = [
            ("connection: {}", &connection),
            ("{\"connection\" : {}}", &connection),
            (
                "{{ dict \"connection\" .source.way | toJson }}",
                &connection,
            ),
            ("# connection:\n{{toJson source.spec}}", &connection),
            ("  authenticationFrom:", &token),
            ("authenticationFrom: {token: {namespace: c}}", &elsewhere),
            ("authorizationMode: inner", &mode),
            ("", &json!({"apiserver": "https://a"})),
        ];
        for (template, spec) in named {
            assert_eq!(check(template, spec), Ok(()), "{template}");
        }
        let unnamed = [
            (
                "apiserver: {{ .source.spec.connection }}",
                &connection,
                "spec.connection: ",
            ),
            ("my-connection: 1", &connection, "spec.connection: "),
            ("# the connection of it", &connection, "spec.connection: "),
            ("", &token, "spec.authenticationFrom: "),
            (
                "authenticationFrom: {token: {{toJson .source.metadata.namespace}}}",
                &elsewhere,
                "spec.authenticationFrom.*.namespace: ",
            ),
            ("", &mode, "spec.authorizationMode: "),
        ];
        for (template, spec, begin) in unnamed {
            let error = check(template, spec).unwrap_err();
            assert!(error.starts_with(begin), "{template}: {error}");
        }
    }

    #[test]
    fn how_a_member_is_verified_and_through_whom_it_is_asked_is_named_field_by_field() {
        let fields = [
            ("insecureSkipTLSVerification", json!(true)),
            ("proxyURL", json!("http://proxy")),
            ("proxyHeader", json!({"a": "b"})),
            (
                "controlPlaneProxy",
                json!({"group": "a", "version": "v1", "resource": "b", "name": "c"}),
            ),
        ];
        for (field, value) in &fields {
            let spec = json!({"connection": {*field: value}});
            let named = format!("connection:\n  {field}: {{{{toJson source.it}}}}");
            assert_eq!(check(&named, &spec), Ok(()), "{named}");
            for (other, _) in fields.iter().filter(|(other, _)| other != field) {
                let unnamed = format!("connection: {{{other}: {{{{toJson source.it}}}}}}");
                let error = check(&unnamed, &spec).unwrap_err();
                let begin = format!("spec.connection.{field}: ");
                assert!(error.starts_with(&begin), "{unnamed}: {error}");
            }
        }
    }

    #[test]
    fn the_control_plane_leads_to_the_source_object_and_to_no_other() {
        let source = |namespace: &str, group: &str| -> LifecycleSource {
            let source = json!({"group": group, "version": "v1", "resource": "members", "name": "east", "namespace": namespace});
            serde_json::from_value(source).unwrap()
        };
        let spec = |group: &str, resource: &str, name: &str| -> PediaClusterSpec {
            let proxy =
                json!({"group": group, "version": "v2", "resource": resource, "name": name});
            let fields = json!({"syncResources": [], "connection": {"controlPlaneProxy": proxy}});
            serde_json::from_value(fields).unwrap()
        };
        let own = spec("a.example", "members", "east");
        assert_eq!(check_proxy(&source("", "a.example"), &own), Ok(()));
        let none = serde_json::from_value(json!({"syncResources": []})).unwrap();
        assert_eq!(check_proxy(&source("n", ""), &none), Ok(()));
        let others = [
            (
                source("", "a.example"),
                spec("a.example", "members", "west"),
            ),
            (source("", "a.example"), spec("a.example", "others", "east")),
            (
                source("", "a.example"),
                spec("b.example", "members", "east"),
            ),
            (source("n", "a.example"), own),
            (source("", ""), spec("", "members", "east")),
        ];
        for (source, spec) in others {
            let error = check_proxy(&source, &spec).unwrap_err();
            assert!(
                error.starts_with("spec.connection.controlPlaneProxy: not the source"),
                "{error}"
            );
        }
    }
}
