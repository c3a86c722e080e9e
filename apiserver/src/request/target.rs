//! What a path names: text in, [`Target`] out, with no look at what is stored. The group is `clusterpedia.io`, unless the server is told another one.
//!
//! ```text
//! /apis/clusterpedia.io/v1beta1/resources/<native path>                 all clusters
//! /apis/clusterpedia.io/v1beta1/resources/clusters/<name>/<native path> one cluster
//! /apis/clusterpedia.io/v1beta1/fleets/all/proxy/<native path>          all clusters, on a path for long-running requests
//! /apis/clusterpedia.io/v1beta1/clusters/<name>/proxy/<native path>     one cluster, likewise
//! ```

use armadex_model::{ClusterName, GroupVersionResource};
use percent_encoding::percent_decode_str;

/// The group that this server belongs to, unless it is told another one.
pub const GROUP: &str = "clusterpedia.io";
/// The version of that group.
pub(crate) const VERSION: &str = "v1beta1";

/// Bytes of a path: one of names that are as long as Kubernetes allows them has some 1,300, each of which may come as three. Nothing has a
/// longer one, so nobody is asked whether a caller may have it.
const LONGEST_PATH: usize = 4 << 10;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/livez`, `/readyz` or `/healthz` of this server.
    Health(Health),
    /// `/version` of this server.
    Version,
    /// `/apis`.
    Groups,
    /// `/apis/clusterpedia.io`.
    Group,
    /// `/apis/clusterpedia.io/v1beta1`.
    Resources,
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`.
    OpenApiV3,
    /// `/openapi/v3/apis/clusterpedia.io/v1beta1`.
    OpenApiV3Group,
    /// `collectionresources` or one of them.
    Collections,
    /// A path of the Kubernetes API below one of the views.
    View(View, Native),
}

/// Which health question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// The process runs.
    Live,
    /// It can answer searches.
    Ready,
}

/// Whose objects are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Those of all clusters.
    Fleet,
    /// Those of one.
    Cluster(ClusterName),
}

/// A path of the Kubernetes API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Native {
    /// `/livez`, `/readyz`, `/healthz`.
    Health,
    /// `/version`.
    Version,
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/<group>`.
    Group(String),
    /// `/api/v1`, `/apis/<group>/<version>`.
    Resources {
        /// Empty for the core group.
        group: String,
        /// The version.
        version: String,
    },
    /// A collection.
    List {
        /// The type.
        resource: GroupVersionResource,
        /// The namespace in the path.
        namespace: Option<String>,
    },
    /// One object.
    Get {
        /// The type.
        resource: GroupVersionResource,
        /// The namespace in the path.
        namespace: Option<String>,
        /// The object's name.
        name: String,
    },
    /// A review of the caller by the caller.
    Review(Review),
    /// Something below an object: `pods/<name>/log`.
    Subresource {
        /// The type.
        resource: GroupVersionResource,
        /// For example `log`.
        subresource: String,
    },
}

/// What a caller may have reviewed about themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// Whether they may do one thing.
    Access,
    /// What they may do.
    Rules,
    /// Who they are.
    Identity,
}

impl Review {
    pub(crate) const ALL: [Self; 3] = [Self::Access, Self::Rules, Self::Identity];

    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::Access | Self::Rules => "authorization.k8s.io",
            Self::Identity => "authentication.k8s.io",
        }
    }

    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Access => "SelfSubjectAccessReview",
            Self::Rules => "SelfSubjectRulesReview",
            Self::Identity => "SelfSubjectReview",
        }
    }

    pub(crate) fn resource(self) -> &'static str {
        match self {
            Self::Access => "selfsubjectaccessreviews",
            Self::Rules => "selfsubjectrulesreviews",
            Self::Identity => "selfsubjectreviews",
        }
    }

    /// The review that is posted to this type.
    pub(crate) fn named(group: &str, resource: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|one| (one.group(), one.resource()) == (group, resource))
    }
}

impl Target {
    /// Whether the path is one that a review is posted to.
    pub(crate) fn is_review(&self) -> bool {
        matches!(self, Self::View(_, Native::Review(_)))
    }

    /// The methods that are served on the path, as an `Allow` header names them.
    pub(crate) fn methods(&self) -> &'static str {
        match self {
            Self::View(_, Native::Review(_)) => "POST",
            Self::Health(_) => "GET, HEAD",
            Self::Collections | Self::View(_, Native::Subresource { .. }) => "",
            _ => "GET",
        }
    }

    /// Reads the segments of a path of a server of this group; `None` if it names nothing.
    pub(crate) fn parse(segments: &[String], own_group: &str) -> Option<Self> {
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["livez"] => Some(Self::Health(Health::Live)),
            ["readyz" | "healthz"] => Some(Self::Health(Health::Ready)),
            ["version"] => Some(Self::Version),
            ["apis"] => Some(Self::Groups),
            ["apis", group] if *group == own_group => Some(Self::Group),
            ["openapi", "v2"] => Some(Self::OpenApiV2),
            ["openapi", "v3"] => Some(Self::OpenApiV3),
            ["openapi", "v3", "apis", group, VERSION] if *group == own_group => {
                Some(Self::OpenApiV3Group)
            }
            ["apis", group, VERSION, rest @ ..] if *group == own_group => own(rest),
            _ => None,
        }
    }
}

fn own(rest: &[&str]) -> Option<Target> {
    match rest {
        [] => Some(Target::Resources),
        ["collectionresources"] | ["collectionresources", _] => Some(Target::Collections),
        ["resources", "clusters", name, native @ ..] | ["clusters", name, "proxy", native @ ..] => {
            let cluster = ClusterName::new(name).ok()?;
            Some(Target::View(View::Cluster(cluster), Native::parse(native)?))
        }
        ["resources", native @ ..] | ["fleets", "all", "proxy", native @ ..] => {
            Some(Target::View(View::Fleet, Native::parse(native)?))
        }
        _ => None,
    }
}

impl Native {
    fn parse(path: &[&str]) -> Option<Self> {
        match path {
            ["livez" | "readyz" | "healthz"] => Some(Self::Health),
            ["version"] => Some(Self::Version),
            ["api"] => Some(Self::CoreVersions),
            ["apis"] => Some(Self::Groups),
            ["apis", group] => Some(Self::Group((*group).to_owned())),
            ["api", version, rest @ ..] => Some(Self::of_version("", version, rest)),
            ["apis", group, "v1", resource] if Review::named(group, resource).is_some() => {
                Review::named(group, resource).map(Self::Review)
            }
            ["apis", group, version, rest @ ..] => Some(Self::of_version(group, version, rest)),
            _ => None,
        }
    }

    /// Whether it is a document, and no objects.
    pub(crate) fn is_document(&self) -> bool {
        matches!(
            self,
            Self::Health
                | Self::Version
                | Self::CoreVersions
                | Self::Groups
                | Self::Group(_)
                | Self::Resources { .. }
        )
    }

    fn of_version(group: &str, version: &str, rest: &[&str]) -> Self {
        let of = |resource: &str| GroupVersionResource::new(group, version, resource);
        match rest {
            [] => Self::Resources {
                group: group.to_owned(),
                version: version.to_owned(),
            },
            // A namespace has subresources of its own, and everything else below it is a type.
            ["namespaces", _, subresource @ ("status" | "finalize")] => Self::Subresource {
                resource: of("namespaces"),
                subresource: (*subresource).to_owned(),
            },
            ["namespaces", namespace, resource, rest @ ..] => {
                Self::of_resource(of(resource), Some((*namespace).to_owned()), rest)
            }
            [resource, rest @ ..] => Self::of_resource(of(resource), None, rest),
        }
    }

    fn of_resource(
        resource: GroupVersionResource,
        namespace: Option<String>,
        rest: &[&str],
    ) -> Self {
        match rest {
            [] => Self::List {
                resource,
                namespace,
            },
            [name] => Self::Get {
                resource,
                namespace,
                name: (*name).to_owned(),
            },
            [_, subresource, ..] => Self::Subresource {
                resource,
                subresource: (*subresource).to_owned(),
            },
        }
    }
}

/// Splits a path into decoded segments. `None` if it does not begin with a slash, a segment is empty, or decodes to something
/// that would be read as another path further on. One slash at the end is the same path without it: Kubernetes' `OpenAPI` has one at the end
/// of `/api/v1/`, so the clients that are made from it ask for that.
pub(crate) fn segments(path: &str) -> Option<Vec<String>> {
    if path.len() > LONGEST_PATH {
        return None;
    }
    let path = path.strip_suffix('/').unwrap_or(path);
    path.strip_prefix('/')?.split('/').map(segment).collect()
}

fn segment(raw: &str) -> Option<String> {
    let text = percent_decode_str(raw).decode_utf8().ok()?;
    let unambiguous = !text.is_empty()
        && text != "."
        && text != ".."
        && !text.contains(|char: char| char == '/' || char.is_control());
    unambiguous.then(|| text.into_owned())
}

#[cfg(test)]
mod tests;
