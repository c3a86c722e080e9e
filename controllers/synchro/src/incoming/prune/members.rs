//! A JSON object as a list of its members, each a piece of the text it was read from.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One member of an object.
#[derive(Debug)]
pub(super) struct Member<'a> {
    /// Its name as it was written, with quotes and escapes.
    pub(super) raw_name: &'a str,
    /// Its name.
    pub(super) name: Cow<'a, str>,
    /// Its value as it was written.
    pub(super) value: &'a str,
}

impl Member<'_> {
    /// Appends the member as it was written.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.raw_name.as_bytes());
        out.push(b':');
        out.extend_from_slice(self.value.as_bytes());
    }
}

/// Splits an object; the error is a clause after the object's name and quotes nothing.
pub(super) fn members(json: &str) -> Result<Vec<Member<'_>>, &'static str> {
    if !json.trim_ascii_start().starts_with('{') {
        return Err("is not a JSON object");
    }
    serde_json::from_str(json)
        .map(|Members(list)| list)
        .map_err(|_| "is not valid JSON")
}

/// The value of a member; of several with one name the last counts, as for every JSON decoder that clients use.
pub(super) fn last<'a>(members: &[Member<'a>], name: &str) -> Option<&'a str> {
    let found = members.iter().rev().find(|member| member.name == name);
    found.map(|member| member.value)
}

struct Members<'a>(Vec<Member<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::with_capacity(8);
        while let Some((raw_name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let raw_name = raw_name.get();
            list.push(Member {
                raw_name,
                name: unquote(raw_name).map_err(serde::de::Error::custom)?,
                value: value.get(),
            });
        }
        Ok(Members(list))
    }
}

fn unquote(raw: &str) -> serde_json::Result<Cow<'_, str>> {
    match raw.get(1..raw.len() - 1) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(raw).map(Cow::Owned),
    }
}
