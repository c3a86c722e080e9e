//! A store on several servers of which some are lost: a PostgreSQL whose replica takes over, with and without the last commits, and a Galera cluster of MariaDB.
//!
//! Each takes minutes and all of a machine, and needs programs that no other test does: `make e2e-ha` installs them and runs these.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use armadex_databases::{Engine, Galera, Server, Setup, administer};
use armadex_e2e::armadex::{self, Armadex};
use armadex_e2e::churn::Churn;
use armadex_e2e::equality::COLLECTED_KINDS;
use armadex_e2e::progress::note;
use armadex_e2e::scenario::{SOON, on_board, wait_until_equal, wait_until_synced};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::store::{Store, StoreKind};
use armadex_e2e::{Harness, Options, wait_until};
use http::{Request, Response, StatusCode};
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

const MEMBERS: [&str; 2] = ["member1", "member2"];
const OBJECTS: usize = 2_000;
/// Of each member; a fleet changes all the time.
const CHURN: Churn = Churn {
    rate: 40,
    length: Duration::from_secs(300),
    seed: 1,
};
/// Churn before, between and after what happens to servers.
const PHASE: Duration = Duration::from_secs(5);
const PODS: &str = "/apis/clusterpedia.io/v1beta1/resources/api/v1/pods?limit=1";
/// The database of the fleet.
const DATABASE: &str = "fleet";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "by make e2e-ha"]
async fn a_replica_that_has_all_takes_over_and_nothing_is_listed() -> Result<()> {
    let (mut primary, replica) = block_in_place(replicated)?;
    follow_each_other(&primary, &replica).await?;
    let fleet = fleet_on(&[&primary, &replica]).await?;
    let armadex = on_boarded(&fleet).await?;
    let lists = armadex.counter(armadex::LISTS).await?;
    during_churn(&fleet, async {
        block_in_place(|| {
            primary.crash()?;
            replica.promote()
        })?;
        searches_are_answered(&fleet, "the replica took over").await
    })
    .await?;
    all_is_there_and_nothing_was_listed(&fleet, &armadex, lists).await?;
    fleet.finish().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "by make e2e-ha"]
async fn a_replica_that_lacks_the_last_commits_is_another_store() -> Result<()> {
    let (mut primary, replica) = block_in_place(replicated)?;
    let fleet = fleet_on(&[&primary, &replica]).await?;
    let mut armadex = on_boarded(&fleet).await?;
    administer(replica.address(), "ALTER SYSTEM SET primary_conninfo = ''")?;
    administer(replica.address(), "SELECT pg_reload_conf()")?;
    during_churn(&fleet, async { Ok(()) }).await?;
    let token = token(&fleet).await?;
    block_in_place(|| {
        primary.crash()?;
        replica.promote()
    })?;
    ends_by_itself(&armadex).await?;
    armadex.restart().await?;
    let objects = wait_until_equal(&fleet, &MEMBERS, &COLLECTED_KINDS, SOON).await?;
    note(format_args!("{objects} objects are equal"));
    let next = format!("{PODS}&continue={token}");
    let answer = answer(&fleet, &next).await?;
    ensure!(answer == StatusCode::GONE, "an old token: {answer}");
    armadex.end();
    armadex::check_store(&fleet).await?;
    fleet.finish().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "by make e2e-ha"]
async fn a_galera_goes_on_with_the_nodes_that_are_left_and_nothing_is_listed() -> Result<()> {
    ensure!(
        Galera::is_there(),
        "no Galera: mariadb-server, galera-4 and rsync of Debian are missing"
    );
    let mut galera = block_in_place(|| Galera::start(3))?;
    galera.nodes[0].create(DATABASE)?;
    let [first, second, third] = &galera.nodes[..] else {
        bail!("not three nodes");
    };
    let fleet = fleet_on(&[second, third, first]).await?;
    let armadex = on_boarded(&fleet).await?;
    let lists = armadex.counter(armadex::LISTS).await?;
    during_churn(&fleet, async {
        for node in [1, 2] {
            block_in_place(|| galera.nodes[node].crash())?;
            searches_are_answered(&fleet, "a node is lost").await?;
            tokio::time::sleep(PHASE).await;
            block_in_place(|| galera.nodes[node].start_again())?;
            let known = galera.known_to(node)?;
            ensure!(known == 3, "a node came back and knows {known}");
            tokio::time::sleep(PHASE).await;
        }
        Ok(())
    })
    .await?;
    all_is_there_and_nothing_was_listed(&fleet, &armadex, lists).await?;
    fleet.finish().await;
    Ok(())
}

/// A server, and one that follows it.
fn replicated() -> Result<(Server, Server)> {
    let setup = Setup {
        durable: true,
        ..Setup::default()
    };
    let primary = Server::start(Engine::Postgres, &setup)?;
    primary.create(DATABASE)?;
    let replica = primary.replica(&setup)?;
    Ok((primary, replica))
}

/// From here on nothing is acknowledged that the replica does not have.
async fn follow_each_other(primary: &Server, replica: &Server) -> Result<()> {
    let orders = [
        "ALTER SYSTEM SET synchronous_standby_names = '*'",
        "SELECT pg_reload_conf()",
    ];
    for order in orders {
        administer(primary.address(), order)?;
    }
    let state = "SELECT sync_state FROM pg_stat_replication";
    wait_until("the replica is waited for", SOON, || async {
        let state = administer(primary.address(), state)?;
        Ok(state.trim() == "sync")
    })
    .await
    .with_context(|| format!("{:?}", replica.address()))
}

/// A fleet whose store is on the first of these servers that takes writes.
async fn fleet_on(servers: &[&Server]) -> Result<Harness> {
    let mut fleet = Harness::start(Options {
        members: MEMBERS.len(),
        store: Some(StoreKind::Sqlite),
        ..Options::default()
    })
    .await?;
    let store = Store::at(&url(servers)?, fleet.folder())?;
    fleet.replace_store(store);
    for name in MEMBERS {
        let plan = Plan {
            count: OBJECTS,
            seed: 1,
        };
        seed::put(&fleet.member(name)?, plan).await?;
    }
    Ok(fleet)
}

/// Of several hosts.
fn url(servers: &[&Server]) -> Result<String> {
    let (first, others) = servers.split_first().context("no server")?;
    let url = first.address().database(DATABASE);
    let host = format!("{}:{}", first.address().host(), first.address().port());
    let mut hosts = host.clone();
    for other in others {
        write!(
            hosts,
            ",{}:{}",
            other.address().host(),
            other.address().port()
        )?;
    }
    Ok(url.replacen(&host, &hosts, 1))
}

async fn on_boarded(fleet: &Harness) -> Result<Armadex> {
    let armadex = on_board(fleet).await?;
    for name in MEMBERS {
        fleet.join(name).await?;
    }
    wait_until_equal(fleet, &MEMBERS, &COLLECTED_KINDS, SOON).await?;
    wait_until_synced(fleet, &MEMBERS, SOON).await?;
    Ok(armadex)
}

/// Something happens while both members change.
async fn during_churn(fleet: &Harness, happens: impl Future<Output = Result<()>>) -> Result<()> {
    let stop = CancellationToken::new();
    let [first, second] = MEMBERS;
    let first = fleet.member(first)?.client().await?;
    let second = fleet.member(second)?.client().await?;
    let happens = async {
        tokio::time::sleep(PHASE).await;
        happens.await?;
        tokio::time::sleep(PHASE).await;
        stop.cancel();
        anyhow::Ok(())
    };
    let other = Churn { seed: 2, ..CHURN };
    tokio::try_join!(CHURN.run(&first, &stop), other.run(&second, &stop), happens)?;
    Ok(())
}

async fn searches_are_answered(fleet: &Harness, after: &str) -> Result<()> {
    let begun = Instant::now();
    wait_until("searches are answered", SOON, || async {
        Ok(answer(fleet, PODS).await? == StatusCode::OK)
    })
    .await?;
    note(format_args!(
        "{after}: searched after {:?}",
        begun.elapsed()
    ));
    Ok(())
}

async fn answer(fleet: &Harness, path: &str) -> Result<StatusCode> {
    let host = fleet.host().client().await?;
    let request = Request::get(path).body(kube::client::Body::empty())?;
    let response: Response<_> = host.send(request).await?;
    Ok(response.status())
}

/// Of the first page of pods.
async fn token(fleet: &Harness) -> Result<String> {
    let page = fleet.kubectl("host").run(&["get", "--raw", PODS]).await?;
    let page: serde_json::Value = serde_json::from_str(&page)?;
    let token = page["metadata"]["continue"].as_str().context("a token")?;
    Ok(token.to_owned())
}

/// A process that knows more than the store has would go on with numbers that mean something else there.
async fn ends_by_itself(armadex: &Armadex) -> Result<()> {
    wait_until("armadex ends", SOON, || async {
        Ok(!armadex.record().is_alive())
    })
    .await?;
    let log = armadex.log();
    ensure!(
        log.contains("the database is behind what was committed to it"),
        "it ended for another reason: {}",
        log.lines().last().unwrap_or_default()
    );
    Ok(())
}

async fn all_is_there_and_nothing_was_listed(
    fleet: &Harness,
    armadex: &Armadex,
    before: f64,
) -> Result<()> {
    let objects = wait_until_equal(fleet, &MEMBERS, &COLLECTED_KINDS, SOON).await?;
    note(format_args!("{objects} objects are equal"));
    wait_until_synced(fleet, &MEMBERS, SOON).await?;
    let lists = armadex.counter(armadex::LISTS).await?;
    ensure!(lists == before, "{before} lists before, {lists} after");
    armadex.stop()?;
    armadex::check_store(fleet).await
}
