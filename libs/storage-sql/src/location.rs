//! Where a store is: `sqlite:PATH`, or a database on a server by its URL. Values and the reading of texts; nothing here knows a driver.

mod draft;
mod invalid;
mod parameters;
mod password;
mod server;
mod url;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

pub use draft::Draft;
pub use invalid::InvalidLocation;
pub use password::{Password, Secret, UnreadablePassword};
pub use server::{ClientCertificate, Engine, Host, Server, Timeouts, Tls, TlsMode};

/// A store's place, as `--store` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A file of this machine.
    Sqlite(PathBuf),
    /// A database on a server.
    Server(Box<Server>),
}

const EXPECTED: &str =
    "expected sqlite:PATH, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE";

impl Location {
    /// Gives a server another password than its URL has, if any; a file has none.
    #[must_use]
    pub fn with_password(mut self, password: Password) -> Self {
        if let Self::Server(server) = &mut self {
            server.password = password;
        }
        self
    }

    /// Whether the text that this was made from had a password in it.
    #[must_use]
    pub fn has_password(&self) -> bool {
        matches!(self, Self::Server(server) if matches!(server.password, Password::Given(_)))
    }
}

impl FromStr for Location {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let server = |engine, rest| {
            let server = url::draft(engine, rest).and_then(Draft::check);
            let server = server.map_err(|reason| InvalidLocation::new(text, reason))?;
            Ok(Self::Server(Box::new(server)))
        };
        match text.split_once(':') {
            // Other programs take what follows for parameters, and a file of that name is nobody's wish.
            Some(("sqlite", path)) if path.contains('?') => {
                let reason = "a file has no parameters, and none with a ? in its name is taken: end the path before it";
                Err(InvalidLocation::new(text, reason))
            }
            Some(("sqlite", path)) if !path.is_empty() && !path.starts_with(':') => {
                let path = path.strip_prefix("//").unwrap_or(path);
                Ok(Self::Sqlite(path.into()))
            }
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                server(Engine::Postgres, &rest[2..])
            }
            Some(("mysql" | "mariadb", rest)) if rest.starts_with("//") => {
                server(Engine::Mysql, &rest[2..])
            }
            _ => Err(InvalidLocation::new(text, EXPECTED)),
        }
    }
}

/// Without a password, for logs and errors.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Server(server) => server.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
