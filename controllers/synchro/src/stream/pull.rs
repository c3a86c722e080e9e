//! What a list and a watch have in common: objects come in, are pruned, gathered within the budget, and written.

use armadex_model::ObjectKey;
use armadex_storage::{Change, MemberPosition, Object, Written};
use tracing::warn;

use crate::incoming::batch::{self, Pending};
use crate::incoming::budget::Held;
use crate::incoming::convert;
use crate::incoming::prune::{Salvaged, Skipped};
use crate::stream::Stream;
use crate::stream::writer::Halt;

/// Changes on their way, and the part of the budget that they take.
#[derive(Default)]
pub(super) struct Gathering {
    pub(super) pending: Pending,
    held: Held,
}

impl Gathering {
    /// Bytes of the budget that it takes.
    pub(super) fn held(&self) -> usize {
        self.held.bytes()
    }
}

impl Stream {
    /// The stored form of an object as the member sends it.
    pub(super) fn read_object(&self, json: &[u8]) -> Result<Object, Skipped> {
        convert::read(json, self.context.converted.as_deref(), &self.rules)
    }

    /// Adds a change; if the budget has no room for it what there is is written first, as `write` does.
    pub(super) async fn gather(
        &self,
        gathering: &mut Gathering,
        change: Change,
        write: impl AsyncFnOnce(&mut Gathering) -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        let weight = batch::weight(&change);
        let budget = &self.context.connected.memory.budget;
        if !budget.try_add(&mut gathering.held, weight) {
            write(gathering).await?;
            tokio::select! {
                () = self.context.cancel.cancelled() => return Err(Halt::Cancelled),
                () = budget.add(&mut gathering.held, weight) => {}
            }
        }
        if let Change::Put(object) = &change {
            self.context.report.settled(&object.key);
        }
        gathering.pending.push(change);
        Ok(())
    }

    /// Writes what was gathered, and the position, and gives the budget back.
    pub(super) async fn flush(
        &self,
        gathering: &mut Gathering,
        position: Option<MemberPosition>,
    ) -> Result<Written, Halt> {
        let (opened, changes) = (self.opened()?, gathering.pending.take());
        let written = self.writer.write(opened, changes, position).await;
        gathering.held = Held::default();
        written
    }

    /// Notes an object that is left out.
    pub(super) fn skip(&self, skipped: Skipped) {
        let Skipped { key, reason } = skipped;
        let object = key.as_ref().map(ToString::to_string);
        self.context.metrics.skipped.add(1);
        if let Some(objects) = self.context.report.skipped(key, reason.clone()) {
            warn!(stream = %self.writer.what, object, reason, objects, "an object is left out; others are not told of for a minute");
        }
    }

    /// The key of something that could not be read as a whole.
    pub(super) fn salvaged_key(&self, salvaged: &Salvaged) -> Option<ObjectKey> {
        salvaged.key(self.context.resource.namespaced)
    }

    /// What may come in for one object.
    pub(super) fn incoming_limit(&self) -> usize {
        self.context.shared.config.incoming_limit()
    }
}

/// Why an object that is longer than the limit is left out.
pub(super) fn too_long(length: usize, limit: usize) -> String {
    format!("it came with {length} bytes, above the limit of {limit}")
}
