//! Holds docs/compatibility.md to what there is: every test that it names is a crate or an end-to-end test of this repository.

use std::path::Path;

/// The last cell of each row of the table.
fn tests_named(text: &str) -> Vec<&str> {
    let table = text.split("| test |").nth(1);
    let rows = table.expect("the table of differences has a column of tests");
    let rows = rows.lines().skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_end_matches(['|', ' ']))
        .map(|line| line.rsplit(" | ").next().unwrap_or_default())
        .collect()
}

/// Whether `name` is what it is said to be: a crate, or `e2e` and a file or folder of its tests.
fn is_there(root: &Path, name: &str) -> bool {
    let Some(test) = name.strip_prefix("e2e ") else {
        let library = name.trim_matches('`').strip_prefix("armadex-");
        let library = library.unwrap_or_default();
        let places = ["", "libs", "controllers"].map(|place| root.join(place).join(library));
        return !library.is_empty() && places.iter().any(|place| place.join("src").is_dir());
    };
    let test = root.join("e2e/tests").join(test.trim_matches('`'));
    test.with_extension("rs").is_file() || test.join("main.rs").is_file()
}

#[test]
fn every_difference_names_tests_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join("docs/compatibility.md")).expect("readable");
    let named = tests_named(&text);
    assert!(named.len() > 20, "the table was found: {named:?}");
    for cell in named {
        let mut names = cell.split(", ");
        assert!(names.all(|name| is_there(&root, name)), "{cell}");
    }
}

#[test]
fn what_is_not_there_is_seen() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, expected) in [
        ("`armadex-apiserver`", true),
        ("`armadex-storage-sql`", true),
        ("`armadex-importpolicy`", true),
        ("`armadex-nothing`", false),
        ("e2e `faults`", true),
        ("e2e `fields`", true),
        ("e2e `fleet`", false),
        ("", false),
    ] {
        assert_eq!(is_there(&root, name), expected, "{name}");
    }
}
