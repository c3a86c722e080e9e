//! The other end of a connection.

use rustls::pki_types::CertificateDer;

/// What is known of the other end of a connection: the certificates it proved to hold, leaf first. They are not trusted yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    pub(crate) certificates: Vec<CertificateDer<'static>>,
}
