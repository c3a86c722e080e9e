//! What may be a label key and a label value (Kubernetes API conventions: names of 63 characters, an optional DNS prefix).

/// Longest name part of a key and longest value, as Kubernetes sets it.
const MAX_NAME: usize = 63;

/// Why `key` cannot be a label key; `None` if it can.
pub(super) fn key_fault(key: &str) -> Option<&'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if prefix.is_some_and(|prefix| !is_prefix(prefix)) {
        return Some("the part before / must be a DNS subdomain");
    }
    if name.is_empty() || !is_name(name) {
        return Some(
            "a key is at most 63 letters, digits, -, _ or . between a letter or digit at each end, after an optional prefix/",
        );
    }
    None
}

/// Why `value` cannot be a label value; `None` if it can.
pub(super) fn value_fault(value: &str) -> Option<&'static str> {
    if value.is_empty() || is_name(value) {
        return None;
    }
    Some(
        "a value is empty or at most 63 letters, digits, -, _ or . between a letter or digit at each end",
    )
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends_well = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= MAX_NAME
        && ends_well(bytes.first())
        && ends_well(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// A DNS subdomain: the rule that names of clusters follow too.
fn is_prefix(text: &str) -> bool {
    crate::ClusterName::new(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_qualified_names() {
        for good in ["a", "app.kubernetes.io/name", "A_b.c-d", "1", "x/1"] {
            assert_eq!(key_fault(good), None, "{good}");
        }
        for bad in [
            "",
            "/a",
            "a/",
            "a/b/c",
            "A/b",
            "-a",
            "a-",
            "ä",
            &"x".repeat(64),
        ] {
            assert!(key_fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn values_are_names_or_empty() {
        for good in ["", "a", "1.2_3-4", &"x".repeat(63)] {
            assert_eq!(value_fault(good), None, "{good}");
        }
        for bad in ["a/b", "-", "a.", "a b", &"x".repeat(64)] {
            assert!(value_fault(bad).is_some(), "{bad}");
        }
    }
}
