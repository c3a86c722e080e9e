//! Apiservers that read from replicas of the store, as their flags say: they have what the member has, go on while the store is away, and one whose replica lags goes on
//! with no list that another one began.

use anyhow::{Context as _, Result, ensure};
use armadex_databases::{Engine, Server, Setup, administer};
use armadex_e2e::account;
use armadex_e2e::armadex::{Armadex, Role};
use armadex_e2e::equality::{Kind, SEEDED_KINDS};
use armadex_e2e::scenario::{SOON, TALKATIVE, join_seeded, on_board_apart, wait_until_equal};
use armadex_e2e::store::{Store, StoreKind};
use armadex_e2e::{Harness, Options, deploy, kubeconfig, wait_until};
use http::Request;
use kube::Client;
use serde_json::Value;
use tokio::task::block_in_place;

const MEMBER: &str = "member1";

/// The database of the fleet.
const DATABASE: &str = "fleet";

#[tokio::test(flavor = "multi_thread")]
async fn searches_are_read_from_a_replica_of_a_postgresql_while_the_store_is_away() -> Result<()> {
    let pauses = "SELECT pg_wal_replay_pause()";
    let goes_on = "SELECT pg_wal_replay_resume()";
    searches_are_read_from_a_replica(Engine::Postgres, [pauses, goes_on]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_are_read_from_a_replica_of_a_mariadb_while_the_store_is_away() -> Result<()> {
    let pauses = "STOP SLAVE SQL_THREAD";
    let goes_on = "START SLAVE SQL_THREAD";
    searches_are_read_from_a_replica(Engine::Mysql, [pauses, goes_on]).await
}

/// With the statements by which a replica stops to follow, and goes on.
async fn searches_are_read_from_a_replica(engine: Engine, follows: [&str; 2]) -> Result<()> {
    let primary = block_in_place(|| Server::for_test(engine, &Setup::followed(engine, 1)))?;
    let Some(mut primary) = primary else {
        return Ok(());
    };
    let url = block_in_place(|| primary.create(DATABASE))?;
    let follower = |number| block_in_place(|| primary.replica(&Setup::followed(engine, number)));
    let (replica, other) = (follower(2)?, follower(3)?);
    let mut fleet = Harness::start(Options {
        members: 1,
        store: Some(StoreKind::Sqlite),
        ..Options::default()
    })
    .await?;
    let store = Store::at(&url, fleet.folder())?;
    fleet.replace_store(store);
    let parts = on_board_apart(&fleet, &deploy::policy()?, &[TALKATIVE]).await?;
    join_seeded(&fleet, MEMBER).await?;

    let reader = reader_of(&fleet, &replica, "armadex-apiserver-2").await?;
    let late = reader_of(&fleet, &other, "armadex-apiserver-3").await?;
    parts.apiserver.end();
    reader.register(&fleet).await?;
    goes_on_with_no_list_of_later(&fleet, &reader, (&late, &other, follows)).await?;
    late.stop()?;
    block_in_place(|| primary.crash())?;
    has_what_the_member_has(&fleet).await?;
    block_in_place(|| primary.start_again())?;
    reader.stop()?;
    parts.stop()?;
    fleet.finish().await;
    Ok(())
}

/// An apiserver beside the first one, which has nothing but the replica. The password is that of the store.
async fn reader_of(fleet: &Harness, replica: &Server, name: &str) -> Result<Armadex> {
    let (user, port) = (replica.address().user(), replica.address().port());
    let scheme = match replica.address().engine() {
        Engine::Postgres => "postgres",
        Engine::Mysql => "mysql",
    };
    let read = format!("--read-store={scheme}://{user}@127.0.0.1:{port}/{DATABASE}");
    let kubeconfig = fleet
        .folder()
        .account_kubeconfig(account::APISERVER.account);
    let way = (name, kubeconfig.as_path());
    Armadex::start_as(fleet, Role::Apiserver, way, &[TALKATIVE, &read]).await
}

/// A list that began on a replica that has everything, and goes on with one that does not follow any more: until that has caught up it is told to come later.
async fn goes_on_with_no_list_of_later(
    fleet: &Harness,
    reader: &Armadex,
    (late, replica, [pauses, goes_on]): (&Armadex, &Server, [&str; 2]),
) -> Result<()> {
    let order = |order: &str| block_in_place(|| administer(replica.address(), order));
    order(pauses)?;
    let create = ["create", "configmap", "later", "--namespace=default"];
    fleet.kubectl(MEMBER).run(&create).await?;
    has_what_the_member_has(fleet).await?;
    let (reader, late) = (direct(fleet, reader).await?, direct(fleet, late).await?);
    let first = page(&reader, "").await?;
    let token = first["metadata"]["continue"].as_str();
    let token = token.context("a list of one page")?;
    let refused = page(&late, token).await;
    let is_told = matches!(&refused, Err(kube::Error::Api(status)) if status.code == 504);
    ensure!(
        is_told && format!("{refused:?}").contains("ResourceVersionTooLarge"),
        "{refused:?}"
    );
    order(goes_on)?;
    wait_until("the list goes on", SOON, || async {
        let next = page(&late, token).await?;
        ensure!(next["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]);
        Ok(true)
    })
    .await
}

/// A client of an apiserver itself: the aggregator knows one of them.
async fn direct(fleet: &Harness, armadex: &Armadex) -> Result<Client> {
    let name = format!("at-{}", armadex.listen);
    let path = fleet.folder().root().join(format!("{name}.kubeconfig"));
    let url = format!("https://127.0.0.1:{}", armadex.listen);
    kubeconfig::write(&path, &name, &url, &fleet.host().pki())?;
    kubeconfig::client(&path).await
}

async fn page(from: &Client, token: &str) -> kube::Result<Value> {
    let path = Kind::CONFIG_MAPS.fleet_path();
    let target = format!("{path}?limit=1&continue={token}");
    let request = Request::get(target).body(Vec::new());
    from.request(request.map_err(kube::Error::HttpError)?).await
}

async fn has_what_the_member_has(fleet: &Harness) -> Result<()> {
    let objects = wait_until_equal(fleet, &[MEMBER], &SEEDED_KINDS, SOON).await?;
    ensure!(objects > 200, "{objects} objects");
    Ok(())
}
