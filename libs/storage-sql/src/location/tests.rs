use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn server(text: &str) -> Server {
    match text.parse() {
        Ok(Location::Server(server)) => *server,
        other => panic!("{text} is {other:?}"),
    }
}

#[track_caller]
fn refused(text: &str, reason: &str) {
    let error = text.parse::<Location>().expect_err(text).to_string();
    assert!(error.contains(reason), "{text}: {error}");
    assert!(!error.contains("secret"), "{text}: {error}");
}

#[test]
fn a_file_is_a_scheme_and_a_path() {
    for (text, path) in [
        ("sqlite:store.db", "store.db"),
        ("sqlite:/var/lib/store.db", "/var/lib/store.db"),
        ("sqlite:///var/lib/store.db", "/var/lib/store.db"),
    ] {
        assert_eq!(text.parse(), Ok(Location::Sqlite(path.into())));
    }
    for text in [
        "",
        "store.db",
        "sqlite:",
        "sqlite::memory:",
        "oracle://x",
        "postgres:x",
    ] {
        refused(text, "expected sqlite:PATH, postgres://USER@HOST/DATABASE");
    }
    refused("sqlite:store.db?mode=ro", "end the path before it");
}

#[test]
fn a_url_names_hosts_user_password_and_database() {
    let found = server("postgresql://us%65r:p%40%2F%3Fw@db.example,[::1]:6432/fl%C3%A9et");
    assert_eq!(found.engine, Engine::Postgres);
    assert_eq!(
        found.hosts,
        [
            Host::Tcp("db.example".into(), 5432),
            Host::Tcp("::1".into(), 6432)
        ]
    );
    assert_eq!(
        (found.user.as_str(), found.database.as_str()),
        ("user", "fléet")
    );
    assert_eq!(found.password, Password::Given(Secret::new("p@/?w")));
    assert_eq!(
        found.to_string(),
        "postgres://user@db.example:5432,[::1]:6432/fl%C3%A9et"
    );
    let found = server("mysql://armadex@db/fleet");
    assert_eq!(found.hosts, [Host::Tcp("db".into(), 3306)]);
    assert_eq!(found.password, Password::None);
    assert!(found.prepared && found.timeouts == Timeouts::default());
}

#[test]
fn a_password_may_have_any_sign_but_a_slash_a_question_mark_and_a_percent_sign() {
    let found = server("postgres://user:a:b@c#d&e=f@host/db");
    assert_eq!(found.password, Password::Given(Secret::new("a:b@c#d&e=f")));
    assert_eq!(found.hosts, [Host::Tcp("host".into(), 5432)]);
    // What follows a % is taken for the number of a sign where it is one.
    let found = server("postgres://user:a%41b%zz@host/db");
    assert_eq!(found.password, Password::Given(Secret::new("aAb%zz")));
    let found = server("postgres://user:a%2541b@host/db");
    assert_eq!(found.password, Password::Given(Secret::new("a%41b")));
    for text in [
        "postgres://user:sec/secret@host/db",
        "mysql://user:sec?secret@host/db",
    ] {
        refused(text, "%2F");
    }
}

#[test]
fn a_socket_is_a_folder_or_a_file() {
    let socket = |path: &str, port| vec![Host::Socket(path.into(), port)];
    let found = server("postgres://me@%2Frun%2Fpostgresql:6000/db");
    assert_eq!(found.hosts, socket("/run/postgresql", 6000));
    let found = server("postgres://me@/db?host=/run/postgresql");
    assert_eq!(found.hosts, socket("/run/postgresql", 5432));
    let found = server("mysql://me@/db?socket=/run/mysqld/mysqld.sock");
    assert_eq!(found.hosts, socket("/run/mysqld/mysqld.sock", 3306));
    assert_eq!(found.tls.mode, TlsMode::Disable);
    refused("mysql://me@db/db?socket=/run/x", "a host and a socket");
    refused("mysql://me@/db?socket=run", "no absolute path");
    refused(
        "postgres://me@%2Frun/db?sslmode=require",
        "is not encrypted",
    );
}

#[test]
fn what_is_elsewhere_is_verified_unless_something_else_is_said() {
    let mode = |text: &str| server(text).tls.mode;
    for (text, expected) in [
        ("postgres://u@db/d", TlsMode::VerifyFull),
        ("postgres://u@10.0.0.1/d", TlsMode::VerifyFull),
        ("postgres://u@localhost.example/d", TlsMode::VerifyFull),
        ("postgres://u@localhost,db/d", TlsMode::VerifyFull),
        ("postgres://u@localhost/d", TlsMode::Disable),
        ("mysql://u@127.0.0.5/d", TlsMode::Disable),
        ("mysql://u@[::1]/d", TlsMode::Disable),
        (
            "postgres://u@localhost/d?sslrootcert=ca",
            TlsMode::VerifyFull,
        ),
        ("postgres://u@localhost/d?sslmode=require", TlsMode::Require),
        ("postgres://u@db/d?sslmode=disable", TlsMode::Disable),
        (
            "postgres://u@db/d?sslmode=require&sslrootcert=ca",
            TlsMode::VerifyFull,
        ),
        (
            "mysql://u@db/d?ssl-mode=VERIFY_IDENTITY",
            TlsMode::VerifyFull,
        ),
    ] {
        assert_eq!(mode(text), expected, "{text}");
    }
    for text in [
        "postgres://u@db/d?sslmode=verify-ca&sslrootcert=ca",
        "mysql://u@db/d?ssl-mode=VERIFY_CA&ssl-ca=ca",
    ] {
        refused(
            text,
            "any public authority, for whatever name: say verify-full",
        );
    }
    refused(
        "postgres://u@db/d?sslmode=disable&sslrootcert=ca",
        "turns encryption off",
    );
    refused("postgres://u@db/d?sslmode=prefer", "in between");
    refused("postgres://u@db/d?sslcert=c", "given together");
}

#[test]
fn parameters_are_read_and_unknown_ones_refused() {
    let found = server(
        "postgres://u@db/d?sslcert=/c&sslkey=/k&sslrootcert=/r%20oot&connect_timeout=3&statement_timeout=1min&\
         lock_timeout=500ms&prepared=off&application_name=index",
    );
    let client = ClientCertificate {
        certificate: "/c".into(),
        key: "/k".into(),
    };
    assert_eq!(found.tls.client, Some(client));
    assert_eq!(found.tls.root, Some("/r oot".into()));
    let timeouts = Timeouts {
        connect: Duration::from_secs(3),
        statement: Duration::from_secs(60),
        lock: Duration::from_millis(500),
        // Nobody says how long we may be silent.
        ..Timeouts::default()
    };
    assert_eq!(found.timeouts, timeouts);
    assert!(!found.prepared && found.application == "index");
    refused(
        "postgres://u@db/d?sslmod=require",
        "no parameter \"sslmod\"",
    );
    refused("postgres://u@db/d?prepared=maybe", "on or off");
    refused("mysql://u@db/d?lock-timeout=5", "lock-timeout takes a time");
    refused("postgres://u@db/d?sslmode=no", "sslmode is none of");
    refused(
        "postgres://u@db/d?sslmode=require&ssl-mode=require",
        "twice",
    );
    refused("postgres://u:secret@db/d?password=secret", "two passwords");
}

#[test]
fn what_is_missing_is_named() {
    refused("postgres://db/d", "names no user");
    refused(
        "postgres://user:secret/d",
        "USER:PASSWORD stands before an @",
    );
    refused("postgres://:secret@db/d", "names no user");
    refused("postgres://u@/d", "names no host");
    refused("postgres://u@db", "names no database");
    refused("postgres://u@db/", "names no database");
    refused("postgres://u@db,/d", "has no name");
    refused("postgres://u@db:0/d", "its port is no number");
    refused("postgres://u@::1/d", "in brackets");
    refused("postgres://u@[::1/d", "closing bracket");
    refused("postgres://u:%ff@db/d", "no UTF-8");
}

#[test]
fn the_password_comes_from_elsewhere_if_that_is_said() {
    let file = Password::File("/run/secrets/password".into());
    let given = "postgres://u:old@db/d".parse::<Location>().expect("a URL");
    assert!(given.has_password());
    let changed = given.with_password(file.clone());
    assert!(!changed.has_password());
    assert!(matches!(changed, Location::Server(server) if server.password == file));
}

proptest! {
    /// Whatever stands around it, and whether it was encoded as it should be or not.
    #[test]
    fn a_password_is_never_repeated(
        before in ".{0,6}",
        after in ".{0,6}",
        is_encoded in any::<bool>(),
        scheme in "(postgres|postgresql|mysql|mariadb|postgre)",
        rest in "(@|)(host|\\[::1\\]|)(:5432|:x|)(/db|)(\\?sslmode=require|\\?x=y|\\?|)",
    ) {
        const MARK: &str = "hunter2";
        let password = format!("{before}{MARK}{after}");
        let password = match is_encoded {
            true => percent_encoding::utf8_percent_encode(&password, percent_encoding::NON_ALPHANUMERIC).to_string(),
            false => password,
        };
        let text = format!("{scheme}://user:{password}@host{rest}");
        match text.parse::<Location>() {
            Err(error) => {
                prop_assert!(!error.to_string().contains(MARK), "{error}");
                prop_assert!(!format!("{error:?}").contains(MARK), "{error:?}");
            }
            Ok(location) => {
                prop_assert!(!location.to_string().contains(MARK), "{location}");
                prop_assert!(!format!("{location:?}").contains(MARK), "{location:?}");
            }
        }
    }

    #[test]
    fn what_is_shown_is_read_back(
        user in "[^\0]{1,8}",
        database in "[^\0]{1,8}",
        name in "[a-z]{1,8}(\\.[a-z]{1,3})?",
        port in 1..=u16::MAX,
    ) {
        let draft = Draft {
            engine: Engine::Mysql,
            hosts: vec![Host::Tcp(name, port), Host::Tcp("fd00::1".into(), port)],
            user,
            password: None,
            database,
            parameters: Vec::new(),
        };
        let server = draft.check().expect("sound");
        let read = server.to_string().parse::<Location>().expect("readable");
        prop_assert_eq!(read, Location::Server(Box::new(server)));
    }
}
