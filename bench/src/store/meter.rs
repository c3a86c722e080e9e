//! How long something took, and the processor time of ours and of the server that it took.

use std::time::Instant;

use anyhow::{Context as _, Result};

use super::backing::Backing;
use super::report::Work;
use crate::process;

/// What had been used up when it began.
pub(super) struct Meter<'a> {
    place: &'a Backing,
    begun: Instant,
    own: f64,
    server: f64,
}

impl<'a> Meter<'a> {
    pub(super) fn start(place: &'a Backing) -> Result<Self> {
        Ok(Self {
            place,
            own: own_seconds()?,
            server: place.server_seconds()?,
            begun: Instant::now(),
        })
    }

    /// It was done to so many pods, and is added to what was before.
    pub(super) fn done(self, work: &mut Work, count: usize) -> Result<()> {
        work.add(count, self.begun.elapsed());
        work.own_cpu_seconds += own_seconds()? - self.own;
        work.server_cpu_seconds += self.place.server_seconds()? - self.server;
        Ok(())
    }
}

fn own_seconds() -> Result<f64> {
    let own = i32::try_from(std::process::id()).context("process ids are positive i32")?;
    process::cpu_seconds(own)
}
