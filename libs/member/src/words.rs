//! What a member says, made fit to be repeated where it comes in: in a condition, a log line, a row of the store. Pure.

use std::fmt;

/// Of a longer text the beginning tells what is wrong.
const MOST_CHARS: usize = 1024;

/// One line of a member's words: not too long, and without a character that would begin another line or steer a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(String);

impl Words {
    /// The words of `text`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self::within(MOST_CHARS, text)
    }

    /// No more than so many characters of them.
    pub(crate) fn within(most: usize, text: &str) -> Self {
        let mut words = String::new();
        let mut is_apart = false;
        for character in text.chars().take(most) {
            if is_blank(character) {
                is_apart = !words.is_empty();
                continue;
            }
            if std::mem::take(&mut is_apart) {
                words.push(' ');
            }
            words.push(character);
        }
        Self(words)
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whatever is no letter of a line: blanks and controls, those of Unicode that end a line or turn its direction included.
fn is_blank(character: char) -> bool {
    let turns = ['\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}'].contains(&character)
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2066}'..='\u{2069}').contains(&character);
    turns || character.is_whitespace() || character.is_control()
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        Self::of(text)
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::of(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_line_that_steers_nothing() {
        let said = " down\n2026-01-01T00:00:00Z  INFO all is well\t\u{1b}[2Jgone\u{202e}\u{0}!";
        let want = "down 2026-01-01T00:00:00Z INFO all is well [2Jgone !";
        assert_eq!(Words::of(said).as_str(), want);
        assert_eq!(Words::of("\r\n \u{7f}"), Words::default());
    }

    #[test]
    fn words_are_cut() {
        let said = "ä".repeat(4 << 20);
        assert_eq!(Words::of(&said).as_str().chars().count(), MOST_CHARS);
    }
}
