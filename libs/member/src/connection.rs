//! How to reach a member, checked: the value between [`crate::validate()`] and [`crate::Member`].

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv6Addr;

use http::Uri;
use http::uri::Scheme;
use sha2::{Digest as _, Sha256};

use crate::allow_list::AllowList;
use crate::error::ConfigError;
use armadex_crds::{ControlPlaneProxy, Sensitive};

/// How to reach a member. Two equal ones need no new connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The API server.
    pub server: Endpoint,
    /// Whom to believe to be it.
    pub trust: Trust,
    /// The name in its certificate, where it is not the endpoint's host.
    pub server_name: Option<String>,
    /// Bearer token.
    pub token: Option<Sensitive>,
    /// Client certificate.
    pub certificate: Option<ClientCertificate>,
    /// Forward proxy on the way.
    pub proxy: Option<Proxy>,
    /// What names may lead to.
    pub allowed: AllowList,
    /// What of the control plane leads to it too.
    pub control_plane_proxy: Option<ControlPlaneProxy>,
}

impl Connection {
    /// Whether its API server is asked at all: without a credential only the control plane can be.
    #[must_use]
    pub fn leads_straight(&self) -> bool {
        let has_credential = self.token.is_some() || self.certificate.is_some();
        has_credential || self.control_plane_proxy.is_none()
    }

    /// Who vouches for whoever is at the address, as a digest of both. `None` where nobody does, or whoever vouches for all the world.
    pub(crate) fn authority(&self) -> Option<String> {
        let Trust::Bundle(certificates) = &self.trust else {
            return None;
        };
        if self.server.is_plain() {
            return None;
        }
        let certificates = BTreeSet::from_iter(certificates);
        let mut digest = Sha256::new().chain_update(self.server.normal());
        for certificate in certificates {
            digest.update(Sha256::digest(certificate));
        }
        let digest = digest.finalize();
        Some(
            digest
                .iter()
                .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")),
        )
    }
}

#[cfg(any(test, feature = "testing"))]
impl Connection {
    /// To a member of a test, without credentials and without TLS; its configuration is made all the same, so there is a provider of it.
    #[must_use]
    pub fn plain(server: &str) -> Self {
        // A former test may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            server: Endpoint::parse("test", server).expect("an address"),
            trust: Trust::Anyone,
            server_name: None,
            token: None,
            certificate: None,
            proxy: None,
            allowed: AllowList::default(),
            control_plane_proxy: None,
        }
    }
}

/// URL of an API server: `http` or `https`, a host, an optional path, nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(Uri);

/// Whose certificates are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those that the system's roots signed.
    System,
    /// Those that one of these signed (DER).
    Bundle(Vec<Vec<u8>>),
    /// Anybody's; asked for in so many words.
    Anyone,
}

/// A client certificate and its key, both PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The chain, leaf first.
    pub chain: Vec<u8>,
    /// The key of the leaf.
    pub key: Sensitive,
}

/// A forward proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Its URL without credentials.
    pub url: Uri,
    /// User and password of its URL, decoded.
    pub credentials: Option<(String, Sensitive)>,
    /// Headers of the CONNECT request. Values may be secrets.
    pub headers: Vec<(http::HeaderName, Sensitive)>,
}

impl Endpoint {
    /// Parses `text`, the value of `field`; without a scheme it is taken for `https`.
    pub fn parse(field: &str, text: &str) -> Result<Self, ConfigError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ConfigError::missing(field));
        }
        let full = match text.split_once("://") {
            Some(_) => text.to_owned(),
            None => format!("https://{text}"),
        };
        let uri: Uri = full
            .parse()
            .map_err(|_| ConfigError::invalid(field, "is not a URL"))?;
        match problem_of(&uri) {
            Some(problem) => Err(ConfigError::invalid(field, problem)),
            None => Ok(Self(uri)),
        }
    }

    /// Whether it is reached without TLS.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTP)
    }

    /// The host, with brackets around an address that has colons.
    pub(crate) fn host(&self) -> &str {
        self.0.host().unwrap_or_default()
    }

    /// Scheme, host, port and path as one text that is the same however they are spelled.
    pub(crate) fn normal(&self) -> String {
        let scheme = if self.is_plain() { "http" } else { "https" };
        let host = self.host().to_ascii_lowercase();
        let inner = host.trim_start_matches('[').trim_end_matches(']');
        let host = match inner.parse::<Ipv6Addr>() {
            Ok(address) => format!("[{address}]"),
            Err(_) => host,
        };
        let default = if self.is_plain() { 80 } else { 443 };
        let port = self.0.port_u16().unwrap_or(default);
        let path = self.0.path().trim_end_matches('/');
        format!("{scheme}://{host}:{port}{path}")
    }

    /// The URL of `path_and_query` (which begins with `/`) below this endpoint.
    pub(crate) fn join(&self, path_and_query: &str) -> Result<Uri, http::uri::InvalidUri> {
        format!("{self}{path_and_query}").parse()
    }
}

impl fmt::Display for Endpoint {
    /// Without a slash at its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.to_string().trim_end_matches('/'))
    }
}

fn problem_of(uri: &Uri) -> Option<&'static str> {
    let known = [Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&uri.scheme());
    let authority = uri.authority().map_or("", |a| a.as_str());
    if !known {
        Some("must begin with https:// (or http://)")
    } else if uri.host().unwrap_or_default().is_empty() {
        Some("has no host")
    } else if authority.contains('@') {
        Some("must not carry credentials")
    } else if uri.query().is_some() {
        Some("must not carry a query")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_urls_and_https_is_the_default() {
        let cases = [
            ("https://a:6443", Some("https://a:6443")),
            ("https://a:6443/", Some("https://a:6443")),
            ("10.0.0.1:6443", Some("https://10.0.0.1:6443")),
            ("https://a/k8s/c1/", Some("https://a/k8s/c1")),
            (" https://[::1]:1 ", Some("https://[::1]:1")),
            ("ftp://a", None),
            ("https://user:secret@a", None),
            ("https://a?x=1", None),
            ("https://", None),
            ("", None),
            ("a b", None),
        ];
        for (text, want) in cases {
            let got = Endpoint::parse("spec.apiserver", text);
            assert_eq!(
                got.as_ref().ok().map(ToString::to_string).as_deref(),
                want,
                "{text}"
            );
        }
    }

    #[test]
    fn whoever_is_vouched_for_is_known_by_the_address_and_the_bundle() {
        let of = |server: &str, trust: Trust| Connection {
            trust,
            ..Connection::plain(server)
        };
        let bundle = |certificates: &[&str]| {
            let certificates = certificates.iter().map(|text| text.as_bytes().to_vec());
            Trust::Bundle(certificates.collect())
        };
        let known = of("https://a", bundle(&["x", "y"])).authority();
        assert!(known.is_some());
        let again = of("https://A:443/", bundle(&["y", "x", "x"]));
        assert_eq!(again.authority(), known);
        for other in [
            of("https://b", bundle(&["x", "y"])),
            of("https://a", bundle(&["x"])),
            of("http://a", bundle(&["x", "y"])),
            of("https://a", Trust::System),
            of("https://a", Trust::Anyone),
        ] {
            assert_ne!(other.authority(), known, "{other:?}");
        }
        assert_eq!(of("https://a", Trust::Anyone).authority(), None);
    }

    #[test]
    fn an_endpoint_with_credentials_is_refused_without_repeating_them() {
        let error = Endpoint::parse("spec.apiserver", "https://user:secret@a").unwrap_err();
        assert_eq!(
            error.to_string(),
            "spec.apiserver must not carry credentials"
        );
    }
}
