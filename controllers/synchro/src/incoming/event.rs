//! Reading one line of a watch. Pure.

use std::time::Duration;

use armadex_member::{LONGEST_WAIT, MemberError, Words};
use armadex_model::ObjectKey;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::incoming::prune::is_fit;

/// One event of a watch. The object of an addition or change is left as it came.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// The object is there, in this form, and may not have been.
    Put(&'a str),
    /// The object was there, and is in this form now.
    Modify(&'a str),
    /// The object is gone.
    Delete {
        /// Which one.
        key: ObjectKey,
        /// The collection's version after that.
        version: String,
        /// In the form in which it went.
        object: &'a str,
    },
    /// Nothing happened up to this version.
    Bookmark {
        /// The collection's version.
        version: String,
        /// It says here whether it [`ends_list`].
        object: &'a str,
    },
    /// The watch cannot go on.
    Error {
        /// HTTP status that it stands for.
        code: u16,
        /// The member's words.
        message: Words,
        /// How long it asks to be left alone, if it does.
        wait: Option<Duration>,
    },
}

#[derive(Deserialize)]
struct Line<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Named {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    resource_version: String,
}

/// A bookmark says by an annotation that it is the end of what there was.
#[derive(Deserialize)]
struct Mark<'a> {
    #[serde(borrow)]
    metadata: MarkMetadata<'a>,
}

#[derive(Deserialize)]
struct MarkMetadata<'a> {
    #[serde(borrow)]
    annotations: MarkAnnotations<'a>,
}

/// [KEP-3157](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/3157-watch-list)
#[derive(Deserialize)]
struct MarkAnnotations<'a> {
    #[serde(borrow, rename = "k8s.io/initial-events-end")]
    ends_list: Option<&'a str>,
}

/// Whether all that there was has been told with this object of a bookmark, where that was asked for. Nothing of it is copied, however many annotations it has.
pub(crate) fn ends_list(object: &str) -> bool {
    let is_end = |mark: Mark<'_>| mark.metadata.annotations.ends_list == Some("true");
    serde_json::from_str(object).is_ok_and(is_end)
}

#[derive(Deserialize)]
struct Status<'a> {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
    #[serde(borrow, default)]
    details: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    retry_after_seconds: u64,
}

impl Status<'_> {
    /// Details that are not understood break no error.
    fn wait(&self) -> Option<Duration> {
        let details: Details = serde_json::from_str(self.details?.get()).ok()?;
        let wait = Duration::from_secs(details.retry_after_seconds).min(LONGEST_WAIT);
        (!wait.is_zero()).then_some(wait)
    }
}

/// An error that a watch told, as if it had been the answer to it.
pub(crate) fn refusal(code: u16, message: Words, wait: Option<Duration>) -> MemberError {
    MemberError::Status {
        code,
        message,
        retry_after: wait,
        fresh_token: None,
        details: None,
    }
}

/// The version of an object, if it has one.
pub(crate) fn version_of(object: &str) -> Option<String> {
    let named: Named = serde_json::from_str(object).ok()?;
    Some(named.metadata.resource_version)
}

/// Reads a line; an error says what is wrong with it and quotes nothing.
pub(crate) fn parse(line: &[u8]) -> Result<Event<'_>, &'static str> {
    let text = std::str::from_utf8(line).map_err(|_| "an event is not UTF-8")?;
    let line: Line<'_> = serde_json::from_str(text).map_err(|_| "an event is not valid JSON")?;
    let object = line.object.get();
    match line.r#type {
        "ADDED" => Ok(Event::Put(object)),
        "MODIFIED" => Ok(Event::Modify(object)),
        "DELETED" => {
            let Metadata {
                name,
                namespace,
                resource_version,
            } = metadata(object)?;
            if name.is_empty() {
                return Err("a deleted object has no name");
            }
            let namespace = namespace.unwrap_or_default();
            if !(is_fit(&name) && is_fit(&namespace)) {
                return Err("a deleted object has a name that no stored one has");
            }
            Ok(Event::Delete {
                key: ObjectKey::new(namespace, name),
                version: fit(resource_version)?,
                object,
            })
        }
        "BOOKMARK" => Ok(Event::Bookmark {
            version: fit(metadata(object)?.resource_version)?,
            object,
        }),
        "ERROR" => {
            let status: Status<'_> =
                serde_json::from_str(object).map_err(|_| "an error event holds no Status")?;
            Ok(Event::Error {
                code: status.code,
                message: Words::of(&status.message),
                wait: status.wait(),
            })
        }
        _ => Err("an event is of no known type"),
    }
}

fn fit(version: String) -> Result<String, &'static str> {
    match is_fit(&version) {
        true => Ok(version),
        false => Err("an event's version is too long"),
    }
}

fn metadata(object: &str) -> Result<Metadata, &'static str> {
    serde_json::from_str(object)
        .map(|named: Named| named.metadata)
        .map_err(|_| "an event's object has no metadata")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_apart() {
        let put = parse(br#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#).unwrap();
        assert!(matches!(put, Event::Put(r#"{"metadata":{"name":"a"}}"#)));
        let gone = br#"{"type":"DELETED","object":{"metadata":{"name":"a","namespace":"n","resourceVersion":"7"},"x":1}}"#;
        let Event::Delete { key, version, .. } = parse(gone).unwrap() else {
            panic!("a deletion");
        };
        assert_eq!((key, version.as_str()), (ObjectKey::new("n", "a"), "7"));
        let mark = br#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9","creationTimestamp":null}}}"#;
        assert!(
            matches!(parse(mark), Ok(Event::Bookmark { version, object }) if version == "9" && !ends_list(object))
        );
        for (said, ends) in [("true", true), ("false", false), ("", false)] {
            let mark = format!(
                r#"{{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"9","annotations":{{"a":"b","k8s.io/initial-events-end":"{said}"}}}}}}}}"#
            );
            let Ok(Event::Bookmark { object, .. }) = parse(mark.as_bytes()) else {
                panic!("a bookmark");
            };
            assert_eq!(ends_list(object), ends, "{said}");
        }
        let error =
            br#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}"#;
        assert!(matches!(parse(error), Ok(Event::Error { code: 410, .. })));
        for (asked, waited) in [
            ("0", None),
            ("5", Some(5)),
            ("99999999", Some(60)),
            ("-1", None),
        ] {
            let status = format!(r#"{{"code":429,"details":{{"retryAfterSeconds":{asked}}}}}"#);
            let error = format!(r#"{{"type":"ERROR","object":{status}}}"#);
            let Ok(Event::Error { wait, .. }) = parse(error.as_bytes()) else {
                panic!("an error");
            };
            assert_eq!(wait.map(|wait| wait.as_secs()), waited);
        }
    }

    #[test]
    fn broken_events_are_refused() {
        for line in [
            &b"{"[..],
            b"\xff",
            b"{\"type\":\"NEW\",\"object\":{}}",
            b"{\"type\":\"DELETED\",\"object\":{\"metadata\":{}}}",
            b"{\"type\":\"BOOKMARK\",\"object\":[]}",
        ] {
            assert!(parse(line).is_err());
        }
    }

    #[test]
    fn what_a_member_says_is_short_and_on_one_line() {
        let long = "x".repeat(4 << 20);
        for object in [
            format!(r#""DELETED","object":{{"metadata":{{"name":"{long}"}}}}"#),
            format!(r#""DELETED","object":{{"metadata":{{"name":"a","namespace":"{long}"}}}}"#),
            format!(
                r#""DELETED","object":{{"metadata":{{"name":"a","resourceVersion":"{long}"}}}}"#
            ),
            r#""DELETED","object":{"metadata":{"name":"a\nb"}}"#.to_owned(),
            format!(r#""BOOKMARK","object":{{"metadata":{{"resourceVersion":"{long}"}}}}"#),
        ] {
            assert!(parse(format!(r#"{{"type":{object}}}"#).as_bytes()).is_err());
        }
        let error = format!(r#"{{"type":"ERROR","object":{{"message":"a\n{long}"}}}}"#);
        let Ok(Event::Error { message, .. }) = parse(error.as_bytes()) else {
            panic!("an error");
        };
        assert!(message.as_str().starts_with("a xx") && message.as_str().len() < 2000);
    }
}
