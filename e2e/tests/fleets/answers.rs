//! What Armadex answers beside what the member itself answers: bodies, Tables, selectors and orders, of every kind that the shipped policy
//! collects.
//!
//! One member has seeded objects of most kinds, and samples of every kind with labels, times of their own and a status that shows in its columns. Armadex is
//! asked page by page, the member for everything at once.

mod samples;

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use armadex_e2e::bodies;
use armadex_e2e::equality::{COLLECTED_KINDS, Kind, objects, selected_by};
use armadex_e2e::etcd::Writer;
use armadex_e2e::progress::note;
use armadex_e2e::scenario::{SOON, on_board, wait_until_equal};
use armadex_e2e::seed::{self, Plan};
use armadex_e2e::table::Table;
use armadex_e2e::{Harness, Options, wait_until};
use kube::Client;
use serde_json::Value;

const MEMBER: &str = "member1";
/// Objects whose labels are selected by, of each kind.
const LABELLED: usize = 3;
/// What can be asked of objects without labels.
const NO_LABELS: [&str; 2] = ["no-such-label", "!no-such-label"];
/// The longest page; a shorter one where there are few, so that every list of a kind goes on.
const PAGE: usize = 20;
/// What lists can be sorted by, and where that stands in an object.
const ORDERS: [(&str, &str); 5] = [
    ("namespace", "/metadata/namespace"),
    ("name", "/metadata/name"),
    ("created_at", "/metadata/creationTimestamp"),
    ("resource_version", "/metadata/resourceVersion"),
    ("uid", "/metadata/uid"),
];

#[tokio::test(flavor = "multi_thread")]
async fn armadex_answers_what_the_member_answers() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 1,
        ..Options::default()
    })
    .await?;
    let cluster = fleet.member(MEMBER)?;
    let plan = Plan {
        count: 300,
        seed: 1,
    };
    seed::put(&cluster, plan).await?;
    let writer = Writer::new(cluster.etcd().clone());
    for (key, json) in samples::all() {
        writer.put(&key, &json).await?;
    }
    let armadex = on_board(&fleet).await?;
    fleet.join(MEMBER).await?;
    wait_until_equal(&fleet, &[MEMBER], &COLLECTED_KINDS, SOON).await?;
    let both = Both {
        member: cluster.client().await?,
        host: fleet.host().client().await?,
    };
    let mut asked = 0;
    for kind in COLLECTED_KINDS {
        both.have_the_same_bodies(kind).await?;
        both.print_the_same_table(kind).await?;
        asked += both.select_the_same(kind).await?;
        both.sort_alike(kind).await?;
    }
    note(format_args!("{asked} label selectors have the same answer"));
    secrets_are_read_back_without_their_values(&both).await?;
    armadex.stop()?;
    fleet.finish().await;
    Ok(())
}

/// The two that are compared.
struct Both {
    member: Client,
    host: Client,
}

impl Both {
    /// In a list, and one by one.
    async fn have_the_same_bodies(&self, kind: Kind) -> Result<()> {
        let count = bodies::compare(&self.host, &self.member, MEMBER, kind).await?;
        ensure!(count > 0, "{}: there is none to compare", kind.path());
        let places = selected_by(&self.member, kind.path(), &[]).await?;
        for place in places.iter().take(LABELLED) {
            bodies::compare_one(&self.host, &self.member, MEMBER, kind, place).await?;
        }
        Ok(())
    }

    /// An age may change between the two questions, so they are asked again.
    async fn print_the_same_table(&self, kind: Kind) -> Result<()> {
        let path = kind.path();
        wait_until(&format!("{path}: the same Table"), SOON, || async {
            let theirs = Table::of(&self.member, path).await?;
            let ours = Table::of(&self.host, &kind.path_of(MEMBER)).await?;
            let ours = ours.without("Cluster", MEMBER)?;
            ensure!(
                ours.columns == theirs.columns,
                "{:#?} instead of {:#?}",
                ours.columns,
                theirs.columns
            );
            for (place, cells) in &theirs.rows {
                let own = ours.rows.get(place);
                ensure!(own == Some(cells), "{place}: {own:?} instead of {cells:?}");
            }
            ensure!(ours.rows.len() == theirs.rows.len(), "more rows");
            Ok(true)
        })
        .await
    }

    /// By what some of the objects are labelled with; gives how many selectors were asked.
    async fn select_the_same(&self, kind: Kind) -> Result<usize> {
        let all = objects(&self.member, kind.path(), &[]).await?;
        let (selectors, limit) = (selectors(&all), page(&all));
        ensure!(
            selectors.len() > NO_LABELS.len(),
            "{}: none has a label",
            kind.path()
        );
        for selector in &selectors {
            let asked = [("labelSelector", selector.as_str()), ("limit", &limit)];
            let theirs = selected_by(&self.member, kind.path(), &asked[..1]).await?;
            let ours = selected_by(&self.host, &kind.path_of(MEMBER), &asked).await?;
            ensure!(
                theirs == ours,
                "{}, {selector}: the member finds {theirs:?}, Armadex {ours:?}",
                kind.path()
            );
        }
        Ok(selectors.len())
    }

    /// The member has no orders, so its answer is sorted here: the values must come in the same sequence.
    async fn sort_alike(&self, kind: Kind) -> Result<()> {
        let theirs = objects(&self.member, kind.path(), &[]).await?;
        let limit = page(&theirs);
        let times = keys(&theirs, "/metadata/creationTimestamp");
        ensure!(
            times.iter().any(|time| *time != times[0]),
            "{}: nothing to sort",
            kind.path()
        );
        for (field, pointer) in ORDERS {
            let mut sorted = keys(&theirs, pointer);
            sorted.sort();
            for (order, is_descending) in
                [(field.to_owned(), false), (format!("{field} desc"), true)]
            {
                let asked = [("orderby", order.as_str()), ("limit", &limit)];
                let ours = objects(&self.host, &kind.path_of(MEMBER), &asked).await?;
                let mut found = keys(&ours, pointer);
                if is_descending {
                    found.reverse();
                }
                ensure!(
                    found == sorted,
                    "{}, {order}: {found:?} instead of {sorted:?}",
                    kind.path()
                );
            }
        }
        Ok(())
    }
}

/// Half of what there is, or less.
fn page(all: &[Value]) -> String {
    (all.len() / 2).clamp(1, PAGE).to_string()
}

/// A value to sort by: versions are numbers.
fn keys(objects: &[Value], pointer: &str) -> Vec<(u64, String)> {
    let text = |object: &Value| object.pointer(pointer)?.as_str().map(str::to_owned);
    let keys = objects
        .iter()
        .map(|object| text(object).unwrap_or_default());
    let number = |text: &String| match pointer {
        "/metadata/resourceVersion" => text.parse().unwrap_or_default(),
        _ => 0,
    };
    keys.map(|text| (number(&text), text)).collect()
}

/// Every operator, on labels that some objects have and others have not, alone and together.
fn selectors(objects: &[Value]) -> BTreeSet<String> {
    let labelled = objects
        .iter()
        .filter_map(|object| object["metadata"]["labels"].as_object());
    let mut selectors = BTreeSet::from(NO_LABELS.map(str::to_owned));
    for labels in labelled.take(LABELLED) {
        let pairs = labels
            .iter()
            .filter_map(|(name, value)| Some((name, value.as_str()?)));
        for (name, value) in pairs {
            for selector in [
                format!("{name}={value}"),
                format!("{name}!={value}"),
                format!("{name} in ({value},no-such-value)"),
                format!("{name} notin ({value},no-such-value)"),
                name.clone(),
                format!("!{name}"),
                format!("{name}={value},no-such-label!=x"),
                format!("{name},{name}!={value}"),
            ] {
                selectors.insert(selector);
            }
        }
    }
    selectors
}

/// What is compared with the member as it has to be is not yet what it is for: there were values, and none is served.
async fn secrets_are_read_back_without_their_values(both: &Both) -> Result<()> {
    let values = |object: &Value| {
        let data = object["data"].as_object();
        let values = data.into_iter().flatten().map(|(_, value)| value.clone());
        values.collect::<Vec<_>>()
    };
    let theirs = objects(&both.member, Kind::SECRETS.path(), &[]).await?;
    let ours = objects(&both.host, &Kind::SECRETS.path_of(MEMBER), &[]).await?;
    let secret: Vec<_> = theirs
        .iter()
        .flat_map(values)
        .filter(|value| value != "")
        .collect();
    let served: Vec<_> = ours.iter().flat_map(values).collect();
    ensure!(!secret.is_empty(), "the member has no Secret with a value");
    ensure!(served.len() >= secret.len(), "keys of Secrets are missing");
    ensure!(served.iter().all(|value| value == ""), "a value is served");
    let sample = theirs
        .iter()
        .find(|secret| secret["metadata"]["name"] == samples::SECRET);
    let sample = sample.context("the member does not serve the sample")?;
    ensure!(sample["data"]["password"] == samples::PASSWORD, "{sample}");
    Ok(())
}
