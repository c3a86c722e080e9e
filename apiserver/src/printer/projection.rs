//! The parts of an object that a printer's cells show, and the one walk along its bytes that finds them all.
//!
//! The paths of all cells become a tree. An object's members that are not in the tree are skipped without being parsed; what is at
//! the end of a path is borrowed as the text that it is.

use std::fmt;

use serde::de::{
    Deserialize as _, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde_json::value::RawValue;

use super::slot::Slot;
use super::values::{MOST, too_much};

/// A way through an object: the fields to go through, and after a list of which every element counts, those of its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    fields: Vec<String>,
    each: Option<Vec<String>>,
}

/// One path of a cell, and what is wanted of its end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Read<'a> {
    /// What is there.
    Value(&'a Path),
    /// How many entries or elements it has.
    Count(&'a Path),
}

/// What becomes of an object in which something else stands where an object or a list is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherShape {
    /// It cannot be printed.
    Fails,
    /// There is nothing at the end of the path.
    IsAbsent,
}

/// All paths of one printer.
pub(super) struct Projection {
    root: Node,
    slots: usize,
    other: OtherShape,
}

#[derive(Default)]
struct Node {
    /// Slots that take what is here.
    values: Vec<usize>,
    /// Slots that take the number of entries of what is here.
    counts: Vec<usize>,
    fields: Vec<(String, Node)>,
    each: Option<Box<Elements>>,
}

#[derive(Default)]
struct Elements {
    node: Node,
    /// The slots beneath: they get one value for each element.
    slots: Vec<usize>,
}

impl Path {
    /// Reads `spec.template.spec.containers[*].name`, or `spec.cidrs[*]`.
    pub(super) fn of(text: &str) -> Self {
        let fields = |text: &str| -> Vec<String> { text.split('.').map(str::to_owned).collect() };
        match text.split_once("[*]") {
            Some((list, element)) => Self {
                fields: fields(list),
                each: Some(element.strip_prefix('.').map(fields).unwrap_or_default()),
            },
            None => Self::through(fields(text)),
        }
    }

    /// The path that goes through these fields.
    pub(super) fn through(fields: Vec<String>) -> Self {
        Self { fields, each: None }
    }
}

impl Projection {
    /// The paths of a printer, a slot for each, in this order.
    pub(super) fn of<'a>(reads: impl Iterator<Item = Read<'a>>, other: OtherShape) -> Self {
        let mut root = Node::default();
        let mut slots = 0;
        for read in reads {
            root.add(read, slots);
            slots += 1;
        }
        Self { root, slots, other }
    }

    /// Walks along an object. Nothing is parsed where no path asks for anything.
    pub(super) fn find<'a>(&self, object: &'a [u8]) -> Result<Vec<Slot<'a>>, serde_json::Error> {
        let mut slots = vec![Slot::Absent; self.slots];
        if slots.is_empty() {
            return Ok(slots);
        }
        let text = std::str::from_utf8(object).map_err(serde_json::Error::custom)?;
        let walk = Walk {
            node: &self.root,
            slots: &mut slots,
            other: self.other,
        };
        walk.deserialize(&mut serde_json::Deserializer::from_str(text))?;
        Ok(slots)
    }
}

impl Node {
    fn add(&mut self, read: Read<'_>, slot: usize) {
        let (Read::Value(path) | Read::Count(path)) = read;
        let list = self.at(&path.fields);
        let end = match &path.each {
            Some(fields) => {
                let each = list.each.get_or_insert_default();
                each.slots.push(slot);
                each.node.at(fields)
            }
            None => list,
        };
        match read {
            Read::Value(_) => end.values.push(slot),
            Read::Count(_) => end.counts.push(slot),
        }
    }

    fn at(&mut self, fields: &[String]) -> &mut Self {
        let Some((first, rest)) = fields.split_first() else {
            return self;
        };
        let index = self.fields.iter().position(|(name, _)| name == first);
        let index = index.unwrap_or_else(|| {
            self.fields.push((first.clone(), Self::default()));
            self.fields.len() - 1
        });
        self.fields[index].1.at(rest)
    }

    /// Whether something inside of what is here is wanted.
    fn goes_on(&self) -> bool {
        !self.fields.is_empty() || !self.counts.is_empty() || self.each.is_some()
    }
}

/// A walk that has come to a node.
struct Walk<'w, 'de> {
    node: &'w Node,
    slots: &'w mut [Slot<'de>],
    other: OtherShape,
}

impl<'de> Walk<'_, 'de> {
    fn to<'s>(&'s mut self, node: &'s Node) -> Walk<'s, 'de> {
        Walk {
            node,
            slots: self.slots,
            other: self.other,
        }
    }

    fn count(&mut self, entries: usize) {
        for slot in &self.node.counts {
            self.slots[*slot] = Slot::Count(i64::try_from(entries).unwrap_or(i64::MAX));
        }
    }

    fn other<E: serde::de::Error>(&self, found: Unexpected<'_>) -> Result<(), E> {
        match self.other {
            OtherShape::Fails => Err(E::invalid_type(found, self)),
            OtherShape::IsAbsent => Ok(()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.node.values.is_empty() {
            return deserializer.deserialize_any(self);
        }
        let json = <&RawValue>::deserialize(deserializer)?.get();
        for slot in &self.node.values {
            self.slots[*slot].take(json);
        }
        if self.node.goes_on() {
            let inside = serde_json::Deserializer::from_str(json).deserialize_any(self);
            inside.map_err(D::Error::custom)?;
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Walk<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what the columns of its type expect")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let node = self.node;
        if !node.counts.is_empty() || !node.fields.is_empty() {
            let mut entries = 0;
            while let Some(child) = map.next_key_seed(Child(node))? {
                entries += 1;
                match child {
                    Some(child) => map.next_value_seed(self.to(child))?,
                    None => map.next_value::<IgnoredAny>().map(drop)?,
                }
            }
            self.count(entries);
            return Ok(());
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.other(Unexpected::Map)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let mut elements = 0;
        if let Some(each) = &self.node.each {
            for slot in &each.slots {
                self.slots[*slot] = Slot::Each(Vec::new());
            }
            while list.next_element_seed(self.to(&each.node))?.is_some() {
                elements += 1;
                if elements > MOST {
                    return Err(too_much());
                }
                for slot in &each.slots {
                    self.slots[*slot].fill_up(elements);
                }
            }
        } else {
            while list.next_element::<IgnoredAny>()?.is_some() {
                elements += 1;
            }
            if self.node.counts.is_empty() {
                return self.other(Unexpected::Seq);
            }
        }
        self.count(elements);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.other(Unexpected::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.other(Unexpected::Signed(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.other(Unexpected::Unsigned(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.other(Unexpected::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.other(Unexpected::Str(value))
    }
}

/// Reads a field's name, and gives where it leads to.
struct Child<'n>(&'n Node);

impl<'de, 'n> DeserializeSeed<'de> for Child<'n> {
    type Value = Option<&'n Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Child<'n> {
    type Value = Option<&'n Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let mut fields = self.0.fields.iter();
        Ok(fields
            .find(|(field, _)| field == name)
            .map(|(_, node)| node))
    }
}

#[cfg(test)]
mod tests;
