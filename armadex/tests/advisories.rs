//! What the gate says of advisories that it could not check: `.ci/advisories`, with a cargo that does what each case says.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What is on the machine.
#[derive(Default)]
struct Case {
    /// Whether the database can be fetched.
    online: bool,
    /// How many days ago one was.
    kept: Option<u32>,
    /// Whether an advisory speaks of a dependency.
    affected: bool,
    required: bool,
}

impl Case {
    /// Whether the gate goes on, and the file with which it ends.
    fn run(&self) -> (bool, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("home");
        if let Some(days) = self.kept {
            keep(&home.join("advisory-dbs"), days);
        }
        let bin = folder.path().join("bin");
        stand_in(&bin, self);
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("one"));
        let said = folder.path().join("target/not-checked.txt");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/advisories");
        let done = Command::new("sh")
            .arg(script)
            .arg(&said)
            .env("PATH", path)
            .env("CARGO_HOME", &home)
            .env(
                "ARMADEX_TEST_ADVISORIES",
                if self.required { "require" } else { "" },
            )
            .output()
            .expect("sh runs");
        let said = fs::read_to_string(said).expect("a file, whatever happens");
        (
            done.status.success(),
            said.replace(&*home.to_string_lossy(), "HOME"),
        )
    }
}

/// A database as a fetch of so many days ago left it.
fn keep(folder: &Path, days: u32) {
    let git = folder.join("advisory-db-1/.git");
    fs::create_dir_all(&git).expect("a folder");
    for file in [git.join("FETCH_HEAD"), folder.join("armadex-fetched")] {
        let file = File::create(file).expect("a file");
        let then = SystemTime::now() - DAY * days;
        let times = FileTimes::new().set_modified(then);
        file.set_times(times).expect("its time");
    }
}

/// A cargo that fetches if it can, and finds what there is. Git empties what it knows of the last fetch before it begins one.
fn stand_in(bin: &Path, case: &Case) {
    let status = |succeeds: bool| if succeeds { "true" } else { "false" };
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*fetch*db) for known in \"$CARGO_HOME\"/advisory-dbs/*/.git/FETCH_HEAD; do [ ! -e \"$known\" ] || : >\"$known\"; done; {} ;;\n\
         *check*advisories) {} ;;\n*) echo \"$*\" >&2; exit 2 ;;\nesac\n",
        status(case.online),
        status(!case.affected),
    );
    fs::create_dir_all(bin).expect("a folder");
    let cargo = bin.join("cargo");
    fs::write(&cargo, script).expect("written");
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn advisories_that_were_checked_leave_nothing_to_say() {
    let online = Case {
        online: true,
        required: true,
        ..Case::default()
    };
    assert_eq!(online.run(), (true, String::new()));
}

#[test]
fn advisories_that_could_not_be_checked_are_named_and_an_error_where_they_are_required() {
    let line = "not checked: advisories: the database cannot be fetched from here, and there is none in HOME/advisory-dbs\n";
    let mut case = Case::default();
    assert_eq!(case.run(), (true, line.to_owned()));
    case.required = true;
    assert_eq!(case.run(), (false, line.to_owned()));
}

#[test]
fn a_database_that_is_kept_will_do_while_it_is_not_old() {
    let mut case = Case {
        kept: Some(3),
        required: true,
        ..Case::default()
    };
    let line = "checked against a database of 3 days ago: advisories: a newer one cannot be fetched from here\n";
    assert_eq!(case.run(), (true, line.to_owned()));
    case.kept = Some(15);
    let (passed, said) = case.run();
    assert!(
        !passed && said.contains("is 15 days old, above the limit of 14"),
        "{said}"
    );
}

#[test]
fn an_advisory_is_an_error_whichever_database_tells_of_it() {
    for (online, kept) in [(true, None), (false, Some(1))] {
        let case = Case {
            online,
            kept,
            affected: true,
            ..Case::default()
        };
        assert!(!case.run().0, "online: {online}");
    }
}
