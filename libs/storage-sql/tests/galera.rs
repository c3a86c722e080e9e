//! A store on a Galera cluster, whose nodes acknowledge what the others have not put into their tables yet.

#[path = "fixture/pods.rs"]
mod pods;

use armadex_databases::{Galera, Server};
use armadex_storage::Search as _;
use armadex_storage_sql::SqlStore;

use pods::{location, open_pods, write};

/// A node that did not wait would be behind in most of these.
const ROUNDS: u64 = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "by make e2e-ha"]
async fn what_one_node_has_acknowledged_is_read_on_any_other() {
    assert!(
        Galera::is_there(),
        "no Galera: mariadb-server, galera-4 and rsync of Debian are missing"
    );
    let galera = Galera::start(2).expect("a cluster");
    let [one, other] = &galera.nodes[..] else {
        panic!("not two nodes");
    };
    one.create("fleet").expect("a database");
    let (here, there) = (open(one).await, open(other).await);
    let writer = open_pods(&here).await;
    for round in 1..=ROUNDS {
        write(&here, &writer, round).await.expect("written");
        let (written, read) = (here.head().await, there.head().await);
        let (written, read) = (written.expect("a head"), read.expect("a head"));
        assert_eq!(read, written, "round {round}");
    }
    here.shutdown().await;
    there.shutdown().await;
}

async fn open(node: &Server) -> SqlStore {
    let location = location(&node.address().database("fleet"));
    let opened = armadex_storage_sql::open(&location).await;
    opened.expect("a store")
}
