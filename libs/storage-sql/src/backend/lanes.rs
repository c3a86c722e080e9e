//! The connections with a server, by what they are for.

use super::Lane;
use super::pool::{Connect, Pool};
use crate::options::Options;

/// Pools of connections, each opened by who needs it.
pub(crate) struct Lanes<C: Connect> {
    writer: Pool<C>,
    short: Pool<C>,
    /// A part of these.
    upkeep: Pool<C>,
    searches: Pool<C>,
    /// None where everything is read over the connections of searches.
    whole: Option<Pool<C>>,
}

impl<C: Connect> Lanes<C> {
    /// How many connections there are is said to the process, and a server has other clients: streams compare on half of those for what takes a moment.
    pub(crate) fn new(options: &Options, reads: impl Fn() -> C, writes: C) -> Self {
        let short = Pool::new(reads(), options.short_readers);
        Self {
            writer: Pool::new(writes, 1),
            upkeep: short.part(options.short_readers / 2),
            short,
            searches: Pool::new(reads(), options.readers),
            whole: None,
        }
    }

    /// With one more for who reads everything.
    pub(crate) fn with_whole(self, reads: C) -> Self {
        Self {
            whole: Some(Pool::new(reads, 1)),
            ..self
        }
    }

    pub(crate) fn of(&self, lane: Lane) -> &Pool<C> {
        match lane {
            Lane::Short => &self.short,
            Lane::Upkeep => &self.upkeep,
            Lane::Search => &self.searches,
            Lane::Whole => self.whole.as_ref().unwrap_or(&self.searches),
        }
    }

    pub(crate) fn writer(&self) -> &Pool<C> {
        &self.writer
    }

    pub(crate) async fn close(&self) {
        self.short.close().await;
        self.searches.close().await;
        if let Some(whole) = &self.whole {
            whole.close().await;
        }
        self.writer.close().await;
    }
}
