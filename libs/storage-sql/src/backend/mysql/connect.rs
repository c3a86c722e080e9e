//! Opening connections with MySQL or MariaDB, and what is said to the server on each.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use armadex_storage::StoreError;
use async_trait::async_trait;
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, MySqlConnection, Row as _};
use tokio::time::timeout;

use super::error::{class, number};
use super::limits::WHOLE;
use crate::backend::attempt::{first_of, takes_no_writes};
use crate::backend::certificates;
use crate::backend::error::broken;
use crate::backend::hosts::Hosts;
use crate::backend::pool::Connect;
use crate::location::{Host, Server, TlsMode};

/// Statements that stay prepared on the connection that writes. Each text is one, and those of many rows or values have one for each size, see
/// [`crate::sql::pieces`]: batches of all sizes came to 250 where they were counted, and what comes and goes, is purged or mended has some 200. One that is not
/// kept is prepared anew whenever it is needed, which takes the server longer than to run it.
const STATEMENTS_THAT_WRITE: usize = 512;
/// The same on each that reads. A server keeps 16,382 of all its clients if nobody has said anything else, so there is room for eight processes with seven of
/// these each.
const STATEMENTS_THAT_READ: usize = 192;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    /// Everything, for which each statement has a limit of its own.
    ReadWhole,
    Write,
    /// A change of the schema may take as long as it takes.
    Migrate,
}

impl Purpose {
    /// How many statements stay prepared.
    fn statements(self) -> usize {
        match self {
            Self::Write => STATEMENTS_THAT_WRITE,
            Self::Read | Self::ReadWhole | Self::Migrate => STATEMENTS_THAT_READ,
        }
    }
}

/// Opens connections for one purpose.
pub(super) struct Connector {
    server: Server,
    purpose: Purpose,
    hosts: Arc<Hosts>,
}

impl Connector {
    pub(super) fn new(server: &Server, purpose: Purpose, hosts: &Arc<Hosts>) -> Self {
        Self {
            server: server.clone(),
            purpose,
            hosts: Arc::clone(hosts),
        }
    }

    /// For a change of the schema, and for a look at it.
    pub(super) fn of_schema(server: &Server, hosts: Hosts) -> Self {
        Self::new(server, Purpose::Migrate, &Arc::new(hosts))
    }

    /// A connection, and the server's version.
    async fn connect_with(&self, host: &Host) -> Result<(MySqlConnection, String), sqlx::Error> {
        let options = self.options(host)?;
        let mut connection = options.connect().await.map_err(in_our_words)?;
        let version = version(&mut connection).await?;
        // Numbers and constants, nothing that anybody typed.
        let settings = AssertSqlSafe(settings(&self.server, self.purpose));
        sqlx::raw_sql(settings).execute(&mut connection).await?;
        set_where_known(&mut connection, WAIT_FOR_OTHER_NODES).await?;
        match self.hosts.is_choice() && is_read_only(&mut connection).await? {
            true => Err(takes_no_writes(host)),
            false => Ok((connection, version)),
        }
    }

    fn options(&self, host: &Host) -> Result<MySqlConnectOptions, sqlx::Error> {
        let Server {
            engine: _,
            hosts: _,
            user,
            password,
            database,
            tls,
            timeouts: _,
            prepared: _,
            application: _,
        } = &self.server;
        certificates::check(&self.server)?;
        let password = password.read();
        let password = password.map_err(|err| sqlx::Error::Configuration(err.into()))?;
        let mut options = MySqlConnectOptions::new()
            .username(user)
            .database(database)
            .ssl_mode(match tls.mode {
                TlsMode::Disable => MySqlSslMode::Disabled,
                TlsMode::Require => MySqlSslMode::Required,
                TlsMode::VerifyFull => MySqlSslMode::VerifyIdentity,
            })
            .statement_cache_capacity(self.purpose.statements())
            // What these would set, `settings` does.
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .timezone(None)
            .set_names(false)
            // Its warnings are pages of SQL; what takes long is told by name.
            .disable_statement_logging();
        options = match host {
            Host::Tcp(name, port) => options.host(name).port(*port),
            Host::Socket(path, _) => options.socket(path),
        };
        if let Some(password) = password {
            options = options.password(password.expose());
        }
        if let Some(root) = &tls.root {
            options = options.ssl_ca(root);
        }
        if let Some(client) = &tls.client {
            options = options.ssl_client_cert(&client.certificate);
            options = options.ssl_client_key(&client.key);
        }
        Ok(options)
    }
}

/// How the driver begins to say that it encrypts no password by itself.
const NO_RSA: &str = "RSA auth backend disabled";

/// MySQL's default wants the password encrypted, by TLS or by a key of RSA, the first time that it lets a user in.
fn in_our_words(err: sqlx::Error) -> sqlx::Error {
    match err {
        sqlx::Error::Configuration(cause) if cause.to_string().starts_with(NO_RSA) => {
            let words = "the server takes the password over an encrypted connection only: say ssl-mode=require in the store's URL";
            sqlx::Error::Configuration(words.into())
        }
        other => other,
    }
}

#[async_trait]
impl Connect for Connector {
    type Connection = MySqlConnection;

    async fn connect(&self) -> Result<MySqlConnection, StoreError> {
        let server = &self.server;
        let connecting = |host| self.connect_with(host);
        let (connection, version) = first_of(server, &self.hosts, class, connecting).await?;
        supported(server, &version)?;
        Ok(connection)
    }

    async fn close(&self, connection: MySqlConnection) {
        // The server notices without it, a little later.
        let _ = timeout(self.server.timeouts.connect, connection.close()).await;
    }

    fn era(&self) -> usize {
        self.hosts.era()
    }

    fn leave(&self, era: usize) {
        self.hosts.leave(era);
    }
}

/// A node of a Galera cluster commits before the others have put into their tables what it commits. What begins on this connection, a transaction or a
/// statement without one, waits until its node has what any of them had committed by then. A MariaDB that is part of no cluster knows the setting too,
/// and waits for nobody.
const WAIT_FOR_OTHER_NODES: &str = "SET SESSION wsrep_sync_wait = 7";

/// What a server says of a setting that it was built without.
const UNKNOWN_VARIABLE: u16 = 1193;

pub(super) async fn set_where_known(
    connection: &mut MySqlConnection,
    set: &'static str,
) -> Result<(), sqlx::Error> {
    match sqlx::raw_sql(set).execute(connection).await {
        Err(sqlx::Error::Database(err)) if number(&*err) == Some(UNKNOWN_VARIABLE) => Ok(()),
        set => set.map(drop),
    }
}

async fn version(connection: &mut MySqlConnection) -> Result<String, sqlx::Error> {
    let row = sqlx::query("SELECT VERSION()").fetch_one(connection);
    row.await?.try_get_unchecked(0)
}

/// MariaDB's version may have one before it that old replicas understand.
const FOR_OLD_REPLICAS: &str = "5.5.5-";

/// The oldest versions that have all that we ask for: of MariaDB, and of MySQL and what calls itself by its numbers.
const OLDEST_MARIADB: (u32, u32) = (10, 11);
const OLDEST_MYSQL: (u32, u32) = (8, 0);

/// A server that does not tell its version is none of theirs, and is believed.
fn supported(server: &Server, version: &str) -> Result<(), StoreError> {
    let version = version.strip_prefix(FOR_OLD_REPLICAS).unwrap_or(version);
    let numbers = version.split(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.map_while(|number| number.parse::<u32>().ok());
    let Some(major) = numbers.next() else {
        return Ok(());
    };
    let minor = numbers.next().unwrap_or(0);
    let (name, oldest) = match version.to_ascii_lowercase().contains("mariadb") {
        true => ("MariaDB", OLDEST_MARIADB),
        false => ("MySQL", OLDEST_MYSQL),
    };
    match (major, minor) < oldest {
        true => Err(broken(format!(
            "{server} is {name} {major}.{minor}, and {}.{} is the oldest that has what a store needs",
            oldest.0, oldest.1
        ))),
        false => Ok(()),
    }
}

/// Whether the server is a replica, or was made to take no writes.
async fn is_read_only(connection: &mut MySqlConnection) -> Result<bool, sqlx::Error> {
    let row = sqlx::query("SELECT @@global.read_only").fetch_one(connection);
    row.await?
        .try_get_unchecked::<i64, _>(0)
        .map(|set| set != 0)
}

/// What the texts of the statements rely on, whatever the server's administrator set: a value that does not fit is an error and never cut.
const MODE: &str = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION";

/// MariaDB limits every statement, MySQL those that read; each takes the comment of the other for one. For who says nothing in a transaction MySQL knows no
/// limit but that for connections, and one that lay idle is opened anew. A long list stays one for MariaDB and is looked up
/// in the index: made into a table it would be joined, in the order that statistics suggest.
fn settings(server: &Server, purpose: Purpose) -> String {
    let statement = match purpose {
        Purpose::ReadWhole => server.timeouts.statement.max(WHOLE),
        Purpose::Read | Purpose::Write | Purpose::Migrate => server.timeouts.statement,
    };
    let statement = statement.as_millis().max(1);
    // At least one.
    let seconds = |time: Duration| time.as_millis().div_ceil(1000).max(1);
    let lock = match purpose {
        Purpose::Read => u128::from(server.timeouts.lock_of_reads().as_secs()).max(1),
        Purpose::ReadWhole | Purpose::Write | Purpose::Migrate => seconds(server.timeouts.lock),
    };
    let idle = seconds(server.timeouts.idle);
    // Who waits for a table holds up all who come after him, also one that changes the schema.
    let mut text = format!(
        "SET SESSION sql_mode = '{MODE}', innodb_lock_wait_timeout = {lock}, lock_wait_timeout = {lock}"
    );
    if purpose != Purpose::Migrate {
        let (seconds, rest) = (statement / 1000, statement % 1000);
        let _ = write!(
            text,
            " /*M!101100 , max_statement_time = {seconds}.{rest:03}, in_predicate_conversion_threshold = 0, idle_transaction_timeout = {idle} */\
             /*!50708 , max_execution_time = {statement}, wait_timeout = {idle} */"
        );
    }
    text.push_str(match purpose {
        Purpose::Read | Purpose::ReadWhole => {
            "; SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
        }
        Purpose::Write | Purpose::Migrate => {
            "; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
        }
    });
    text
}

#[cfg(test)]
mod tests {
    use super::super::limits::Limits;
    use super::*;
    use crate::location::Location;
    use crate::options::Options;

    #[test]
    fn who_needs_encryption_for_the_password_is_told_how_to_say_so() {
        let driver = "RSA auth backend disabled; enable feature `mysql-rsa`";
        let told = in_our_words(sqlx::Error::Configuration(driver.into())).to_string();
        assert!(told.contains("say ssl-mode=require"), "{told}");
        let other = in_our_words(sqlx::Error::Configuration("no password".into()));
        assert!(other.to_string().contains("no password"));
    }

    /// Or a table that somebody has locked would be taken for a server that is away.
    #[test]
    fn a_lock_is_waited_for_less_long_than_the_beginning_of_a_read() {
        for connect in ["1ms", "500ms", "1s", "1300ms", "2s", "5s", "60min"] {
            let url = format!("mysql://u@h/fleet?lock-timeout=60min&connect-timeout={connect}");
            let Ok(Location::Server(server)) = url.parse() else {
                panic!("{url}")
            };
            let begin = Limits::of(&server).begin.as_secs();
            let said = settings(&server, Purpose::Read);
            let (_, lock) = said.split_once(", lock_wait_timeout = ").expect("a limit");
            let lock = lock.split(' ').next().expect("a number");
            assert!(lock.parse::<u64>().expect("seconds") < begin, "{connect}");
        }
    }

    #[test]
    fn who_says_nothing_in_a_transaction_has_ten_seconds_or_what_was_said() {
        let Ok(Location::Server(mut server)) = "mysql://u@h/fleet".parse() else {
            panic!("a server")
        };
        for (said, seconds) in [
            (None, 10),
            (Some(1), 1),
            (Some(1001), 2),
            (Some(60_000), 60),
        ] {
            if let Some(milliseconds) = said {
                server.timeouts.idle = Duration::from_millis(milliseconds);
            }
            let settings = settings(&server, Purpose::Write);
            for limit in ["idle_transaction_timeout", " wait_timeout"] {
                let limit = format!("{limit} = {seconds} */");
                assert!(settings.contains(&limit), "{settings}");
            }
        }
    }

    #[test]
    fn what_eight_processes_keep_prepared_has_room_on_a_server_of_which_nothing_is_said() {
        let options = Options::default();
        // One more is there while everything is read.
        let read = options.readers + options.short_readers + 1;
        let read = usize::try_from(read).expect("a few");
        assert!(8 * (STATEMENTS_THAT_WRITE + read * STATEMENTS_THAT_READ) <= 16_382);
    }

    #[test]
    fn servers_that_are_too_old_are_refused_by_their_version() {
        let Ok(Location::Server(server)) = "mysql://u@h/fleet".parse() else {
            panic!("a server")
        };
        for version in [
            "8.0.36",
            "9.7.0",
            "8.0.11-TiDB-v7.5.1",
            "10.11.6-MariaDB-0+deb12u1",
            "5.5.5-10.11.2-MariaDB",
            "11.4.2-MariaDB-log",
            "unknown",
        ] {
            assert!(supported(&server, version).is_ok(), "{version}");
        }
        for (version, words) in [
            ("5.7.44-log", "is MySQL 5.7, and 8.0 is the oldest"),
            (
                "10.6.18-MariaDB",
                "is MariaDB 10.6, and 10.11 is the oldest",
            ),
            ("5.5.5-10.3.39-MariaDB-0+deb10u2", "is MariaDB 10.3, and"),
        ] {
            let refused = supported(&server, version).expect_err(version).to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
