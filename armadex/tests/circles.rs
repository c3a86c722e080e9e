//! Holds the files of a crate to an order: no circle of files that import each other.
//!
//! A file that can be read after those that it imports, and only those, can be proofread. What counts is what the text says: every
//! path that begins with `crate::` or `super::`, outside tests; what the crate's root re-exports is of the file that it comes from. A file
//! names its children to declare them, which is no import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module by its path below the crate: `["answer", "listing"]`; empty for the crate itself.
type Module = Vec<String>;

#[test]
fn no_files_import_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = crates(include_str!("../../Cargo.toml"));
    assert!(crates.len() > 10, "the crates of the workspace: {crates:?}");
    for name in crates {
        let circles = circles(&imports(&root.join(name).join("src")));
        assert!(circles.is_empty(), "{name}: {circles:#?}");
    }
}

#[test]
fn a_circle_is_found_whatever_its_imports_look_like() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in [
        (
            "lib.rs",
            "mod a;\nmod b;\nmod c;\nmod d;\nmod e;\nmod f;\nmod g;\npub use d::Four;\npub use e::Five;\n",
        ),
        (
            "a.rs",
            "use crate::{\n    b::{self, Two},\n    c::Three,\n};\n",
        ),
        ("b.rs", "mod inner;\npub(crate) use inner::Two;\n"),
        ("b/inner.rs", "fn one() -> super::super::a::One {}\n"),
        (
            "c.rs",
            "struct Three;\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n",
        ),
        ("d.rs", "use crate::Five;\n"),
        ("e.rs", "use crate::Four;\n"),
        (
            "f.rs",
            "mod inner;\n#[cfg(test)]\nmod tests;\nuse crate::f::inner::Six;\n",
        ),
        (
            "f/inner.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::e;\n}\nuse crate::f::Seven;\n",
        ),
        ("f/tests.rs", "use crate::a;\n"),
        ("g.rs", "mod inner;\nuse inner::Eight;\n"),
        ("g/inner.rs", "pub(in crate::g) struct Eight;\n"),
    ] {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let found = circles(&imports(directory.path()));
    assert_eq!(
        found,
        [
            vec!["a", "b", "b::inner"],
            vec!["d", "e"],
            vec!["f", "f::inner"],
        ]
    );
}

/// The folders of the workspace's crates, as its manifest lists them.
fn crates(manifest: &str) -> Vec<&str> {
    let (_, members) = manifest.split_once("\nmembers = [").expect("members");
    let (members, _) = members.split_once(']').expect("their end");
    members.split('"').skip(1).step_by(2).collect()
}

/// Which file imports which.
fn imports(root: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut texts = BTreeMap::new();
    for file in rust_files(root) {
        let module = module_of(file.strip_prefix(root).expect("below the root"));
        let is_test = module
            .iter()
            .any(|part| part == "tests" || part == "testing");
        if is_test {
            continue;
        }
        texts.insert(module, std::fs::read_to_string(&file).expect("readable"));
    }
    let files: BTreeSet<Module> = texts.keys().cloned().collect();
    let exported = exported(&texts, &files);
    let edges = texts.into_iter().map(|(module, text)| {
        let named = paths(&module, &files, &without_tests(&text));
        let mut used: BTreeSet<Module> = named
            .iter()
            .filter_map(|path| {
                let from_root = || exported.get(path.first()?).cloned();
                file_of(path, &files).or_else(from_root)
            })
            .collect();
        used.remove(&module);
        (module, used)
    });
    edges.collect()
}

/// Where the names come from that the crate's root uses or re-exports.
fn exported(
    texts: &BTreeMap<Module, String>,
    files: &BTreeSet<Module>,
) -> BTreeMap<String, Module> {
    let root = Module::new();
    let text = texts.get(&root).map(|text| without_tests(text));
    let named = paths(&root, files, &text.unwrap_or_default()).into_iter();
    let named = named.filter_map(|path| Some((path.last()?.clone(), file_of(&path, files)?)));
    named.collect()
}

fn module_of(path: &Path) -> Module {
    let mut parts: Module = path
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts == ["lib"] {
        parts.clear();
    }
    parts
}

/// Without the unit tests that are written into a file. Those in a file of their own are declared anywhere, and what follows counts.
fn without_tests(text: &str) -> String {
    let Some((before, rest)) = text.split_once("mod tests {\n") else {
        return text.to_owned();
    };
    let after = rest.split_once("\n}\n").map_or("", |(_, after)| after);
    format!("{before}{after}")
}

/// Every module path in a text, from the crate's root on.
fn paths(module: &Module, files: &BTreeSet<Module>, text: &str) -> Vec<Module> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line.trim(), " "])
        .collect();
    let mut found = Vec::new();
    for (start, word) in words(&code) {
        let from = match word {
            "crate" => Module::new(),
            "super" => module[..module.len().saturating_sub(1)].to_vec(),
            // What a file re-exports or uses from its child.
            child if files.contains(&[&module[..], &[child.to_owned()]].concat()) => {
                [&module[..], &[child.to_owned()]].concat()
            }
            _ => continue,
        };
        let rest = &code[start + word.len()..];
        let before = &code[..start];
        // Who may see something is no import.
        if rest.starts_with("::") && !before.ends_with("::") && !before.ends_with("(in ") {
            expand(from, &rest[2..], &mut found);
        }
    }
    found
}

/// The words of a text and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|char: char| !char.is_alphanumeric() && char != '_')
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Follows a path over its braces: `a::{b, c::d}` is `a::b` and `a::c::d`. Returns what follows it.
fn expand<'a>(mut from: Module, mut text: &'a str, found: &mut Vec<Module>) -> &'a str {
    loop {
        if let Some(mut inner) = text.strip_prefix('{') {
            while let Some(rest) = {
                let trimmed = inner.trim_start_matches([',', ' ']);
                (!trimmed.is_empty() && !trimmed.starts_with('}')).then_some(trimmed)
            } {
                inner = expand(from.clone(), rest, found);
                // An alias, or the end of a text that is no path.
                inner = inner.find([',', '}']).map_or("", |end| &inner[end..]);
            }
            return inner.strip_prefix('}').unwrap_or(inner);
        }
        let end = text
            .find(|char: char| !char.is_alphanumeric() && char != '_')
            .unwrap_or(text.len());
        match &text[..end] {
            "super" => drop(from.pop()),
            "self" | "" => {}
            word => from.push(word.to_owned()),
        }
        text = &text[end..];
        match text.strip_prefix("::") {
            Some(rest) if end > 0 => text = rest,
            _ => {
                found.push(from);
                return text;
            }
        }
    }
}

/// The file that a path leads to: the longest part of it that is one.
fn file_of(path: &Module, files: &BTreeSet<Module>) -> Option<Module> {
    (1..=path.len())
        .rev()
        .map(|length| path[..length].to_vec())
        .find(|part| files.contains(part))
}

/// The groups of files that reach each other.
fn circles(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = edges
        .keys()
        .map(|from| (from, reach(from, edges)))
        .collect();
    let mut groups = BTreeSet::new();
    for (from, to) in &reached {
        if to.contains(from) {
            let group = to.iter().filter(|other| reached[*other].contains(from));
            groups.insert(group.map(|module| module.join("::")).collect::<Vec<_>>());
        }
    }
    groups.into_iter().collect()
}

fn reach<'a>(
    from: &'a Module,
    edges: &'a BTreeMap<Module, BTreeSet<Module>>,
) -> BTreeSet<&'a Module> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&Module> = edges[from].iter().collect();
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            open.extend(edges[next].iter());
        }
    }
    seen
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}
