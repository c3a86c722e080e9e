//! A file of a store that everybody may read: whoever opens it is told what to type.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

#[test]
fn who_opens_a_file_that_everybody_may_read_is_told_what_to_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let way_out = format!("run chmod 600 {}", path.display());
    assert!(!said(&path, &["migrate"]).contains("chmod"), "it is new");
    assert!(!said(&path, &["check"]).contains("chmod"), "its owner's");
    let mode = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&path, mode).expect("set");
    let told = said(&path, &["check"]);
    assert_eq!(told.matches(&way_out).count(), 1, "{told}");
}

fn said(path: &Path, arguments: &[&str]) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
        .args(arguments)
        .arg("--store")
        .arg(format!("sqlite:{}", path.display()))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
    assert!(run.status.success(), "{said}");
    said
}
