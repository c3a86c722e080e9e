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
}
