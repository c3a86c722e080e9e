//! Where a template writes to: text up to a limit.

use std::io;

use handlebars::Output;

/// Longest result, in bytes: what an API server takes as one object.
pub const OUTPUT_LIMIT: usize = 1024 * 1024;

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

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

impl Output for Bounded {
    fn write(&mut self, segment: &str) -> Result<(), io::Error> {
        if self.full || self.text.len() + segment.len() > OUTPUT_LIMIT {
            self.full = true;
            return Err(io::Error::other("result is too long"));
        }
        self.text.push_str(segment);
        Ok(())
    }
}
