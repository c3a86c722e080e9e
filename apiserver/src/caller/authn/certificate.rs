//! A client's certificate: whether a CA vouches for it, and whom it names.

use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The leaf of a chain, if one of these anchors vouches for it as a client.
pub(super) fn verified_leaf<'a>(
    chain: &'a [CertificateDer<'static>],
    anchors: &[TrustAnchor<'static>],
    now: UnixTime,
) -> Option<X509Certificate<'a>> {
    let (leaf, intermediates) = chain.split_first()?;
    let certificate = EndEntityCert::try_from(leaf).ok()?;
    let algorithms = rustls::crypto::ring::default_provider()
        .signature_verification_algorithms
        .all;
    let vouches = |anchor: &TrustAnchor<'static>| {
        let usage = KeyUsage::client_auth();
        let anchor = std::slice::from_ref(anchor);
        certificate
            .verify_for_usage(algorithms, anchor, intermediates, now, usage, None, None)
            .is_ok()
    };
    if !anchors.iter().any(vouches) {
        return None;
    }
    X509Certificate::from_der(leaf)
        .ok()
        .map(|(_, parsed)| parsed)
}

/// The last common name, as Go reads a subject.
pub(super) fn common_name<'a>(certificate: &'a X509Certificate<'_>) -> Option<&'a str> {
    certificate
        .subject()
        .iter_common_name()
        .last()?
        .as_str()
        .ok()
}
