//! The store of a release on a server, as somebody names it who installs the chart.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use armadex_databases::{Address, Engine, Server, Setup, administer};
use armadex_e2e::pki::{Pki, write_private};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Kubectl};
use tokio::task::block_in_place;

use crate::desk::NAMESPACE;

/// The Secret with its password or with its whole URL, that with the password of who may change its tables, and that with the authority that its certificate is of.
const SECRET: &str = "armadex-db";
const OWNER: &str = "armadex-db-owner";
const AUTHORITY: &str = "armadex-db-ca";
/// Who may change rows alone, as docs/stores.md has it.
const WORKER: &str = "armadex_worker";
/// How a server has to prove who it is, where the chart puts the second Secret.
const VERIFIED: &str = "?sslmode=verify-full&sslrootcert=/etc/armadex/store-tls/ca.crt";

/// For several pods: a server of the kind that the environment names, else a PostgreSQL.
pub(crate) fn kind() -> Result<StoreKind> {
    Ok(match StoreKind::of_environment()? {
        StoreKind::Sqlite => StoreKind::Postgres,
        server => server,
    })
}

/// Where it is.
pub(crate) struct Store {
    pub(crate) port: u16,
    /// Without the password.
    url: String,
    password: PathBuf,
    /// Of a server that has to prove who it is.
    proof: Option<Proof>,
    /// Ends with it, if it is its own.
    _server: Option<Server>,
}

/// How a server proves who it is, and who works on it.
struct Proof {
    /// The certificate of its authority.
    authority: PathBuf,
    /// Its URL, of who may change rows alone, with the password.
    worker: String,
}

impl Store {
    /// That of a fleet.
    pub(crate) fn of(fleet: &Harness) -> Result<Self> {
        let arguments = fleet.store().arguments();
        let value = |flag: &str| {
            let found = arguments
                .iter()
                .find_map(|argument| argument.strip_prefix(flag));
            found.with_context(|| format!("the store has no {flag}"))
        };
        let url = value("--store=")?.to_owned();
        let port = url
            .rsplit(':')
            .next()
            .and_then(|rest| rest.split('/').next());
        Ok(Self {
            port: port.context("a port")?.parse()?,
            password: value("--store-password-file=")?.into(),
            proof: None,
            _server: None,
            url,
        })
    }

    /// A MariaDB of its own that has to prove who it is, whose tables its processes may not change; `None` where there can be none.
    pub(crate) fn that_proves_itself(fleet: &Harness) -> Result<Option<Self>> {
        let pki = Pki::at(fleet.folder().root().join("state/database"));
        pki.create()?;
        let own = ["server.crt", "server.key"];
        let files = own.map(|name| Ok((name.to_owned(), pki.read(name)?.into_bytes())));
        let settings = [("ssl_cert", own[0]), ("ssl_key", own[1])];
        let setup = Setup {
            settings: settings
                .map(|(setting, file)| (setting.to_owned(), format!("{{folder}}/{file}")))
                .into(),
            files: files.into_iter().collect::<Result<_>>()?,
            ..Setup::default()
        };
        let Some(server) = block_in_place(|| Server::for_test(Engine::Mysql, &setup))? else {
            return Ok(None);
        };
        let database = "fleet";
        block_in_place(|| server.create(database))?;
        let (address, password) = (server.address(), pki.file("password"));
        write_private(&password, &address.password())?;
        let port = address.port();
        let url = |user: &str| format!("mysql://{user}@127.0.0.1:{port}/{database}");
        let proof = Proof {
            authority: pki.file("ca.crt"),
            worker: url(&format!("{WORKER}:{}", address.password())),
        };
        let store = Self {
            port,
            url: url(&address.user()),
            password,
            proof: Some(proof),
            _server: None,
        };
        store.order(&format!(
            "CREATE USER {WORKER} IDENTIFIED BY '{}' REQUIRE SSL; GRANT SELECT, INSERT, UPDATE, DELETE ON {database}.* TO {WORKER}",
            address.password()
        ))?;
        Ok(Some(Self {
            _server: Some(server),
            ..store
        }))
    }

    /// What values say of it: where it is, or where that is said, and who changes its tables.
    pub(crate) fn values(&self) -> String {
        let url = &self.url;
        match self.proof {
            Some(_) => format!(
                "store.urlSecret.name={SECRET},store.tlsSecretName={AUTHORITY},store.migration.enabled=true,\
                 store.migration.url={url}{VERIFIED},store.migration.passwordSecret.name={OWNER}"
            ),
            None => format!("store.url={url},store.passwordSecret.name={SECRET}"),
        }
    }

    /// The Secrets that these name.
    pub(crate) async fn give_secrets(&self, kubectl: &Kubectl) -> Result<()> {
        let from_file = |key: &str, file: &Path| format!("--from-file={key}={}", file.display());
        let password = from_file("password", &self.password);
        let secrets = match &self.proof {
            Some(Proof { authority, worker }) => vec![
                (SECRET, format!("--from-literal=uri={worker}{VERIFIED}")),
                (OWNER, password),
                (AUTHORITY, from_file("ca.crt", authority)),
            ],
            None => vec![(SECRET, password)],
        };
        for (name, value) in secrets {
            let create = ["create", "secret", "generic", name];
            let create = [&create[..], &["--namespace", NAMESPACE, &value]].concat();
            kubectl.run(&create).await?;
        }
        Ok(())
    }

    /// Statements on the database, as its owner.
    pub(crate) fn order(&self, statements: &str) -> Result<()> {
        let password = std::fs::read_to_string(&self.password)?;
        let (user, place) = self.url.split_once('@').context("a user")?;
        let place = format!("{user}:{}@{place}", password.trim());
        let database = place.rsplit('/').next().unwrap_or_default();
        let (engine, choose) = match user.starts_with("mysql") {
            true => (Engine::Mysql, format!("USE {database};")),
            false => (Engine::Postgres, format!("\\connect {database}")),
        };
        let server = Address::parse(engine, &place)?;
        let statements = format!("{choose}\n{statements};\n");
        block_in_place(|| administer(&server, &statements)).map(drop)
    }
}
