//! Following a watch: lines come in, changes are written when nothing more is at hand, bookmarks move the position.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use armadex_member::{ByteStream, MemberError, WatchRequest};
use armadex_storage::{Change, MemberPosition, Phase};
use bytes::Bytes;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::incoming::event::{self, Event};
use crate::incoming::lines::{Lines, Piece};
use crate::incoming::prune::{self, Salvaged, Skipped};
use crate::incoming::unfinished::Part;
use crate::stream::Stream;
use crate::stream::begun::{Begun, STANDS_STILL, unless_it_stands_still};
use crate::stream::pull::{Gathering, too_long};
use crate::stream::silence::{CERTAIN, Due, SILENT, Silence};
use crate::stream::step::{Ended, Good, Outcome, is_behind};
use crate::stream::writer::Halt;

/// After this long a position is tried again that the store did not take within that time. Nothing is held meanwhile, so its watch is read.
const PUT_OFF: Duration = Duration::from_secs(15);
/// Changes that come within this time go into one transaction; short beside the 100 ms that freshness may take.
const LINGER: Duration = Duration::from_millis(20);
/// A position that moved without a change is stored this often, by all streams of a cluster at the same moment, so that the store has one
/// transaction of it. Whoever ends in good order stores it then; after a crash the watch goes on from the older one, and nothing happened
/// in between. Well below the five minutes for which a member keeps its past.
pub(super) const POSITION_PERIOD: Duration = Duration::from_secs(180);
/// A watch may be cut off between two objects of one version: whoever writes to etcd past the API server makes such. After this
/// time without another byte the version is taken for complete, unless a line is on its way. That is stored by all streams at the same moments, a second from each other.
const SETTLED: Duration = Duration::from_secs(1);
/// A watch that is over so long before its time was not ended by whoever it was asked of: an API server goes, and another may come in its place.
const BEFORE_ITS_TIME: Duration = Duration::from_secs(5);
/// A watch that is not over so long after its time, and says nothing, is over without its having been told: whoever it was asked of is gone,
/// and something between here and there keeps it open. As long as the body of a list may be silent, for the last object may come slowly.
const OVERDUE: Duration = Duration::from_secs(30);
/// The same of a watch that has brought a bookmark and brings no other: there is one every 60 to 75 s.
const LATE_BOOKMARK: Duration = SILENT.saturating_mul(2);
/// A watch that is over sooner has not worked, whatever it brought.
const AT_ONCE: Duration = Duration::from_secs(1);
/// A watch that was followed for so long has worked, even if nothing happened. Below the 10 s and more after which proxies cut off
/// what is silent, and long enough that a hundred kinds whose watches all break then are some 50 requests a second.
const LASTED: Duration = Duration::from_secs(5);

/// A watch, and since when it is one: where a list was its beginning, since the end of that.
struct Followed {
    watch: Watch,
    since: Instant,
}

/// A watch that is being followed.
struct Watch {
    /// `None` once it was given up.
    body: Option<ByteStream>,
    lines: Lines,
    /// What of them is not whole.
    unfinished: Part,
    gathering: Gathering,
    /// The version of the last event.
    latest: String,
    /// The version up to which everything has come in: the one before, or a bookmark's.
    complete: String,
    /// What the store knows; empty if nobody knows that.
    stored: String,
    /// When something must be written.
    write_at: Option<Instant>,
    /// When the last bytes came, or were taken in: what comes while nobody reads is heard later.
    heard: Instant,
    /// Since then.
    silence: Silence,
    /// How far the member is, while it is being asked.
    asked: Option<Question>,
    /// When it is to be over.
    ends_at: Instant,
    /// A bookmark came, and others are to come.
    has_bookmarks: bool,
    /// It brought something that is stored, and not only how far it is.
    has_changes: bool,
    /// How far it has led itself, while `complete` is what the member said beside it. That is all that is stored until the watch proves that it lived.
    led_to: Option<Box<str>>,
    /// When it will have worked for a while, if that is news.
    lasts_at: Option<Instant>,
}

/// How far the member is; `None` if it does not say.
type Question = BoxFuture<'static, Option<String>>;

/// Where an event leads to whose object is not kept.
fn passed_over(salvaged: &Salvaged) -> Reached {
    let version = salvaged.resource_version().unwrap_or_default();
    Reached::Event(version.to_owned())
}

/// Waits for the answer to what was asked, for ever if that is nothing. No `async fn`: each stream has room for it.
fn answer(asked: &mut Option<Question>) -> impl Future<Output = Option<String>> {
    poll_fn(move |context| {
        let Some(question) = asked else {
            return Poll::Pending;
        };
        let said = ready!(question.as_mut().poll(context));
        *asked = None;
        Poll::Ready(said)
    })
}

/// Why a watch does not go on.
enum End {
    Closed,
    Error(MemberError),
    /// Nothing has come for longer than this, and should have.
    Overdue(Duration),
    /// Something that is stored is not as the member has it.
    Differs,
}

impl Stream {
    pub(super) async fn watch(&mut self, version: String) -> Result<Outcome, Halt> {
        let Followed { mut watch, since } = match Box::pin(self.begin_watch(&version)).await? {
            Ok(followed) => followed,
            Err(error) => {
                // A refusal comes from somebody who answers, and is no reason to doubt who it is, unless what was listed did so over another connection.
                if error.code().is_none() || self.outlasted.is_some() {
                    self.doubted = Instant::now();
                }
                return Ok(self.watch_failed(&error, version));
            }
        };
        let end = self.follow(&mut watch).await?;
        let in_time =
            matches!(end, End::Closed) && Instant::now() + BEFORE_ITS_TIME >= watch.ends_at;
        if in_time {
            self.context.report.checked(Some(Timestamp::now()));
        }
        let goes_back = !in_time && watch.go_back();
        let writes = goes_back || !matches!(end, End::Closed);
        self.doubted = Instant::now();
        Box::pin(self.end_watched(&mut watch, writes)).await?;
        let took = since.elapsed();
        let good = watch.was_good_for(took, &version);
        self.prove_by(&watch, (&end, took));
        self.judge(good, took, &end);
        self.pace = self.pace.after(in_time, took);
        Ok(match end {
            End::Closed => Outcome::Ended(Ended {
                good,
                early: !in_time,
                version: watch.complete,
            }),
            End::Error(error) => self.watch_failed(&error, watch.complete),
            End::Overdue(after) => {
                let phase = "word of the watch";
                self.watch_failed(&MemberError::TimedOut { phase, after }, watch.complete)
            }
            End::Differs => Outcome::Differs,
        })
    }

    /// All is stored that the member had when it was asked before the watch, or at its end if that came in time, where the watch was there for long enough to bring it.
    fn prove_by(&self, watch: &Watch, (end, took): (&End, Duration)) {
        let proves = match end {
            End::Closed => took >= LASTED,
            End::Error(_) => took >= CERTAIN && watch.breaks_when_dead(),
            End::Overdue(_) | End::Differs => false,
        };
        if proves {
            self.context.report.check_holds();
        }
        self.context.report.checked(None);
    }

    /// What a watch that is over says of the stream.
    fn judge(&mut self, good: Good, took: Duration, end: &End) {
        let proves = match good {
            Good::Lasted => true,
            Good::Changes => took >= AT_ONCE,
            Good::Nothing => false,
        };
        self.proved = proves.then_some(good);
        if proves {
            self.troubled = false;
            self.lists_in_pages = false;
            self.outlasted = None;
            self.recovered();
        }
        if good == Good::Nothing && matches!(end, End::Closed) {
            self.ended_in_vain();
        }
    }

    /// A watch that has just been answered.
    fn begun(&self, begun: Begun, version: &str) -> Watch {
        let now = Instant::now();
        let Begun {
            body,
            lines,
            at,
            since: _,
            lasts,
        } = begun;
        let (stored, write_at) = match self.behind {
            true => (String::new(), Some(self.position_due())),
            false => (version.to_owned(), None),
        };
        Watch {
            body: Some(body),
            lines,
            unfinished: self.context.connected.memory.unfinished.part(),
            gathering: Gathering::default(),
            latest: version.to_owned(),
            complete: version.to_owned(),
            stored,
            write_at,
            heard: now,
            silence: Silence::new(now),
            asked: None,
            ends_at: at + Duration::from_secs(lasts.into()),
            has_bookmarks: false,
            has_changes: false,
            led_to: None,
            lasts_at: self.troubled.then_some(now + LASTED),
        }
    }

    /// Goes on with what a list has begun, or asks for a watch.
    async fn begin_watch(&mut self, version: &str) -> Result<Result<Followed, MemberError>, Halt> {
        let listed = self.streamed.take();
        let begun = match listed.filter(|listed| listed.version == version) {
            Some(listed) => Ok(listed.begun),
            None => self.request_watch(version).await?,
        };
        Ok(begun.map(|begun| {
            self.context.metrics.watches.add(1);
            self.context.report.syncing();
            let since = begun.since;
            let watch = self.begun(begun, version);
            self.context.report.place().follows(version);
            Followed { watch, since }
        }))
    }

    async fn request_watch(&self, version: &str) -> Result<Result<Begun, MemberError>, Halt> {
        let (at, lasts) = (Instant::now(), self.pace.seconds());
        let involved = self.context.involved.as_deref();
        let (connected, resource) = (&self.context.connected, self.context.asked());
        let request = |field_selector| async move {
            let request = WatchRequest {
                resource,
                resource_version: version,
                timeout_seconds: lasts,
                field_selector,
            };
            connected.member.watch(&request).await
        };
        let body = Box::pin(connected.selecting(involved, request));
        let body = tokio::select! {
            () = self.context.cancel.cancelled() => return Err(Halt::Cancelled),
            body = body => body,
        };
        Ok(body.map(|body| Begun {
            body,
            lines: Lines::new(self.incoming_limit()),
            at,
            since: at,
            lasts,
        }))
    }

    fn watch_failed(&mut self, error: &MemberError, version: String) -> Outcome {
        match self.failed(error) {
            Outcome::Gone => Outcome::Gone,
            _ => Outcome::Broke { version },
        }
    }

    /// Reads until the watch ends. On cancellation what is gathered is written, and how far the watch has led itself: whether what is believed of its
    /// silence holds, only its end would tell. The next process goes on from its last line, or from where this watch or the one before it began, some minutes
    /// ago: of a quiet kind a member has all that came since in its cache. What is done when something comes or is due is in a box: see [`Stream::perform`].
    async fn follow(&self, watch: &mut Watch) -> Result<End, Halt> {
        // What came with the end of a list.
        if let Some(error) = Box::pin(self.take_pieces(watch)).await? {
            return Ok(End::Error(error));
        }
        loop {
            let due = watch.due();
            let Some(body) = &mut watch.body else {
                return Ok(End::Closed);
            };
            tokio::select! {
                () = self.context.cancel.cancelled() => {
                    Box::pin(self.write_watched(watch)).await?;
                    return Err(Halt::Cancelled);
                }
                () = tokio::time::sleep_until(due) => {
                    if let Some(silent) = watch.is_overdue() {
                        return Ok(End::Overdue(silent));
                    }
                    Box::pin(self.do_what_is_due(watch)).await?;
                }
                () = self.context.report.place().is_to_list() => return Ok(End::Differs),
                error = watch.unfinished.has_to_go() => return Ok(End::Error(error)),
                said = answer(&mut watch.asked) => watch.silence.told(said, Instant::now()),
                chunk = body.next() => match chunk {
                    None => return Ok(End::Closed),
                    Some(Err(error)) => return Ok(End::Error(error)),
                    Some(Ok(chunk)) => {
                        if let Some(error) = Box::pin(self.take_lines(watch, chunk)).await? {
                            return Ok(End::Error(error));
                        }
                    }
                },
            }
        }
    }

    async fn do_what_is_due(&self, watch: &mut Watch) -> Result<(), Halt> {
        let now = Instant::now();
        if watch.write_at.is_some_and(|at| at <= now) {
            match watch.gathering.pending.is_empty() {
                true => self.write_position(watch).await?,
                false => self.write_watched(watch).await?,
            }
        }
        if watch.lasts_at.take_if(|at| *at <= now).is_some() {
            self.recovered();
        }
        if watch.silence.until() <= now {
            self.break_silence(watch);
        }
        Ok(())
    }

    /// Finds out how far a watch is that says nothing.
    fn break_silence(&self, watch: &mut Watch) {
        if !watch.may_be_complete() {
            watch.silence = Silence::new(Instant::now());
            return;
        }
        match watch.silence.due(Instant::now()) {
            // A member that fell behind is for the next check to judge.
            Due::Complete(version) if is_behind(&version, &watch.latest) => {}
            Due::Complete(version) => {
                watch.latest.clone_from(&version);
                let led_to = std::mem::replace(&mut watch.complete, version);
                watch.led_to.get_or_insert(led_to.into());
                watch.write_by(self.position_due());
                self.tell_place(watch);
                self.is_proved(watch);
            }
            Due::Ask => {
                // A watch that has been silent for longer than it is certain after has brought all that there was before.
                if watch.gathering.pending.is_empty() {
                    self.context.report.check_holds();
                }
                watch.asked = Some(self.question());
            }
        }
    }

    /// Asked beside reading, for what a kind that is as silent as this one takes may be long. Without an answer the position stays, which at
    /// worst costs a list.
    fn question(&self) -> Question {
        let connected = Arc::clone(&self.context.connected);
        let asked = self.context.asked().clone();
        Box::pin(async move { connected.present_version(&asked).await.ok() })
    }

    /// Handles the lines that a chunk completes; an error is one that the member sent.
    async fn take_lines(
        &self,
        watch: &mut Watch,
        chunk: Bytes,
    ) -> Result<Option<MemberError>, Halt> {
        self.context.metrics.received_bytes.add(chunk.len() as u64);
        watch.hear(Instant::now());
        watch.lines.push(chunk);
        self.take_pieces(watch).await
    }

    /// The same of lines that have come in.
    async fn take_pieces(&self, watch: &mut Watch) -> Result<Option<MemberError>, Halt> {
        let mut is_told = false;
        while let Some(piece) = watch.lines.next() {
            is_told = true;
            self.context.metrics.received_objects.add(1);
            let (change, place) = match self.read_line(&piece) {
                Ok(read) => read,
                Err(error) => return Ok(Some(error)),
            };
            if let Some(problem) = watch.goes_back(&place) {
                let path = self.context.asked().list_path();
                let problem = problem.into();
                return Ok(Some(MemberError::Malformed { path, problem }));
            }
            watch.doubt(&place);
            if let Some(change) = change {
                let before = &watch.complete;
                let write = async |gathering: &mut Gathering| {
                    let position = self.position(before, Phase::Live);
                    self.flush_watched(gathering, Some(position)).await
                };
                let gather = self.gather(&mut watch.gathering, change, write);
                unless_it_stands_still(&mut watch.body, gather).await?;
                watch.has_changes = true;
            }
            watch.advance(place, self.position_due());
            if watch.gathering.pending.is_full() {
                self.write_watched(watch).await?;
            }
        }
        watch.heard = Instant::now();
        watch.unfinished.holds(watch.lines.unfinished());
        self.tell_place(watch);
        if is_told {
            self.is_proved(watch);
        }
        Ok(None)
    }

    /// The change that a line tells, if it does, and where it leads to.
    fn read_line(&self, piece: &Piece) -> Result<(Option<Change>, Reached), MemberError> {
        let line = match piece {
            Piece::Whole(line) => line,
            Piece::TooLong { prefix, length } => {
                let reason = too_long(*length, self.incoming_limit());
                return Ok(self.left_out(&prune::salvage(prefix), reason));
            }
        };
        match event::parse(line) {
            Err(problem) => Ok(self.left_out(&prune::salvage(line), problem.to_owned())),
            Ok(Event::Put(object) | Event::Delete { object, .. })
                if !self.context.takes(object.as_bytes()) =>
            {
                Ok((None, passed_over(&prune::salvage(object.as_bytes()))))
            }
            Ok(Event::Modify(object)) if !self.context.takes(object.as_bytes()) => {
                Ok(self.kept_no_more(object))
            }
            Ok(Event::Put(json) | Event::Modify(json)) => {
                Ok(match self.read_object(json.as_bytes()) {
                    Ok(object) => {
                        let version = object.resource_version.clone();
                        (Some(Change::Put(object)), Reached::Event(version))
                    }
                    Err(Skipped { reason, .. }) => {
                        self.left_out(&prune::salvage(json.as_bytes()), reason)
                    }
                })
            }
            Ok(Event::Delete { key, version, .. }) => {
                self.context.report.settled(&key);
                Ok((Some(Change::Delete(key)), Reached::Event(version)))
            }
            Ok(Event::Bookmark { version, .. }) => Ok((None, Reached::Bookmark(version))),
            Ok(Event::Error {
                code,
                message,
                wait,
            }) => Err(event::refusal(code, message, wait)),
        }
    }

    /// An object that is not kept and may have been before: core/v1 lets an Event come to be about something else.
    fn kept_no_more(&self, object: &str) -> (Option<Change>, Reached) {
        let salvaged = prune::salvage(object.as_bytes());
        let key = self.salvaged_key(&salvaged);
        if let Some(key) = &key {
            self.context.report.settled(key);
        }
        (key.map(Change::Delete), passed_over(&salvaged))
    }

    /// An object that is left out: an older form of it that is stored is deleted, or it would be served as if it were current.
    fn left_out(&self, salvaged: &Salvaged, reason: String) -> (Option<Change>, Reached) {
        let key = self.salvaged_key(salvaged);
        self.skip(Skipped {
            key: key.clone(),
            reason,
        });
        (key.map(Change::Delete), passed_over(salvaged))
    }

    /// Writes what is gathered. A position alone waits for its time if the next watch goes on at once.
    async fn end_watched(&mut self, watch: &mut Watch, writes: bool) -> Result<(), Halt> {
        watch.settle();
        if writes || !watch.gathering.pending.is_empty() {
            self.write_watched(watch).await?;
        }
        self.behind = watch.complete != watch.stored;
        Ok(())
    }

    /// When positions of this cluster are stored next.
    fn position_due(&self) -> Instant {
        let since = self.context.connected.since();
        let periods = since.elapsed().as_secs() / POSITION_PERIOD.as_secs() + 1;
        since + POSITION_PERIOD * u32::try_from(periods).unwrap_or(u32::MAX)
    }

    /// What has come in is stored, if nothing is gathered.
    fn tell_place(&self, watch: &Watch) {
        if watch.gathering.pending.is_empty() {
            self.context.report.place().reached(&watch.complete);
        }
    }

    /// Something has come from the member, and all that did is stored, if nothing is gathered: what is waits for its write.
    fn is_proved(&self, watch: &Watch) {
        if watch.gathering.pending.is_empty() {
            self.context.report.proved(Timestamp::now());
        }
    }

    async fn write_watched(&self, watch: &mut Watch) -> Result<(), Halt> {
        let (position, has_come) = (self.unstored(watch), Timestamp::now());
        let has_changes = !watch.gathering.pending.is_empty();
        let writes = position.is_some() || has_changes;
        let flush = self.flush_watched(&mut watch.gathering, position);
        unless_it_stands_still(&mut watch.body, flush).await?;
        self.is_stored(watch, writes);
        if has_changes {
            self.context.report.proved(has_come);
        }
        Ok(())
    }

    async fn flush_watched(
        &self,
        gathering: &mut Gathering,
        position: Option<MemberPosition>,
    ) -> Result<(), Halt> {
        let written = self.flush(gathering, position).await?;
        match self.writer.is_above_by(self.opened()?, written).await? {
            true => Err(Halt::Full),
            false => Ok(()),
        }
    }

    /// Writes how far the watch is, where nothing else is to be written. While the store is away that is put off: of a fleet whose members are quiet all
    /// watches would be given up, and begun anew when it is back.
    async fn write_position(&self, watch: &mut Watch) -> Result<(), Halt> {
        let position = self.unstored(watch);
        let writes = position.is_some();
        let write = self.writer.write(self.opened()?, vec![], position);
        match tokio::time::timeout(STANDS_STILL, write).await {
            Ok(written) => {
                written?;
                self.is_stored(watch, writes);
            }
            Err(_) => watch.put_off(Instant::now()),
        }
        Ok(())
    }

    /// How far the watch is, if the store does not know.
    fn unstored(&self, watch: &mut Watch) -> Option<MemberPosition> {
        watch.settle();
        let moved = watch.proven() != watch.stored;
        moved.then(|| self.position(watch.proven(), Phase::Live))
    }

    /// The store has all that there was, if that was anything.
    fn is_stored(&self, watch: &mut Watch, writes: bool) {
        // Something may have come meanwhile. Where nothing was to be written, half a line may be all that a dead member will ever have said.
        if writes {
            watch.heard = Instant::now();
        }
        watch.stored = watch.proven().to_owned();
        self.tell_place(watch);
        let unsettled = watch.latest != watch.complete;
        watch.write_at =
            unsettled.then(|| next_second(self.context.shared.begun, watch.settles_at()));
    }
}

/// The first moment that is not before `at` and lies whole seconds after `begun`.
fn next_second(begun: Instant, at: Instant) -> Instant {
    let since = at.saturating_duration_since(begun);
    let seconds = since.as_secs() + u64::from(since.subsec_nanos() > 0);
    begun + Duration::from_secs(seconds)
}

/// Where a line leads to; empty if it does not say.
enum Reached {
    /// There may be more of this version.
    Event(String),
    /// All up to this version was sent.
    Bookmark(String),
}

impl Watch {
    /// When something is to be done, whatever comes.
    fn due(&self) -> Instant {
        let others = [self.write_at, self.lasts_at].into_iter().flatten();
        let first = others.fold(self.silence.until(), Instant::min);
        first.min(self.overdue_at())
    }

    /// When it is over, whether that was told or not.
    fn overdue_at(&self) -> Instant {
        let end = self.ends_at.max(self.heard) + OVERDUE;
        match self.has_bookmarks {
            true => end.min(self.heard + LATE_BOOKMARK),
            false => end,
        }
    }

    /// How long nothing may come, if nothing has for longer. The same for all watches, so that they fail in the same words.
    fn is_overdue(&self) -> Option<Duration> {
        let is_late = self.has_bookmarks && self.heard.elapsed() >= LATE_BOOKMARK;
        (self.overdue_at() <= Instant::now()).then_some(match is_late {
            true => LATE_BOOKMARK,
            false => OVERDUE,
        })
    }

    /// Whether nothing may have happened where nothing comes. Whose bookmarks stay away is not to be believed, nor is what would not break if it
    /// were dead.
    fn may_be_complete(&self) -> bool {
        self.breaks_when_dead() && !self.has_bookmarks && !self.lines.holds_part()
    }

    fn breaks_when_dead(&self) -> bool {
        let body = self.body.as_ref();
        body.is_some_and(ByteStream::breaks_when_dead)
    }

    /// Where it began at this version and is over after so long.
    fn was_good_for(&self, took: Duration, version: &str) -> Good {
        match self.has_changes && self.complete != version {
            _ if took >= LASTED => Good::Lasted,
            true => Good::Changes,
            false => Good::Nothing,
        }
    }

    /// What was believed of its silence is not to be believed: who did not end it in time may have been dead all the while. That what
    /// is asked beside it is answered, by whoever, does not tell. Returns whether anything was.
    fn go_back(&mut self) -> bool {
        let Some(led_to) = self.led_to.take() else {
            return false;
        };
        self.complete = led_to.into();
        self.latest.clone_from(&self.complete);
        true
    }

    /// Up to where its lines have led, and what was believed of a watch before it that ended in time.
    fn proven(&self) -> &str {
        self.led_to.as_deref().unwrap_or(&self.complete)
    }

    /// An event from before what was believed of its silence: the watch was late, and others of that time may follow.
    fn doubt(&mut self, place: &Reached) {
        if let Reached::Event(version) = place
            && is_behind(version, &self.complete)
        {
            self.go_back();
        }
    }

    /// Bytes have come.
    fn hear(&mut self, now: Instant) {
        self.heard = now;
        self.silence = Silence::new(now);
        self.asked = None;
    }

    /// What is wrong with a bookmark before an event that was told already: the member is not the one that it was, or was set back.
    fn goes_back(&self, place: &Reached) -> Option<String> {
        let Reached::Bookmark(version) = place else {
            return None;
        };
        let numbers = (version.parse::<u64>().ok()?, self.latest.parse().ok()?);
        (numbers.0 < numbers.1).then(|| {
            format!(
                "a bookmark of version {version} came after version {}",
                self.latest
            )
        })
    }

    /// Moves on after a line, and says when that must be written.
    fn advance(&mut self, place: Reached, position_due: Instant) {
        self.led_to = None;
        match place {
            Reached::Event(version) => {
                if !version.is_empty() && version != self.latest {
                    self.complete = std::mem::replace(&mut self.latest, version);
                }
            }
            Reached::Bookmark(version) => {
                self.has_bookmarks = true;
                if !version.is_empty() {
                    self.complete.clone_from(&version);
                    self.latest = version;
                }
            }
        }
        self.write_by(if self.gathering.pending.is_empty() {
            position_due
        } else {
            Instant::now() + LINGER
        });
    }

    /// The store did not take in time how far it is, and may take it all the same: whatever is written next says it anew. Nobody has read meanwhile, so
    /// something may have come.
    fn put_off(&mut self, now: Instant) {
        self.stored.clear();
        self.heard = now;
        self.write_at = Some(now + PUT_OFF);
    }

    fn write_by(&mut self, latest: Instant) {
        self.write_at = Some(self.write_at.map_or(latest, |at| at.min(latest)));
    }

    /// After a while of silence nothing more of the last version is to come; where the watch was given up, something may have come.
    fn settle(&mut self) {
        let is_silent = self.heard.elapsed() >= SETTLED && self.body.is_some();
        if is_silent && !self.lines.holds_part() {
            self.complete.clone_from(&self.latest);
        }
    }

    /// When to look whether the last version is complete.
    fn settles_at(&self) -> Instant {
        let since = match self.lines.holds_part() {
            true => Instant::now(),
            false => self.heard,
        };
        since + SETTLED
    }
}
