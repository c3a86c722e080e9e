//! How much one run reads and makes: files may be a stranger's, and end a run before they fill the machine.

use anyhow::Context as _;

const MIB: u64 = 1 << 20;

/// MiB of all files of a run: ten thousand Clusters of Karmada with their Secrets have less.
const READ_MIB: u64 = 64;

/// MiB of all that is made in a run: each lifecycle carries the templates of its policy. Those of the shipped one have 3 KiB, so that is for 80,000 clusters.
const MADE_MIB: u64 = 256;

/// For one run.
pub(super) struct Rooms {
    pub(super) read: Room,
    pub(super) made: Room,
}

/// What there is room for.
pub(super) struct Room {
    /// In bytes.
    left: u64,
    /// What it is full of, and the way out.
    full: String,
}

impl Default for Rooms {
    fn default() -> Self {
        let read = format!("all files of a run have {READ_MIB} MiB at most: give fewer");
        let made = format!(
            "what a run makes has {MADE_MIB} MiB at most: give fewer source objects at once"
        );
        Self {
            read: Room::new(READ_MIB * MIB, read),
            made: Room::new(MADE_MIB * MIB, made),
        }
    }
}

impl Room {
    pub(super) const fn new(left: u64, full: String) -> Self {
        Self { left, full }
    }

    /// In bytes.
    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    /// Fails if there is no room for that many bytes.
    pub(super) fn check(&self, bytes: usize) -> anyhow::Result<u64> {
        let left = u64::try_from(bytes)
            .ok()
            .and_then(|bytes| self.left.checked_sub(bytes));
        left.with_context(|| self.full.clone())
    }

    /// Takes that many bytes, if there is room for them.
    pub(super) fn take(&mut self, bytes: usize) -> anyhow::Result<()> {
        self.left = self.check(bytes)?;
        Ok(())
    }
}
