//! Which orders go together in one transaction: as many of those that wait as that may take, in the order in which they wait.

use std::collections::HashSet;

use armadex_model::ClusterName;

use crate::write::Portions;
use crate::write::prepare::Prepared;
use crate::write::queue::Waiting;
use crate::write::work::{Order, Work};

/// Orders of one transaction.
#[derive(Default)]
pub(super) struct Group {
    pub(super) orders: Vec<Order>,
    /// Of those that are batches.
    streams: HashSet<(i64, i32)>,
    /// Clusters of which a stream is closed.
    closed: HashSet<i64>,
    /// Of clusters that come or go.
    named: HashSet<ClusterName>,
    /// Those that are done one by one.
    one_by_one: usize,
    changes: usize,
    edits: usize,
}

impl Group {
    pub(super) fn of(order: Order) -> Self {
        let mut group = Self::default();
        group.take(order);
        group
    }

    /// Takes the orders that wait, up to the first that does not fit, which is given back.
    pub(super) fn gather(&mut self, waiting: &mut Waiting, portions: &Portions) {
        while self.orders.len() < portions.orders && self.changes < portions.changes {
            let Some(order) = waiting.order() else {
                return;
            };
            let has_room = self.edits + edits(&order.work) <= portions.edits
                && (!self.is_one_by_one(&order.work) || self.one_by_one < portions.one_by_one);
            if !has_room || !self.fits(&order.work) {
                return waiting.give_back(order);
            }
            self.take(order);
        }
    }

    fn take(&mut self, order: Order) {
        let work = &order.work;
        self.one_by_one += usize::from(self.is_one_by_one(work));
        self.edits += edits(work);
        self.changes += changes(work);
        self.streams.extend(stream_of(work));
        self.closed.extend(work.closed());
        self.named.extend(work.name().cloned());
        self.orders.push(order);
    }

    /// Whether it takes statements of its own. A cluster joins with others, but for one of which something is asked before.
    fn is_one_by_one(&self, work: &Work) -> bool {
        match work {
            Work::Write(_) | Work::Open(_) | Work::Health(..) | Work::Label(..) => false,
            Work::Join(name, ..) => self.named.contains(name),
            Work::Leave(..) | Work::Adopt(..) | Work::Close(..) => true,
            Work::Begin(..) | Work::KeepAlive(..) | Work::Learn(_) => true,
            Work::Purge(..) | Work::Mend(_) | Work::Rewound(_) => true,
        }
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

fn changes(work: &Work) -> usize {
    work.batch().map_or(1, |batch| batch.changes.len())
}

fn edits(work: &Work) -> usize {
    work.batch().map_or(0, Prepared::edits)
}
