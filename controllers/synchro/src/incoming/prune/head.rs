//! What names an object: from whole metadata, or from the beginning of an object that is too long to be read.

use std::fmt;

use armadex_model::ObjectKey;
use armadex_model::key::LONGEST_NAME;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::members::{Member, last};

/// The part of `metadata` that has a column of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) created: i64,
}

impl Head {
    pub(super) fn of(metadata: &[Member<'_>]) -> Result<Self, String> {
        let text = |name: &str| {
            let text = text(metadata, name)?;
            check(name, &text).map(|()| text)
        };
        let name = text("name")?;
        if name.is_empty() {
            return Err("it has no name".to_owned());
        }
        Ok(Self {
            key: ObjectKey::new(text("namespace")?, name),
            uid: text("uid")?,
            resource_version: text("resourceVersion")?,
            created: seconds(&text("creationTimestamp")?)?,
        })
    }
}

/// A text; absent and null are empty.
fn text(metadata: &[Member<'_>], name: &str) -> Result<String, String> {
    match last(metadata, name) {
        None | Some("null") => Ok(String::new()),
        Some(value) => {
            serde_json::from_str(value).map_err(|_| format!("metadata.{name} is not a text"))
        }
    }
}

/// No API server lets these in; a search that has to tell where a page ends relies on it.
fn check(name: &str, text: &str) -> Result<(), String> {
    if text.len() > LONGEST_NAME {
        let length = text.len();
        return Err(format!(
            "metadata.{name} has {length} bytes, above the limit of {LONGEST_NAME}"
        ));
    }
    if !is_fit(text) {
        return Err(format!("metadata.{name} has a control character in it"));
    }
    Ok(())
}

/// Whether a name or a version can be stored, shown and logged.
pub(crate) fn is_fit(text: &str) -> bool {
    text.len() <= LONGEST_NAME && !text.contains(|c: char| c.is_control() || c == char::MAX)
}

fn seconds(timestamp: &str) -> Result<i64, String> {
    if timestamp.is_empty() {
        return Ok(0);
    }
    let parsed: Result<jiff::Timestamp, _> = timestamp.parse();
    parsed
        .map(jiff::Timestamp::as_second)
        .map_err(|_| "metadata.creationTimestamp is not a time".to_owned())
}

/// What could be read of a watch event that was cut off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Salvaged {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl Salvaged {
    /// The object's key, if all that its type needs for one was reached.
    pub(crate) fn key(&self, namespaced: bool) -> Option<ObjectKey> {
        let name = self.name.clone()?;
        let namespace = if namespaced {
            self.namespace.clone()?
        } else {
            String::new()
        };
        Some(ObjectKey::new(namespace, name))
    }

    /// The object's uid, if it was reached.
    pub(crate) fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    /// The object's resourceVersion, if it was reached.
    pub(crate) fn resource_version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }
}

/// Reads as far as `prefix` goes: `{"type":..,"object":{.."metadata":{..`, or the object alone.
pub(crate) fn salvage(prefix: &[u8]) -> Salvaged {
    let mut found = Salvaged::default();
    let mut deserializer = serde_json::Deserializer::from_slice(prefix);
    // It ends in an error where the prefix ends; what was read until then is what is wanted.
    let _ = Within::Event(&mut found).deserialize(&mut deserializer);
    found
}

/// An object that is being read, and where its findings go.
enum Within<'s> {
    Event(&'s mut Salvaged),
    Metadata(&'s mut Salvaged),
}

impl<'de> DeserializeSeed<'de> for Within<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Within<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        match self {
            Self::Event(found) => {
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "object" => map.next_value_seed(Within::Event(found))?,
                        "metadata" => map.next_value_seed(Within::Metadata(found))?,
                        _ => map.next_value::<IgnoredAny>().map(|_| ())?,
                    }
                }
            }
            Self::Metadata(found) => {
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "name" => found.name = fit(&mut map)?,
                        "namespace" => found.namespace = fit(&mut map)?,
                        "uid" => found.uid = fit(&mut map)?,
                        "resourceVersion" => found.resource_version = fit(&mut map)?,
                        _ => map.next_value::<IgnoredAny>().map(|_| ())?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// A text, unless it is one that nothing stored has.
fn fit<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<String>, A::Error> {
    let text: String = map.next_value()?;
    Ok(Some(text).filter(|text| is_fit(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_an_overlong_event_is_read_from_its_beginning() {
        let line = br#"{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"big","namespace":"n","uid":"u","resourceVersion":"42","managedFields":[{"manager":"kub"#;
        let found = salvage(line);
        assert_eq!(found.key(true), Some(ObjectKey::new("n", "big")));
        assert_eq!(found.resource_version(), Some("42"));
        let cut = salvage(br#"{"type":"ADDED","object":{"metadata":{"name":"big","#);
        assert_eq!(cut.key(true), None, "the namespace was not reached");
        assert_eq!(cut.key(false), Some(ObjectKey::new("", "big")));
        assert_eq!(salvage(b"").key(false), None);
    }

    #[test]
    fn what_cannot_be_stored_is_not_salvaged() {
        for bad in ["x".repeat(LONGEST_NAME + 1), "a\\nb".to_owned()] {
            let line = format!(
                r#"{{"object":{{"metadata":{{"name":"{bad}","namespace":"n","resourceVersion":"{bad}"}}}}}}"#
            );
            let found = salvage(line.as_bytes());
            assert_eq!((found.key(true), found.resource_version()), (None, None));
        }
    }
}
