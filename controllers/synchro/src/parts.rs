//! Work of a whole tenure that runs in tasks of its own. Nobody waits for it, so nobody would see that it broke off: a tenure ends with the first of
//! its parts that does.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::error;

/// The parts of one tenure.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// The first that broke off.
    broken: watch::Sender<Option<&'static str>>,
}

impl Parts {
    /// Does this until it is done or the handle is dropped.
    pub(crate) fn start(
        &self,
        part: &'static str,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> AbortOnDropHandle<()> {
        let broken = self.broken.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                error!(
                    part,
                    "a part of the synchro broke off, and the synchro ends with it"
                );
                broken.send_modify(|known| *known = known.or(Some(part)));
            }
        }))
    }

    /// Waits until one of them breaks off, and says which.
    pub(crate) async fn broken(&self) -> &'static str {
        let mut broken = self.broken.subscribe();
        let broken = broken.wait_for(Option::is_some).await;
        match broken.ok().and_then(|part| *part) {
            Some(part) => part,
            // The sender is ours.
            None => std::future::pending().await,
        }
    }
}
