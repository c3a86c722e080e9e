//! The writer: one task that owns all writing. Orders that wait together are carried out in one transaction.
//!
//! Grouping is what makes many small streams as fast as one big one: a commit and the head row are paid once. Which orders are a group is told in `group`, and what becomes of one that cannot be done as a whole
//! is told in `division`.

mod division;
mod group;
mod met;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use armadex_storage::StoreError;
use tokio_util::sync::CancellationToken;

use crate::backend::error::{is_collision, is_duplicate, is_too_much, stays_duplicate, told};
use crate::backend::incarnation::{self, Committed};
use crate::backend::seen::Seen;
use crate::backend::{Lane, SharedDatabase, Transaction, head_row, schema};
use crate::sql::head::HeadRow;
use crate::write::Portions;
use crate::write::admit::{Admitted, admit};
use crate::write::catalog_change::CatalogChange;
use crate::write::clusters::Opened;
use crate::write::heard::Heard;
use crate::write::joining::Joining;
use crate::write::label_keys::{LabelKeys, TypeKey};
use crate::write::lease::Lease;
use crate::write::left_off::LeftOff;
use crate::write::numbers::ObjectIds;
use crate::write::past::PastKnown;
use crate::write::prepare::Prepared;
use crate::write::publish::publish;
use crate::write::queue::Waiting;
use crate::write::session::Session;
use crate::write::shown::Shown;
use crate::write::stage::{Staged, stage};
use crate::write::tenures::Tenures;
use crate::write::types::Opening;
use crate::write::unanswered::Unanswered;
use crate::write::work::{Done, Order, Work};
use crate::write::{clusters, dictionaries, joining, mend, purge};
use group::Group;
use met::Met;

/// How often work that met another transaction is done. Who has met several is better off to wait: its caller backs off.
const TRIES: usize = 4;

/// The task's state.
pub(crate) struct Writer {
    pub(crate) database: SharedDatabase,
    pub(crate) portions: Portions,
    pub(crate) watch_window: Duration,
    pub(crate) past: PastKnown,
    pub(crate) lease: Lease,
    pub(crate) rest: Duration,
    pub(crate) object_ids: ObjectIds,
    pub(crate) labels: LabelKeys,
    pub(crate) left_off: LeftOff,
    pub(crate) tenures: Tenures,
    pub(crate) unanswered: Unanswered,
    /// How far this process committed.
    pub(crate) committed: Committed,
    /// What those know who read.
    pub(crate) seen: Arc<Seen>,
    /// Whether the database has been rewound or replaced, or serves newer binaries only, so that nothing is written any more.
    pub(crate) is_over: bool,
}

impl Writer {
    /// Works until cancelled, until nobody can give orders any more (orders that were accepted are carried out), or until the database is found
    /// to be rewound, or changed so that this binary may not use it.
    pub(crate) async fn run(mut self, mut waiting: Waiting, stop: CancellationToken) {
        let mut rested = true;
        loop {
            if stop.is_cancelled() && !waiting.is_closed() {
                waiting.close();
            }
            let order = match waiting.ready() {
                Some(order) => Some(order),
                None => tokio::select! {
                    biased;
                    () = stop.cancelled(), if !waiting.is_closed() => continue,
                    order = waiting.next() => order,
                    () = tokio::time::sleep(self.rest), if !rested => {
                        self.database.rest().await;
                        rested = true;
                        continue;
                    }
                },
            };
            let Some(order) = order else { break };
            let mut group = Group::of(order);
            group.gather(&mut waiting, &self.portions);
            self.carry_out(group.orders).await;
            if self.is_over {
                break;
            }
            self.database.catch_up().await;
            rested = false;
        }
        if !self.is_over && self.lease.is_held() {
            self.give_back().await;
        }
    }

    /// Lets another process have the periodic work at once.
    async fn give_back(&self) {
        let given = async {
            let mut transaction = self.database.write().await?;
            let given = self.lease.give_back(&mut *transaction).await;
            finish(transaction, given).await
        };
        if let Err(err) = given.await {
            // It is free in any case once it has not been seen used for a while.
            tracing::debug!(error = %err, "the periodic work of the store was not given back");
        }
    }

    async fn carry_out(&mut self, orders: Vec<Order>) {
        let (work, replies): (Vec<Work>, Vec<_>) = orders
            .into_iter()
            .map(|order| (order.work, order.reply))
            .unzip();
        let begun = Instant::now();
        let mut results = self.results(&work).await;
        if let [Ok(Done::Purged(purged))] = &mut results[..] {
            purged.finished = purged.finished && !self.give_space_back().await;
            purged.took = begun.elapsed();
        }
        for ((reply, result), work) in replies.into_iter().zip(results).zip(work) {
            match (&result, &work) {
                // It did not begin.
                (Err(StoreError::TakenOver { .. }), Work::Begin(..)) => {}
                (Err(_), Work::Begin(owner, _)) => self.tenures.forget(owner),
                _ => {}
            }
            let _ = reply.send(match (result, work) {
                (Err(err), Work::Write(batch)) if is_too_much(&err) => Ok(Done::TooMuch(batch)),
                (result, _) => result,
            });
        }
    }

    /// After a purge that is done; whether there is more to give back.
    async fn give_space_back(&self) -> bool {
        if !self.lease.is_held() {
            return false;
        }
        match self.database.give_space_back().await {
            Ok(more) => more,
            Err(err) => {
                tracing::warn!(error = %err, "the space of what was purged was not given back");
                false
            }
        }
    }

    /// Does all of the work in one transaction, unless others of its group have met what all of them would. Where that may pass, each that is tried may wait for
    /// the database once more, and no order is taken meanwhile; once the database was given up nothing is done, whichever server answers by now.
    async fn attempt(
        &mut self,
        work: &[Work],
        trouble: &mut Option<StoreError>,
    ) -> Result<Vec<Done>, StoreError> {
        if let Some(trouble) = trouble {
            return Err(told(trouble));
        }
        let done = self.transact_anew(work).await;
        let is_of_all = |err: &&StoreError| self.is_over || err.is_transient() && !is_too_much(err);
        *trouble = done.as_ref().err().filter(is_of_all).map(told);
        done
    }

    /// Does all of the work in one transaction, and once more where another transaction was in the way, or where commits seem to be lost, which may be there on
    /// a server that this one is behind.
    async fn transact_anew(&mut self, work: &[Work]) -> Result<Vec<Done>, StoreError> {
        let mut tries = 1..TRIES;
        let mut pauses = self.database.patience();
        let mut only_duplicates = true;
        loop {
            match (self.transact(work, pauses).await, pauses) {
                (Err(StoreError::Gone { .. }), [pause, later @ ..]) if !self.is_over => {
                    tokio::time::sleep(*pause).await;
                    pauses = later;
                }
                (Err(err), _) if is_collision(&err) => {
                    only_duplicates &= is_duplicate(&err);
                    match tries.next() {
                        Some(_) => tokio::task::yield_now().await,
                        None if only_duplicates => return Err(stays_duplicate(&err)),
                        None => return Err(err),
                    }
                }
                (done, _) => return done,
            }
        }
    }

    /// Does all of the work in one transaction, which notes what was decided before it. Where no pauses are left after which it is done once more, a database in
    /// which commits seem to be lost is given up.
    async fn transact(
        &mut self,
        work: &[Work],
        pauses: &[Duration],
    ) -> Result<Vec<Done>, StoreError> {
        let decided = self.decide().await;
        let done = self.transact_with(decided, work, pauses).await;
        match &done {
            Ok(_) => self.labels.note_committed(decided),
            Err(err) => {
                let is_tried_anew = matches!(err, StoreError::Gone { .. }) || is_collision(err);
                self.labels
                    .undo(decided, is_tried_anew || err.is_transient());
            }
        }
        done
    }

    /// A label key that is not worth an index, if one is due. It is looked at in a snapshot of its own: where that fails, or takes too long, what
    /// waits is written all the same.
    async fn decide(&mut self) -> Option<TypeKey> {
        let due = self.labels.take_due()?;
        let decided = async {
            let mut reader = self.database.read(Lane::Short).await?;
            let decided = self.labels.decide(&mut *reader, due).await;
            // It has changed nothing.
            let _ = reader.rollback().await;
            decided
        };
        decided.await.unwrap_or_else(|err| {
            tracing::debug!(error = %err, "whether a label is worth an index is asked again when more objects were met");
            None
        })
    }

    async fn transact_with(
        &mut self,
        decided: Option<TypeKey>,
        work: &[Work],
        pauses: &[Duration],
    ) -> Result<Vec<Done>, StoreError> {
        let mut transaction = self.begin(work).await?;
        let dialect = self.database.dialect();
        let mut session = Session {
            connection: &mut *transaction,
            dialect,
            object_ids: &mut self.object_ids,
            labels: &mut self.labels,
            portions: &self.portions,
            watch_window: self.watch_window,
            past: &mut self.past,
            lease: &mut self.lease,
            left_off: &mut self.left_off,
            unanswered: &self.unanswered,
            instant: Instant::now(),
            now: now(),
            committed: self.committed.clone(),
            catalog: CatalogChange {
                unposted: decided.into_iter().collect(),
                ..CatalogChange::default()
            },
            shown: Shown::default(),
        };
        let done = do_all(&mut session, &self.tenures, work).await;
        let committed = session.committed;
        let is_rolled_back = done.is_err();
        let done = match done {
            // That is found before anything is written.
            Err(StoreError::Gone { .. }) if pauses.is_empty() => {
                Err(self.give_up_here(transaction).await)
            }
            // What is lost here may be there on another server.
            Err(gone @ StoreError::Gone { .. }) => {
                transaction.leave();
                Err(gone)
            }
            done => finish(transaction, done).await,
        };
        match done {
            Ok((done, met)) => {
                for met in met {
                    met.count(&mut self.labels);
                }
                self.tenures.note(work, &done);
                self.settle(work, &done);
                self.note_committed(committed);
                Ok(done)
            }
            Err(err) => {
                self.forget(work, is_rolled_back);
                Err(err)
            }
        }
    }

    /// Whoever was refused may have waited for nothing.
    fn settle(&mut self, work: &[Work], done: &[Done]) {
        let work = work.iter().zip(done);
        let work = work.filter(|(_, done)| !matches!(done, Done::Refused(_)));
        let work = work.map(|(one, _)| one);
        let opened = opened(work.clone()).chain(work.clone().filter_map(Work::closed));
        let leaving = work.clone().filter_map(Work::leaving);
        self.unanswered.settle(said(work), opened, leaving);
    }

    /// Forgets what it knew only if the work was committed.
    fn forget(&mut self, work: &[Work], is_rolled_back: bool) {
        self.object_ids.forget();
        match is_rolled_back {
            true => self.left_off.undo(),
            false => {
                let joining = work.iter().filter_map(Work::joining);
                let joining = joining.map(|one| one.name);
                let (said, opened) = (said(work.iter()), opened(work.iter()));
                self.unanswered.note(said, opened, joining);
                self.left_off.forget();
            }
        }
        // Others have not held it.
        if work.iter().any(|work| matches!(work, Work::Purge(..))) {
            match is_rolled_back {
                true => self.lease.undo(),
                false => self.lease.forget(),
            }
            self.past.undo();
        }
    }

    fn note_committed(&mut self, committed: Committed) {
        self.object_ids.settle();
        self.left_off.settle();
        self.lease.settle();
        if committed != self.committed {
            if committed.revision != self.committed.revision {
                let (of, revision) = (&committed.incarnation, committed.revision);
                self.database.note_committed(of, revision);
            }
            self.seen.note_committed(&committed);
            self.committed = committed;
        }
    }
}

impl Writer {
    /// Begins a transaction on the database that this process knows. What seems to be rewound may be a server that is behind another one: it is left,
    /// and looked at again for as long as servers that follow each other need.
    async fn begin(&mut self, work: &[Work]) -> Result<Box<dyn Transaction>, StoreError> {
        let mut pauses = self.database.patience().iter();
        loop {
            let seen = self.seen.before();
            let (transaction, head) = self.begin_at_once().await?;
            let is_behind = self.is_rewound(&head, work) || seen.is_ahead_of(&head);
            if !is_behind && self.seen.note(&head) {
                return Ok(transaction);
            }
            let Some(pause) = pauses.next() else {
                return Err(self.give_up(transaction, head).await);
            };
            transaction.leave();
            tokio::time::sleep(*pause).await;
        }
    }

    async fn begin_at_once(&mut self) -> Result<(Box<dyn Transaction>, HeadRow), StoreError> {
        let mut transaction = match self.database.write().await {
            Err(gone @ StoreError::Gone { .. }) => {
                self.is_over = true;
                return Err(gone);
            }
            begun => begun?,
        };
        let head = head_row::read(&mut *transaction).await?;
        if let Err(refused) = schema::check(self.database.dialect(), head.serves) {
            // The process began before a newer binary changed what this one relies on; another start says so as well.
            self.is_over = true;
            tracing::error!(error = %refused, "nothing is written to the store any more");
            return finish(transaction, Err(refused)).await;
        }
        Ok((transaction, head))
    }

    /// Whether the database is not the one any more that was written to, or read, before.
    fn is_rewound(&self, head: &HeadRow, work: &[Work]) -> bool {
        let seen = work.iter().filter_map(|work| match work {
            Work::Rewound(seen) => Some(seen),
            _ => None,
        });
        let mut known = std::iter::once(&self.committed).chain(seen);
        known.any(|known| !known.is_before(head))
    }

    /// Gives up a database of which this transaction shows, and no other one needs to show again, that it was rewound.
    async fn give_up_here(&mut self, mut transaction: Box<dyn Transaction>) -> StoreError {
        match head_row::read(&mut *transaction).await {
            Ok(head) => self.give_up(transaction, head).await,
            // It is found out again.
            Err(err) => {
                let _ = transaction.rollback().await;
                err
            }
        }
    }

    /// Gives a database that was rewound another incarnation, if nobody has yet, and says that nothing is written any more. What this process
    /// knows, numbers of clusters and objects above all, is of a past that the database does not have: it has to begin anew.
    async fn give_up(&mut self, transaction: Box<dyn Transaction>, head: HeadRow) -> StoreError {
        let mut transaction = transaction;
        let renewed = match head.incarnation == self.committed.incarnation {
            true => incarnation::renew(&mut *transaction, &head.incarnation).await,
            false => Ok(None),
        };
        match finish(transaction, renewed).await {
            Ok(renewed) => {
                if let Some(incarnation) = renewed {
                    self.database.note_committed(&incarnation, head.revision);
                }
                self.is_over = true;
                incarnation::rewound()
            }
            Err(err) => err,
        }
    }
}

/// Does what is not refused because this process was replaced.
async fn do_all<'a>(
    session: &mut Session<'_>,
    tenures: &Tenures,
    work: &'a [Work],
) -> Result<(Vec<Done>, Vec<Met<'a>>), StoreError> {
    let refusals = tenures.refusals(session.connection, work).await?;
    let own = work.iter().zip(&refusals);
    let own = own.filter_map(|(one, refusal)| refusal.is_none().then_some(one));
    let (done, met) = do_own(session, &Vec::from_iter(own)).await?;
    let mut done = done.into_iter();
    let done = refusals.into_iter().map(|refusal| match refusal {
        Some(refused) => Done::Refused(refused),
        None => done.next().expect("one for each that is not refused"),
    });
    Ok((done.collect(), met))
}

/// Nobody has been answered yet, so whatever order the work is done in is right: who looks after clusters is held together, batches are staged together,
/// streams are opened together, what is said of clusters' health and of their labels is recorded together, and clusters join together; everything else comes after them one by
/// one, and batches are published at the end. What is asked of one cluster's name is done in the order in which it was given: who asked may not have waited
/// for the answer.
async fn do_own<'a>(
    session: &mut Session<'_>,
    work: &[&'a Work],
) -> Result<(Vec<Done>, Vec<Met<'a>>), StoreError> {
    let batches: Vec<&Prepared> = work.iter().copied().filter_map(Work::batch).collect();
    let heard = Heard::of(session.connection, work, session.unanswered).await?;
    let openings = work.iter().filter(|one| heard.refuses(one).is_none());
    let openings: Vec<&Opening> = openings.copied().filter_map(Work::opening).collect();
    let Admitted {
        batches,
        streams,
        refusals,
    } = admit(session, &batches).await?;
    let staged = stage(session, &batches, &streams).await?;
    let holds_up = |one: &Work| {
        let may_open = |cluster| session.unanswered.may_open(cluster);
        matches!(one, Work::Adopt(..)) || one.closed().is_some_and(may_open)
    };
    if work.iter().copied().any(holds_up) {
        clusters::hold_up_openings(session).await?;
    }
    let opened = clusters::open(session, &openings).await?;
    heard.record(session).await?;
    let written = came_of(&staged, refusals);
    let opened = opened.into_iter();
    let done = do_others(session, work, &heard, written, opened).await?;
    publish(session, &staged).await?;
    let catalog = std::mem::take(&mut session.catalog);
    if let Some(head) = catalog.stamp(session.connection, session.dialect).await? {
        session.labels.settle(head.revision);
        session.committed.catalog = head.catalog;
    }
    let met = staged.iter().zip(&batches).zip(&streams);
    let met = met.map(|((staged, batch), before)| Met::of(staged, batch, before));
    Ok((done, met.collect()))
}

/// What came of each batch, of those that were staged and others.
fn came_of(staged: &[Staged<'_>], refusals: Vec<Option<StoreError>>) -> impl Iterator<Item = Done> {
    let mut written = staged.iter().map(|batch| batch.written);
    refusals.into_iter().map(move |refusal| match refusal {
        Some(refused) => Done::Refused(refused),
        None => Done::Written(written.next().expect("one for each that was admitted")),
    })
}

/// Does what was not done together, and says of all of the work what came of it.
async fn do_others(
    session: &mut Session<'_>,
    work: &[&Work],
    heard: &Heard,
    mut written: impl Iterator<Item = Done>,
    mut opened: impl Iterator<Item = Opened>,
) -> Result<Vec<Done>, StoreError> {
    let joining = work.iter().copied().filter_map(Work::joining);
    joining::see_owners(session, joining).await?;
    let together = joining_together(work);
    let joining = Vec::from_iter(together.iter().flatten().copied());
    let mut joined = joining::join(session, &joining).await?.into_iter();
    let mut done = Vec::with_capacity(work.len());
    for (&one, has_joined) in work.iter().zip(&together) {
        if let Some(refused) = heard.refuses(one) {
            done.push(Done::Refused(refused));
            continue;
        }
        done.push(match one {
            Work::Write(_) => written.next().expect("one for each batch"),
            Work::Open(_) => Done::Opened(opened.next().expect("one for each opening")),
            Work::Health(..) | Work::Label(..) => Done::Nothing,
            Work::Join(..) if has_joined.is_some() => {
                Done::Joined(joined.next().expect("one for each that joins with others"))
            }
            other => do_one(session, other).await?,
        });
    }
    Ok(done)
}

/// The clusters that join together, each where it is in the work: of each name the first, unless something else is asked of it before.
fn joining_together<'a>(work: &[&'a Work]) -> Vec<Option<Joining<'a>>> {
    let mut named = BTreeSet::new();
    let first = work.iter().map(|one| {
        let is_first = one.name().is_some_and(|name| named.insert(name));
        one.joining().filter(|_| is_first)
    });
    first.collect()
}

async fn do_one(session: &mut Session<'_>, work: &Work) -> Result<Done, StoreError> {
    Ok(match work {
        Work::Join(..) => {
            let alone = Vec::from_iter(work.joining());
            Done::Joined(joining::join(session, &alone).await?[0])
        }
        Work::Leave(name, incarnation) => {
            clusters::leave(session, name, incarnation).await?;
            Done::Nothing
        }
        Work::Begin(owner, _) => Done::Begun(clusters::begin(session, owner).await?),
        Work::KeepAlive(owner, tenure) => {
            Done::Kept(clusters::keep_alive(session, owner, *tenure).await?)
        }
        Work::Close(cluster, _, resource) => {
            clusters::close(session, *cluster, *resource).await?;
            Done::Nothing
        }
        Work::Adopt(name, incarnation, member) => {
            Done::Joined(clusters::adopt(session, name, incarnation, member).await?)
        }
        Work::Purge(limit, grace) => Done::Purged(purge::purge(session, *limit, *grace).await?),
        Work::Mend(mending) => Done::Mended(mend::mend(session, mending).await?),
        Work::Learn(lesson) => Done::Learnt(dictionaries::learn(session, lesson).await?),
        // Whether it is so was looked at before anything else.
        Work::Rewound(_) => Done::Nothing,
        Work::Write(_) | Work::Open(_) | Work::Health(..) | Work::Label(..) => {
            unreachable!("done together with others")
        }
    })
}

async fn finish<T>(
    transaction: Box<dyn Transaction>,
    done: Result<T, StoreError>,
) -> Result<T, StoreError> {
    match done {
        Ok(value) => transaction.commit().await.map(|()| value),
        Err(err) => {
            // The first error says what went wrong; a failed rollback leaves nothing behind either.
            let _ = transaction.rollback().await;
            Err(err)
        }
    }
}

/// The clusters of which something is said.
fn said<'a>(work: impl Iterator<Item = &'a Work>) -> impl Iterator<Item = i64> {
    work.filter_map(|one| Some(one.telling()?.0.0))
}

/// Those of which streams are opened.
fn opened<'a>(work: impl Iterator<Item = &'a Work>) -> impl Iterator<Item = i64> {
    let openings = work.filter_map(Work::opening);
    openings.map(|opening| opening.cluster.0)
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
