//! What the streams of one cluster share while they are connected with its member.

use std::sync::Arc;
use std::time::Duration;

use armadex_member::{ListRequest, Member, MemberError};
use armadex_model::GroupVersionResource;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::stream::turns::ClusterTurns;
use crate::told::outages::Outages;

/// Streams of a member that ask at the same time how far it is. After a restart all of them want to know, and a connection of HTTP/2 keeps the
/// room for as many requests as ever waited in it.
const ASKING: usize = 4;
/// An answer takes a round trip or a few. Who has waited longer for another's asks without a turn: a kind that hangs keeps nobody waiting but itself.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);

/// A member that streams are connected with.
pub(crate) struct Connected {
    /// The connection.
    pub(crate) member: Arc<Member>,
    /// Who the member is.
    pub(crate) identity: String,
    /// Cancelled by the stream that finds another member behind the connection.
    pub(crate) stranger: CancellationToken,
    /// Lists of this cluster that may be read now.
    pub(crate) lists: Arc<ClusterTurns>,
    /// What fails now.
    pub(crate) outages: Outages,
    since: Instant,
    /// When it was last asked who it is. Whoever wants to know waits here while another asks.
    asked: Mutex<Asked>,
    asking: Semaphore,
}

struct Asked {
    begun: Instant,
    ended: Instant,
    answer: Result<String, Arc<MemberError>>,
}

impl Connected {
    /// A member that has just said who it is.
    pub(crate) fn new(member: Arc<Member>, identity: String, lists: Arc<ClusterTurns>) -> Self {
        lists.connected();
        let now = Instant::now();
        let asked = Asked {
            begun: now,
            ended: now,
            answer: Ok(identity.clone()),
        };
        Self {
            member,
            identity,
            stranger: CancellationToken::new(),
            lists,
            outages: Outages::default(),
            since: now,
            asked: Mutex::new(asked),
            asking: Semaphore::new(ASKING),
        }
    }

    /// When the streams were connected with the member.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// How far a collection of it is, by a list of one object's metadata. In turns, as long as those who ask are answered soon.
    pub(crate) async fn present_version(
        &self,
        resource: &GroupVersionResource,
    ) -> Result<String, MemberError> {
        let request = ListRequest {
            resource,
            limit: 1,
            continue_token: None,
        };
        let _turn = timeout(ANSWERED_WITHIN, self.asking.acquire()).await;
        self.member.collection_version(&request).await
    }

    /// Who the member is: an answer to what was asked after `since`, when that came in doubt. All streams of a connection that breaks want to
    /// know, and one asks.
    pub(crate) async fn identity_since(&self, since: Instant) -> Result<String, Arc<MemberError>> {
        let wanted = Instant::now();
        let mut asked = self.asked.lock().await;
        let fits = match asked.answer {
            Ok(_) => asked.begun >= since,
            // It failed while this one waited; the next attempt asks again.
            Err(_) => asked.ended > wanted,
        };
        if !fits {
            let begun = Instant::now();
            let answer = self.member.identity().await.map_err(Arc::new);
            *asked = Asked {
                begun,
                ended: Instant::now(),
                answer,
            };
        }
        asked.answer.clone()
    }
}
