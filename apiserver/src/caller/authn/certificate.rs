//! A client's certificate: whether a CA vouches for it, and whom it names.

use std::time::Duration;

use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// A CA that is believed while its own certificate is valid, as a kube-apiserver believes it: the key of one that has ended may lie anywhere. The
/// verifier of chains knows nothing of that time.
#[derive(Debug)]
pub(super) struct Anchor {
    trust: TrustAnchor<'static>,
    validity: Validity,
}

/// When a certificate is valid, in seconds since 1970; both are valid ones.
#[derive(Clone, Copy, Debug)]
struct Validity {
    first: i64,
    last: i64,
}

impl Anchor {
    /// The CA of this certificate; `None` if it is none.
    pub(super) fn of(certificate: &CertificateDer<'static>) -> Option<Self> {
        let trust = webpki::anchor_from_trusted_cert(certificate).ok()?;
        Some(Self {
            trust: trust.to_owned(),
            validity: Validity::of(&parsed(certificate)?),
        })
    }
}

impl Validity {
    fn of(certificate: &X509Certificate<'_>) -> Self {
        let validity = certificate.validity();
        Self {
            first: validity.not_before.timestamp(),
            last: validity.not_after.timestamp(),
        }
    }

    fn holds(self, now: UnixTime) -> bool {
        i64::try_from(now.as_secs()).is_ok_and(|now| (self.first..=self.last).contains(&now))
    }

    /// When it next begins or ceases.
    fn changes_after(self, now: UnixTime) -> Option<u64> {
        let instants = [self.first, self.last.saturating_add(1)];
        let instants = instants.into_iter().filter_map(|at| u64::try_from(at).ok());
        instants.filter(|at| *at > now.as_secs()).min()
    }
}

/// The leaf of a chain, if one of these anchors vouches for it as a client. How long a chain may be is limited at the handshake.
pub(super) fn verified_leaf<'a>(
    chain: &'a [CertificateDer<'static>],
    anchors: &[Anchor],
    now: UnixTime,
) -> Option<X509Certificate<'a>> {
    let (leaf, intermediates) = chain.split_first()?;
    let certificate = EndEntityCert::try_from(leaf).ok()?;
    let algorithms = rustls::crypto::ring::default_provider()
        .signature_verification_algorithms
        .all;
    let valid = anchors.iter().filter(|anchor| anchor.validity.holds(now));
    let valid: Vec<_> = valid.map(|anchor| anchor.trust.clone()).collect();
    let usage = KeyUsage::client_auth();
    certificate
        .verify_for_usage(algorithms, &valid, intermediates, now, usage, None, None)
        .ok()?;
    parsed(leaf)
}

/// When one of these certificates or CAs next begins or ceases to be valid; until then the clock changes no verdict.
pub(super) fn changes_at<'a>(
    chain: &[CertificateDer<'static>],
    anchors: impl Iterator<Item = &'a Anchor>,
    now: UnixTime,
) -> UnixTime {
    let of_chain = chain.iter().filter_map(parsed);
    let of_chain = of_chain.map(|certificate| Validity::of(&certificate));
    let all = of_chain.chain(anchors.map(|anchor| anchor.validity));
    let next = all.filter_map(|validity| validity.changes_after(now)).min();
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
