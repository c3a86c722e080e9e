//! Statements for a server by its own client: for an administrator, a few at a time.

use std::io::{ErrorKind, Write as _};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use crate::address::Address;
use crate::engine::Engine;
use crate::programs::path_of;

/// A database is made within a second, and within ten on a machine that is busy with builds.
const SECONDS: &str = "60";

const REPEATED: &str = "--------------\n";

/// Runs statements as an administrator and gives what they say: a row a line, with `|` or tabs between columns. An error repeats of them what the server
/// repeats, but for the administrator's password.
pub fn administer(admin: &Address, statements: &str) -> Result<String> {
    let done = run(client(admin)?, statements)?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        // MariaDB's client repeats the statement between two lines first.
        let said = said.rsplit(REPEATED).next().unwrap_or_default();
        let said = match admin.password() {
            none if none.is_empty() => said.to_owned(),
            password => said.replace(&password, "..."),
        };
        let verb = statements.split_whitespace().next().unwrap_or_default();
        bail!(
            "{admin:?} refused {verb} ... ({}): {}",
            done.status,
            said.trim()
        );
    }
    String::from_utf8(done.stdout).context("the client's answer")
}

/// Statements may hold a password, and arguments can be read by everybody: they come by the standard input.
fn run(mut command: Command, statements: &str) -> Result<Output> {
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut client = piped
        .spawn()
        .context("timeout, of coreutils, did not run")?;
    let mut input = client.stdin.take().context("a pipe was asked for")?;
    std::thread::scope(|scope| {
        // Beside the answers, of which a client may write as many as a pipe takes before it reads on.
        let given = scope.spawn(move || input.write_all(statements.as_bytes()));
        let done = client.wait_with_output();
        match given.join().expect("writing does not panic") {
            // It has ended before, and says why.
            Err(err) if err.kind() != ErrorKind::BrokenPipe => Err(err),
            _ => done,
        }
    })
    .context("the client did not take its statements")
}

fn client(admin: &Address) -> Result<Command> {
    let mut command = Command::new("timeout");
    command.arg(SECONDS);
    match admin.engine() {
        Engine::Postgres => psql(&mut command, admin)?,
        Engine::Mysql => mariadb(&mut command, admin)?,
    }
    Ok(command)
}

/// The password is in the environment.
fn psql(command: &mut Command, admin: &Address) -> Result<()> {
    let (url, password) = admin.without_password(admin.engine().first_database());
    command
        .arg(path_of("psql")?)
        .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"])
        .args(["--no-password", "--set=ON_ERROR_STOP=1"])
        .arg(url)
        .env("PGPASSWORD", password)
        .env("PGCONNECT_TIMEOUT", "10");
    Ok(())
}

fn mariadb(command: &mut Command, admin: &Address) -> Result<()> {
    command
        .arg(path_of("mariadb")?)
        .args(["--no-defaults", "--protocol=tcp", "--connect-timeout=10"])
        .args(["--batch", "--skip-column-names"])
        .arg(format!("--host={}", admin.host()))
        .arg(format!("--port={}", admin.port()))
        .arg(format!("--user={}", admin.user()))
        .env("MYSQL_PWD", admin.password());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::prepare;
    use crate::setup::{Origin, Setup, Site};

    fn address(engine: Engine) -> Address {
        Address::local(engine, 1, "admin", "hunter2").expect("an address")
    }

    /// Whoever is on the machine can read the arguments of every process.
    #[test]
    fn no_argument_of_a_client_has_a_password() {
        for engine in [Engine::Postgres, Engine::Mysql] {
            let Ok(client) = client(&address(engine)) else {
                // Not installed.
                continue;
            };
            let arguments = Vec::from_iter(client.get_args());
            let arguments = format!("{arguments:?}");
            assert!(!arguments.contains("hunter2"), "{arguments}");
        }
        let place = Site {
            folder: "/tmp/x".as_ref(),
            port: 1,
            password: "hunter2",
            setup: &Setup::default(),
            origin: Origin::CopyOf(&address(Engine::Postgres)),
        };
        let copy = prepare(&place).concat().join(" ");
        assert!(
            copy.contains("pg_basebackup") && !copy.contains("hunter2"),
            "{copy}"
        );
    }

    #[test]
    fn what_is_refused_is_told_without_what_it_was() {
        let Some(server) =
            crate::Server::for_test(Engine::Mysql, &Setup::default()).expect("no trouble")
        else {
            return;
        };
        let twice = "CREATE USER armadex IDENTIFIED BY 'hunter2'";
        let refused = administer(server.address(), twice).expect_err("it is there");
        let refused = format!("{refused:#}");
        assert!(!refused.contains("hunter2"), "{refused}");
        assert!(refused.contains("refused CREATE ..."), "{refused}");
    }
}
