//! The attackers. Each is a file of its own: what it does, how many of it there are, and why that many.
//!
//! They run on one thread of their own, so that they take one core at most and none of the ordinary client's time, and all stop at
//! the end of their round. Each comes from addresses of its own and, where it takes a user, as a user of its own: what the server refuses
//! to one of them must not spare it the others.

mod chain;
mod deep_chains;
mod ground;
mod half_open;
mod health_floods;
mod huge_offsets;
mod large_ties;
mod many_clauses;
mod silent_sockets;
mod slow_readers;
mod stalled_streams;
mod unfinished_heads;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use super::target::Target;
use ground::Ground;

/// Those who take room come when the others have begun: a server that lets nobody in any more would be spared the rest.
const HEAD_START: Duration = Duration::from_secs(2);

/// A way to do harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Attack {
    /// HTTP/2 answers of 1 MiB by the hundred, of which not a byte is taken.
    StalledStreams,
    /// Client certificates with chains that take long to verify.
    DeepChains,
    /// Label selectors of 64 and of 5,000 clauses.
    ManyClauses,
    /// Pages far behind the end in an order that is sorted.
    HugeOffsets,
    /// Sorted pages where thousands of objects have one sort value, and of thousands of names.
    LargeTies,
    /// Questions for health, as fast as they are answered.
    HealthFloods,
    /// Lists of everything, read a few bytes at a time.
    SlowReaders,
    /// Sockets by the thousand that say nothing.
    SilentSockets,
    /// Handshakes by the thousand that are begun and not ended.
    HalfOpenHandshakes,
    /// Requests by the hundred whose heads begin and never end.
    UnfinishedHeads,
}

impl Attack {
    /// What it is called on the command line, in the report and, where it takes a user, as that user.
    pub(super) fn name(self) -> String {
        let value = self.to_possible_value();
        value.expect("no attack is skipped").get_name().to_owned()
    }

    /// What it must have met, and how often at least, or it has attacked nobody. An answer shows that the work behind it was done.
    pub(super) fn proofs(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::HealthFloods => &[("answered 200", 100)],
            Self::SilentSockets | Self::HalfOpenHandshakes | Self::UnfinishedHeads => {
                &[("connected", 100)]
            }
            // Long chains are refused in the handshake, tangled ones by whoever verifies them.
            Self::DeepChains => &[("answered 401", 4), ("shown out", 4)],
            // Nobody ends a connection but for want of somebody who takes what was made for it.
            Self::StalledStreams => &[("ended by the server", 2)],
            Self::SlowReaders => &[("answered 200", 4)],
            Self::ManyClauses | Self::HugeOffsets | Self::LargeTies => {
                &[("answered 200", 4), ("answered 400", 4)]
            }
        }
    }

    fn head_start_of_others(self) -> Duration {
        match self {
            Self::SilentSockets | Self::HalfOpenHandshakes | Self::UnfinishedHeads => HEAD_START,
            _ => Duration::ZERO,
        }
    }

    /// Goes on for ever.
    async fn run(self, ground: &Ground) -> Result<()> {
        tokio::time::sleep(self.head_start_of_others()).await;
        match self {
            Self::StalledStreams => stalled_streams::run(ground).await,
            Self::DeepChains => deep_chains::run(ground).await?,
            Self::ManyClauses => many_clauses::run(ground).await,
            Self::HugeOffsets => huge_offsets::run(ground).await,
            Self::LargeTies => large_ties::run(ground).await,
            Self::HealthFloods => health_floods::run(ground).await,
            Self::SlowReaders => slow_readers::run(ground).await,
            Self::SilentSockets => silent_sockets::run(ground).await,
            Self::HalfOpenHandshakes => half_open::run(ground).await?,
            Self::UnfinishedHeads => unfinished_heads::run(ground).await,
        }
        Ok(())
    }
}

/// What happened to one kind of attacker, by name.
#[derive(Debug, Serialize)]
pub(super) struct Deeds {
    pub(super) attack: Attack,
    pub(super) seen: BTreeMap<String, u64>,
}

/// Attackers at work.
pub(super) struct Attackers {
    runtime: Runtime,
    grounds: Vec<(Attack, Arc<Ground>)>,
}

impl Attackers {
    /// Sets `attacks` on the target; they end at `until`.
    pub(super) fn start(attacks: &[Attack], target: &Arc<Target>, until: Instant) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("attackers")
            .enable_all()
            .build()
            .context("no thread for the attackers")?;
        let mut grounds = Vec::new();
        for (&attack, network) in attacks.iter().zip(10..) {
            let ground = Arc::new(Ground {
                target: Arc::clone(target),
                user: target.user(&attack.name())?,
                network,
                seen: Mutex::default(),
            });
            grounds.push((attack, Arc::clone(&ground)));
            runtime.spawn(async move {
                let attacking = tokio::time::timeout_at(until, attack.run(&ground));
                if let Ok(Err(error)) = attacking.await {
                    ground.count(format!("could not attack: {error:#}"));
                }
            });
        }
        Ok(Self { runtime, grounds })
    }

    /// Ends all of them, with their connections, and tells what they saw.
    pub(super) fn stop(self) -> Vec<Deeds> {
        self.runtime.shutdown_background();
        let deeds = self.grounds.into_iter().map(|(attack, ground)| Deeds {
            attack,
            seen: std::mem::take(&mut *ground.seen.lock().unwrap_or_else(PoisonError::into_inner)),
        });
        deeds.collect()
    }
}
