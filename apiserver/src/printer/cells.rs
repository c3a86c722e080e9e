//! The writer of cells: JSON, each after a comma, and all of a row no longer together than they may be.

use serde_json::Error;

use super::age;
use super::cut::{CUT, fitting};
use super::object::Text;
use super::projection::Path;
use super::row::{NONE, Row};
use super::slot::{Slot, quoted};

/// The cells of one row, written as JSON.
pub(crate) struct Cells<'a> {
    out: &'a mut Vec<u8>,
    /// What the cells that follow may have. A text that has more is cut.
    left: usize,
}

impl<'a> Cells<'a> {
    /// Cells that follow what is in `out` already.
    pub(crate) fn after(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            left: usize::MAX,
        }
    }

    /// Lets the cells that follow have so many bytes together.
    pub(super) fn limit(&mut self, bytes: usize) {
        self.left = bytes;
    }

    /// A place to which [`Cells::cut_back`] goes back.
    pub(super) fn mark(&self) -> usize {
        self.out.len()
    }

    pub(super) fn cut_back(&mut self, mark: usize) {
        self.out.truncate(mark);
    }

    pub(crate) fn text(&mut self, text: &str) {
        let before = self.out.len();
        self.out.push(b',');
        serde_json::to_writer(&mut *self.out, text).expect("a text is always encodable");
        self.fit(before);
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
        let text = json
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        match text {
            Some(text) if json.len() > self.left => {
                self.out.push(b'"');
                let fitting = fitting(text, self.left);
                self.out.extend_from_slice(fitting.as_bytes());
                self.out.extend_from_slice(CUT.as_bytes());
                self.out.push(b'"');
            }
            _ => self.out.extend_from_slice(json.as_bytes()),
        }
        self.left = self.left.saturating_sub(json.len());
    }

    /// Cuts the cell that begins there, if it is a text and too long.
    fn fit(&mut self, start: usize) {
        let length = self.out.len() - start;
        if length <= self.left {
            self.left -= length;
            return;
        }
        let cell = self.out.split_off(start);
        self.json(std::str::from_utf8(&cell[1..]).expect("it was made of texts"));
    }

    /// A text as it stands in the object; the other one if it is absent, or is what counts as empty.
    pub(super) fn known_text(&mut self, json: Option<&str>, empty: Option<&str>, absent: &str) {
        match json {
            Some(json) if Some(json) != empty => self.json(json),
            _ => self.text(absent),
        }
    }

    pub(super) fn first_number(&mut self, found: &[Slot<'_>], absent: i64) -> Result<(), Error> {
        for slot in found {
            let number = slot.number(0)?;
            if number != 0 {
                self.number(number);
                return Ok(());
            }
        }
        self.number(absent);
        Ok(())
    }

    pub(super) fn number_or(&mut self, found: &Slot<'_>, absent: &str) -> Result<(), Error> {
        match found.whole()? {
            Some(number) => self.number(number),
            None => self.text(absent),
        }
        Ok(())
    }

    pub(super) fn number_or_text(&mut self, found: &Slot<'_>, absent: &str) -> Result<(), Error> {
        match found.text() {
            Ok(json) => self.known_text(json, None, absent),
            Err(_) => self.text(&found.number(0)?.to_string()),
        }
        Ok(())
    }

    pub(super) fn since(
        &mut self,
        found: &Slot<'_>,
        absent: &str,
        row: &Row<'_>,
    ) -> Result<(), Error> {
        match found.read::<Text<'_>>()?.time() {
            Some(time) => self.text(&age::since(Some(time), row.now)),
            None => self.text(absent),
        }
        Ok(())
    }

    pub(super) fn ratio(
        &mut self,
        parts: &[(Path, i64); 2],
        found: &[Slot<'_>],
    ) -> Result<(), Error> {
        let mut numbers = [0; 2];
        for ((number, (_, absent)), slot) in numbers.iter_mut().zip(parts).zip(found) {
            *number = slot.number(*absent)?;
        }
        let [part, whole] = numbers;
        self.json(&format!("\"{part}/{whole}\""));
        Ok(())
    }

    /// Texts stay as they are encoded: only their quotes are taken off.
    pub(super) fn joined(&mut self, found: &Slot<'_>, empty: &str) -> Result<(), Error> {
        let Slot::Each(values) = found else {
            self.text(empty);
            return Ok(());
        };
        if values.is_empty() {
            self.text(empty);
            return Ok(());
        }
        let before = self.out.len();
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
        self.fit(before);
        Ok(())
    }
}
