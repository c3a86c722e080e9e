//! A hostile client's hour: attackers of every kind at Armadex's own port, all at once, while an ordinary client works through the
//! aggregator.
//!
//! The fleet is that of the demo. After a quiet round, which shows what the machine can do, come the hostile ones; each round ends when
//! what the attackers took has been given back. A bound that is broken ends the program with an error, after the report.

mod attack;
mod ordinary;
mod report;
mod requests;
mod target;
mod usage;
mod world;

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use armadex_e2e::progress::note;
use clap::{Args, ValueEnum as _};
use tokio::time::Instant;

use crate::process::resident_mib;
use attack::{Attack, Attackers};
use report::{Calm, Round};
use usage::{Holdings, Watch};
use world::World;

/// The round before the attackers come, which is no longer than theirs.
const QUIET: Duration = Duration::from_secs(10);

/// How hostile, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// How long the attackers of a round go on.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Objects in each of the two members.
    #[arg(long, default_value_t = 10_000)]
    count: usize,
    /// Only these attackers.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Attack>,
    /// A round of each attacker alone before the one of all.
    #[arg(long)]
    one_by_one: bool,
    /// How often the round of all is played: what a round leaves behind is seen in those after it.
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Succeed whatever is broken.
    #[arg(long)]
    report_only: bool,
}

impl Flags {
    /// Who attacks in each round.
    fn rounds(&self) -> Vec<Vec<Attack>> {
        let all = if self.only.is_empty() {
            Attack::value_variants().to_vec()
        } else {
            self.only.clone()
        };
        let mut rounds = vec![];
        if self.one_by_one && all.len() > 1 {
            rounds.extend(all.iter().map(|&attack| vec![attack]));
        }
        rounds.extend(std::iter::repeat_n(all, self.rounds));
        rounds
    }
}

/// Starts a fleet, has it attacked, prints what was seen, and stops it. An error if a bound was broken.
pub(crate) async fn run(flags: Flags) -> Result<()> {
    ensure!(flags.rounds > 0, "--rounds takes 1 or more");
    let world = World::start(flags.count).await?;
    let cold = world.settle().await?;
    let time = Duration::from_secs(flags.seconds);
    let mut rounds = vec![play(&world, cold, &[], QUIET.min(time)).await?];
    // With the connections to the host and the database that ordinary work has opened.
    let start = world.settle().await?;
    for attacks in flags.rounds() {
        let mut round = play(&world, start, &attacks, time).await?;
        round.calm.after_an_equal_one = rounds
            .iter()
            .find(|other| other.name == round.name)
            .map(|other| other.calm.rss_mib);
        rounds.push(round);
    }
    world.finish().await;
    let text = if flags.json {
        serde_json::to_string_pretty(&rounds)? + "\n"
    } else {
        report::table(&rounds)
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("cannot print the report")?;
    let broken: usize = rounds.iter().map(|round| round.broken().len()).sum();
    let is_well = broken == 0 || flags.report_only;
    ensure!(is_well, "{broken} bounds are broken, see the report");
    Ok(())
}

/// One round: the ordinary client with some attackers, and the calm after it.
async fn play(world: &World, start: Holdings, attacks: &[Attack], time: Duration) -> Result<Round> {
    let name = report::round_name(attacks);
    note(format_args!("{name}: {} s", time.as_secs()));
    let callers = world.callers().await?;
    let until = Instant::now() + time;
    let logged = world.armadex.log().len();
    let watch = Watch::start(world.armadex.clone())?;
    let attackers = Attackers::start(attacks, &callers.target, until)?;
    let ordinary = ordinary::run(callers, until).await?;
    let attackers = attackers.stop();
    let load = watch.stop().await?;
    let calm = calm_after(world, start).await?;
    Ok(Round {
        name,
        seconds: time.as_secs(),
        ordinary,
        attackers,
        load,
        start,
        calm,
        errors: report::errors(world.armadex.log().get(logged..).unwrap_or_default()),
    })
}

/// Waits until what was taken has been given back, or for as long as that may take.
async fn calm_after(world: &World, start: Holdings) -> Result<Calm> {
    let begun = Instant::now();
    loop {
        let now = Holdings::of(&world.armadex).await?;
        let seconds = begun.elapsed().as_secs_f64();
        let returned = now.returned_to(&start);
        if returned || begun.elapsed() > report::GIVEN_BACK {
            // What has been given back to the allocator is given back by it a moment later.
            tokio::time::sleep(usage::SAMPLE).await;
            return Ok(Calm {
                seconds,
                returned,
                left: now,
                rss_mib: resident_mib(world.armadex.record().pid)?,
                after_an_equal_one: None,
            });
        }
        tokio::time::sleep(usage::SAMPLE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(only: &[Attack], one_by_one: bool) -> Flags {
        Flags {
            seconds: 1,
            count: 1,
            only: only.to_vec(),
            one_by_one,
            rounds: 2,
            json: false,
            report_only: false,
        }
    }

    #[test]
    fn the_last_rounds_are_equal_and_of_all_at_once() {
        let all = Attack::value_variants();
        assert_eq!(flags(&[], false).rounds(), [all.to_vec(), all.to_vec()]);
        let rounds = flags(&[], true).rounds();
        assert_eq!(rounds.len(), all.len() + 2);
        assert_eq!(rounds.last().map(Vec::as_slice), Some(all));
        let two = [Attack::DeepChains, Attack::SlowReaders];
        assert_eq!(flags(&two, false).rounds(), [two.to_vec(), two.to_vec()]);
        assert_eq!(flags(&two[..1], true).rounds(), [[two[0]], [two[0]]]);
    }
}
