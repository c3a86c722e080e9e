//! What fills a column: where each cell's text comes from, and how it is written.

use serde_json::Error;

use super::cells::Cells;
use super::json_path::JsonPath;
use super::object::{Texts, pairs};
use super::projection::{Path, Read};
use super::row::{Condition, Row, UNSET};
use super::shown::{self, Kind};
use super::slot::Slot;
use super::workload::LabelSelector;

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
    /// The first whole number that is there and not 0; the other one where there is none.
    FirstNumber(Vec<Path>, i64),
    /// A whole number; a text where it is absent.
    NumberOr(Path, &'static str),
    /// A whole number or a text, as a text; the other one where it is absent.
    NumberOrText(Path, &'static str),
    /// True or false; the other one where it is absent.
    Boolean(Path, bool),
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
    Custom(Path, JsonPath, Kind),
    /// A text made of what is at some paths.
    Made(Vec<Path>, Make),
    /// Worked out from the whole object. It also writes the cells of the [`Cell::Joint`] columns that follow.
    Function(Print),
    /// Written by the function of a column before.
    Joint,
}

/// Makes a text.
pub(super) type Make = fn(&[Slot<'_>], &Row<'_>) -> Result<String, Error>;

/// Writes some cells of a row. May fail after it has written.
pub(super) type Print = fn(&Row<'_>, &mut Cells<'_>) -> Result<Condition, Error>;

impl Cell {
    /// A text, empty where it is absent.
    pub(super) fn plain(path: &str) -> Self {
        Self::Text(Path::of(path), "")
    }

    pub(super) fn text_or(path: &str, empty: &'static str) -> Self {
        Self::Text(Path::of(path), empty)
    }

    pub(super) fn optional(path: &str, absent: &'static str) -> Self {
        Self::Optional(Path::of(path), absent)
    }

    /// A whole number, 0 where it is absent.
    pub(super) fn number(path: &str) -> Self {
        Self::Number(Path::of(path), 0)
    }

    /// True or false, false where it is absent.
    pub(super) fn boolean(path: &str) -> Self {
        Self::Boolean(Path::of(path), false)
    }

    pub(super) fn count(path: &str) -> Self {
        Self::Count(vec![Path::of(path)])
    }

    /// A text made of what is at these paths.
    pub(super) fn made(paths: &[&str], make: Make) -> Self {
        Self::Made(paths.iter().map(|path| Path::of(path)).collect(), make)
    }

    /// What it has to know of an object, in the order in which [`Cell::write`] wants it.
    pub(super) fn reads(&self) -> Vec<Read<'_>> {
        match self {
            Self::Name | Self::Age | Self::Function(_) | Self::Joint => Vec::new(),
            Self::Count(paths) => paths.iter().map(Read::Count).collect(),
            Self::Made(paths, _) | Self::FirstNumber(paths, _) => {
                paths.iter().map(Read::Value).collect()
            }
            Self::Ratio(parts) => parts.iter().map(|(path, _)| Read::Value(path)).collect(),
            Self::Since(path, _)
            | Self::Text(path, _)
            | Self::Optional(path, _)
            | Self::Number(path, _)
            | Self::NumberOr(path, _)
            | Self::NumberOrText(path, _)
            | Self::Boolean(path, _)
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
            Self::Count(paths) | Self::Made(paths, _) | Self::FirstNumber(paths, _) => paths.len(),
            Self::Ratio(parts) => parts.len(),
            Self::Since(..)
            | Self::Text(..)
            | Self::Optional(..)
            | Self::Number(..)
            | Self::NumberOr(..)
            | Self::NumberOrText(..)
            | Self::Boolean(..)
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
            Self::Boolean(_, absent) => {
                cells.json(boolean_text(first.boolean()?.unwrap_or(*absent)));
            }
            Self::NumberOr(_, absent) => cells.number_or(first, absent)?,
            Self::NumberOrText(_, absent) => cells.number_or_text(first, absent)?,
            Self::Switch(_) => cells.text(switch_text(first.boolean()?)),
            Self::Count(_) => cells.number(found.iter().map(Slot::count).sum()),
            Self::Ratio(parts) => cells.ratio(parts, found)?,
            Self::Joined(_, empty) => cells.joined(first, empty)?,
            Self::Pairs(_) => cells.text(&pairs(&first.read::<Texts<'_>>()?)),
            Self::Selector(_, empty) => {
                cells.text_or(&first.read::<LabelSelector<'_>>()?.text(), empty);
            }
            Self::Custom(_, rest, kind) => shown::write(cells, first, rest, *kind, row.now),
            Self::FirstNumber(_, absent) => cells.first_number(found, *absent)?,
            Self::Made(_, make) => cells.text(&make(found, row)?),
            Self::Function(print) => return print(row, cells).map(Some),
            Self::Joint => {}
        }
        Ok(None)
    }
}

fn boolean_text(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn switch_text(value: Option<bool>) -> &'static str {
    match value {
        Some(true) => "True",
        Some(false) => "False",
        None => UNSET,
    }
}
