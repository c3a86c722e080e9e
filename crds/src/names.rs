//! What Kubernetes lets names be. A name that comes from outside becomes part of a path only after it was looked at here: anything else in
//! it would lead to other objects than those that are spoken of. Pure.

/// The longest name of an object, a group, a version or a resource.
const MOST_BYTES: usize = 253;

/// Labels with dots between them, each of lower case letters, digits and dashes, which neither begin nor end it: a DNS-1123 subdomain.
pub fn is_subdomain(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        let ends = [label.bytes().next(), label.bytes().next_back()];
        label.bytes().all(allowed) && ends.iter().all(|end| end.is_some_and(|end| end != b'-'))
    };
    text.len() <= MOST_BYTES && text.split('.').all(is_label)
}

/// What the Secrets are called that Armadex keeps its own serving certificate in. They lie beside credentials of members and are none: whoever had one could
/// pass for Armadex before its control plane.
const SERVING_SECRET: &str = "armadex-serving";

/// Whether a Secret of this name is Armadex's own, `armadex-serving` or one that begins with that and a dash: nothing reads it as a credential, and no
/// policy reads it at all.
#[must_use]
pub fn is_serving_secret(name: &str) -> bool {
    let rest = name.strip_prefix(SERVING_SECRET);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_elsewhere_is_no_name() {
        for name in [
            "a",
            "v1",
            "apps",
            "cluster.karmada.io",
            "member-1.token-x7",
            &"a".repeat(MOST_BYTES),
        ] {
            assert!(is_subdomain(name), "{name}");
        }
        for other in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "a.",
            "-a",
            "a-",
            "a.-b",
            "A",
            "a/b",
            "?limit=500",
            "?watch=true&timeoutSeconds=2000000000",
            "a#b",
            "a%2fb",
            "a b",
            "ä",
            "a\n",
            &"a".repeat(MOST_BYTES + 1),
        ] {
            assert!(!is_subdomain(other), "{other}");
        }
    }

    #[test]
    fn a_secret_of_our_own_is_known_by_its_name() {
        for name in ["armadex-serving", "armadex-serving-east"] {
            assert!(is_serving_secret(name), "{name}");
        }
        for name in ["armadex-servings", "my-armadex-serving", "member1", ""] {
            assert!(!is_serving_secret(name), "{name}");
        }
    }
}
