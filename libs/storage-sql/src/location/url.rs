//! `postgres://user@host:port,host:port/database?parameter=value`, in parts. Pure.

use percent_encoding::percent_decode_str;

use super::draft::Draft;
use super::password::Secret;
use super::server::{Engine, Host};

/// What a URL says, from behind its `://`. What is wrong is told without anything of the text.
pub(super) fn draft(engine: Engine, text: &str) -> Result<Draft, String> {
    let (place, query) = text.split_once('?').unwrap_or((text, ""));
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    if database.contains('@') || query.contains('@') {
        return Err(
            "it has an @ behind its first / or ?: write / as %2F and ? as %3F in a password, and @ as %40 elsewhere"
                .to_owned(),
        );
    }
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match user.split_once(':') {
        Some((user, password)) => (user, Some(Secret::new(decoded(password)?))),
        None => (user, None),
    };
    Ok(Draft {
        engine,
        hosts: hosts_of(engine, hosts)?,
        user: decoded(user)?,
        password,
        database: decoded(database)?,
        parameters: parameters(query)?,
    })
}

fn hosts_of(engine: Engine, text: &str) -> Result<Vec<Host>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(',').map(|host| host_of(engine, host)).collect()
}

fn host_of(engine: Engine, text: &str) -> Result<Host, String> {
    let (host, port) = match text.strip_prefix('[') {
        Some(text) => {
            let (address, port) = text
                .split_once(']')
                .ok_or("its address has no closing bracket")?;
            let address: std::net::Ipv6Addr = address
                .parse()
                .map_err(|_| "what stands in brackets is no address of IPv6")?;
            let port = match port {
                "" => None,
                port => Some(port.strip_prefix(':').ok_or("a port follows a colon")?),
            };
            (address.to_string(), port)
        }
        None => match text.split_once(':') {
            Some((host, port)) => (decoded(host)?, Some(port)),
            None => (decoded(text)?, None),
        },
    };
    let port = match port {
        None | Some("") => engine.port(),
        Some(port) => port_of(port)?,
    };
    if host.is_empty() {
        return Err("one of its hosts has no name".to_owned());
    }
    Ok(match host.starts_with('/') {
        true => Host::Socket(host.into(), port),
        false => Host::Tcp(host, port),
    })
}

fn port_of(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| {
        "its port is no number of 1 to 65535: USER:PASSWORD stands before an @ and HOST:PORT behind it, an address of IPv6 in brackets".to_owned()
    })
}

fn parameters(query: &str) -> Result<Vec<(String, String)>, String> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        })
        .collect()
}

fn decoded(text: &str) -> Result<String, String> {
    let bytes = percent_decode_str(text).decode_utf8();
    let text = bytes.map_err(|_| "a percent-encoded part of it is no UTF-8")?;
    if text.contains('\0') {
        return Err("it has a zero byte".to_owned());
    }
    Ok(text.into_owned())
}
