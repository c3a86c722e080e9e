//! Parameters by number, as PostgreSQL wants them.

/// The same text with `$1`, `$2`, ... for each `?`. No text of ours has a question mark that is none.
pub(super) fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut text = String::with_capacity(sql.len() + 32);
    text.push_str(parts.next().unwrap_or_default());
    for (index, part) in parts.enumerate() {
        text.push('$');
        text.push_str(&(index + 1).to_string());
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_in_order() {
        let many = ["?"; 11].join(", ");
        assert_eq!(numbered("SELECT 1"), "SELECT 1");
        assert_eq!(numbered("a = ? AND b = ANY(?)"), "a = $1 AND b = ANY($2)");
        assert!(numbered(&many).ends_with(", $10, $11"));
    }
}
