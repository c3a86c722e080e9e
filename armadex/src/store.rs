//! Which store: the flags that every process with a data path has.

mod clusterpedia;
mod dsn;
mod fields;
mod history;
pub(crate) mod named;
mod password;
pub(crate) mod replica;
mod told;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use armadex_storage_sql::{Location, Options, SqlStore, Training};
use clap::Args;
use tokio::runtime::Handle;

use history::HistoryFlags;
use password::Named;
use told::Told;

/// Where the copy is kept.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Store")]
pub(crate) struct StoreFlags {
    /// The store: `sqlite:PATH`, `postgres://USER@HOST/DATABASE` or `mysql://USER@HOST/DATABASE`, with parameters behind a `?` (docs/stores.md). A file is made if it is
    /// missing, a schema is brought up to date. A password stands in a file, or in the environment: everybody sees it here. [default: sqlite:armadex.db]
    #[arg(
        long,
        value_name = "URL",
        env = "ARMADEX_STORE",
        hide_env_values = true
    )]
    store: Option<String>,
    /// A storage configuration of Clusterpedia, which says where the store is (docs/stores.md has what becomes of each field). Its variables `DB_...` count as they do there.
    #[arg(long, value_name = "FILE")]
    storage_config: Option<PathBuf>,
    /// File with the password of the store's user; read again for new connections. Else it is taken from $ARMADEX_STORE_PASSWORD, from a URL in $ARMADEX_STORE, or from
    /// $PGPASSWORD or $MYSQL_PWD.
    #[arg(long, value_name = "FILE")]
    store_password_file: Option<PathBuf>,
    /// Connections to the store that this process may open. One writes. Of the others a third, two at least and eight at most, is for what takes a
    /// moment, and the rest search. On SQLite one more is opened for what streams compare with, on MySQL one more while everything is read for a check.
    /// [default: 7, or what the storage configuration says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(FEWEST)..=1000))]
    store_connections: Option<u32>,
    /// How long versions that were superseded and traces of what was deleted are kept in the store, in seconds, for those who follow changes. 0: not
    /// at all. All processes that write one store should have the same.
    #[arg(long, value_name = "SECONDS", default_value_t = 60 * 60)]
    watch_window: u64,
    /// How much of that is kept at most, in MiB as it is stored: beyond it the oldest goes before its time is over, and those who follow changes from before
    /// list anew. 0: any number. All processes that write one store should have the same.
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    watch_window_mib: u64,
    #[command(flatten)]
    history: HistoryFlags,
    /// Types with so many objects get a dictionary that is trained on them, by which later ones are stored in less space. It has parts of objects word for
    /// word, and stays in the store for as long as the type does; nothing is taken from Secrets and ConfigMaps. 0: none is trained.
    #[arg(long, value_name = "OBJECTS", default_value_t = Training::default().least)]
    dictionaries_from: u32,
}

/// Where the store is if nothing says it.
const DEFAULT: &str = "sqlite:armadex.db";

const FEWEST: u32 = Options::FEWEST_CONNECTIONS;

impl StoreFlags {
    /// Where the store is.
    pub(crate) fn location(&self) -> anyhow::Result<Location> {
        Ok(self.told()?.location)
    }

    /// Where a store is that is there: opening would make one, and an empty store has nothing to tell.
    pub(crate) async fn existing(&self) -> anyhow::Result<Location> {
        let location = self.location()?;
        let standing = armadex_storage_sql::schema_standing(&location).await;
        let standing = standing.with_context(|| format!("cannot open the store {location}"))?;
        anyhow::ensure!(
            standing.version.is_some(),
            "there is no store at {location}: {}",
            self.where_to_name_it()
        );
        Ok(location)
    }

    /// Beside a storage configuration nothing else may say where it is.
    fn where_to_name_it(&self) -> String {
        match &self.storage_config {
            Some(path) => format!(
                "name the file, or the database, in --storage-config {}, or in the variables DB_... that count before it",
                path.display()
            ),
            None => "name the file, or the database, with --store".to_owned(),
        }
    }

    /// Opens the store; it serves both traits, and writes on the threads of `writes`.
    pub(crate) async fn open(&self, writes: &Handle) -> anyhow::Result<Arc<SqlStore>> {
        let (location, options) = self.options(writes)?;
        let store = armadex_storage_sql::open_with(&location, &options)
            .await
            .with_context(|| format!("cannot open the store {location}"))?;
        Ok(Arc::new(store))
    }

    /// Opens a store that is there, whose schema is this binary's and is not to be changed: for whoever only looks after it.
    pub(crate) async fn open_as_it_is(&self) -> anyhow::Result<SqlStore> {
        let (location, options) = self.options(&Handle::current())?;
        armadex_storage_sql::open_as_it_is(&location, &options)
            .await
            .with_context(|| format!("cannot open the store {location}"))
    }

    fn options(&self, writes: &Handle) -> anyhow::Result<(Location, Options)> {
        let Told {
            location,
            connections,
        } = self.told()?;
        let mut options = Options {
            writes: Some(writes.clone()),
            watch_window: Duration::from_secs(self.watch_window),
            watch_window_bytes: self.watch_window_mib.saturating_mul(1 << 20),
            history: self.history.told(Duration::from_secs(self.watch_window))?,
            training: Training {
                least: self.dictionaries_from,
                ..Training::default()
            },
            ..Options::default()
        };
        if let Some(connections) = connections {
            options = options.with_connections(connections);
        }
        Ok((location, options))
    }

    fn told(&self) -> anyhow::Result<Told> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut told = match &self.storage_config {
            Some(path) => {
                self.nothing_else_says_it(std::env::args_os())?;
                configured(path, variable)?
            }
            None => self.located()?,
        };
        let file = self.store_password_file.as_deref();
        told.location = password::chosen(told.location, file, &Named::STORE, variable)?;
        told.connections = self.store_connections.or(told.connections);
        Ok(told)
    }

    /// Beside a storage configuration; what is named is what was said, and not what it would be called on the command line.
    fn nothing_else_says_it(
        &self,
        arguments: impl Iterator<Item = OsString>,
    ) -> anyhow::Result<()> {
        let is_typed =
            |argument: OsString| argument.to_string_lossy().split('=').next() == Some("--store");
        let by = match arguments.into_iter().any(is_typed) {
            true => "--store",
            false => "$ARMADEX_STORE",
        };
        anyhow::ensure!(
            self.store.is_none(),
            "--storage-config and {by} both say where the store is: leave one of them out"
        );
        Ok(())
    }

    fn located(&self) -> anyhow::Result<Told> {
        let url = self.store.as_deref().unwrap_or(DEFAULT);
        let location: Location = url.parse().context("--store")?;
        if location.has_password() {
            password::refuse_in(std::env::args_os(), url, &Named::STORE)?;
        }
        Ok(Told {
            location,
            connections: None,
        })
    }
}

fn configured(path: &Path, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Told> {
    let name = || format!("--storage-config {}", path.display());
    if path.extension().is_some_and(|end| end == "toml") {
        anyhow::bail!("{}: write it as YAML or JSON; TOML is not read", name());
    }
    let text = std::fs::read_to_string(path).with_context(name)?;
    let told = clusterpedia::read(&text, variable).with_context(name)?;
    let connections = told.connections;
    anyhow::ensure!(
        connections.is_none_or(|connections| connections >= FEWEST),
        "{}: connPool.maxOpenConns: at least {FEWEST} are needed",
        name()
    );
    Ok(told)
}

#[cfg(test)]
mod tests {
    use armadex_storage_sql::History;
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        store: StoreFlags,
    }

    #[test]
    fn what_says_a_second_time_where_the_store_is_is_named_as_it_was_said() {
        let arguments = ["armadex", "--store=sqlite:a.db", "--storage-config=b.yaml"];
        let Command { store } = Command::try_parse_from(arguments).expect("flags");
        let refused = |arguments: &[&str]| {
            let arguments = arguments.iter().map(OsString::from);
            let refused = store.nothing_else_says_it(arguments);
            refused.expect_err("it is said twice").to_string()
        };
        assert!(refused(&arguments).contains("and --store both"));
        // As if the URL had come from the environment.
        assert!(refused(&["armadex"]).contains("and $ARMADEX_STORE both"));
    }

    /// What those who follow changes are promised, and what that may take.
    #[tokio::test]
    async fn what_is_past_is_kept_for_an_hour_and_four_gibibytes_where_nothing_is_said() {
        let Command { store } = Command::try_parse_from(["armadex"]).expect("flags");
        let (_, options) = store.options(&Handle::current()).expect("options");
        assert_eq!(options.watch_window, Duration::from_secs(3600));
        assert_eq!(options.watch_window_bytes, 4096 << 20);
        assert_eq!(options.history, None);
    }

    #[tokio::test]
    async fn a_store_that_is_not_there_is_named_where_it_was_said_to_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("a.db").display().to_string();
        let file = folder.path().join("storage.yaml");
        let config = format!("type: sqlite\ndsn: {missing}\n");
        std::fs::write(&file, config).expect("a file");
        let config = format!("--storage-config={}", file.display());
        let store = format!("--store=sqlite:{missing}");
        for (flag, way_out) in [
            (store, "with --store".to_owned()),
            (config.clone(), format!("in {}", config.replace('=', " "))),
        ] {
            let Command { store } = Command::try_parse_from(["armadex", &flag]).expect("flags");
            let refused = store.existing().await.expect_err("nothing is there");
            let refused = refused.to_string();
            assert!(refused.starts_with("there is no store at"), "{refused}");
            assert!(refused.contains(&way_out), "{refused}");
        }
    }

    #[tokio::test]
    async fn what_flags_say_is_how_the_store_is_opened() {
        let flags = [
            "armadex",
            "--store=sqlite:a.db",
            "--store-connections=13",
            "--watch-window=60",
            "--watch-window-mib=2",
            "--history-of=pods",
            "--history-window=120",
            "--history-window-mib=3",
            "--dictionaries-from=7",
        ];
        let Command { store } = Command::try_parse_from(flags).expect("flags");
        let (location, options) = store.options(&Handle::current()).expect("options");
        assert_eq!(location, Location::Sqlite("a.db".into()));
        assert_eq!((options.readers, options.short_readers), (8, 4));
        assert_eq!(options.watch_window, Duration::from_secs(60));
        assert_eq!(options.watch_window_bytes, 2 << 20);
        let history = History {
            of: vec![(String::new(), "pods".to_owned())],
            window: Duration::from_secs(120),
            bytes: 3 << 20,
        };
        assert_eq!(options.history, Some(history));
        assert_eq!(options.training.least, 7);
    }
}
