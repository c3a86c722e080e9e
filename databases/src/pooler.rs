//! A PgBouncer before a PostgreSQL: each transaction, or each statement, gets whichever of its connections is free.

use std::process::Command;

use anyhow::{Context, Result};

use crate::address::Address;
use crate::engine::Engine;
use crate::keeper::Keeper;
use crate::not_run::do_without;
use crate::ports::free_port;
use crate::programs::{find, path_of, user_instead_of_root};
use crate::server::{begin, line};
use crate::setup::words;

const PROGRAM: &str = "pgbouncer";
/// What it is told, in a file of its own.
const SETTINGS: &str = "pgbouncer.ini";
/// Whom it lets in, and as whom it goes to the server.
const USERS: &str = "users";

/// For how long a client has one of the pooler's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolMode {
    /// To the end of a transaction.
    Transaction,
    /// To the end of a statement: there are no transactions.
    Statement,
}

impl PoolMode {
    fn name(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        }
    }
}

/// A running pooler.
#[derive(Debug)]
pub struct Pooler {
    _keeper: Keeper,
    address: Address,
}

impl Pooler {
    /// Whether there is the program. If not, it is said that the test was not run; an error where all have to be.
    pub fn is_there() -> Result<bool> {
        let is_there = find(PROGRAM).is_some();
        if !is_there {
            do_without("no PgBouncer: pgbouncer is not installed (make databases)")?;
        }
        Ok(is_there)
    }

    /// Starts one before a server.
    pub fn start(server: &Address, mode: PoolMode) -> Result<Self> {
        let user = user_instead_of_root(Engine::Postgres)?;
        let mut keeper = Keeper::start(Engine::Postgres, user.as_ref())?;
        let (port, folder) = (free_port()?, keeper.folder().to_owned());
        let path = |name: &str| folder.join(name).display().to_string();
        let settings = settings(&version()?, server, mode, port, &path(USERS));
        keeper.write(SETTINGS, settings.as_bytes())?;
        let users = format!("\"{}\" \"{}\"\n", server.user(), server.password());
        keeper.write(USERS, users.as_bytes())?;
        let mut command = words([PROGRAM, "--quiet"]);
        command.push(path(SETTINGS));
        let run = format!("exec {}\n", line(command, user.as_ref())?);
        keeper.write("run.sh", run.as_bytes())?;
        let (name, password) = (server.user(), server.password());
        let address = Address::local(Engine::Postgres, port, &name, &password)?;
        begin(&mut keeper, &address)?;
        Ok(Self {
            _keeper: keeper,
            address,
        })
    }

    /// Where it is, with the server's administrator.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }
}

/// As it says itself, `PgBouncer 1.18.0`.
fn version() -> Result<String> {
    let told = Command::new(path_of(PROGRAM)?).arg("--version").output();
    let told = told.context("the pooler does not say its version")?;
    Ok(String::from_utf8_lossy(&told.stdout).into_owned())
}

/// Whether it can follow what is prepared, which it is not to do here: from 1.21 on.
fn follows_statements(version: &str) -> bool {
    let numbers = version.split_whitespace().nth(1).unwrap_or_default();
    let mut numbers = numbers.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(1), Some(21))
}

fn settings(version: &str, server: &Address, mode: PoolMode, port: u16, users: &str) -> String {
    let follow = match follows_statements(version) {
        true => "max_prepared_statements = 0\n",
        false => "",
    };
    format!(
        "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
         auth_type = scram-sha-256\nauth_file = {users}\npool_mode = {}\nmax_client_conn = 500\ndefault_pool_size = 20\n{follow}",
        server.host(),
        server.port(),
        mode.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooler_that_can_follow_what_is_prepared_is_told_not_to() {
        assert!(!follows_statements("PgBouncer 1.18.0\nlibevent 2.1.12"));
        assert!(follows_statements("PgBouncer 1.21.0"));
        assert!(follows_statements("PgBouncer 1.24.1"));
        assert!(follows_statements("PgBouncer 2.0.0"));
    }
}
