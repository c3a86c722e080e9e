//! As much of Kubernetes' protobuf as reviews need: kubectl posts them in it. Bytes in, the same values as JSON has out.
//!
//! ```text
//! "k8s\0" Unknown { 1: TypeMeta { 1: apiVersion, 2: kind }, 2: the object }
//! ```

use serde_json::{Map, Value, json};

/// What every object begins with.
const MAGIC: &[u8] = b"k8s\0";

/// The fields of a message that are read: their number, their name in JSON, and what they are.
type Fields = &'static [(u64, &'static str, Kind)];

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Message(Fields),
}

const TYPE_META: Fields = &[(1, "apiVersion", Kind::Text), (2, "kind", Kind::Text)];
/// The `spec` of `SelfSubjectAccessReview` and of `SelfSubjectRulesReview`.
const ACCESS: Fields = &[
    (1, "resourceAttributes", Kind::Message(RESOURCE)),
    (2, "nonResourceAttributes", Kind::Message(PATH)),
];
const RULES: Fields = &[(1, "namespace", Kind::Text)];
const RESOURCE: Fields = &[
    (1, "namespace", Kind::Text),
    (2, "verb", Kind::Text),
    (3, "group", Kind::Text),
    (4, "version", Kind::Text),
    (5, "resource", Kind::Text),
    (6, "subresource", Kind::Text),
    (7, "name", Kind::Text),
];
const PATH: Fields = &[(1, "path", Kind::Text), (2, "verb", Kind::Text)];

/// Reads a review into `apiVersion`, `kind` and `spec`; `None` if the bytes are something else.
pub(crate) fn review(bytes: &[u8]) -> Option<Value> {
    let unknown = bytes.strip_prefix(MAGIC)?;
    let mut read = message(part(unknown, 1)?, TYPE_META)?;
    let fields: Fields = match read.get("kind")?.as_str()? {
        "SelfSubjectAccessReview" => ACCESS,
        "SelfSubjectRulesReview" => RULES,
        _ => &[],
    };
    let object = part(unknown, 2).unwrap_or_default();
    let spec = message(part(object, 2).unwrap_or_default(), fields)?;
    read.insert("spec".to_owned(), Value::Object(spec));
    Some(Value::Object(read))
}

fn message(bytes: &[u8], fields: Fields) -> Option<Map<String, Value>> {
    let mut read = Map::new();
    for part in parts(bytes) {
        let (number, content) = part?;
        let Some((_, name, kind)) = fields.iter().find(|(known, ..)| *known == number) else {
            continue;
        };
        let value = match kind {
            Kind::Text => json!(std::str::from_utf8(content).ok()?),
            Kind::Message(fields) => Value::Object(message(content, fields)?),
        };
        read.insert((*name).to_owned(), value);
    }
    Some(read)
}

/// The content of a field of one message.
fn part(bytes: &[u8], number: u64) -> Option<&[u8]> {
    let found = parts(bytes).map_while(|part| part);
    found
        .filter(|(one, _)| *one == number)
        .map(|(_, content)| content)
        .last()
}

/// The fields that have a length, with what they hold; `None` where the bytes are no message. Others are passed over.
fn parts(mut rest: &[u8]) -> impl Iterator<Item = Option<(u64, &[u8])>> {
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            match next(&mut rest) {
                Some((number, Some(content))) => return Some(Some((number, content))),
                Some((_, None)) => {}
                None => {
                    rest = &[];
                    return Some(None);
                }
            }
        }
        None
    })
}

/// Takes one field; its content if it has a length.
fn next<'a>(rest: &mut &'a [u8]) -> Option<(u64, Option<&'a [u8]>)> {
    let tag = number(rest)?;
    let content = match tag & 7 {
        0 => {
            number(rest)?;
            None
        }
        1 => {
            take(rest, 8)?;
            None
        }
        2 => {
            let length = usize::try_from(number(rest)?).ok()?;
            Some(take(rest, length)?)
        }
        5 => {
            take(rest, 4)?;
            None
        }
        _ => return None,
    };
    Some((tag >> 3, content))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

/// A number of seven bits to a byte, the least first.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).expect("short");
        assert!(length < 0x80, "one byte holds the length");
        [&[number << 3 | 2, length], content].concat()
    }

    fn posted(api_version: &str, kind: &str, spec: &[u8]) -> Vec<u8> {
        let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        // Metadata comes first, and has a number in it.
        let object = [field(1, &[0x38, 0x00]), field(2, spec)].concat();
        [
            MAGIC,
            &field(1, &type_meta),
            &field(2, &object),
            &field(3, b""),
            &field(4, b""),
        ]
        .concat()
    }

    #[test]
    fn reviews_are_read_as_kubectl_writes_them() {
        let resource = [
            field(1, b"x"),
            field(2, b"list"),
            field(3, b""),
            field(5, b"pods"),
        ]
        .concat();
        let bytes = posted(
            "authorization.k8s.io/v1",
            "SelfSubjectAccessReview",
            &field(1, &resource),
        );
        assert_eq!(
            review(&bytes),
            Some(json!({
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {"namespace": "x", "verb": "list", "group": "", "resource": "pods"}},
            }))
        );
        let path = [field(1, b"/version"), field(2, b"get")].concat();
        let bytes = posted(
            "authorization.k8s.io/v1",
            "SelfSubjectAccessReview",
            &field(2, &path),
        );
        assert_eq!(
            review(&bytes).expect("a review")["spec"],
            json!({"nonResourceAttributes": {"path": "/version", "verb": "get"}})
        );
        let bytes = posted(
            "authorization.k8s.io/v1",
            "SelfSubjectRulesReview",
            &field(1, b"x"),
        );
        assert_eq!(
            review(&bytes).expect("a review")["spec"],
            json!({"namespace": "x"})
        );
        let bytes = posted("authentication.k8s.io/v1", "SelfSubjectReview", b"");
        assert_eq!(review(&bytes).expect("a review")["spec"], json!({}));
    }

    #[test]
    fn what_is_no_review_is_nothing() {
        for bytes in [
            &b""[..],
            b"k8s",
            b"k8s\0",
            b"{}",
            b"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            assert_eq!(review(bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = review(&[MAGIC, bytes.as_slice()].concat());
        }

        #[test]
        fn a_review_with_one_byte_changed_never_panics(index in 0_usize..100, with in any::<u8>()) {
            let mut bytes = posted("authorization.k8s.io/v1", "SelfSubjectRulesReview", &field(1, b"x"));
            let at = index % bytes.len();
            bytes[at] = with;
            let _ = review(&bytes);
        }
    }
}
