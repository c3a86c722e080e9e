//! What waits for the writer: orders, in the order in which they came, and steps of the periodic work, which wait only for what is being done. Who gives steps pauses between
//! them; behind a queue that is always full they would fall behind what is written, and what is kept of the past would have no bound.

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
#[derive(Debug)]
pub(crate) struct Waiting {
    orders: mpsc::Receiver<Order>,
    steps: mpsc::Receiver<Order>,
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
    /// The next one, once there is one; `None` when all were taken and no more can be given.
    pub(crate) async fn next(&mut self) -> Option<Order> {
        tokio::select! {
            biased;
            Some(step) = self.steps.recv() => Some(step),
            order = self.orders.recv() => match order {
                Some(order) => Some(order),
                None => self.steps.recv().await,
            },
        }
    }

    /// A step of the periodic work, if one waits.
    pub(crate) fn step(&mut self) -> Option<Order> {
        self.steps.try_recv().ok()
    }

    /// An order, if one waits.
    pub(crate) fn order(&mut self) -> Option<Order> {
        self.orders.try_recv().ok()
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
