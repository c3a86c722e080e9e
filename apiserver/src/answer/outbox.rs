//! Room for what has been made of one page and not been taken yet, reserved together with the page: a list that has read rows never has
//! to wait for others before it can send them, so no two lists can wait for each other. Only what becomes much longer than it was needs
//! more than that, and has it in passing or not at all.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::budget::{Allowance, NoRoom, Reservation, keeping};

/// Four pieces of rewritten bytes: one that is being made, one that waits, and those on their way to the wire.
pub(crate) const OUTBOX: usize = 128 << 10;
/// Of these, what is kept for pieces while JSON that outgrew its rows waits to be rewritten into them: one is made while another is on
/// its way. If the JSON had it all, it would wait for itself.
const FOR_PIECES: usize = OUTBOX / 2;

/// The room of one page.
pub(crate) struct Outbox {
    size: usize,
    room: Arc<Semaphore>,
    /// Given back when the page is done and the last byte that was made of it has been taken.
    held: Arc<Reservation>,
    allowance: Allowance,
}

/// Some of it, given back when dropped.
#[must_use]
pub(crate) struct Room {
    _permit: OwnedSemaphorePermit,
    _held: Arc<Reservation>,
}

impl Outbox {
    /// Takes its room out of what was reserved for a page.
    pub(crate) fn out_of(page: &mut Reservation, allowance: Allowance) -> Self {
        let held = page.split(OUTBOX);
        Self {
            size: held.bytes(),
            room: Arc::new(Semaphore::new(held.bytes())),
            held: Arc::new(held),
            allowance,
        }
    }

    /// Room for so many bytes, or all there is, when the client has taken enough of what was made before.
    pub(crate) async fn take(&self, bytes: usize) -> Room {
        let within = bytes.min(self.size);
        let room = Arc::clone(&self.room);
        let permit = room.acquire_many_owned(within as u32).await;
        Room {
            _permit: permit.expect("no room is ever closed"),
            _held: Arc::clone(&self.held),
        }
    }

    /// What does not fit is reserved by itself: a row that becomes so much longer than it was is seldom. A budget that has no room for
    /// an outbox has none for this.
    async fn more(&self, bytes: usize) -> Result<Option<Reservation>, NoRoom> {
        if bytes == 0 || self.size < OUTBOX {
            return Ok(None);
        }
        self.allowance.in_passing(bytes).await.map(Some)
    }

    /// What was made of rows, which held so much: it holds no more than its length, and of the outbox what the rows did not have.
    pub(crate) async fn hold(&self, made: Vec<u8>, mut rows: Reservation) -> Result<Bytes, NoRoom> {
        rows.shrink_to(made.len());
        let more = made.len() - rows.bytes();
        if more == 0 {
            return Ok(rows.keep(made.into()));
        }
        let within = more.min(self.size.saturating_sub(FOR_PIECES));
        let more = self.more(more - within).await?;
        let room = self.take(within).await;
        Ok(keeping(made.into(), (rows, room, more)))
    }
}

impl Room {
    /// Bytes that hold their room until the last of them has been dropped.
    pub(crate) fn keep(self, bytes: Bytes) -> Bytes {
        keeping(bytes, self)
    }
}
