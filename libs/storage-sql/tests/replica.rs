//! A store that is searched on replicas of its database: they have what it has, a little later, and no search goes back from one to another.

#[path = "fixture/pods.rs"]
mod pods;

use std::sync::Arc;
use std::time::{Duration, Instant};

use armadex_databases::{Database, Engine, Server, Setup, administer};
use armadex_storage::conformance::Fixture;
use armadex_storage::conformance::fixture::{all_pods, name};
use armadex_storage::{Head, MemberPosition, Search as _, Sink as _, StoreError};
use armadex_storage_sql::{Location, Options, SqlStore};

use pods::{OBJECTS, location, open_pods, pods, write};

/// A replica follows within a moment, on a busy machine too.
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_of_a_postgresql_are_searched_and_no_search_goes_back() {
    let stop = "SELECT pg_wal_replay_pause()";
    let go_on = "SELECT pg_wal_replay_resume()";
    replicas(Engine::Postgres, stop, go_on).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_of_a_mariadb_are_searched_and_no_search_goes_back() {
    let stop = "STOP SLAVE SQL_THREAD";
    let go_on = "START SLAVE SQL_THREAD";
    replicas(Engine::Mysql, stop, go_on).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_that_lacks_commits_is_left_for_one_that_has_them_and_believed_where_there_is_none()
 {
    lacks_commits(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mariadb_that_lacks_commits_is_left_for_one_that_has_them_and_believed_where_there_is_none()
 {
    lacks_commits(Engine::Mysql).await;
}

#[tokio::test]
async fn a_file_has_no_replicas() {
    let location: Location = "sqlite:somewhere.db".parse().expect("a place");
    let opened = armadex_storage_sql::open_replica(&location, &Options::default()).await;
    let refused = opened.err().expect("refused");
    assert!(
        matches!(refused, StoreError::Unsupported { .. }),
        "{refused}"
    );
}

/// As a replica that is asked before it has got anything: what there is to do is to be done where it comes from.
#[tokio::test]
async fn a_replica_without_a_store_leads_to_the_one_that_it_follows() {
    for engine in [Engine::Postgres, Engine::Mysql] {
        let database = Database::for_test(engine).expect("no trouble");
        let Some(database) = database else { continue };
        let place: Location = database.patient_url().parse().expect("a place");
        let opened = armadex_storage_sql::open_replica(&place, &Options::default()).await;
        let refused = opened.err().expect("nothing is there").to_string();
        let told = "the store cannot be used: nothing has come to this replica yet";
        assert!(refused.starts_with(told), "{refused}");
    }
}

/// As after a failover that nobody fenced: a replica is promoted before it has got the last commits, and is the first that is asked; the server that it followed comes
/// back and has them.
async fn lacks_commits(engine: Engine) {
    let primary = Server::for_test(engine, &Setup::followed(engine, 1)).expect("no trouble");
    let Some(mut primary) = primary else { return };
    let follower = primary.replica(&Setup::followed(engine, 2));
    let mut follower = follower.expect("a replica");
    let url = primary.create("fleet").expect("a database");
    let first = armadex_storage_sql::open(&location(&url)).await;
    let first = first.expect("a store");
    let writer = open_pods(&first).await;
    write(&first, &writer, 1).await.expect("it works");
    has_followed(&follower, &first).await;
    first.shutdown().await;

    let place = location(&of_both(&follower, &primary));
    let open = async || armadex_storage_sql::open(&place).await.expect("a store");
    let (reads, writes) = (open().await, open().await);
    let before = reads.head().await.expect("a head");
    follows_nobody(&follower);
    follower.crash().expect("gone");
    write(&writes, &writer, 2)
        .await
        .expect("the other one does");
    let ahead = reads.head().await.expect("the other one does");
    assert!(ahead.revision > before.revision, "{ahead:?}");
    follower.start_again().expect("back");
    primary.crash().expect("gone");
    primary.start_again().expect("back");
    // All connections are lost.
    assert_eq!(reads.head().await.expect("a head"), ahead);
    let written = write(&writes, &writer, 3).await;
    written.expect("the one that has all was found");
    let last = reads.head().await.expect("a head");
    assert!(last.revision > ahead.revision, "{last:?}");
    assert_eq!(last.incarnation, before.incarnation);

    primary.crash().expect("gone");
    let refused = reads.head().await.expect_err("nobody has what was read");
    assert!(matches!(refused, StoreError::Gone { .. }), "{refused}");
    let refused = write(&writes, &writer, 4).await;
    let refused = refused.expect_err("nobody has what was written");
    assert!(matches!(refused, StoreError::Gone { .. }), "{refused}");
    reads.ended().await;
    writes.ended().await;
    let anew = open().await.head().await.expect("a head");
    assert_eq!(anew.revision, before.revision);
    assert_ne!(anew.incarnation, before.incarnation);
}

/// From now on the replica gets no commits, and takes writes.
fn follows_nobody(follower: &Server) {
    match follower.address().engine() {
        Engine::Postgres => follower.promote().expect("promoted"),
        Engine::Mysql => {
            let order = "STOP SLAVE; RESET SLAVE ALL";
            administer(follower.address(), order).expect("it follows nobody");
        }
    }
}

async fn replicas(engine: Engine, stop: &str, go_on: &str) {
    let primary = Server::for_test(engine, &Setup::followed(engine, 1)).expect("no trouble");
    let Some(primary) = primary else { return };
    let mut quick = primary
        .replica(&Setup::followed(engine, 2))
        .expect("a replica");
    let slow = primary
        .replica(&Setup::followed(engine, 3))
        .expect("a replica");
    let url = primary.create("fleet").expect("a database");
    let store = armadex_storage_sql::open(&location(&url)).await;
    let store = store.expect("a store");
    let writer = open_pods(&store).await;
    write(&store, &writer, 1).await.expect("it works");

    let replica = Arc::new(replica_at(&of_both(&quick, &slow)).await);
    reaches(&replica, &store).await;
    let refused = replica.join(&name("other"), "incarnation-2", "").await;
    let refused = refused.expect_err("it is only read");
    assert!(
        matches!(refused, StoreError::Unsupported { .. }),
        "{refused}"
    );

    administer(slow.address(), stop).expect("stopped");
    write(&store, &writer, 2).await.expect("it works");
    reaches(&replica, &store).await;
    quick.crash().expect("gone");
    // The other one answers, and has not come so far.
    wait_for("the slow one is refused", async || {
        let Err(error) = replica.head().await else {
            return Err("it answers".into());
        };
        assert!(error.is_transient(), "{error}");
        let error = error.to_string();
        if error.contains("is behind") {
            Ok(())
        } else {
            Err(error)
        }
    })
    .await;
    // Once the first is back it is asked again, though the other one answers, too.
    quick.start_again().expect("back");
    reaches(&replica, &store).await;
    quick.crash().expect("gone");
    administer(slow.address(), go_on).expect("going on");
    reaches(&replica, &store).await;
    store.shutdown().await;
    replica.shutdown().await;
}

/// What is searched there, once it has followed so far that there is a store.
async fn replica_at(url: &str) -> SqlStore {
    let (place, options) = (location(url), Options::default());
    wait_for("the replica has a store", async || {
        let opened = armadex_storage_sql::open_replica(&place, &options).await;
        opened.map_err(|err| err.to_string())
    })
    .await
}

/// Waits until a replica has what the store has.
async fn has_followed(follower: &Server, store: &SqlStore) {
    let there = store.head().await.expect("a head");
    let replica = replica_at(&follower.address().database("fleet")).await;
    is_at(&replica, &there).await;
    replica.shutdown().await;
}

/// Waits until the replica is where the store is, and compares them.
async fn reaches(replica: &Arc<SqlStore>, store: &SqlStore) {
    is_at(replica, &store.head().await.expect("a head")).await;
    let listed = Fixture::of(replica).list(&all_pods(), 500).await;
    assert_eq!(listed.len(), OBJECTS);
    let (theirs, ours) = (position(replica).await, position(store).await);
    assert_eq!(theirs, ours);
}

async fn is_at(replica: &SqlStore, there: &Head) {
    wait_for(
        "the replica has what the store has",
        async || match replica.head().await {
            Ok(here) if here == *there => Ok(()),
            other => Err(format!("{there:?} is not reached: {other:?}")),
        },
    )
    .await;
}

/// Where the stream of the pods stands.
async fn position(store: &SqlStore) -> Option<MemberPosition> {
    let found = store.position(&name("member1"), &pods().gvr).await;
    found.expect("asked")
}

/// A URL of the database on both, the first to be asked first.
fn of_both(first: &Server, second: &Server) -> String {
    let host = |server: &Server| format!("{}:{}", server.address().host(), server.address().port());
    let (one, other) = (host(first), host(second));
    first
        .address()
        .database("fleet")
        .replacen(&one, &format!("{one},{other}"), 1)
}

async fn wait_for<T>(what: &str, mut found: impl AsyncFnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        let lacking = match found().await {
            Ok(found) => return found,
            Err(lacking) => lacking,
        };
        assert!(
            Instant::now() < end,
            "{what}: not within {LIMIT:?}: {lacking}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
