//! From an object in an older version of its API to the version in which its kind is stored: JSON in, JSON out. Pure.
//!
//! Each kind of Kubernetes of which there were several versions has a row in [`KINDS`], with what it takes to come from each older one. The facts are those
//! of Kubernetes' own conversions (`pkg/apis/*/v*/conversion.go` and `defaults.go` of k8s.io/kubernetes v1.32): tests compare with what these give.
//! What no table names stays where it is, so nothing that a member sends is dropped.
//!
//! ```
//! let conversion = armadex_conversion::of("policy", "v1beta1", "poddisruptionbudgets").unwrap();
//! assert_eq!((conversion.stored().group, conversion.stored().version), ("policy", "v1"));
//! let budget = br#"{"apiVersion":"policy/v1beta1","kind":"PodDisruptionBudget","spec":{"minAvailable":1}}"#;
//! let converted = conversion.convert(budget).unwrap();
//! assert_eq!(converted, br#"{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","spec":{"minAvailable":1}}"#);
//! ```

mod apps;
mod autoscaling;
mod definitions;
mod discovery;
mod flowcontrol;
mod kind;
mod kinds;
mod networking;
mod policy;
mod step;
mod webhooks;

use serde_json::Value;

pub use self::kind::{GroupVersion, Kind, Older};
pub use self::kinds::KINDS;
use self::step::Object;
pub use self::step::Unconvertible;

/// What all conversions give: the digest of what a test makes of its objects, which fails with the number that has to stand here. With another one whatever
/// is converted is listed once more.
pub const VERSION: u64 = 0x93d2_7ff9_b23b_09df;

/// From one version of a kind to the one in which it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    kind: &'static Kind,
    older: &'static Older,
}

impl PartialEq for Conversion {
    fn eq(&self, other: &Self) -> bool {
        (self.kind.resource, self.older.served) == (other.kind.resource, other.older.served)
    }
}

impl Eq for Conversion {}

/// The conversion of what is served as this, if there is one.
#[must_use]
pub fn of(group: &str, version: &str, resource: &str) -> Option<Conversion> {
    let is_it = |conversion: &Conversion| {
        let served = conversion.served();
        (conversion.kind.resource, served.group, served.version) == (resource, group, version)
    };
    all().find(is_it)
}

/// All conversions, kind by kind.
pub fn all() -> impl Iterator<Item = Conversion> {
    KINDS.iter().flat_map(of_kind)
}

/// Those of a kind, the one first that is to be preferred.
pub fn of_kind(kind: &'static Kind) -> impl Iterator<Item = Conversion> {
    let older = kind.older.iter();
    older.map(move |older| Conversion { kind, older })
}

impl Conversion {
    /// The kind that is converted.
    #[must_use]
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// In which version it is served.
    #[must_use]
    pub fn served(&self) -> GroupVersion {
        self.older.served
    }

    /// In which version it is stored.
    #[must_use]
    pub fn stored(&self) -> GroupVersion {
        self.kind.stored
    }

    /// Whether it takes more than another `apiVersion`.
    #[must_use]
    pub fn changes_objects(&self) -> bool {
        !self.older.steps.is_empty()
    }

    /// The object in the stored version.
    ///
    /// # Errors
    /// What of it is of no shape that the served version has, in words that quote nothing of it.
    pub fn convert(&self, json: &[u8]) -> Result<Vec<u8>, Unconvertible> {
        let object = serde_json::from_slice(json);
        let object = object.map_err(|_| Unconvertible::new("it is no JSON that can be read"))?;
        let Value::Object(mut object) = object else {
            return Err(Unconvertible::new("it is no object"));
        };
        self.apply(&mut object)?;
        serde_json::to_vec(&object).map_err(|_| Unconvertible::new("it cannot be written"))
    }

    fn apply(&self, object: &mut Object) -> Result<(), Unconvertible> {
        step::all(self.older.steps, object)?;
        // Items of a list carry neither.
        for (member, value) in [
            ("apiVersion", self.stored().api_version()),
            ("kind", self.kind.kind.to_owned()),
        ] {
            object.insert(member.to_owned(), value.into());
        }
        Ok(())
    }
}
