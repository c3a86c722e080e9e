//! Some MariaDB servers of which each has what all have: a Galera cluster.

use anyhow::{Context, Result};

use crate::client::administer;
use crate::engine::Engine;
use crate::ports::free_port;
use crate::server::Server;
use crate::setup::{Origin, Setup};

/// Where Debian's package keeps it.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// A running cluster.
#[derive(Debug)]
pub struct Galera {
    /// The first one began the cluster: after its end it would begin another. Any other one comes back into this one.
    pub nodes: Vec<Server>,
}

impl Galera {
    /// Starts so many nodes, and waits until each has joined.
    pub fn start(nodes: usize) -> Result<Self> {
        let (setup, place) = node("gcomm://")?;
        let first = Server::start(Engine::Mysql, &setup)?;
        let password = first.address().password();
        let mut galera = Self { nodes: vec![first] };
        for _ in 1..nodes {
            let (setup, _) = node(&format!("gcomm://{place}"))?;
            let joined = Server::start_from(Origin::Cluster, Engine::Mysql, &setup, &password)?;
            galera.nodes.push(joined);
        }
        Ok(galera)
    }

    /// Whether there is what the programs of a cluster are.
    #[must_use]
    pub fn is_there() -> bool {
        std::path::Path::new(PROVIDER).is_file()
            && crate::programs::find("wsrep_sst_rsync").is_some()
    }

    /// How many nodes one of them knows, itself included.
    pub fn known_to(&self, node: usize) -> Result<usize> {
        let node = self.nodes.get(node).context("no such node")?;
        let told = administer(node.address(), "SHOW STATUS LIKE 'wsrep_cluster_size'")?;
        let size = told.split_whitespace().last().context("no status")?;
        size.parse().context("a status that is no number")
    }
}

/// How a node is set up, and where the others find it.
fn node(cluster: &str) -> Result<(Setup, String)> {
    let own = |port: u16| format!("127.0.0.1:{port}");
    let (group, increments, whole) = (own(free_port()?), own(free_port()?), own(free_port()?));
    let provider = format!(
        "gmcast.listen_addr=tcp://{group};ist.recv_addr={increments};ist.recv_bind={increments}"
    );
    let settings = [
        ("wsrep-on", "ON"),
        ("wsrep-provider", PROVIDER),
        ("wsrep-cluster-name", "armadex"),
        ("wsrep-cluster-address", cluster),
        ("wsrep-node-address", &group),
        ("wsrep-provider-options", &provider),
        ("wsrep-sst-method", "rsync"),
        ("wsrep-sst-receive-address", &whole),
        ("binlog-format", "ROW"),
        ("innodb-autoinc-lock-mode", "2"),
        ("innodb-log-file-size", "64M"),
    ];
    let setup = Setup {
        settings: settings
            .map(|(name, value)| (name.into(), value.into()))
            .into(),
        ..Setup::default()
    };
    Ok((setup, group))
}
