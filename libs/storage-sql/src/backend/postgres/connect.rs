//! Opening connections with PostgreSQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use armadex_storage::StoreError;
use async_trait::async_trait;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use tokio::time::timeout;

use super::environment;
use super::error::class;
use crate::backend::attempt::{first_of, takes_no_writes};
use crate::backend::certificates;
use crate::backend::error::broken;
use crate::backend::hosts::Hosts;
use crate::backend::pool::Connect;
use crate::location::{Host, Server, TlsMode};

/// Statement texts are few, see [`crate::sql::statement`]; all of them stay prepared.
const STATEMENTS: usize = 512;

/// Plans are made anew after this long: one that was made while a table was empty is no good for what has come since. It costs a millisecond.
const PLANS_LAST: Duration = Duration::from_secs(10);

/// The oldest version that has all that we ask for.
const OLDEST: u32 = 130_000;

/// A connection, and what its transactions begin with depends on.
pub(super) struct Connected {
    pub(super) connection: PgConnection,
    /// As in `server_version_num`.
    pub(super) version: u32,
    planned: Instant,
}

impl Connected {
    /// Whether it is time to plan anew.
    pub(super) fn forgets_plans(&mut self) -> bool {
        let is_time = self.planned.elapsed() >= PLANS_LAST;
        if is_time {
            self.planned = Instant::now();
        }
        is_time
    }
}

/// Opens connections.
pub(super) struct Connector {
    server: Server,
    hosts: Arc<Hosts>,
}

impl Connector {
    pub(super) fn new(server: &Server, hosts: &Arc<Hosts>) -> Self {
        Self {
            server: server.clone(),
            hosts: Arc::clone(hosts),
        }
    }

    /// For a change of the schema, and for a look at it.
    pub(super) fn of_schema(server: &Server, hosts: Hosts) -> Self {
        Self::new(server, &Arc::new(hosts))
    }

    async fn connect_with(&self, host: &Host) -> Result<Connected, sqlx::Error> {
        let connected = self.options(host)?.connect().await;
        let mut connection = connected.map_err(without_password)?;
        if self.hosts.is_choice() && is_read_only(&mut connection).await? {
            return Err(takes_no_writes(host));
        }
        Ok(Connected {
            // A server that does not tell is none of PostgreSQL's own, and is believed.
            version: connection.server_version_num().unwrap_or(OLDEST),
            connection,
            planned: Instant::now(),
        })
    }

    fn options(&self, host: &Host) -> Result<PgConnectOptions, sqlx::Error> {
        let Server {
            engine: _,
            hosts: _,
            user,
            password,
            database,
            tls,
            timeouts: _,
            prepared,
            application,
        } = &self.server;
        certificates::check(&self.server)?;
        let password = password.read();
        let password = password.map_err(|err| sqlx::Error::Configuration(err.into()))?;
        let mut options = PgConnectOptions::new_without_pgpass()
            .username(user)
            .database(database)
            .application_name(application)
            .ssl_mode(match tls.mode {
                TlsMode::Disable => PgSslMode::Disable,
                TlsMode::Require => PgSslMode::Require,
                TlsMode::VerifyFull => PgSslMode::VerifyFull,
            })
            .statement_cache_capacity(if *prepared { STATEMENTS } else { 0 })
            // A pooler takes no settings but those that it knows, and we have no fractions.
            .extra_float_digits(None)
            // Its warnings are pages of SQL; what takes long is told by name.
            .disable_statement_logging();
        options = match host {
            Host::Tcp(name, port) => options.host(name).port(*port),
            Host::Socket(folder, port) => options.socket(folder).port(*port),
        };
        if let Some(password) = password {
            options = options.password(password.expose());
        }
        if let Some(root) = &tls.root {
            options = options.ssl_root_cert(root);
        }
        if let Some(client) = &tls.client {
            options = options.ssl_client_cert(&client.certificate);
            options = options.ssl_client_key(&client.key);
        }
        Ok(options)
    }
}

#[async_trait]
impl Connect for Connector {
    type Connection = Connected;

    async fn connect(&self) -> Result<Connected, StoreError> {
        let server = &self.server;
        environment::check(server, |name| {
            std::env::var_os(name).is_some_and(|value| !value.is_empty())
        })?;
        let connecting = |host| self.connect_with(host);
        let connected = first_of(server, &self.hosts, class, connecting).await?;
        supported(server, connected.version)?;
        Ok(connected)
    }

    async fn close(&self, connected: Connected) {
        // The server notices without it, a little later.
        let _ = timeout(self.server.timeouts.connect, connected.connection.close()).await;
    }

    fn era(&self) -> usize {
        self.hosts.era()
    }

    fn leave(&self, era: usize) {
        self.hosts.leave(era);
    }
}

/// What the driver says of a password that it cannot prepare for SCRAM names a character of it.
fn without_password(err: sqlx::Error) -> sqlx::Error {
    match &err {
        sqlx::Error::Configuration(cause) if cause.to_string().contains("saslprep password") => {
            sqlx::Error::Configuration(
                "the password has a character that none may have (RFC 4013, as a control character), or begins with one that changes the character before it: give \
                 the role another one"
                    .into(),
            )
        }
        _ => err,
    }
}

fn supported(server: &Server, version: u32) -> Result<(), StoreError> {
    let (found, oldest) = (version / 10_000, OLDEST / 10_000);
    match version < OLDEST {
        true => Err(broken(format!(
            "{server} is PostgreSQL {found}, and {oldest} is the oldest that has what a store needs"
        ))),
        false => Ok(()),
    }
}

/// Whether the server is a replica, or was made to take no writes.
async fn is_read_only(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let set = "SELECT pg_catalog.current_setting('transaction_read_only')";
    let set: String = sqlx::query_scalar(set)
        .persistent(false)
        .fetch_one(connection)
        .await?;
    Ok(set == "on")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;

    #[test]
    fn servers_that_are_too_old_are_refused_by_their_version() {
        let Ok(Location::Server(server)) = "postgres://u@h/fleet".parse() else {
            panic!("a server")
        };
        for version in [130_000, 130_016, 180_000] {
            assert!(supported(&server, version).is_ok(), "{version}");
        }
        let refused = supported(&server, 120_020)
            .expect_err("too old")
            .to_string();
        let words = "is PostgreSQL 12, and 13 is the oldest";
        assert!(refused.contains(words), "{refused}");
    }
}
