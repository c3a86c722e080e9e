//! Holds the documents to what there is: every difference of docs/compatibility.md and every invariant of ARCHITECTURE.md names the tests that
//! hold it, and each of these is a test of this repository; the numbers of docs/limits.md are those of the sources; the rooms that ARCHITECTURE.md tells
//! are all that there are, and no others; the end-to-end tests are those that e2e/README.md tells; and workflows run what was looked at.

#[path = "documents/limits.rs"]
mod limits;
#[path = "documents/workflows.rs"]
mod workflows;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect("readable")
}

/// The last cell of each row of the tables that have a column of tests, table by table.
fn tests_of_tables(text: &str) -> Vec<Vec<&str>> {
    let tables = text.split("| test |").skip(1);
    tables
        .map(|table| {
            let rows = table.lines().skip(2);
            rows.take_while(|line| line.starts_with('|'))
                .map(|line| line.trim_end_matches(['|', ' ']))
                .map(|line| line.rsplit(" | ").next().unwrap_or_default())
                .collect()
        })
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

/// Whether `name` is what it is said to be: a crate and a test of it, or `e2e` and a file of its tests. Of `armadex-storage` it is a
/// case that every store is tried with.
fn is_there(root: &Path, name: &str) -> bool {
    let words: Vec<&str> = name.split(' ').map(|word| word.trim_matches('`')).collect();
    match words[..] {
        ["e2e", program] => {
            let tests = root.join("e2e/tests");
            let files = ["PROGRAM.rs", "PROGRAM/main.rs", "fleets/PROGRAM.rs"];
            let mut files = files
                .map(|file| file.replace("PROGRAM", program))
                .into_iter();
            files.any(|file| tests.join(file).is_file())
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

/// Which the chart pulls by the version of the program, and of no other name.
#[test]
fn an_image_that_is_built_by_hand_has_the_name_that_the_chart_pulls() {
    let version = concat!(":", env!("CARGO_PKG_VERSION"));
    for name in ["README.md", "CONTRIBUTING.md", "Dockerfile"] {
        let text = document(name);
        let named =
            ["docker build --tag ", "docker push "].map(|command| text.split(command).skip(1));
        let named = named.into_iter().flatten();
        let named = Vec::from_iter(named.filter_map(|rest| rest.split([' ', '`', '\n']).next()));
        assert!(!named.is_empty(), "{name}");
        assert!(
            named.iter().all(|image| image.ends_with(version)),
            "{name}: {named:?}"
        );
    }
}

#[test]
fn every_difference_and_all_that_is_documented_names_its_tests() {
    let text = document("docs/compatibility.md");
    let tables = tests_of_tables(&text);
    let rows = Vec::from_iter(tables.iter().map(Vec::len));
    assert!(
        rows.len() == 2 && rows.iter().all(|rows| *rows > 30),
        "both tables are found: {rows:?}"
    );
    for cell in tables.into_iter().flatten() {
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
        ("e2e `equality`", true),
        ("e2e `faults`", true),
        ("e2e `fields`", true),
        ("e2e `fleet`", false),
        ("", false),
    ] {
        assert_eq!(is_there(&root(), name), expected, "{name}");
    }
}

/// Which section of ARCHITECTURE.md tells the rooms of these sources, and in which of their folders it names every one. Of others it says what they are for.
const ROOMS: [(&str, &str, &[&str]); 5] = [
    (
        "The rooms of the API server",
        "apiserver/src",
        &["request", "caller", "app"],
    ),
    (
        "The rooms of the store",
        "libs/storage-sql/src",
        &["write", "read", "backend"],
    ),
    (
        "The rooms of the synchro",
        "controllers/synchro/src",
        &[
            "incoming",
            "told",
            "credentials",
            "stream",
            "audit",
            "session",
            "tree",
            "fleet",
        ],
    ),
    (
        "The rooms of the binary",
        "armadex/src",
        &["command", "store", "admin"],
    ),
    ("The rooms of the bench", "bench/src", &[]),
];

/// Of which folders beside its own a section tells rooms as well, and what else is called by a word that might be a room's.
const BESIDE: [(&str, &[&str], &[&str]); 3] = [
    ("The rooms of the synchro", &["controllers", "libs"], &[]),
    ("The rooms of the binary", &[], &["deploy", "run"]),
    ("The rooms of the bench", &[], &["seed"]),
];

/// The item of a section that begins with this folder.
fn item_of<'a>(section: &'a str, folder: &str) -> &'a str {
    let begins = format!("`{folder}/`");
    let item = section.split("\n- ").find(|item| item.starts_with(&begins));
    item.unwrap_or_else(|| panic!("no item of {begins}"))
}

/// The section without what it says of the rooms of a folder, but for the folder's own name: a room of the crate may be called like one of these.
fn without_rooms_of_folders(section: &str) -> String {
    let items = section.split("\n- ").map(|item| {
        let (name, rest) = item.strip_prefix('`')?.split_once("/`")?;
        // Of several folders in one item each is named with its stroke.
        let more = rest.split('`').filter(|name| name.ends_with('/'));
        let names = std::iter::once(name).chain(more);
        Some(names.map(|name| format!("`{name}`")).collect())
    });
    let items = section.split("\n- ").zip(items);
    items
        .map(|(item, names)| names.unwrap_or_else(|| item.to_owned()))
        .collect()
}

/// The modules in `folder` of which `text` has no name in backticks, alone or as a part of a path.
fn untold(text: &str, folder: &Path) -> Vec<PathBuf> {
    let names: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let is_told = |module: &str| {
        names
            .iter()
            .any(|name| name.split('/').any(|part| part == module))
    };
    let entries = std::fs::read_dir(folder).expect("readable");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_source = |path: &PathBuf| path.is_dir() || path.extension().is_some_and(|it| it == "rs");
    let mut untold: Vec<_> = paths
        .filter(is_source)
        .filter(|path| {
            let module = path.file_stem().and_then(|stem| stem.to_str());
            let module = module.expect("a name");
            !["lib", "main", "tests"].contains(&module) && !is_told(module)
        })
        .collect();
    untold.sort();
    untold
}

fn section<'a>(text: &'a str, title: &str) -> &'a str {
    let section = text.split(&format!("\n## {title}\n")).nth(1);
    let section = section.and_then(|text| text.split("\n## ").next());
    section.unwrap_or_else(|| panic!("no section {title}"))
}

/// The names of what lies in `folder`, however deep, and its own.
fn names_in(folder: &Path, names: &mut BTreeSet<String>) {
    let name = folder.file_stem().and_then(|stem| stem.to_str());
    names.extend(name.map(str::to_owned));
    if folder.is_dir() {
        let entries = std::fs::read_dir(folder).expect("readable");
        entries.for_each(|entry| names_in(&entry.expect("an entry").path(), names));
    }
}

/// What `text` has in backticks that might be the name of a room, or a path of such names, and is no name of `there`.
fn gone<'a>(text: &'a str, there: &BTreeSet<String>) -> Vec<&'a str> {
    let is_room = |name: &&str| {
        let mut letters = name.chars();
        letters.all(|letter| letter.is_ascii_lowercase() || matches!(letter, '_' | '/'))
    };
    let told = text.split('`').skip(1).step_by(2).filter(is_room);
    let is_gone = |name: &&str| {
        let mut parts = name.split('/').filter(|part| !part.is_empty());
        parts.any(|part| !there.contains(part))
    };
    told.filter(is_gone).collect()
}

#[test]
fn every_room_that_is_told_is_there() {
    let text = document("ARCHITECTURE.md");
    let mut missing = Vec::new();
    for (title, sources, _) in ROOMS {
        let beside = BESIDE.iter().find(|(of, ..)| *of == title);
        let (folders, others) = beside.map_or((&[][..], &[][..]), |(_, folders, others)| {
            (*folders, *others)
        });
        let mut there = BTreeSet::from_iter(others.iter().map(|name| (*name).to_owned()));
        for folder in folders.iter().chain([&sources]) {
            names_in(&root().join(folder), &mut there);
        }
        missing.extend(gone(section(&text, title), &there));
    }
    assert!(missing.is_empty(), "told, and not there: {missing:#?}");
}

#[test]
fn a_room_that_is_told_and_not_there_is_found() {
    let there = BTreeSet::from(["kept".to_owned(), "read".to_owned()]);
    let text = "`read/` and `read/kept` are there, `kept`, `read/walk` and `place`; `Accept` and `a.b` are no rooms.";
    assert_eq!(gone(text, &there), ["read/walk", "place"]);
}

#[test]
fn every_end_to_end_test_is_told() {
    let (text, tests) = (document("e2e/README.md"), root().join("e2e/tests"));
    let mut untold = Vec::new();
    for folder in [tests.join("fleets"), tests] {
        let entries = std::fs::read_dir(folder).expect("readable");
        // What has no test is what several share.
        let is_test = |path: &PathBuf| {
            path.is_dir() || std::fs::read_to_string(path).is_ok_and(|text| text.contains("::test"))
        };
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let names = paths
            .filter(is_test)
            .filter_map(|path| path.file_stem()?.to_str().map(str::to_owned));
        let names = names.filter(|name| name != "fleets");
        untold.extend(names.filter(|name| !text.contains(&format!("\n| `{name}` | "))));
    }
    assert!(untold.is_empty(), "not told: {untold:#?}");
}

#[test]
fn every_room_of_a_crate_whose_rooms_are_told_is_named() {
    let text = document("ARCHITECTURE.md");
    let mut missing = Vec::new();
    for (title, sources, folders) in ROOMS {
        let section = section(&text, title);
        let sources = root().join(sources);
        missing.extend(untold(&without_rooms_of_folders(section), &sources));
        for folder in folders {
            missing.extend(untold(item_of(section, folder), &sources.join(folder)));
        }
    }
    assert!(missing.is_empty(), "not told: {missing:#?}");
}

#[test]
fn a_room_that_is_not_named_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["kept.rs", "kept.orig", "tests.rs", "walk.rs"] {
        std::fs::write(folder.path().join(name), "").expect("written");
    }
    std::fs::create_dir(folder.path().join("deep")).expect("made");
    let text = "`deep/` is far down, kept is not told and `read/walk` is.";
    assert_eq!(untold(text, folder.path()), [folder.path().join("kept.rs")]);
    let told = without_rooms_of_folders("`a` is\n\n- `b/` has `c`, `d/` too\n- `e` has `f`");
    assert_eq!(told, "`a` is\n`b``d/``e` has `f`");
    let item = item_of("Rooms:\n\n- `a/` has `b`.\n- `c/` has `d`.", "c");
    assert_eq!(item, "`c/` has `d`.");
}
