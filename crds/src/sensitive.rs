//! What must not be printed: tokens, keys, kubeconfigs, and objects that may hold them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that may be a credential. Compared to find out about a rotation; `Debug` shows nothing of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sensitive<T = Vec<u8>>(T);

impl Sensitive {
    /// Takes bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Whether there is nothing, white space aside.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.0.iter().all(u8::is_ascii_whitespace)
    }
}

impl<T> Sensitive<T> {
    /// It, for the one place that needs it.
    #[must_use]
    pub const fn expose(&self) -> &T {
        &self.0
    }

    /// It, for the one place that changes it.
    #[must_use]
    pub const fn expose_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> From<T> for Sensitive<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> fmt::Debug for Sensitive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sensitive(not shown)")
    }
}
