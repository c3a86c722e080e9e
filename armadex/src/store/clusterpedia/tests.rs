use armadex_storage_sql::{Password, Server, TlsMode};

use super::*;

fn told(text: &str) -> Told {
    read(text, |_| None).unwrap_or_else(|error| panic!("{text}: {error:#}"))
}

fn server(text: &str) -> Server {
    match told(text).location {
        Location::Server(server) => *server,
        Location::Sqlite(path) => panic!("{}", path.display()),
    }
}

#[track_caller]
fn refused(text: &str, reason: &str) {
    let error = read(text, |_| None).expect_err(text);
    let error = format!("{error:#}");
    assert!(error.contains(reason), "{text}: {error}");
    assert!(!error.contains("hunter2"), "{error}");
}

const POSTGRES: &str = "type: postgres\nhost: db\nport: 5433\nuser: pedia\ndatabase: fleet\n";
const MYSQL: &str = "type: mysql\nhost: db\nuser: pedia\ndatabase: fleet\n";

#[test]
fn the_file_that_clusterpedia_ships_is_read() {
    let text = "type: \"postgres\"\nhost: \"clusterpedia-internalstorage-postgres\"\nport: 5432\nuser: postgres\ndatabase: \"clusterpedia\"\n";
    let set = |name: &str| (name == "DB_PASSWORD").then(|| "hunter2".to_owned());
    let told = read(text, set).expect("it is read");
    assert_eq!(
        told.location.to_string(),
        "postgres://postgres@clusterpedia-internalstorage-postgres:5432/clusterpedia"
    );
    assert!(told.location.has_password() && told.connections.is_none());
    assert!(!format!("{told:?}").contains("hunter2"));
}

#[test]
fn every_field_that_makes_sense_is_taken_over() {
    let text = format!(
        "{MYSQL}port: '3307'\npassword: hunter2\nsslMode: verify-full\nsslRootCertFile: /ca\nsslCertFile: /c\nsslKeyFile: /k\n\
         connPool: {{maxOpenConns: 40}}\nmysql: {{dialTimeout: 3s, readTimeout: 1m30s, parseTime: true}}\n\
         params: {{lock_timeout: 2s}}\nnetwork: tcp\n"
    );
    let read = told(&text);
    assert_eq!(read.connections, Some(40));
    let found = server(&text);
    assert_eq!(found.to_string(), "mysql://pedia@db:3307/fleet");
    assert_eq!(found.password, Password::Given(Secret::new("hunter2")));
    assert_eq!(found.tls.mode, TlsMode::VerifyFull);
    assert_eq!(found.tls.root, Some("/ca".into()));
    assert!(found.tls.client.is_some());
    let timeouts = [
        found.timeouts.connect,
        found.timeouts.statement,
        found.timeouts.lock,
    ];
    assert_eq!(timeouts.map(|time| time.as_secs()), [3, 90, 2]);
}

#[test]
fn json_is_read_and_variables_count_before_the_file() {
    let text = r#"{"type":"mysql","host":"old","user":"old","database":"old","password":"old"}"#;
    let variable = |name: &str| {
        let value = match name {
            "DB_TYPE" => "postgres",
            "DB_HOST" => "/run/postgresql",
            "DB_PORT" => "6000",
            "DB_USER" => "new",
            "DB_DATABASE" => "fleet",
            "DB_PASSWORD" => "hunter2",
            _ => return None,
        };
        Some(value.to_owned())
    };
    let told = read(text, variable).expect("it is read");
    assert_eq!(
        told.location.to_string(),
        "postgres://new@%2Frun%2Fpostgresql:6000/fleet"
    );
    let given = Password::Given(Secret::new("hunter2"));
    assert!(matches!(told.location, Location::Server(server) if server.password == given));
}

#[test]
fn a_field_that_makes_no_sense_is_named_with_the_reason() {
    for (field, reason) in [
        (
            "connPool: {maxIdleConns: 5}",
            "connPool.maxIdleConns has no place here",
        ),
        (
            "log: {level: Info}",
            "log.level has no place here, leave it out: there is one log",
        ),
        ("metrics: {disable: true}", "metrics.disable has no place"),
        (
            "mysql: {parseTime: false}",
            "mysql.parseTime is always true",
        ),
        (
            "mysql: {recoverableErrNumbers: [1]}",
            "mysql.recoverableErrNumbers has no place",
        ),
        ("network: unix", "network is always tcp here: name a socket"),
        ("colour: blue", "unknown field \"colour\""),
        ("mysql: {colour: blue}", "unknown field \"mysql.colour\""),
        ("params: {charset: utf8}", "no parameter \"charset\""),
        ("dsn: hunter2", "database is said by dsn"),
        (
            "sslMode: require",
            "sslMode: require verifies with sslRootCertFile",
        ),
        ("sslMode: maybe", "sslmode is none of"),
        ("port: 0", "port is no number"),
        ("password: 007", "password: put what is no text into quotes"),
        ("mysql: {dialTimeout: soon}", "mysql.dialTimeout is no time"),
        (
            "connPool: {maxOpenConns: many}",
            "connPool.maxOpenConns is no number",
        ),
        (
            "params: {lock_timeout: [1s]}",
            "params.lock_timeout is no plain value",
        ),
        ("mysql: [hunter2", "it is not understood at line"),
    ] {
        refused(&format!("{MYSQL}{field}\n"), reason);
    }
    refused(&format!("{POSTGRES}sslMode: prefer"), "in between");
    refused(
        &format!("{POSTGRES}mysql: {{dialTimeout: 1s}}"),
        "mysql.dialTimeout is not of this type",
    );
    refused("host: db", "type is missing");
    refused("type: oracle", "type is none of");
    refused("type: mysql", "host is missing");
    refused("type: mysql\nhost: db\nuser: u", "database is missing");
    refused(
        "type: sqlite\nhost: db\ndsn: f",
        "host has no place beside a file",
    );
    refused("[]", "it has no fields");
    refused("", "type is missing");
}

#[test]
fn modes_of_tls_mean_what_they_mean_there() {
    let mode = |text: &str, mode: &str| server(&format!("{text}sslMode: {mode}")).tls.mode;
    assert_eq!(mode(MYSQL, "'false'"), TlsMode::Disable);
    assert_eq!(mode(MYSQL, "skip-verify"), TlsMode::Require);
    assert_eq!(mode(MYSQL, "prefer"), TlsMode::Require);
    assert_eq!(mode(POSTGRES, "require"), TlsMode::Require);
    assert_eq!(server(POSTGRES).tls.mode, TlsMode::VerifyFull);
    refused(
        &format!("{MYSQL}sslMode: verify-ca\nsslRootCertFile: /ca"),
        "say verify-full",
    );
}

#[test]
fn a_dsn_says_the_same_in_one_text() {
    let place = |kind: &str, dsn: &str| {
        let told = told(&format!("type: {kind}\ndsn: \"{dsn}\""));
        let has_password = told.location.has_password();
        (told.location.to_string(), has_password)
    };
    for (kind, dsn, expected, has_password) in [
        ("sqlite", "/var/store.db", "sqlite:/var/store.db", false),
        ("sqlite3", "file:store.db", "sqlite:store.db", false),
        (
            "postgres",
            "host=a,b port=1,2 user=me password='hun ter2' dbname=fleet sslmode=disable",
            "postgres://me@a:1,b:2/fleet",
            true,
        ),
        (
            "postgres",
            "host=/run/pg user=me dbname = fleet",
            "postgres://me@%2Frun%2Fpg:5432/fleet",
            false,
        ),
        (
            "postgres",
            "postgres://me:hunter2@db/fleet",
            "postgres://me@db:5432/fleet",
            true,
        ),
        (
            "mysql",
            "me:hun@te/r2@tcp(db:33)/fleet?timeout=5s&parseTime=True&charset=utf8mb4&tls=skip-verify",
            "mysql://me@db:33/fleet",
            true,
        ),
        (
            "mysql",
            "me@tcp([::1])/fleet",
            "mysql://me@[::1]:3306/fleet",
            false,
        ),
        (
            "mysql",
            "me@unix(/run/m.sock)/fleet",
            "mysql://me@%2Frun%2Fm.sock:3306/fleet",
            false,
        ),
        (
            "mysql",
            "me@/fleet",
            "mysql://me@127.0.0.1:3306/fleet",
            false,
        ),
    ] {
        assert_eq!(place(kind, dsn), (expected.to_owned(), has_password));
    }
}

#[test]
fn a_dsn_that_is_not_understood_is_refused_without_being_repeated() {
    for (kind, dsn, reason) in [
        ("sqlite", "f?mode=ro", "without parameters"),
        ("postgres", "host=db user='hunter2", "a quote is not closed"),
        ("postgres", "mysql://u:hunter2@db/d", "not of this type"),
        (
            "postgres",
            "host=db user=u dbname=d TimeZone=UTC",
            "no parameter \"TimeZone\"",
        ),
        ("mysql", "hunter2", "it names no database"),
        ("mysql", "u:hunter2@tcp(db:x)/d", "its port is no number"),
        ("mysql", "u:hunter2@pipe(db)/d", "neither tcp nor unix"),
        ("mysql", "u@tcp(db)/d?tls=preferred", "tls is none of"),
        (
            "mysql",
            "u@tcp(db)/d?allowAllFiles=true",
            "mysql.allowAllFiles is always false",
        ),
        ("mysql", "u@tcp(db)/d?hunter2", "unknown field"),
    ] {
        let text = format!("type: {kind}\ndsn: \"{dsn}\"");
        let error = read(&text, |_| None).expect_err(dsn);
        assert!(format!("{error:#}").contains(reason), "{dsn}: {error:#}");
    }
}

#[test]
fn the_documentation_has_every_field() {
    let page = include_str!("../../../../docs/stores.md");
    for (field, _) in FIELDS {
        assert!(page.contains(&format!("| `{field}` |")), "{field}");
    }
}
