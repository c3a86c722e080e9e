//! `.ci/commits`, which builds each commit of a range, in a repository of four with a cargo that fails where a file says so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A repository whose commits are these, oldest first, each with whether it builds.
struct Repository(TempDir);

impl Repository {
    fn with(commits: &[(&str, bool)]) -> Self {
        let repository = Self(tempfile::tempdir().expect("a folder"));
        let folder = repository.0.path();
        let cargo = folder.join("bin/cargo");
        fs::create_dir_all(folder.join("bin")).expect("a folder");
        fs::create_dir_all(folder.join("work")).expect("a folder");
        fs::write(&cargo, "#!/bin/sh\n[ \"$(cat builds)\" = true ]\n").expect("written");
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("executable");
        repository.git(&["init", "--quiet"]);
        for (title, builds) in commits {
            fs::write(folder.join("work/builds"), builds.to_string()).expect("written");
            fs::write(folder.join("work/title"), title).expect("written");
            repository.git(&["add", "--all"]);
            repository.git(&["commit", "--quiet", "--message", title]);
        }
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.run("git", arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let folder = self.0.path();
        let path = std::env::var("PATH").expect("one");
        let mut command = Command::new(program);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "somebody");
            command.env(format!("GIT_{who}_EMAIL"), "somebody@example.com");
        }
        command
            .args(arguments)
            .current_dir(folder.join("work"))
            .env("PATH", format!("{}:{path}", folder.join("bin").display()))
            .env("HOME", folder)
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .output()
            .expect("it runs")
    }

    /// Whether all of them build, what is printed, and what is complained of.
    fn commits(&self, arguments: &[&str]) -> (bool, String, String) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/commits");
        let script = script.display().to_string();
        let output = self.run("sh", &[&[script.as_str()], arguments].concat());
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1, "left");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (said, complained) = (text(&output.stdout), text(&output.stderr));
        (output.status.success(), said, complained)
    }
}

#[test]
fn each_commit_is_built_and_those_that_do_not_are_named() {
    let repository = Repository::with(&[("one", true), ("two", false), ("three", true)]);
    let (builds, said, complained) = repository.commits(&["HEAD~2"]);
    assert!(!builds && said.contains("two") && said.contains("three"));
    assert!(complained.starts_with("does not build: ") && complained.ends_with(" two\n"));
    assert_eq!(complained.lines().count(), 1, "{complained}");
}

#[test]
fn a_range_whose_commits_build_is_said_to() {
    let repository = Repository::with(&[("one", false), ("two", true), ("three", true)]);
    let (builds, said, complained) = repository.commits(&["HEAD~2", "HEAD"]);
    assert!(builds && said.ends_with("2 commits build\n"), "{said}");
    assert_eq!(complained, "");
}

#[test]
fn a_commit_that_is_not_there_is_an_error() {
    let repository = Repository::with(&[("one", true)]);
    let (builds, said, complained) = repository.commits(&["nowhere"]);
    assert!(!builds && said.is_empty() && complained.contains("nowhere"));
}
