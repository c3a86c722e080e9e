//! An apiserver that reads from a replica of the store, as its flags say: it has what the member has, and goes on while the store is away.

use anyhow::{Result, ensure};
use armadex_databases::{Server, Setup, tell_at_the_end};
use armadex_e2e::account;
use armadex_e2e::armadex::{Armadex, Role};
use armadex_e2e::equality::SEEDED_KINDS;
use armadex_e2e::scenario::{SOON, TALKATIVE, join_seeded, on_board_apart, wait_until_equal};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Options, deploy};
use tokio::task::block_in_place;

const MEMBER: &str = "member1";

#[tokio::test(flavor = "multi_thread")]
async fn searches_are_read_from_a_replica_while_the_store_is_away() -> Result<()> {
    if !StoreKind::Postgres.is_there()? {
        return Ok(());
    }
    let fleet = Harness::start(Options {
        members: 1,
        store: Some(StoreKind::Postgres),
        ..Options::default()
    })
    .await?;
    let Some(replica) = replica_of(&fleet)? else {
        fleet.finish().await;
        return tell_at_the_end(
            "a replica of the store: its server is one that the environment names",
        );
    };
    let parts = on_board_apart(&fleet, &deploy::policy()?, &[TALKATIVE]).await?;
    join_seeded(&fleet, MEMBER).await?;

    let reader = reader_of(&fleet, &replica).await?;
    parts.apiserver.end();
    reader.register(&fleet).await?;
    let create = ["create", "configmap", "later", "--namespace=default"];
    fleet.kubectl(MEMBER).run(&create).await?;
    has_what_the_member_has(&fleet).await?;
    order(&fleet, Server::crash)?;
    has_what_the_member_has(&fleet).await?;
    order(&fleet, Server::start_again)?;
    reader.stop()?;
    parts.stop()?;
    fleet.finish().await;
    Ok(())
}

/// One that follows the server of the fleet's store, if that was started for the fleet.
fn replica_of(fleet: &Harness) -> Result<Option<Server>> {
    let server = fleet.store().server();
    server
        .map(|server| block_in_place(|| server.replica(&Setup::default())))
        .transpose()
}

/// An apiserver beside the first one, which has nothing but the replica. The password is that of the store.
async fn reader_of(fleet: &Harness, replica: &Server) -> Result<Armadex> {
    let (user, port) = (replica.address().user(), replica.address().port());
    let read = format!("--read-store=postgres://{user}@127.0.0.1:{port}/fleet");
    let kubeconfig = fleet
        .folder()
        .account_kubeconfig(account::APISERVER.account);
    let way = ("armadex-apiserver-2", kubeconfig.as_path());
    Armadex::start_as(fleet, Role::Apiserver, way, &[TALKATIVE, &read]).await
}

async fn has_what_the_member_has(fleet: &Harness) -> Result<()> {
    let objects = wait_until_equal(fleet, &[MEMBER], &SEEDED_KINDS, SOON).await?;
    ensure!(objects > 200, "{objects} objects");
    Ok(())
}

fn order(fleet: &Harness, order: fn(&mut Server) -> Result<()>) -> Result<()> {
    let server = fleet.store().server();
    block_in_place(|| server.map_or(Ok(()), |mut server| order(&mut server)))
}
