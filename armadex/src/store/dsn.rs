//! The `dsn` of Clusterpedia's storage configuration: what its drivers take as one text. Pure, and nothing of the text is ever repeated.

use anyhow::{Context as _, anyhow, bail, ensure};
use armadex_storage_sql::{Draft, Engine, Host, Location, Password, Secret};

use super::fields::mysql_parameter;

/// A file: `PATH` or `file:PATH`.
pub(super) fn sqlite(text: &str) -> anyhow::Result<Location> {
    let path = text.strip_prefix("file:").unwrap_or(text);
    ensure!(
        !path.contains('?') && !path.starts_with(':'),
        "a path without parameters is expected"
    );
    Ok(format!("sqlite:{path}").parse()?)
}

/// A server; `password` counts where the text has none.
pub(super) fn server(
    engine: Engine,
    text: &str,
    password: Option<Secret>,
) -> anyhow::Result<Location> {
    let location = match engine {
        Engine::Postgres if text.contains("://") => text.parse()?,
        Engine::Postgres => checked(keywords(text)?)?,
        Engine::Mysql => checked(go_mysql(text)?)?,
    };
    let is_right = matches!(&location, Location::Server(server) if server.engine == engine);
    ensure!(is_right, "it is not of this type");
    Ok(match password {
        Some(password) if !location.has_password() => {
            location.with_password(Password::Given(password))
        }
        _ => location,
    })
}

fn checked(draft: Draft) -> anyhow::Result<Location> {
    let server = draft.check().map_err(anyhow::Error::msg)?;
    Ok(Location::Server(Box::new(server)))
}

fn host(name: &str, port: u16) -> Host {
    match name.starts_with('/') {
        true => Host::Socket(name.into(), port),
        false => Host::Tcp(name.trim_matches(['[', ']']).to_owned(), port),
    }
}

fn port_of(text: &str) -> anyhow::Result<u16> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.context("its port is no number of 1 to 65535")
}

/// `host=db port=5432 user=me password='a b' dbname=fleet`.
fn keywords(text: &str) -> anyhow::Result<Draft> {
    let mut draft = Draft {
        engine: Engine::Postgres,
        hosts: Vec::new(),
        user: String::new(),
        password: None,
        database: String::new(),
        parameters: Vec::new(),
    };
    let (mut hosts, mut ports) = (String::new(), String::new());
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, tail) = rest.split_once('=').context("a name without a value")?;
        let (value, tail) = keyword_value(tail.trim_start())?;
        rest = tail.trim_start();
        match name.trim_end() {
            "host" => hosts = value,
            "port" => ports = value,
            "user" => draft.user = value,
            "password" => draft.password = Some(Secret::new(value)),
            "dbname" => draft.database = value,
            name => draft.parameters.push((name.to_owned(), value)),
        }
    }
    let ports: Vec<_> = ports.split(',').filter(|port| !port.is_empty()).collect();
    for (index, name) in hosts.split(',').enumerate() {
        // One port is for all hosts.
        let port = match ports.get(index).or(ports.first()) {
            Some(port) => port_of(port)?,
            None => draft.engine.port(),
        };
        draft.hosts.push(host(name, port));
    }
    Ok(draft)
}

/// A value and what follows it; in quotes it may have blanks, and a backslash takes what follows as it is.
fn keyword_value(text: &str) -> anyhow::Result<(String, &str)> {
    let (is_quoted, mut chars) = match text.strip_prefix('\'') {
        Some(text) => (true, text.chars()),
        None => (false, text.chars()),
    };
    let mut value = String::new();
    while let Some(next) = chars.next() {
        match next {
            '\'' if is_quoted => return Ok((value, chars.as_str())),
            '\\' => value.extend(chars.next()),
            blank if !is_quoted && blank.is_whitespace() => break,
            other => value.push(other),
        }
    }
    ensure!(!is_quoted, "a quote is not closed");
    Ok((value, chars.as_str()))
}

/// `user:password@tcp(db:3306)/fleet?timeout=5s`.
fn go_mysql(text: &str) -> anyhow::Result<Draft> {
    let (place, rest) = text.rsplit_once('/').context("it names no database")?;
    let (database, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (user, address) = place.rsplit_once('@').unwrap_or(("", place));
    let (user, password) = match user.split_once(':') {
        Some((user, password)) => (user, Some(Secret::new(password))),
        None => (user, None),
    };
    let mut parameters = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric());
        ensure!(is_name, "a parameter of it has no name");
        if let Some((name, value)) = mysql_parameter(name, value)? {
            parameters.push((name.to_owned(), value));
        }
    }
    Ok(Draft {
        engine: Engine::Mysql,
        hosts: vec![go_address(address)?],
        user: user.to_owned(),
        password,
        database: database.to_owned(),
        parameters,
    })
}

fn go_address(text: &str) -> anyhow::Result<Host> {
    let (protocol, address) = match text.split_once('(') {
        Some((protocol, address)) => {
            let address = address.strip_suffix(')');
            (protocol, address.context("a parenthesis is not closed")?)
        }
        None => (text, ""),
    };
    let own_port = Engine::Mysql.port();
    match (protocol, address) {
        ("" | "tcp", "") => Ok(host("127.0.0.1", own_port)),
        ("unix", path) if path.starts_with('/') => Ok(host(path, own_port)),
        ("unix", _) => bail!("its socket is no absolute path"),
        ("tcp", address) => match address.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => Ok(host(name, port_of(port)?)),
            _ => Ok(host(address, own_port)),
        },
        _ => Err(anyhow!("its protocol is neither tcp nor unix")),
    }
}
