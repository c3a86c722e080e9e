//! What can be wrong with a kept certificate.

/// Why a certificate cannot be made, or what is there cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// For example because a name is none.
    #[error("a serving certificate cannot be made: {0}")]
    Made(#[from] rcgen::Error),
    /// What is kept is damaged, or was made by something else.
    #[error("what is kept cannot be read: {0}")]
    Unreadable(&'static str),
}
