//! What is said of metrics elsewhere is what a real process serves: the names and labels that alerts and the dashboard ask for, and the page that lists them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use armadex_e2e::armadex::{self, Armadex, Role};
use armadex_e2e::scenario::{Apart, SOON, TALKATIVE, wait_until_watched};
use armadex_e2e::{Harness, Options, chart, deploy, wait_until};

use crate::monitoring::{all_groups, dashboard, rules};

/// Labels that Prometheus gives to all series of a pod.
const GIVEN: [&str; 3] = ["namespace", "job", "pod"];

/// What is told of a series.
#[derive(Debug, Default, PartialEq, Eq)]
struct Series {
    labels: BTreeSet<String>,
    words: String,
}

type AllSeries = BTreeMap<String, Series>;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_of_metrics_is_what_processes_serve() -> Result<()> {
    let fleet = Harness::start(Options {
        members: 1,
        ..Options::default()
    })
    .await?;
    armadex::install_apart(&fleet).await?;
    let with_store = [TALKATIVE, "--history-of=pods"];
    let armadex = Apart {
        controllers: Armadex::start(&fleet, Role::Controllers, &[TALKATIVE]).await?,
        synchro: Armadex::start(&fleet, Role::Synchro, &with_store).await?,
        apiserver: Armadex::start_registered(&fleet, Role::Apiserver, &with_store).await?,
    };
    fleet.kubectl("host").apply(&deploy::policy()?).await?;
    fleet.join("member1").await?;
    wait_until_watched(&armadex.synchro, 1, SOON).await?;
    let told = page();
    wait_until("all that is told of", SOON, || async {
        let served = served_by(&armadex).await?;
        let missing = told.keys().filter(|name| !served.contains_key(*name));
        let missing = Vec::from_iter(missing);
        ensure!(missing.is_empty(), "there is no {missing:?}");
        Ok(true)
    })
    .await?;
    let served = served_by(&armadex).await?;
    for name in told.keys().chain(served.keys()) {
        let (told, served) = (told.get(name), served.get(name));
        assert_eq!(
            told, served,
            "{name} in docs/metrics.md, and as it is served"
        );
    }
    for expression in alerts()?.into_iter().chain(dashboard()) {
        is_answered(&expression, &served)?;
    }
    armadex.stop()?;
    fleet.finish().await;
    Ok(())
}

async fn served_by(armadex: &Apart) -> Result<AllSeries> {
    let Apart {
        controllers,
        synchro,
        apiserver,
    } = armadex;
    let mut text = String::new();
    for part in [controllers, synchro, apiserver] {
        text += &part.metrics().await?;
    }
    served(&text)
}

/// The series of a text of metrics.
fn served(text: &str) -> Result<AllSeries> {
    let helps = text.lines().filter_map(|line| line.strip_prefix("# HELP "));
    let helps: BTreeMap<&str, &str> = helps.filter_map(|help| help.split_once(' ')).collect();
    let mut all = AllSeries::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, _) = line.rsplit_once(' ').context("a value")?;
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let family = ["_total", "_info"]
            .iter()
            .find_map(|end| name.strip_suffix(end));
        let words = helps.get(family.unwrap_or(name));
        let words = words.with_context(|| format!("{name} has no words"))?;
        let told = all.entry(name.to_owned()).or_default();
        told.labels.extend(label_names(labels));
        words.trim_end_matches('.').clone_into(&mut told.words);
    }
    Ok(all)
}

/// The names of `a="1",b=~"2"}`.
fn label_names(labels: &str) -> impl Iterator<Item = String> {
    let labels = labels.trim_end_matches('}').split(',');
    let names = labels.filter_map(|label| Some(label.split_once('=')?.0));
    names.map(|name| name.trim().trim_end_matches('!').to_owned())
}

/// The series of the page about metrics, `| name | labels | words |`.
fn page() -> AllSeries {
    let page = std::fs::read_to_string(chart::folder().join("../../docs/metrics.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `armadex_"));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let series = cells.map(|cells| {
        let labels = cells[2].split(", ").filter(|label| !label.is_empty());
        let labels = labels.map(|label| label.trim_matches('`').to_owned());
        let series = Series {
            labels: labels.collect(),
            words: cells[3].to_owned(),
        };
        (cells[1].trim_matches('`').to_owned(), series)
    });
    series.collect()
}

/// What all alerts ask for.
fn alerts() -> Result<Vec<String>> {
    let rules = rules(&all_groups()?);
    let asked = rules.iter().map(|rule| rule["expr"].as_str());
    let asked = asked.map(|text| text.map(str::to_owned));
    asked
        .collect::<Option<_>>()
        .context("each has an expression")
}

/// The metrics that an expression names, with the labels that it asks them for.
fn metrics(expression: &str) -> Vec<(String, BTreeSet<String>)> {
    let parts = expression.split("armadex_").skip(1);
    let named = parts.map(|part| {
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = part
            .find(|letter| !is_of_name(letter))
            .unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let labels = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let labels = label_names(labels.map_or("", |(labels, _)| labels));
        (format!("armadex_{name}"), labels.collect())
    });
    named.collect()
}

/// The labels by which an expression puts series together.
fn grouped(expression: &str) -> BTreeSet<String> {
    let lists = ["by (", "on ("].map(|word| expression.split(word).skip(1));
    let lists = lists.into_iter().flatten();
    let names = lists.flat_map(|list| list.split(')').next().unwrap_or_default().split(','));
    names.map(|name| name.trim().to_owned()).collect()
}

fn is_answered(expression: &str, served: &AllSeries) -> Result<()> {
    let mut known: BTreeSet<&str> = GIVEN.into();
    for (name, labels) in metrics(expression) {
        let series = served.get(&name);
        let series = series.with_context(|| format!("{expression}: there is no {name}"))?;
        known.extend(series.labels.iter().map(String::as_str));
        let mut asked = labels.iter().map(String::as_str);
        let is_there = |label: &str| GIVEN.contains(&label) || series.labels.contains(label);
        ensure!(asked.all(is_there), "{expression}: {name} has {series:?}");
    }
    let unknown = grouped(expression);
    let unknown = unknown.iter().find(|label| !known.contains(label.as_str()));
    ensure!(unknown.is_none(), "{expression}: nothing has {unknown:?}");
    Ok(())
}

#[test]
fn an_expression_with_a_name_or_a_label_that_there_is_not_is_seen() -> Result<()> {
    let text = "# HELP armadex_cluster_up Up\narmadex_cluster_up{cluster=\"m\"} 1\n# HELP armadex_sync_added Added.\narmadex_sync_added_total 2\n";
    let served = served(text)?;
    assert_eq!(served["armadex_sync_added_total"].words, "Added");
    for (expression, is_right) in [
        (
            "max by (pod, cluster) (armadex_cluster_up{job=\"a\", cluster!=\"m\"}) == 0",
            true,
        ),
        ("rate(armadex_sync_added_total[5m])", true),
        ("armadex_cluster_down", false),
        ("armadex_sync_added", false),
        ("armadex_cluster_up{kind=~\"a\"}", false),
        ("sum by (lease) (armadex_cluster_up)", false),
        (
            "armadex_cluster_up unless on (kind) armadex_cluster_up",
            false,
        ),
    ] {
        assert_eq!(
            is_answered(expression, &served).is_ok(),
            is_right,
            "{expression}"
        );
    }
    Ok(())
}

/// What a large fleet is told to leave out, and what it keeps.
#[test]
fn what_the_page_leaves_out_of_a_large_fleet_no_alert_asks_for() -> Result<()> {
    let page = std::fs::read_to_string(chart::folder().join("../../docs/metrics.md")).unwrap();
    let rules = page
        .lines()
        .filter_map(|line| line.trim().strip_prefix("regex: "));
    let patterns: Vec<&str> = rules.flat_map(|rule| rule.split('|')).collect();
    assert!(patterns.len() > 2, "{patterns:?}");
    let is_left_out = |name: &str| {
        patterns
            .iter()
            .any(|pattern| match pattern.strip_suffix(".*") {
                Some(start) => name.starts_with(start),
                None => name == *pattern,
            })
    };
    let asked = alerts()?;
    let asked: BTreeSet<String> = asked
        .iter()
        .flat_map(|expression| metrics(expression))
        .map(|(name, _)| name)
        .collect();
    let mut of_a_member = 0;
    for (name, series) in self::page() {
        if series.labels.contains("cluster") {
            of_a_member += 1;
            assert_eq!(is_left_out(&name), !asked.contains(&name), "{name}");
        } else {
            assert!(!is_left_out(&name), "{name}");
        }
    }
    let words = format!("A member has {of_a_member} series");
    assert!(page.contains(&words), "{words}");
    Ok(())
}
