//! Holds the documents to what there is: every difference of docs/compatibility.md and every invariant of ARCHITECTURE.md names the tests that
//! hold it, and each of these is a test of this repository.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect("readable")
}

/// The last cell of each row of the table.
fn tests_of_differences(text: &str) -> Vec<&str> {
    let table = text.split("| test |").nth(1);
    let rows = table.expect("the table of differences has a column of tests");
    let rows = rows.lines().skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_end_matches(['|', ' ']))
        .map(|line| line.rsplit(" | ").next().unwrap_or_default())
        .collect()
}

/// What follows "Held by" in each item of the section, its lines joined.
fn tests_of_invariants(text: &str) -> Vec<String> {
    let section = text.split("## Invariants").nth(1);
    let section = section.and_then(|text| text.split("\n## ").next());
    let items = section.expect("there are invariants").split("\n- ").skip(1);
    let one_line = |item: &str| item.split_whitespace().collect::<Vec<_>>().join(" ");
    items
        .map(one_line)
        .map(|item| {
            let (_, held) = item.split_once("Held by ").unwrap_or_default();
            held.trim_end_matches('.').to_owned()
        })
        .collect()
}

/// Where the sources and tests of a crate are.
fn folder_of(root: &Path, name: &str) -> Option<PathBuf> {
    let library = name.strip_prefix("armadex-").unwrap_or(name);
    let places = ["", "libs", "controllers"].map(|place| root.join(place).join(library));
    let found = places.into_iter().find(|place| place.join("src").is_dir());
    found.filter(|_| name.starts_with("armadex"))
}

/// Whether `name` is what it is said to be: a crate and a test of it, or `e2e` and one of its programs of tests. Of `armadex-storage` it is a
/// case that every store is tried with.
fn is_there(root: &Path, name: &str) -> bool {
    let words: Vec<&str> = name.split(' ').map(|word| word.trim_matches('`')).collect();
    match words[..] {
        ["e2e", program] => {
            let program = root.join("e2e/tests").join(program);
            program.with_extension("rs").is_file() || program.join("main.rs").is_file()
        }
        ["armadex-storage", case] => {
            let suite = root.join("libs/storage/src/conformance.rs");
            let suite = std::fs::read_to_string(suite).expect("readable");
            suite.contains(&format!("::{case},"))
        }
        [krate, test] => {
            folder_of(root, krate).is_some_and(|folder| has_test(&folder, &format!("fn {test}(")))
        }
        _ => false,
    }
}

/// Whether a file below the folder has this function behind the attribute of a test.
fn has_test(folder: &Path, function: &str) -> bool {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut entries = entries.map(|entry| entry.expect("an entry").path());
    entries.any(|path| {
        if path.is_dir() {
            return has_test(&path, function);
        }
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        is_source && {
            let text = std::fs::read_to_string(&path).expect("readable");
            let before = text.split(function).collect::<Vec<_>>();
            let (_, before) = before.split_last().expect("a text has a part");
            before.iter().any(|before| ends_as_a_test_begins(before))
        }
    })
}

/// Whether what stands before a function are attributes, one of which makes it a test.
fn ends_as_a_test_begins(text: &str) -> bool {
    let text = text.trim_end().trim_end_matches("async").trim_end();
    let lines = text.lines().rev().map(str::trim);
    let mut attributes = lines.take_while(|line| line.starts_with("#["));
    attributes.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
}

#[test]
fn every_difference_names_its_tests() {
    let text = document("docs/compatibility.md");
    let named = tests_of_differences(&text);
    assert!(named.len() > 30, "the table was found: {named:?}");
    for cell in named {
        for name in cell.split(", ") {
            assert!(is_there(&root(), name), "there is no test {name}");
        }
    }
}

#[test]
fn every_invariant_names_its_tests() {
    let text = document("ARCHITECTURE.md");
    let named = tests_of_invariants(&text);
    assert!(named.len() > 10, "the section was found: {named:?}");
    for held in named {
        for name in held.split(", ") {
            assert!(is_there(&root(), name), "there is no test {name:?}");
        }
    }
}

#[test]
fn what_is_not_there_is_seen() {
    for (name, expected) in [
        ("`armadex-model` `every_operator_is_read`", true),
        ("`armadex-storage-sql` `the_texts_of_all_statements`", true),
        ("`armadex` `what_is_not_there_is_seen`", true),
        // Within a macro.
        (
            "`armadex-synchro` `pruning_text_equals_editing_values`",
            true,
        ),
        ("`armadex-storage` `revisions_have_no_gaps`", true),
        ("`armadex-storage` `every_operator_is_read`", false),
        // Of another crate, no test, a part of a name, no name.
        ("`armadex-policy` `every_operator_is_read`", false),
        ("`armadex` `has_test`", false),
        ("`armadex-model` `operator_is_read`", false),
        ("`armadex-model`", false),
        ("`armadex-nothing` `every_operator_is_read`", false),
        ("e2e `faults`", true),
        ("e2e `fields`", true),
        ("e2e `fleet`", false),
        ("", false),
    ] {
        assert_eq!(is_there(&root(), name), expected, "{name}");
    }
}
