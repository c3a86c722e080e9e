//! Client certificates nobody vouches for, with chains that a verifier gets lost in.

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::hostile::target::Identity;

/// Each certificate is issued by the next: as long as a chain can be that still fits into a handshake with room to spare.
pub(super) fn long(length: usize) -> Result<Identity> {
    build(length, |depth| format!("authority {depth}"))
}

/// All authorities have the name of the one that is trusted, so that each may have issued every other, and it each of them: the number of
/// paths grows with the power of the depth, and each ends in a signature to be checked.
pub(super) fn tangled(length: usize, trusted: &str) -> Result<Identity> {
    build(length, |_| trusted.to_owned())
}

fn build(length: usize, name: impl Fn(usize) -> String) -> Result<Identity> {
    let mut chain = Vec::with_capacity(length + 1);
    let mut issuer = Issuer::new(authority(&name(length)), KeyPair::generate()?);
    for depth in (0..length).rev() {
        let key = KeyPair::generate()?;
        let parameters = authority(&name(depth));
        chain.push(certificate(parameters.signed_by(&key, &issuer)?.der()));
        issuer = Issuer::new(parameters, key);
    }
    let key = KeyPair::generate()?;
    chain.push(certificate(leaf().signed_by(&key, &issuer)?.der()));
    chain.reverse();
    Ok(Identity {
        chain,
        key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
    })
}

fn certificate(der: &CertificateDer<'_>) -> CertificateDer<'static> {
    der.clone().into_owned()
}

fn authority(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    parameters
}

fn leaf() -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters
        .distinguished_name
        .push(DnType::CommonName, "stranger");
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_as_long_as_asked_with_the_leaf_first() {
        let identity = long(5).expect("a chain");
        assert_eq!(identity.chain.len(), 6);
        let contains = |index: usize, text: &str| {
            let der: &[u8] = &identity.chain[index];
            der.windows(text.len()).any(|part| part == text.as_bytes())
        };
        assert!(contains(0, "stranger") && !contains(5, "stranger"));
        assert!(contains(1, "authority 0") && contains(5, "authority 4"));
    }
}
