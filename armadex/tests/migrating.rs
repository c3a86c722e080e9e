//! The schema of a store, which the real binary is asked about before it brings it up to date; and a server that Clusterpedia's storage configuration names.
//!
//! `later.db` is a file of a later release as far as anybody looks before it is refused: it has run 99 migrations, and serves those that know them all.

use std::process::Command;

use armadex_databases::{Address, Database, Engine, administer};

#[test]
fn what_a_migration_of_postgresql_would_run_is_told_and_not_run() {
    is_told_and_not_run(Engine::Postgres);
}

#[test]
fn what_a_migration_of_mariadb_would_run_is_told_and_not_run() {
    is_told_and_not_run(Engine::Mysql);
}

/// As the chart asks before it goes back: whether it may be away does not matter where it answers.
#[test]
fn a_file_that_serves_later_binaries_alone_fails_a_dry_run_and_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.db");
    let bytes = include_bytes!("later.db");
    std::fs::write(&path, bytes).expect("written");
    let store = format!("--store=sqlite:{}", path.display());
    for flags in [&["--dry-run"][..], &["--dry-run", "--may-be-away"]] {
        let (succeeded, said) = migrate(&[flags, &[&store]].concat());
        assert!(!succeeded, "{said}");
        for words in ["know version 99 of it", "use a newer binary"] {
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(std::fs::read(&path).expect("a file"), bytes);
    }
}

#[test]
fn a_server_that_does_not_answer_fails_a_dry_run_unless_it_may_be_away() {
    for server in ["postgres", "mysql"] {
        let store = format!("--store={server}://u@127.0.0.1:1/fleet?connect_timeout=1s");
        let (succeeded, said) = migrate(&["--dry-run", &store]);
        assert!(!succeeded && said.contains("cannot look at"), "{said}");
        let (succeeded, said) = migrate(&["--dry-run", "--may-be-away", &store]);
        assert!(
            succeeded && said.contains("it does not answer"),
            "{server}: {said}"
        );
    }
    let (succeeded, said) = migrate(&["--may-be-away", "--store=sqlite:none.db"]);
    assert!(!succeeded && said.contains("--dry-run"), "{said}");
}

/// Whether it succeeds, and what it says.
fn migrate(arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_armadex"));
    command.arg("migrate").args(arguments);
    let run = command.env_remove("ARMADEX_STORE").output();
    let run = run.expect("it runs");
    let said = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
    (run.status.success(), said)
}

#[test]
fn clusterpedias_configuration_names_a_postgresql_and_its_variables_the_password() {
    is_named_by_clusterpedia(Engine::Postgres);
}

#[test]
fn clusterpedias_configuration_names_a_mariadb_and_its_variables_the_password() {
    is_named_by_clusterpedia(Engine::Mysql);
}

/// Field by field, and as one DSN.
fn is_named_by_clusterpedia(engine: Engine) {
    let Some(database) = Database::for_test(engine).expect("a server") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("storage.yaml");
    let password = database.server().password();
    let run = |text: &str, password: &str, arguments: &[&str]| {
        std::fs::write(&file, text).expect("a file");
        let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
            .args(arguments)
            .arg("--storage-config")
            .arg(&file)
            .env_remove("ARMADEX_STORE")
            .env("DB_PASSWORD", password)
            .output();
        let run = run.expect("it runs");
        let said = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
        (run.status.success(), said)
    };
    let fields = by_fields(engine, database.server(), database.name());
    let (succeeded, said) = run(&fields, &password, &["check"]);
    let told = format!(
        "name the file, or the database, in --storage-config {}",
        file.display()
    );
    assert!(!succeeded && said.contains(&told), "{said}");
    let (succeeded, said) = run(&fields, &password, &["migrate"]);
    assert!(succeeded, "{said}");
    for text in [&fields, &by_dsn(engine, database.server(), database.name())] {
        let (succeeded, said) = run(text, &password, &["check"]);
        assert!(succeeded && said.contains(" 0 faults"), "{said}");
        let (succeeded, said) = run(text, "another-one", &["check"]);
        assert!(!succeeded && !said.contains("another-one"), "{said}");
    }
}

fn by_fields(engine: Engine, server: &Address, database: &str) -> String {
    format!(
        "type: {}\nhost: {}\nport: {}\nuser: {}\ndatabase: {database}\n",
        kind(engine),
        server.host(),
        server.port(),
        server.user()
    )
}

fn by_dsn(engine: Engine, server: &Address, database: &str) -> String {
    let (host, port, user) = (server.host(), server.port(), server.user());
    let dsn = match engine {
        Engine::Postgres => format!("host={host} port={port} user={user} dbname={database}"),
        Engine::Mysql => format!("{user}@tcp({host}:{port})/{database}"),
    };
    format!("type: {}\ndsn: {dsn}\n", kind(engine))
}

fn kind(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "postgres",
        Engine::Mysql => "mysql",
    }
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
    // As the migration of a later release does.
    let name = database.name();
    let later = match engine {
        Engine::Postgres => format!("\\connect {name}\nUPDATE head SET serves = 99"),
        Engine::Mysql => format!("UPDATE {name}.head SET serves = 99"),
    };
    administer(database.server(), &later).expect("a later schema");
    let (succeeded, said) = run(&["migrate", "--dry-run"]);
    assert!(!succeeded, "{said}");
    for words in ["does not serve this binary", "use a newer binary"] {
        assert!(said.contains(words), "{said}");
    }
}
