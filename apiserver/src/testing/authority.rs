//! A certificate authority made for one test.

use std::collections::BTreeMap;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::OffsetDateTime;

use crate::caller::authn::Peer;

/// Longer than any test.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// Signs certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        Self::of(params(name, &[]))
    }

    /// One that ends soon.
    pub(crate) fn valid_for(name: &str, time: Duration) -> Self {
        let mut params = params(name, &[]);
        params.not_after = OffsetDateTime::now_utc() + time;
        Self::of(params)
    }

    fn of(mut params: CertificateParams) -> Self {
        let key = KeyPair::generate().expect("a key");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let pem = params.self_signed(&key).expect("a CA").pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// Its own certificate.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.pem.as_bytes()).expect("a CA")
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// A client certificate and its key.
    pub(crate) fn client(
        &self,
        name: &str,
        organisations: &[&str],
    ) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        self.leaf(
            name,
            organisations,
            ExtendedKeyUsagePurpose::ClientAuth,
            A_DAY,
        )
    }

    /// A peer that has proved to hold such a certificate.
    pub(crate) fn peer(&self, name: &str, organisations: &[&str]) -> Peer {
        Peer::new(vec![self.client(name, organisations).0])
    }

    /// A peer whose certificate ends soon.
    pub(crate) fn peer_valid_for(&self, name: &str, time: Duration) -> Peer {
        let usage = ExtendedKeyUsagePurpose::ClientAuth;
        Peer::new(vec![self.leaf(name, &[], usage, time).0])
    }

    /// A peer that shows a certificate made for servers.
    pub(crate) fn serving_peer(&self, name: &str) -> Peer {
        let (certificate, _) = self.leaf(name, &[], ExtendedKeyUsagePurpose::ServerAuth, A_DAY);
        Peer::new(vec![certificate])
    }

    fn leaf(
        &self,
        name: &str,
        organisations: &[&str],
        usage: ExtendedKeyUsagePurpose,
        valid_for: Duration,
    ) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = KeyPair::generate().expect("a key");
        let mut params = params(name, organisations);
        params.extended_key_usages = vec![usage];
        params.not_after = OffsetDateTime::now_utc() + valid_for;
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        (certificate.der().clone(), key.into())
    }
}

fn params(name: &str, organisations: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    // One attribute for each: rcgen keeps one value for a type, so the numbers of the type are written out for the others.
    for (index, organisation) in organisations.iter().enumerate() {
        let kind = match index {
            0 => DnType::OrganizationName,
            _ => DnType::CustomDnType(vec![2, 5, 4, 10]),
        };
        params.distinguished_name.push(kind, *organisation);
    }
    params
}

/// The data of `kube-system/extension-apiserver-authentication` of a host with these CAs.
pub(crate) fn extension_authentication(
    front_proxy: &Authority,
    clients: &Authority,
) -> BTreeMap<String, String> {
    [
        ("client-ca-file", clients.pem()),
        ("requestheader-client-ca-file", front_proxy.pem()),
        ("requestheader-allowed-names", r#"["front-proxy-client"]"#),
        ("requestheader-username-headers", r#"["X-Remote-User"]"#),
        ("requestheader-uid-headers", r#"["X-Remote-Uid"]"#),
        ("requestheader-group-headers", r#"["X-Remote-Group"]"#),
        (
            "requestheader-extra-headers-prefix",
            r#"["X-Remote-Extra-"]"#,
        ),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .collect()
}
