//! The name of a member cluster, checked once.

use std::fmt;
use std::sync::Arc;

/// The longest name that Kubernetes accepts for the PediaCluster behind it (a DNS-1123 subdomain, RFC 1123).
const MAX_LENGTH: usize = 253;

/// The name of a member cluster: the name of its PediaCluster, a DNS-1123 subdomain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterName(Arc<str>);

/// A text that cannot be the name of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a cluster name: expected a DNS-1123 subdomain of at most {MAX_LENGTH} characters"
)]
pub struct InvalidClusterName(pub String);

impl ClusterName {
    /// Checks `name` against the rules of a DNS-1123 subdomain.
    pub fn new(name: &str) -> Result<Self, InvalidClusterName> {
        if is_subdomain(name) {
            Ok(Self(name.into()))
        } else {
            Err(InvalidClusterName(name.to_owned()))
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for ClusterName {
    type Err = InvalidClusterName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

impl AsRef<str> for ClusterName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

fn is_subdomain(name: &str) -> bool {
    name.len() <= MAX_LENGTH && name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    match (bytes.first(), bytes.last()) {
        (Some(&first), Some(&last)) => {
            alphanumeric(first)
                && alphanumeric(last)
                && bytes.iter().all(|&b| alphanumeric(b) || b == b'-')
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomains_are_cluster_names_and_nothing_else_is() {
        for good in ["a", "member1", "eu-west.prod", "0"] {
            assert!(ClusterName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a..b", "a/b", "a b", &"x".repeat(254)] {
            assert!(ClusterName::new(bad).is_err(), "{bad}");
        }
    }
}
