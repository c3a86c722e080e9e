//! One type of one member, being compared: the store is read, the member listed, the stream waited for.

use std::sync::Arc;
use std::time::Duration;

use armadex_member::{ByteStream, LONGEST_WAIT, ListRequest, MemberError};
use armadex_model::{GroupVersionResource, ObjectKey, ResourceType};
use armadex_storage::{ClusterId, Sink, StoreError, StoredVersion, TypeId};
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, sleep, timeout};

use crate::audit::comparison::{Comparison, Found, Hashes, Listed, StoredCopy, Suspects};
use crate::audit::item;
use crate::config::Shared;
use crate::incoming::items::{Items, ListMetadata};
use crate::incoming::lines::Piece;
use crate::stream::Connected;
use crate::stream::turns::{ClusterTurns, SHORT_PAGES, Turn};
use crate::told::metrics::ClusterMetrics;
use crate::told::report::Report;
use crate::told::store;

/// Objects on a page, as in every list: a member reads them whole, however little of them it sends.
const PAGE: u32 = 500;
/// Rows that are read at a time: some 150 KB.
const ROWS: u32 = 1000;
/// A bookmark comes every minute; where none does, a silence is broken after 75 s and believed after 30 s more.
const ON_ITS_WAY: Duration = Duration::from_secs(150);
/// For the member: a million objects take 2,000 pages of some 100 ms, twice. What others are waited for does not count.
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// Suspects of a type that may wait for the stream beside those of any number of others: 40 KB.
const FEW: usize = 1000;
/// Rows of a type whose copy may be held beside those of any number of others: some 300 KB. The list of more waits in the line of the long ones.
const SHORT: usize = (SHORT_PAGES * PAGE) as usize;
/// How often a member may ask to wait while it is compared. What others wait for is held meanwhile: room, and a copy in memory. Who asks again is audited another time.
const PUT_OFF: u8 = 1;
/// One that does not say for how long is asked again after this.
const ASKED_AGAIN: Duration = Duration::from_secs(1);
/// A list waits for its turn, and a million objects are written in a minute.
const LISTED_WITHIN: Duration = Duration::from_secs(15 * 60);

/// One type of one member.
pub(super) struct Subject {
    pub(super) shared: Arc<Shared>,
    pub(super) connected: Arc<Connected>,
    pub(super) metrics: Arc<ClusterMetrics>,
    pub(super) cluster: ClusterId,
    pub(super) resource: Arc<ResourceType>,
    /// What the member is asked for: an object is the same in each version.
    pub(super) asked: GroupVersionResource,
    pub(super) id: TypeId,
    pub(super) report: Arc<Report>,
    pub(super) turns: Arc<ClusterTurns>,
}

/// What a comparison has of what all share, and how long its member has taken. The turn is there while rows are compared with a list; a
/// member that lets it wait loses it meanwhile.
#[derive(Default)]
struct Visit {
    turn: Turn,
    took: Duration,
    /// Answers that asked to wait.
    put_off: u8,
}

impl Visit {
    /// How long the member asks to wait, if it is to be waited for.
    fn is_put_off(&mut self, error: &MemberError) -> Option<Duration> {
        let asked = error.asks_to_wait()?;
        self.put_off += 1;
        (self.put_off <= PUT_OFF).then_some(asked)
    }
}

/// Why it could not be found out whether a copy is right, in words for everybody.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unproved {
    /// The member did not list.
    #[error("the member: {0}")]
    Member(#[source] MemberError),
    /// The store was not read.
    #[error("{}", store::in_a_status(.0))]
    Store(#[source] StoreError),
    /// Changes may still be on their way.
    #[error("the stream has not come to version {version} within {} s", ON_ITS_WAY.as_secs())]
    Behind {
        /// The version of the list.
        version: String,
    },
    /// Too many changed at the same time.
    #[error("too many objects changed meanwhile")]
    Busy,
    /// It took too long.
    #[error("it took longer than {} min", LONGEST.as_secs() / 60)]
    TooLong,
    /// The list that is to put things right does not come to its end.
    #[error("the new list is not stored after {} min", LISTED_WITHIN.as_secs() / 60)]
    NotListed,
    /// The stream does not follow a watch.
    #[error("it is not followed now")]
    NotFollowed,
    /// Sessions ended before it was compared.
    #[error("the member was lost each time before it was done")]
    NotConnected,
    /// Something in the comparison broke.
    #[error("the comparison broke off")]
    BrokeOff,
}

impl Subject {
    /// What is wrong. Nothing is, if the member listed what the store had; otherwise the stream is waited for and both are asked again.
    pub(super) async fn compare(&self, hashes: &Hashes) -> Result<Found, Unproved> {
        let found = self.compared(hashes).await?;
        self.metrics.audited_objects.add(found.objects);
        if found.beyond && found.wrong.is_empty() {
            return Err(Unproved::Busy);
        }
        Ok(found)
    }

    /// Has the stream list anew, and waits until that is stored.
    pub(super) async fn list_anew(&self) -> Result<(), Unproved> {
        let listed = self.report.place().list_anew();
        timeout(LISTED_WITHIN, listed)
            .await
            .map_err(|_| Unproved::NotListed)
    }

    /// While much is held that waits for the member or for the stream there is room for it; who finds that it is much begins anew once there is.
    async fn compared(&self, hashes: &Hashes) -> Result<Found, Unproved> {
        let mut visit = Visit::default();
        let mut room = None;
        let (version, mut suspects) = loop {
            let has_room = room.is_some();
            if let Some(found) = self.suspects(hashes, &mut visit, has_room).await? {
                break found;
            }
            visit = Visit::default();
            room = Some(self.room().await?);
        };
        if suspects.is_empty() {
            return Ok(suspects.into_found());
        }
        visit.turn.end();
        let _room = room.filter(|_| suspects.count() > FEW);
        self.passes(version).await?;
        self.stored(usize::MAX, |row| suspects.stored(row)).await?;
        let mut missing = suspects.end();
        missing.leave_out(&self.report.left_out());
        if !missing.is_empty() {
            self.list(&mut visit, |listed| missing.listed(listed))
                .await?;
        }
        Ok(missing.end())
    }

    /// Who is slow holds it for long, and takes none from the others.
    async fn room(&self) -> Result<SemaphorePermit<'_>, Unproved> {
        let room = match self.connected.lists.is_slow() || self.turns.is_slow() {
            true => &self.shared.large_slow_audits,
            false => &self.shared.large_audits,
        };
        // No semaphore is closed.
        room.acquire().await.map_err(|_| Unproved::BrokeOff)
    }

    /// What the member had otherwise than the store, and the version of its list. `None` if that is much, and there is no room for it.
    async fn suspects(
        &self,
        hashes: &Hashes,
        visit: &mut Visit,
        has_room: bool,
    ) -> Result<Option<(String, Suspects)>, Unproved> {
        self.connected.lists.let_others_go_first().await;
        visit.turn.page(&self.turns, false).await;
        let mut copy = StoredCopy::new(hashes.clone());
        let most = if has_room { usize::MAX } else { SHORT };
        let (begun, mut bytes) = (self.report.mark(), 0);
        let take_in = |row: &StoredVersion| {
            bytes += row.bytes;
            copy.stored(row);
        };
        if !self.stored(most, take_in).await? {
            return Ok(None);
        }
        self.report.weighs(bytes, begun);
        let most = if has_room { usize::MAX } else { FEW };
        let mut comparison = sorted(copy, most).await?;
        let version = self.list(visit, |listed| comparison.listed(listed)).await?;
        let suspects = comparison.end();
        let fits = has_room || !suspects.are_more();
        Ok(fits.then_some((version, suspects)))
    }

    /// Waits until the stream has stored what the member had when it listed.
    async fn passes(&self, version: String) -> Result<(), Unproved> {
        let reached = self.report.place().reaches(&version);
        timeout(ON_ITS_WAY, reached)
            .await
            .map_err(|_| Unproved::Behind { version })
    }

    /// Reads what is stored. Whether that was all: of more than `most` the rest is not read.
    async fn stored(
        &self,
        most: usize,
        mut each: impl FnMut(&StoredVersion),
    ) -> Result<bool, Unproved> {
        let sink: &dyn Sink = &*self.shared.sink;
        let mut after: Option<ObjectKey> = None;
        let mut read = 0;
        loop {
            let page = sink.versions(self.cluster, self.id, after.as_ref(), ROWS);
            let page = page.await.map_err(Unproved::Store)?;
            read += page.len();
            if read > most {
                return Ok(false);
            }
            page.iter().for_each(&mut each);
            let is_last = page.len() < ROWS as usize;
            after = page.into_iter().last().map(|row| row.key);
            if is_last || after.is_none() {
                return Ok(true);
            }
        }
    }

    /// Lists the member to the end; gives the version up to which this tells how things were. Where a token has expired the rest comes of a
    /// later version, and for each object it holds that it was so at some time.
    async fn list(
        &self,
        visit: &mut Visit,
        mut each: impl FnMut(&Listed),
    ) -> Result<String, Unproved> {
        let mut token = None;
        let mut renewed = false;
        loop {
            self.connected.lists.let_others_go_first().await;
            visit.turn.page(&self.turns, true).await;
            let begun = Instant::now();
            let page = self.page(&mut visit.turn, token.as_deref(), &mut each);
            let page = timeout(LONGEST.saturating_sub(visit.took), page).await;
            visit.took += begun.elapsed();
            match page.map_err(|_| Unproved::TooLong)? {
                Ok(ListMetadata {
                    resource_version,
                    r#continue,
                    ..
                }) if r#continue.is_empty() => return Ok(resource_version),
                Ok(page) => (token, renewed) = (Some(page.r#continue), false),
                Err(error) => match (visit.is_put_off(&error), error.fresh_token()) {
                    (Some(asked), _) => self.leave_alone(visit, asked).await,
                    (None, Some(fresh)) if token.is_some() && !renewed => {
                        (token, renewed) = (Some(fresh.to_owned()), true);
                    }
                    _ => return Err(Unproved::Member(error)),
                },
            }
        }
    }

    /// Without a turn, as the streams of the member do, and for a minute at most.
    async fn leave_alone(&self, visit: &mut Visit, asked: Duration) {
        visit.turn.end();
        let waiting = self.connected.busy.waits();
        let wait = waiting.for_at_least(asked, rand::random());
        sleep(wait.clamp(ASKED_AGAIN, LONGEST_WAIT)).await;
    }

    /// Whether the stream keeps an object.
    fn keeps(&self, piece: &Piece) -> bool {
        match (self.report.involved(), piece) {
            (Some(involved), Piece::Whole(json)) => involved.takes(json),
            (Some(_), Piece::TooLong { .. }) | (None, _) => true,
        }
    }

    /// Events are read as a whole where some of them are kept: what they are about is not in their metadata.
    async fn request_page(
        &self,
        turn: &mut Turn,
        token: Option<&str>,
    ) -> Result<ByteStream, MemberError> {
        let involved = self.report.involved();
        let (member, resource) = (&self.connected.member, &self.asked);
        let request = |field_selector| async move {
            let request = ListRequest {
                resource,
                limit: PAGE,
                continue_token: token,
                field_selector,
            };
            match involved.is_some() {
                true => member.list(&request).await,
                false => member.list_metadata(&request).await,
            }
        };
        let body = self
            .connected
            .selecting(involved.map(AsRef::as_ref), request);
        turn.wait_for(&self.turns, body).await
    }

    async fn page(
        &self,
        turn: &mut Turn,
        token: Option<&str>,
        each: &mut impl FnMut(&Listed),
    ) -> Result<ListMetadata, MemberError> {
        let mut body = self.request_page(turn, token).await?;
        let mut items = Items::new(self.shared.config.incoming_limit());
        let mut unfinished = self.connected.memory.unfinished.part();
        loop {
            let chunk = async { body.next().await.transpose() };
            let came = tokio::select! {
                came = turn.wait_for(&self.turns, chunk) => came,
                error = unfinished.has_to_go() => Err(error),
            };
            let Some(chunk) = came? else {
                break;
            };
            self.metrics.audit_bytes.add(chunk.len() as u64);
            turn.came(chunk.len());
            items.push(chunk);
            while let Some(piece) = items.next() {
                let listed = item::read(&piece, self.resource.namespaced);
                if let Some(listed) = listed.filter(|_| self.keeps(&piece)) {
                    each(&listed);
                }
            }
            unfinished.holds(items.unfinished());
        }
        items.finish().ok_or_else(|| MemberError::Malformed {
            path: self.asked.list_path(),
            problem: "it is no whole list".into(),
        })
    }
}

/// Elsewhere, for a million rows take their time.
async fn sorted(copy: StoredCopy, most: usize) -> Result<Comparison, Unproved> {
    tokio::task::spawn_blocking(move || copy.complete(most))
        .await
        .map_err(|_| Unproved::BrokeOff)
}
