//! Where one kind of attacker stands, and what happens to it there.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use http::StatusCode;

use crate::hostile::target::{Face, Target};

/// How long an attacker whom the server has shown out waits before it comes again: it is a nuisance, not a flood of its own.
const PAUSE: Duration = Duration::from_millis(250);

/// Where one kind of attacker stands.
pub(super) struct Ground {
    pub(super) target: Arc<Target>,
    /// A user who may read.
    pub(super) user: Face,
    /// Its network: 127.0.`network`.0/24.
    pub(super) network: u8,
    pub(super) seen: Mutex<BTreeMap<String, u64>>,
}

impl Ground {
    /// The address of one of this kind, of `many` different ones.
    pub(super) fn address(&self, number: usize, many: u8) -> Ipv4Addr {
        let last = 1 + (number % usize::from(many)) as u8;
        Ipv4Addr::new(127, 0, self.network, last)
    }

    pub(super) fn count(&self, what: impl Into<String>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen.entry(what.into()).or_default() += 1;
    }

    pub(super) fn answered(&self, code: StatusCode) {
        self.count(format!("answered {}", code.as_u16()));
    }

    /// Runs `number` attackers at once, each again and again; the server ends most of their attempts with an error.
    pub(super) async fn crowd<F>(&self, number: usize, attempt: impl Fn(usize) -> F)
    where
        F: Future<Output = Result<()>>,
    {
        let attempt = &attempt;
        let attackers = (0..number).map(|index| async move {
            loop {
                self.count("tried");
                if attempt(index).await.is_err() {
                    self.count("shown out");
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
        futures::future::join_all(attackers).await;
    }
}
