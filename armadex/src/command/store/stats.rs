//! `armadex store stats`: what is stored, and what it costs.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::Context as _;
use armadex_storage_sql::{DictionaryShare, Disk, HistoryShare, Past, Share, StoreStats};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::store::StoreFlags;
use crate::visible::visible_name;

/// Tell how many objects, versions and index entries a store has, and how many bytes they take, by type and by cluster, and leave.
///
/// Everything is read, so a busy store is slowed down by it.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    store: StoreFlags,
    /// How it is told: tables of the largest, or everything as JSON.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// Adds up, prints and leaves.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let location = flags.store.existing().await?;
    let store = flags.store.open_as_it_is().await?;
    let stats = store.stats().await;
    store.shutdown().await;
    let stats = stats.with_context(|| format!("cannot read {location}"))?;
    let told = match flags.output {
        Output::Text => text(&stats),
        Output::Json => format!("{:#}\n", json(&stats)),
    };
    std::io::stdout().lock().write_all(told.as_bytes())?;
    Ok(())
}

/// Lines of a table; the rest is one line.
const MOST: usize = 20;

/// What is added up for a line.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    objects: u64,
    served: u64,
    stored: u64,
    past: u64,
    past_bytes: u64,
    trained: u64,
    entries: u64,
    index: u64,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.objects += other.objects;
        self.served += other.served;
        self.stored += other.stored;
        self.past += other.past;
        self.past_bytes += other.past_bytes;
        self.trained += other.trained;
        self.entries += other.entries;
        self.index += other.index;
    }

    fn of(share: &Share) -> Self {
        Self {
            objects: share.objects,
            served: share.served_bytes,
            stored: share.stored_bytes,
            past: share.past,
            past_bytes: share.past_bytes,
            trained: share.trained,
            entries: share.entries,
            index: share.index_bytes,
        }
    }

    fn cells(&self, name: &str) -> [String; 9] {
        [
            name.to_owned(),
            self.objects.to_string(),
            bytes(self.served),
            bytes(self.stored),
            self.past.to_string(),
            bytes(self.past_bytes),
            self.trained.to_string(),
            self.entries.to_string(),
            bytes(self.index),
        ]
    }
}

fn text(stats: &StoreStats) -> String {
    let by_type = table("TYPE", &stats.shares, |share| {
        resource(&share.group, &share.resource)
    });
    let by_cluster = table("CLUSTER", &stats.shares, |share| {
        let left = if share.has_left { " (left)" } else { "" };
        format!("{}{left}", share.cluster)
    });
    let StoreStats {
        revision,
        pruned,
        past: Past { bytes: past, age },
        ..
    } = stats;
    let (past, seconds) = (bytes(*past), age.as_secs());
    let histories = histories(stats);
    let disk = disk(&stats.disk);
    let dictionaries = dictionaries(&stats.dictionaries);
    format!(
        "revision {revision}, changes since {pruned}: {past} of the last {seconds} s\n{histories}{disk}\n{by_type}\n{by_cluster}{dictionaries}"
    )
}

fn resource(group: &str, resource: &str) -> String {
    match group {
        "" => resource.to_owned(),
        group => format!("{resource}.{group}"),
    }
}

/// Which types have one and since when, and what is kept for all: nothing where none has any.
fn histories(stats: &StoreStats) -> String {
    if stats.histories.is_empty() {
        return String::new();
    }
    let Past { bytes: kept, age } = &stats.kept;
    let (kept, seconds) = (bytes(*kept), age.as_secs());
    let told = stats.histories.iter().take(MOST).map(|share| {
        let named = visible_name(&resource(&share.group, &share.resource));
        format!("{named} since {}", share.since)
    });
    let others = stats.histories.len().saturating_sub(MOST);
    let others = (others > 0).then(|| format!("{others} others"));
    let told: Vec<String> = told.chain(others).collect();
    format!(
        "history of {}: {kept} of the last {seconds} s\n",
        told.join(", ")
    )
}

/// One line for each, the last trained first: nothing where there is none.
fn dictionaries(trained: &[DictionaryShare]) -> String {
    if trained.is_empty() {
        return String::new();
    }
    let title = ["DICTIONARY OF", "NUMBER", "OF OBJECTS", "BYTES"].map(String::from);
    let lines = trained.iter().rev().take(MOST).map(|one| {
        [
            resource(&one.group, &one.resource),
            one.number.to_string(),
            one.objects.to_string(),
            bytes(one.bytes),
        ]
    });
    let mut lines: Vec<_> = std::iter::once(title).chain(lines).collect();
    let others = trained.len().saturating_sub(MOST);
    if others > 0 {
        let rest = trained[..others].iter().map(|one| one.bytes).sum();
        let name = format!("{others} others");
        lines.push([name, String::new(), String::new(), bytes(rest)]);
    }
    format!("\n{}", aligned(&lines))
}

/// One line for each of `name`, the largest first, and one for all.
fn table(title: &str, shares: &[Share], name: impl Fn(&Share) -> String) -> String {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    let mut all = Sums::default();
    for share in shares {
        sums.entry(name(share)).or_default().add(Sums::of(share));
        all.add(Sums::of(share));
    }
    let mut sums = Vec::from_iter(sums);
    sums.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.stored + sums.index));
    let title = [
        title, "OBJECTS", "SERVED", "STORED", "PAST", "OF IT", "TRAINED", "ENTRIES", "INDEX",
    ];
    let mut lines = vec![title.map(String::from)];
    lines.extend(sums.iter().take(MOST).map(|(name, sums)| sums.cells(name)));
    if let Some(others) = sums.get(MOST..).filter(|others| !others.is_empty()) {
        let mut rest = Sums::default();
        others.iter().for_each(|(_, sums)| rest.add(*sums));
        lines.push(rest.cells(&format!("{} others", others.len())));
    }
    lines.push(all.cells("all"));
    aligned(&lines)
}

/// Names to the left, figures to the right. A name is whatever the database has for one.
fn aligned<const N: usize>(lines: &[[String; N]]) -> String {
    let mut lines = lines.to_vec();
    for line in &mut lines {
        line[0] = visible_name(&line[0]);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut text = String::new();
    for line in &lines {
        text.push_str(&format!("{:<width$}", line[0], width = widths[0]));
        for (cell, width) in line.iter().zip(widths).skip(1) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        text.push('\n');
    }
    text
}

fn disk(disk: &Disk) -> String {
    if disk.total == 0 {
        return String::new();
    }
    let tables = disk.tables.iter().take(MOST);
    let tables = tables.map(|(name, size)| [name.clone(), bytes(*size)]);
    let title = ["TABLE OR INDEX", "BYTES"].map(String::from);
    let lines: Vec<[String; 2]> = std::iter::once(title).chain(tables).collect();
    format!(
        "{} on disk, {} of it free\n\n{}",
        bytes(disk.total),
        bytes(disk.free),
        aligned(&lines)
    )
}

/// Three figures, in powers of ten.
pub(super) fn bytes(number: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let (mut value, mut unit) = (number as f64, 0);
    while value >= 999.5 {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = match value {
        _ if unit == 0 => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {}", units[unit])
}

fn json(stats: &StoreStats) -> Value {
    let StoreStats {
        revision,
        pruned,
        history,
        histories,
        past,
        kept,
        disk,
        shares,
        dictionaries,
    } = stats;
    let told = |past: &Past| json!({ "bytes": past.bytes, "seconds": past.age.as_secs() });
    let tables = disk.tables.iter();
    let tables = tables.map(|(name, bytes)| (name.clone(), json!(bytes)));
    json!({
        "revision": revision,
        "pruned": pruned,
        "past": told(past),
        "history": history,
        "kept": told(kept),
        "histories": histories.iter().map(json_of_history).collect::<Vec<_>>(),
        "disk": {
            "total": disk.total,
            "free": disk.free,
            "tables": tables.collect::<serde_json::Map<_, _>>(),
        },
        "shares": shares.iter().map(json_of_share).collect::<Vec<_>>(),
        "dictionaries": dictionaries.iter().map(json_of_dictionary).collect::<Vec<_>>(),
    })
}

fn json_of_history(share: &HistoryShare) -> Value {
    let HistoryShare {
        group,
        version,
        resource,
        since,
    } = share;
    json!({ "group": group, "version": version, "resource": resource, "since": since })
}

fn json_of_dictionary(dictionary: &DictionaryShare) -> Value {
    let DictionaryShare {
        group,
        version,
        resource,
        number,
        objects,
        bytes,
    } = dictionary;
    json!({
        "group": group,
        "version": version,
        "resource": resource,
        "number": number,
        "objects": objects,
        "bytes": bytes,
    })
}

fn json_of_share(share: &Share) -> Value {
    let Share {
        cluster,
        has_left,
        group,
        version,
        resource,
        objects,
        served_bytes,
        stored_bytes,
        past,
        past_bytes,
        trained,
        blocks,
        entries,
        index_bytes,
    } = share;
    json!({
        "cluster": cluster,
        "left": has_left,
        "group": group,
        "version": version,
        "resource": resource,
        "objects": objects,
        "servedBytes": served_bytes,
        "storedBytes": stored_bytes,
        "past": past,
        "pastBytes": past_bytes,
        "trained": trained,
        "blocks": blocks,
        "entries": entries,
        "indexBytes": index_bytes,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn share(cluster: &str, resource: &str, objects: u64) -> Share {
        Share {
            cluster: cluster.into(),
            has_left: cluster == "gone",
            group: if resource == "pods" { "" } else { "apps" }.into(),
            version: "v1".into(),
            resource: resource.into(),
            objects,
            served_bytes: objects * 4000,
            stored_bytes: objects * 700,
            past: 3,
            past_bytes: 900,
            trained: objects / 2,
            blocks: 2,
            entries: objects * 12,
            index_bytes: objects * 150,
        }
    }

    fn dictionary(number: u64, objects: u64) -> DictionaryShare {
        DictionaryShare {
            group: "apps".into(),
            version: "v1".into(),
            resource: "deployments".into(),
            number,
            objects,
            bytes: 32_768,
        }
    }

    fn history(group: &str, resource: &str, since: i64) -> HistoryShare {
        HistoryShare {
            group: group.into(),
            version: "v1".into(),
            resource: resource.into(),
            since,
        }
    }

    fn stats() -> StoreStats {
        StoreStats {
            revision: 41,
            pruned: 12,
            history: 3,
            histories: vec![history("", "pods", 3), history("apps", "deployments", 7)],
            past: Past {
                bytes: 2700,
                age: Duration::from_secs(1200),
            },
            kept: Past {
                bytes: 41_000,
                age: Duration::from_secs(86_400),
            },
            disk: Disk {
                tables: vec![("ver".into(), 1_500_000), ("post".into(), 9_999)],
                total: 2_000_000,
                free: 16_384,
            },
            shares: vec![
                share("a", "deployments", 10),
                share("a", "pods", 1000),
                share("gone", "pods", 7),
            ],
            dictionaries: vec![dictionary(32, 1000), dictionary(33, 4100)],
        }
    }

    #[test]
    fn stats_are_told_by_type_and_by_cluster_the_largest_first() {
        let expected = "\
revision 41, changes since 12: 2.70 kB of the last 1200 s
history of pods since 3, deployments.apps since 7: 41.0 kB of the last 86400 s
2.00 MB on disk, 16.4 kB of it free

TABLE OR INDEX    BYTES
ver             1.50 MB
post            10.0 kB

TYPE              OBJECTS   SERVED   STORED  PAST    OF IT  TRAINED  ENTRIES    INDEX
pods                 1007  4.03 MB   705 kB     6  1.80 kB      503    12084   151 kB
deployments.apps       10  40.0 kB  7.00 kB     3    900 B        5      120  1.50 kB
all                  1017  4.07 MB   712 kB     9  2.70 kB      508    12204   153 kB

CLUSTER      OBJECTS   SERVED   STORED  PAST    OF IT  TRAINED  ENTRIES    INDEX
a               1010  4.04 MB   707 kB     6  1.80 kB      505    12120   152 kB
gone (left)        7  28.0 kB  4.90 kB     3    900 B        3       84  1.05 kB
all             1017  4.07 MB   712 kB     9  2.70 kB      508    12204   153 kB

DICTIONARY OF     NUMBER  OF OBJECTS    BYTES
deployments.apps      33        4100  32.8 kB
deployments.apps      32        1000  32.8 kB
";
        assert_eq!(text(&stats()), expected);
    }

    /// They are what a member's API server calls its types, or what stands in a database that is another's.
    #[test]
    fn no_name_moves_the_cursor_of_a_terminal() {
        let stats = StoreStats {
            histories: vec![history("", "pods\x1b[2J", 3)],
            disk: Disk {
                tables: vec![("ver\x1b[2J".into(), 1)],
                total: 1,
                free: 0,
            },
            shares: vec![share("a\x1b[2J\nall", "pods\x1b[2J", 1)],
            dictionaries: vec![DictionaryShare {
                resource: "pods\x1b[2J".into(),
                ..dictionary(32, 1)
            }],
            ..stats()
        };
        let told = text(&stats);
        assert!(!told.contains('\x1b'), "{told:?}");
        assert_eq!(told.matches("\\u{1b}[2J").count(), 5, "{told}");
        assert!(told.contains("a\\u{1b}[2J\\u{a}all  "), "{told}");
    }

    #[test]
    fn a_long_table_ends_with_what_the_others_have_together() {
        let shares: Vec<Share> = (0..25)
            .map(|n| share(&format!("c-{n:02}"), "pods", 100 - n))
            .collect();
        let told = table("CLUSTER", &shares, |share| share.cluster.clone());
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 1 + MOST + 2);
        assert!(lines[1].starts_with("c-00") && lines[MOST + 1].starts_with("5 others"));
    }

    #[test]
    fn of_many_dictionaries_the_last_are_told_and_what_the_others_take() {
        assert_eq!(dictionaries(&[]), "");
        let many: Vec<_> = (0..23).map(|number| dictionary(number, 1000)).collect();
        let told = dictionaries(&many);
        assert_eq!(told.trim().lines().count(), 1 + MOST + 1);
        assert!(told.ends_with("98.3 kB\n"), "{told}");
    }

    #[test]
    fn of_many_histories_some_are_told_and_how_many_others_there_are() {
        let without = StoreStats {
            histories: vec![],
            ..stats()
        };
        assert_eq!(histories(&without), "");
        let many = StoreStats {
            histories: (0..23).map(|at| history("", "pods", at)).collect(),
            ..stats()
        };
        let told = histories(&many);
        assert!(told.contains("pods since 19, 3 others: "), "{told}");
    }

    #[test]
    fn json_has_every_share() {
        let json = json(&stats());
        assert_eq!(json["disk"]["tables"]["ver"], 1_500_000);
        assert_eq!(json["shares"][1]["objects"], 1000);
        assert_eq!(json["shares"][2]["left"], true);
        assert_eq!(json["dictionaries"][1]["objects"], 4100);
        assert_eq!(json["histories"][1]["since"], 7);
        assert_eq!(json["history"], 3);
        assert_eq!(json["past"]["bytes"], 2700);
        assert_eq!(json["kept"]["seconds"], 86_400);
    }
}
