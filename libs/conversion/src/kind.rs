//! A kind, the version in which it is stored, and those from which it is converted.

use crate::step::Step;

/// A version of an API group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupVersion {
    /// For example `networking.k8s.io`; no group of these is the core one.
    pub group: &'static str,
    /// For example `v1`.
    pub version: &'static str,
}

impl GroupVersion {
    pub(crate) const fn new(group: &'static str, version: &'static str) -> Self {
        Self { group, version }
    }

    /// As `apiVersion` has it.
    pub(crate) fn api_version(self) -> String {
        format!("{}/{}", self.group, self.version)
    }
}

/// A kind of Kubernetes of which there were several versions.
#[derive(Debug)]
pub struct Kind {
    /// For example `Ingress`.
    pub kind: &'static str,
    /// Its resource, in every group: `ingresses`.
    pub resource: &'static str,
    /// The version in which it is stored.
    pub stored: GroupVersion,
    /// The versions from which it is converted, the one first that is closest to the stored one.
    pub older: &'static [Older],
}

/// A version from which a kind is converted.
#[derive(Debug)]
pub struct Older {
    /// In which a member serves it.
    pub served: GroupVersion,
    /// What becomes another, in words; empty where nothing but `apiVersion` does.
    pub words: &'static str,
    pub(crate) steps: &'static [Step],
}

impl Kind {
    pub(crate) const fn new(
        kind: &'static str,
        resource: &'static str,
        (group, version): (&'static str, &'static str),
        older: &'static [Older],
    ) -> Self {
        Self {
            kind,
            resource,
            stored: GroupVersion::new(group, version),
            older,
        }
    }
}

impl Older {
    pub(crate) const fn new(
        group: &'static str,
        version: &'static str,
        steps: &'static [Step],
        words: &'static str,
    ) -> Self {
        Self {
            served: GroupVersion::new(group, version),
            words,
            steps,
        }
    }

    /// Of which nothing but `apiVersion` becomes another.
    pub(crate) const fn same(group: &'static str, version: &'static str) -> Self {
        Self::new(group, version, &[], "")
    }
}
