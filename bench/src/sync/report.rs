//! What was measured, and what it should be.

use serde::Serialize;

use super::stage::Spent;
use crate::percentiles::Percentiles;
use crate::table::{Row, at_least, at_most, told};

/// One measurement.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    pub(super) store: &'static str,
    pub(super) members: usize,
    pub(super) pods: usize,
    /// From the first PediaCluster to the last row.
    pub(super) sync_seconds: f64,
    pub(super) sync: Spent,
    pub(super) sync_peak_mib: f64,
    pub(super) changes: Option<Changes>,
    pub(super) restarted: Option<Restarted>,
}

/// Pods that changed.
#[derive(Debug, Default, Serialize)]
pub(super) struct Changes {
    /// In a second, as it was asked for.
    pub(super) rate: usize,
    /// From the member to a search, at that rate.
    pub(super) freshness: Percentiles,
    /// How many there were at that rate.
    pub(super) at_rate: usize,
    pub(super) at_rate_spent: Spent,
    /// How many there were as fast as they went,
    pub(super) most: usize,
    /// and until all of them were stored.
    pub(super) most_seconds: f64,
    pub(super) most_spent: Spent,
    pub(super) peak_mib: f64,
}

/// A loss of the synchro.
#[derive(Debug, Default, Serialize)]
pub(super) struct Restarted {
    /// From its start until a change that it missed was found.
    pub(super) found_seconds: f64,
    /// Lists of whole objects that it asked for.
    pub(super) lists: u64,
}

/// Of the synchro, whatever it syncs.
const MOST_MIB: f64 = 96.0;

/// What each kind of store should do in a second, if that was said: objects that are new, and changes.
fn aims(store: &str) -> (Option<f64>, Option<f64>) {
    match store {
        "sqlite" => (Some(20_000.0), Some(8_000.0)),
        "postgres" => (None, Some(12_000.0)),
        _ => (None, None),
    }
}

impl Report {
    /// As a table has it.
    pub(super) fn rows(&self) -> Vec<Row> {
        let of = |what: &str| {
            format!(
                "{}, {} members, {} pods: {what}",
                self.store, self.members, self.pods
            )
        };
        let mut rows = vec![
            rate(
                &of("first sync, objects/s"),
                self.pods,
                self.sync_seconds,
                aims(self.store).0,
            ),
            told(&of("first sync"), format!("{:.2} s", self.sync_seconds)),
            at_most(
                &of("first sync, peak RSS"),
                self.sync_peak_mib,
                MOST_MIB,
                "MiB",
                0,
            ),
        ];
        rows.extend(spent(&of("first sync"), self.sync, self.pods));
        if let Some(changes) = &self.changes {
            rows.extend(changes.rows(&of(""), aims(self.store).1));
        }
        if let Some(Restarted {
            found_seconds,
            lists,
        }) = self.restarted
        {
            rows.push(at_most(
                &of("SIGKILL, lists after the start"),
                lists as f64,
                0.0,
                "",
                0,
            ));
            let what = of("SIGKILL, from the start to a change that was missed in a search");
            rows.push(at_most(&what, found_seconds, 1.0, "s", 2));
        }
        rows
    }
}

impl Changes {
    fn rows(&self, of: &str, aim: Option<f64>) -> Vec<Row> {
        let Self { rate: asked, .. } = self;
        let steady = format!("{of}{asked} changes/s");
        let Percentiles {
            count,
            p50,
            p99,
            worst,
        } = self.freshness;
        let most = format!("{of}changes as fast as they go");
        let mut rows = vec![
            told(&format!("{steady}, changes"), self.at_rate.to_string()),
            told(
                &format!("{steady}, p50 of {count} from the member to a search"),
                format!("{p50:.0} ms"),
            ),
            at_most(&format!("{steady}, p99"), p99, 100.0, "ms", 0),
            told(&format!("{steady}, the slowest"), format!("{worst:.0} ms")),
        ];
        rows.extend(spent(&steady, self.at_rate_spent, self.at_rate));
        rows.push(rate(
            &format!("{most}, changes/s"),
            self.most,
            self.most_seconds,
            aim,
        ));
        rows.extend(spent(&most, self.most_spent, self.most));
        rows.push(at_most(
            &format!("{of}peak RSS after all changes"),
            self.peak_mib,
            MOST_MIB,
            "MiB",
            0,
        ));
        rows
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers far below 2^52")]
fn rate(what: &str, count: usize, seconds: f64, aim: Option<f64>) -> Row {
    let rate = count as f64 / seconds;
    match aim {
        Some(aim) => at_least(what, rate, aim, "", 0),
        None => told(what, format!("{rate:.0}")),
    }
}

/// What so many objects took.
#[expect(clippy::cast_precision_loss, reason = "numbers far below 2^52")]
fn spent(what: &str, spent: Spent, objects: usize) -> [Row; 3] {
    let thousands = objects as f64 / 1_000.0;
    let Spent {
        cpu_seconds,
        database_seconds,
        members_seconds,
        written,
        requests,
    } = spent;
    let milliseconds = |seconds: f64| seconds * 1_000.0 / thousands;
    [
        told(
            &format!("{what}, CPU per 1,000 objects: synchro, database, members"),
            format!(
                "{:.0} ms, {:.0} ms, {:.0} ms",
                milliseconds(cpu_seconds),
                milliseconds(database_seconds),
                milliseconds(members_seconds)
            ),
        ),
        told(
            &format!("{what}, bytes that the synchro wrote per object"),
            format!("{:.0}", written as f64 / objects as f64),
        ),
        told(
            &format!("{what}, requests of members"),
            requests.to_string(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::missed;

    #[test]
    fn what_is_missed_says_of_which_store() {
        let report = Report {
            store: "sqlite",
            members: 2,
            pods: 40_000,
            sync_seconds: 4.0,
            restarted: Some(Restarted {
                found_seconds: 0.5,
                lists: 1,
            }),
            ..Report::default()
        };
        let of = "sqlite, 2 members, 40000 pods";
        assert_eq!(
            missed(&report.rows()),
            [
                format!("{of}: first sync, objects/s was 10000 instead of at least 20000"),
                format!("{of}: SIGKILL, lists after the start was 1 instead of at most 0"),
            ]
        );
    }
}
