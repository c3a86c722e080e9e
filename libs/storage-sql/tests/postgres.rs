//! The behaviour suite on PostgreSQL: one that is started here, or the one that `$ARMADEX_TEST_POSTGRES` names.

#[path = "fixture/in_database.rs"]
mod in_database;
#[path = "fixture/options.rs"]
mod options;
#[path = "fixture/servers.rs"]
mod servers;

use armadex_databases::Engine;
use armadex_storage_sql::Options;
use options::tiny;
use servers::empty_store;

mod usual {
    armadex_storage::conformance!(super::empty_store(
        super::Engine::Postgres,
        super::Options::default(),
        false
    ));
}

mod tiny {
    armadex_storage::conformance!(super::empty_store(
        super::Engine::Postgres,
        super::tiny(),
        true
    ));
}
