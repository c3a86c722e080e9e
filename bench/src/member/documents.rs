//! What members say, as JSON. Pure.

use std::fmt::Write as _;

use serde_json::json;

use super::request::{GROUP, Token, plural};
use crate::served::discovery::{discovery, resource};

/// What `/api` tells: no synchro takes an answer without any group for one.
pub(super) fn core_discovery() -> String {
    let namespaces = resource("namespaces", "Namespace", "Cluster");
    discovery("", &[namespaces])
}

/// What `/apis` tells of members with so many kinds.
pub(super) fn group_discovery(kinds: usize) -> String {
    let things: Vec<_> = (0..kinds)
        .map(|kind| resource(&plural(kind), &self::kind(kind), "Namespaced"))
        .collect();
    discovery(GROUP, &things)
}

fn kind(kind: usize) -> String {
    format!("Thing{kind:02}")
}

/// The namespace by whose uid a member is known.
pub(super) fn identity(member: usize) -> String {
    json!({"metadata": {"name": "kube-system", "uid": uid(member, 0xffff, 0)}}).to_string()
}

/// One object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thing {
    pub(super) member: usize,
    pub(super) kind: usize,
    pub(super) number: usize,
    pub(super) version: u64,
}

impl Thing {
    /// As a list or an event has it; `whole` or its metadata alone.
    pub(super) fn push(self, out: &mut String, whole: bool) {
        let Self {
            member,
            kind,
            number,
            version,
        } = self;
        let uid = uid(member, kind, number);
        let (app, node) = (number % 7, number % 5);
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            r#"{{"metadata":{{"name":"thing-{number:05}","namespace":"ns-{app}","uid":"{uid}","resourceVersion":"{version}","#,
        );
        let _ = write!(
            out,
            r#""creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"app":"app-{app}","tier":"backend"}},"#,
        );
        out.push_str(MANAGED);
        if whole {
            let _ = write!(
                out,
                r#","spec":{{"node":"node-{node}","seen":{version},"text":"{TEXT}"}}"#
            );
        }
        out.push('}');
    }
}

/// Objects of clusters have such; it is not stored.
const MANAGED: &str = r#""managedFields":[{"manager":"bench","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:node":{},"f:seen":{},"f:text":{}}}}]}"#;
const TEXT: &str = "what there is to say of a thing in a few words more than would do, so that it is as long as a small object of a real cluster is without its metadata";

fn uid(member: usize, kind: usize, number: usize) -> String {
    format!("{member:08x}-{kind:04x}-4000-8000-{number:012x}")
}

/// A page of a list.
pub(super) fn page(
    version: u64,
    things: impl Iterator<Item = Thing>,
    next: Option<Token>,
    whole: bool,
) -> String {
    let token = next.map(Token::text).unwrap_or_default();
    let mut text = format!(
        r#"{{"kind":"List","apiVersion":"v1","metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":["#
    );
    for (index, thing) in things.enumerate() {
        if index > 0 {
            text.push(',');
        }
        thing.push(&mut text, whole);
    }
    text.push_str("]}");
    text
}

/// A line of a watch that tells of a change.
pub(super) fn event(thing: Thing) -> String {
    let mut text = String::from(r#"{"type":"MODIFIED","object":"#);
    thing.push(&mut text, true);
    text.push_str("}\n");
    text
}

/// A line of a watch that tells how far it is.
pub(super) fn bookmark(kind: usize, version: u64) -> String {
    let kind = self::kind(kind);
    format!(
        "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"{kind}\",\"apiVersion\":\"{GROUP}/v1\",\
         \"metadata\":{{\"resourceVersion\":\"{version}\",\"creationTimestamp\":null}}}}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const THING: Thing = Thing {
        member: 3,
        kind: 2,
        number: 9,
        version: 44,
    };

    fn parse(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn lists_events_and_bookmarks_are_json() {
        let next = Token {
            start: 2,
            version: 50,
            begun: 0,
        };
        let list = parse(&page(50, [THING; 2].into_iter(), Some(next), true));
        assert_eq!(list["items"][1]["metadata"]["resourceVersion"], "44");
        assert_eq!(list["items"][1]["spec"]["node"], "node-4");
        assert_eq!(list["metadata"]["continue"], "2.50.0");
        let names = parse(&page(50, [THING].into_iter(), None, false));
        assert!(names["items"][0].get("spec").is_none());
        let event = parse(&event(THING));
        assert_eq!(event["type"], "MODIFIED");
        assert_eq!(event["object"], list["items"][0]);
        let bookmark = parse(&bookmark(2, 51));
        assert_eq!(bookmark["object"]["metadata"]["resourceVersion"], "51");
    }

    #[test]
    fn no_two_objects_share_a_uid() {
        let uids = [uid(1, 2, 3), uid(2, 1, 3), uid(1, 3, 2), uid(1, 0xffff, 0)];
        let different: std::collections::BTreeSet<_> = uids.iter().collect();
        assert_eq!(different.len(), uids.len());
    }

    #[test]
    fn discovery_tells_every_kind() {
        let told = parse(&group_discovery(40));
        let resources = &told["items"][0]["versions"][0]["resources"];
        assert_eq!(resources.as_array().map(Vec::len), Some(40));
        assert_eq!(resources[39]["resource"], plural(39));
    }
}
