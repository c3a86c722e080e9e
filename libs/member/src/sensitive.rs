//! Bytes that must not be printed: tokens, keys, kubeconfigs.

use std::fmt;

/// Bytes of a credential. Compared to find out about a rotation; `Debug` shows their length only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sensitive(Vec<u8>);

impl Sensitive {
    /// Takes the bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes, for the one place that needs them.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Whether there is nothing, white space aside.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.0.iter().all(u8::is_ascii_whitespace)
    }
}

impl fmt::Debug for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sensitive({} bytes)", self.0.len())
    }
}
