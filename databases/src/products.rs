//! What is done differently for each kind of server.

use anyhow::Result;

use crate::address::Address;
use crate::engine::Engine;
use crate::setup::Site;
use crate::{mariadb, postgres};

/// Commands that make a new server's files: the first that succeeds is enough.
pub(crate) fn prepare(engine: Engine, place: &Site<'_>) -> Vec<Vec<String>> {
    match engine {
        Engine::Postgres => postgres::prepare(place),
        Engine::Mysql => mariadb::prepare(place),
    }
}

/// The command that is the server.
pub(crate) fn run(engine: Engine, place: &Site<'_>) -> Vec<String> {
    match engine {
        Engine::Postgres => postgres::run(place),
        Engine::Mysql => mariadb::run(place),
    }
}

/// Makes an empty database.
pub(crate) fn create(admin: &Address, name: &str) -> Result<()> {
    match admin.engine() {
        Engine::Postgres => postgres::create(admin, name),
        Engine::Mysql => mariadb::create(admin, name),
    }
}

/// Drops a database whoever still uses it.
pub(crate) fn drop(admin: &Address, name: &str) -> Result<()> {
    match admin.engine() {
        Engine::Postgres => postgres::drop(admin, name),
        Engine::Mysql => mariadb::drop(admin, name),
    }
}
