//! The writer: one task that owns all writing. Batches that wait together are committed together.
//!
//! Grouping is what makes many small streams as fast as one big one. If a group fails, each of its batches is tried alone, so that
//! one bad batch spoils no other.

use std::error::Error as _;
use std::time::{SystemTime, UNIX_EPOCH};

use armadex_model::{ClusterName, ResourceType};
use armadex_storage::{ClusterId, Health, Purged, StoreError, Stream, TypeId, Written};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::backend::{SharedDatabase, Transaction};
use crate::write::batch::{Session, write};
use crate::write::clusters;
use crate::write::numbers::ObjectIds;
use crate::write::prepare::Prepared;
use crate::write::purge;

/// The most batches in one transaction: with batches of 500, as much as one commit is worth.
const GROUP: usize = 16;

/// Where an answer goes. Nobody waiting for it is no error: the work is done all the same.
type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// Something for the writer to do.
pub(crate) enum Order {
    Write(Prepared, Reply<Written>),
    Join(ClusterName, String, Reply<ClusterId>),
    Leave(ClusterName, String, Reply<()>),
    Health(ClusterId, Health, Option<String>, Reply<()>),
    Open(ClusterId, ResourceType, Reply<Stream>),
    Close(ClusterId, TypeId, Reply<()>),
    Purge(u32, Reply<Purged>),
}

/// The task's state.
pub(crate) struct Writer {
    pub(crate) database: SharedDatabase,
    pub(crate) retention: u64,
    pub(crate) object_ids: ObjectIds,
}

impl Writer {
    /// Works until cancelled or until nobody can give orders any more; orders that were accepted are carried out.
    pub(crate) async fn run(mut self, mut orders: mpsc::Receiver<Order>, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled(), if !orders.is_closed() => orders.close(),
                order = orders.recv() => match order {
                    Some(order) => self.carry_out(order, &mut orders).await,
                    None => break,
                },
            }
        }
    }

    async fn carry_out(&mut self, order: Order, orders: &mut mpsc::Receiver<Order>) {
        let mut next = Some(order);
        while let Some(order) = next.take() {
            match order {
                Order::Write(batch, reply) => {
                    let mut group = vec![(batch, reply)];
                    next = gather(&mut group, orders);
                    self.write_group(group).await;
                }
                other => self.alone(other).await,
            }
        }
    }

    async fn write_group(&mut self, group: Vec<(Prepared, Reply<Written>)>) {
        let (batches, replies): (Vec<Prepared>, Vec<Reply<Written>>) = group.into_iter().unzip();
        let results = match self.write_all(&batches).await {
            Ok(written) => written.into_iter().map(Ok).collect(),
            Err(err) if batches.len() == 1 => vec![Err(err)],
            // Trying each alone would make everybody wait for the database once more.
            Err(err) if err.is_transient() => batches.iter().map(|_| Err(again(&err))).collect(),
            Err(_) => self.write_each(&batches).await,
        };
        for (reply, result) in replies.into_iter().zip(results) {
            let _ = reply.send(result);
        }
    }

    async fn write_each(&mut self, batches: &[Prepared]) -> Vec<Result<Written, StoreError>> {
        let mut results = Vec::with_capacity(batches.len());
        for batch in batches {
            results.push(
                self.transact(async |session| write(session, batch).await)
                    .await,
            );
        }
        results
    }

    async fn write_all(&mut self, batches: &[Prepared]) -> Result<Vec<Written>, StoreError> {
        self.transact(async |session| {
            let mut written = Vec::with_capacity(batches.len());
            for batch in batches {
                written.push(write(session, batch).await?);
            }
            Ok(written)
        })
        .await
    }

    async fn alone(&mut self, order: Order) {
        match order {
            Order::Write(batch, reply) => self.write_group(vec![(batch, reply)]).await,
            Order::Join(name, incarnation, reply) => {
                let work = async |session: &mut Session<'_>| {
                    clusters::join(session, &name, &incarnation).await
                };
                let _ = reply.send(self.transact(work).await);
            }
            Order::Leave(name, incarnation, reply) => {
                let work = async |session: &mut Session<'_>| {
                    clusters::leave(session, &name, &incarnation).await
                };
                let _ = reply.send(self.transact(work).await);
            }
            Order::Health(cluster, health, version, reply) => {
                let work = async |session: &mut Session<'_>| {
                    clusters::set_health(session, cluster, &health, version.as_deref()).await
                };
                let _ = reply.send(self.transact(work).await);
            }
            Order::Open(cluster, resource, reply) => {
                let work = async |session: &mut Session<'_>| {
                    clusters::open(session, cluster, &resource).await
                };
                let _ = reply.send(self.transact(work).await);
            }
            Order::Close(cluster, resource, reply) => {
                let work = async |session: &mut Session<'_>| {
                    clusters::close(session, cluster, resource).await
                };
                let _ = reply.send(self.transact(work).await);
            }
            Order::Purge(limit, reply) => {
                let work = async |session: &mut Session<'_>| purge::purge(session, limit).await;
                let _ = reply.send(self.transact(work).await);
            }
        }
    }

    /// Runs `work` in a transaction of its own.
    async fn transact<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Session<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut transaction = self.database.write().await?;
        let mut session = Session {
            connection: &mut *transaction,
            dialect: self.database.dialect(),
            object_ids: &mut self.object_ids,
            retention: self.retention,
            now: now(),
        };
        let done = work(&mut session).await;
        let done = finish(transaction, done).await;
        if done.is_err() {
            self.object_ids.forget();
        }
        done
    }
}

/// Takes the batches that wait, up to the first other order, which is given back.
fn gather(
    group: &mut Vec<(Prepared, Reply<Written>)>,
    orders: &mut mpsc::Receiver<Order>,
) -> Option<Order> {
    while group.len() < GROUP {
        match orders.try_recv() {
            Ok(Order::Write(batch, reply)) => group.push((batch, reply)),
            Ok(other) => return Some(other),
            Err(_) => return None,
        }
    }
    None
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

/// The same trouble, told to one more of those who wait.
fn again(err: &StoreError) -> StoreError {
    StoreError::Unavailable {
        reason: "the transaction of several batches did not succeed".into(),
        source: err
            .source()
            .map_or_else(|| err.to_string(), ToString::to_string)
            .into(),
    }
}

fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
