//! A text that many objects have: the templates of a policy are in each of its lifecycles, and five thousand of these are held by everybody who follows
//! them. Equal ones are kept once in a process.

use std::{
    borrow::Cow,
    collections::HashSet,
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A shorter one takes no more than it would take to find an equal one.
const SHORT: usize = 64;
/// So many are looked through for those that nobody has any more; they have 64 KiB each at the most.
const FEW: usize = 64;

/// The text. Whoever has it has a share in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedText(Arc<str>);

/// Those that somebody has, and some that nobody has any more.
static TEXTS: Mutex<Texts> = Mutex::new(Texts { all: None, kept: 0 });

struct Texts {
    all: Option<HashSet<Arc<str>>>,
    /// How many there were after the last look for those that nobody has any more.
    kept: usize,
}

impl SharedText {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self
    }

    /// Whether it has no letters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Texts {
    fn share(&mut self, text: String) -> Arc<str> {
        let all = self.all.get_or_insert_default();
        if let Some(known) = all.get(text.as_str()) {
            return known.clone();
        }
        if all.len() >= 2 * self.kept.max(FEW) {
            all.retain(|text| Arc::strong_count(text) > 1);
            self.kept = all.len();
        }
        let text: Arc<str> = text.into();
        all.insert(text.clone());
        text
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        if text.len() < SHORT {
            return Self(text.into());
        }
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        Self(texts.share(text))
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Default for SharedText {
    fn default() -> Self {
        Self("".into())
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Serialize for SharedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for SharedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// That of a text.
impl JsonSchema for SharedText {
    fn inline_schema() -> bool {
        String::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::PediaClusterLifecycleSpec;

    #[test]
    fn the_templates_of_many_lifecycles_are_kept_once_and_no_longer_than_somebody_has_them() {
        let long = |what: &str| format!("{what} {}", "x".repeat(SHORT));
        let read = |name: &str| -> PediaClusterLifecycleSpec {
            let spec = json!({
                "source": {"group": "", "version": "v1", "resource": "configmaps", "name": name},
                "references": [{"key": "a", "group": "", "version": "v1", "resource": "secrets",
                    "namespaceTemplate": long("namespace"), "nameTemplate": long("name")}],
                "template": long("template"),
                "creationCondition": long("condition"),
            });
            serde_json::from_value(spec).expect("a lifecycle")
        };
        let texts = |spec: &PediaClusterLifecycleSpec| {
            let reference = &spec.references[0];
            let texts = [
                &spec.template,
                &spec.creation_condition,
                &reference.name_template,
                &reference.namespace_template,
            ];
            texts.map(|text| text.as_ptr())
        };
        assert_eq!(texts(&read("one")), texts(&read("other")));

        let mut all = Texts { all: None, kept: 0 };
        let kept = all.share(long("kept"));
        for number in 0..100 * FEW {
            all.share(long(&number.to_string()));
        }
        let held = all.all.as_ref().map_or(0, HashSet::len);
        assert!(held <= 2 * FEW + 1, "{held}");
        assert!(Arc::ptr_eq(&kept, &all.share(long("kept"))));
    }
}
