//! Where a template writes to: text up to a limit.

use std::{fmt, io};

use handlebars::Output;

/// Longest result, in bytes: what an API server takes as one object.
pub const OUTPUT_LIMIT: usize = 1024 * 1024;

/// Where values are written to.
pub(super) trait Out: fmt::Write {
    /// Called before so many values in a list or map are looked at. What is written of them may be next to nothing: who holds what a template
    /// does to its limits counts them here.
    fn look_at(&mut self, values: usize) -> fmt::Result;
}

/// Takes text until [`OUTPUT_LIMIT`], then fails for good.
#[derive(Default)]
pub(super) struct Bounded {
    text: String,
    full: bool,
}

impl Bounded {
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Takes text if there is room for it.
    pub(super) fn put(&mut self, text: &str) -> fmt::Result {
        self.full |= self.text.len() + text.len() > OUTPUT_LIMIT;
        if self.full {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

impl Output for Bounded {
    fn write(&mut self, segment: &str) -> Result<(), io::Error> {
        let put = self.put(segment);
        put.map_err(|_| io::Error::other("result is too long"))
    }
}

impl Out for Bounded {
    /// As little as is written of each, it is something, and of that there is no more than fits.
    fn look_at(&mut self, _: usize) -> fmt::Result {
        Ok(())
    }
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text)
    }
}
