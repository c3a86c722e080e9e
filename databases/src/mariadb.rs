//! MariaDB: how its files are made, how it is run, how databases come and go. The last is MySQL's too.

use anyhow::Result;

use crate::address::Address;
use crate::client::administer;
use crate::setup::{Origin, Site, words};

/// Only what the tests need of a server with its defaults.
const ALWAYS: [(&str, &str); 6] = [
    ("bind-address", "127.0.0.1"),
    ("skip-name-resolve", "ON"),
    // A few stores for each test, some tests at a time, each store with its pools.
    ("max-connections", "500"),
    ("innodb-buffer-pool-size", "256M"),
    ("innodb-log-file-size", "512M"),
    // As long as PostgreSQL gives whoever connects: a client may be slow that runs beside builds.
    ("connect-timeout", "60"),
];
const UNLESS_DURABLE: [(&str, &str); 3] = [
    ("innodb-flush-log-at-trx-commit", "0"),
    ("innodb-flush-method", "nosync"),
    ("innodb-doublewrite", "OFF"),
];

/// The file of the statements that make the administrator, at each start.
pub(crate) const FIRST_STATEMENTS: &str = "first.sql";

pub(crate) fn prepare(place: &Site<'_>) -> Vec<Vec<String>> {
    let mut install = words([
        "mariadb-install-db",
        "--no-defaults",
        "--skip-test-db",
        "--auth-root-authentication-method=socket",
    ]);
    install.push(format!("--datadir={}", place.path("data")));
    vec![install]
}

pub(crate) fn run(place: &Site<'_>) -> Vec<String> {
    let mut command = words(["mariadbd", "--no-defaults"]);
    command.push(format!("--datadir={}", place.path("data")));
    command.push(format!("--socket={}", place.path("tmp/socket")));
    command.push(format!("--pid-file={}", place.path("tmp/pid")));
    // Whoever joins a cluster has the administrator of the others, and may write nothing before it has joined.
    if !matches!(place.origin, Origin::Cluster) {
        command.push(format!("--init-file={}", place.path(FIRST_STATEMENTS)));
    }
    command.push(format!("--port={}", place.port));
    for (name, value) in place.settings(&ALWAYS, &UNLESS_DURABLE) {
        command.push(format!("--{name}={value}"));
    }
    command
}

/// One statement a line, as the server wants them.
pub(crate) fn first_statements(user: &str, password: &str) -> String {
    format!(
        "CREATE USER IF NOT EXISTS '{user}'@'%' IDENTIFIED BY '{password}';\n\
         GRANT ALL ON *.* TO '{user}'@'%' WITH GRANT OPTION;\n"
    )
}

/// What makes a server that is empty another one's replica, from the beginning of its log. By itself it would try only once a minute whether the other
/// one is back.
pub(crate) fn follow(primary: &Address) -> String {
    format!(
        "CHANGE MASTER TO MASTER_HOST = '{}', MASTER_PORT = {}, MASTER_USER = '{}', MASTER_PASSWORD = '{}', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1; START SLAVE",
        primary.host(),
        primary.port(),
        primary.user(),
        primary.password()
    )
}

pub(crate) fn create(admin: &Address, name: &str) -> Result<()> {
    administer(admin, &format!("CREATE DATABASE {name}")).map(|_| ())
}

/// Dropping waits for whoever still has a transaction open there, so they are disconnected first.
pub(crate) fn drop(admin: &Address, name: &str) -> Result<()> {
    let using = format!("SELECT id FROM information_schema.processlist WHERE db = '{name}'");
    for connection in administer(admin, &using)?.lines() {
        // Who has gone meanwhile can't be disconnected.
        let _ = administer(admin, &format!("KILL {connection}"));
    }
    let statement = format!("SET lock_wait_timeout = 20; DROP DATABASE IF EXISTS {name}");
    administer(admin, &statement).map(|_| ())
}
