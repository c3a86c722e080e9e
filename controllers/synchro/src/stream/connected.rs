//! What the streams of one cluster share while they are connected with its member.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use armadex_crds::IdentitySource;
use armadex_member::{Identity, ListRequest, Member, MemberError};
use armadex_model::GroupVersionResource;
use tokio::sync::{Mutex, Notify, Semaphore};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::incoming::involved::Involved;
use crate::incoming::memory::ClusterMemory;
use crate::stream::busy::Busy;
use crate::stream::known::Known;
use crate::stream::link::Link;
use crate::stream::turns::ClusterTurns;
use crate::told::outages::Outages;

/// Streams of a member that ask at the same time how far it is, or how much it has. After a restart all of them want to know, and a connection of HTTP/2 keeps the
/// room for as many requests as ever waited in it.
const ASKING: usize = 4;
/// An answer takes a round trip or a few. Who waits longer for one gives its turn to the next: forty kinds that hang have the others wait for ten
/// seconds, and of a member whose answers take long four more are asked for each second, not all that there are.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// A member that has just started may refuse everything, and somebody who replaces a role takes a moment: what it is known by is asked for that long before something
/// else counts, by which all of it may have to be listed.
const REFUSED_FOR_GOOD: Duration = Duration::from_secs(60);

/// A member that streams are connected with.
pub(crate) struct Connected {
    /// The connection.
    pub(crate) member: Arc<Member>,
    /// Who the member is.
    pub(crate) identity: Identity,
    /// Cancelled by the stream that finds another member behind the connection.
    pub(crate) stranger: CancellationToken,
    /// Cancelled by the stream that finds that the member does not say any more who it is, in the way in which it did.
    pub(crate) nameless: CancellationToken,
    /// Told by each stream that goes on from where a member was that only its CA vouched for: one that was built anew since looks the same.
    pub(crate) was_vouched_for: Notify,
    /// Lists of this cluster that may be read now.
    pub(crate) lists: Arc<ClusterTurns>,
    /// What fails now, over whichever connection.
    pub(crate) outages: Arc<Outages>,
    /// What they may hold of the memory that all share, over whichever connection.
    pub(crate) memory: Arc<ClusterMemory>,
    /// Who waits because the member asked for it.
    pub(crate) busy: Busy,
    /// How quickly its pages come.
    pub(super) link: Link,
    /// Which of its API servers know lists that come as the beginning of a watch.
    pub(super) known: Known,
    /// It refused a field selector that every API server of Kubernetes knows.
    selects_nothing: AtomicBool,
    since: Instant,
    /// When it was last asked who it is. Whoever wants to know waits here while another asks.
    asked: Mutex<Asked>,
    also: Mutex<Also>,
    asking: Semaphore,
}

struct Asked {
    begun: Instant,
    ended: Instant,
    answer: Result<Identity, Arc<MemberError>>,
    /// Since when each answer was that whoever asks may not.
    refused: Option<Instant>,
}

/// Who a member is by other sources than the one it is known by, as far as positions are stored under them.
#[derive(Default)]
struct Also {
    /// `None` where it does not say.
    known: Vec<(IdentitySource, Option<Identity>)>,
    /// Since when it was refused to say that.
    refused: Option<Instant>,
    /// When the last question failed, and how.
    failed: Option<(Instant, Arc<MemberError>)>,
}

impl Connected {
    /// A member that has just said who it is.
    pub(crate) fn new(
        member: Arc<Member>,
        identity: Identity,
        lists: Arc<ClusterTurns>,
        outages: Arc<Outages>,
        memory: Arc<ClusterMemory>,
    ) -> Self {
        lists.connected();
        let now = Instant::now();
        let asked = Asked {
            begun: now,
            ended: now,
            answer: Ok(identity.clone()),
            refused: None,
        };
        Self {
            member,
            identity,
            stranger: CancellationToken::new(),
            nameless: CancellationToken::new(),
            was_vouched_for: Notify::new(),
            lists,
            outages,
            memory,
            busy: Busy::default(),
            link: Link::default(),
            known: Known::default(),
            selects_nothing: AtomicBool::new(false),
            since: now,
            asked: Mutex::new(asked),
            also: Mutex::default(),
            asking: Semaphore::new(ASKING),
        }
    }

    /// When the streams were connected with the member.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Asks with the selector of these kinds, if there is one, and once more without it where that is refused (400), which may be for anything that was asked. Where the same
    /// is answered without it the selector is what was refused, and it is not asked for again over this connection.
    pub(crate) async fn selecting<'s, T, F>(
        &self,
        involved: Option<&'s Involved>,
        ask: impl Fn(Option<&'s str>) -> F,
    ) -> Result<T, MemberError>
    where
        F: Future<Output = Result<T, MemberError>>,
    {
        let selects = !self.selects_nothing.load(Ordering::Relaxed);
        let selector = involved.filter(|_| selects).and_then(Involved::selector);
        match ask(selector).await {
            Err(error) if selector.is_some() && error.code() == Some(400) => {}
            answer => return answer,
        }
        let answer = ask(None).await?;
        self.selects_nothing.store(true, Ordering::Relaxed);
        Ok(answer)
    }

    /// How far a collection of it is, by a list of one object's metadata.
    pub(crate) async fn present_version(
        &self,
        resource: &GroupVersionResource,
    ) -> Result<String, MemberError> {
        let request = ListRequest {
            resource,
            limit: 1,
            continue_token: None,
            field_selector: None,
        };
        self.in_turn(self.member.collection_version(&request)).await
    }

    /// How many objects a collection has, if the member says so.
    pub(crate) async fn size(
        &self,
        resource: &GroupVersionResource,
    ) -> Result<Option<u64>, MemberError> {
        let request = ListRequest {
            resource,
            limit: 1,
            continue_token: None,
            field_selector: None,
        };
        self.in_turn(self.member.collection_size(&request)).await
    }

    /// In turns, each for as long as an answer takes.
    async fn in_turn<T>(&self, answer: impl Future<Output = T>) -> T {
        // No semaphore is closed.
        let turn = self.asking.acquire().await;
        let mut answer = std::pin::pin!(answer);
        if let Ok(answer) = timeout(ANSWERED_WITHIN, &mut answer).await {
            return answer;
        }
        drop(turn);
        answer.await
    }

    /// Who the member is: an answer to what was asked after `since`, when that came in doubt. All streams of a connection that breaks want to
    /// know, and one asks.
    pub(crate) async fn identity_since(
        &self,
        since: Instant,
    ) -> Result<Identity, Arc<MemberError>> {
        let wanted = Instant::now();
        let mut asked = self.asked.lock().await;
        let fits = match asked.answer {
            Ok(_) => asked.begun >= since,
            // It failed while this one waited; the next attempt asks again.
            Err(_) => asked.ended > wanted,
        };
        if !fits {
            let begun = Instant::now();
            let answer = self.member.identity_of_watches(self.identity.source());
            let answer = answer.await.map_err(Arc::new);
            let is_refused = answer.as_ref().is_err_and(|error| error.is_forbidden());
            *asked = Asked {
                begun,
                ended: Instant::now(),
                answer,
                refused: is_refused.then(|| asked.refused.unwrap_or(begun)),
            };
        }
        asked.answer.clone()
    }

    /// Whether this answer to who it is will stay: the member has refused it for a while, or has nothing to tell.
    pub(crate) async fn hides_who_it_is(&self, error: &MemberError) -> bool {
        let since = self.asked.lock().await.refused;
        hides(error, since)
    }

    /// Whether it is the member from which something was stored. What was known by another source, before a right came or went, is this one's if that source
    /// says so now; where it says nothing, it may be anybody's.
    pub(crate) async fn is(&self, stored: &Identity) -> Result<bool, Arc<MemberError>> {
        let source = stored.source();
        if source == self.identity.source() {
            return Ok(*stored == self.identity);
        }
        let wanted = Instant::now();
        let mut also = self.also.lock().await;
        if let Some((_, known)) = also.known.iter().find(|(known, _)| *known == source) {
            return Ok(self.goes_on(known.as_ref() == Some(stored), source));
        }
        // It failed while this one waited; the next attempt asks again.
        if let Some((_, error)) = also.failed.as_ref().filter(|(at, _)| *at > wanted) {
            return Err(Arc::clone(error));
        }
        let told = match self.member.identity_of_watches(source).await {
            Ok(identity) => Some(identity),
            Err(error) if hides(&error, also.refused) => None,
            Err(error) => {
                if error.is_forbidden() {
                    also.refused.get_or_insert_with(Instant::now);
                }
                let error = Arc::new(error);
                also.failed = Some((Instant::now(), Arc::clone(&error)));
                return Err(error);
            }
        };
        also.refused = None;
        let is_known = told.as_ref() == Some(stored);
        also.known.push((source, told));
        Ok(self.goes_on(is_known, source))
    }

    /// Tells of a member that is the one of before by no more than its CA.
    fn goes_on(&self, is_known: bool, source: IdentitySource) -> bool {
        if is_known && source == IdentitySource::CertificateAuthority {
            self.was_vouched_for.notify_one();
        }
        is_known
    }
}

/// Whether who the member is stays hidden, by an answer that was the first of its kind then.
fn hides(error: &MemberError, since: Option<Instant>) -> bool {
    let is_for_good = since.is_some_and(|since| since.elapsed() >= REFUSED_FOR_GOOD);
    error.hides_identity() && (is_for_good || !error.is_forbidden())
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::AtomicU32;

    use armadex_member::{Connection, Trust};
    use futures::FutureExt as _;
    use tokio::io::{AsyncWriteExt as _, BufReader};

    use super::*;
    use crate::testing::request::{Request, through_pipes};

    /// The CA says nothing of whether it was built anew meanwhile.
    #[tokio::test]
    async fn what_was_stored_of_a_member_that_its_ca_vouched_for_is_its_own_and_is_told_of() {
        let by_bundle = Connection {
            trust: Trust::Bundle(vec![b"a certificate".to_vec()]),
            ..Connection::plain("https://member")
        };
        let member = Member::through_pipes(&by_bundle, || tokio::io::duplex(1).0);
        let member = Arc::new(member.expect("a member"));
        let stored = member.identity_of_watches(IdentitySource::CertificateAuthority);
        let stored = stored.await.expect("a digest");
        let connected = connected_as("uid", member);
        for (stored, is_its_own) in [
            (Identity::stored("uid"), true),
            (Identity::stored("ca:other"), false),
        ] {
            let is = connected.is(&stored).await;
            assert_eq!(is.expect("an answer"), is_its_own);
        }
        let told = || connected.was_vouched_for.notified().now_or_never();
        assert!(told().is_none());
        assert!(connected.is(&stored).await.expect("an answer"));
        assert!(told().is_some());
    }

    /// However long the streams are connected by then.
    #[tokio::test(start_paused = true)]
    async fn what_was_stored_counts_as_a_strangers_once_who_that_is_was_refused_for_a_minute() {
        let member = through_pipes(|pipe| {
            tokio::spawn(async move {
                let mut socket = BufReader::new(pipe);
                Request::read(&mut socket).await;
                let answer = "HTTP/1.1 403 X\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
                // Whoever asked may have gone.
                let _ = socket.write_all(answer.as_bytes()).await;
            });
        });
        let (connected, stored) = (connected_as("service:uid", member), Identity::stored("uid"));
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert!(connected.is(&stored).await.is_err());
        tokio::time::sleep(REFUSED_FOR_GOOD / 2).await;
        assert!(connected.is(&stored).await.is_err());
        tokio::time::sleep(REFUSED_FOR_GOOD / 2).await;
        assert!(!connected.is(&stored).await.expect("an answer"));
    }

    fn connected_as(identity: &str, member: Arc<Member>) -> Connected {
        let lists = ClusterTurns::new(Arc::default());
        let (lists, memory) = (Arc::new(lists), ClusterMemory::of_nobody_else());
        let identity = Identity::stored(identity);
        Connected::new(member, identity, lists, Arc::default(), memory)
    }

    #[tokio::test(start_paused = true)]
    async fn a_member_whose_answers_take_long_is_not_asked_for_all_at_once() {
        const KINDS: u32 = 40;
        let asked = Arc::<AtomicU32>::default();
        let counts = Arc::clone(&asked);
        let member = through_pipes(move |pipe| {
            let counts = Arc::clone(&counts);
            tokio::spawn(async move {
                let mut socket = BufReader::new(pipe);
                if !Request::read(&mut socket).await.path.is_empty() {
                    counts.fetch_add(1, Ordering::Relaxed);
                }
                pending::<()>().await;
            });
        });
        let connected = connected_as("uid", member);
        let kinds: Vec<_> = (0..KINDS)
            .map(|kind| GroupVersionResource::new("", "v1", format!("kind{kind}")))
            .collect();
        let ask = kinds.iter().map(|kind| connected.present_version(kind));
        let mut ask = futures::future::join_all(ask).boxed_local();
        let each = u32::try_from(ASKING).expect("a few");
        for second in 1..=KINDS / each {
            let late = ANSWERED_WITHIN - Duration::from_millis(10);
            assert!(timeout(late, &mut ask).await.is_err());
            assert_eq!(asked.load(Ordering::Relaxed), second * each);
            assert!(timeout(ANSWERED_WITHIN - late, &mut ask).await.is_err());
        }
    }
}
