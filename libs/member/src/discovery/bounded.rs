//! Lists of which no more than so much is kept, however long an answer is: what a member serves is for the member to say, what that
//! may take here is not.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The first elements of a list; `null` is an empty one.
#[derive(Debug)]
pub(super) struct AtMost<T, const MOST: usize> {
    pub(super) items: Vec<T>,
    /// There were more.
    pub(super) beyond: bool,
}

impl<T, const MOST: usize> Default for AtMost<T, MOST> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            beyond: false,
        }
    }
}

impl<'de, const MOST: usize> AtMost<&'de RawValue, MOST> {
    /// What is read of its elements, which are decoded one after the other: what they have besides is never held of all of them.
    pub(super) fn decoded<T: Deserialize<'de>, R>(
        self,
        read: impl Fn(T) -> Option<R>,
    ) -> Result<Vec<R>, serde_json::Error> {
        let mut found = Vec::new();
        for item in self.items {
            found.extend(read(serde_json::from_str(item.get())?));
        }
        found.shrink_to_fit();
        Ok(found)
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for AtMost<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Elements(PhantomData))
    }
}

struct Elements<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Elements<T, MOST> {
    type Value = AtMost<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(AtMost::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut found = AtMost::default();
        while found.items.len() < MOST {
            match list.next_element()? {
                Some(item) => found.items.push(item),
                None => return Ok(found),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            found.beyond = true;
        }
        Ok(found)
    }
}

/// Of the verbs of a resource the two that a copy needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verbs {
    list: bool,
    watch: bool,
}

impl Verbs {
    pub(super) fn can_sync(self) -> bool {
        self.list && self.watch
    }
}

impl<'de> Deserialize<'de> for Verbs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VerbsVisitor)
    }
}

struct VerbsVisitor;

impl<'de> Visitor<'de> for VerbsVisitor {
    type Value = Verbs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of verbs")
    }

    fn visit_unit<E>(self) -> Result<Verbs, E> {
        Ok(Verbs::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Verbs, A::Error> {
        let mut verbs = Verbs::default();
        while let Some(verb) = list.next_element::<String>()? {
            verbs.list |= verb == "list";
            verbs.watch |= verb == "watch";
        }
        Ok(verbs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_may_be() {
        let read = |json: &str| serde_json::from_str::<AtMost<u8, 2>>(json).unwrap();
        for (json, items, beyond) in [
            ("null", vec![], false),
            ("[]", vec![], false),
            ("[1,2]", vec![1, 2], false),
            ("[1,2,{\"a\":[]}]", vec![1, 2], true),
        ] {
            let found = read(json);
            assert_eq!((found.items, found.beyond), (items, beyond), "{json}");
        }
    }

    #[test]
    fn a_copy_needs_list_and_watch() {
        let can_sync = |json: &str| serde_json::from_str::<Verbs>(json).unwrap().can_sync();
        assert!(can_sync(r#"["get","watch","list"]"#));
        assert!(!can_sync(r#"["list","list"]"#) && !can_sync("null"));
    }
}
