//! PostgreSQL: how its files are made, how it is run, how databases come and go.

use anyhow::Result;

use crate::address::Address;
use crate::client::administer;
use crate::setup::{ADMINISTRATOR, Origin, Site, words};

/// Nothing of it outside its folder: no socket in /tmp, no shared memory that a killed server leaves behind.
const ALWAYS: [(&str, &str); 6] = [
    ("listen_addresses", "127.0.0.1"),
    ("unix_socket_directories", ""),
    ("dynamic_shared_memory_type", "mmap"),
    // A few stores for each test, some tests at a time, each store with its pools.
    ("max_connections", "300"),
    ("shared_buffers", "256MB"),
    ("max_wal_size", "4GB"),
];
const UNLESS_DURABLE: [(&str, &str); 3] = [
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
];

pub(crate) fn prepare(place: &Site<'_>) -> Vec<Vec<String>> {
    match place.origin {
        Origin::CopyOf(primary) => vec![copy(place, primary)],
        Origin::New | Origin::Cluster => make(place),
    }
}

/// What the other has, and a file that says whom to follow. Its password is in the environment: arguments can be read by everybody.
fn copy(place: &Site<'_>, primary: &Address) -> Vec<String> {
    let (primary, _) = primary.without_password("postgres");
    let mut copy = words(["pg_basebackup", "--write-recovery-conf", "--no-sync"]);
    copy.extend(words(["--checkpoint=fast", "--wal-method=stream"]));
    copy.push(format!("--dbname={primary}"));
    copy.push(format!("--pgdata={}", place.path("data")));
    copy
}

fn make(place: &Site<'_>) -> Vec<Vec<String>> {
    let mut initdb = words(["initdb", "--auth=scram-sha-256", "--encoding=UTF8"]);
    initdb.extend(words(["--no-sync", "--locale=C.UTF-8"]));
    initdb.push(format!("--username={ADMINISTRATOR}"));
    initdb.push(format!("--pwfile={}", place.path("password")));
    initdb.push(format!("--pgdata={}", place.path("data")));
    // Texts are compared as in a dictionary unless a column says otherwise, as in most databases of companies; before PostgreSQL 15 that took
    // a locale of the machine.
    let in_english = words(["--locale-provider=icu", "--icu-locale=en"]);
    vec![[initdb.clone(), in_english].concat(), initdb]
}

pub(crate) fn run(place: &Site<'_>) -> Vec<String> {
    let mut command = words(["postgres", "-D"]);
    command.push(place.path("data"));
    command.extend(["-p".to_owned(), place.port.to_string()]);
    for (name, value) in place.settings(&ALWAYS, &UNLESS_DURABLE) {
        command.extend(["-c".to_owned(), format!("{name}={value}")]);
    }
    command
}

pub(crate) fn create(admin: &Address, name: &str) -> Result<()> {
    let statement = format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0");
    administer(admin, &statement).map(|_| ())
}

pub(crate) fn drop(admin: &Address, name: &str) -> Result<()> {
    let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    administer(admin, &statement).map(|_| ())
}
