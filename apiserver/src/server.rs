//! Sockets: which are accepted, how they are served, and a stop that lets requests finish.
//!
//! Every step of a connection has a time limit and every buffer a size, because none of it is authenticated yet.

mod client;
mod connection;
mod delivery;
mod guarded;
mod heads;
mod slots;
mod streams;
mod strikes;
pub(crate) mod tls;
mod wear;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::unconstrained;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::counters::Counters;
use crate::seldom::Seldom;
use client::Client;
pub(crate) use client::IdleLimits;
use connection::Service;
use delivery::Patience;
pub(crate) use slots::SlotLimits;
use slots::Slots;

/// Wait before accepting again when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a refusal is kept of which nothing is taken.
const REFUSAL: Duration = Duration::from_secs(5);

/// What a connection may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// How many there may be.
    pub(crate) slots: SlotLimits,
    /// How long one is kept that is of no use.
    pub(crate) idle: IdleLimits,
    /// How long an answer is kept of which nothing is taken.
    pub(crate) stall: Duration,
    /// How long an answer may take; its last bytes have the stall limit more.
    pub(crate) answer: Duration,
    /// How long connections may finish what they are doing when the server stops.
    pub(crate) grace: Duration,
}

impl ConnectionLimits {
    /// How long a client may take for what it is sent.
    fn patience(&self) -> Patience {
        Patience {
            stall: self.stall,
            refusal: REFUSAL,
            whole: self.answer + self.stall,
        }
    }
}

/// Connections that were ended and still have to notice: no more are accepted before some have.
const ENDING: usize = 64;

/// What the accept loop needs.
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) tls: TlsAcceptor,
    pub(crate) limits: ConnectionLimits,
}

impl Listener {
    /// Serves connections until cancelled, then lets those that are open finish.
    pub(crate) async fn serve(self, app: Arc<App>, cancel: CancellationToken) {
        let connections = TaskTracker::new();
        let slots = Slots::new(self.limits.slots, Arc::clone(app.counters()));
        let service = Arc::new(Service {
            app: Arc::clone(&app),
            tls: self.tls,
            patience: self.limits.patience(),
            idle: self.limits.idle,
            grace: self.limits.grace,
            stop: cancel.clone(),
        });
        let room = Arc::new(Semaphore::new(self.limits.slots.all + ENDING));
        // All that wait are accepted in one go, or a crowd fills the line that the aggregator's connection waits in.
        let accept = async || {
            let permit = Arc::clone(&room).acquire_owned().await;
            let permit = permit.expect("nobody closes it");
            (unconstrained(self.socket.accept()).await, permit)
        };
        while let Some((accepted, permit)) = cancel.run_until_cancelled(accept()).await {
            let (socket, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    log_refused(&error);
                    let pause = tokio::time::sleep(ACCEPT_PAUSE);
                    let _ = cancel.run_until_cancelled(pause).await;
                    continue;
                }
            };
            let client = Client::new(Arc::clone(&app), address.ip(), slots.heads());
            let Some(slot) = slots.take(&client) else {
                tracing::debug!("a connection found no slot");
                continue;
            };
            let service = Arc::clone(&service);
            let counted = Counters::connection(app.counters());
            connections.spawn(async move {
                service.serve(socket, client, slot).await;
                drop((counted, permit));
            });
        }
        drop(self.socket);
        connections.close();
        connections.wait().await;
        app.close().await;
    }
}

/// A process without file descriptors tries ten times a second.
fn log_refused(error: &std::io::Error) {
    static LOGGED: Seldom = Seldom::new();
    if let Some(left_out) = LOGGED.turn() {
        tracing::warn!(error = %error, left_out, "a connection could not be accepted");
    }
}

#[cfg(test)]
mod tests;
