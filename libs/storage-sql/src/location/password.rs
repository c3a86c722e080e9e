//! A password, which is never printed, and where it comes from.

use std::fmt;
use std::path::{Path, PathBuf};

/// A text that is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text from being printed.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever shows it to the server.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[not shown]")
    }
}

/// Where the password of a server comes from.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Password {
    /// The server lets us in without one: by our certificate, or by who we are on this machine.
    #[default]
    None,
    /// It was given.
    Given(Secret),
    /// It stands in a file, which may change: it is read again for new connections.
    File(PathBuf),
}

/// A file with a password that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the password file {} cannot be used", path.display())]
pub struct UnreadablePassword {
    path: PathBuf,
    source: std::io::Error,
}

impl Password {
    /// The password as it is now.
    pub fn read(&self) -> Result<Option<Secret>, UnreadablePassword> {
        match self {
            Self::None => Ok(None),
            Self::Given(secret) => Ok(Some(secret.clone())),
            Self::File(path) => read_file(path).map(Some),
        }
    }
}

/// The end of its line is not part of a password: editors and `echo` write one.
fn read_file(path: &Path) -> Result<Secret, UnreadablePassword> {
    let text = std::fs::read_to_string(path).map_err(|source| UnreadablePassword {
        path: path.to_owned(),
        source,
    })?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    Ok(Secret::new(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_the_line_of_its_file_as_it_is_now() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("password");
        let password = Password::File(path.clone());
        let missing = password.read().expect_err("no file yet");
        assert!(missing.to_string().contains(path.to_str().expect("text")));
        for (text, expected) in [
            ("one", "one"),
            ("two\n", "two"),
            (" three \r\n", " three "),
            ("four\n\n", "four\n"),
        ] {
            std::fs::write(&path, text).expect("written");
            let read = password.read().expect("readable");
            assert_eq!(read, Some(Secret::new(expected)));
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        let password = Password::Given(Secret::new("hunter2"));
        assert_eq!(format!("{password:?}"), "Given([not shown])");
    }
}
