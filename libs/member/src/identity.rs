//! By what a member is told from others. Pure.

use std::fmt;

use armadex_crds::IdentitySource;

/// Who a member is: two of one source are of one member if they are the same. Of two sources nothing follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity(String);

/// Before the value of each source that has not always been the only one.
const SERVICE: &str = "service:";
const AUTHORITY: &str = "ca:";

impl Identity {
    /// What this source says, which has no colon in it.
    pub(crate) fn new(source: IdentitySource, value: &str) -> Self {
        let prefix = match source {
            IdentitySource::KubeSystemNamespace => "",
            IdentitySource::KubernetesService => SERVICE,
            IdentitySource::CertificateAuthority => AUTHORITY,
        };
        Self(format!("{prefix}{value}"))
    }

    /// As it was stored with a position.
    #[must_use]
    pub fn stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// As it is stored with each position.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// By what it is known.
    #[must_use]
    pub fn source(&self) -> IdentitySource {
        match &self.0 {
            text if text.starts_with(SERVICE) => IdentitySource::KubernetesService,
            text if text.starts_with(AUTHORITY) => IdentitySource::CertificateAuthority,
            _ => IdentitySource::KubeSystemNamespace,
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
