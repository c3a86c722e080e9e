//! What was seen, the bounds, and what of it is out of them.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use super::attack::{Attack, Deeds};
use super::ordinary::Experience;
use super::usage::{Holdings, Load};

/// The slowest hundredth of the ordinary client's answers may take so long.
const P99_MILLISECONDS: f64 = 2_000.0;
/// What Armadex may hold at most.
const RSS_MIB: f64 = 128.0;
/// How much more it may hold after a round than after an equal one before it. What a round leaves adds up; what the allocator keeps does not.
const GROWTH_MIB: f64 = 8.0;
/// When all that was taken must have been given back: what a client leaves behind by ending its connections is nothing to wait for, so
/// this is for requests that are still being worked on.
pub(super) const GIVEN_BACK: Duration = Duration::from_secs(30);

/// After a round.
#[derive(Debug, Serialize)]
pub(super) struct Calm {
    /// How long it took.
    pub(super) seconds: f64,
    /// Whether all was given back.
    pub(super) returned: bool,
    /// What was held then.
    pub(super) left: Holdings,
    /// Memory that was held then.
    pub(super) rss_mib: f64,
    /// The same after the first round with the same attackers, if this was another one.
    pub(super) after_an_equal_one: Option<f64>,
}

impl Calm {
    /// How much more memory is held than after the first equal round, where that is too much.
    fn has_grown(&self) -> Option<f64> {
        let grown = self.rss_mib - self.after_an_equal_one?;
        (grown > GROWTH_MIB).then_some(grown)
    }
}

/// One round.
#[derive(Debug, Serialize)]
pub(super) struct Round {
    pub(super) name: String,
    pub(super) seconds: u64,
    pub(super) ordinary: Vec<Experience>,
    pub(super) attackers: Vec<Deeds>,
    pub(super) load: Load,
    /// What was held before the first round.
    pub(super) start: Holdings,
    pub(super) calm: Calm,
    /// What Armadex logged as an error, or as no line of its own.
    pub(super) errors: Vec<String>,
}

/// What a round is called.
pub(super) fn round_name(attacks: &[Attack]) -> String {
    match attacks {
        [] => "quiet".to_owned(),
        [attack] => attack.name(),
        _ => format!("{} attackers at once", attacks.len()),
    }
}

impl Round {
    /// The bounds that are broken, in words.
    pub(super) fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for experience in &self.ordinary {
            let name = experience.probe.name();
            if experience.failed > 0 {
                broken.push(format!("{name}: {} failed", experience.failed));
            }
            match experience.percentile(99) {
                Some(p99) if p99 <= P99_MILLISECONDS => {}
                Some(p99) => broken.push(format!("{name}: p99 of {p99:.0} ms")),
                None => broken.push(format!("{name}: never answered")),
            }
        }
        for Deeds { attack, seen } in &self.attackers {
            for (deed, least) in attack.proofs() {
                let often = seen.get(*deed).copied().unwrap_or(0);
                if often < *least {
                    broken.push(format!(
                        "{}: {deed} {often} times, which is no attack",
                        attack.name()
                    ));
                }
            }
        }
        for line in &self.errors {
            broken.push(format!("armadex said: {line}"));
        }
        if self.load.peak_rss_mib >= RSS_MIB {
            broken.push(format!("peak RSS of {:.0} MiB", self.load.peak_rss_mib));
        }
        if !self.calm.returned {
            broken.push(format!("left behind: {}", holdings(&self.calm.left)));
        }
        if let Some(grown) = self.calm.has_grown() {
            broken.push(format!(
                "left behind: {grown:.0} MiB more than by an equal round"
            ));
        }
        broken
    }
}

/// The lines of a log that tell of a fault of Armadex's own; what clients do wrong is no more than a warning.
pub(super) fn errors(log: &str) -> Vec<String> {
    let is_fault = |line: &&str| line.contains(" ERROR ") || line.contains("panicked at");
    log.lines().filter(is_fault).map(str::to_owned).collect()
}

fn holdings(of: &Holdings) -> String {
    let Holdings {
        connections,
        in_flight,
        bytes,
        files,
    } = of;
    format!("{connections} connections, {in_flight} requests, {bytes} bytes, {files} files")
}

/// All rounds, for people.
pub(super) fn table(rounds: &[Round]) -> String {
    let mut text = String::from(
        "| round | p50 | p99 | slowest | answered, failed | RSS, peak | CPU | most held | calm after |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for round in rounds {
        text.push_str(&row(round));
    }
    for round in rounds {
        text.push_str(&details(round));
    }
    text
}

fn row(round: &Round) -> String {
    let times = |percent| {
        let times = round.ordinary.iter().map(|one| one.percentile(percent));
        let times: Vec<String> = times
            .map(|time| time.map_or_else(|| "-".to_owned(), |time| format!("{time:.0}")))
            .collect();
        times.join(" / ")
    };
    let answers = round
        .ordinary
        .iter()
        .map(|one| format!("{}, {}", one.milliseconds.len(), one.failed));
    let answers: Vec<String> = answers.collect();
    let calm = match round.calm.returned {
        true => format!("{:.1} s, {:.0} MiB", round.calm.seconds, round.calm.rss_mib),
        false => "never".to_owned(),
    };
    format!(
        "| {} | {} ms | {} ms | {} ms | {} | {:.0}, {:.0} MiB | {:.1} s of {} s | {} | {calm} |\n",
        round.name,
        times(50),
        times(99),
        times(100),
        answers.join(" / "),
        round.load.rss_before_mib,
        round.load.peak_rss_mib,
        round.load.cpu_seconds,
        round.seconds,
        holdings(&round.load.most),
    )
}

fn details(round: &Round) -> String {
    let mut text = format!("\n{}\n", round.name);
    let mut line = |what: &str, said: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {what}: {said}");
    };
    for Deeds { attack, seen } in &round.attackers {
        let seen: Vec<String> = seen
            .iter()
            .map(|(what, count)| format!("{what} {count}"))
            .collect();
        line(&attack.name(), seen.join(", "));
    }
    for experience in &round.ordinary {
        for failure in &experience.failures {
            line(experience.probe.name(), failure.clone());
        }
    }
    for broken in round.broken() {
        line("BROKEN", broken);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(change: impl Fn(&mut Round)) -> Vec<String> {
        let mut round = Round {
            name: "test".to_owned(),
            seconds: 1,
            ordinary: vec![],
            attackers: vec![],
            load: Load::default(),
            start: Holdings::default(),
            calm: Calm {
                seconds: 0.5,
                returned: true,
                left: Holdings::default(),
                rss_mib: 60.0,
                after_an_equal_one: None,
            },
            errors: vec![],
        };
        change(&mut round);
        round.broken()
    }

    fn page(milliseconds: &[f64], failed: usize) -> Experience {
        Experience {
            probe: super::super::ordinary::Probe::Page,
            milliseconds: milliseconds.to_vec(),
            failed,
            failures: vec![],
        }
    }

    #[test]
    fn every_bound_is_told_when_it_is_broken() {
        let none: [String; 0] = [];
        assert_eq!(round(|r| r.ordinary.push(page(&[1.0, 2_000.0], 0))), none);
        assert_eq!(
            round(|r| r.ordinary.push(page(&[1.0, 2_001.0], 1))),
            [
                "page of 500 through the aggregator: 1 failed",
                "page of 500 through the aggregator: p99 of 2001 ms"
            ]
        );
        assert_eq!(
            round(|r| r.ordinary.push(page(&[], 0))),
            ["page of 500 through the aggregator: never answered"]
        );
        assert_eq!(
            round(|r| r.load.peak_rss_mib = 128.0),
            ["peak RSS of 128 MiB"]
        );
        let attack = |seen: &[(&str, u64)]| {
            let seen = seen.iter().map(|&(deed, often)| (deed.to_owned(), often));
            let attack = Attack::HealthFloods;
            let seen: std::collections::BTreeMap<_, _> = seen.collect();
            round(|r| {
                let seen = seen.clone();
                r.attackers.push(Deeds { attack, seen });
            })
        };
        assert_eq!(attack(&[("answered 200", 100)]), none);
        assert_eq!(
            attack(&[("connected", 500), ("answered 429", 500)]),
            ["health-floods: answered 200 0 times, which is no attack"]
        );
        assert_eq!(
            round(|r| r.errors.push("thread panicked".into())),
            ["armadex said: thread panicked"]
        );
        assert_eq!(
            round(|r| r.calm.returned = false),
            ["left behind: 0 connections, 0 requests, 0 bytes, 0 files"]
        );
        let after = |before| round(|r| r.calm.after_an_equal_one = Some(before));
        assert_eq!(after(55.0), none);
        assert_eq!(
            after(50.0),
            ["left behind: 10 MiB more than by an equal round"]
        );
    }

    #[test]
    fn errors_and_panics_are_found_in_a_log() {
        let log =
            "2026 INFO a: fine\n2026 ERROR a: broken\n2026 WARN a: slow\nthread x panicked at y\n";
        assert_eq!(
            errors(log),
            ["2026 ERROR a: broken", "thread x panicked at y"]
        );
    }

    #[test]
    fn rounds_are_called_by_their_attackers() {
        assert_eq!(round_name(&[]), "quiet");
        assert_eq!(round_name(&[Attack::DeepChains]), "deep-chains");
        assert_eq!(
            round_name(&[Attack::DeepChains, Attack::SlowReaders]),
            "2 attackers at once"
        );
    }
}
