//! What names an object inside one cluster and one resource type.

use std::fmt;

/// Bytes of a name, a uid or a version that is stored. Names of most kinds have 253 at most; those of RBAC have no limit but that of the
/// whole object, which a continue token and a page's memory would have to bear.
pub const LONGEST_NAME: usize = 1024;

/// Namespace and name of an object; the namespace of a cluster-scoped object is empty.
///
/// Ordered by namespace, then name, both as bytes: the order of a list inside one cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl ObjectKey {
    /// Builds a key from its two parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}
