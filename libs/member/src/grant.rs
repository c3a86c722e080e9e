//! What a Secret's annotation grants: the endpoints that its credentials may be sent to. Pure.

use armadex_crds::ENDPOINTS_ANNOTATION;

use crate::connection::Endpoint;
use crate::error::ConfigError;

/// The endpoints that a Secret's annotation names. Its length is bounded by that of all annotations of an object, 256 KiB.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Grant {
    endpoints: Vec<String>,
    /// Entries that cannot be meant, in words that do not repeat them.
    pub(crate) problems: Vec<String>,
}

impl Grant {
    /// Reads the annotation's value.
    pub(crate) fn parse(text: &str) -> Self {
        let mut grant = Self::default();
        for (index, entry) in text.split(',').enumerate() {
            if entry.trim().is_empty() {
                continue;
            }
            match endpoint(index + 1, entry) {
                Ok(endpoint) => grant.endpoints.push(endpoint.normal()),
                Err(error) => grant.problems.push(error.to_string()),
            }
        }
        grant
    }

    /// Whether it names this endpoint.
    pub(crate) fn names(&self, endpoint: &Endpoint) -> bool {
        self.endpoints.contains(&endpoint.normal())
    }
}

fn endpoint(number: usize, entry: &str) -> Result<Endpoint, ConfigError> {
    let field = format!("entry {number} of {ENDPOINTS_ANNOTATION}");
    let endpoint = Endpoint::parse(&field, entry)?;
    let problem = if endpoint.is_plain() {
        "must begin with https://, or nobody could be verified there"
    } else if entry.contains('*') {
        "must name one endpoint: there are no wildcards"
    } else {
        return Ok(endpoint);
    };
    Err(ConfigError::invalid(field, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_named_however_it_is_spelled() {
        let grant = Grant::parse(
            "https://10.0.0.7:6443, HTTPS://Prod.Example ,https://[0:0::1]:1/, https://r/k8s/c1,",
        );
        assert_eq!(grant.problems, Vec::<String>::new());
        let table = [
            ("https://10.0.0.7:6443", true),
            ("https://10.0.0.7:6443/", true),
            ("10.0.0.7:6443", true),
            ("https://10.0.0.7", false),
            ("https://10.0.0.7:64430", false),
            ("https://110.0.0.7:6443", false),
            ("http://10.0.0.7:6443", false),
            ("https://prod.example:443", true),
            ("https://prod.example", true),
            ("https://prod.example:6443", false),
            ("https://prod.example.evil", false),
            ("http://prod.example:443", false),
            ("https://[::1]:1", true),
            ("https://r/k8s/c1", true),
            ("https://r/k8s/c1/", true),
            ("https://r/k8s/c2", false),
            ("https://r/k8s/c1/../c2", false),
            ("https://r/K8S/c1", false),
            ("https://r", false),
            ("https://prod.example/anything", false),
        ];
        for (text, named) in table {
            let endpoint = Endpoint::parse("f", text).unwrap();
            assert_eq!(grant.names(&endpoint), named, "{text}");
        }
    }

    #[test]
    fn a_bad_entry_is_told_by_its_place_and_spoils_no_other() {
        let grant =
            Grant::parse("https://a, http://b:1, https://*.c, https://me:hunter2@d, ftp://e, ,:");
        assert!(grant.names(&Endpoint::parse("f", "https://a").unwrap()));
        assert_eq!(
            grant.problems,
            [
                "entry 2 of armadex.dev/endpoints must begin with https://, or nobody could be verified there",
                "entry 3 of armadex.dev/endpoints must name one endpoint: there are no wildcards",
                "entry 4 of armadex.dev/endpoints must not carry credentials",
                "entry 5 of armadex.dev/endpoints must begin with https:// (or http://)",
                "entry 7 of armadex.dev/endpoints has no host",
            ]
        );
    }
}
