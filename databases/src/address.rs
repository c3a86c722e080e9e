//! Where a server is and who may connect with it, as a URL.

use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::engine::Engine;

/// A server's address and an administrator of it: `postgres://user:password@host:port`, without a database.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    engine: Engine,
    url: Url,
}

/// Never its password: not even that of a test.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}:{}", self.user(), self.host(), self.port())
    }
}

impl Address {
    /// Reads a URL; the database that it names is left out. Parameters behind `?` are kept in the URLs of databases.
    pub fn parse(engine: Engine, text: &str) -> Result<Self> {
        let what = engine.variable();
        // The error of the parser repeats nothing of the text.
        let url = Url::parse(text).with_context(|| format!("${what} is no URL"))?;
        let schemes: &[&str] = match engine {
            Engine::Postgres => &["postgres", "postgresql"],
            Engine::Mysql => &["mysql", "mariadb"],
        };
        let scheme = url.scheme();
        ensure!(
            schemes.contains(&scheme),
            "${what} is a URL of {scheme}, expected {}://USER:PASSWORD@HOST:PORT",
            engine.scheme()
        );
        if url.host_str().is_none_or(str::is_empty) || url.username().is_empty() {
            bail!("${what} lacks a user or a host");
        }
        Ok(Self { engine, url })
    }

    pub(crate) fn local(engine: Engine, port: u16, user: &str, password: &str) -> Result<Self> {
        let scheme = engine.scheme();
        let text = format!("{scheme}://{user}:{password}@127.0.0.1:{port}/");
        Self::parse(engine, &text)
    }

    /// Which server it is.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The URL of a database there, with user and password.
    #[must_use]
    pub fn database(&self, name: &str) -> String {
        let mut url = self.url.clone();
        url.set_path(name);
        url.into()
    }

    /// The same URL without the password, and the password.
    pub(crate) fn without_password(&self, database: &str) -> (String, String) {
        let mut url = self.url.clone();
        url.set_path(database);
        // A URL with a host has a place for it, which is what this could fail by.
        let _ = url.set_password(None);
        (url.into(), self.password())
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.url.port().unwrap_or(self.engine.default_port())
    }

    /// The user.
    #[must_use]
    pub fn user(&self) -> String {
        decoded(self.url.username())
    }

    /// Its password.
    #[must_use]
    pub fn password(&self) -> String {
        decoded(self.url.password().unwrap_or_default())
    }

    /// The same server by another host and port: those of a proxy.
    #[must_use]
    pub fn by_way_of(&self, port: u16) -> Self {
        let mut url = self.url.clone();
        // Both are valid for a URL that has a host already.
        let _ = url.set_host(Some("127.0.0.1"));
        let _ = url.set_port(Some(port));
        Self { url, ..*self }
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gives_its_parts_and_those_of_its_databases() {
        let text = "postgres://adm%40in:p%2Fw@db.example:6000/ignored?sslmode=require";
        let address = Address::parse(Engine::Postgres, text).expect("an address");
        let parts = (address.user(), address.password(), address.port());
        assert_eq!(parts, ("adm@in".into(), "p/w".into(), 6000));
        assert_eq!(
            address.database("x"),
            "postgres://adm%40in:p%2Fw@db.example:6000/x?sslmode=require"
        );
        let (open, secret) = address.without_password("x");
        assert_eq!(
            (open.as_str(), secret.as_str()),
            (
                "postgres://adm%40in@db.example:6000/x?sslmode=require",
                "p/w"
            )
        );
        let behind = address.by_way_of(7000).database("x");
        assert!(behind.contains("@127.0.0.1:7000/x"), "{behind}");
        assert_eq!(format!("{address:?}"), "adm@in@db.example:6000");
    }

    #[test]
    fn what_is_no_server_of_the_kind_is_refused_by_the_name_of_its_variable() {
        for (engine, text) in [
            (Engine::Postgres, "mysql://root:secret@db"),
            (Engine::Mysql, "root:secret@db"),
            (Engine::Mysql, "mysql://db:3306/"),
        ] {
            let refused = format!("{:#}", Address::parse(engine, text).expect_err(text));
            assert!(refused.contains(engine.variable()), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
