//! A function as the table has it, and what a call of it works with: the arguments, which are held to what it takes, and the budget that it
//! pays from.

use std::{
    fmt::{self, Write},
    rc::Rc,
};

use crate::template::{
    bounded::Out,
    budget::{Budget, Exceeded},
    go::{
        print::{self, Printer},
        stop::Failure,
        value::{FIELD, ITEM, List, Map, SMALL, Text, Value},
    },
};

pub(crate) type Answer<'a> = Result<Value<'a>, Failure>;
type Body = for<'a> fn(&mut Arguments<'_, 'a>) -> Answer<'a>;

/// What Go takes for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Anything,
    /// Anything, and a value that is not there stays so.
    Value,
    Text,
    Int,
    Float,
    Bool,
    Map,
}

impl Takes {
    /// Whether `nil` is one.
    pub(crate) fn takes_nil(self) -> bool {
        matches!(self, Self::Anything | Self::Value | Self::Map)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anything | Self::Value => "a value",
            Self::Text => "text",
            Self::Int => "an integer of the template",
            Self::Float => "a floating point number",
            Self::Bool => "true or false",
            Self::Map => "a map",
        }
    }
}

/// A function of Go templates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: &'static str,
    takes: &'static [Takes],
    /// What it takes of any number of arguments behind those.
    more: Option<Takes>,
    body: Body,
}

impl Function {
    pub(super) const fn new(name: &'static str, takes: &'static [Takes], body: Body) -> Self {
        Self {
            name,
            takes,
            more: None,
            body,
        }
    }

    pub(super) const fn with_more(
        name: &'static str,
        takes: &'static [Takes],
        more: Takes,
        body: Body,
    ) -> Self {
        Self {
            name,
            takes,
            more: Some(more),
            body,
        }
    }

    /// What it takes at a place.
    pub(crate) fn takes_at(&self, place: usize) -> Option<Takes> {
        self.takes.get(place).copied().or(self.more)
    }

    /// What is wrong with so many arguments.
    pub(crate) fn check_count(&self, count: usize) -> Result<(), String> {
        let (name, least) = (self.name, self.takes.len());
        match self.more {
            None if count != least => {
                Err(format!("{name} takes {least} arguments, and not {count}"))
            }
            Some(_) if count < least => Err(format!(
                "{name} takes {least} arguments at least, and not {count}"
            )),
            _ => Ok(()),
        }
    }

    /// The value for these arguments. Whatever is text is paid for first, and a text that it made afterwards. What else is looked at or made
    /// the function itself pays for, before it does.
    pub(in crate::template::go) fn call<'a>(
        &self,
        arguments: Vec<Value<'a>>,
        budget: &Budget,
    ) -> Answer<'a> {
        for argument in &arguments {
            if let Value::Text(text) = argument {
                budget.spend_bytes(text.len())?;
            }
        }
        let mut arguments = Arguments {
            given: arguments.into_iter(),
            budget,
        };
        let value = (self.body)(&mut arguments)?;
        if let Value::Text(Text::Own(text)) = &value
            && Rc::strong_count(text) == 1
        {
            budget.spend_bytes(text.len())?;
        }
        Ok(value)
    }

    /// Whether what stands in a tag is decided by it before its other arguments are looked at.
    pub(crate) fn short_circuits(&self) -> Option<bool> {
        match self.name {
            "and" => Some(false),
            "or" => Some(true),
            _ => None,
        }
    }
}

/// The arguments of a call, which were held to what the function takes.
pub(crate) struct Arguments<'b, 'a> {
    pub(super) given: std::vec::IntoIter<Value<'a>>,
    pub(super) budget: &'b Budget,
}

const CHECKED: &str = "arguments are held to what a function takes before it is called";

impl<'b, 'a> Arguments<'b, 'a> {
    pub(super) fn value(&mut self) -> Value<'a> {
        self.given.next().expect(CHECKED)
    }

    pub(super) fn text(&mut self) -> Text<'a> {
        match self.value() {
            Value::Text(text) => text,
            _ => panic!("{CHECKED}"),
        }
    }

    pub(super) fn integer(&mut self) -> i64 {
        match self.value() {
            Value::Int(number) => number,
            _ => panic!("{CHECKED}"),
        }
    }

    pub(super) fn float(&mut self) -> Option<f64> {
        match self.given.next()? {
            Value::Float(number) => Some(number),
            _ => panic!("{CHECKED}"),
        }
    }

    pub(super) fn holds(&mut self) -> bool {
        match self.value() {
            Value::Bool(holds) => holds,
            _ => panic!("{CHECKED}"),
        }
    }

    /// None for a map that is not there, in which nothing is.
    pub(super) fn map(&mut self) -> Option<Map<'a>> {
        match self.value() {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// All that are left.
    pub(super) fn rest(&mut self) -> Vec<Value<'a>> {
        self.given.by_ref().collect()
    }

    /// A list of which little is looked at.
    pub(super) fn unpaid_list(&mut self) -> Result<List<'a>, Failure> {
        match self.value() {
            Value::List(list) => Ok(list),
            _ => Err(Failure::of("the argument is no list")),
        }
    }

    /// A list of which everything is looked at, or copied into another one.
    pub(super) fn list(&mut self) -> Result<List<'a>, Failure> {
        let list = self.unpaid_list()?;
        self.pay_items(list.len())?;
        Ok(list)
    }

    pub(super) fn pay(&self, bytes: usize) -> Result<(), Exceeded> {
        self.budget.spend_bytes(bytes)
    }

    /// For so many values that are looked at, or put into a list.
    pub(super) fn pay_items(&self, count: usize) -> Result<(), Exceeded> {
        self.pay(count.saturating_mul(ITEM))
    }

    /// For so many fields that are put into a map.
    pub(super) fn pay_fields(&self, count: usize) -> Result<(), Exceeded> {
        self.pay(count.saturating_mul(FIELD))
    }

    /// Text that is paid for as it is written.
    pub(super) fn written(
        &self,
        write: impl FnOnce(&mut Paid<'b>) -> fmt::Result,
    ) -> Result<String, Failure> {
        let mut paid = Paid {
            text: String::new(),
            budget: self.budget,
            exceeded: None,
        };
        match (write(&mut paid), paid.exceeded) {
            (_, Some(exceeded)) => Err(exceeded.into()),
            (Ok(()), None) => Ok(paid.text),
            (Err(_), None) => Err(Failure::of("can't be written")),
        }
    }
}

/// Text up to what the budget has.
pub(crate) struct Paid<'b> {
    text: String,
    budget: &'b Budget,
    exceeded: Option<Exceeded>,
}

impl Paid<'_> {
    fn pay(&mut self, bytes: usize) -> fmt::Result {
        self.budget.spend_bytes(bytes).map_err(|exceeded| {
            self.exceeded = Some(exceeded);
            fmt::Error
        })
    }
}

impl Write for Paid<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.pay(text.len())?;
        self.text.push_str(text);
        Ok(())
    }
}

impl Out for Paid<'_> {
    fn look_at(&mut self, values: usize) -> fmt::Result {
        self.pay(values.saturating_mul(ITEM))
    }
}

/// A value as sprig makes text of it.
pub(super) fn as_text<'a>(
    value: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Text<'a>, Failure> {
    if let Value::Text(text) = value {
        return Ok(text.clone());
    }
    arguments.pay(SMALL)?;
    let text = arguments.written(|out| Printer::new(out).argument(value, 'v'))?;
    Ok(Text::Own(text.into()))
}

/// What sprig calls empty.
pub(super) fn is_empty(value: &Value<'_>) -> bool {
    !value.is_true()
}

/// Texts of the items of a list that are not null, or of a value that is no list.
pub(super) fn as_texts<'a>(
    value: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Vec<Text<'a>>, Failure> {
    match value {
        Value::Missing | Value::Nil => Ok(Vec::new()),
        Value::List(list) => {
            arguments.pay_items(list.len())?;
            let items = list.iter().filter(|item| !matches!(item, Value::Nil));
            items.map(|item| as_text(&item, arguments)).collect()
        }
        value => Ok(vec![as_text(value, arguments)?]),
    }
}

/// Values one after the other as Go prints them.
pub(super) fn printed<'a>(
    values: &[Value<'a>],
    arguments: &Arguments<'_, 'a>,
) -> Result<String, Failure> {
    arguments.written(|out| print::print(out, values))
}
