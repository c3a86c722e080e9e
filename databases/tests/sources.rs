//! Where a test's database comes from, and what is said where there is none. Variables of the environment are for a whole process, so each case runs
//! in one of its own.

use std::process::{Command, Output};

use armadex_databases::{Database, Engine, Server, Setup, administer};

/// The case that the child process runs; without it the child's part does nothing.
const CASE: &str = "ARMADEX_TEST_SOURCE";

/// What runs in a process of its own: takes a database and says which.
#[test]
#[allow(clippy::print_stdout, reason = "it is how the parent is told")]
fn takes_a_database() {
    let engine = match std::env::var(CASE).as_deref() {
        Ok("ARMADEX_TEST_POSTGRES") => Engine::Postgres,
        Ok(_) => Engine::Mysql,
        Err(_) => return,
    };
    match Database::for_test(engine).expect("no trouble") {
        Some(database) => println!("took {} {}", database.server().port(), database.name()),
        None => println!("took none"),
    }
}

/// With these variables, of which one names a server, and so of which kind it is.
fn run(variables: &[(&str, &str)]) -> (bool, String) {
    let is_postgres = |(name, _): &(&str, &str)| *name == "ARMADEX_TEST_POSTGRES";
    let case = match variables.iter().any(is_postgres) {
        true => "ARMADEX_TEST_POSTGRES",
        false => "ARMADEX_TEST_MYSQL",
    };
    let done: Output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "takes_a_database"])
        .arg("--show-output")
        .env(CASE, case)
        .env_remove("ARMADEX_TEST_DATABASES")
        .env_remove("ARMADEX_TEST_NOT_RUN")
        .envs(variables.iter().copied())
        .output()
        .expect("it runs");
    let said = [done.stdout, done.stderr].concat();
    (
        done.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

#[test]
fn a_mariadb_that_is_named_is_used_and_left_as_it_was() {
    is_used(Engine::Mysql, "ARMADEX_TEST_MYSQL", "SHOW DATABASES");
}

#[test]
fn a_postgresql_that_is_named_is_used_and_left_as_it_was() {
    let databases = "SELECT datname FROM pg_database ORDER BY datname";
    is_used(Engine::Postgres, "ARMADEX_TEST_POSTGRES", databases);
}

fn is_used(engine: Engine, variable: &str, databases: &str) {
    let Some(own) = Database::for_test(engine).expect("no trouble") else {
        return;
    };
    let server = Server::start(engine, &Setup::default()).expect("a server");
    let databases = || administer(server.address(), databases).expect("a list");
    let before = databases();
    let url = server.address().database("ignored");
    let (succeeded, said) = run(&[(variable, &url)]);
    let took = format!("took {} armadex_test_", server.address().port());
    assert!(succeeded && said.contains(&took), "{said}");
    assert_eq!(databases(), before);
    drop(own);
}

/// The name of the test comes from its thread, past the runner's capture, and into the file that `make test` shows in the end.
#[test]
fn a_test_that_was_not_run_says_so_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("not-run.txt");
    let (succeeded, said) = run(&[
        ("ARMADEX_TEST_DATABASES", "none"),
        ("ARMADEX_TEST_MYSQL", ""),
        ("ARMADEX_TEST_NOT_RUN", path.to_str().expect("text")),
    ]);
    let line = "not run: takes_a_database: no MariaDB: ";
    assert!(succeeded && said.contains("took none"), "{said}");
    assert!(said.contains(line), "{said}");
    let kept = std::fs::read_to_string(path).expect("a file");
    assert!(kept.starts_with(line), "{kept}");
}

#[test]
fn a_url_that_names_no_server_is_an_error_without_its_password() {
    let (succeeded, said) = run(&[("ARMADEX_TEST_MYSQL", "postgres://admin:hunter2@db")]);
    assert!(!succeeded && said.contains("$ARMADEX_TEST_MYSQL"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}
