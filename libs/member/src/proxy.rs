//! Reading a proxy's URL and headers.

use std::collections::BTreeMap;

use http::uri::{Authority, PathAndQuery};
use http::{HeaderName, HeaderValue, Uri};

use crate::connection::Proxy;
use crate::error::ConfigError;
use armadex_crds::Sensitive;

const SCHEMES: [&str; 3] = ["http", "https", "socks5"];

/// Parses `url`, the value of `field`, and the headers that go with it.
pub(crate) fn parse(
    field: &str,
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<Proxy, ConfigError> {
    let uri: Uri = url
        .trim()
        .parse()
        .map_err(|_| ConfigError::invalid(field, "is not a URL"))?;
    if !SCHEMES.contains(&uri.scheme_str().unwrap_or_default()) {
        let problem = "must begin with http://, https:// or socks5://";
        return Err(ConfigError::invalid(field, problem));
    }
    let (url, credentials) = split_credentials(field, uri)?;
    Ok(Proxy {
        url,
        credentials,
        headers: parse_headers(headers)?,
    })
}

/// The URL without `user:password@`, and these apart.
fn split_credentials(
    field: &str,
    uri: Uri,
) -> Result<(Uri, Option<(String, Sensitive)>), ConfigError> {
    let not_url = |_| ConfigError::invalid(field, "is not a URL");
    let Some(authority) = uri.authority().map(|a| a.as_str().to_owned()) else {
        return Err(ConfigError::invalid(field, "has no host"));
    };
    let Some((login, host)) = authority.rsplit_once('@') else {
        return Ok((uri, None));
    };
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let credentials = (decode(user), Sensitive::new(decode(password)));
    let mut parts = uri.into_parts();
    parts.authority = Some(Authority::try_from(host).map_err(not_url)?);
    parts
        .path_and_query
        .get_or_insert(PathAndQuery::from_static("/"));
    let bare = Uri::from_parts(parts).map_err(|_| ConfigError::invalid(field, "is not a URL"))?;
    Ok((bare, Some(credentials)))
}

/// Percent-decoding; what is no escape stays as it is.
fn decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escape = tail.get(..2).filter(|_| first == b'%');
        let byte = escape
            .filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        rest = if byte.is_some() { &tail[2..] } else { tail };
        out.push(byte.unwrap_or(first));
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A value may be a comma-separated list: one header for each.
fn parse_headers(
    headers: &BTreeMap<String, String>,
) -> Result<Vec<(HeaderName, Sensitive)>, ConfigError> {
    const FIELD: &str = "spec.connection.proxyHeader";
    let mut parsed = Vec::new();
    for (name, values) in headers {
        let bad_name = |_| ConfigError::invalid(FIELD, format!("has no valid name in {name:?}"));
        let header = HeaderName::try_from(name).map_err(bad_name)?;
        for value in values.split(',').map(str::trim) {
            HeaderValue::from_str(value).map_err(|_| {
                ConfigError::invalid(FIELD, format!("has no valid value for {name:?}"))
            })?;
            parsed.push((header.clone(), Sensitive::new(value)));
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_leave_the_url() {
        let proxy = parse(
            "f",
            "http://me:p%40ss%3Aword@proxy:3128/x",
            &BTreeMap::new(),
        )
        .unwrap();
        assert_eq!(proxy.url.to_string(), "http://proxy:3128/x");
        let (user, password) = proxy.credentials.clone().unwrap();
        assert_eq!(
            (user.as_str(), password.expose().as_slice()),
            ("me", &b"p@ss:word"[..])
        );
        assert!(!format!("{proxy:?}").contains("p@ss"));
    }

    #[test]
    fn a_header_may_be_a_list() {
        let headers = BTreeMap::from([("X-Token".to_owned(), "a, b".to_owned())]);
        let proxy = parse("f", "socks5://proxy:1080", &headers).unwrap();
        let values: Vec<_> = proxy.headers.iter().map(|(_, v)| v.expose()).collect();
        assert_eq!(values, [b"a", b"b"]);
        let broken = BTreeMap::from([("X-Token".to_owned(), "sec\nret".to_owned())]);
        let error = parse("f", "http://proxy", &broken).unwrap_err().to_string();
        assert!(
            error.contains("X-Token") && !error.contains("sec"),
            "{error}"
        );
    }
}
