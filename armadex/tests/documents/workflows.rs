//! What runs in CI runs as it was looked at: whoever can move a tag of an action could have it run anything, with what a release is signed and pushed by.

use std::path::Path;

/// The actions of a workflow that are of no fixed commit. Those of this repository are of the commit that runs them.
fn movable(text: &str) -> Vec<&str> {
    let used = text.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        line.strip_prefix("uses:")?.split_whitespace().next()
    });
    let is_fixed = |action: &str| {
        let commit = action.rsplit_once('@').map_or("", |(_, commit)| commit);
        let is_hex = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        action.starts_with("./") || (commit.len() == 40 && is_hex)
    };
    used.filter(|action| !is_fixed(action)).collect()
}

#[test]
fn every_action_is_of_a_fixed_commit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.github/workflows");
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    assert!(paths.len() > 2, "{paths:?}");
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("readable");
        assert!(text.contains("uses: "), "{}", path.display());
        assert_eq!(movable(&text), [""; 0], "{}", path.display());
    }
}

#[test]
fn an_action_that_may_move_is_found() {
    let commit = "11d5960a326750d5838078e36cf38b85af677262";
    for (line, is_movable) in [
        (format!("      - uses: a/b@{commit} # v4"), false),
        ("    uses: ./.github/workflows/test.yaml".to_owned(), false),
        ("      - uses: a/b@v4".to_owned(), true),
        (format!("        uses: a/b@{}", &commit[..12]), true),
        ("      - uses: a/b".to_owned(), true),
    ] {
        assert_eq!(!movable(&line).is_empty(), is_movable, "{line}");
    }
}
