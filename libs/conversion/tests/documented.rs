//! docs/versions.md tells of each conversion, and of no other.

use armadex_conversion::{GroupVersion, KINDS, Kind, Older};

const PAGE: &str = include_str!("../../../docs/versions.md");

#[test]
fn the_page_has_a_row_for_each_kind_and_for_what_becomes_of_it() {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    let rows: Vec<_> = rows.collect();
    let expected: Vec<_> = KINDS.iter().map(row).collect();
    assert_eq!(
        rows,
        expected,
        "the rows have to be\n{}",
        expected.join("\n")
    );
}

fn row(kind: &Kind) -> String {
    let from: Vec<_> = kind.older.iter().map(|older| named(older.served)).collect();
    let (name, stored, from) = (kind.kind, named(kind.stored), from.join(", "));
    format!("| `{name}` | {stored} | {from} | {} |", becomes(kind.older))
}

fn named(of: GroupVersion) -> String {
    format!("`{}/{}`", of.group, of.version)
}

/// What becomes another, each once, and from which versions if not from all.
fn becomes(older: &[Older]) -> String {
    let mut told: Vec<(&str, Vec<String>)> = Vec::new();
    for Older { served, words, .. } in older {
        match told.iter_mut().find(|(known, _)| known == words) {
            Some((_, from)) => from.push(named(*served)),
            None => told.push((words, vec![named(*served)])),
        }
    }
    let is_same_for_all = told.len() == 1;
    let told = told.into_iter().filter(|(words, _)| !words.is_empty());
    let told = told.map(|(words, from)| match is_same_for_all {
        true => words.to_owned(),
        false => format!("from {}: {words}", from.join(" and ")),
    });
    told.collect::<Vec<_>>().join("; ")
}
