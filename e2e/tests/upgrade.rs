//! An upgrade, there and back: the program of before the newest migration of the store and this one work on one store. One that does not know of histories does so
//! until there is one.
//!
//! The former ones are built from the history of the repository, which takes minutes: `make e2e-upgrade` does that and runs these.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use armadex_databases::{Engine, administer};
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::bodies;
use armadex_e2e::churn::Churn;
use armadex_e2e::equality::{Kind, SEEDED_KINDS};
use armadex_e2e::progress::note;
use armadex_e2e::raw;
use armadex_e2e::scenario::{
    Apart, SOON, TALKATIVE, join_seeded, wait_until_equal, wait_until_watched,
};
use armadex_e2e::store::StoreKind;
use armadex_e2e::{Harness, Options, wait_until};
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

const MEMBER: &str = "member1";
/// It ends when it is told to: this is longer than all that happens meanwhile.
const CHURN: Churn = Churn {
    rate: 40,
    length: Duration::from_secs(600),
    seed: 1,
};
/// Long before the churn ends: each of them prunes what the other one wrote.
const WATCH_WINDOW: &str = "--watch-window=30";
/// How old what is told of the past may be.
const MEASURED: Duration = Duration::from_secs(20);
/// Of what the older one does not know, and would not leave where it is.
const HISTORY: &str = "--history-of=pods";
/// What is said of a store that serves others.
const REFUSAL: &str = "use a newer binary";
/// All that the older one may say: of what it asks of a store at once the first alone hears why, and it may have ended before that is in its log. Programs since then
/// write it there where they find it out.
const END: &str = "the store failed";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "by make e2e-upgrade"]
async fn both_versions_work_on_one_store() -> Result<()> {
    the_story(StoreKind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "by make e2e-upgrade"]
async fn both_versions_work_on_one_store_on_postgresql() -> Result<()> {
    the_story(StoreKind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "by make e2e-upgrade"]
async fn both_versions_work_on_one_store_on_mariadb() -> Result<()> {
    the_story(StoreKind::Mariadb).await
}

async fn the_story(store: StoreKind) -> Result<()> {
    if !store.is_there()? {
        return Ok(());
    }
    let (older, former, own) = (Build::older()?, Build::former()?, Build::own()?);
    let fleet = Harness::start(Options {
        members: 1,
        store: Some(store),
        ..Options::default()
    })
    .await?;
    armadex::install_apart(&fleet).await?;
    let mut then = former.parts(&fleet).await?;
    then.apiserver.register(&fleet).await?;
    fleet.kubectl("host").apply(&former.policy()?).await?;
    join_seeded(&fleet, MEMBER).await?;

    let member = fleet.member(MEMBER)?.client().await?;
    let stop = CancellationToken::new();
    let moved = async {
        let now = there_and_back(&fleet, &own, &mut then).await?;
        stop.cancel();
        anyhow::Ok(now)
    };
    let (done, mut now) = tokio::try_join!(CHURN.run(&member, &stop), moved)?;
    note(format_args!("churn around an upgrade: {done:?}"));
    armadex::check_store(&fleet).await?;
    reads_what_the_member_has(&fleet, &then.apiserver, &mut now.apiserver).await?;
    reads_what_the_member_has(&fleet, &now.apiserver, &mut then.apiserver).await?;
    then.controllers.stop()?;
    now.synchro.restart().await?;
    then.synchro.end();
    wait_until_watched(&now.synchro, 1, SOON).await?;
    then.synchro.restart().await?;
    labels_outlive_the_former_one(&fleet, (&mut now, &mut then)).await?;
    the_older_one_is_refused(&fleet, [&older, &own], &mut now).await?;
    has_what_the_member_has(&fleet).await?;
    now.stop()?;
    then.synchro.end();
    then.apiserver.end();
    armadex::check_store(&fleet).await?;
    this_one_says_why_it_ends(&fleet, &mut now).await?;
    fleet.finish().await;
    Ok(())
}

/// This one migrates the store beside the former one, which goes on, hands the member over and takes it back. Nothing is listed for that.
async fn there_and_back(fleet: &Harness, own: &Build, then: &mut Apart) -> Result<Apart> {
    let now = own.parts(fleet).await?;
    let readers = [then.apiserver.clone(), now.apiserver.clone()];
    is_stored(fleet, &readers, "by-the-former-one").await?;
    then.synchro.end();
    wait_until_watched(&now.synchro, 1, SOON).await?;
    is_stored(fleet, &readers, "by-this-one").await?;
    has_listed_nothing(&now.synchro).await?;
    has_pruned_what_was_before(&now.synchro).await?;
    then.synchro.restart().await?;
    now.synchro.end();
    wait_until_watched(&then.synchro, 1, SOON).await?;
    is_stored(fleet, &readers, "on-the-way-back").await?;
    has_listed_nothing(&then.synchro).await?;
    has_pruned_what_was_before(&then.synchro).await?;
    Ok(now)
}

/// Since it was started.
async fn has_listed_nothing(synchro: &Armadex) -> Result<()> {
    let lists = synchro.counter(armadex::LISTS).await?;
    ensure!(lists == 0.0, "{lists} lists");
    Ok(())
}

/// What was superseded before this one took over, by the other one, whose work it does by now.
async fn has_pruned_what_was_before(synchro: &Armadex) -> Result<()> {
    let begun = Instant::now();
    wait_until("what the other one wrote is pruned", SOON, || async {
        let reaches_back = synchro.counter("armadex_store_past_seconds").await?;
        ensure!(reaches_back > 0.0, "nothing is past");
        let reaches_back = Duration::from_secs_f64(reaches_back) + MEASURED;
        ensure!(reaches_back < begun.elapsed(), "{reaches_back:?}");
        Ok(true)
    })
    .await
}

/// Whoever has the member stores what is made in it now, and each of these reads that.
async fn is_stored(fleet: &Harness, readers: &[Armadex], name: &str) -> Result<()> {
    let create = ["create", "configmap", name, "--namespace=default"];
    fleet.kubectl(MEMBER).run(&create).await?;
    let maps = Kind::CONFIG_MAPS.path_of(MEMBER);
    let maps = maps.replace("/configmaps", "/namespaces/default/configmaps");
    let (path, server) = (format!("{maps}/{name}"), armadex::server_name());
    for reader in readers {
        wait_until(&format!("{name} is read"), SOON, || async {
            let kubeconfig = fleet.host().kubeconfig();
            let asked = raw::get_from(&kubeconfig, reader.listen, &server, &path).await?;
            let answer = asked.context("no answer")?;
            ensure!(answer.code == 200, "{}: {}", answer.code, answer.body);
            Ok(true)
        })
        .await?;
    }
    Ok(())
}

/// While the other one is away: lists, and each object field by field.
async fn reads_what_the_member_has(
    fleet: &Harness,
    reader: &Armadex,
    other: &mut Armadex,
) -> Result<()> {
    other.end();
    reader.register(fleet).await?;
    has_what_the_member_has(fleet).await?;
    let host = fleet.host().client().await?;
    let member = fleet.member(MEMBER)?.client().await?;
    for kind in SEEDED_KINDS {
        bodies::compare(&host, &member, MEMBER, kind).await?;
    }
    other.restart().await
}

/// What the newest migration is for: the former one neither knows of labels of clusters nor takes them away.
async fn labels_outlive_the_former_one(
    fleet: &Harness,
    (now, then): (&mut Apart, &mut Apart),
) -> Result<()> {
    let label = ["label", "--overwrite", "pediacluster", MEMBER, "env=prod"];
    fleet.kubectl("host").run(&label).await?;
    are_chosen(fleet, now).await?;
    all_are_shown_by_the_former_one(fleet, (now, then)).await?;
    now.synchro.end();
    wait_until_watched(&then.synchro, 1, SOON).await?;
    is_stored(fleet, std::slice::from_ref(&now.apiserver), "beside-labels").await?;
    are_chosen(fleet, now).await?;
    now.synchro.restart().await?;
    then.synchro.end();
    wait_until_watched(&now.synchro, 1, SOON).await
}

/// By this one's API server.
async fn are_chosen(fleet: &Harness, now: &Apart) -> Result<()> {
    wait_until("pods are chosen by a label of their cluster", SOON, || {
        has_pods(fleet, &now.apiserver, "clusterSelector=env%3Dprod")
    })
    .await
}

/// Of clusters that have another label, which none has: to the former one that is a parameter of somebody else.
async fn all_are_shown_by_the_former_one(
    fleet: &Harness,
    (now, then): (&Apart, &Apart),
) -> Result<()> {
    for (apart, shown) in [(now, false), (then, true)] {
        let has = has_pods(fleet, &apart.apiserver, "clusterSelector=env%3Dother").await?;
        ensure!(
            has == shown,
            "pods of {:?}: {has}",
            apart.apiserver.record()
        );
    }
    Ok(())
}

/// Whether there are any, asked with this parameter.
async fn has_pods(fleet: &Harness, reader: &Armadex, parameter: &str) -> Result<bool> {
    let pods = format!("{}?limit=1&{parameter}", Kind::PODS.fleet_path());
    let (kubeconfig, server) = (fleet.host().kubeconfig(), armadex::server_name());
    let asked = raw::get_from(&kubeconfig, reader.listen, &server, &pods).await?;
    let answer = asked.context("no answer")?;
    ensure!(answer.code == 200, "{}: {}", answer.code, answer.body);
    Ok(answer.body.contains("\"uid\""))
}

/// What begins now needs programs that know of it: the older one ends with the next that it asks of the store, and does not start again, which it says why.
async fn the_older_one_is_refused(
    fleet: &Harness,
    [older, own]: [&Build; 2],
    now: &mut Apart,
) -> Result<()> {
    let synchro = older.start(fleet, Role::Synchro, &[]).await?;
    let apiserver = older.start(fleet, Role::Apiserver, &[]).await?;
    is_stored(fleet, std::slice::from_ref(&apiserver), "before-histories").await?;
    now.synchro.stop()?;
    now.synchro = own.start(fleet, Role::Synchro, &[HISTORY]).await?;
    wait_until("there is a history", SOON, || async {
        let metrics = now.synchro.metrics().await?;
        Ok(metrics.contains("\narmadex_store_history_bytes"))
    })
    .await?;
    // Nobody has the member by now but the older one.
    now.synchro.end();
    for mut part in [synchro, apiserver] {
        let log = last_words(fleet, &part).await?;
        ensure!(log.contains(REFUSAL) || log.contains(END), "{log}");
        let started = part.restart().await;
        let refused = started.err().context("the older one was let in")?;
        let said = format!("{refused:#}");
        ensure!(said.contains(REFUSAL), "{said}");
    }
    now.synchro.restart().await
}

/// By itself, with the next that it asks of the store.
async fn last_words(fleet: &Harness, part: &Armadex) -> Result<String> {
    wait_until("it ends", SOON, || async {
        // Answered or not; a synchro has no such port.
        let _ = has_pods(fleet, part, "").await;
        Ok(!part.record().is_alive())
    })
    .await?;
    let log = part.log();
    ensure!(!log.contains("panicked at"), "{log}");
    Ok(log)
}

/// What becomes of this one when a later one has changed the store: a server is made to serve later ones alone, as their migration does.
async fn this_one_says_why_it_ends(fleet: &Harness, now: &mut Apart) -> Result<()> {
    if fleet.store().server().is_none() {
        return Ok(());
    }
    now.synchro.restart().await?;
    now.apiserver.restart().await?;
    serve_later_ones_alone(fleet)?;
    for part in [&now.synchro, &now.apiserver] {
        let log = last_words(fleet, part).await?;
        ensure!(log.contains(REFUSAL), "{log}");
    }
    Ok(())
}

fn serve_later_ones_alone(fleet: &Harness) -> Result<()> {
    let server = fleet.store().server().context("a server")?;
    let choose = match server.address().engine() {
        Engine::Postgres => "\\connect fleet",
        Engine::Mysql => "USE fleet;",
    };
    let statements = format!("{choose}\nUPDATE head SET serves = 99;\n");
    block_in_place(|| administer(server.address(), &statements)).map(drop)
}

async fn has_what_the_member_has(fleet: &Harness) -> Result<()> {
    let objects = wait_until_equal(fleet, &[MEMBER], &SEEDED_KINDS, SOON).await?;
    ensure!(objects > 200, "{objects} objects");
    Ok(())
}

/// A program, and what its processes are called.
struct Build {
    binary: PathBuf,
    name: &'static str,
}

impl Build {
    /// Of before the newest migration.
    fn former() -> Result<Self> {
        Self::named("ARMADEX_FORMER_BIN", "former")
    }

    /// Of before stores had histories.
    fn older() -> Result<Self> {
        Self::named("ARMADEX_OLDER_BIN", "older")
    }

    fn named(variable: &str, name: &'static str) -> Result<Self> {
        let binary = std::env::var_os(variable);
        let binary =
            binary.with_context(|| format!("{variable} names no program: `make e2e-upgrade`"))?;
        Ok(Self {
            binary: binary.into(),
            name,
        })
    }

    fn own() -> Result<Self> {
        Ok(Self {
            binary: armadex::binary()?,
            name: "own",
        })
    }

    /// As it was shipped then, beside the program: templates of later ones may call what the former one does not have.
    fn policy(&self) -> Result<String> {
        let place = self.binary.parent();
        let source = place.context("it lies nowhere")?.join("source");
        let policy = source.join("deploy/policies/karmada.yaml");
        std::fs::read_to_string(&policy).with_context(|| policy.display().to_string())
    }

    async fn parts(&self, fleet: &Harness) -> Result<Apart> {
        Ok(Apart {
            controllers: self.start(fleet, Role::Controllers, &[]).await?,
            synchro: self.start(fleet, Role::Synchro, &[]).await?,
            apiserver: self.start(fleet, Role::Apiserver, &[]).await?,
        })
    }

    async fn start(&self, fleet: &Harness, role: Role, extra: &[&str]) -> Result<Armadex> {
        let name = format!("armadex-{}-{}", self.name, role.command());
        let kubeconfig = fleet.folder().account_kubeconfig(role.account());
        let mut extra = [&[TALKATIVE], extra].concat();
        if role == Role::Synchro {
            extra.push(WATCH_WINDOW);
        }
        let binary = self.binary.clone();
        Armadex::start_built(fleet, binary, role, (&name, &kubeconfig), &extra).await
    }
}
