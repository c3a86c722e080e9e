//! Writing to the store, for as long as it takes: what can be tried again is tried again, what cannot be stored is left out.

use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::Backoff;
use armadex_model::{ObjectKey, ResourceType};
use armadex_storage::{
    Batch, Change, ClusterId, MemberPosition, Rules, StoreError, TypeId, Written,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::Shared;
use crate::stream::objects::{ClusterObjects, Stored, Type};
use crate::told::metrics::ClusterMetrics;
use crate::told::report::Report;
use crate::told::store;

const FIRST_RETRY: Duration = Duration::from_millis(200);
const LAST_RETRY: Duration = Duration::from_secs(15);

/// Why nothing more is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// Somebody else writes this stream.
    Fenced,
    /// The cluster has left the store, or another synchro looks after it: who began the session finds out which.
    Left,
    /// The stream is to end.
    Cancelled,
    /// The cluster has more objects than it may have since a batch was written, which added some, or so many more that of a batch only what leaves was.
    Full,
}

/// What the store does not take, however often it is asked, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Object(ObjectKey, String),
    /// The whole type: it is something else to others.
    Type(String),
}

impl Refused {
    pub(crate) fn reason(&self) -> &str {
        let (Self::Object(_, reason) | Self::Type(reason)) = self;
        reason
    }
}

/// The way of one stream into the store. Whoever waits for it does not read from the member meanwhile.
pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) cluster: ClusterId,
    pub(crate) resource: Arc<ResourceType>,
    /// By which it stores; those that the stream is opened with. In a box, as the task of a stream has no room for both numbers.
    pub(crate) rules: Box<Rules>,
    pub(crate) report: Arc<Report>,
    pub(crate) objects: Arc<ClusterObjects>,
    pub(crate) metrics: Arc<ClusterMetrics>,
    pub(crate) cancel: CancellationToken,
    /// Cluster and type, for logs.
    pub(crate) what: Box<str>,
}

/// The stream as it was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) resource: TypeId,
    pub(crate) epoch: i64,
    /// Of Events some are kept, and more than these may be stored: a list frees place, though the member does not say how many there are. One such list is made, or in
    /// a full cluster all would be read over and over.
    pub(crate) is_narrowed: bool,
}

impl Writer {
    /// Writes a batch, however often it takes. Where the cluster has so many objects more than it may have that nothing is added, what leaves is written all the same;
    /// a position only together with all that leads to it.
    ///
    /// # Errors
    /// [`Halt::Full`] if something that was to be put was not.
    pub(super) async fn write(
        &self,
        opened: Opened,
        changes: Vec<Change>,
        position: Option<MemberPosition>,
    ) -> Result<Written, Halt> {
        if self.has_place(opened, &changes).await? {
            return self.store(opened, changes, position).await;
        }
        let is_put = |change: &Change| matches!(change, Change::Put(_));
        let (puts, leave) = changes.into_iter().partition::<Vec<_>, _>(is_put);
        self.store(opened, leave, None).await?;
        match self.has_place(opened, &puts).await? {
            true => self.store(opened, puts, position).await,
            false => Err(Halt::Full),
        }
    }

    /// Whether a batch may be written: a member may say of its lists what it likes.
    async fn has_place(&self, opened: Opened, changes: &[Change]) -> Result<bool, Halt> {
        let mut changes = changes.iter();
        let adds = changes.any(|change| matches!(change, Change::Put(_)));
        if !adds || !self.objects.overflow_it() {
            return Ok(true);
        }
        let stored = self.stored(opened).await?;
        Ok(stored.is_none_or(|stored| !stored.is_beyond()))
    }

    /// Whether this made the cluster have more objects than it may have, or it had before and this added to them.
    pub(super) async fn is_above_by(&self, opened: Opened, written: Written) -> Result<bool, Halt> {
        // What is made anew under its old name counts as added and deleted.
        if written.added <= written.deleted || !self.objects.fill_it() {
            return Ok(false);
        }
        let stored = self.stored(opened).await?;
        Ok(stored.is_some_and(Stored::is_above))
    }

    /// What came of it when it is stored, without what the store does not take.
    async fn store(
        &self,
        opened: Opened,
        changes: Vec<Change>,
        position: Option<MemberPosition>,
    ) -> Result<Written, Halt> {
        if changes.is_empty() && position.is_none() {
            return Ok(Written::default());
        }
        let mut batch = Batch {
            cluster: self.cluster,
            resource: opened.resource,
            epoch: opened.epoch,
            rules: *self.rules,
            whole: true,
            changes,
            position,
        };
        let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
        loop {
            batch.whole = !self.report.leaves_out();
            self.report.writes();
            let tried = self
                .attempt(|| self.shared.sink.write(batch.clone()))
                .await?;
            let (key, reason) = match tried {
                Ok(written) => {
                    self.metrics.wrote(written);
                    self.report.wrote(written);
                    self.objects.wrote(self.counted(opened), written);
                    return Ok(written);
                }
                Err(Refused::Object(key, reason)) => (key, reason),
                Err(Refused::Type(what)) => {
                    self.wait_for_store(&StoreError::Differs { what }, &mut backoff)
                        .await?;
                    continue;
                }
            };
            if !self.leave_out(&mut batch, &key, &reason) {
                let reason = format!("it refused {key}, which it was not given: {reason}");
                let error = StoreError::Broken { reason };
                self.wait_for_store(&error, &mut backoff).await?;
            }
        }
    }

    /// What the store has of the cluster, and of this stream; `None` where that does not fill it. One stream looks for all that ask at about the same time, since a
    /// look tells of each.
    pub(super) async fn stored(&self, opened: Opened) -> Result<Option<Stored>, Halt> {
        let _turn = tokio::select! {
            // A stream that ends writes what it has, if it need not wait.
            biased;
            turn = self.objects.turn() => turn,
            () = self.cancel.cancelled() => return Err(Halt::Cancelled),
        };
        let begun = Instant::now();
        let of = self.counted(opened);
        let known = self.objects.known(of, begun);
        if known.is_some() || !self.objects.fill_it() {
            return Ok(known);
        }
        let states = self.attempt(|| self.shared.sink.streams(self.cluster));
        // A look is refused for no object and no type.
        self.objects.are(&states.await?.unwrap_or_default(), begun);
        Ok(self.objects.known(of, begun))
    }

    fn counted(&self, opened: Opened) -> Type<'_> {
        Type {
            id: opened.resource,
            gvr: &self.resource.gvr,
        }
    }

    /// Calls the store until it answers. What it refuses is for the caller.
    pub(crate) async fn attempt<T, F>(
        &self,
        mut call: impl FnMut() -> F,
    ) -> Result<Result<T, Refused>, Halt>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
        loop {
            match call().await {
                Ok(value) => {
                    if self.report.store_works() && self.shared.store_outages.ends(&self.what) {
                        info!("the store takes changes again");
                    }
                    return Ok(Ok(value));
                }
                Err(StoreError::Rejected { key, reason }) => {
                    return Ok(Err(Refused::Object(key, reason)));
                }
                Err(StoreError::Differs { what }) => return Ok(Err(Refused::Type(what))),
                Err(StoreError::Fenced { .. }) => return Err(Halt::Fenced),
                Err(error) if self.shared.has_lost(&error) => return Err(Halt::Left),
                Err(error) => self.wait_for_store(&error, &mut backoff).await?,
            }
        }
    }

    async fn wait_for_store(&self, error: &StoreError, backoff: &mut Backoff) -> Result<(), Halt> {
        self.metrics.store_retries.add(1);
        let words = error.to_string();
        if !error.is_told() && self.shared.store_outages.begins(&self.what, &words) {
            warn!(stream = %self.what, error = words, "the store failed, retrying; other streams that it fails alike are not told of");
        }
        self.report.store_fails(store::in_a_status(error));
        let wait = backoff.next(rand::random());
        tokio::select! {
            () = self.cancel.cancelled() => Err(Halt::Cancelled),
            () = tokio::time::sleep(wait) => Ok(()),
        }
    }

    /// Takes a refused object out of the batch; an older form of it that is stored goes as well. `false` if it is not in there.
    fn leave_out(&self, batch: &mut Batch, key: &ObjectKey, reason: &str) -> bool {
        let Some(index) = batch.changes.iter().position(|change| change.key() == key) else {
            return false;
        };
        if let Change::Put(_) = batch.changes.swap_remove(index) {
            batch.changes.push(Change::Delete(key.clone()));
        }
        self.metrics.skipped.add(1);
        if let Some(objects) = self.report.skipped(Some(key.clone()), reason.to_owned()) {
            warn!(stream = %self.what, object = %key, reason, objects, "the store refused an object; others are not told of for a minute");
        }
        true
    }
}
