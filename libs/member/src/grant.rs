//! What a Secret's annotation grants: the endpoints that its credentials may be sent to. Pure.

use armadex_crds::ENDPOINTS_ANNOTATION;

use crate::connection::Endpoint;
use crate::error::ConfigError;
use crate::secrets::SecretId;

/// Entries that are looked at, of those that are not blank. All annotations of an object have 256 KiB, in which there is room for a hundred
/// thousand; no credential is for so many endpoints.
const MOST_ENTRIES: usize = 1_000;
/// Of those that cannot be meant, so many are told.
const TOLD: usize = 3;

/// The endpoints that a Secret's annotation names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Grant {
    endpoints: Vec<String>,
    /// Entries that cannot be meant, in words that do not repeat them: the first ones, and how many there are besides.
    problems: Vec<String>,
}

impl Grant {
    /// Reads the annotation's value.
    pub(crate) fn parse(text: &str) -> Self {
        let mut grant = Self::default();
        let mut wrong = 0_usize;
        let entries = text.split(',').enumerate();
        let mut entries = entries.filter(|(_, entry)| !entry.trim().is_empty());
        for (index, entry) in entries.by_ref().take(MOST_ENTRIES) {
            match endpoint(index + 1, entry) {
                Ok(endpoint) => grant.endpoints.push(endpoint.normal()),
                Err(_) if wrong >= TOLD => wrong += 1,
                Err(error) => {
                    wrong += 1;
                    grant.problems.push(error.to_string());
                }
            }
        }
        if wrong > TOLD {
            let more = wrong - TOLD;
            let problem = format!("{more} more entries of {ENDPOINTS_ANNOTATION} cannot be meant");
            grant.problems.push(problem);
        }
        if entries.next().is_some() {
            let problem = format!("only {MOST_ENTRIES} entries of {ENDPOINTS_ANNOTATION} count");
            grant.problems.push(problem);
        }
        grant
    }

    /// Whether it names this endpoint.
    pub(crate) fn names(&self, endpoint: &Endpoint) -> bool {
        self.endpoints.contains(&endpoint.normal())
    }

    /// What is wrong with it, for whoever may use the Secret.
    pub(crate) fn told(self, secret: &SecretId) -> Vec<String> {
        let told = |problem| format!("secret {secret}: {problem}");
        self.problems.into_iter().map(told).collect()
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
                "2 more entries of armadex.dev/endpoints cannot be meant",
            ]
        );
    }

    #[test]
    fn what_is_told_of_an_annotation_is_short_however_long_it_is() {
        let many = "*,".repeat(131_000);
        let grant = Grant::parse(&format!("https://a,{many}https://b"));
        let names = |text| grant.names(&Endpoint::parse("f", text).unwrap());
        assert!(names("https://a") && !names("https://b"));
        assert_eq!(
            grant.problems[TOLD..],
            [
                "996 more entries of armadex.dev/endpoints cannot be meant",
                "only 1000 entries of armadex.dev/endpoints count",
            ]
        );
        let full = Grant::parse(&"https://a,".repeat(MOST_ENTRIES));
        assert_eq!(full.problems, Vec::<String>::new());
    }
}
