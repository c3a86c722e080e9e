//! A store of an earlier release and the real binary, of which some commands only look after it.
//!
//! `former.db` is such a file as far as anybody looks before it is refused: it says that its schema has version 4.

use std::path::Path;
use std::process::{Command, Output};

/// By one command whoever works with it would end.
#[test]
fn a_store_of_an_earlier_release_is_refused_with_the_way_out_and_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let bytes = include_bytes!("former.db");
    std::fs::write(&path, bytes).expect("written");
    let store = format!("sqlite:{}", path.display());
    let to = folder.path().join("to.db");
    let to_store = format!("sqlite:{}", to.display());
    let flag = format!("--store={store}");
    for arguments in [
        &["stats", &flag][..],
        &["check", &flag],
        &["check", "--mend", &flag],
        &["renew", &flag],
        &["copy", &store, &to_store],
    ] {
        let said = refused(folder.path(), arguments);
        for words in [store.as_str(), "run `armadex migrate` first"] {
            assert!(said.contains(words), "{arguments:?}: {said}");
        }
        assert_eq!(std::fs::read(&path).expect("a file"), bytes);
        assert!(!to.exists());
    }
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_armadex"));
    command.current_dir(folder).arg("store").args(arguments);
    let Output { status, stderr, .. } = command.output().expect("it runs");
    assert!(!status.success(), "{arguments:?}");
    String::from_utf8_lossy(&stderr).into_owned()
}
