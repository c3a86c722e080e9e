//! Which Secrets policies may see. Whoever may write a policy chooses what its templates read and
//! where they put it, a label included; the controllers' own rights are no bound for that person.

use std::{collections::BTreeSet, sync::Arc};

use crate::Gvr;

/// Namespaces whose Secrets policies may refer to, as the administrator says.
#[derive(Clone, Debug, Default)]
pub struct SecretNamespaces {
    allowed: Arc<BTreeSet<String>>,
}

impl SecretNamespaces {
    /// These and no others.
    pub fn new<S: Into<String>>(allowed: impl IntoIterator<Item = S>) -> Self {
        let allowed = allowed.into_iter().map(Into::into).collect();
        Self {
            allowed: Arc::new(allowed),
        }
    }

    /// Whether objects of a kind in a namespace may be read for a policy; why not, if not. What is
    /// not the name of a kind could lead to another one, so nothing is read under it.
    pub fn check(&self, kind: &Gvr, namespace: &str) -> Result<(), String> {
        kind.check()?;
        let is_secret = kind.group.is_empty() && kind.resource == "secrets";
        if !is_secret || self.allowed.contains(namespace) {
            return Ok(());
        }
        let allowed: Vec<&str> = self.allowed.iter().map(String::as_str).collect();
        let allowed = match allowed[..] {
            [] => "none".to_owned(),
            _ => allowed.join(", "),
        };
        Err(format!(
            "Secrets of the namespace {namespace} may not be read for a policy: \
             --credential-namespaces allows {allowed}"
        ))
    }
}
