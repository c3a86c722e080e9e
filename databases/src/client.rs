//! Statements for a server by its own client: for an administrator, a few at a time.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::address::Address;
use crate::engine::Engine;
use crate::programs::path_of;

/// A database is made within a second, and within ten on a machine that is busy with builds.
const SECONDS: &str = "60";

/// Runs statements as an administrator and gives what they say: a row a line, with `|` or tabs between columns.
pub fn administer(admin: &Address, statements: &str) -> Result<String> {
    let mut command = Command::new("timeout");
    command.arg(SECONDS);
    match admin.engine() {
        Engine::Postgres => psql(&mut command, admin, statements)?,
        Engine::Mysql => mariadb(&mut command, admin, statements)?,
    }
    let done = command.stdin(Stdio::null()).output();
    let done = done.context("timeout, of coreutils, did not run")?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        bail!(
            "{admin:?} refused {statements:?} ({}): {}",
            done.status,
            said.trim()
        );
    }
    String::from_utf8(done.stdout).context("the client's answer")
}

/// The password is in the environment: arguments can be read by everybody.
fn psql(command: &mut Command, admin: &Address, statements: &str) -> Result<()> {
    let (url, password) = admin.without_password(admin.engine().first_database());
    command
        .arg(path_of("psql")?)
        .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"])
        .args(["--no-password", "--set=ON_ERROR_STOP=1"])
        .arg(format!("--command={statements}"))
        .arg(url)
        .env("PGPASSWORD", password)
        .env("PGCONNECT_TIMEOUT", "10");
    Ok(())
}

fn mariadb(command: &mut Command, admin: &Address, statements: &str) -> Result<()> {
    command
        .arg(path_of("mariadb")?)
        .args(["--no-defaults", "--protocol=tcp", "--connect-timeout=10"])
        .args(["--batch", "--skip-column-names"])
        .arg(format!("--host={}", admin.host()))
        .arg(format!("--port={}", admin.port()))
        .arg(format!("--user={}", admin.user()))
        .arg(format!("--execute={statements}"))
        .env("MYSQL_PWD", admin.password());
    Ok(())
}
