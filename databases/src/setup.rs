//! How a server is set up, and where: what the commands that make and run one are made of.

use std::path::Path;

use crate::address::Address;
use crate::engine::Engine;

/// How a server is to be.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// It keeps what it acknowledged through a loss of power, as one that is measured must. Others are asked for nothing of the disk: ten times
    /// as fast. A PostgreSQL that is killed loses nothing by it, for the operating system still has it; a MariaDB loses what it committed last.
    pub durable: bool,
    /// Settings beyond that, each by the name that the server gives it. `{folder}` in a value is the folder that the files are in.
    pub settings: Vec<(String, String)>,
    /// Files that the settings name, which the server alone can read.
    pub files: Vec<(String, Vec<u8>)>,
    /// A disk of its own, that may become full.
    pub disk: Option<Disk>,
}

impl Setup {
    /// One that others follow, or that follows: a PostgreSQL needs nothing for that, and a MariaDB a log and a number of its own. It writes what it acknowledges to the
    /// disk: a MariaDB that comes back without the place that it had reached makes its tables a second time, and follows no more.
    #[must_use]
    pub fn followed(engine: Engine, number: u32) -> Self {
        let settings = [
            ("log-bin", "log".to_owned()),
            ("server-id", number.to_string()),
            // As the manual of the store says: a follower finds each row by its key alone.
            ("binlog-row-image", "MINIMAL".to_owned()),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value));
        Self {
            settings: match engine {
                Engine::Postgres => Vec::new(),
                Engine::Mysql => settings.into(),
            },
            durable: true,
            ..Self::default()
        }
    }
}

/// A small disk for one folder of a server, which that server alone sees and which is empty whenever it starts.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// The folder, within that of the server.
    pub folder: &'static str,
    /// How large the disk is.
    pub mib: u32,
}

/// Where what a server has at its start comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin<'a> {
    /// It is new.
    New,
    /// It is a copy of this one, and follows it.
    CopyOf(&'a Address),
    /// Its cluster gives it what the others have.
    Cluster,
}

/// Where a server is.
pub(crate) struct Site<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) port: u16,
    pub(crate) password: &'a str,
    pub(crate) setup: &'a Setup,
    pub(crate) origin: Origin<'a>,
}

/// The administrator of every server that is started here.
pub(crate) const ADMINISTRATOR: &str = "armadex";

impl Site<'_> {
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The settings of this setup, each as the two parts before and after `=`, after those that every server has.
    pub(crate) fn settings<'a>(
        &'a self,
        always: &'a [(&'static str, &'static str)],
        unless_durable: &'a [(&'static str, &'static str)],
    ) -> impl Iterator<Item = (&'a str, String)> {
        let unless_durable = if self.setup.durable {
            &[]
        } else {
            unless_durable
        };
        let usual = always.iter().chain(unless_durable);
        let usual = usual.map(|(name, value)| (*name, (*value).to_owned()));
        let folder = self.folder.display().to_string();
        let own = self.setup.settings.iter();
        usual.chain(
            own.map(move |(name, value)| (name.as_str(), value.replace("{folder}", &folder))),
        )
    }
}

/// The words of a command.
pub(crate) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}
