//! An empty database for one test, on a server that all tests of a process share.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, anyhow};
use rand::Rng;

use crate::address::Address;
use crate::client::administer;
use crate::engine::Engine;
use crate::not_run::{do_without, none_here};
use crate::products;
use crate::server::Server;
use crate::setup::Setup;

/// Where databases for tests come from.
enum Source {
    /// A server of this process; it is never dropped, and ends with it.
    Own(Server),
    /// One that is there.
    Given(Address),
    /// None, and why.
    None(String),
}

/// What was made on the server beside a database, undone with this value.
#[derive(Debug)]
pub struct Beside {
    admin: Address,
    undo: String,
}

/// An empty database, dropped with this value.
#[derive(Debug)]
pub struct Database {
    admin: Address,
    name: String,
}

impl Database {
    /// An empty database for the test whose thread this is; `None` where there can't be one, which is said and kept. Blocks, and for some
    /// seconds where the server has to be started.
    pub fn for_test(engine: Engine) -> Result<Option<Self>> {
        let admin = match source(engine)? {
            Source::Own(server) => server.address(),
            Source::Given(address) => address,
            Source::None(why) => {
                do_without(why)?;
                return Ok(None);
            }
        };
        Self::create(admin).map(Some)
    }

    /// An empty database on a server.
    pub fn create(admin: &Address) -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        // Many processes may use one server that is given.
        let lot: u32 = rand::rng().random();
        let name = format!("armadex_test_{lot:08x}_{number}");
        products::create(admin, &name)?;
        let admin = admin.clone();
        Ok(Self { admin, name })
    }

    /// Its URL, with user and password.
    #[must_use]
    pub fn url(&self) -> String {
        self.admin.database(&self.name)
    }

    /// Its URL for a store that has a minute to connect: tests run beside builds.
    #[must_use]
    pub fn patient_url(&self) -> String {
        let url = self.url();
        let parameter = match url.starts_with("mysql:") {
            true => "connect-timeout",
            false => "connect_timeout",
        };
        let separator = if url.contains('?') { '&' } else { '?' };
        format!("{url}{separator}{parameter}=60s")
    }

    /// Makes something on its server that does not go with it, as a user or another database: it goes by this statement with what is given.
    pub fn make_beside(&self, make: &str, undo: String) -> Result<Beside> {
        administer(&self.admin, make)?;
        let admin = self.admin.clone();
        Ok(Beside { admin, undo })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its server.
    #[must_use]
    pub fn server(&self) -> &Address {
        &self.admin
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // As with a database.
        let _ = administer(&self.admin, &self.undo);
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A server of this process takes it along in the end; one that is given may be gone, which is no failure of the test.
        let _ = products::drop(&self.admin, &self.name);
    }
}

fn source(engine: Engine) -> Result<&'static Source> {
    static POSTGRES: OnceLock<Result<Source, String>> = OnceLock::new();
    static MYSQL: OnceLock<Result<Source, String>> = OnceLock::new();
    let source = match engine {
        Engine::Postgres => &POSTGRES,
        Engine::Mysql => &MYSQL,
    };
    let found = source.get_or_init(|| find(engine).map_err(|err| format!("{err:#}")));
    found.as_ref().map_err(|err| anyhow!("{err}"))
}

fn find(engine: Engine) -> Result<Source> {
    let variable = engine.variable();
    if let Some(given) = std::env::var(variable).ok().filter(|url| !url.is_empty()) {
        return Ok(Source::Given(Address::parse(engine, &given)?));
    }
    let Some(why) = none_here(engine) else {
        return Server::start(engine, &Setup::default()).map(Source::Own);
    };
    Ok(Source::None(format!(
        "{why}, and ${variable} names no server"
    )))
}
