//! A database on a server, and how it is reached. Plain values; what was said becomes one by [`super::draft`].

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::password::Password;

/// A database on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// What kind of server it is.
    pub engine: Engine,
    /// Where it is, at least one place. Of several the first is used that lets us write; they are tried in turn.
    pub hosts: Vec<Host>,
    /// Who we are there.
    pub user: String,
    /// How that is proved.
    pub password: Password,
    /// The database.
    pub database: String,
    /// How the connection is protected.
    pub tls: Tls,
    /// How long each thing may take.
    pub timeouts: Timeouts,
    /// Whether statements may be kept prepared from one transaction to the next. A pooler that gives each transaction another connection
    /// and does not know prepared statements takes none.
    pub prepared: bool,
    /// By what name the server's own lists of connections have ours, where it has such names.
    pub application: String,
}

/// The kinds of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL, and what speaks as it does.
    Postgres,
    /// MySQL and MariaDB, and what speaks as they do.
    Mysql,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// By name or address (without brackets) and port.
    Tcp(String, u16),
    /// A socket of this machine: of PostgreSQL the folder that it is in and the port that names it, of MySQL the file itself.
    Socket(PathBuf, u16),
}

/// How a connection is protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// What is asked of the server.
    pub mode: TlsMode,
    /// A file with certificates that are trusted beside the system's.
    pub root: Option<PathBuf>,
    /// Our own certificate.
    pub client: Option<ClientCertificate>,
}

/// What is asked of the server before anything is said to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// Nothing is encrypted.
    Disable,
    /// Encrypted, with whoever it is.
    Require,
    /// Encrypted, with whom the certificate says it is.
    VerifyFull,
}

/// The files of a certificate of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate and what leads to its root, in PEM.
    pub certificate: PathBuf,
    /// Its key, in PEM.
    pub key: PathBuf,
}

/// How long each thing may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To connect.
    pub connect: Duration,
    /// One statement.
    pub statement: Duration,
    /// To wait for a row that another transaction has.
    pub lock: Duration,
    /// To say nothing in the middle of a transaction. The server ends one that does for longer: whoever is stopped there holds rows that others want.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            // Longer than a lost packet takes to be sent again, twice; shorter than whoever searches waits.
            connect: Duration::from_secs(5),
            // No statement looks at more than some ten thousand rows; a cold disk takes seconds for these.
            statement: Duration::from_secs(30),
            // Another process's transaction takes a tenth of a second.
            lock: Duration::from_secs(5),
            // Ten times what we ever take between two statements.
            idle: Duration::from_secs(10),
        }
    }
}

impl Timeouts {
    /// To wait for a table that another transaction has, for who reads: the server says that it is over before we would take it for away.
    pub(crate) fn lock_of_reads(&self) -> Duration {
        self.lock.min(self.connect * 3 / 4)
    }
}

impl Engine {
    /// The name before `://`.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }

    /// The name that people know it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MySQL",
        }
    }

    /// The port where nothing is said.
    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::Postgres => 5432,
            Self::Mysql => 3306,
        }
    }
}

/// What may stand in a part of a URL as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

fn encoded(text: &str) -> impl fmt::Display + '_ {
    utf8_percent_encode(text, PLAIN)
}

/// The URL without a password and without parameters.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}@", self.engine.scheme(), encoded(&self.user))?;
        for (index, host) in self.hosts.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{host}")?;
        }
        write!(f, "/{}", encoded(&self.database))
    }
}

/// As it stands in a URL.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address, port) if address.contains(':') => write!(f, "[{address}]:{port}"),
            Self::Tcp(name, port) => write!(f, "{}:{port}", encoded(name)),
            Self::Socket(path, port) => {
                let path = path.to_string_lossy();
                write!(f, "{}:{port}", encoded(&path))
            }
        }
    }
}
