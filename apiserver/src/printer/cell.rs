//! What fills a column: where each cell's text comes from, and how it is written.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Error;

use super::json_path::JsonPath;
use super::object::{Text, Texts, pairs};
use super::projection::{Path, Read, Slot};
use super::workload::LabelSelector;
use super::{Condition, NONE, Row, custom};
use crate::age;

/// Where the text of a cell comes from.
pub(super) enum Cell {
    /// The object's name.
    Name,
    /// The time since the object was created.
    Age,
    /// The time since another time of the object; the text where there is none.
    Since(Path, &'static str),
    /// A text; the other one where it is empty.
    Text(Path, &'static str),
    /// A text that may be empty; the other one where it is absent.
    Optional(Path, &'static str),
    /// A whole number; the other one where it is absent.
    Number(Path, i64),
    /// True or false as words.
    Switch(Path),
    /// How many entries lists or maps have together.
    Count(Vec<Path>),
    /// A number of a number; each is the other one where it is absent.
    Ratio([(Path, i64); 2]),
    /// The texts of a list's elements with commas between; the text where there are none.
    Joined(Path, &'static str),
    /// A map of texts.
    Pairs(Path),
    /// A label selector; the text where it selects nothing.
    Selector(Path, &'static str),
    /// What a custom resource's column shows: the beginning of its path, which only goes through fields, the rest, and the type
    /// that decides how it looks.
    Custom(Path, JsonPath, custom::Kind),
    /// Worked out from the object. It also writes the cells of the [`Cell::Joint`] columns that follow.
    Function(Print),
    /// Written by the function of a column before.
    Joint,
}

/// Writes some cells of a row. May fail after it has written.
pub(super) type Print = fn(&Row<'_>, &mut Cells<'_>) -> Result<Condition, Error>;

impl Cell {
    /// A text, empty where it is absent.
    pub(super) fn plain(path: &str) -> Self {
        Self::Text(Path::of(path), "")
    }

    pub(super) fn optional(path: &str, absent: &'static str) -> Self {
        Self::Optional(Path::of(path), absent)
    }

    /// A whole number, 0 where it is absent.
    pub(super) fn number(path: &str) -> Self {
        Self::Number(Path::of(path), 0)
    }

    pub(super) fn count(path: &str) -> Self {
        Self::Count(vec![Path::of(path)])
    }

    /// What it has to know of an object, in the order in which [`Cell::write`] wants it.
    pub(super) fn reads(&self) -> Vec<Read<'_>> {
        match self {
            Self::Name | Self::Age | Self::Function(_) | Self::Joint => Vec::new(),
            Self::Count(paths) => paths.iter().map(Read::Count).collect(),
            Self::Ratio(parts) => parts.iter().map(|(path, _)| Read::Value(path)).collect(),
            Self::Since(path, _)
            | Self::Text(path, _)
            | Self::Optional(path, _)
            | Self::Number(path, _)
            | Self::Switch(path)
            | Self::Joined(path, _)
            | Self::Pairs(path)
            | Self::Selector(path, _)
            | Self::Custom(path, _, _) => vec![Read::Value(path)],
        }
    }

    /// How many paths those are.
    pub(super) fn slots(&self) -> usize {
        match self {
            Self::Name | Self::Age | Self::Function(_) | Self::Joint => 0,
            Self::Count(paths) => paths.len(),
            Self::Ratio(parts) => parts.len(),
            Self::Since(..)
            | Self::Text(..)
            | Self::Optional(..)
            | Self::Number(..)
            | Self::Switch(_)
            | Self::Joined(..)
            | Self::Pairs(_)
            | Self::Selector(..)
            | Self::Custom(..) => 1,
        }
    }

    /// Writes the cell, and what it tells of the whole row, if anything.
    pub(super) fn write(
        &self,
        found: &[Slot<'_>],
        row: &Row<'_>,
        cells: &mut Cells<'_>,
    ) -> Result<Option<Condition>, Error> {
        let first = found.first().unwrap_or(&Slot::Absent);
        match self {
            Self::Name => cells.text(row.name),
            Self::Age => cells.age(row),
            Self::Since(_, absent) => cells.since(first, absent, row)?,
            Self::Text(_, empty) => cells.known_text(first.text()?, Some("\"\""), empty),
            Self::Optional(_, absent) => cells.known_text(first.text()?, None, absent),
            Self::Number(_, absent) => cells.number(first.number(*absent)?),
            Self::Switch(_) => cells.text(switch_text(first.boolean()?)),
            Self::Count(_) => cells.number(found.iter().map(Slot::count).sum()),
            Self::Ratio(parts) => cells.ratio(parts, found)?,
            Self::Joined(_, empty) => cells.joined(first, empty)?,
            Self::Pairs(_) => cells.text(&pairs(&first.read::<Texts<'_>>()?)),
            Self::Selector(_, empty) => {
                cells.text_or(&first.read::<LabelSelector<'_>>()?.text(), empty);
            }
            Self::Custom(_, rest, kind) => custom::write(cells, first, rest, *kind, row.now),
            Self::Function(print) => return print(row, cells).map(Some),
            Self::Joint => {}
        }
        Ok(None)
    }
}

fn switch_text(value: Option<bool>) -> &'static str {
    match value {
        Some(true) => "True",
        Some(false) => "False",
        None => super::UNSET,
    }
}

impl<'a> Slot<'a> {
    /// The JSON that is there; null counts as nothing.
    fn json(&self) -> Option<&'a str> {
        match self {
            Self::Value(json) if *json != "null" => Some(json),
            Self::Value(_) | Self::Absent | Self::Each(_) | Self::Count(_) => None,
        }
    }

    /// What is there, or the default of its type.
    fn read<T: Default + Deserialize<'a>>(&self) -> Result<T, Error> {
        self.json()
            .map_or_else(|| Ok(T::default()), serde_json::from_str)
    }

    /// The text that is there, with its quotes.
    fn text(&self) -> Result<Option<&'a str>, Error> {
        self.json().map(quoted).transpose()
    }

    fn number(&self, absent: i64) -> Result<i64, Error> {
        self.json().map_or(Ok(absent), |json| {
            json.parse()
                .map_err(|_| Error::custom("a whole number was expected"))
        })
    }

    fn boolean(&self) -> Result<Option<bool>, Error> {
        match self.json() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(Error::custom("true or false was expected")),
        }
    }

    fn count(&self) -> i64 {
        match self {
            Self::Count(entries) => *entries,
            Self::Absent | Self::Value(_) | Self::Each(_) => 0,
        }
    }
}

/// JSON that is a text.
fn quoted(json: &str) -> Result<&str, Error> {
    if json.starts_with('"') {
        Ok(json)
    } else {
        Err(Error::custom("a text was expected"))
    }
}

/// The cells of one row, written as JSON.
pub(crate) struct Cells<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Cells<'a> {
    /// Cells that follow what is in `out` already.
    pub(crate) fn after(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// A place to which [`Cells::cut_back`] goes back.
    pub(super) fn mark(&self) -> usize {
        self.out.len()
    }

    pub(super) fn cut_back(&mut self, mark: usize) {
        self.out.truncate(mark);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.out.push(b',');
        serde_json::to_writer(&mut *self.out, text).expect("a text is always encodable");
    }

    pub(super) fn text_or(&mut self, text: &str, absent: &str) {
        self.text(if text.is_empty() { absent } else { text });
    }

    pub(super) fn text_or_none(&mut self, text: &str) {
        self.text_or(text, NONE);
    }

    pub(super) fn number(&mut self, number: i64) {
        self.json(&number.to_string());
    }

    pub(super) fn age(&mut self, row: &Row<'_>) {
        self.text(&age::since(row.created, row.now));
    }

    /// What is JSON already.
    pub(super) fn json(&mut self, json: &str) {
        self.out.push(b',');
        self.out.extend_from_slice(json.as_bytes());
    }

    /// A text as it stands in the object; the other one if it is absent, or is what counts as empty.
    fn known_text(&mut self, json: Option<&str>, empty: Option<&str>, absent: &str) {
        match json {
            Some(json) if Some(json) != empty => self.json(json),
            _ => self.text(absent),
        }
    }

    fn since(&mut self, found: &Slot<'_>, absent: &str, row: &Row<'_>) -> Result<(), Error> {
        match found.read::<Text<'_>>()?.time() {
            Some(time) => self.text(&age::since(Some(time), row.now)),
            None => self.text(absent),
        }
        Ok(())
    }

    fn ratio(&mut self, parts: &[(Path, i64); 2], found: &[Slot<'_>]) -> Result<(), Error> {
        let mut numbers = [0; 2];
        for ((number, (_, absent)), slot) in numbers.iter_mut().zip(parts).zip(found) {
            *number = slot.number(*absent)?;
        }
        let [part, whole] = numbers;
        self.json(&format!("\"{part}/{whole}\""));
        Ok(())
    }

    /// Texts stay as they are encoded: only their quotes are taken off.
    fn joined(&mut self, found: &Slot<'_>, empty: &str) -> Result<(), Error> {
        let Slot::Each(values) = found else {
            self.text(empty);
            return Ok(());
        };
        if values.is_empty() {
            self.text(empty);
            return Ok(());
        }
        self.out.extend_from_slice(b",\"");
        for (index, json) in values.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            let json = json.filter(|json| *json != "null").unwrap_or("\"\"");
            let json = quoted(json)?;
            self.out
                .extend_from_slice(&json.as_bytes()[1..json.len() - 1]);
        }
        self.out.push(b'"');
        Ok(())
    }
}
