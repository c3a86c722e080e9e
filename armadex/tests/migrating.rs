//! The schema of a store on a server, which the real binary is asked about before it brings it up to date.

use std::process::Command;

use armadex_databases::{Database, Engine, administer};

#[test]
fn what_a_migration_of_postgresql_would_run_is_told_and_not_run() {
    is_told_and_not_run(Engine::Postgres);
}

#[test]
fn what_a_migration_of_mariadb_would_run_is_told_and_not_run() {
    is_told_and_not_run(Engine::Mysql);
}

fn is_told_and_not_run(engine: Engine) {
    let Some(database) = Database::for_test(engine).expect("a server") else {
        return;
    };
    let run = |arguments: &[&str]| {
        let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
            .args(arguments)
            .env("ARMADEX_STORE", database.patient_url())
            .output();
        let run = run.expect("it runs");
        let said = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
        (run.status.success(), said)
    };
    for _ in 0..2 {
        let (succeeded, said) = run(&["migrate", "--dry-run"]);
        assert!(succeeded, "{said}");
        assert!(said.contains(": it has no schema yet, and"), "{said}");
        assert!(said.contains("  would run 1 store\n"), "{said}");
        let (succeeded, said) = run(&["check"]);
        assert!(!succeeded && said.contains("no store at"), "{said}");
    }
    if engine == Engine::Mysql {
        // No table is taken back there.
        let tables = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{}'",
            database.name()
        );
        let tables = administer(database.server(), &tables).expect("a count");
        assert_eq!(tables.trim(), "0");
    }
    let (succeeded, said) = run(&["migrate"]);
    assert!(succeeded, "{said}");
    let (succeeded, said) = run(&["migrate", "--dry-run"]);
    assert!(succeeded, "{said}");
    assert!(said.contains(": its schema has version"), "{said}");
    assert!(said.ends_with("  nothing would be run\n"), "{said}");
    let (succeeded, said) = run(&["check"]);
    assert!(succeeded && said.contains(" 0 faults"), "{said}");
}
