//! Client certificates at the handshake: a peer has to prove that it holds the key of what it shows, and no more.
//!
//! Whether the certificate is to be trusted, and as what, is decided after the handshake against each CA by itself
//! ([`crate::caller::authn`]). Deciding here would need one pool of all CAs, in which a certificate of one passes for one of another.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// Between a client and the CA that a host names there is one, or a cross-signed one beside it. The ways through a chain grow
/// with the factorial of its length: with four there are at most 64.
const MAX_INTERMEDIATES: usize = 4;
/// A certificate has one to two KiB.
const MAX_CHAIN: usize = 16 << 10;

/// Accepts every certificate whose key the peer holds, unless it comes with a chain that is longer than any of use, and none at all.
#[derive(Debug)]
pub(super) struct ProvenOnly {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ProvenOnly {
    pub(super) fn new(provider: &CryptoProvider) -> Self {
        Self {
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ClientCertVerifier for ProvenOnly {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// No hints: they would tell strangers which CAs there are, and go stale when these rotate.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let sizes = intermediates.iter().map(|one| one.len());
        if intermediates.len() > MAX_INTERMEDIATES
            || end_entity.len() + sizes.sum::<usize>() > MAX_CHAIN
        {
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
