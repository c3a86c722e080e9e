//! The streams of an HTTP/2 connection: each in a task of its own, watched until its answer is on the wire.

use std::sync::Arc;

use hyper::rt::Executor;

use super::client::Client;
use super::delivery::{Delivery, Ended, Patience};

tokio::task_local! {
    /// The delivery of the stream that this task drives.
    static DELIVERY: Arc<Delivery>;
}

/// Spawns the tasks of one connection's streams.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) client: Arc<Client>,
    pub(super) patience: Patience,
}

impl<F> Executor<F> for Streams
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, stream: F) {
        let client = Arc::clone(&self.client);
        let delivery = Delivery::new(self.patience);
        tokio::spawn(DELIVERY.scope(Arc::clone(&delivery), async move {
            // A stream whose task ends before its answer is complete is reset.
            if let Ended::Stalled { is_left } = delivery.watch(stream).await {
                client.strike(is_left);
            }
        }));
    }
}

/// The delivery of the stream that is being answered.
pub(super) fn present() -> Option<Arc<Delivery>> {
    DELIVERY.try_with(Arc::clone).ok()
}
