//! Values that are read from JSON, each paid for before it is made: a few bytes of text stand for a hundred times as many of memory.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::call::{Answer, Arguments};
use crate::template::{
    budget::Budget,
    go::{
        stop::Failure,
        value::{FIELD, ITEM, LIST_ITSELF, MAP_ITSELF, SMALL, Text, Value},
    },
};

/// None for what is not JSON.
pub(super) fn parsed<'a>(arguments: &mut Arguments<'_, 'a>) -> Result<Option<Value<'a>>, Failure> {
    let text = arguments.text();
    let reader = Reader {
        budget: arguments.budget,
        exceeded: Cell::new(false),
    };
    let mut json = serde_json::Deserializer::from_str(&text);
    let read = reader.deserialize(&mut json);
    let read = read.and_then(|value| json.end().map(|()| value));
    match read {
        _ if reader.exceeded.get() => Err(Failure::Limit),
        read => Ok(read.ok()),
    }
}

/// Null for what is not JSON.
pub(super) fn parsed_or_nil<'a>(arguments: &mut Arguments<'_, 'a>) -> Answer<'a> {
    Ok(parsed(arguments)?.unwrap_or(Value::Nil))
}

struct Reader<'b> {
    budget: &'b Budget,
    exceeded: Cell<bool>,
}

impl Reader<'_> {
    fn pay<E: Error>(&self, bytes: usize) -> Result<(), E> {
        self.budget.spend_bytes(bytes).map_err(|_| {
            self.exceeded.set(true);
            E::custom("it takes too much")
        })
    }

    fn text<E: Error>(&self, text: &str) -> Result<Text<'static>, E> {
        self.pay(SMALL + text.len())?;
        Ok(Text::Own(text.into()))
    }
}

/// As a list grows it has room for twice its items, and for as many more while it is moved.
const GROWING: usize = 3 * ITEM;

impl<'de> DeserializeSeed<'de> for &Reader<'_> {
    type Value = Value<'static>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        self.pay(GROWING)?;
        json.deserialize_any(self)
    }
}

/// Every number is a floating point number here.
#[expect(clippy::cast_precision_loss, reason = "as Go converts it")]
impl<'de> Visitor<'de> for &Reader<'_> {
    type Value = Value<'static>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E: Error>(self, holds: bool) -> Result<Self::Value, E> {
        Ok(holds.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Value::Float(number as f64))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Value::Float(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::Text(self.text(text)?))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut json: A) -> Result<Self::Value, A::Error> {
        self.pay(LIST_ITSELF)?;
        let mut items = Vec::new();
        while let Some(item) = json.next_element_seed(self)? {
            items.push(item);
        }
        Value::list(items).map_err(|_| A::Error::custom("it is nested too deep"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut json: A) -> Result<Self::Value, A::Error> {
        self.pay(MAP_ITSELF)?;
        let mut fields = std::collections::BTreeMap::new();
        while let Some(name) = json.next_key::<String>()? {
            self.pay(FIELD)?;
            let name = self.text(&name)?;
            fields.insert(name, json.next_value_seed(self)?);
        }
        Value::map(fields).map_err(|_| A::Error::custom("it is nested too deep"))
    }
}
