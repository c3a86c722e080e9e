//! A server of one's own: started on a free port, stopped and started again as a test wants it, gone with this process.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::Rng;
use rand::distr::Alphanumeric;

use crate::address::Address;
use crate::client::administer;
use crate::engine::Engine;
use crate::keeper::Keeper;
use crate::mariadb;
use crate::not_run::{do_without, none_here};
use crate::ports::free_port;
use crate::products;
use crate::programs::{User, as_root, own_user, path_of, user_instead_of_root};
use crate::setup::{ADMINISTRATOR, Disk, Origin, Setup, Site, words};

/// It takes a second or two, and much longer where two cores build five things.
const READY: Duration = Duration::from_secs(90);
/// Between two looks whether it is ready.
const POLL: Duration = Duration::from_millis(50);
/// Somebody else may take a port between its choice and the server's start.
const PORTS_TRIED: usize = 3;

/// A running server.
#[derive(Debug)]
pub struct Server {
    keeper: Keeper,
    address: Address,
}

impl Server {
    /// A new one for the test whose thread this is, whichever server is named for others: one that it may stop and change. `None` where there can't be one, which
    /// is said and kept.
    pub fn for_test(engine: Engine, setup: &Setup) -> Result<Option<Self>> {
        let no_disk = || setup.disk.and_then(|_| no_disk_here());
        match none_here(engine).or_else(no_disk) {
            Some(why) => do_without(&why).map(|()| None),
            None => Self::start(engine, setup).map(Some),
        }
    }

    /// Starts a new one, and waits until it answers.
    pub fn start(engine: Engine, setup: &Setup) -> Result<Self> {
        let password = rand::rng().sample_iter(Alphanumeric).take(24);
        let password: String = password.map(char::from).collect();
        Self::start_from(Origin::New, engine, setup, &password)
    }

    /// Starts one that has what this one has and follows it, with an administrator of the same password. A PostgreSQL takes no writes until it is promoted; a
    /// MariaDB that is followed has a log (`log-bin`), and each a number of its own (`server-id`).
    pub fn replica(&self, setup: &Setup) -> Result<Self> {
        let (engine, password) = (self.address.engine(), self.address.password());
        match engine {
            Engine::Postgres => {
                Self::start_from(Origin::CopyOf(&self.address), engine, setup, &password)
            }
            Engine::Mysql => {
                let replica = Self::start_from(Origin::New, engine, setup, &password)?;
                administer(&replica.address, &mariadb::follow(&self.address))?;
                Ok(replica)
            }
        }
    }

    /// Lets a replica follow nobody any more, and waits until it takes writes.
    pub fn promote(&self) -> Result<()> {
        let promoted = administer(&self.address, "SELECT pg_promote()")?;
        ensure!(promoted.trim() == "t", "the replica was not promoted");
        Ok(())
    }

    /// Starts a server that comes by what it has from there, with an administrator of this password.
    pub(crate) fn start_from(
        origin: Origin<'_>,
        engine: Engine,
        setup: &Setup,
        password: &str,
    ) -> Result<Self> {
        let mut last = None;
        for _ in 0..PORTS_TRIED {
            match Self::start_on(free_port()?, origin, engine, setup, password) {
                Ok(server) => return Ok(server),
                Err(err) if is_taken(&err) => last = Some(err),
                Err(err) => return Err(err),
            }
        }
        Err(last.context("no port was tried")?)
    }

    fn start_on(
        port: u16,
        origin: Origin<'_>,
        engine: Engine,
        setup: &Setup,
        password: &str,
    ) -> Result<Self> {
        let mut user = user_instead_of_root(engine)?;
        let mut keeper = match setup.disk {
            None => Keeper::start(engine, user.as_ref())?,
            Some(_) => {
                let who = user.map_or_else(own_user, Ok)?;
                let keeper = Keeper::start_as_root(engine, &who)?;
                user = Some(who);
                keeper
            }
        };
        let folder = keeper.folder().to_owned();
        let place = Site {
            folder: &folder,
            port,
            password,
            setup,
            origin,
        };
        write_files(engine, &place, &keeper, user.as_ref())?;
        keeper
            .order("prepare")
            .with_context(|| format!("no files for {}", engine.product()))?;
        let address = Address::local(engine, port, ADMINISTRATOR, password)?;
        let mut server = Self { keeper, address };
        server.start_again()?;
        Ok(server)
    }

    /// Where it is, and its administrator.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it keeps and its log are in there.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.keeper.folder()
    }

    /// Makes an empty database and gives its URL.
    pub fn create(&self, name: &str) -> Result<String> {
        products::create(&self.address, name)?;
        Ok(self.address.database(name))
    }

    /// Stops it in order; clients are disconnected.
    pub fn stop(&mut self) -> Result<()> {
        self.keeper.order("stop")
    }

    /// Ends it without a chance to write anything down.
    pub fn crash(&mut self) -> Result<()> {
        self.keeper.order("crash")
    }

    /// Starts it with what it has, on the same port, and waits until it answers.
    pub fn start_again(&mut self) -> Result<()> {
        begin(&mut self.keeper, &self.address)
    }

    /// Stops its processes where they are: connections stay, and nothing answers.
    pub fn pause(&mut self) -> Result<()> {
        self.keeper.order("pause")
    }

    /// Lets them go on.
    pub fn resume(&mut self) -> Result<()> {
        self.keeper.order("resume")
    }
}

/// Starts what is kept, and waits until it answers.
pub(crate) fn begin(keeper: &mut Keeper, address: &Address) -> Result<()> {
    keeper.order("start")?;
    let deadline = Instant::now() + READY;
    loop {
        let Err(err) = administer(address, "SELECT 1") else {
            return Ok(());
        };
        keeper.order("runs")?;
        ensure!(
            Instant::now() < deadline,
            "{address:?} did not answer within {} s ({err:#}); its log:\n{}",
            READY.as_secs(),
            keeper.last_words()
        );
        std::thread::sleep(POLL);
    }
}

/// By the words that both kinds of server write into their log.
fn is_taken(err: &anyhow::Error) -> bool {
    format!("{err:#}").contains("Address already in use")
}

/// The files of the setup, and the two scripts that the keeper runs.
fn write_files(
    engine: Engine,
    place: &Site<'_>,
    keeper: &Keeper,
    user: Option<&User>,
) -> Result<()> {
    for (name, content) in &place.setup.files {
        keeper.write(name, content)?;
    }
    keeper.write("password", place.password.as_bytes())?;
    let first = mariadb::first_statements(ADMINISTRATOR, place.password);
    keeper.write(mariadb::FIRST_STATEMENTS, first.as_bytes())?;
    let mut prepare = String::from("set -e\n");
    if let Origin::CopyOf(_) = place.origin {
        // That of the other one's administrator as well.
        prepare.push_str("PGPASSWORD=$(cat password)\nexport PGPASSWORD\n");
    }
    let ways = products::prepare(engine, place).into_iter();
    let ways: Result<Vec<String>> = ways.map(|command| line(command, user)).collect();
    writeln!(prepare, "{}", ways?.join(" || "))?;
    keeper.write("prepare.sh", prepare.as_bytes())?;
    let mut run = String::new();
    if let Some(disk) = place.setup.disk {
        run.push_str(&on_disk(place, disk, user));
    }
    writeln!(run, "exec {}", line(products::run(engine, place), user)?)?;
    keeper.write("run.sh", run.as_bytes())
}

/// The beginning of a script that runs itself once more with a disk that nobody else sees, and that ends with it.
fn on_disk(place: &Site<'_>, Disk { folder, mib }: Disk, user: Option<&User>) -> String {
    let folder = quoted(&place.path(folder));
    let owner = user.map_or_else(String::new, |user| {
        format!(",uid={},gid={}", user.id, user.group)
    });
    format!(
        "if [ -z \"$HAS_DISK\" ]; then HAS_DISK=1 exec unshare --mount sh \"$0\"; fi\n\
         mkdir -p {folder} && mount -t tmpfs -o size={mib}m,mode=0700{owner} tmpfs {folder} || exit 1\n"
    )
}

/// Why no server can have a disk of its own here.
fn no_disk_here() -> Option<String> {
    let may = as_root("unshare").is_ok_and(|mut unshare| {
        unshare.args(["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
        unshare.stdin(Stdio::null()).stderr(Stdio::null());
        unshare.status().is_ok_and(|status| status.success())
    });
    let why = "no disk for a server: to mount one takes root, or a sudo that asks for no password";
    (!may).then(|| why.to_owned())
}

/// A command as a line of a shell script, run by `user`.
pub(crate) fn line(mut command: Vec<String>, user: Option<&User>) -> Result<String> {
    command[0] = path_of(&command[0])?;
    if let Some(user) = user {
        let (id, group) = (&user.id, &user.group);
        let change = words(["setpriv", "--reuid", id, "--regid", group, "--clear-groups"]);
        command.splice(0..0, change);
    }
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    Ok(words.join(" "))
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
