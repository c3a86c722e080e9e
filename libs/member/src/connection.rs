//! How to reach a member, checked: the value between [`crate::validate()`] and [`crate::Member`].

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv6Addr;

use http::Uri;
use http::header::PROXY_AUTHORIZATION;
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

    /// Who vouches for whoever is at the address, and what leads there, as a digest of all. `None` where nobody does, or whoever vouches for all the world.
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
        for part in self.leading() {
            digest.update(Sha256::digest(part));
        }
        let digest = digest.finalize();
        Some(
            digest
                .iter()
                .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}")),
        )
    }

    /// What of the way decides which API server answers at the address. By whom it is asked does not: a login to the proxy is a credential as a token is.
    fn leading(&self) -> Vec<Vec<u8>> {
        let host = self.server.host();
        let name = self.server_name.as_deref();
        let name = name.filter(|name| !name.eq_ignore_ascii_case(host));
        let name = name.map(|name| format!("tls-server-name {}", name.to_ascii_lowercase()));
        let mut parts = Vec::from_iter(name.map(String::into_bytes));
        let Some(proxy) = &self.proxy else {
            return parts;
        };
        let mut headers = Vec::from_iter(&proxy.headers);
        headers.retain(|(name, _)| *name != PROXY_AUTHORIZATION);
        // Their names may be spelled in several ways, and the order of what has one name may matter.
        headers.sort_by_key(|(name, _)| name.as_str());
        parts.push(format!("proxy {}", normal(&proxy.url)).into_bytes());
        parts.extend(headers.into_iter().map(|(name, value)| {
            let name = format!("proxy-header {name}: ").into_bytes();
            [name.as_slice(), value.expose()].concat()
        }));
        parts
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
        normal(&self.0)
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

/// A URL as one text that is the same however its scheme, host and port are spelled.
fn normal(url: &Uri) -> String {
    let (scheme, default) = match url.scheme_str().unwrap_or_default() {
        "http" => ("http", 80),
        "socks5" => ("socks5", 1080),
        _ => ("https", 443),
    };
    let host = url.host().unwrap_or_default().to_ascii_lowercase();
    let inner = host.trim_start_matches('[').trim_end_matches(']');
    let host = match inner.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host,
    };
    let port = url.port_u16().unwrap_or(default);
    let path = url.path().trim_end_matches('/');
    format!("{scheme}://{host}:{port}{path}")
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

    /// Behind one address and one CA may be several clusters, as behind a gateway that goes by SNI.
    #[test]
    fn what_leads_to_another_cluster_at_the_same_address_makes_another_one_known() {
        let straight = Connection {
            trust: Trust::Bundle(vec![b"x".to_vec()]),
            ..Connection::plain("https://a")
        };
        let named = |name: &str| Connection {
            server_name: Some(name.to_owned()),
            ..straight.clone()
        };
        let proxied = |url: &str, headers: &[(&str, &str)]| {
            let headers = headers.iter();
            let headers = headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let proxy = crate::proxy::parse("test", url, &headers.collect());
            Connection {
                proxy: Some(proxy.expect("a proxy")),
                ..straight.clone()
            }
        };
        let different = [
            straight.clone(),
            named("one"),
            named("two"),
            proxied("http://p:3128", &[]),
            proxied("https://p:3128", &[]),
            proxied("http://q:3128", &[]),
            proxied("http://p:3128", &[("X-Cluster", "one")]),
            proxied("http://p:3128", &[("X-Cluster", "two")]),
            proxied("http://p:3128", &[("X-Cluster", "one,two")]),
            proxied("http://p:3128", &[("X-Cluster", "two,one")]),
        ];
        let known = different.each_ref().map(Connection::authority);
        let distinct = known.iter().collect::<BTreeSet<_>>();
        assert_eq!(distinct.len(), different.len(), "{different:?}");
        let login = ("Proxy-Authorization", "Basic eDp5");
        for (one, same) in [
            (named("one"), named("ONE")),
            (named("A"), straight.clone()),
            (proxied("http://p", &[]), proxied("HTTP://P:80/", &[login])),
            (proxied("http://p", &[]), proxied("http://x:y@p", &[])),
            (
                proxied("socks5://p", &[]),
                proxied("socks5://x:y@P:1080", &[]),
            ),
            (
                proxied("http://p", &[("a", "1"), ("b", "2")]),
                proxied("http://p", &[("B", "2"), ("a", "1")]),
            ),
        ] {
            assert_eq!(one.authority(), same.authority(), "{one:?} {same:?}");
        }
        let credentials = Connection {
            token: Some(Sensitive::new("t")),
            ..straight.clone()
        };
        assert_eq!(credentials.authority(), straight.authority());
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
