//! Clusterpedia's storage configuration: where its store is, from the text of its file and the variables that count before it. Each field is
//! taken over, or is refused with a reason: nothing in the file is without effect unless it says what is so anyway. Pure.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow, bail, ensure};
use armadex_crds::read_yaml;
use armadex_storage_sql::{Draft, Engine, Host, Location, Secret};
use serde_json::Value;

use super::dsn;
use super::fields::{FIELDS, Meaning, is_taken, meaning, milliseconds};
use super::told::Told;

/// The variables that count before the file, by the fields that they are for.
const VARIABLES: [(&str, &str); 8] = [
    ("DB_TYPE", "type"),
    ("DB_DSN", "dsn"),
    ("DB_NETWORK", "network"),
    ("DB_HOST", "host"),
    ("DB_PORT", "port"),
    ("DB_USER", "user"),
    ("DB_PASSWORD", "password"),
    ("DB_DATABASE", "database"),
];

/// Where the store is that a file and variables name. An error names the field and no value.
pub(super) fn read(text: &str, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Told> {
    let document: Option<Value> = read_yaml(text).map_err(|error| anyhow!("it {error}"))?;
    let mut fields = Fields::default();
    if let Some(document) = &document {
        ensure!(document.is_object(), "it has no fields");
        fields.take(document, "")?;
    }
    for (name, field) in VARIABLES {
        if let Some(value) = variable(name) {
            fields.set(field, value).context(name)?;
        }
    }
    let connections = match fields.remove("connPool.maxOpenConns") {
        Some(text) => Some(text.parse().context("connPool.maxOpenConns is no number")?),
        None => None,
    };
    Ok(Told {
        location: fields.location()?,
        // 0 is Clusterpedia's default, whatever that is.
        connections: connections.filter(|connections| *connections > 0),
    })
}

/// What was said, by the paths of the fields.
#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Fields {
    /// Takes what stands below a path.
    fn take(&mut self, value: &Value, path: &str) -> anyhow::Result<()> {
        match value {
            Value::Null => Ok(()),
            Value::Object(fields) if !is_leaf(path) => {
                let mut fields = fields.iter();
                fields.try_for_each(|(name, value)| match path {
                    "" => self.take(value, name),
                    path => self.take(value, &format!("{path}.{name}")),
                })
            }
            Value::String(text) => self.set(path, text.clone()),
            Value::Bool(_) | Value::Number(_) => {
                // A password 1e3 or 007 would be another text afterwards.
                ensure!(
                    !matches!(meaning(path)?, Meaning::Text),
                    "{path}: put what is no text into quotes"
                );
                self.set(path, value.to_string())
            }
            Value::Array(_) | Value::Object(_) => match meaning(path)? {
                Meaning::Always(..) | Meaning::Refused(_) => self.set(path, "[]".to_owned()),
                Meaning::Text | Meaning::Number | Meaning::Time => {
                    bail!("{path} is no plain value")
                }
            },
        }
    }

    fn set(&mut self, path: &str, value: String) -> anyhow::Result<()> {
        if is_taken(path, &value)? {
            self.0.insert(path.to_owned(), value);
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Option<String> {
        self.0.remove(path)
    }

    fn location(mut self) -> anyhow::Result<Location> {
        match self.remove("type").as_deref() {
            Some("sqlite" | "sqlite3") => self.file(),
            Some("postgres") => self.server(Engine::Postgres),
            Some("mysql") => self.server(Engine::Mysql),
            Some(_) => bail!("type is none of sqlite, postgres and mysql"),
            None => bail!("type is missing: sqlite, postgres or mysql"),
        }
    }

    fn file(mut self) -> anyhow::Result<Location> {
        let dsn = self.remove("dsn").context("dsn is missing: the file")?;
        self.nothing_left("has no place beside a file")?;
        dsn::sqlite(&dsn).context("dsn")
    }

    fn server(mut self, engine: Engine) -> anyhow::Result<Location> {
        if let Some(dsn) = self.remove("dsn") {
            let password = self.remove("password").map(Secret::new);
            self.nothing_left("is said by dsn")?;
            return dsn::server(engine, &dsn, password).context("dsn");
        }
        let port = match self.remove("port") {
            Some(port) => port.parse().ok().filter(|port| *port > 0),
            None => Some(engine.port()),
        };
        let port = port.context("port is no number of 1 to 65535")?;
        let host = self.needed("host")?;
        let mut draft = Draft {
            engine,
            hosts: vec![match host.starts_with('/') {
                true => Host::Socket(host.into(), port),
                false => Host::Tcp(host, port),
            }],
            user: self.needed("user")?,
            password: self.remove("password").map(Secret::new),
            database: self.needed("database")?,
            parameters: Vec::new(),
        };
        draft.parameters = self.parameters(engine)?;
        let server = draft.check().map_err(anyhow::Error::msg)?;
        Ok(Location::Server(Box::new(server)))
    }

    fn parameters(mut self, engine: Engine) -> anyhow::Result<Vec<(String, String)>> {
        let mut parameters = Vec::new();
        let has_root = self.0.contains_key("sslRootCertFile");
        for (field, name) in [
            ("sslMode", "sslmode"),
            ("sslRootCertFile", "sslrootcert"),
            ("sslCertFile", "sslcert"),
            ("sslKeyFile", "sslkey"),
            ("mysql.dialTimeout", "connect_timeout"),
            ("mysql.readTimeout", "statement_timeout"),
        ] {
            let Some(value) = self.remove(field) else {
                continue;
            };
            ensure!(
                engine == Engine::Mysql || !field.starts_with("mysql."),
                "{field} is not of this type"
            );
            let value = match meaning(field)? {
                Meaning::Time => {
                    milliseconds(&value).with_context(|| format!("{field} is no time"))?
                }
                _ if field == "sslMode" => tls_mode(engine, &value, has_root)?.to_owned(),
                _ => value,
            };
            parameters.push((name.to_owned(), value));
        }
        for (path, value) in std::mem::take(&mut self.0) {
            match path.strip_prefix("params.") {
                Some(name) => parameters.push((name.to_owned(), value)),
                None => bail!("{path} is not of this type"),
            }
        }
        Ok(parameters)
    }

    fn needed(&mut self, field: &'static str) -> anyhow::Result<String> {
        self.remove(field)
            .with_context(|| format!("{field} is missing"))
    }

    fn nothing_left(&self, reason: &str) -> anyhow::Result<()> {
        match self.0.keys().next() {
            Some(field) => bail!("{field} {reason}"),
            None => Ok(()),
        }
    }
}

/// Whether what stands below a path is not looked at.
fn is_leaf(path: &str) -> bool {
    let known = FIELDS.iter().any(|(field, _)| *field == path);
    known || path.starts_with("params.")
}

/// What Clusterpedia makes of its modes, but for those that are less than they seem.
fn tls_mode(engine: Engine, mode: &str, has_root: bool) -> anyhow::Result<&str> {
    Ok(match (engine, mode) {
        (_, "false") => "disable",
        (_, "skip-verify") | (Engine::Mysql, "allow" | "prefer") => "require",
        (Engine::Mysql, "require") if !has_root => bail!(
            "sslMode: require verifies with sslRootCertFile only, which is missing: say verify-full, or skip-verify"
        ),
        (_, mode) => mode,
    })
}

#[cfg(test)]
mod tests;
