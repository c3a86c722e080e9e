//! One watch for all objects of a namespace that are referred to by their names, of metadata alone; each that is named is read by itself
//! when its version changed. What nobody names is neither read nor kept, and a thousand references take one connection and not a thousand.
//!
//! Where the namespace can't be watched, what is named is read again and again instead, one after the other, so the right to `get` it is enough. A
//! watch that breaks once is gone on with, which loses nothing.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, RwLock},
    time::Duration,
};

use armadex_backoff::{Backoff, LIVED};
use futures::{StreamExt, stream::FuturesUnordered};
use kube::{
    Api, Client, ResourceExt,
    core::{DynamicObject, PartialObjectMeta},
    runtime::watcher::{self, Event, watcher},
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use super::{
    follow::{api_resource, in_words, verb_of},
    state::{State, Verb},
    view::View,
};
use crate::{
    Gvr, Room,
    retries::{WatchBackoff, backoff},
};
use armadex_control_plane::{Trouble, TroubleKind, lock, paged, watch_config};

/// Objects of a namespace that are read at the same time: a fleet of a thousand clusters begins with as many.
const PARALLEL_READS: usize = 8;
/// Of these what could not be read the last time: a few that are never answered leave room for the others.
const LATE_READS: usize = PARALLEL_READS / 2;
/// An API server that does not answer a read for so long is down.
const READ_LIMIT: Duration = Duration::from_secs(30);
/// Objects in a row that it fails for when it is down. Of one alone that is said that it cannot be read, as of a Secret whose key was lost.
const OUTAGE: usize = 3;
/// What has to be read again and again is read no faster than this by the second: a thousandth of what an API server does.
const READS_PER_SECOND: u32 = 20;
/// A watch that broke no later than this ago is not to be had: a try may take a minute, and the next comes after 15 s.
const IN_ROW: Duration = LIVED.saturating_mul(2);
/// How often it is seen whether there is room for what had none: to see it costs nothing, and what is read has room.
const ROOM_AGAIN: Duration = Duration::from_secs(60);
/// A control plane that restarts takes less; until then no lifecycle has a word about what it knows already.
const PATIENCE: Duration = Duration::from_secs(120);

/// Objects of a kind and namespace that are named. Its watch ends with it.
#[derive(Debug)]
pub(super) struct Namespace {
    named: Arc<Named>,
    _cancel: DropGuard,
}

#[derive(Debug, Default)]
struct Named {
    entries: Mutex<Entries>,
    /// Something became due.
    due: Notify,
}

#[derive(Debug, Default)]
struct Entries {
    by_name: BTreeMap<String, Entry>,
    /// To be read.
    due: BTreeSet<String>,
    /// The same of what could not be read the last time, which comes after all others: an object that is never answered holds up none.
    late: BTreeSet<String>,
    /// What of that is being read.
    late_reads: BTreeSet<String>,
    /// What is read in turn because it can't be watched.
    round: VecDeque<String>,
    /// What there was no room for when it was read, and its bytes.
    roomless: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Entry {
    view: View,
    /// Of what is known; empty if it is not there, or was not read.
    version: String,
    reading: Reading,
    /// The last read of it failed.
    failed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reading {
    No,
    Now,
    /// And this version was seen meanwhile; none if whatever is there has to be read.
    Seen(Option<String>),
}

impl Namespace {
    /// Of nothing yet, and what has to run for it.
    pub(super) fn new(
        client: &Client,
        key: (Gvr, String),
        room: &Arc<Room>,
        cancel: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let named = Arc::<Named>::default();
        let following = Following::new(key.0, key.1, named.clone(), room.clone());
        let work = follow(client.clone(), following, cancel.clone());
        let namespace = Self {
            named,
            _cancel: cancel.drop_guard(),
        };
        (namespace, work)
    }

    /// Follows an object, be it there or not.
    pub(super) fn enter(&self, name: &str, view: View) {
        let entry = Entry {
            view,
            version: String::new(),
            reading: Reading::No,
            failed: false,
        };
        let mut entries = self.named.lock();
        entries.by_name.insert(name.to_owned(), entry);
        entries.is_due(name);
        drop(entries);
        self.named.due.notify_one();
    }

    /// Follows it no more, unless somebody else has begun to by now.
    pub(super) fn leave(&self, name: &str, state: &Arc<RwLock<State>>) {
        let mut entries = self.named.lock();
        let known = entries.by_name.get(name);
        if known.is_some_and(|known| Arc::ptr_eq(&known.view.state, state)) {
            entries.by_name.remove(name);
            entries.due.remove(name);
            entries.late.remove(name);
            entries.roomless.remove(name);
        }
    }
}

impl Named {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        lock(&self.entries)
    }
}

impl Entries {
    /// The API server has this version of an object; `None` if whatever is there has to be read.
    fn seen(&mut self, name: &str, version: Option<&str>) {
        let Some(entry) = self.by_name.get_mut(name) else {
            return;
        };
        if version == Some(entry.version.as_str()) {
            return;
        }
        if entry.reading == Reading::No {
            self.is_due(name);
        } else {
            entry.reading = Reading::Seen(version.map(ToOwned::to_owned));
        }
    }

    fn is_due(&mut self, name: &str) {
        let failed = self.by_name.get(name).is_some_and(|entry| entry.failed);
        let due = match failed {
            true => &mut self.late,
            false => &mut self.due,
        };
        due.insert(name.to_owned());
    }

    fn all_due(&mut self) {
        let idle = |(_, entry): &(&String, &Entry)| entry.reading == Reading::No;
        let all = self.by_name.iter().filter(idle);
        let all: Vec<_> = all.map(|(name, _)| name.clone()).collect();
        for name in all {
            self.is_due(&name);
        }
    }

    fn is_done(&self) -> bool {
        self.due.is_empty() && self.late.is_empty() && self.round.is_empty()
    }

    /// All that is named is to be read in turn. What could not be read has a time of its own.
    fn begin_round(&mut self) {
        let is_fit = |(_, entry): &(&String, &Entry)| !entry.failed;
        let fit = self.by_name.iter().filter(is_fit);
        self.round = fit.map(|(name, _)| name.clone()).collect();
    }

    fn next_in_round(&mut self) -> Option<String> {
        while let Some(name) = self.round.pop_front() {
            let entry = self.by_name.get_mut(&name);
            if let Some(entry) = entry.filter(|entry| entry.reading == Reading::No) {
                entry.reading = Reading::Now;
                self.due.remove(&name);
                return Some(name);
            }
        }
        None
    }

    /// What was there and is not among these is to be read, which tells whether it is gone. So is what is being read: its answer may be older
    /// than the list.
    fn not_among(&mut self, listed: &BTreeSet<String>) {
        let is_gone = |(name, entry): &(&String, &Entry)| {
            let may_be_there = !entry.version.is_empty() || entry.reading != Reading::No;
            may_be_there && !listed.contains(*name)
        };
        let gone: Vec<String> = self
            .by_name
            .iter()
            .filter(is_gone)
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.seen(&name, None);
        }
    }

    fn next_due(&mut self) -> Option<String> {
        let name = match self.due.pop_first() {
            Some(name) => name,
            None if self.late_reads.len() < LATE_READS => {
                let name = self.late.pop_first()?;
                self.late_reads.insert(name.clone());
                name
            }
            None => return None,
        };
        if let Some(entry) = self.by_name.get_mut(&name) {
            entry.reading = Reading::Now;
        }
        Some(name)
    }

    /// A read is over that gave this version.
    fn done(&mut self, name: &str, version: Option<&str>, failed: bool) -> Option<&mut Entry> {
        self.late_reads.remove(name);
        let entry = self.by_name.get_mut(name)?;
        entry.failed = failed;
        if let Reading::Seen(seen) = std::mem::replace(&mut entry.reading, Reading::No)
            && (seen.is_none() || seen.as_deref() != version)
        {
            self.is_due(name);
        }
        self.by_name.get_mut(name)
    }

    /// An object was read; `None` if it is not there.
    fn read(&mut self, name: &str, object: Option<DynamicObject>) {
        let version = object.as_ref().and_then(ResourceExt::resource_version);
        if let Some(entry) = self.done(name, version.as_deref(), false) {
            entry.version = version.unwrap_or_default();
            entry.view.change(|state| {
                state.step(Event::Init);
                if let Some(object) = object {
                    state.step(Event::InitApply(object));
                }
                state.step(Event::InitDone)
            });
            let wants = entry.view.lock().wants();
            match wants {
                Some(bytes) => drop(self.roomless.insert(name.to_owned(), bytes)),
                None => drop(self.roomless.remove(name)),
            }
        }
    }

    /// What there was no room for is to be read again, as far as it has some in so many bytes.
    fn find_room(&mut self, mut free: usize) {
        let fits = |(_, bytes): &(&String, &usize)| {
            let rest = free.checked_sub(**bytes);
            free = rest.unwrap_or(free);
            rest.is_some()
        };
        let fitting = self.roomless.iter().filter(fits);
        let fitting: Vec<String> = fitting.map(|(name, _)| name.clone()).collect();
        for name in fitting {
            self.seen(&name, None);
        }
    }

    /// An object could not be read. What was read once stays known; that it may be out of date is told once it is `overdue`.
    fn failed(&mut self, name: &str, trouble: &Trouble, overdue: bool) {
        if let Some(entry) = self.done(name, None, true) {
            entry
                .view
                .change(|state| state.unread(trouble.clone(), overdue));
        }
    }

    /// None of those that are to be read can be had.
    fn fail_due(&mut self, trouble: &Trouble) {
        let due = std::mem::take(&mut self.due);
        for name in due.into_iter().chain(std::mem::take(&mut self.late)) {
            self.failed(&name, trouble, true);
        }
    }
}

async fn follow(client: Client, mut following: Following, cancel: CancellationToken) {
    let (resource, namespace) = (api_resource(&following.gvr), following.namespace.clone());
    let metadata: Api<PartialObjectMeta<DynamicObject>> =
        Api::namespaced_with(paged(client.clone()), &namespace, &resource);
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &resource);
    let mut events = std::pin::pin!(watcher(metadata, watch_config()));
    let mut reads = FuturesUnordered::new();
    loop {
        while reads.len() < PARALLEL_READS
            && let Some(name) = following.next()
        {
            let api = api.clone();
            reads.push(async move {
                let read = timeout(READ_LIMIT, api.get_opt(&name)).await;
                (name, read)
            });
        }
        let again = following.again_at;
        tokio::select! {
            () = cancel.cancelled() => return,
            () = following.named.due.notified() => {}
            () = sleep_until(again), if following.waits() => following.read_again(),
            () = sleep_until(following.round_at), if reads.len() < PARALLEL_READS && following.has_round() => {}
            () = sleep_until(following.room_at), if following.lacks_room() => following.find_room(),
            Some((name, read)) = reads.next() => {
                match read {
                    Ok(Ok(object)) => following.read(&name, object),
                    Ok(Err(error)) => following.unread(name, Trouble::from(error)),
                    Err(_) => following.unread(name, Trouble::unanswered()),
                }
                if reads.is_empty() {
                    following.settle();
                }
            }
            event = next_after(following.rewatch, &mut events) => match event {
                Some(Ok(event)) => following.take_in(event),
                Some(Err(error)) => following.broke(&error),
                None => return,
            },
        }
    }
}

/// How the watch and the reads of a namespace are doing.
struct Following {
    gvr: Gvr,
    namespace: String,
    named: Arc<Named>,
    /// For what is referred to, here and elsewhere, and when it is seen whether there is some for what had none.
    room: Arc<Room>,
    room_at: Instant,
    /// What is named and was in the list that is being read.
    listed: BTreeSet<String>,
    /// What broke of the watch, which was told. A list that succeeds says nothing of a watch.
    broken: Option<Verb>,
    /// When it broke last.
    broke_at: Option<Instant>,
    /// When the watch is tried again.
    rewatch: Instant,
    backoff: WatchBackoff,
    /// Another round of reads is due when this one is over.
    round_due: bool,
    /// When the next of a round is read.
    round_at: Instant,
    /// What could not be read, and when that is tried again.
    unread: BTreeSet<String>,
    again_at: Instant,
    reads: Backoff,
    /// Reads fail since then, which was told.
    failing: Option<Instant>,
    /// What could not be read since something could, and could before or was not tried.
    in_row: BTreeSet<String>,
    /// Nothing is read: the API server does not answer, or it is not known yet whether it serves the kind.
    pausing: bool,
    /// It does not; a read would say that the object is not there.
    unserved: Option<Trouble>,
}

impl Following {
    fn new(gvr: Gvr, namespace: String, named: Arc<Named>, room: Arc<Room>) -> Self {
        Self {
            gvr,
            namespace,
            named,
            room,
            room_at: Instant::now() + ROOM_AGAIN,
            listed: BTreeSet::new(),
            broken: None,
            broke_at: None,
            rewatch: Instant::now(),
            backoff: WatchBackoff::default(),
            round_due: false,
            round_at: Instant::now(),
            unread: BTreeSet::new(),
            again_at: Instant::now(),
            reads: backoff(),
            failing: None,
            in_row: BTreeSet::new(),
            pausing: true,
            unserved: None,
        }
    }

    fn next(&mut self) -> Option<String> {
        let mut entries = self.named.lock();
        if let Some(trouble) = &self.unserved {
            entries.fail_due(trouble);
        }
        if self.pausing {
            return None;
        }
        if let Some(name) = entries.next_due() {
            return Some(name);
        }
        let now = Instant::now();
        if self.round_at > now {
            return None;
        }
        if entries.round.is_empty() && std::mem::take(&mut self.round_due) {
            entries.begin_round();
        }
        self.round_at = now + pace(1);
        entries.next_in_round()
    }

    /// Whether something is to be read in turn.
    fn has_round(&self) -> bool {
        !self.pausing && (self.round_due || !self.named.lock().round.is_empty())
    }

    fn lacks_room(&self) -> bool {
        !self.named.lock().roomless.is_empty()
    }

    fn find_room(&mut self) {
        self.room_at = Instant::now() + ROOM_AGAIN;
        let free = self.room.free();
        self.named.lock().find_room(free);
    }

    fn waits(&self) -> bool {
        !self.unread.is_empty()
    }

    /// A round of reads is over. What others succeed in is no end of a failure.
    fn settle(&mut self) {
        if !self.unread.is_empty() || !self.named.lock().is_done() {
            return;
        }
        self.reads.reset();
        if self.failing.take().is_some() {
            let (resource, namespace) = (&self.gvr, &self.namespace);
            info!(%resource, namespace, "{resource} of {namespace} can be read");
        }
    }

    fn read(&mut self, name: &str, object: Option<DynamicObject>) {
        self.in_row.clear();
        self.named.lock().read(name, object);
    }

    fn unread(&mut self, name: String, trouble: Trouble) {
        let trouble = in_words(&self.gvr, Verb::Get, trouble);
        let (resource, namespace) = (&self.gvr, &self.namespace);
        if self.failing.is_none() {
            warn!(%resource, namespace, error = %trouble, "{resource} of {namespace} can't be read, retrying");
        }
        let since = *self.failing.get_or_insert_with(Instant::now);
        let is_down = trouble.kind.is_outage();
        let overdue = !is_down || since.elapsed() > PATIENCE;
        if is_down {
            self.count(&name);
        }
        self.named.lock().failed(&name, &trouble, overdue);
        if self.unread.is_empty() {
            self.again_at = Instant::now() + self.reads.next(rand::random());
        }
        self.unread.insert(name);
        self.again_at = self.again_at.max(Instant::now() + pace(self.unread.len()));
    }

    /// The API server failed for an object. After some in a row there is a pause; those for which it did so before say nothing of it, nor do
    /// those that are followed no more.
    fn count(&mut self, name: &str) {
        let entries = self.named.lock();
        let known = |name: &str| entries.by_name.get(name);
        if known(name).is_none_or(|entry| entry.failed) {
            return;
        }
        self.in_row.retain(|name| known(name).is_some());
        self.in_row.insert(name.to_owned());
        self.pausing |= self.in_row.len() >= OUTAGE;
    }

    fn read_again(&mut self) {
        self.pausing = false;
        let unread = std::mem::take(&mut self.unread);
        let mut entries = self.named.lock();
        for name in unread {
            entries.seen(&name, None);
        }
    }

    /// The watch broke. If it can't be had all that is named is read instead, unless there is nothing of the kind.
    fn broke(&mut self, error: &watcher::Error) {
        let now = Instant::now();
        self.rewatch = now + self.backoff.next().unwrap_or_default();
        let Some(verb) = verb_of(error) else {
            return;
        };
        let trouble = in_words(&self.gvr, verb, Trouble::from(error));
        let (resource, namespace) = (&self.gvr, &self.namespace);
        if self.broken.replace(verb).is_none() {
            warn!(%resource, namespace, error = %trouble, "{resource} of {namespace} can't be watched, those that are named are read until they can");
        }
        let before = self.broke_at.replace(now);
        self.begun();
        let was_unserved = self.unserved.take().is_some();
        let mut entries = self.named.lock();
        if trouble.kind == TroubleKind::Missing {
            self.unserved = Some(trouble);
            entries.all_due();
            entries.round.clear();
        } else if was_unserved {
            entries.all_due();
        } else if before.is_some_and(|before| now - before <= IN_ROW) {
            self.round_due = true;
        }
    }

    fn take_in(&mut self, event: Event<PartialObjectMeta<DynamicObject>>) {
        let named = self.named.clone();
        let mut entries = named.lock();
        match event {
            // It only says that a list is about to be tried.
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                let name = object.name_any();
                entries.seen(&name, object.resource_version().as_deref());
                if entries.by_name.contains_key(&name) {
                    self.listed.insert(name);
                }
            }
            Event::InitDone => {
                if self.broken == Some(Verb::List) {
                    self.healed();
                    entries.round.clear();
                }
                if self.unserved.take().is_some() {
                    entries.all_due();
                }
                self.begun();
                entries.not_among(&std::mem::take(&mut self.listed));
            }
            Event::Apply(object) => {
                self.healed();
                entries.round.clear();
                entries.seen(&object.name_any(), object.resource_version().as_deref());
            }
            Event::Delete(object) => {
                self.healed();
                entries.round.clear();
                entries.seen(&object.name_any(), None);
            }
        }
    }

    /// It is served, so what a read says of an object counts.
    fn begun(&mut self) {
        self.pausing = !self.unread.is_empty() && self.pausing;
    }

    /// What was read in turn is told by the watch.
    fn healed(&mut self) {
        self.broke_at = None;
        self.round_due = false;
        if self.broken.take().is_some() {
            let (resource, namespace) = (&self.gvr, &self.namespace);
            info!(%resource, namespace, "{resource} of {namespace} can be watched");
        }
    }
}

/// How long so many reads have to take.
fn pace(reads: usize) -> Duration {
    Duration::from_secs(1) * u32::try_from(reads).unwrap_or(u32::MAX) / READS_PER_SECOND
}

/// The next event, asked for no earlier than at this time. Safe to cancel.
async fn next_after<S: futures::Stream + Unpin>(time: Instant, events: &mut S) -> Option<S::Item> {
    sleep_until(time).await;
    events.next().await
}
