//! What does not come about and why, in the words of the condition that the controllers would set.

use std::fmt;

use crate::visible::visible;

/// One thing that does not come about.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The policy, and the source object if it is of one.
    pub(super) subject: String,
    /// Type and reason of the condition that would tell it; none where the controllers have no word for it.
    pub(super) condition: Option<(&'static str, String)>,
    /// The condition's message.
    pub(super) message: String,
    /// The way out, if it is one of the files.
    pub(super) hint: Option<String>,
    /// The policy leaves it out, and nothing is wrong with that.
    pub(super) is_choice: bool,
    /// The place in the policy.
    pub(super) excerpt: Option<String>,
}

impl Refusal {
    /// With all that helps to mend it.
    pub(super) fn in_full(&self) -> String {
        let mut words = self.to_string();
        if let Some(hint) = &self.hint {
            words.push_str(&format!(": {hint}"));
        }
        words.push('\n');
        if let Some(excerpt) = &self.excerpt {
            words.push_str(excerpt);
        }
        words
    }
}

/// In one line.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", visible(&self.subject))?;
        if let Some((type_, reason)) = &self.condition {
            write!(f, "{type_}=False, {reason}: ")?;
        }
        let words: Vec<&str> = self.message.split_whitespace().collect();
        f.write_str(&visible(&words.join(" ")))
    }
}
