//! Kubernetes resource types: what a URL names and what the store keeps.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Group, version and plural resource name; the core group is empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupVersionResource {
    /// Empty for the core group.
    pub group: String,
    /// For example `v1`.
    pub version: String,
    /// Plural and lower case, for example `deployments`.
    pub resource: String,
}

impl GroupVersionResource {
    /// Builds the triple from its parts.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        resource: impl Into<String>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            resource: resource.into(),
        }
    }

    /// The `apiVersion` of objects of this type: `v1`, `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The path under which an apiserver lists this type: `/api/v1/pods`, `/apis/apps/v1/deployments`.
    #[must_use]
    pub fn list_path(&self) -> String {
        let root = if self.group.is_empty() {
            "/api"
        } else {
            "/apis"
        };
        format!("{root}/{}/{}", self.api_version(), self.resource)
    }
}

impl fmt::Display for GroupVersionResource {
    /// `pods/v1`, `deployments.apps/v1`: resource and group as people type them, then the version.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        write!(f, "/{}", self.version)
    }
}

/// A type as a member's discovery describes it; the store keeps one row for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceType {
    /// What a URL names.
    pub gvr: GroupVersionResource,
    /// For example `Deployment`.
    pub kind: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// For example `deployment`; empty when discovery does not say.
    #[serde(default)]
    pub singular: String,
    /// For example `deploy`.
    #[serde(default)]
    pub short_names: Vec<String>,
    /// For example `all`.
    #[serde(default)]
    pub categories: Vec<String>,
}

impl ResourceType {
    /// What its objects are, in words: what must be the same wherever they come from.
    #[must_use]
    pub fn meaning(&self) -> String {
        let place = if self.namespaced {
            "in a namespace"
        } else {
            "without a namespace"
        };
        format!("{} {place}", self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_the_group() {
        let pods = GroupVersionResource::new("", "v1", "pods");
        let deployments = GroupVersionResource::new("apps", "v1", "deployments");
        assert_eq!(pods.list_path(), "/api/v1/pods");
        assert_eq!(deployments.list_path(), "/apis/apps/v1/deployments");
        assert_eq!(deployments.to_string(), "deployments.apps/v1");
    }
}
