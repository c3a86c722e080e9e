//! The Secrets that a spec names: where they may lie, and what of them counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use armadex_crds::SecretKeyRef;

use crate::error::ConfigError;
use armadex_crds::Sensitive;

/// Namespace and name of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretId {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for SecretId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Where Secrets may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretScope {
    /// The namespace of a reference that names none.
    pub default_namespace: String,
    /// The namespaces that a reference may name; the default one always counts as among them.
    pub allowed_namespaces: BTreeSet<String>,
}

/// What of a Secret counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretContent {
    /// Its data.
    pub data: BTreeMap<String, Sensitive>,
    /// Its annotation [`armadex_crds::ENDPOINTS_ANNOTATION`]: where its credentials may be sent.
    pub endpoints: Option<String>,
}

/// The Secrets that a spec names; one that is not in it does not exist.
pub type SecretData = BTreeMap<SecretId, SecretContent>;

impl SecretScope {
    /// The Secret that a reference means, if this namespace may be read.
    pub fn resolve(&self, reference: &SecretKeyRef) -> Result<SecretId, ConfigError> {
        let namespace = match reference.namespace.as_str() {
            "" => &self.default_namespace,
            named => named,
        };
        if *namespace != *self.default_namespace && !self.allowed_namespaces.contains(namespace) {
            return Err(ConfigError::Secret {
                namespace: namespace.to_owned(),
                name: reference.name.clone(),
                problem: "Secrets of this namespace may not be used for credentials".to_owned(),
            });
        }
        Ok(SecretId {
            namespace: namespace.to_owned(),
            name: reference.name.clone(),
        })
    }
}

/// Looks references up.
pub(crate) struct Lookup<'a> {
    pub(crate) scope: &'a SecretScope,
    pub(crate) secrets: &'a SecretData,
}

impl Lookup<'_> {
    /// The value that a reference means.
    pub(crate) fn value(&self, reference: &SecretKeyRef) -> Result<Sensitive, ConfigError> {
        let id = self.scope.resolve(reference)?;
        let problem = match self.secrets.get(&id) {
            None => "not found".to_owned(),
            Some(content) => match content.data.get(&reference.key) {
                Some(value) if !value.is_blank() => return Ok(value.clone()),
                _ => format!("{} is empty", reference.key),
            },
        };
        let SecretId { namespace, name } = id;
        Err(ConfigError::Secret {
            namespace,
            name,
            problem,
        })
    }
}
