//! A client's certificate: whether a CA vouches for it, and whom it names.

use std::time::Duration;

use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The leaf of a chain, if one of these anchors vouches for it as a client. How long a chain may be is limited at the handshake.
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
    let usage = KeyUsage::client_auth();
    certificate
        .verify_for_usage(algorithms, anchors, intermediates, now, usage, None, None)
        .ok()?;
    parsed(leaf)
}

/// When one of these certificates next begins or ceases to be valid; until then the clock changes no verdict.
pub(super) fn changes_at(chain: &[CertificateDer<'static>], now: UnixTime) -> UnixTime {
    let instants = chain.iter().filter_map(parsed).flat_map(|certificate| {
        let validity = certificate.validity();
        // The last second of a certificate is a valid one.
        [
            validity.not_before.timestamp(),
            validity.not_after.timestamp().saturating_add(1),
        ]
    });
    let next = instants
        .filter_map(|instant| u64::try_from(instant).ok())
        .filter(|instant| *instant > now.as_secs())
        .min();
    UnixTime::since_unix_epoch(Duration::from_secs(next.unwrap_or(u64::MAX)))
}

fn parsed<'a>(certificate: &'a CertificateDer<'static>) -> Option<X509Certificate<'a>> {
    X509Certificate::from_der(certificate)
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
