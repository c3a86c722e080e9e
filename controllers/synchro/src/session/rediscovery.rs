//! Asks a member again and again what it serves, beside everything else: a member that does not answer may take its time, and its
//! health is probed meanwhile.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use armadex_member::{Discovery, Member, MemberError};
use tokio::time::{Instant, Sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::backoff::jittered;

/// When to ask next, or what is being asked.
pub(super) struct Rediscovery {
    member: Arc<Member>,
    due: Pin<Box<Sleep>>,
    asked: Option<AbortOnDropHandle<Result<Discovery, MemberError>>>,
}

impl Rediscovery {
    /// Asks first after `period`.
    pub(super) fn new(member: Arc<Member>, period: Duration) -> Self {
        Self {
            member,
            due: Box::pin(tokio::time::sleep(period)),
            asked: None,
        }
    }

    /// Asks next after about `period`.
    pub(super) fn again_in(&mut self, period: Duration) {
        let next = Instant::now() + jittered(period, rand::random());
        self.due.as_mut().reset(next);
    }

    /// Asks at once.
    pub(super) fn now(&mut self) {
        self.asked = None;
        self.due.as_mut().reset(Instant::now());
    }

    /// The next answer. Safe to cancel: what was asked is not asked twice.
    pub(super) async fn answer(&mut self) -> Result<Discovery, MemberError> {
        if self.asked.is_none() {
            self.due.as_mut().await;
        }
        let member = &self.member;
        let asked = self.asked.get_or_insert_with(|| {
            let member = Arc::clone(member);
            AbortOnDropHandle::new(tokio::spawn(async move { member.discover().await }))
        });
        let answer = asked.await;
        self.asked = None;
        answer.unwrap_or_else(|error| {
            Err(MemberError::Unreachable {
                reason: format!("discovery broke off: {error}"),
            })
        })
    }
}
