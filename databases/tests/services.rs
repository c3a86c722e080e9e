//! What keeps packages from starting their services while they are installed: it is gone afterwards, and never another's.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// As root, and in tests as anybody.
const AS_ROOT: &str = "as_root() { \"$@\"; }";

/// Runs a script after the functions, in a folder of its own; whether it succeeded, and what it said.
fn run(folder: &Path, as_root: &str, script: &str) -> (bool, String) {
    let script = format!(
        "set -u\npolicy={}/policy-rc.d\npatience=0\n{as_root}\n. ./services.sh\n{script}",
        folder.display()
    );
    let run = Command::new("sh")
        .args(["-c", &script])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
    (run.status.success(), said)
}

#[test]
fn services_are_held_for_as_long_as_it_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let held = "hold_services && sh \"$policy\"; echo \"$?\"; release_services";
    assert_eq!(run(folder.path(), AS_ROOT, held), (true, "101\n".into()));
    assert!(!folder.path().join("policy-rc.d").exists());
}

#[test]
fn a_policy_of_the_machines_own_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy-rc.d");
    let own = "#!/bin/sh\nexit 104\n";
    std::fs::write(&policy, own).expect("written");
    let script = "clear_services && hold_services && release_services";
    assert_eq!(run(folder.path(), AS_ROOT, script), (true, String::new()));
    assert_eq!(std::fs::read_to_string(policy).expect("there"), own);
}

#[test]
fn what_a_run_left_that_was_killed_goes_with_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy-rc.d");
    for next in ["clear_services", "hold_services && release_services"] {
        run(folder.path(), AS_ROOT, "hold_services; kill -KILL $$");
        let mode = std::fs::metadata(&policy)
            .expect("left")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(run(folder.path(), AS_ROOT, next), (true, String::new()));
        assert!(!policy.exists(), "{next}");
    }
}

/// As when a password of `sudo` has expired meanwhile.
#[test]
fn what_cannot_be_taken_away_is_said_with_what_to_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let no_more = "as_root() { [ \"$1\" != rm ] && \"$@\"; }";
    let script = "hold_services && release_services";
    let (succeeded, said) = run(folder.path(), no_more, script);
    let way_out = format!("As root: rm {}/policy-rc.d", folder.path().display());
    assert!(!succeeded && said.contains(&way_out), "{said}");
}

/// The first to end would have the services of the other started.
#[test]
fn one_run_holds_them_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy-rc.d");
    let other = "(exec 9<&-; held=0; hold_services; echo \"$?\"; clear_services)";
    let script = format!("hold_services && {other}; test -e \"$policy\" && release_services");
    let (succeeded, said) = run(folder.path(), AS_ROOT, &script);
    assert!(succeeded, "{said}");
    assert!(
        said.starts_with("1\nanother run installs packages"),
        "{said}"
    );
    assert!(!policy.exists());
}
