//! Which orders go together in one transaction: as many of those that wait as that may take, in the order in which they wait.

use std::collections::HashSet;

use crate::write::Portions;
use crate::write::prepare::Prepared;
use crate::write::queue::Waiting;
use crate::write::work::{Order, Work};

/// Orders of one transaction.
pub(super) struct Group {
    pub(super) orders: Vec<Order>,
    /// Of those that are batches.
    streams: HashSet<(i64, i32)>,
    /// Clusters of which a stream is closed.
    closed: HashSet<i64>,
    changes: usize,
    edits: usize,
}

impl Group {
    pub(super) fn of(order: Order) -> Self {
        Self {
            changes: changes(&order.work),
            edits: edits(&order.work),
            streams: stream_of(&order.work).into_iter().collect(),
            closed: closed(&order.work).into_iter().collect(),
            orders: vec![order],
        }
    }

    /// Takes the orders that wait, up to the first that does not fit, which is given back.
    pub(super) fn gather(&mut self, waiting: &mut Waiting, portions: &Portions) -> Option<Order> {
        while self.orders.len() < portions.orders && self.changes < portions.changes {
            let order = waiting.order()?;
            let edits = self.edits + edits(&order.work);
            if edits > portions.edits || !self.fits(&order.work) {
                return Some(order);
            }
            self.edits = edits;
            self.changes += changes(&order.work);
            self.streams.extend(stream_of(&order.work));
            self.closed.extend(closed(&order.work));
            self.orders.push(order);
        }
        None
    }

    /// A purge reads rows, so it goes alone, as a mending does, and a part of a batch that was too much: others are not to be tried anew with it. So does the second
    /// batch of a stream, which is compared with the rows of the first, and an opening behind a closing of its cluster, for those that are opened are opened first.
    pub(super) fn fits(&self, work: &Work) -> bool {
        let is_alone = |work: &Work| match work {
            Work::Write(batch) => batch.is_part,
            work => matches!(work, Work::Purge(..) | Work::Mend(_)),
        };
        if is_alone(work) || is_alone(&self.orders[0].work) {
            return false;
        }
        let is_second = stream_of(work).is_some_and(|stream| self.streams.contains(&stream));
        let opened = work.opening().map(|opening| opening.cluster.0);
        let is_behind = opened.is_some_and(|cluster| self.closed.contains(&cluster));
        !is_second && !is_behind
    }
}

fn stream_of(work: &Work) -> Option<(i64, i32)> {
    work.batch().map(Prepared::stream)
}

fn closed(work: &Work) -> Option<i64> {
    match work {
        Work::Close(cluster, ..) => Some(cluster.0),
        _ => None,
    }
}

fn changes(work: &Work) -> usize {
    work.batch().map_or(1, |batch| batch.changes.len())
}

fn edits(work: &Work) -> usize {
    work.batch().map_or(0, Prepared::edits)
}
