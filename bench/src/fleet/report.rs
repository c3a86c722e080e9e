//! What was measured, and what it should have been.

use std::collections::BTreeMap;

use serde::Serialize;

use super::searches::Latencies;
use super::stage::Work;
use crate::table::{Row, at_most, told};

/// A thousand clusters are live within a minute, and within a minute of processor time.
const SECONDS_PER_CLUSTER: f64 = 0.06;
/// Starting and settling count as well where there are few clusters.
const SECONDS_AT_LEAST: f64 = 6.0;
/// The last tenths of the fleet may cost this much more than the first: the difference of two runs.
const GROWTH: f64 = 1.25;
/// Search is not to be felt.
const P99_MILLISECONDS: f64 = 100.0;
/// What a stream may hold while nothing happens.
const KIB_PER_STREAM: f64 = 12.0;
/// What may be busy while nothing happens, with so many streams.
const CORES: f64 = 0.02;
const STREAMS: f64 = 12_000.0;
/// Rows purged in a second.
const PURGE_RATE: f64 = 5000.0;

/// What was measured.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) clusters: usize,
    pub(super) kinds: usize,
    pub(super) objects_per_cluster: usize,
    pub(super) created_seconds: f64,
    pub(super) live_wall_seconds: f64,
    pub(super) live_cpu_seconds: f64,
    pub(super) cpu_by_tenth: Vec<f64>,
    pub(super) searches_on_boarding: Latencies,
    pub(super) before_mib: f64,
    pub(super) live_mib: f64,
    /// Some time after that.
    pub(super) settled_mib: f64,
    pub(super) idle_cores: f64,
    pub(super) gone_seconds: f64,
    pub(super) purge_wall_seconds: f64,
    pub(super) purge_cpu_seconds: f64,
    pub(super) searches_purging: Latencies,
    pub(super) peak_mib: f64,
    pub(super) log_lines: usize,
    pub(super) slow_statements: usize,
    pub(super) warnings: BTreeMap<String, usize>,
    pub(super) requests_per_cluster: Work,
}

impl Report {
    /// Each figure and what it should be.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows = self.coming();
        rows.extend(searches("while they came", &self.searches_on_boarding));
        rows.extend(self.going());
        rows.extend(searches("while they went", &self.searches_purging));
        rows.extend([
            told("peak resident", format!("{:.0} MiB", self.peak_mib)),
            told("log lines", self.log_lines.to_string()),
            told(
                "statements that took long",
                self.slow_statements.to_string(),
            ),
            self.warned(),
        ]);
        let work = self.requests_per_cluster.iter();
        rows.extend(
            work.map(|(what, each)| told(&format!("{what}, per cluster"), format!("{each:.2}"))),
        );
        rows
    }

    fn coming(&self) -> Vec<Row> {
        let limit = (self.clusters as f64 * SECONDS_PER_CLUSTER).max(SECONDS_AT_LEAST);
        let streams = self.clusters * self.kinds;
        vec![
            told(
                "clusters, kinds, objects of each",
                format!(
                    "{}, {}, {}",
                    self.clusters, self.kinds, self.objects_per_cluster
                ),
            ),
            told(
                "all PediaClusters created",
                format!("{:.1} s", self.created_seconds),
            ),
            at_most(
                &format!("all {streams} streams live, wall"),
                self.live_wall_seconds,
                limit,
                "s",
                1,
            ),
            at_most(
                "the same, CPU of Armadex",
                self.live_cpu_seconds,
                limit,
                "s",
                1,
            ),
            self.growth(),
        ]
    }

    /// What they cost while they are there, and how they go.
    fn going(&self) -> [Row; 7] {
        let mib = |mib: f64| format!("{mib:.0} MiB");
        let streams = (self.clusters * self.kinds).max(1) as f64;
        let held = (self.settled_mib - self.before_mib) * 1024.0;
        let cores = CORES * (streams / STREAMS).max(1.0);
        [
            told(
                "resident before the clusters, when all were live, when settled",
                [self.before_mib, self.live_mib, self.settled_mib]
                    .map(mib)
                    .join(", "),
            ),
            // Both are the sum of what a member costs and what a stream does, which two runs with other `--kinds` tell apart.
            told(
                "resident for each cluster",
                format!("{:.0} KiB", held / self.clusters.max(1) as f64),
            ),
            at_most(
                "resident for each idle stream",
                held / streams,
                KIB_PER_STREAM,
                "KiB",
                1,
            ),
            at_most(
                "cores busy while nothing happens",
                self.idle_cores,
                cores,
                "",
                3,
            ),
            told(
                "all PediaClusters gone",
                format!("{:.1} s", self.gone_seconds),
            ),
            self.purge(),
            told(
                "the same, CPU of Armadex",
                format!("{:.1} s", self.purge_cpu_seconds),
            ),
        ]
    }

    /// Of three tenths each: a single one depends on where the looks fall.
    fn growth(&self) -> Row {
        let tenths = &self.cpu_by_tenth;
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
        let third = tenths.len().min(3);
        let (first, last) = (
            mean(&tenths[..third]),
            mean(&tenths[tenths.len() - third..]),
        );
        let each = tenths
            .iter()
            .map(|cpu| format!("{:.0}", cpu * 10_000.0 / self.clusters as f64));
        Row {
            what: "CPU per cluster by tenth of the fleet, ms".to_owned(),
            measured: each.collect::<Vec<_>>().join(" "),
            aim: format!("the last three at most {GROWTH} times the first three"),
            met: last <= GROWTH * first,
        }
    }

    fn purge(&self) -> Row {
        let rows = (self.clusters * self.objects_per_cluster) as f64;
        let rate = rows / self.purge_wall_seconds.max(f64::EPSILON);
        Row {
            what: "all rows purged after the first deletion".to_owned(),
            measured: format!("{:.1} s, {rate:.0} rows/s", self.purge_wall_seconds),
            aim: format!("at least {PURGE_RATE} rows/s"),
            met: rate >= PURGE_RATE,
        }
    }

    fn warned(&self) -> Row {
        let said = self
            .warnings
            .iter()
            .map(|(said, count)| format!("{count} x {said}"));
        let count: usize = self.warnings.values().sum();
        let parts: Vec<_> = std::iter::once(count.to_string()).chain(said).collect();
        Row {
            what: "warnings in the log".to_owned(),
            measured: parts.join("; "),
            aim: "0".to_owned(),
            met: count == 0,
        }
    }
}

fn searches(when: &str, latencies: &Latencies) -> Vec<Row> {
    let Latencies {
        queries,
        failures,
        words,
    } = latencies;
    let mut rows: Vec<Row> = queries
        .iter()
        .map(|(query, found)| Row {
            what: format!("{query} {when}"),
            measured: format!(
                "p50 {:.1}, p99 {:.1}, worst {:.1} ms of {}",
                found.p50, found.p99, found.worst, found.count
            ),
            aim: format!("p99 below {P99_MILLISECONDS} ms"),
            met: found.p99 < P99_MILLISECONDS,
        })
        .collect();
    if *failures > 0 {
        rows.push(Row {
            what: format!("searches failed {when}"),
            measured: format!("{failures}: {}", words.join("; ")),
            aim: "0".to_owned(),
            met: false,
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::missed;

    fn good() -> Report {
        Report {
            clusters: 1000,
            kinds: 12,
            objects_per_cluster: 350,
            live_wall_seconds: 59.0,
            live_cpu_seconds: 59.0,
            cpu_by_tenth: vec![5.0; 10],
            purge_wall_seconds: 69.0,
            ..Report::default()
        }
    }

    #[test]
    fn a_figure_that_is_missed_is_named() {
        let missed = |report: &Report| missed(&report.rows());
        assert_eq!(missed(&good()), Vec::<String>::new());
        let mut late = good();
        late.live_wall_seconds = 61.0;
        late.cpu_by_tenth[9] = 10.0;
        late.warnings.insert("retrying".to_owned(), 2);
        late.purge_wall_seconds = 71.0;
        late.idle_cores = 0.021;
        late.settled_mib = 141.0;
        let (count, missed) = (missed(&late).len(), missed(&late).join("\n"));
        for word in [
            "12000 streams live",
            "by tenth",
            "2 x retrying",
            "rows/s",
            "cores busy",
            "idle stream",
        ] {
            assert!(missed.contains(word), "{missed}");
        }
        assert_eq!(count, 6, "{missed}");
    }
}
