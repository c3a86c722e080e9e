//! The server of a store takes no writes for a while, is paused, and then killed and away for a minute, while the members change: who searches, and who reads the
//! metrics, the status or the log, is told.

use std::time::Duration;

use anyhow::{Result, ensure};
use armadex_databases::{Engine, Server, administer};
use armadex_e2e::armadex::Armadex;
use armadex_e2e::equality::Kind;
use armadex_e2e::progress::note;
use armadex_e2e::record::Memory;
use armadex_e2e::scenario::{SOON, pedia_cluster, wait_until_synced};
use armadex_e2e::{Harness, churn, wait_until};
use futures::future::try_join_all;
use http::header::RETRY_AFTER;
use http::{Request, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use rand::distr::Alphanumeric;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::{MEMBERS, PHASE};

/// How long the server of a store is paused: longer than any process waits for it,
const PAUSED: Duration = Duration::from_secs(15);
/// and how long it is away after it was killed.
const AWAY: Duration = Duration::from_secs(60);
/// What nobody waits for takes less, through a control plane on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Ten such times are more than the quarter of a second after which a store is tried again first.
const BETWEEN: Duration = Duration::from_millis(100);
/// Bytes of each of the objects that come meanwhile, of a kind of which all is stored,
const LARGE: usize = 512 << 10;
/// so many at a time,
const AT_A_TIME: u64 = 4;
/// and all in all: more than the process holds of everything.
const MOST: u64 = 128;
const SELECTOR: &str = "size=large";
const PODS: &str = "/apis/clusterpedia.io/v1beta1/resources/api/v1/pods?limit=1";
/// What is 0 while the store cannot be read, and while it cannot be written to.
const WELL: [&str; 2] = ["armadex_store_readable", "armadex_store_writable"];
/// What the log says of either, when it begins and when it is over.
const LINES: [&str; 4] = [
    ": the store does not answer; ",
    ": the store cannot be written to; ",
    ": the store answers again ",
    ": the store can be written to again ",
];

/// All of them, on a server that was started for this fleet alone.
pub(crate) async fn happen(fleet: &Harness, armadex: &Armadex) -> Result<()> {
    takes_no_writes(fleet, armadex).await?;
    let order = |order: fn(&mut Server) -> Result<()>| {
        let server = fleet.store().server();
        tokio::task::block_in_place(|| server.map_or(Ok(()), |mut server| order(&mut server)))
    };
    order(Server::pause)?;
    searches_are_refused_at_once(fleet).await?;
    tokio::time::sleep(PAUSED).await;
    order(Server::resume)?;
    tokio::time::sleep(PHASE).await;
    let before = armadex.record().memory()?;
    order(Server::crash)?;
    let back = Instant::now() + AWAY;
    let told = async {
        searches_are_refused_at_once(fleet).await?;
        is_measured(armadex, [0.0, 0.0]).await?;
        is_in_the_status(fleet).await
    };
    let member = fleet.member(MEMBERS[0])?.client().await?;
    let config_maps: Api<ConfigMap> = Api::namespaced(member, churn::NAMESPACE);
    let (put, ()) = tokio::try_join!(put_much(&config_maps, back), told)?;
    order(Server::start_again)?;
    searches_are_answered(fleet).await?;
    is_measured(armadex, [1.0, 1.0]).await?;
    wait_until_synced(fleet, &MEMBERS, SOON).await?;
    have_come(fleet, put).await?;
    is_bounded(before, armadex.record().memory()?, put)?;
    take_away(&config_maps, put).await?;
    is_logged_once(armadex)
}

/// As when a provider's disk is full: what there is is found, nothing comes to it, and that is told. A MariaDB takes all that an administrator writes, as whom Armadex has it.
async fn takes_no_writes(fleet: &Harness, armadex: &Armadex) -> Result<()> {
    let server = fleet
        .store()
        .server()
        .map(|server| server.address().clone());
    let Some(server) = server.filter(|server| server.engine() == Engine::Postgres) else {
        return Ok(());
    };
    let read_only = |is: &str| {
        let set = format!("ALTER SYSTEM SET default_transaction_read_only = {is}");
        tokio::task::block_in_place(|| {
            administer(&server, &set)?;
            administer(&server, "SELECT pg_reload_conf()")
        })
    };
    read_only("on")?;
    is_measured(armadex, [1.0, 0.0]).await?;
    is_in_the_status(fleet).await?;
    searches_are_answered(fleet).await?;
    let [reading, writing, ..] = LINES.map(|words| armadex.log().matches(words).count());
    ensure!(
        (reading, writing) == (0, 1),
        "{reading} lines of reading, {writing} of writing"
    );
    read_only("off")?;
    is_measured(armadex, [1.0, 1.0]).await?;
    wait_until_synced(fleet, &MEMBERS, SOON).await
}

/// Puts large objects into a member while the server is away, under names that nobody else changes; gives how many.
async fn put_much(config_maps: &Api<ConfigMap>, until: Instant) -> Result<u64> {
    let text = StdRng::seed_from_u64(1).sample_iter(Alphanumeric);
    let text: String = text.take(LARGE).map(char::from).collect();
    let how = PostParams::default();
    let mut put = 0;
    while Instant::now() < until && put < MOST {
        let puts = (put..put + AT_A_TIME).map(|number| {
            let large = ConfigMap {
                metadata: ObjectMeta {
                    name: Some(format!("large-{number}")),
                    labels: Some([("size".to_owned(), "large".to_owned())].into()),
                    ..ObjectMeta::default()
                },
                data: Some([("text".to_owned(), text.clone())].into()),
                ..ConfigMap::default()
            };
            let how = &how;
            async move { config_maps.create(how, &large).await }
        });
        try_join_all(puts).await?;
        put += AT_A_TIME;
    }
    sleep_until(until).await;
    Ok(put)
}

/// One by one: an answer that tells of all of them would be as large as they are, and takes longer than a request may.
async fn take_away(config_maps: &Api<ConfigMap>, put: u64) -> Result<()> {
    let how = DeleteParams::default();
    let numbers = Vec::from_iter(0..put);
    for some in numbers.chunks(AT_A_TIME as usize) {
        let names = some.iter().map(|number| format!("large-{number}"));
        let how = &how;
        let gone = names.map(|name| async move { config_maps.delete(&name, how).await });
        try_join_all(gone).await?;
    }
    Ok(())
}

/// All that was put meanwhile is stored in the end.
async fn have_come(fleet: &Harness, put: u64) -> Result<()> {
    let host = fleet.host().client().await?;
    let config_maps = Kind::CONFIG_MAPS.path_of(MEMBERS[0]);
    let large = format!("{config_maps}?labelSelector={SELECTOR}&limit=1&withRemainingCount=true");
    wait_until("what was put meanwhile is stored", SOON, || async {
        let list: Value = host.request(Request::get(&large).body(Vec::new())?).await?;
        let more = list["metadata"]["remainingItemCount"].as_u64();
        ensure!(more == Some(put - 1), "{more:?} and one of {put}");
        Ok(true)
    })
    .await
}

/// What members send meanwhile is waited with and not gathered, and what they send then is not taken at once.
fn is_bounded(before: Memory, after: Memory, put: u64) -> Result<()> {
    let sent = put * (LARGE as u64 >> 10);
    note(format_args!(
        "the most memory with outages: {} KiB; {} before {sent} were sent, and {} at the most until then",
        after.most_kib, before.now_kib, before.most_kib
    ));
    ensure!(put > MOST / 2, "a member took only {sent} KiB");
    let bound = before.now_kib + sent / 2;
    ensure!(
        before.most_kib < bound,
        "too little is sent to be seen beside {before:?}"
    );
    ensure!(after.most_kib < bound, "{after:?} after {before:?}");
    Ok(())
}

/// From the first one on, also when it is tried whether the store answers.
async fn searches_are_refused_at_once(fleet: &Harness) -> Result<()> {
    let host = fleet.host().client().await?;
    wait_until("searches are refused at once", SOON, || async {
        Ok(refusal(&host).await? < AT_ONCE)
    })
    .await?;
    for number in 1..=10 {
        tokio::time::sleep(BETWEEN).await;
        let took = refusal(&host).await?;
        ensure!(took < AT_ONCE, "search {number} was refused after {took:?}");
    }
    Ok(())
}

/// How long it takes until a search is refused.
async fn refusal(host: &Client) -> Result<Duration> {
    let begun = Instant::now();
    let request = Request::get(PODS).body(Body::empty())?;
    let answer = host.send(request).await?;
    let after = answer.headers().get(RETRY_AFTER);
    ensure!(
        answer.status() == StatusCode::SERVICE_UNAVAILABLE && after.is_some(),
        "{}, Retry-After: {after:?}",
        answer.status()
    );
    Ok(begun.elapsed())
}

/// Until one is, the store counts as one that does not answer.
async fn searches_are_answered(fleet: &Harness) -> Result<()> {
    let host = fleet.host().client().await?;
    wait_until("searches are answered", SOON, || async {
        let request = Request::get(PODS).body(Body::empty())?;
        let status = host.send(request).await?.status();
        ensure!(status == StatusCode::OK, "{status}");
        Ok(true)
    })
    .await
}

/// Whether it can be read, and be written to.
async fn is_measured(armadex: &Armadex, well: [f64; 2]) -> Result<()> {
    for (name, expected) in WELL.into_iter().zip(well) {
        wait_until(&format!("{name} is {expected}"), SOON, || async {
            let measured = armadex.counter(name).await?;
            ensure!(measured == expected, "it is {measured}");
            Ok(true)
        })
        .await?;
    }
    Ok(())
}

/// Of the kinds of which there is something to be written, in Clusterpedia's own spelling.
async fn is_in_the_status(fleet: &Harness) -> Result<()> {
    let host = fleet.host().client().await?;
    for member in MEMBERS {
        wait_until(&format!("{member} tells of the store"), SOON, || async {
            let object = pedia_cluster(&host, member).await?;
            let told = of_pods(&object["status"]);
            let words = ["status", "reason", "message"].map(|field| told[field].as_str());
            let is_told = matches!(words, [Some("Stop"), Some("StorageExpection"), Some(why)] if why.starts_with("the store "));
            ensure!(is_told, "pods: {told}");
            Ok(true)
        })
        .await?;
    }
    Ok(())
}

/// What a status says of pods, in one version.
fn of_pods(status: &Value) -> Value {
    let groups = status["syncResources"].as_array().into_iter().flatten();
    let resources = groups.filter_map(|group| group["resources"].as_array());
    let mut pods = resources.flatten().filter(|one| one["name"] == "pods");
    let pods = pods.next().map(|pods| pods["syncConditions"][0].clone());
    pods.unwrap_or_default()
}

/// However many searches and streams they hit: what comes back within ten minutes is the same trouble.
fn is_logged_once(armadex: &Armadex) -> Result<()> {
    let log = armadex.log();
    for words in LINES {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(words)).collect();
        ensure!(lines.len() == 1, "{words}: {}", lines.join("\n"));
    }
    let said = |line: &&str| [" WARN ", "sqlx"].iter().all(|word| line.contains(word));
    let others: Vec<_> = log.lines().filter(said).collect();
    ensure!(others.is_empty(), "{}", others.join("\n"));
    Ok(())
}
