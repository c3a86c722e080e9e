//! The store of a release on a server, as somebody names it who installs the chart.

use std::path::PathBuf;

use anyhow::{Context, Result};
use armadex_databases::{Address, Engine, Server, Setup, administer};
use armadex_e2e::pki::{Pki, write_private};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Kubectl};
use tokio::task::block_in_place;

use crate::desk::NAMESPACE;

/// The Secret with its password, and that with the authority that its certificate is of.
const PASSWORD: &str = "armadex-db";
const AUTHORITY: &str = "armadex-db-ca";
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
    /// The certificate of an authority, of a server that has to prove who it is.
    authority: Option<PathBuf>,
    /// Ends with it, if it is its own.
    _server: Option<Server>,
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
            authority: None,
            _server: None,
            url,
        })
    }

    /// A MariaDB of its own that has to prove who it is; `None` where there can be none.
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
        Ok(Some(Self {
            port: address.port(),
            url: format!(
                "mysql://{}@127.0.0.1:{}/{database}",
                address.user(),
                address.port()
            ),
            password,
            authority: Some(pki.file("ca.crt")),
            _server: Some(server),
        }))
    }

    /// What values say of it.
    pub(crate) fn values(&self) -> String {
        let url = &self.url;
        let (verified, tls) = match self.authority {
            Some(_) => (VERIFIED, format!(",store.tlsSecretName={AUTHORITY}")),
            None => ("", String::new()),
        };
        format!("store.url={url}{verified},store.passwordSecret.name={PASSWORD}{tls}")
    }

    /// The Secrets that these name.
    pub(crate) async fn give_secrets(&self, kubectl: &Kubectl) -> Result<()> {
        let password = (PASSWORD, "password", &self.password);
        let authority = self.authority.as_ref();
        let authority = authority.map(|file| (AUTHORITY, "ca.crt", file));
        for (name, key, file) in [password].into_iter().chain(authority) {
            let file = format!("--from-file={key}={}", file.display());
            let create = ["create", "secret", "generic", name];
            let create = [&create[..], &["--namespace", NAMESPACE, &file]].concat();
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
