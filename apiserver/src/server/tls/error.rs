//! What can be wrong with our own certificate.

use std::path::PathBuf;

/// A serving certificate that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("{path:?} cannot be read")]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("the serving certificate or its key is not PEM of the right kind")]
    Pem(#[from] rustls::pki_types::pem::Error),
    /// The certificate and the key do not belong together, or are of a kind that is not known.
    #[error("the serving certificate cannot be used")]
    Unusable(#[from] rustls::Error),
    /// Whoever keeps it has ended.
    #[error("nobody shows the serving certificate any more")]
    NotShown,
    /// A certificate cannot be made, for example because a name is none.
    #[error("a serving certificate cannot be made")]
    Made(#[from] rcgen::Error),
}
