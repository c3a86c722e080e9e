//! A CA and a serving certificate made on the spot, for a server that was given none.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

use super::error::CertificateError;

/// A serving certificate and the CA that made it. The CA's key is thrown away: it signs this one certificate.
pub struct SelfMade {
    ca: String,
    certificate: String,
    key: String,
}

impl std::fmt::Debug for SelfMade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SelfMade")
            .field("ca", &self.ca)
            .finish_non_exhaustive()
    }
}

/// A new one is made at every start, long before this has passed.
const VALID: Duration = Duration::days(366);
/// Clocks of two machines may differ.
const SKEW: Duration = Duration::minutes(5);

impl SelfMade {
    /// Makes a certificate for these DNS names and addresses.
    pub fn for_names(names: &[String]) -> Result<Self, CertificateError> {
        let now = OffsetDateTime::now_utc();
        let ca_key = KeyPair::generate()?;
        let mut ca = params(Vec::new(), "armadex-ca", now)?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let ca_certificate = ca.self_signed(&ca_key)?;
        let issuer = Issuer::new(ca, ca_key);

        let key = KeyPair::generate()?;
        let mut leaf = params(names.to_vec(), "armadex", now)?;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.use_authority_key_identifier_extension = true;
        let certificate = leaf.signed_by(&key, &issuer)?;
        Ok(Self {
            ca: ca_certificate.pem(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// The CA to trust, as PEM: the `caBundle` of an APIService, the `certificate-authority-data` of a kubeconfig.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        &self.ca
    }

    /// The serving certificate and its key, as PEM.
    pub(super) fn pem(&self) -> (&[u8], &[u8]) {
        (self.certificate.as_bytes(), self.key.as_bytes())
    }
}

fn params(
    names: Vec<String>,
    common_name: &str,
    now: OffsetDateTime,
) -> Result<CertificateParams, CertificateError> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.not_before = now - SKEW;
    params.not_after = now + VALID;
    Ok(params)
}
