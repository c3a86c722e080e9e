//! Holds the crates to the layout that ARCHITECTURE.md states: the table of edges there is compared with what cargo sees.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

type Edges = BTreeMap<String, BTreeSet<String>>;

/// The table between the two markers: `| crate | level | uses |`.
fn stated(text: &str) -> (Edges, BTreeMap<String, String>) {
    let start = text
        .find("<!-- crates -->")
        .expect("ARCHITECTURE.md has the table of crates");
    let end = text.find("<!-- /crates -->").expect("the table ends");
    let mut edges = Edges::new();
    let mut levels = BTreeMap::new();
    for line in text[start..end]
        .lines()
        .filter(|line| line.starts_with("| `"))
    {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].trim_matches('`').to_owned();
        let uses = cells[2]
            .split(',')
            .map(|cell| cell.trim().trim_matches('`').to_owned());
        levels.insert(name.clone(), cells[1].to_owned());
        edges.insert(
            name,
            uses.filter(|cell| !cell.is_empty() && cell != "-")
                .collect(),
        );
    }
    (edges, levels)
}

/// The normal and build dependencies between crates of the workspace, and those on others.
fn seen() -> (Edges, BTreeMap<String, BTreeSet<String>>) {
    dependencies(|kind| kind != "dev")
}

/// What their tests use beside that.
fn seen_in_tests() -> Edges {
    dependencies(|kind| kind == "dev").0
}

fn dependencies(
    counts: impl Fn(&serde_json::Value) -> bool,
) -> (Edges, BTreeMap<String, BTreeSet<String>>) {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .output()
        .expect("cargo metadata runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let names: BTreeSet<&str> = packages
        .iter()
        .map(|package| package["name"].as_str().expect("a name"))
        .collect();
    let (mut edges, mut outside) = (Edges::new(), BTreeMap::new());
    for package in packages {
        let dependencies = package["dependencies"]
            .as_array()
            .expect("dependencies")
            .iter();
        let used: BTreeSet<String> = dependencies
            .filter(|dependency| counts(&dependency["kind"]))
            .map(|dependency| dependency["name"].as_str().expect("a name").to_owned())
            .collect();
        let (inside, foreign): (BTreeSet<_>, BTreeSet<_>) = used
            .into_iter()
            .partition(|name| names.contains(name.as_str()));
        let name = package["name"].as_str().expect("a name").to_owned();
        edges.insert(name.clone(), inside);
        outside.insert(name, foreign);
    }
    (edges, outside)
}

#[test]
fn crates_use_each_other_as_the_architecture_says() {
    let text = include_str!("../../ARCHITECTURE.md");
    assert_eq!(stated(text).0, seen().0);
}

#[test]
fn edges_only_point_down() {
    let (edges, levels) = stated(include_str!("../../ARCHITECTURE.md"));
    for (name, uses) in &edges {
        for used in uses {
            let (from, to) = (&levels[name], &levels[used]);
            assert!(
                from == "beside" || from > to,
                "{name} (level {from}) uses {used} (level {to})"
            );
        }
    }
}

#[test]
fn tests_use_what_stands_beside_or_below_and_knows_nothing_of_them() {
    let (edges, levels) = stated(include_str!("../../ARCHITECTURE.md"));
    let tests = seen_in_tests();
    assert!(tests["armadex-apiserver"].contains("armadex-storage-sql"));
    for (name, uses) in &tests {
        for used in uses {
            let (from, to) = (&levels[name], &levels[used]);
            assert!(
                to == "beside" || from >= to,
                "the tests of {name} (level {from}) use {used} (level {to})"
            );
            let mut open = vec![used];
            while let Some(next) = open.pop() {
                assert_ne!(next, name, "{used} uses {name}, whose tests use {used}");
                open.extend(&edges[next]);
            }
        }
    }
}

#[test]
fn only_the_right_crates_name_sqlx_and_axum() {
    let (_, outside) = seen();
    let users = |dependency: &str| -> Vec<&String> {
        outside
            .iter()
            .filter(|(_, used)| used.contains(dependency))
            .map(|(name, _)| name)
            .collect()
    };
    assert_eq!(users("sqlx"), ["armadex-storage-sql"]);
    assert_eq!(users("axum"), ["armadex"]);
}

/// The compiler that everybody builds with, and that makes the image.
#[test]
fn the_image_is_made_by_the_compiler_of_everybody() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect(name);
    let toolchain = read("rust-toolchain.toml");
    let channel = toolchain.split("channel = \"").nth(1);
    let channel = channel.and_then(|rest| rest.split('"').next());
    let image = format!("library/rust:{}-", channel.expect("a channel"));
    assert!(read("Dockerfile").contains(&image), "not {image}");
}

#[test]
fn the_pure_crates_have_no_io() {
    let (_, outside) = seen();
    let io = [
        "tokio",
        "kube",
        "sqlx",
        "hyper",
        "axum",
        "rustls",
        "k8s-openapi",
        "tracing",
    ];
    for pure in [
        "armadex-backoff",
        "armadex-conversion",
        "armadex-model",
        "armadex-postings",
    ] {
        for dependency in io {
            assert!(
                !outside[pure].contains(dependency),
                "{pure} uses {dependency}"
            );
        }
    }
}

/// What needs no dependency for it.
#[test]
fn the_pure_crates_name_no_file_no_socket_and_no_process() {
    assert!(names_of_std("use std::{env, sync::Arc};", "env"));
    assert!(names_of_std("    std::fs::read(path)", "fs"));
    assert!(!names_of_std("use std::sync::Arc;\nlet fs = 1;", "fs"));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../libs");
    for pure in ["backoff", "conversion", "model", "postings"] {
        for file in rust_files(&root.join(pure).join("src")) {
            let text = std::fs::read_to_string(&file).expect("readable");
            for io in ["fs", "net", "env", "process"] {
                let names_it = names_of_std(&text, io);
                assert!(!names_it, "{} names std::{io}", file.display());
            }
        }
    }
}

/// Whether a text names this module of the standard library, alone or in a group.
fn names_of_std(text: &str, module: &str) -> bool {
    text.split("std::")
        .skip(1)
        .any(|rest| match rest.strip_prefix('{') {
            Some(group) => has_word(group.split(';').next().unwrap_or_default(), module),
            None => rest.split(|c: char| !c.is_alphanumeric()).next() == Some(module),
        })
}

/// Whoever needs the time is told it.
#[test]
fn the_pure_crates_have_no_clock() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../libs");
    for pure in ["backoff", "conversion", "model", "postings"] {
        for file in rust_files(&root.join(pure).join("src")) {
            let text = std::fs::read_to_string(&file).expect("readable");
            assert!(!text.contains("::now()"), "{} has a clock", file.display());
        }
    }
}

#[test]
fn an_api_server_cannot_write_and_a_synchro_does_not_search() {
    let forbidden = [("apiserver", "Sink"), ("controllers/synchro", "Search")];
    for (folder, word) in forbidden {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(folder);
        for file in rust_files(&root.join("src")) {
            let text = std::fs::read_to_string(&file).expect("readable");
            let names_it = text
                .split("armadex_storage::")
                .skip(1)
                .any(|rest| has_word(rest.split(';').next().unwrap_or_default(), word));
            assert!(
                !names_it,
                "{} names armadex_storage::{word}",
                file.display()
            );
        }
    }
}

/// All other texts of statements are constants, or made of constants by `sql::statement::Sql`: the driver takes nothing else without being
/// told that it is safe.
#[test]
fn only_the_runner_of_statements_vouches_for_their_text() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../libs/storage-sql/src");
    let vouching = rust_files(&root).into_iter().filter_map(|file| {
        let text = std::fs::read_to_string(&file).expect("readable");
        let times = text.matches("AssertSqlSafe(").count();
        let name = file.strip_prefix(&root).expect("below").to_owned();
        (times > 0).then(|| (name.display().to_string(), times))
    });
    let vouching: BTreeMap<String, usize> = vouching.collect();
    let expected = [
        ("backend/mysql/connect.rs", 1),
        ("backend/mysql/connection.rs", 1),
        // The text of a statement, and what its transaction begins with.
        ("backend/postgres/connection.rs", 2),
        ("backend/sqlite.rs", 1),
        ("backend/sqlite/connection.rs", 1),
    ];
    let expected = expected.map(|(name, times)| (name.to_owned(), times));
    assert_eq!(vouching, BTreeMap::from(expected));
}

/// The errors that kube makes may have the whole answer in their words. Whoever asks by `Objects` gets `Trouble`, which has not; a watch of a kind of
/// theirs gives policies its errors for the runner alone, which tells `Trouble` as well.
#[test]
fn who_asks_the_control_plane_gets_no_error_that_quotes_its_answer() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = rust_files(&root.join("armadex/src/command/install"));
    let alone = [
        "continuity.rs",
        "command/install.rs",
        "command/uninstall.rs",
        "command/uninstall/by_hand.rs",
    ];
    files.extend(alone.map(|file| root.join("armadex/src").join(file)));
    for controller in ["synchro", "importpolicy", "lifecycle"] {
        files.extend(rust_files(
            &root.join("controllers").join(controller).join("src"),
        ));
    }
    let is_test = |file: &std::path::Path| {
        let path = file.display().to_string();
        path.ends_with("tests.rs") || path.contains("/tests/") || path.contains("/testing/")
    };
    files.retain(|file| !is_test(file));
    assert!(files.len() > 80, "the controllers were found");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("readable");
        let text = text.split("mod tests {").next().unwrap_or_default();
        for error in ["kube::Error", "watcher::Error"] {
            assert!(!text.contains(error), "{} has {error}", file.display());
        }
        for api in ["Api", "into_api"] {
            assert!(!has_word(text, api), "{} has kube's {api}", file.display());
        }
    }
}

/// A program that hangs must not hang the suite: whatever starts one there goes through `limit`, or is named here with what ends it.
#[test]
fn no_program_of_the_end_to_end_tests_runs_without_a_limit() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../e2e");
    let mut files = rust_files(&root.join("src"));
    files.extend(rust_files(&root.join("tests")));
    let runs = files.into_iter().filter_map(|file| {
        let text = std::fs::read_to_string(&file).expect("readable");
        let name = file.strip_prefix(&root).expect("below").to_owned();
        let runs = runs_of_programs(&text);
        (!runs.is_empty()).then(|| (name.display().to_string(), runs))
    });
    let expected = [
        // A build in the terminal of whoever wants the demo, and Ctrl-C ends it.
        ("src/cli/demo.rs", "1 status"),
        // Both are waited for within a time, and what they began is killed then.
        ("src/kubelet/network.rs", "1 spawn, 1 wait_with_output"),
        // One of them is killed at its words, or where it never says them.
        ("src/limit.rs", "1 spawn, 1 wait, 1 wait_with_output"),
        // What is recorded and stopped, and the guard that ends it with its owner.
        ("src/process.rs", "2 spawn, 2 wait"),
        // Followed by `tools/lines.rs`, which ends them; the one that it starts is its own test's.
        ("src/tools/build.rs", "2 spawn"),
        ("src/tools/lines.rs", "1 spawn, 2 wait"),
        ("src/tools/place.rs", "1 spawn"),
        // Both are waited for in a `timeout`.
        ("tests/fleets/demo.rs", "1 spawn, 1 output, 1 wait"),
        // By `timeout 120`.
        ("tests/chart/helm.rs", "4 output"),
        ("tests/fleets/desk.rs", "1 output"),
    ];
    let expected = expected.map(|(name, runs)| (name.to_owned(), runs.to_owned()));
    let runs: BTreeMap<String, String> = runs.collect();
    assert_eq!(runs, BTreeMap::from(expected));
}

/// How often a text starts a program or waits for its end, and how. An answer has a `status()` too; who names neither a `Command` nor a `Child` runs none.
fn runs_of_programs(text: &str) -> String {
    let ways: &[&str] = match (has_word(text, "Command"), has_word(text, "Child")) {
        (true, _) => &["spawn", "output", "wait", "wait_with_output", "status"],
        (false, true) => &["wait", "wait_with_output"],
        (false, false) => &[],
    };
    let times = ways
        .iter()
        .map(|way| (text.matches(&format!(".{way}()")).count(), way));
    let times = times.filter(|(times, _)| *times > 0);
    let times: Vec<_> = times.map(|(times, way)| format!("{times} {way}")).collect();
    times.join(", ")
}

/// What may be a credential is hidden by `Sensitive`, and the store, which knows nothing of clusters, hides its password. The others that say themselves how
/// they are printed have something in them that cannot be, or that is of any length, or are printed as the map that they stand for.
#[test]
fn what_may_not_be_printed_is_hidden_by_one_type() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for folder in ["apiserver", "armadex/src", "controllers", "crds", "libs"] {
        for file in rust_files(&root.join(folder)) {
            let text = std::fs::read_to_string(&file).expect("readable");
            let name = file.strip_prefix(&root).expect("below").display();
            let printed = text.lines().filter(|line| line.starts_with("impl"));
            let printed = printed.filter_map(|line| line.split_once("Debug for "));
            found.extend(printed.map(|(_, of)| format!("{name}: {}", of.trim_end_matches(" {"))));
        }
    }
    let expected = [
        "apiserver/src/server/tls/self_made.rs: SelfMade",
        "apiserver/src/server/tls/serving.rs: KeptPem",
        "armadex/src/metrics/store.rs: Store",
        "controllers/synchro/src/stream/step.rs: Listing",
        "controllers/synchro/src/stream/step.rs: Seen",
        "crds/src/sensitive.rs: Sensitive<T>",
        "libs/member/src/control_plane.rs: ControlPlane",
        "libs/member/src/member.rs: Member",
        "libs/policy/src/states.rs: Told",
        "libs/storage-sql/src/location/password.rs: Secret",
        "libs/storage-sql/src/write/mend/step.rs: Step",
        "libs/storage/src/shared_map.rs: SharedMap<K, V>",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
}

/// A field that is called a token, a password or a key is printed with what it stands in unless its type hides it: [`Sensitive`](armadex_crds) does, and the
/// bytes of a PediaCluster in base64.
#[test]
fn what_is_called_a_credential_is_not_printed_as_a_text() {
    let printed = "#[derive(\n    Clone,\n    Debug,\n)]\nstruct A {\n    /// One.\n    pub token: Option<String>,\n    name: String,\n}\n\
                   #[derive(Debug)]\npub struct Password(Vec<u8>);\n";
    assert_eq!(printed_credentials(printed), ["A.token", "Password"]);
    let hidden = "#[derive(Clone)]\nstruct A {\n    token: String,\n}\n\
                  #[derive(Debug)]\nstruct B {\n    password: Sensitive<String>,\n    key_data: Base64Bytes,\n}\n";
    assert_eq!(printed_credentials(hidden), Vec::<String>::new());

    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut found, mut read) = (BTreeSet::new(), 0);
    for folder in ["libs/member", "crds", "controllers"] {
        for file in rust_files(&root.join(folder)) {
            let text = std::fs::read_to_string(&file).expect("readable");
            let name = file.strip_prefix(&root).expect("below").display();
            let printed = printed_credentials(&text).into_iter();
            found.extend(printed.map(|field| format!("{name}: {field}")));
            read += 1;
        }
    }
    assert!(read > 100, "they were found");
    // Where a list goes on: each is of a list, and shows nothing to anybody.
    let expected = [
        "controllers/synchro/src/stream/step.rs: Outcome.token",
        "libs/member/src/error.rs: MemberError.fresh_token",
        "libs/member/src/request.rs: ListRequest.continue_token",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
}

/// The fields that are called a credential and are a text or bytes, of types whose `Debug` is derived.
fn printed_credentials(text: &str) -> Vec<String> {
    let (mut found, mut attribute, mut is_printed) = (Vec::new(), false, false);
    let mut inside: Option<&str> = None;
    for line in text.lines() {
        let code = line.trim();
        if attribute || code.starts_with("#[derive(") {
            is_printed |= has_word(code, "Debug");
            attribute = !code.ends_with(']');
            continue;
        }
        if let Some(name) = type_of(code) {
            if is_printed && is_credential(&name.to_lowercase(), code) {
                found.push(name.to_owned());
            }
            inside = (is_printed && code.ends_with('{')).then_some(name);
            is_printed = false;
        } else if line == "}" {
            inside = None;
        } else if let (Some(name), Some((field, kind))) = (inside, code.split_once(": ")) {
            let field = field.rsplit(' ').next().unwrap_or_default();
            if !code.starts_with("//") && is_credential(field, kind) {
                found.push(format!("{name}.{field}"));
            }
        }
    }
    found
}

/// The name of the type that a line begins to define.
fn type_of(code: &str) -> Option<&str> {
    let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    if !code.starts_with("pub") && !code.starts_with("struct ") && !code.starts_with("enum ") {
        return None;
    }
    words.find(|word| ["struct", "enum"].contains(word))?;
    words.next()
}

fn is_credential(name: &str, kind: &str) -> bool {
    let names = ["token", "password", "key_data", "private_key"];
    let texts = ["String", "str", "Bytes", "u8"];
    let is_named_so = names.iter().any(|part| name.contains(part));
    let is_text = texts.iter().any(|text| has_word(kind, text));
    is_named_so && is_text && !has_word(kind, "Sensitive")
}

/// From the store to the client: what is printed in a Table is looked for by `printer`, and nothing else of an object is read.
#[test]
fn what_is_stored_is_not_parsed_to_be_served() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = [
        "libs/storage-sql/src/read",
        "apiserver/src/answer",
        "apiserver/src/app",
    ];
    let mut files = vec![
        root.join("libs/model/src/body.rs"),
        root.join("apiserver/src/app.rs"),
    ];
    for folder in folders {
        let found = rust_files(&root.join(folder));
        assert!(found.len() > 10, "{folder} was found");
        files.extend(found);
    }
    // What callers ask about themselves is theirs, and nothing of it is stored.
    let posted = root.join("apiserver/src/app/reviews.rs");
    files.retain(|file| *file != posted && !file.ends_with("tests.rs") && !is_in_tests(file));
    for file in files {
        let text = std::fs::read_to_string(&file).expect("readable");
        let text = text.split("mod tests {").next().unwrap_or_default();
        for reader in ["serde_json::from_", "Deserialize", "sonic_rs", "RawValue"] {
            assert!(!text.contains(reader), "{} has {reader}", file.display());
        }
    }
}

fn is_in_tests(file: &std::path::Path) -> bool {
    file.iter().any(|part| part == "tests")
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .any(|part| part == word)
}

fn rust_files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
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
