//! The store of a fleet on a PostgreSQL, as somebody names it who installs the chart.

use std::path::PathBuf;

use anyhow::{Context, Result};
use armadex_databases::{Address, Engine, administer};
use armadex_e2e::{Harness, Kubectl};
use tokio::task::block_in_place;

use crate::desk::NAMESPACE;

/// The Secret with its password.
pub(crate) const PASSWORD: &str = "armadex-db";

/// Where it is.
pub(crate) struct Store {
    pub(crate) url: String,
    pub(crate) port: u16,
    password: PathBuf,
}

impl Store {
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
            url,
        })
    }

    /// By the Secret that values name.
    pub(crate) async fn give_password(&self, kubectl: &Kubectl) -> Result<()> {
        let file = format!("--from-file=password={}", self.password.display());
        let create = ["create", "secret", "generic", PASSWORD];
        let create = [&create[..], &["--namespace", NAMESPACE, &file]].concat();
        kubectl.run(&create).await.map(drop)
    }

    /// Statements on the database, as its owner.
    pub(crate) fn order(&self, statements: &str) -> Result<()> {
        let password = std::fs::read_to_string(&self.password)?;
        let (user, place) = self.url.split_once('@').context("a user")?;
        let place = format!("{user}:{}@{place}", password.trim());
        let database = place.rsplit('/').next().unwrap_or_default();
        let server = Address::parse(Engine::Postgres, &place)?;
        let statements = format!("\\connect {database}\n{statements}\n");
        block_in_place(|| administer(&server, &statements)).map(drop)
    }
}
