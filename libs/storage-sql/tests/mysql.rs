//! The behaviour suite on MariaDB, or on the MySQL that `$ARMADEX_TEST_MYSQL` names.

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
        super::Engine::Mysql,
        super::Options::default(),
        false
    ));
}

mod tiny {
    armadex_storage::conformance!(super::empty_store(
        super::Engine::Mysql,
        super::tiny(),
        true
    ));
}
