//! What Armadex itself counts, second by second, beside its processor time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use armadex_e2e::armadex::Armadex;

use crate::process::cpu_seconds;

/// Twice a second: the counters of a thousand clusters are a megabyte of text, which Armadex encodes in milliseconds.
const PERIOD: Duration = Duration::from_millis(500);

/// One look at Armadex; everything is counted from the first look on.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Processor time, in seconds.
    pub(super) cpu: f64,
    /// Streams that have begun a watch.
    pub(super) live: usize,
    /// Rows that were new.
    pub(super) added: usize,
    /// Rows that were purged.
    pub(super) purged: usize,
}

/// Looks at Armadex again and again.
pub(super) struct Sampler<'a> {
    armadex: &'a Armadex,
    kinds: usize,
    first: Sample,
    samples: Vec<Sample>,
}

impl<'a> Sampler<'a> {
    /// Takes the first look. Each cluster has `kinds` streams.
    pub(super) async fn start(armadex: &'a Armadex, kinds: usize) -> Result<Self> {
        let first = look(armadex, kinds).await?;
        Ok(Self {
            armadex,
            kinds,
            first,
            samples: vec![Sample::default()],
        })
    }

    /// Looks until `done`.
    pub(super) async fn until(
        &mut self,
        limit: Duration,
        done: impl Fn(&Sample) -> bool,
    ) -> Result<()> {
        let end = Instant::now() + limit;
        loop {
            let now = look(self.armadex, self.kinds).await?;
            let first = &self.first;
            let sample = Sample {
                cpu: now.cpu - first.cpu,
                live: now.live.saturating_sub(first.live),
                added: now.added.saturating_sub(first.added),
                purged: now.purged.saturating_sub(first.purged),
            };
            let over = done(&sample);
            let late = Instant::now() > end;
            self.samples.push(sample);
            if over {
                return Ok(());
            }
            if late {
                bail!("at the end of the time there was {:?}", self.samples.last());
            }
            tokio::time::sleep(PERIOD).await;
        }
    }

    /// All looks, oldest first.
    pub(super) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Processor time from the first look to the last.
    pub(super) fn cpu(&self) -> f64 {
        self.samples.last().map_or(0.0, |sample| sample.cpu)
    }
}

/// Processor time that each tenth of the fleet took, in seconds; between two looks it is shared out evenly. Kinds come in one order in each
/// cluster, and those with many objects cost more: a tenth has as much of all streams and all rows together as any other.
#[expect(clippy::cast_precision_loss, reason = "numbers far below 2^52")]
pub(super) fn tenths(samples: &[Sample], streams: usize, rows: usize) -> Vec<f64> {
    let part = |done: usize, of: usize| done as f64 / of.max(1) as f64;
    let progress =
        |sample: &Sample| f64::midpoint(part(sample.live, streams), part(sample.added, rows));
    let cpu_at = |wanted: f64| {
        let mut before = &samples[0];
        for sample in samples {
            let (begun, reached) = (progress(before), progress(sample));
            if reached >= wanted {
                let part = if reached > begun {
                    (wanted - begun) / (reached - begun)
                } else {
                    1.0
                };
                return before.cpu + part * (sample.cpu - before.cpu);
            }
            before = sample;
        }
        before.cpu
    };
    let ends: Vec<f64> = (0..=10)
        .map(|tenth| cpu_at(f64::from(tenth) / 10.0))
        .collect();
    ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

async fn look(armadex: &Armadex, kinds: usize) -> Result<Sample> {
    let text = armadex.metrics().await?;
    let total = |name| by_cluster(&text, name).values().sum();
    // A watch that ended and began again is still one stream.
    let watches = by_cluster(&text, "armadex_member_watches_total");
    let live = watches.values().map(|count| (*count).min(kinds)).sum();
    Ok(Sample {
        cpu: cpu_seconds(armadex.record().pid)?,
        live,
        added: total("armadex_sync_added_total"),
        purged: total("armadex_sync_purged_total"),
    })
}

/// The samples of `name` by their labels.
fn by_cluster<'a>(text: &'a str, name: &str) -> BTreeMap<&'a str, usize> {
    let samples = text
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '));
    samples
        .filter_map(|(labels, value)| Some((labels, value.parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cpu: f64, live: usize, added: usize) -> Sample {
        Sample {
            cpu,
            live,
            added,
            ..Sample::default()
        }
    }

    #[test]
    fn the_cost_of_a_tenth_lies_between_two_looks() {
        let samples = [
            sample(0.0, 0, 0),
            sample(1.0, 0, 0),
            sample(3.0, 50, 500),
            sample(13.0, 100, 1000),
        ];
        let tenths = tenths(&samples, 100, 1000);
        assert_eq!(tenths.len(), 10);
        assert!((tenths[1] - 0.4).abs() < 1e-9, "{tenths:?}");
        assert!((tenths[9] - 2.0).abs() < 1e-9, "{tenths:?}");
    }

    #[test]
    fn kinds_with_many_objects_that_come_first_are_no_growth() {
        // A tenth of the streams has nine tenths of the rows; a stream costs as much as ten rows.
        let samples = [
            sample(0.0, 0, 0),
            sample(10.0, 10, 900),
            sample(20.0, 100, 1000),
        ];
        let tenths = tenths(&samples, 100, 1000);
        assert!(
            tenths.iter().all(|cpu| (cpu - 2.0).abs() < 1e-9),
            "{tenths:?}"
        );
    }

    #[test]
    fn counters_are_read_by_cluster() {
        let text =
            "# TYPE x counter\nx_total{cluster=\"a\"} 2\nx_total{cluster=\"b\"} 3\ny_total 9\n";
        let found = by_cluster(text, "x_total");
        assert_eq!(found.values().sum::<usize>(), 5);
        assert_eq!(by_cluster(text, "y_total").values().sum::<usize>(), 9);
    }
}
