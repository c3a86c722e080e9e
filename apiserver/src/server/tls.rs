//! TLS: our certificate to clients, and theirs to us.

mod error;
mod peer;
mod self_made;
mod serving;

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;

pub use error::CertificateError;
pub use self_made::SelfMade;
pub use serving::{Certificate, KeptPem};
pub(crate) use serving::{Serving, follow, keep_fresh};

/// HTTP/2 for those who know it.
pub(crate) const H2: &[u8] = b"h2";

/// The TLS settings of the server: TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1, client certificates welcome.
pub(crate) fn server_config(serving: Arc<Serving>) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(Arc::new(peer::ProvenOnly::new(&provider)))
        .with_cert_resolver(serving);
    config.alpn_protocols = vec![H2.to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests;
