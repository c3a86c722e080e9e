//! The Secrets that a spec names: where they may lie, and what of them counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use armadex_crds::{SecretKeyRef, Sensitive, is_serving_secret, is_subdomain};

use crate::error::ConfigError;
use crate::words::Words;

/// What is told of a name that is none.
const TOLD_CHARS: usize = 64;

/// Namespace and name of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretId {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl SecretId {
    /// It is not there, or has nothing under this key, or something else: the same words for all of these.
    pub(crate) fn lacks_kubeconfig(&self, key: &str) -> ConfigError {
        ConfigError::Secret {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            problem: format!(
                "there is no kubeconfig that names an API server under the key {}",
                Words::of(key)
            ),
        }
    }
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
    /// None is read, and what refers to one is ignored: the feature gate `ClusterAuthenticationFromSecret` is off.
    pub ignored: bool,
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
pub type SecretData = BTreeMap<SecretId, Arc<SecretContent>>;

impl SecretScope {
    /// The Secret that a reference means, if this namespace may be read and a Secret may have this name: it becomes part of a path, and
    /// with anything else in it whoever writes a PediaCluster could have the whole namespace read.
    pub fn resolve(&self, reference: &SecretKeyRef) -> Result<SecretId, ConfigError> {
        let SecretKeyRef {
            namespace, name, ..
        } = reference;
        let namespace = match namespace.as_str() {
            "" => &self.default_namespace,
            named => named,
        };
        let is_ours = *namespace == *self.default_namespace;
        if !is_ours && !self.allowed_namespaces.contains(namespace) {
            let problem = "Secrets of this namespace may not be used for credentials";
            return Err(refused(namespace, name, problem));
        }
        if !is_subdomain(name) {
            let problem =
                "no Secret has such a name: lower case letters, digits, '-' and '.' are allowed";
            return Err(refused(namespace, name, problem));
        }
        if is_serving_secret(name) {
            let problem = "it is the serving certificate of Armadex, and no credential";
            return Err(refused(namespace, name, problem));
        }
        Ok(SecretId {
            namespace: namespace.to_owned(),
            name: name.clone(),
        })
    }
}

/// What is no name is told in part, and on one line.
fn refused(namespace: &str, name: &str, problem: &str) -> ConfigError {
    let told = |name| Words::within(TOLD_CHARS, name).to_string();
    ConfigError::Secret {
        namespace: told(namespace),
        name: told(name),
        problem: problem.to_owned(),
    }
}

/// Looks references up.
pub(crate) struct Lookup<'a> {
    pub(crate) scope: &'a SecretScope,
    pub(crate) secrets: &'a SecretData,
}

impl Lookup<'_> {
    /// The Secret that a reference means.
    pub(crate) fn id(&self, reference: &SecretKeyRef) -> Result<SecretId, ConfigError> {
        self.scope.resolve(reference)
    }

    /// Whether it lies where whole kubeconfigs need no other ground.
    pub(crate) fn is_ours(&self, secret: &SecretId) -> bool {
        secret.namespace == self.scope.default_namespace
    }

    /// The value that a reference means.
    pub(crate) fn value(&self, reference: &SecretKeyRef) -> Result<Sensitive, ConfigError> {
        let id = self.scope.resolve(reference)?;
        let problem = match self.secrets.get(&id) {
            None => "not found".to_owned(),
            Some(content) => match content.data.get(&reference.key) {
                Some(value) if !value.is_blank() => return Ok(value.clone()),
                _ => format!("{} is empty", Words::of(&reference.key)),
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
