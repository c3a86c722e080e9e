//! What was said of a server, as a URL or a file says it, and what follows from it: a [`Server`] that makes sense, or what is wrong. Pure.

use std::net::IpAddr;
use std::path::PathBuf;

use super::parameters::{Parameter, duration, named, switch, tls_mode};
use super::password::{Password, Secret};
use super::server::{ClientCertificate, Engine, Host, Server, Timeouts, Tls, TlsMode};

/// What was said of a server.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What kind of server it is.
    pub engine: Engine,
    /// Where it is.
    pub hosts: Vec<Host>,
    /// Who we are there.
    pub user: String,
    /// How that is proved.
    pub password: Option<Secret>,
    /// The database.
    pub database: String,
    /// Everything else, by the names that it has behind the `?` of a URL.
    pub parameters: Vec<(String, String)>,
}

/// What the parameters say.
#[derive(Default)]
struct Told {
    mode: Option<TlsMode>,
    root: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    timeouts: Timeouts,
    prepared: Option<bool>,
    socket: Option<PathBuf>,
    application: Option<String>,
    password: Option<Secret>,
}

impl Draft {
    /// The server, or what is wrong with what was said: names of parameters, never their values.
    pub fn check(self) -> Result<Server, String> {
        let Self {
            engine,
            hosts,
            user,
            password,
            database,
            parameters,
        } = self;
        if user.is_empty() {
            return Err(format!("it names no user: {}", form(engine)));
        }
        let told = told(engine, parameters)?;
        if password.is_some() && told.password.is_some() {
            return Err("it has two passwords".to_owned());
        }
        let hosts = hosts_of(engine, hosts, told.socket)?;
        if database.is_empty() {
            return Err(format!("it names no database: {}", form(engine)));
        }
        let client = match (told.certificate, told.key) {
            (Some(certificate), Some(key)) => Some(ClientCertificate { certificate, key }),
            (None, None) => None,
            _ => return Err("a certificate of ours and its key are given together".to_owned()),
        };
        let tls = tls(told.mode, told.root, client, &hosts)?;
        Ok(Server {
            engine,
            hosts,
            user,
            password: password
                .or(told.password)
                .map_or(Password::None, Password::Given),
            database,
            tls,
            timeouts: told.timeouts,
            prepared: told.prepared.unwrap_or(true),
            application: told.application.unwrap_or_else(|| "armadex".to_owned()),
        })
    }
}

fn form(engine: Engine) -> String {
    format!("expected {}://USER@HOST/DATABASE", engine.scheme())
}

fn told(engine: Engine, parameters: Vec<(String, String)>) -> Result<Told, String> {
    let mut told = Told::default();
    let mut seen = Vec::new();
    for (name, value) in parameters {
        let parameter = named(engine, &name)?;
        if seen.contains(&parameter) {
            return Err(format!("it has the parameter {name} twice"));
        }
        seen.push(parameter);
        let path = || PathBuf::from(&value);
        let time = |value| duration((parameter, &name), value);
        match parameter {
            Parameter::TlsMode => told.mode = Some(tls_mode(&name, &value)?),
            Parameter::RootCertificate => told.root = Some(path()),
            Parameter::Certificate => told.certificate = Some(path()),
            Parameter::Key => told.key = Some(path()),
            Parameter::ConnectTimeout => told.timeouts.connect = time(&value)?,
            Parameter::StatementTimeout => told.timeouts.statement = time(&value)?,
            Parameter::LockTimeout => told.timeouts.lock = time(&value)?,
            Parameter::Prepared => told.prepared = Some(switch(&value)?),
            Parameter::Socket => told.socket = Some(path()),
            Parameter::Application => told.application = Some(value),
            Parameter::Password => told.password = Some(Secret::new(value)),
        }
    }
    Ok(told)
}

fn hosts_of(
    engine: Engine,
    hosts: Vec<Host>,
    socket: Option<PathBuf>,
) -> Result<Vec<Host>, String> {
    match socket {
        Some(_) if !hosts.is_empty() => Err("it names a host and a socket".to_owned()),
        Some(path) if path.is_absolute() => Ok(vec![Host::Socket(path, engine.port())]),
        Some(_) => Err("its socket is no absolute path".to_owned()),
        None if hosts.is_empty() => Err(format!("it names no host: {}", form(engine))),
        None => Ok(hosts),
    }
}

/// What is on this machine is not encrypted unless something is said of encryption; everything else is, and proves who it is.
fn tls(
    mode: Option<TlsMode>,
    root: Option<PathBuf>,
    client: Option<ClientCertificate>,
    hosts: &[Host],
) -> Result<Tls, String> {
    let is_here = hosts.iter().all(is_of_this_machine);
    let is_told = root.is_some() || client.is_some();
    let mode = match mode {
        None if is_here && !is_told => TlsMode::Disable,
        None => TlsMode::VerifyFull,
        // As PostgreSQL's own tools have it: who names a certificate wants it looked at.
        Some(TlsMode::Require) if root.is_some() => TlsMode::VerifyFull,
        Some(TlsMode::Disable) if is_told => {
            return Err("it has certificates and turns encryption off".to_owned());
        }
        Some(mode) => mode,
    };
    let is_socket = |host: &Host| matches!(host, Host::Socket(..));
    if mode != TlsMode::Disable && hosts.iter().any(is_socket) {
        return Err("a socket of this machine is not encrypted".to_owned());
    }
    Ok(Tls { mode, root, client })
}

fn is_of_this_machine(host: &Host) -> bool {
    match host {
        Host::Socket(..) => true,
        Host::Tcp(name, _) => match name.parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        },
    }
}
