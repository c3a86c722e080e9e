//! What tells that a member may serve something else than before: watches of its CRDs and its APIServices, of metadata alone. Where these may not
//! be watched nobody tells, and the member has to be asked by and by.

use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::{Backoff, jittered};
use armadex_member::{ByteStream, ListRequest, Member, MemberError, WatchRequest};
use armadex_model::GroupVersionResource;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;
use tracing::debug;

use crate::incoming::event::{self, Event};
use crate::incoming::lines::{Lines, Piece};
use crate::incoming::memory::ClusterMemory;
use crate::incoming::unfinished::OfCluster;

/// As watches of streams: below the 5 minutes after which many load balancers cut a connection off.
const LONGEST_WATCH: u32 = 290;
const SHORTEST_WATCH: u32 = 230;
/// Of the first one: members that are reached together tell together otherwise.
const SHORTEST_FIRST_WATCH: u32 = 20;
/// The metadata of a CRD with all its managers; a line that is longer tells a change as well, and is not kept.
const LINE_BYTES: usize = 64 << 10;
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(60);
/// Before a member that refuses is asked again: somebody may grant the right.
const REFUSED_RETRY: Duration = Duration::from_secs(600);
/// A watch that lasted has worked.
const LASTED: Duration = Duration::from_secs(5);

/// How a line begins, as API servers write it, that tells of no name that was not there before.
const MODIFIED: &[u8] = br#"{"type":"MODIFIED","#;

/// Who tells: first of all who tells of names of what is custom.
const TELLERS: [(&str, &str); 2] = [
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "apiservices"),
];

/// What a member says of what it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Something may have changed.
    Changed,
    /// From now on it tells; what happened before was told to nobody.
    Begun,
}

/// Words of a member that something may have changed.
pub(super) struct Changes {
    told: watch::Receiver<Told>,
    heard: u64,
    begun: u64,
    renamed: u64,
    _tasks: Vec<AbortOnDropHandle<()>>,
}

#[derive(Default)]
struct Told {
    times: u64,
    /// How often something custom may have come or gone.
    renamed: u64,
    /// How often one of them began to tell without knowing what happened before.
    begun: u64,
    /// Whether each of them tells.
    watched: [bool; TELLERS.len()],
}

impl Changes {
    /// Follows what a member tells.
    pub(super) fn of(member: &Arc<Member>, memory: &ClusterMemory) -> Self {
        let (sender, told) = watch::channel(Told::default());
        let follow = |(index, (group, plural)): (usize, &(&str, &str))| {
            let teller = Teller {
                member: Arc::clone(member),
                resource: GroupVersionResource::new(*group, "v1", *plural),
                index,
                told: sender.clone(),
                memory: Arc::clone(&memory.unfinished),
                position: None,
            };
            AbortOnDropHandle::new(tokio::spawn(teller.follow()))
        };
        Self {
            told,
            heard: 0,
            begun: 0,
            renamed: 0,
            _tasks: TELLERS.iter().enumerate().map(follow).collect(),
        }
    }

    /// Waits for a word. Safe to cancel.
    pub(super) async fn next(&mut self) -> Word {
        let (heard, begun) = (self.heard, self.begun);
        let is_news = |told: &Told| told.times != heard || told.begun != begun;
        let told = self.told.wait_for(|told| is_news(told)).await;
        let told = told.map(|told| (told.times, told.begun)).ok();
        let Some((times, begun)) = told else {
            // Without anybody to tell there is nothing to wait for.
            return std::future::pending().await;
        };
        (self.heard, self.begun) = (times, begun);
        match times == heard {
            true => Word::Begun,
            false => Word::Changed,
        }
    }

    /// Whether something custom may have come or gone since the last call.
    pub(super) fn have_renamed(&mut self) -> bool {
        let told = self.told.borrow();
        let before = std::mem::replace(&mut self.renamed, told.renamed);
        before != told.renamed || !told.watched[0]
    }

    /// Whether nothing that changes goes untold.
    pub(super) fn are_told(&self) -> bool {
        self.told.borrow().watched.iter().all(|watched| *watched)
    }
}

/// The watch of one type.
struct Teller {
    member: Arc<Member>,
    resource: GroupVersionResource,
    index: usize,
    told: watch::Sender<Told>,
    /// Where what it holds of a line counts.
    memory: Arc<OfCluster>,
    /// The version of what was told last.
    position: Option<String>,
}

impl Teller {
    /// Runs until it is dropped.
    async fn follow(mut self) {
        let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
        loop {
            let begun = Instant::now();
            let ended = self.watch().await;
            // One that hangs may take as long without having begun.
            let has_begun = self.told.borrow().watched[self.index];
            if has_begun && begun.elapsed() >= LASTED {
                backoff.reset();
            }
            let Err(error) = ended else {
                // It is over in good order, and goes on where it was.
                sleep(backoff.next(rand::random())).await;
                continue;
            };
            debug!(resource = %self.resource, error = %error, "changes of what a member serves are not told");
            self.told
                .send_modify(|told| told.watched[self.index] = false);
            if error.code().is_some() {
                self.position = None;
            }
            let wait = match error.code() {
                Some(401 | 403 | 404 | 405) => jittered(REFUSED_RETRY, rand::random()),
                _ => backoff.next(rand::random()),
            };
            // Chance is in the one, so the other adds to it.
            sleep(wait + error.retry_after().unwrap_or_default()).await;
        }
    }

    async fn watch(&mut self) -> Result<(), MemberError> {
        let (position, is_new) = match self.position.take() {
            Some(position) => (position, false),
            None => (Box::pin(self.present_version()).await?, true),
        };
        let shortest = match is_new {
            true => SHORTEST_FIRST_WATCH,
            false => SHORTEST_WATCH,
        };
        let request = WatchRequest {
            resource: &self.resource,
            resource_version: &position,
            timeout_seconds: rand::random_range(shortest..=LONGEST_WATCH),
            field_selector: None,
        };
        let body = Box::pin(self.member.watch_metadata(&request)).await?;
        self.position = Some(position);
        self.told.send_modify(|told| {
            told.watched[self.index] = true;
            told.begun += u64::from(is_new);
            told.renamed += u64::from(is_new && self.index == 0);
        });
        self.read(body).await
    }

    async fn present_version(&self) -> Result<String, MemberError> {
        let request = ListRequest {
            resource: &self.resource,
            limit: 1,
            continue_token: None,
            field_selector: None,
        };
        self.member.collection_version(&request).await
    }

    async fn read(&mut self, mut body: ByteStream) -> Result<(), MemberError> {
        let mut lines = Lines::new(LINE_BYTES);
        let mut unfinished = self.memory.part();
        loop {
            let chunk = tokio::select! {
                chunk = body.next() => chunk,
                error = unfinished.has_to_go() => return Err(error),
            };
            let Some(chunk) = chunk else { return Ok(()) };
            lines.push(chunk?);
            let (mut is_news, mut is_renamed) = (false, false);
            while let Some(piece) = lines.next() {
                let is_change = self.take(&piece)?;
                is_news |= is_change;
                is_renamed |= is_change && !begins_with(&piece, MODIFIED);
            }
            if is_news {
                self.told.send_modify(|told| {
                    told.times += 1;
                    told.renamed += u64::from(is_renamed && self.index == 0);
                });
            }
            unfinished.holds(lines.unfinished());
        }
    }

    /// Takes in a line, and says whether it is a change. One that is not understood is one too, and is told again by the next watch.
    fn take(&mut self, piece: &Piece) -> Result<bool, MemberError> {
        let Piece::Whole(line) = piece else {
            return Ok(true);
        };
        let (version, is_news) = match event::parse(line) {
            Err(_) => (None, true),
            Ok(Event::Put(object) | Event::Modify(object)) => (event::version_of(object), true),
            Ok(Event::Delete { version, .. }) => (Some(version), true),
            Ok(Event::Bookmark { version, .. }) => (Some(version), false),
            Ok(Event::Error {
                code,
                message,
                wait,
            }) => return Err(event::refusal(code, message, wait)),
        };
        if let Some(version) = version.filter(|version| !version.is_empty()) {
            self.position = Some(version);
        }
        Ok(is_news)
    }
}

fn begins_with(piece: &Piece, text: &[u8]) -> bool {
    match piece {
        Piece::Whole(line) => line.starts_with(text),
        Piece::TooLong { prefix, .. } => prefix.starts_with(text),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::testing::request::through_pipes;

    #[tokio::test(start_paused = true)]
    async fn a_member_that_hangs_is_asked_more_and_more_seldom() {
        let asked = Arc::<AtomicUsize>::default();
        let (counted, pipes) = (Arc::clone(&asked), Mutex::new(Vec::new()));
        let member = through_pipes(move |pipe| {
            counted.fetch_add(1, Ordering::Relaxed);
            pipes.lock().expect("no panic").push(pipe);
        });
        let _changes = Changes::of(&member, &ClusterMemory::of_nobody_else());
        // As many as there are if each begins as soon as the one before is given up.
        let at_once = 60 * TELLERS.len();
        sleep(Duration::from_secs(30 * 60)).await;
        let asked = asked.load(Ordering::Relaxed);
        assert!((TELLERS.len()..at_once * 3 / 4).contains(&asked), "{asked}");
    }
}
