//! One question to a member: what it serves, and which of that is custom if somebody asks for all that is.

use std::sync::Arc;

use armadex_member::{Etags, Member, MemberError};

use crate::session::customs;
use crate::session::discoveries::{ClusterDiscovery, Held};
use crate::session::plan::Customs;

/// `None`: what the member serves is what it was.
pub(super) type Answer = Result<Option<(Held, Etags)>, MemberError>;

/// What is asked.
pub(super) struct Question {
    pub(super) member: Arc<Member>,
    pub(super) turns: Arc<ClusterDiscovery>,
    pub(super) known: Etags,
    /// What was custom the last time, if that is asked for.
    pub(super) customs: Option<Arc<Customs>>,
    /// It may be something else by now.
    pub(super) has_other_customs: bool,
}

impl Question {
    /// Asks it.
    pub(super) async fn ask(self) -> Answer {
        match &self.customs {
            None => self.turns.ask(&self.member, &self.known).await,
            Some(customs) => self.ask_with(Arc::clone(customs)).await,
        }
    }

    /// What is custom is asked before what is served, for nothing may be waited for by whoever holds that: what comes in between is told by the member. What is
    /// served in whole is never taken with names of before it.
    async fn ask_with(&self, mut customs: Arc<Customs>) -> Answer {
        let nothing = Etags::default();
        let mut known = &self.known;
        let mut are_asked = self.has_other_customs;
        loop {
            if are_asked {
                let now =
                    customs::ask(&self.member, self.turns.cluster(), self.turns.memory()).await;
                if now != *customs {
                    customs = Arc::new(now);
                    known = &nothing;
                }
            }
            match self.turns.ask(&self.member, known).await? {
                None => return Ok(None),
                Some((held, etags)) if are_asked => {
                    return Ok(Some((held.with(customs), etags)));
                }
                Some(_) => are_asked = true,
            }
        }
    }
}
