//! Deleting what is stored and was not in the list, and storing the position that the list leads to.

use armadex_model::ObjectKey;
use armadex_storage::{Change, Phase, TypeId};

use crate::stream::step::{Outcome, Sweep};
use crate::stream::writer::{Halt, Refused, Writer};
use crate::stream::{Stream, StreamContext};

/// Keys that are compared at a time: some 60 KB. All of them may go at once: where that is too much for one transaction the store makes several of it.
const KEYS: u32 = 1000;

impl Stream {
    /// One step; the last one stores the position, if all that leads to it is stored. Otherwise it is listed anew: at once where there is place for it now, but
    /// only once. Of a resource that has far more than there is place for, and of which many go all the time, each list would make some.
    pub(super) async fn sweep(&mut self, sweep: &mut Sweep) -> Result<Outcome, Halt> {
        let opened = self.opened()?;
        let keys = if sweep.over_rows {
            let Self {
                context, writer, ..
            } = &*self;
            let stored = keys(context, writer, opened.resource, sweep.after.as_ref());
            match stored.await? {
                Ok(keys) => keys,
                Err(refused) => return Ok(self.failed_for(refused.reason())),
            }
        } else {
            Vec::new()
        };
        let last = keys.last().filter(|_| keys.len() >= KEYS as usize).cloned();
        let leads_on = last.is_none() && sweep.is_stored;
        let gone = keys.into_iter().filter(|key| !sweep.seen.contains(key));
        let changes: Vec<_> = gone.map(Change::Delete).collect();
        let position = match leads_on {
            true => Some(self.position(&sweep.version, Phase::Live)),
            false if changes.is_empty() => None,
            false => self.mark(std::mem::replace(&mut sweep.marked, true)),
        };
        self.writer.write(opened, changes, position).await?;
        if let Some(opened) = self.opened.as_mut().filter(|_| last.is_none()) {
            opened.is_narrowed = false;
        }
        if last.is_none() && !sweep.is_stored {
            let is_vain = std::mem::replace(&mut self.made_place, true);
            return Ok(match is_vain || self.context.objects.fill_it() {
                true => self.full(),
                false => Outcome::Gone,
            });
        }
        if leads_on {
            self.list_is_stored();
            self.context.report.listed();
            self.context.report.place().listed(&sweep.version);
        }
        Ok(Outcome::Swept(last))
    }
}

/// A page of what is stored, when it is this stream's turn: of some 40,000 it may be the last. While the store fails nobody keeps a turn.
async fn keys(
    context: &StreamContext,
    writer: &Writer,
    resource: TypeId,
    after: Option<&ObjectKey>,
) -> Result<Result<Vec<ObjectKey>, Refused>, Halt> {
    let (shared, cluster) = (&context.shared, context.cluster);
    let stored = writer.attempt(|| async {
        let _turn = shared.sweeps.acquire().await;
        shared.sink.keys(cluster, resource, after, KEYS).await
    });
    tokio::select! {
        () = context.cancel.cancelled() => Err(Halt::Cancelled),
        stored = stored => stored,
    }
}
