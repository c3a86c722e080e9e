//! The stored form of an object, shared by the writer that makes it and the reader that serves it.
//!
//! An object is served as
//!
//! ```text
//! {"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"42",BODY
//! ```
//!
//! and BODY is what the store keeps: the other members of `metadata` (which always has at least `name`), the brace that closes
//! it, the rest of the object and its last brace. The resource version is left out because a list and a get show the member's
//! and a watch will show the store's; apiVersion and kind are left out because the type knows them. Serving is concatenation.

use crate::ResourceType;

/// Appends the object in its served form to `out`.
pub fn write_object(out: &mut Vec<u8>, resource: &ResourceType, version: &str, body: &[u8]) {
    write_head(out, &resource.gvr.api_version(), &resource.kind, version);
    out.extend_from_slice(body);
}

/// Appends the object's PartialObjectMetadata (`meta.k8s.io/v1`) to `out`; `false`, and nothing appended, if `body` is damaged.
pub fn write_partial_metadata(out: &mut Vec<u8>, version: &str, body: &[u8]) -> bool {
    let Some(metadata) = metadata_part(body) else {
        return false;
    };
    write_head(out, "meta.k8s.io/v1", "PartialObjectMetadata", version);
    out.extend_from_slice(metadata);
    out.push(b'}');
    true
}

/// The part of a body that belongs to `metadata`, its closing brace included; `None` if the body is damaged.
#[must_use]
pub fn metadata_part(body: &[u8]) -> Option<&[u8]> {
    let mut depth = 1_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (index, &byte) in body.iter().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(&body[..=index]);
                }
            }
            _ => {}
        }
    }
    None
}

fn write_head(out: &mut Vec<u8>, api_version: &str, kind: &str, version: &str) {
    for (member, text) in [
        ("{\"apiVersion\":", api_version),
        (",\"kind\":", kind),
        (",\"metadata\":{\"resourceVersion\":", version),
    ] {
        out.extend_from_slice(member.as_bytes());
        write_text(out, text);
    }
    out.push(b',');
}

/// Appends a text as JSON, quotes included. Versions and kinds come from members: what one of them says must not become part of what
/// another one's objects look like.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a text is always encodable");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GroupVersionResource;

    const BODY: &[u8] = br#""name":"a","labels":{"x":"}\"]"}},"spec":{"n":[1]}}"#;

    fn pods() -> ResourceType {
        ResourceType {
            gvr: GroupVersionResource::new("", "v1", "pods"),
            kind: "Pod".into(),
            namespaced: true,
            singular: String::new(),
            short_names: vec![],
            categories: vec![],
        }
    }

    #[test]
    fn a_body_is_served_with_the_version_in_its_metadata() {
        let mut out = Vec::new();
        write_object(&mut out, &pods(), "42", BODY);
        let value: serde_json::Value = serde_json::from_slice(&out).expect("valid JSON");
        assert_eq!(value["metadata"]["resourceVersion"], "42");
        assert_eq!(value["kind"], "Pod");
        assert_eq!(value["spec"]["n"][0], 1);
    }

    #[test]
    fn what_a_member_calls_a_version_or_a_kind_stays_a_text() {
        let version = "1\"}},{\"kind\":\"Forged\",\"x\":\"\\ \n\u{1} \u{e9}";
        let mut kinds = pods();
        kinds.kind = "Pod\",\"x\":\"".into();
        let mut out = Vec::new();
        write_object(&mut out, &kinds, version, BODY);
        let value: serde_json::Value = serde_json::from_slice(&out).expect("valid JSON");
        assert_eq!(value["metadata"]["resourceVersion"], version);
        assert_eq!(value["kind"], kinds.kind);
        let mut out = Vec::new();
        assert!(write_partial_metadata(&mut out, version, BODY));
        let value: serde_json::Value = serde_json::from_slice(&out).expect("valid JSON");
        assert_eq!(value["metadata"]["resourceVersion"], version);
    }

    #[test]
    fn partial_metadata_ends_where_the_metadata_ends() {
        let mut out = Vec::new();
        assert!(write_partial_metadata(&mut out, "42", BODY));
        let value: serde_json::Value = serde_json::from_slice(&out).expect("valid JSON");
        assert_eq!(value["kind"], "PartialObjectMetadata");
        assert_eq!(value["metadata"]["labels"]["x"], "}\"]");
        assert!(value.get("spec").is_none());
    }

    #[test]
    fn a_damaged_body_gives_no_metadata() {
        let mut out = Vec::new();
        assert!(!write_partial_metadata(&mut out, "42", br#""name":"a"#));
        assert!(out.is_empty());
    }
}
