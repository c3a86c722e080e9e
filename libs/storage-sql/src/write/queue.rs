//! What waits for the writer: orders, in the order in which they came, and steps of the periodic work, which wait only for what is being done, or for one turn of the orders if that
//! is a step. Behind a queue that is always full they would fall behind what is written, and what is kept of the past would have no bound; and who has fallen behind gives
//! one step after the other, behind which nothing would be written.

use tokio::sync::mpsc;

use crate::write::work::{Order, Work};

/// Steps that may wait: one process gives one at a time.
const STEPS: usize = 4;

/// Where orders are given.
#[derive(Debug)]
pub(crate) struct Orders {
    orders: mpsc::Sender<Order>,
    steps: mpsc::Sender<Order>,
}

/// Where they are taken.
pub(crate) struct Waiting {
    orders: mpsc::Receiver<Order>,
    steps: mpsc::Receiver<Order>,
    /// An order that was taken and is not done yet: it comes before all others.
    left: Option<Order>,
    /// The last turn was that of a step.
    has_stepped: bool,
}

/// With room for so many orders; when it is full, who gives one waits.
pub(crate) fn queue(room: usize) -> (Orders, Waiting) {
    let (orders, waiting) = mpsc::channel(room.max(1));
    let (steps, waiting_steps) = mpsc::channel(STEPS);
    (
        Orders { orders, steps },
        Waiting {
            orders: waiting,
            steps: waiting_steps,
            left: None,
            has_stepped: false,
        },
    )
}

impl Orders {
    /// Gives one; whether anybody takes it.
    pub(crate) async fn give(&self, order: Order) -> bool {
        let queue = match order.work {
            Work::Purge(..) => &self.steps,
            _ => &self.orders,
        };
        queue.send(order).await.is_ok()
    }
}

impl Waiting {
    /// What has the next turn and is known to wait: a step, or what was given back; behind a step any order.
    pub(crate) fn ready(&mut self) -> Option<Order> {
        let ready = match self.has_stepped {
            true => self.order().or_else(|| self.steps.try_recv().ok()),
            false => self.steps.try_recv().ok().or_else(|| self.left.take()),
        };
        self.has_turn(ready)
    }

    /// The next one where nothing is ready, once there is one; `None` when all were taken and no more can be given.
    pub(crate) async fn next(&mut self) -> Option<Order> {
        let next = tokio::select! {
            biased;
            Some(step) = self.steps.recv() => Some(step),
            order = self.orders.recv() => match order {
                Some(order) => Some(order),
                None => self.steps.recv().await,
            },
        };
        self.has_turn(next)
    }

    fn has_turn(&mut self, order: Option<Order>) -> Option<Order> {
        if let Some(order) = &order {
            self.has_stepped = matches!(order.work, Work::Purge(..));
        }
        order
    }

    /// An order to go with the one that has its turn, if one waits.
    pub(crate) fn order(&mut self) -> Option<Order> {
        self.left.take().or_else(|| self.orders.try_recv().ok())
    }

    /// An order that does not go with it.
    pub(crate) fn give_back(&mut self, order: Order) {
        self.left = Some(order);
    }

    /// Takes no more of what is given from now on.
    pub(crate) fn close(&mut self) {
        self.orders.close();
        self.steps.close();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.orders.is_closed()
    }
}
