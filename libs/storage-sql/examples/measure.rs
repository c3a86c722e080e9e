//! How fast and how small: `cargo run --release -p armadex-storage-sql --example measure [PODS]`.
//!
//! Writes pods of a fleet whose words the dictionaries have not seen, in batches of 500, then reads them in every way that has an aim in
//! docs/performance.md. The bodies are made beforehand; the figures are the store's alone.

#[path = "objects/objects.rs"]
#[allow(dead_code, unused_imports)]
mod objects;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use armadex_model::label::Requirement;
use armadex_model::query::{OrderBy, OrderField, Start};
use armadex_model::{ClusterName, GroupVersionResource, ObjectKey, Query, ResourceType, Term};
use armadex_storage::{Batch, Change, ClusterId, Object, PageBudget, Search, Sink, Stream};
use armadex_storage_sql::{Options, SqlStore};
use objects::{FAMILIES, Fleet};

const BATCH: usize = 500;
/// Of fleets above those that the dictionaries were trained on.
const UNSEEN: u64 = 5000;
const NAMESPACES: u32 = 40;

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let count: u32 = std::env::args()
        .nth(1)
        .map_or(Ok(20_000), |text| text.parse())?;
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("store.db");
    let store = Arc::new(SqlStore::sqlite(&path, &Options::default()).await?);
    let pods = pods(count);
    let bytes: usize = pods.iter().map(|pod| pod.body.len()).sum();
    say(&format!(
        "{count} pods of {} bytes on average",
        bytes / pods.len()
    ));
    write(&store, &pods).await?;
    read(&store, count).await?;
    store.shutdown().await;
    let size = std::fs::metadata(&path)?.len();
    say(&format!(
        "{} bytes an object on disk",
        size / u64::from(count)
    ));
    tables(&path).await
}

fn pods(count: u32) -> Vec<Object> {
    let mut fleet = Fleet::new(UNSEEN);
    (0..count).map(|number| pod(&mut fleet, number)).collect()
}

/// Ten labels, all indexed fields and an owner for every five, as real pods have.
fn pod(fleet: &mut Fleet, number: u32) -> Object {
    let body = (FAMILIES[0].make)(fleet);
    let app = fleet.app();
    let set = number / 5;
    let mut terms = Vec::new();
    for (key, value) in [
        ("app", app.clone()),
        ("team", fleet.team()),
        ("tier", fleet.tier().to_owned()),
        ("environment", "prod".to_owned()),
        ("pod-template-hash", format!("{set:x}")),
        ("app.kubernetes.io/name", app.clone()),
        ("app.kubernetes.io/instance", app),
        ("app.kubernetes.io/version", format!("{}", fleet.below(20))),
        ("app.kubernetes.io/managed-by", "Helm".to_owned()),
        ("hundredth", format!("{}", fleet.below(100))),
    ] {
        terms.push(Term::Label {
            key: key.into(),
            value,
        });
        terms.push(Term::LabelKey { key: key.into() });
    }
    let phase = if fleet.chance(1) { "Failed" } else { "Running" };
    terms.extend(
        [
            ("spec.nodeName", fleet.node()),
            ("spec.restartPolicy", "Always".to_owned()),
            ("spec.schedulerName", "default-scheduler".to_owned()),
            ("spec.serviceAccountName", fleet.app()),
            ("spec.hostNetwork", "false".to_owned()),
            ("status.phase", phase.to_owned()),
            (
                "status.podIP",
                format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255),
            ),
            ("status.nominatedNodeName", String::new()),
        ]
        .map(|(path, value)| Term::Field { path, value }),
    );
    terms.push(Term::Owner {
        uid: format!("uid-of-set-{set}"),
    });
    Object {
        key: ObjectKey::new(
            format!("namespace-{:02}", number * NAMESPACES / 20_000 % NAMESPACES),
            format!("pod-{number}-{}", fleet.suffix()),
        ),
        uid: fleet.uid(),
        resource_version: (1_000_000 + number).to_string(),
        created: 1_700_000_000 + i64::from(fleet.below(10_000_000)),
        terms,
        body: body.into_bytes().into(),
    }
}

async fn write(store: &Arc<SqlStore>, pods: &[Object]) -> Result<(), Failure> {
    let (cluster, stream) = open(store).await?;
    let half = pods.len() / 2;
    let start = Instant::now();
    // Two writers, as two streams would be; they share one cluster here.
    let (first, second) = pods.split_at(half);
    let write = async |part: &[Object]| -> Result<(), Failure> {
        for objects in part.chunks(BATCH) {
            store.write(batch(cluster, &stream, objects)).await?;
        }
        Ok(())
    };
    let (a, b) = tokio::join!(write(first), write(second));
    a.and(b)?;
    rate("write", pods.len(), start.elapsed());
    let start = Instant::now();
    write(pods).await?;
    rate("replay", pods.len(), start.elapsed());
    let mut changed = pods.to_vec();
    for pod in &mut changed {
        pod.resource_version.push('0');
    }
    let start = Instant::now();
    write(&changed).await?;
    rate("update, same labels", pods.len(), start.elapsed());
    Ok(())
}

fn batch(cluster: ClusterId, stream: &Stream, objects: &[Object]) -> Batch {
    Batch {
        cluster,
        resource: stream.resource,
        rules: armadex_storage::Rules(1),
        epoch: stream.epoch,
        whole: true,
        changes: objects.iter().cloned().map(Change::Put).collect(),
        position: None,
    }
}

async fn open(store: &SqlStore) -> Result<(ClusterId, Stream), Failure> {
    let resource = ResourceType {
        gvr: GroupVersionResource::new("", "v1", "pods"),
        kind: "Pod".into(),
        namespaced: true,
        singular: "pod".into(),
        short_names: vec!["po".into()],
        categories: vec![],
    };
    let cluster = store
        .join(&ClusterName::new("member1")?, "incarnation", "")
        .await?;
    let stream = store
        .open(cluster, &resource, armadex_storage::Rules(1))
        .await?;
    Ok((cluster, stream))
}

async fn read(store: &SqlStore, count: u32) -> Result<(), Failure> {
    let all = Query::all(GroupVersionResource::new("", "v1", "pods"));
    let start = Instant::now();
    let rows = list(store, &all, 500).await?;
    rate("list all", rows, start.elapsed());
    assert_eq!(rows, count as usize, "every pod is listed");
    for (name, query) in selected(&all).into_iter().chain(sorted(&all)) {
        measure(store, name, &query).await?;
    }
    Ok(())
}

fn label(key: &str, values: &[&str]) -> Vec<Requirement> {
    vec![Requirement::is_in(key, values.iter().copied())]
}

fn selected(all: &Query) -> [(&'static str, Query); 6] {
    [
        ("page of 500", all.clone()),
        (
            "label, no match",
            Query {
                labels: label("app", &["no-such"]),
                ..all.clone()
            },
        ),
        (
            "label, 1 %",
            Query {
                labels: label("hundredth", &["7"]),
                ..all.clone()
            },
        ),
        (
            "label, all",
            Query {
                labels: label("environment", &["prod"]),
                ..all.clone()
            },
        ),
        (
            "field, 1 %",
            Query {
                fields: label("status.phase", &["Failed"]),
                ..all.clone()
            },
        ),
        (
            "notin, all but 1 %",
            Query {
                labels: vec![Requirement::is_not_in("hundredth", ["7"])],
                ..all.clone()
            },
        ),
    ]
}

fn sorted(all: &Query) -> [(&'static str, Query); 4] {
    let by = |field, descending| vec![OrderBy { field, descending }];
    [
        (
            "newest",
            Query {
                order: by(OrderField::CreatedAt, true),
                ..all.clone()
            },
        ),
        (
            "by name",
            Query {
                order: by(OrderField::Name, false),
                ..all.clone()
            },
        ),
        (
            "by uid",
            Query {
                order: by(OrderField::Uid, false),
                ..all.clone()
            },
        ),
        (
            "newest of 1 %",
            Query {
                labels: label("hundredth", &["7"]),
                order: by(OrderField::CreatedAt, true),
                ..all.clone()
            },
        ),
    ]
}

async fn measure(store: &SqlStore, name: &str, query: &Query) -> Result<(), Failure> {
    const TIMES: u32 = 20;
    for rows in [500, 100] {
        let budget = PageBudget {
            rows,
            bytes: 4 << 20,
        };
        let start = Instant::now();
        let (mut found, mut looked_at) = (0, 0);
        for _ in 0..TIMES {
            let page = store.page(query, &Start::Beginning, budget).await?;
            (found, looked_at) = (page.rows.len(), page.looked_at);
        }
        let took = start.elapsed() / TIMES;
        say(&format!(
            "{name}, page of {rows}: {found} rows in {took:.1?}, {looked_at} looked at"
        ));
    }
    let start = Instant::now();
    let count = store.count(query).await?;
    say(&format!(
        "{name}, count: {count:?} in {:.1?}",
        start.elapsed()
    ));
    Ok(())
}

async fn list(store: &SqlStore, query: &Query, rows: u32) -> Result<usize, Failure> {
    let budget = PageBudget {
        rows,
        bytes: 4 << 20,
    };
    let mut start = Start::Beginning;
    let mut count = 0;
    loop {
        let page = store.page(query, &start, budget).await?;
        count += page.rows.len();
        match page.next {
            Some(position) => start = Start::After(position),
            None => return Ok(count),
        }
    }
}

/// What each table takes.
async fn tables(path: &Path) -> Result<(), Failure> {
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(path)
        .read_only(true);
    let pool = sqlx::SqlitePool::connect_with(options).await?;
    let sums = sqlx::query_as::<_, (String, i64)>(
        "SELECT name, SUM(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 8",
    );
    // dbstat is not in every build of SQLite.
    if let Ok(sums) = sums.fetch_all(&pool).await {
        for (table, bytes) in sums {
            say(&format!("  {table}: {bytes} bytes"));
        }
    }
    Ok(())
}

fn rate(what: &str, count: usize, took: Duration) {
    let rate = count as f64 / took.as_secs_f64();
    say(&format!("{what}: {count} in {took:.2?}, {rate:.0}/s"));
}

/// A report is for the terminal.
#[allow(clippy::print_stdout)]
fn say(line: &str) {
    println!("{line}");
}
