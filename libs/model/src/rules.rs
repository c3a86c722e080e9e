//! One number for all that decides what is stored and indexed of a type.
//!
//! A store keeps it per stream. Where it differs from this binary's, rows were made by other rules, so objects that have not changed
//! since would be found wrongly: such a stream is listed and compared anew.

use crate::field::{Field, indexed};

/// The number of the rules for a type. `pruning` names whatever else decides, in words of the caller: how much of an object is kept,
/// how values are read, and what is indexed beside the fields.
///
/// It depends on nothing but the rules: neither on the build nor on the platform. It is signed because databases' integers are.
///
/// ```
/// use armadex_model::rules::fingerprint;
///
/// assert_ne!(fingerprint("", "pods", "1"), fingerprint("", "nodes", "1"));
/// assert_ne!(fingerprint("", "pods", "1"), fingerprint("", "pods", "2"));
/// ```
#[must_use]
pub fn fingerprint(group: &str, resource: &str, pruning: &str) -> i64 {
    digest(&describe(group, resource, pruning)).cast_signed()
}

/// The rules in words; what is not in here does not count. They are written out: what `Debug` makes of a type is nobody's promise.
fn describe(group: &str, resource: &str, pruning: &str) -> String {
    let mut text = format!("pruning {pruning}\n");
    for field in indexed(group, resource) {
        // Without `..`: whatever a field gets more decides as well.
        let Field {
            label,
            path,
            fallback,
            absent,
            own,
        } = field;
        let or = fallback.map_or_else(String::new, |path| format!(" or {path}"));
        // Those that are as they were keep their number.
        let own = if *own { ", its own" } else { "" };
        text.push_str(&format!("field {label}: {path}{or} or \"{absent}\"{own}\n"));
    }
    text
}

/// A number for a text: FNV-1a, 64 bits. Its definition never changes, and a handful of rules needs no more of a hash.
#[must_use]
pub fn digest(text: &str) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    text.bytes().fold(OFFSET_BASIS, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::types;

    /// A number that changes here makes every stream of the type be listed and compared once more after an upgrade. That is what a
    /// change of the rules needs, and nothing else should change it.
    #[test]
    fn whoever_changes_the_rules_of_a_type_changes_its_number() {
        let others = [("", "configmaps"), ("apps", "deployments")];
        let shown: Vec<_> = types()
            .chain(others)
            .map(|(group, resource)| {
                let number = fingerprint(group, resource, "P");
                let text = describe(group, resource, "P");
                format!("{group}/{resource} {number}\n{text}")
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(digest(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest("foobar"), 0x8594_4171_f739_67e8);
    }
}
