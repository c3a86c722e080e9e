//! Looks over a template before it is parsed: the parser's time grows with the square of the tags
//! and of their nesting, and a template of the longest length would take it minutes. The parser calls
//! itself for what stands in each other, so that is bounded before it begins.
//!
//! There are two looks. One goes along the grammar, knows strings and comments from tags, and says where something is wrong. The other
//! counts marks wherever they stand: it can't be misled about what a mark is, and whatever the first one misjudges, the parser is not
//! begun for more than it bounds.

use super::{
    rules::{TAG_LIMIT, TemplateError},
    scan::{Role, Tag, Unclear, Why, scan},
    tags::place,
};

/// Deeper blocks than anyone writes; keeps rendering off the end of the stack. An `else if` is one
/// level deeper than what it is the other case of.
pub(super) const DEPTH_LIMIT: usize = 32;

/// Pairs of opening braces in one template, also those in strings and comments: as many again as there are tags. The parser takes four
/// times as long for them.
pub const BRACES_LIMIT: usize = 2 * TAG_LIMIT;

/// Marks that something else may stand in, `(`, `[` and `{`, wherever they are in a template: one for each 16 bytes of the longest.
/// What the parser takes of its stack for each of them is at `STACK`.
pub const OPENING_LIMIT: usize = 4096;

/// What has been counted so far.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// Of each block that is open: its own, and one for each `else if`.
    open: Vec<usize>,
    depth: usize,
    pub(super) tags: usize,
    pub(super) calls: usize,
    /// The most blocks in each other.
    pub(super) deepest: usize,
    /// The most calls in each other.
    pub(super) deepest_calls: usize,
}

impl Levels {
    pub(super) fn add(&mut self, tag: Tag) {
        self.tags += 1;
        self.calls += tag.calls;
        self.deepest_calls = self.deepest_calls.max(tag.deepest);
        match tag.role {
            Role::Opens => {
                self.open.push(1);
                self.depth += 1;
            }
            Role::Closes => self.depth -= self.open.pop().unwrap_or_default(),
            Role::OtherCase => {
                if let Some(levels) = self.open.last_mut() {
                    *levels += 1;
                    self.depth += 1;
                }
            }
            Role::Plain => {}
        }
        self.deepest = self.deepest.max(self.depth);
    }

    fn exceeded(&self) -> Option<String> {
        if self.deepest > DEPTH_LIMIT {
            Some("blocks are nested too deep".to_owned())
        } else if self.deepest_calls > DEPTH_LIMIT {
            Some(CALLS_TOO_DEEP.to_owned())
        } else if self.tags > TAG_LIMIT {
            Some(format!("a template has no more than {TAG_LIMIT} tags"))
        } else {
            None
        }
    }
}

pub(super) const CALLS_TOO_DEEP: &str = "calls are nested too deep";

/// Checks number and nesting of the tags.
pub(super) fn check(text: &str) -> Result<(), TemplateError> {
    let mut levels = Levels::default();
    for tag in scan(text) {
        let tag = tag.map_err(|unclear| of_unclear(text, unclear))?;
        levels.add(tag);
        if let Some(message) = levels.exceeded() {
            return Err(wrong(text, tag.at, message));
        }
    }
    check_marks(text)
}

/// Checks what is counted without a look at what it means.
fn check_marks(text: &str) -> Result<(), TemplateError> {
    let braces = nth(braces(text), BRACES_LIMIT).map(|at| {
        let message = format!(
            "a template has no more than {BRACES_LIMIT} pairs of braces, with those in strings and comments"
        );
        (at, message)
    });
    let openings = || {
        let at = nth(openings(text), OPENING_LIMIT)?;
        let message = format!(
            "a template has no more than {OPENING_LIMIT} parentheses, brackets and braces that open"
        );
        Some((at, message))
    };
    match braces.or_else(openings) {
        Some((at, message)) => Err(wrong(text, at, message)),
        None => Ok(()),
    }
}

/// Where braces open that may be a tag. Of several that follow each other one tag can begin.
pub(super) fn braces(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let pairs = bytes.windows(2).enumerate();
    pairs.filter_map(|(at, pair)| {
        let goes_on = at > 0 && bytes[at - 1] == b'{';
        (pair == b"{{" && !goes_on).then_some(at)
    })
}

/// Where something opens that something else may stand in.
pub(super) fn openings(text: &str) -> impl Iterator<Item = usize> {
    let marks = text.bytes().enumerate();
    marks.filter_map(|(at, byte)| b"([{".contains(&byte).then_some(at))
}

fn nth(mut places: impl Iterator<Item = usize>, limit: usize) -> Option<usize> {
    places.nth(limit)
}

fn of_unclear(text: &str, Unclear { at, why }: Unclear) -> TemplateError {
    match why {
        Why::NotOffered(message) => wrong(text, at, message.to_owned()),
        Why::NotClosed(what) => {
            let (line, column) = place(text, at);
            let message = format!("{what} is not closed");
            TemplateError::Syntax {
                line,
                column,
                message,
            }
        }
    }
}

fn wrong(text: &str, at: usize, message: String) -> TemplateError {
    let (line, column) = place(text, at);
    TemplateError::Meaning {
        line,
        column,
        message,
    }
}
