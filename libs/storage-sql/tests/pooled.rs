//! A store behind a PgBouncer in transaction mode: each of its transactions gets another connection with the server. And one in statement mode, which cannot work.

#[path = "fixture/in_database.rs"]
mod in_database;

use std::sync::LazyLock;

use armadex_databases::{Database, Engine, PoolMode, Pooler, Server, Setup};
use armadex_storage::StoreError;
use armadex_storage::conformance::Fixture;
use armadex_storage_sql::{Location, Options, open};

/// More than it ever takes.
const OPENINGS: usize = 20;
/// One for all of this process, if there are the programs.
static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| {
    let server = Server::for_test(Engine::Postgres, &Setup::default());
    server.expect("no trouble")
});
static POOLER: LazyLock<Option<Pooler>> = LazyLock::new(|| pooler(PoolMode::Transaction));

fn pooler(mode: PoolMode) -> Option<Pooler> {
    let server = SERVER.as_ref()?;
    let is_there = Pooler::is_there().expect("no trouble");
    is_there.then(|| Pooler::start(server.address(), mode).expect("a pooler"))
}

async fn empty_store() -> Option<Fixture> {
    let database = Database::create(POOLER.as_ref()?.address()).expect("a database");
    let url = format!("{}&prepared=off", database.patient_url());
    Some(in_database::store_in(database, &url, Options::default(), false).await)
}

mod usual {
    armadex_storage::conformance!(super::empty_store());
}

#[tokio::test]
async fn a_pooler_that_knows_no_transactions_is_told_of_with_the_way_out() {
    let Some(pooler) = pooler(PoolMode::Statement) else {
        return;
    };
    let database = Database::create(pooler.address()).expect("a database");
    for parameters in ["", "&prepared=off"] {
        let url = format!("{}{parameters}", database.patient_url());
        let location: Location = url.parse().expect("a URL");
        let refused = open(&location).await;
        let Err(StoreError::Unsupported { what }) = &refused else {
            panic!("{parameters}: {:?}", refused.err());
        };
        assert!(what.contains("`pool_mode = transaction`"), "{what}");
    }
}

#[tokio::test]
async fn prepared_statements_that_a_pooler_mixes_up_are_told_of_with_the_way_out() {
    let Some(pooler) = pooler(PoolMode::Transaction) else {
        return;
    };
    let database = Database::create(pooler.address()).expect("a database");
    let location: Location = database.patient_url().parse().expect("a URL");
    // The first connection of the pooler has what the second one prepares anew.
    let mut told = None;
    for _ in 0..OPENINGS {
        match open(&location).await {
            Ok(store) => store.shutdown().await,
            Err(error) => {
                told = Some(error);
                break;
            }
        }
    }
    let error = told.expect("the pooler mixes them up");
    assert!(error.to_string().contains("say prepared=off"), "{error}");
}
