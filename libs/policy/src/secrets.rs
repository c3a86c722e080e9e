//! Which Secrets policies may see. Whoever may write a policy chooses what its templates read and
//! where they put it, a label included; the controllers' own rights are no bound for that person.

use std::{collections::BTreeSet, sync::Arc};

use armadex_crds::is_serving_secret;

use crate::{Gvr, ObjectName, WatchScope};

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
        if !kind.is_of_secrets() || self.allowed.contains(namespace) {
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

    /// The same of one object: Armadex's own certificate lies in such a namespace and is nobody's to read.
    pub fn check_object(&self, kind: &Gvr, object: &ObjectName) -> Result<(), String> {
        let ObjectName { namespace, name } = object;
        self.check(kind, namespace)?;
        if kind.is_of_secrets() && is_serving_secret(name) {
            return Err(format!(
                "Secret {namespace}/{name} may not be read for a policy: it is the serving certificate of Armadex"
            ));
        }
        Ok(())
    }

    /// What is listed and watched to see every source object of a kind: all of them, but Secrets in these namespaces alone. None is asked
    /// for that may not be read, whatever the role allows.
    pub fn scopes(&self, kind: &Gvr) -> Result<Vec<WatchScope>, String> {
        kind.check()?;
        if !kind.is_of_secrets() {
            return Ok(vec![WatchScope::All]);
        }
        if self.allowed.is_empty() {
            return Err(
                "Secrets may not be read for a policy: --credential-namespaces allows none".into(),
            );
        }
        let namespaces = self.allowed.iter().cloned();
        Ok(namespaces.map(WatchScope::Namespace).collect())
    }

    /// The one of [`scopes`](Self::scopes) that has the objects of a namespace.
    pub fn scope(&self, kind: &Gvr, namespace: &str) -> Result<WatchScope, String> {
        self.check(kind, namespace)?;
        Ok(match kind.is_of_secrets() {
            true => WatchScope::Namespace(namespace.to_owned()),
            false => WatchScope::All,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_of_armadex_is_read_for_no_policy() {
        let kind = |group: &str, resource: &str| Gvr {
            group: group.to_owned(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
        };
        let object = |name: &str| ObjectName {
            namespace: "clusterpedia-system".to_owned(),
            name: name.to_owned(),
        };
        let secrets = SecretNamespaces::new(["clusterpedia-system"]);
        let check = |kind: Gvr, name: &str| secrets.check_object(&kind, &object(name));
        assert_eq!(check(kind("", "secrets"), "member1"), Ok(()));
        let refused = check(kind("", "secrets"), "armadex-serving");
        assert!(refused.is_err_and(|words| words.contains("serving certificate")));
        assert_eq!(check(kind("", "configmaps"), "armadex-serving"), Ok(()));
        let elsewhere = SecretNamespaces::new(["karmada-cluster"]);
        let refused = elsewhere.check_object(&kind("", "secrets"), &object("member1"));
        assert!(refused.is_err(), "of a namespace that is not allowed");
    }
}
