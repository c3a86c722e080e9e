//! One stream at work: doing what [`mod@step`] says for one type of one member.

mod begun;
mod busy;
mod connected;
mod known;
mod limit;
mod link;
mod list;
pub(crate) mod objects;
mod outlasted;
mod pace;
pub(crate) mod place;
mod pull;
mod silence;
pub(crate) mod step;
mod streamed;
mod sweep;
pub(crate) mod turns;
mod waits;
mod watch;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use armadex_backoff::{Backoff, jittered};
use armadex_crds::member_rights;
use armadex_member::{Identity, MemberError};
use armadex_model::{ClusterName, GroupVersionResource, ResourceType};
use armadex_storage::{ClusterId, MemberPosition, Phase};
use futures::FutureExt as _;
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::config::Shared;
use crate::incoming::convert::Converted;
use crate::incoming::involved::Involved;
use crate::incoming::prune::{Level, Rules, rules_version};
use crate::stream::begun::{Streamed, unless_nobody_reads_since};
pub(crate) use crate::stream::connected::Connected;
use crate::stream::objects::{Begins, ClusterObjects};
use crate::stream::outlasted::Outlasted;
use crate::stream::pace::Pace;
use crate::stream::step::{Good, Outcome, State, Wait, is_behind, step};
use crate::stream::turns::{Room, Turn};
use crate::stream::waits::{FIRST_RETRY, LAST_RETRY, Waits};
use crate::stream::writer::{Halt, Opened, Writer};
use crate::told::advice::advice;
use crate::told::metrics::ClusterMetrics;
use crate::told::report::Report;
use crate::told::tally::Rows;

/// Two writers of one stream are a mistake in the deployment, a process that is just ending, or one that is to learn that it was replaced.
const FENCED_RETRY: Duration = Duration::from_secs(45);

/// What one stream needs to know.
pub(crate) struct StreamContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) connected: Arc<Connected>,
    pub(crate) cluster: ClusterId,
    pub(crate) cluster_name: ClusterName,
    pub(crate) resource: Arc<ResourceType>,
    /// The member serves an older version than the stored one.
    pub(crate) converted: Option<Arc<Converted>>,
    /// It is of Events, and those of other kinds are left out.
    pub(crate) involved: Option<Arc<Involved>>,
    pub(crate) report: Arc<Report>,
    pub(crate) objects: Arc<ClusterObjects>,
    pub(crate) metrics: Arc<ClusterMetrics>,
    pub(crate) cancel: CancellationToken,
    /// Cancelled by the stream that is told by the store that the cluster has left.
    pub(crate) left: CancellationToken,
}

impl StreamContext {
    /// What the member is asked for.
    fn asked(&self) -> &GroupVersionResource {
        match &self.converted {
            Some(converted) => converted.served(),
            None => &self.resource.gvr,
        }
    }

    /// By which rows are made, and which Events are kept. An edit of the kinds whose Events are kept leaves the form of those that stay.
    fn stored_by(&self) -> armadex_storage::Rules {
        let usual = rules_version(&self.resource.gvr);
        let level = Level::of(&self.resource.gvr);
        let unpruned = level.leaves(self.shared.config.unpruned);
        let pruning = unpruned.rules_version(usual);
        let form = match &self.converted {
            Some(converted) => converted.rules_version(pruning),
            None => pruning,
        };
        let involved = self.involved.as_deref();
        let stream = involved.map_or(form, |involved| involved.rules_version(form));
        armadex_storage::Rules { form, stream }
    }

    /// Whether an object is one of those that are kept.
    fn takes(&self, json: &[u8]) -> bool {
        let involved = self.involved.as_deref();
        involved.is_none_or(|involved| involved.takes(json))
    }
}

/// Runs until cancelled, what is pending then is written; or until the cluster has left the store. A stream that breaks off says so and begins anew.
pub(crate) fn run(context: StreamContext) -> impl Future<Output = ()> + Send {
    let context = Arc::new(context);
    let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
    async move {
        loop {
            let begun = Instant::now();
            let life = AssertUnwindSafe(life(Arc::clone(&context)));
            if life.catch_unwind().await.is_ok() {
                break;
            }
            broke_off(&context);
            let rest = tokio::time::sleep(backoff.after(begun.elapsed(), rand::random()));
            if context.cancel.run_until_cancelled(rest).await.is_none() {
                break;
            }
        }
        let who = who(&context);
        context.connected.outages.ends(&who);
        context.shared.store_outages.ends(&who);
    }
}

/// Of whom an outage is told.
fn who(context: &StreamContext) -> String {
    format!("{} in {}", context.resource.gvr, context.cluster_name)
}

fn broke_off(context: &StreamContext) {
    const WORDS: &str = "the stream broke off, it begins anew";
    context.metrics.failures.add(1);
    context.report.failed(WORDS.to_owned());
    if context.connected.outages.begins(&who(context), WORDS) {
        error!(cluster = %context.cluster_name, resource = %context.resource.gvr, "a stream broke off, it begins anew; others that do are not told of");
    }
}

/// No `async fn`, whose future would keep room for its argument beside what is made of it.
fn life(context: Arc<StreamContext>) -> impl Future<Output = ()> + Send {
    let mut stream = Stream::new(context);
    async move {
        stream.context.report.started();
        stream.go_on().await;
    }
}

struct Stream {
    context: Arc<StreamContext>,
    rules: Rules,
    writer: Writer,
    opened: Option<Opened>,
    /// The turn of the list that is being read.
    turn: Turn,
    /// What a list that came as the beginning of a watch goes on with.
    streamed: Option<Box<Streamed>>,
    /// A list that came so did not come to its end, and no watch has lasted since.
    lists_in_pages: bool,
    /// Its lists are long, as far as is known.
    is_long: bool,
    /// How long the member asked to be left alone, if it did.
    asked_wait: Option<Duration>,
    /// The stored position is older than where the stream is.
    behind: bool,
    /// Where it stood when it was opened, to be written once the member lets its rows be read: they are hidden until then, or the member was known by something
    /// else. A list that is stored to its end shows them, and leads elsewhere.
    restated: Option<Box<MemberPosition>>,
    /// The member was asked how far it is, and what it answered was not understood.
    puzzled: bool,
    /// Since when it is in doubt who the member is.
    doubted: Instant,
    /// How long the next watch may be.
    pace: Pace,
    /// Something failed, and no watch has lasted since.
    troubled: bool,
    /// Lists since a watch has lasted.
    outlasted: Option<Box<Outlasted>>,
    /// What its last watch proved: that it lasted or brought changes for a while, which alone says that a stream works. A member may answer every
    /// question and list and still refuse the watch, or end it, and would be asked all the time if an answer were a success.
    proved: Option<Good>,
    waits: Waits,
    /// It stopped because the cluster is full.
    was_full: bool,
    /// Its last list, of which not all was stored, made place in a cluster that was full, so that it was made again at once.
    made_place: bool,
}

impl Stream {
    fn new(context: Arc<StreamContext>) -> Self {
        let rules = Rules::new(
            &context.cluster_name,
            &context.resource.gvr,
            context.shared.config.max_object_bytes,
        )
        .leaving(context.shared.config.unpruned);
        let writer = Writer {
            shared: Arc::clone(&context.shared),
            cluster: context.cluster,
            resource: Arc::clone(&context.resource),
            rules: Box::new(context.stored_by()),
            report: Arc::clone(&context.report),
            objects: Arc::clone(&context.objects),
            metrics: Arc::clone(&context.metrics),
            cancel: context.cancel.clone(),
            what: who(&context).into(),
        };
        // The member has said who it is before its streams began.
        let doubted = context.connected.since();
        Self {
            context,
            rules,
            writer,
            opened: None,
            turn: Turn::default(),
            streamed: None,
            lists_in_pages: false,
            is_long: false,
            asked_wait: None,
            behind: false,
            restated: None,
            puzzled: false,
            doubted,
            pace: Pace::default(),
            troubled: false,
            outlasted: None,
            proved: None,
            waits: Waits::default(),
            was_full: false,
            made_place: false,
        }
    }

    /// Does one thing after the other until cancelled.
    async fn go_on(&mut self) {
        let mut state = State::Opening;
        loop {
            let outcome = match self.perform(&mut state).await {
                Ok(outcome) => outcome,
                Err(Halt::Fenced) => self.fenced(),
                Err(Halt::Full) => self.full(),
                Err(Halt::Left) => return self.left(),
                Err(Halt::Cancelled) => return,
            };
            let asked = self.asked_wait.take();
            match self.proved.take() {
                Some(Good::Lasted) => self.waits.lasted(),
                Some(Good::Changes) => self.waits.brought_changes(),
                Some(Good::Nothing) | None => {}
            }
            let next = step(state, outcome, self.context.connected.identity.as_str());
            state = next.state;
            if next.wait != Wait::No || !matches!(state, State::Listing(_)) {
                self.turn = Turn::default();
            }
            let goes_on = matches!(state, State::Sweeping(_) | State::Watching { .. });
            if next.wait != Wait::No || !goes_on {
                self.streamed = None;
            }
            let wait = match next.wait {
                Wait::No => {
                    self.waits.goes_well();
                    continue;
                }
                Wait::Page => {
                    let (wait, is_repeated) = self.waits.page(rand::random());
                    // It may fail for long, and others have to wait for room.
                    if is_repeated && let State::Listing(listing) = &mut state {
                        Room::leave(&mut listing.room);
                    }
                    wait
                }
                Wait::Backoff => self.waits.whole(rand::random()),
                Wait::Short => self.waits.short(rand::random()),
                Wait::Fenced => jittered(FENCED_RETRY, rand::random()),
                Wait::Full => self.waits.full(rand::random()),
                Wait::Outlasted => self.outlasted().pause(rand::random()),
            };
            if Box::pin(self.rest(wait, asked)).await.is_err() {
                return;
            }
            if next.wait.is_long() {
                self.doubted = Instant::now();
            }
        }
    }

    /// Waits that long, and no shorter than the member asked for.
    async fn rest(&self, wait: Duration, asked: Option<Duration>) -> Result<(), Halt> {
        let StreamContext {
            connected, cancel, ..
        } = &*self.context;
        let asked = asked.map(|asked| (connected.busy.waits(), asked));
        let asked_for = asked
            .as_ref()
            .map(|(waiting, asked)| waiting.for_at_least(*asked, rand::random()));
        let rest = tokio::time::sleep(wait.max(asked_for.unwrap_or_default()));
        cancel
            .run_until_cancelled(rest)
            .await
            .ok_or(Halt::Cancelled)
    }

    /// A stream follows its watch nearly all of its life. What it does before that is in a box while it does it, or each task would
    /// take as much memory for ever as the largest step takes for a moment.
    async fn perform(&mut self, state: &mut State) -> Result<Outcome, Halt> {
        debug!(stream = %self.writer.what, ?state, "next step");
        match state {
            State::Opening => Box::pin(self.open()).await,
            State::Checking { version } => Box::pin(self.check_and_show(version)).await,
            State::Listing(listing) => {
                self.context.report.checked(None);
                Box::pin(self.page(listing)).await
            }
            State::Sweeping(sweep) => {
                let mut streamed = self.streamed.take();
                let read = streamed.as_ref().map(|streamed| streamed.begun.since);
                let read = read.unwrap_or_else(Instant::now);
                let sweep = Box::pin(self.sweep(sweep));
                let swept = unless_nobody_reads_since(read, &mut streamed, sweep).await;
                self.streamed = streamed;
                swept
            }
            State::Watching { version } => match self.watch(version.clone()).await? {
                Outcome::Gone => Box::pin(self.until_cancelled(Self::too_old)).await,
                outcome => Ok(outcome),
            },
        }
    }

    async fn check_and_show(&mut self, version: &str) -> Result<Outcome, Halt> {
        let asked = Timestamp::now();
        let outcome = self.until_cancelled(Self::check).await?;
        self.show(&outcome).await?;
        if let Outcome::Present(present) = &outcome {
            self.context.report.checked(Some(asked));
            if present == version {
                self.context.report.proved(asked);
            }
        }
        match &outcome {
            Outcome::Present(present)
                if !is_behind(present, version) && self.is_to_be_swept().await? =>
            {
                Ok(Outcome::Differs)
            }
            _ => Ok(outcome),
        }
    }

    async fn open(&mut self) -> Result<Outcome, Halt> {
        if let Err(outcome) = self.until_cancelled(Self::recognize).await? {
            return Ok(outcome);
        }
        let Self {
            context, writer, ..
        } = self;
        let sink = &context.shared.sink;
        let owner = context.shared.owner.text();
        let opened = writer
            .attempt(|| sink.open(context.cluster, &owner, &context.resource, *writer.rules))
            .await?;
        let stream = match opened {
            Ok(stream) => stream,
            Err(refused) => return Ok(self.failed_for(refused.reason())),
        };
        let is_unlisted = |position: &MemberPosition| position.phase == Phase::Listing;
        let is_to_compare = stream.position.as_ref().is_some_and(is_unlisted);
        self.opened = Some(Opened {
            resource: stream.resource,
            epoch: stream.epoch,
            is_narrowed: context.involved.is_some() && is_to_compare,
        });
        let taken_up = self.take_up(stream.position, stream.hidden).await?;
        if let Outcome::Opened(position) = &taken_up {
            let rows = match stream.hidden {
                true => Rows::Others,
                false => self.rows(position.as_ref()),
            };
            self.context.report.opened(stream.objects, rows);
        }
        Ok(taken_up)
    }

    /// What is stored where the stream stands here.
    fn rows(&self, position: Option<&MemberPosition>) -> Rows {
        let identity = self.context.connected.identity.as_str();
        match position.filter(|position| position.member == identity) {
            None => Rows::Others,
            Some(position) => match position.phase {
                Phase::Live => Rows::Listed,
                Phase::Listing => Rows::Unfinished,
            },
        }
    }

    /// Goes on where the stream stood, which is written once more if its rows are hidden, or the member was known by something else then.
    async fn take_up(
        &mut self,
        position: Option<MemberPosition>,
        is_hidden: bool,
    ) -> Result<Outcome, Halt> {
        let Some(stored) = position else {
            self.restated = None;
            return Ok(Outcome::Opened(None));
        };
        let known = async |stream: &mut Self| stream.known_by_now(stored.clone()).await;
        let position = match self.until_cancelled(known).await? {
            Ok(position) => position,
            Err(outcome) => return Ok(outcome),
        };
        let is_news = is_hidden || position != stored;
        self.restated = is_news.then(|| Box::new(position.clone()));
        Ok(Outcome::Opened(Some(position)))
    }

    /// A position with the identity by which the member is known now, if it is this member's.
    async fn known_by_now(&mut self, position: MemberPosition) -> Result<MemberPosition, Outcome> {
        let connected = Arc::clone(&self.context.connected);
        match connected.is(&Identity::stored(&position.member)).await {
            Err(error) => Err(self.unrecognized(&error)),
            Ok(false) => Ok(position),
            Ok(true) => Ok(MemberPosition {
                member: connected.identity.as_str().to_owned(),
                ..position
            }),
        }
    }

    /// Whether a list would bring on a stream that stopped because the cluster is full: so full that of a watch only what leaves is written, up to the first change
    /// that is not, while the member says that it has fewer objects than are stored.
    async fn is_to_be_swept(&mut self) -> Result<bool, Halt> {
        let was_full = std::mem::take(&mut self.was_full);
        let is_beyond = was_full && self.context.objects.overflow_it();
        Ok(is_beyond && self.begins().await? == Begins::ToSweep)
    }

    /// A member that tells how far it is lets what is stored of it be read.
    async fn show(&mut self, outcome: &Outcome) -> Result<(), Halt> {
        if let Outcome::Present(_) = outcome
            && let Some(position) = self.restated.take()
        {
            let opened = self.opened()?;
            let rows = self.rows(Some(&*position));
            self.writer.write(opened, vec![], Some(*position)).await?;
            if rows == Rows::Listed {
                self.context.report.is_shown();
            }
        }
        Ok(())
    }

    /// Who the member is and how far its collection is, so that a watch is resumed only where it would tell everything.
    async fn check(&mut self) -> Outcome {
        if let Err(outcome) = self.recognize().await {
            return outcome;
        }
        let connected = Arc::clone(&self.context.connected);
        let present = connected.present_version(self.context.asked()).await;
        let is_puzzle = matches!(present, Err(MemberError::Malformed { .. }));
        let was_puzzled = std::mem::replace(&mut self.puzzled, is_puzzle);
        match present {
            // It will not say, however often it is asked; a list needs no such answer.
            Err(error) if is_puzzle && was_puzzled => {
                self.puzzled = false;
                self.failed(&error);
                Outcome::Gone
            }
            Err(error) => self.failed(&error),
            Ok(present) => Outcome::Present(present),
        }
    }

    /// Whether the member is still the one that it was, if that is in doubt; what follows if it is not, or does not say.
    async fn recognize(&mut self) -> Result<(), Outcome> {
        let connected = Arc::clone(&self.context.connected);
        match connected.identity_since(self.doubted).await {
            Err(error) if connected.hides_who_it_is(&error).await => {
                // Its session is told, and looks for another way to know it.
                connected.nameless.cancel();
                Err(Outcome::Failed)
            }
            Err(error) => Err(self.unrecognized(&error)),
            Ok(identity) if identity != connected.identity => {
                // Its session is told, and says the rest.
                connected.stranger.cancel();
                Err(Outcome::Failed)
            }
            Ok(_) => Ok(()),
        }
    }

    /// The member does not say who it is, and may by and by. What its account lacks for that has nothing to do with the resource.
    fn unrecognized(&mut self, error: &MemberError) -> Outcome {
        match error.is_forbidden() {
            true => self.failed_for(&format!("who the member is: {error}")),
            false => self.failed(error),
        }
    }

    /// A watch was refused as too old. Where none has lasted since the last list that took too long, or somebody else answers.
    async fn too_old(&mut self) -> Outcome {
        if self.outlasted.is_none() {
            return Outcome::Gone;
        }
        self.doubted = Instant::now();
        if let Err(outcome) = self.recognize().await {
            return outcome;
        }
        match self.outlasted().refused(Instant::now()) {
            None => Outcome::Gone,
            Some(words) => self.outlasts(words),
        }
    }

    fn outlasted(&mut self) -> &mut Outlasted {
        let begun = || Box::new(Outlasted::new(Instant::now()));
        self.outlasted.get_or_insert_with(begun)
    }

    async fn until_cancelled<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Self) -> T,
    ) -> Result<T, Halt> {
        let cancel = self.context.cancel.clone();
        tokio::select! {
            () = cancel.cancelled() => Err(Halt::Cancelled),
            done = work(self) => Ok(done),
        }
    }

    /// What to say of a failed request, and what it means for the stream.
    fn failed(&mut self, error: &MemberError) -> Outcome {
        self.asked_wait = error.asks_to_wait().or(error.retry_after());
        if let Some(token) = error.fresh_token() {
            if self.news("a list took too long to be of one version") {
                info!(cluster = %self.context.cluster_name, resource = %self.context.resource.gvr, "a list took too long to be of one version, going on with a later one; others that do are not told of");
            }
            return Outcome::Expired(token.to_owned());
        }
        if error.is_gone() {
            if self.news("the position is too old") {
                info!(cluster = %self.context.cluster_name, resource = %self.context.resource.gvr, "a position is too old, listing; others that are as old are not told of");
            }
            return Outcome::Gone;
        }
        if let Some(asked) = error.asks_to_wait() {
            return self.asked_to_wait(error, asked);
        }
        let StreamContext {
            connected,
            cluster_name,
            ..
        } = &*self.context;
        let GroupVersionResource {
            group, resource, ..
        } = self.context.asked();
        let right = || member_rights::of_resources(group, vec![resource.clone()]);
        let advice = advice(error, &connected.member, right, cluster_name);
        self.failed_for(&format!("{error}{advice}"))
    }

    /// The member is there and has too much to do, which is no failure.
    fn asked_to_wait(&mut self, error: &MemberError, asked: Duration) -> Outcome {
        let words = match asked.as_secs() {
            0 => format!("the member asks to wait: {error}"),
            seconds => format!("the member asks to wait {seconds} s: {error}"),
        };
        if self.news("the member asks to wait") {
            info!(cluster = %self.context.cluster_name, resource = %self.context.resource.gvr, reason = words, "a member asks to wait, which its stream does; others that are asked to are not told of");
        }
        self.context.report.waits(words);
        Outcome::Failed
    }

    fn failed_for(&mut self, words: &str) -> Outcome {
        self.context.metrics.failures.add(1);
        self.context.report.failed(words.to_owned());
        if self.news(words) {
            warn!(cluster = %self.context.cluster_name, resource = %self.context.resource.gvr, error = words, "a stream failed, retrying; others that fail alike are not told of");
        } else {
            debug!(stream = %self.writer.what, error = words, "the stream failed again");
        }
        Outcome::Failed
    }

    /// That is said until a watch has lasted, whatever goes well meanwhile.
    fn outlasts(&mut self, words: String) -> Outcome {
        self.context.metrics.failures.add(1);
        if self.news("no watch can follow a list") {
            warn!(cluster = %self.context.cluster_name, resource = %self.context.resource.gvr, error = words, "no watch can follow a list; others that it is so with are not told of");
        }
        self.context.report.stands(words);
        Outcome::Outlasted
    }

    /// A watch was soon over and led nowhere. One may be by chance; the second in a row is told until one has lasted.
    fn ended_in_vain(&mut self) {
        if !self.waits.was_in_vain() {
            return;
        }
        self.context.metrics.failures.add(1);
        let words = "watches end before their time and bring nothing, so the next one waits longer and longer: the member refuses them, or \
                     something on the way to it cuts them off";
        if self.news("watches end before their time") {
            warn!(cluster = %self.context.cluster_name, resource = %self.context.resource.gvr, error = words, "watches end before their time; others that do are not told of");
        }
        self.context.report.stands(words.to_owned());
    }

    fn news(&mut self, words: &str) -> bool {
        self.troubled = true;
        self.context
            .connected
            .outages
            .begins(&self.writer.what, words)
    }

    /// The stream works.
    fn recovered(&self) {
        self.context.report.works();
        if self.context.connected.outages.ends(&self.writer.what) {
            info!(cluster = %self.context.cluster_name, resource = %self.context.resource.gvr, "streams that failed work again");
        }
    }

    fn fenced(&self) -> Outcome {
        const TAKEN_OVER: &str = "another writer took the stream over";
        let what = &self.writer.what;
        if self.context.shared.store_outages.begins(what, TAKEN_OVER) {
            warn!(stream = %what, "{TAKEN_OVER}; others that are taken over are not told of");
        }
        let words = "another synchro writes this stream";
        self.context.report.stopped(None, words);
        self.context.shared.fenced.notify_one();
        Outcome::Fenced
    }

    /// What is stored stays, but for what is known to have gone.
    fn full(&mut self) -> Outcome {
        let most = self.context.objects.most();
        let words = format!(
            "the cluster has as many objects in the store as it may have, {most} (--max-objects-per-cluster): this resource is not synced on, and of what is \
             stored of it no more is done than to take away what the member does not have any more. Ask for fewer resources in syncResources, or set a higher limit"
        );
        self.context.metrics.failures.add(1);
        if self.news("the cluster has as many objects as it may have") {
            warn!(cluster = %self.context.cluster_name, resource = %self.context.resource.gvr, error = words, "a stream stops for a while; others that do are not told of");
        }
        self.context.report.full(words);
        self.was_full = true;
        self.made_place = false;
        // What is refused as too old from now on followed no list.
        self.outlasted = None;
        self.context.report.works();
        Outcome::Full
    }

    /// A list is stored to its end.
    fn list_is_stored(&mut self) {
        self.restated = None;
        self.made_place = false;
        self.was_full = false;
    }

    /// Its session is told, and says the rest.
    fn left(&self) {
        let words = "the cluster has left the store, or another synchro looks after it";
        self.context.report.stopped(None, words);
        self.context.left.cancel();
    }

    /// The opened stream; opening comes before everything that writes.
    fn opened(&self) -> Result<Opened, Halt> {
        self.opened.ok_or(Halt::Fenced)
    }

    fn position(&self, version: &str, phase: Phase) -> MemberPosition {
        MemberPosition {
            resource_version: version.to_owned(),
            member: self.context.connected.identity.as_str().to_owned(),
            phase,
        }
    }
}
