//! What a member serves in an older version than the one that is stored: what it is asked for, and what is made of its objects before they are pruned. Pure.

use std::sync::Mutex;

use armadex_conversion::Conversion;
use armadex_model::rules::digest;
use armadex_model::{GroupVersionResource, ResourceType};
use armadex_storage::Object;

use crate::incoming::prune::{Rules, Skipped, prune, salvage};
use crate::lock::lock;

/// The most that etcd takes by default: what is larger is no object of an old API server.
const LARGEST: usize = 3 << 19;
/// Of those that are larger one is converted at a time.
const LARGE: usize = 128 << 10;
static TURN: Mutex<()> = Mutex::new(());

/// How one stream comes to what is stored from what its member serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Converted {
    conversion: Conversion,
    served: GroupVersionResource,
    namespaced: bool,
}

impl Converted {
    /// To objects of this type.
    pub(crate) fn new(conversion: Conversion, stored: &ResourceType) -> Self {
        let served = conversion.served();
        let resource = conversion.kind().resource;
        Self {
            conversion,
            served: GroupVersionResource::new(served.group, served.version, resource),
            namespaced: stored.namespaced,
        }
    }

    /// By which it does.
    pub(crate) fn conversion(&self) -> Conversion {
        self.conversion
    }

    /// What the member is asked for.
    pub(crate) fn served(&self) -> &GroupVersionResource {
        &self.served
    }

    /// The number of these rules, pruning among them: rows that came from another version, or by other conversions, are made anew.
    pub(crate) fn rules_version(&self, pruning: i64) -> i64 {
        let version = armadex_conversion::VERSION;
        digest(&format!("{pruning} {version} {}", self.served)).cast_signed()
    }
}

/// The stored form of an object as a member sends it, of a version that is converted or of the stored one.
pub(crate) fn read(
    json: &[u8],
    converted: Option<&Converted>,
    rules: &Rules,
) -> Result<Object, Skipped> {
    let changed = converted.filter(|converted| converted.conversion.changes_objects());
    let Some(converted) = changed else {
        return prune(json, rules);
    };
    let skipped = |reason| Skipped {
        key: salvage(json).key(converted.namespaced),
        reason,
    };
    if json.len() > LARGEST {
        return Err(skipped(format!(
            "it has {} bytes, and none of more than {LARGEST} is converted",
            json.len()
        )));
    }
    // A tree of an object may be a hundred times as large as its text.
    let _turn = (json.len() > LARGE).then(|| lock(&TURN));
    let object = converted.conversion.convert(json);
    let object = object
        .map_err(|error| skipped(format!("it is not as {} has it: {error}", converted.served)))?;
    prune(&object, rules)
}

#[cfg(test)]
mod tests {
    use armadex_model::{ClusterName, ObjectKey};

    use super::*;
    use crate::testing::named;

    fn ingresses() -> (ResourceType, Converted) {
        let stored = ResourceType {
            gvr: GroupVersionResource::new("networking.k8s.io", "v1", "ingresses"),
            ..named("ingresses")
        };
        let conversion = armadex_conversion::of("extensions", "v1beta1", "ingresses");
        let converted = Converted::new(conversion.unwrap(), &stored);
        (stored, converted)
    }

    fn read_one(json: &str) -> Result<Object, Skipped> {
        let (stored, converted) = ingresses();
        let cluster = ClusterName::new("member1").unwrap();
        let rules = Rules::new(&cluster, &stored.gvr, 1 << 20);
        read(json.as_bytes(), Some(&converted), &rules)
    }

    #[test]
    fn an_object_is_converted_before_it_is_pruned() {
        let object = read_one(
            r#"{"apiVersion":"extensions/v1beta1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"},
                "spec":{"backend":{"serviceName":"web","servicePort":80}}}"#,
        );
        let object = object.unwrap();
        assert_eq!(object.key, ObjectKey::new("n", "a"));
        assert_eq!(object.resource_version, "7");
        let body = std::str::from_utf8(&object.body).unwrap();
        let expected =
            r#""spec":{"defaultBackend":{"service":{"name":"web","port":{"number":80}}}}}"#;
        assert!(body.ends_with(expected), "{body}");
    }

    #[test]
    fn what_cannot_be_converted_is_left_out_in_words_and_by_its_name() {
        let skipped = read_one(r#"{"metadata":{"name":"a","namespace":"n"},"spec":"secret"}"#);
        let Skipped { key, reason } = skipped.unwrap_err();
        assert_eq!(key, Some(ObjectKey::new("n", "a")));
        assert_eq!(
            reason,
            "it is not as ingresses.extensions/v1beta1 has it: spec is no object"
        );
    }

    #[test]
    fn what_is_larger_than_any_object_is_not_converted() {
        let data = "x".repeat(LARGEST);
        let json = format!(r#"{{"metadata":{{"name":"a","namespace":"n"}},"data":"{data}"}}"#);
        let skipped = read_one(&json).unwrap_err();
        assert_eq!(skipped.key, Some(ObjectKey::new("n", "a")));
        assert!(
            skipped.reason.contains("is converted"),
            "{}",
            skipped.reason
        );
    }

    /// The same type, read from one version or another.
    #[test]
    fn what_comes_from_another_version_goes_by_other_rules() {
        let (stored, from_extensions) = ingresses();
        let other = armadex_conversion::of("networking.k8s.io", "v1beta1", "ingresses");
        let from_beta = Converted::new(other.unwrap(), &stored);
        let [one, other] = [&from_extensions, &from_beta].map(|from| from.rules_version(7));
        assert_ne!(one, other);
        assert_ne!(one, 7);
        assert_ne!(one, from_extensions.rules_version(8), "pruning counts");
    }
}
