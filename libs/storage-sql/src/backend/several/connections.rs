//! Connections with a server: what is asked for and not there costs none, nor does what is refused.

use armadex_databases::Engine;
use armadex_model::{ClusterName, ObjectKey};
use armadex_storage::Search as _;
use armadex_storage::conformance::{object, resource};

use super::place::{Home, fixture_of};
use crate::backend::{Lane, row};
use crate::sql::statement::Statement;
use crate::store::SqlStore;

/// By what the server knows the connection that a short read gets.
async fn number(store: &SqlStore, engine: Engine) -> i64 {
    let text = match engine {
        Engine::Postgres => "SELECT CAST(pg_backend_pid() AS BIGINT)",
        Engine::Mysql => "SELECT CAST(CONNECTION_ID() AS SIGNED)",
    };
    let mut transaction = store.database.read(Lane::Short).await.expect("a read");
    let statement = Statement::fixed("test.connection", text, []);
    let found = row(&mut *transaction, statement, |row| row.int(0)).await;
    transaction.rollback().await.expect("ended");
    found.expect("an answer").expect("a row")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_costs_no_connection() {
    for place in Home::on_each_server() {
        let engine = place.database.server().engine();
        let store = place.store().await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        let before = number(&store, engine).await;
        let pod = resource("", "pods", "Pod", true).gvr;
        let name = |name| ClusterName::new(name).expect("a name");
        let (there, elsewhere) = (name("m"), name("n"));
        let key = ObjectKey::new("ns", "b");
        for cluster in [&there, &elsewhere] {
            let found = store.get(cluster, &pod, &key).await.expect("an answer");
            assert!(found.is_none());
            let shown = store.has_namespace(cluster, "none").await;
            assert!(!shown.expect("an answer"));
        }
        let position = store.position(&elsewhere, &pod).await;
        assert!(position.expect("an answer").is_none());
        assert_eq!(number(&store, engine).await, before);
        store.shutdown().await;
    }
}
