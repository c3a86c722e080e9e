//! Lists: a page is read from the store, written, sent, and forgotten before the next is read.
//!
//! No transaction and no connection of the store is held while a client reads. What is in memory is the page that is being sent
//! and, where the budget has room for it, the one after, read in the meantime. Of a page a few rows at a time are written and rewritten,
//! when their client has taken those before. A failure in the middle breaks the answer off; it never looks like a shorter list.

use std::time::Duration;

use armadex_model::params::{Continue, ListParams, Revision};
use armadex_model::query::{OrderField, Position, Start};
use armadex_model::{Query, ResourceType};
use armadex_storage::{Found, Head, Page, PageBudget, StoreError};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::answer::body::Piece;
use crate::answer::budget::{Allowance, NoRoom, PAGE, Reservation};
use crate::answer::encode::{Encoder, ListMeta, Listed, Shape};
use crate::answer::gzip::LONG;
use crate::answer::object::Damaged;
use crate::answer::outbox::Outbox;
use crate::answer::rewrite::Rewrite;
use crate::answer::searches::Searches;
use crate::answer::status::{ApiError, chain};
use crate::request::negotiate::Form;
use crate::request::seal::Seal;
use crate::request::token::{Counted, InvalidToken, Progress, Token, fingerprint};
use crate::seldom::Seldom;

/// Rows read at a time: enough that the store is asked seldom, few enough that a page is small.
const PAGE_ROWS: u32 = 500;
/// A client that asks for pages gets what was found after so many of the store's: each is bounded by work, and may have found nothing.
const MOST_PAGES: u32 = 32;
/// Bytes written at a time.
const FLUSH_BYTES: usize = 64 << 10;
/// What an item has beside the stored object: its kind, its version, brackets.
const AROUND_ROW: usize = 256;
/// Rows of a Table written at a time. A cell takes about a microsecond and a row has up to a dozen, so that these take half a
/// millisecond, after which others have their turn.
const ROWS_OF_TABLE: usize = 40;
/// Bytes of stored objects that are looked at for what is written at a time: a walk along them takes half a millisecond.
const LOOKED_AT: usize = 256 << 10;
/// Rows written at a time that are only copied. The smallest object makes an item of 200 bytes.
const ROWS: usize = FLUSH_BYTES / 200;

/// A list that is ready to be sent: its first page has been read, so what could be refused has been.
pub(crate) struct ListStream {
    reader: Reader,
    listed: Listed,
    shape: Shape,
    fingerprint: String,
    head: Head,
    /// The responses before this one.
    progress: Progress,
    remaining: Option<u64>,
    first: HeldPage,
    /// The first cluster and the last one that it is made from, where the order tells.
    clusters: (Option<String>, Option<String>),
}

/// What a response is made from.
pub(crate) struct Extent<'a> {
    pub(crate) query: &'a Query,
    /// Clusters that come before it were looked at for other responses.
    pub(crate) first: Option<&'a str>,
    /// Clusters that come after it are left to other responses.
    pub(crate) last: Option<&'a str>,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// Why a list broke off.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListFailed {
    #[error("the client is gone")]
    Gone,
    #[error("it took longer than {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Damaged(#[from] Damaged),
}

impl ListStream {
    /// Finds where the list begins and reads its first page.
    pub(crate) async fn open(
        searches: Searches,
        resource: ResourceType,
        params: ListParams,
        shape: Shape,
        allowance: Allowance,
    ) -> Result<Self, ApiError> {
        let total = params.limits.total.map(std::num::NonZeroU64::get);
        let fingerprint = fingerprint(&params.query, total);
        let token = token(&params.start, &fingerprint, &searches.seal)?;
        let mut progress = match &token {
            Some(token) => token.progress(total)?,
            None => beginning(&params),
        };
        let wanted = smaller(
            params.limits.page.map(std::num::NonZeroU64::get),
            total.map(|total| total.saturating_sub(progress.served)),
        );
        let reader = Reader {
            searches,
            params,
            wanted,
            allowance,
        };
        let held = reader.allowance.reserve(PAGE).await?;
        let start = start(&reader.params.start, token.as_ref());
        let (first, remaining) = reader.first(&start, &mut progress, held).await?;
        let now = &first.page.head;
        check_revision(reader.params.revision, now)?;
        // All pages carry the revision that was there before the first row: a client that goes on from it misses nothing.
        let head = match &token {
            Some(token) => token.first_head(now, reader.searches.follows())?,
            None => now.clone(),
        };
        let types = reader.params.query.types.len();
        let clusters = clusters(&reader, &start, &first.page);
        Ok(Self {
            clusters,
            reader,
            listed: Listed::of_types(resource, types, shape),
            shape,
            fingerprint,
            head,
            progress,
            remaining,
            first,
        })
    }

    /// What it is made from.
    pub(crate) fn extent(&self) -> Extent<'_> {
        Extent {
            query: &self.reader.params.query,
            first: self.clusters.0.as_deref(),
            last: self.clusters.1.as_deref(),
        }
    }

    /// Whether so much will be sent that compressing it is worth it: the first page has it, or is one of several.
    pub(crate) fn is_long(&self) -> bool {
        let Page { rows, next, .. } = &self.first.page;
        let goes_on = self
            .reader
            .wanted
            .is_none_or(|wanted| wanted > rows.len() as u64);
        let stored: usize = rows.iter().map(|found| found.body.len()).sum();
        stored >= LONG || (next.is_some() && goes_on)
    }

    /// The media type of what is sent.
    pub(crate) fn content_type(&self) -> &'static str {
        self.shape.notation.content_type()
    }

    /// Sends the list until it is complete, the client is gone, or `deadline` has passed.
    pub(crate) async fn send(
        self,
        pieces: mpsc::Sender<Piece>,
        started: Instant,
        limit: Duration,
        sent: &mut Sent,
    ) -> Result<(), ListFailed> {
        // A page that has found nothing is not sent, and who waits for room sends nothing either.
        let client = pieces.clone();
        let sending = self.send_all(pieces, sent);
        tokio::select! {
            biased;
            result = tokio::time::timeout_at(started + limit, sending) => {
                result.unwrap_or(Err(ListFailed::TimedOut(limit)))
            }
            () = client.closed() => Err(ListFailed::Gone),
        }
    }

    async fn send_all(
        self,
        pieces: mpsc::Sender<Piece>,
        sent: &mut Sent,
    ) -> Result<(), ListFailed> {
        let reader = self.reader;
        let mut out = Outlet {
            writer: Writer::new(self.listed, self.shape),
            rewrite: Rewrite::to(self.shape.notation, reader.params.pretty),
            pieces,
            sent,
        };
        let mut read = self.first;
        let mut pages = 1;
        let (next, outbox) = loop {
            let HeldPage { page, held, outbox } = read;
            let served = out.sent.rows + page.rows.len() as u64;
            let left = reader.wanted.map(|wanted| wanted.saturating_sub(served));
            let sending = out.page(page.rows, held, &outbox);
            let pages_on = reader.params.limits.page.is_some() && reader.params.with_continue;
            let looked_long = pages_on && pages >= MOST_PAGES;
            let start = match page.next {
                Some(position) if left != Some(0) && !looked_long => Start::After(position),
                end => {
                    sending.await?;
                    break (end, outbox);
                }
            };
            let reading = async { Ok(reader.ahead(&start, left).await) };
            let ((), ahead) = tokio::try_join!(sending, reading)?;
            drop(outbox);
            read = match ahead {
                Some(page) => page?,
                None => reader.page(&start, left).await?,
            };
            check_head(&read.page.head, &self.head, self.progress)?;
            pages += 1;
        };
        let rows = out.sent.rows;
        let progress = Progress {
            served: self.progress.served.saturating_add(rows),
            ..self.progress
        };
        let next = next.filter(|_| !total_reached(&reader.params, progress));
        let metadata = ListMeta {
            remaining_item_count: remaining_after(self.remaining, rows, next.is_none()),
            resource_version: self.head.revision.to_string(),
            next: next_token(&reader, &self.fingerprint, &self.head, progress, next),
        };
        out.end(&metadata, &outbox).await
    }
}

/// Reads pages, each with a reservation for what it holds.
struct Reader {
    searches: Searches,
    params: ListParams,
    /// Rows that this response may hold; `None` for all.
    wanted: Option<u64>,
    allowance: Allowance,
}

/// A page, what it holds of the budget, and room for what is made of it.
struct HeldPage {
    page: Page,
    held: Reservation,
    outbox: Outbox,
}

impl Reader {
    /// Reads a page when there is room for it.
    async fn page(&self, start: &Start, left: Option<u64>) -> Result<HeldPage, StoreError> {
        let held = self.allowance.wait_for(PAGE).await;
        self.read(start, left, held).await
    }

    /// Reads a page if there is room for it now.
    async fn ahead(
        &self,
        start: &Start,
        left: Option<u64>,
    ) -> Option<Result<HeldPage, StoreError>> {
        let held = self.allowance.reserve_now(PAGE)?;
        Some(self.read(start, left, held).await)
    }

    /// Reads the first page, and says how many rows there are from it on if the client wants to know and they can be counted. What a response before
    /// this one has counted is as good, unless there are more than that.
    async fn first(
        &self,
        start: &Start,
        progress: &mut Progress,
        mut held: Reservation,
    ) -> Result<(HeldPage, Option<u64>), StoreError> {
        let is_known = progress.counted == Counted::TooMany
            || self
                .remaining(*progress)
                .is_some_and(|remaining| remaining > 0);
        if !self.params.with_remaining_count || is_known {
            let page = self.read(start, self.wanted, held).await?;
            return Ok((page, self.remaining(*progress)));
        }
        let outbox = Outbox::out_of(&mut held, self.allowance.clone());
        let (query, budget) = (&self.params.query, budget(self.wanted, held.bytes()));
        let (page, rows) = self.searches.counted_page(query, start, budget).await?;
        progress.counted = rows.map_or(Counted::TooMany, Counted::Rows);
        Ok((HeldPage::new(page, held, outbox), self.remaining(*progress)))
    }

    /// Rows from the beginning of this response on, as far as they were counted for a client that wants to know.
    fn remaining(&self, progress: Progress) -> Option<u64> {
        let total = self.params.limits.total.map(std::num::NonZeroU64::get);
        match progress.counted {
            Counted::Rows(rows) if self.params.with_remaining_count => {
                Some(remaining(rows, total, progress))
            }
            Counted::Rows(_) | Counted::TooMany | Counted::NotYet => None,
        }
    }

    async fn read(
        &self,
        start: &Start,
        left: Option<u64>,
        mut held: Reservation,
    ) -> Result<HeldPage, StoreError> {
        let outbox = Outbox::out_of(&mut held, self.allowance.clone());
        let (query, budget) = (&self.params.query, budget(left, held.bytes()));
        let page = self.searches.page(query, start, budget).await?;
        Ok(HeldPage::new(page, held, outbox))
    }
}

impl HeldPage {
    fn new(page: Page, mut held: Reservation, outbox: Outbox) -> Self {
        held.shrink_to(page.rows.iter().map(|found| found.body.len()).sum());
        Self { page, held, outbox }
    }
}

/// The token of the page after; none where the answer ends, or the client wants none.
fn next_token(
    reader: &Reader,
    fingerprint: &str,
    head: &Head,
    progress: Progress,
    next: Option<Position>,
) -> Option<String> {
    let next = next.filter(|_| reader.params.with_continue);
    next.map(|position| {
        let token = Token::new(fingerprint, head, progress, position);
        token.encode(&reader.searches.seal)
    })
}

/// Whether a list has as many rows as its client wants of it.
fn total_reached(params: &ListParams, progress: Progress) -> bool {
    let total = params.limits.total;
    total.is_some_and(|total| progress.served >= total.get())
}

/// Rows that follow a response, of those that were counted from its beginning on. That may have been long ago: a list that is over has no more, and of one
/// that goes on beyond them nobody knows.
fn remaining_after(counted: Option<u64>, rows: u64, is_over: bool) -> Option<u64> {
    match counted?.saturating_sub(rows) {
        _ if is_over => Some(0),
        0 => None,
        left => Some(left),
    }
}

/// The first cluster and the last one that a response is made from, where it comes cluster by cluster: it begins after a place, and ends with
/// a first page that has all that is wanted.
fn clusters(reader: &Reader, start: &Start, first: &Page) -> (Option<String>, Option<String>) {
    let query = &reader.params.query;
    let descending = match query.order.first() {
        _ if query.types.len() > 1 => return (None, None),
        None => false,
        Some(key) if key.field == OrderField::Cluster => key.descending,
        Some(_) => return (None, None),
    };
    let from = match start {
        Start::After(position) => Some(position.cluster.clone()),
        Start::Beginning | Start::Offset(_) => None,
    };
    let ends = reader
        .wanted
        .is_some_and(|wanted| first.rows.len() as u64 >= wanted);
    let to = first.next.as_ref().filter(|_| ends);
    let to = to.map(|position| position.cluster.clone());
    match descending {
        false => (from, to),
        true => (to, from),
    }
}

/// Makes JSON of rows, some at a time.
struct Writer {
    listed: Listed,
    shape: Shape,
    begun: bool,
}

/// What was made of some rows.
struct Written {
    json: Vec<u8>,
    /// What the rows had held.
    freed: usize,
}

impl Writer {
    fn new(listed: Listed, shape: Shape) -> Self {
        Self {
            listed,
            shape,
            begun: false,
        }
    }

    /// Writes as many rows as make a piece, and lets go of them.
    fn some(&mut self, rows: &mut std::vec::IntoIter<Found>) -> Result<Written, Damaged> {
        let most = match self.shape.form {
            Form::Table(_) => ROWS_OF_TABLE,
            Form::Objects | Form::PartialMetadata(_) => ROWS,
        };
        let mut encoder = Encoder::new(&self.listed, self.shape);
        let mut json = Vec::with_capacity(expected(rows.as_slice(), most));
        let mut freed = 0;
        let mut first = !self.begun;
        if first {
            encoder.begin(&mut json);
        }
        for found in rows.by_ref().take(most) {
            encoder.item(&mut json, &found, first)?;
            first = false;
            freed += found.body.len();
            if json.len() >= FLUSH_BYTES || freed >= LOOKED_AT {
                break;
            }
        }
        self.begun = true;
        // What is held is counted by its length.
        json.shrink_to_fit();
        Ok(Written { json, freed })
    }

    /// Writes what follows the last row.
    fn end(&self, metadata: &ListMeta) -> Vec<u8> {
        let mut json = Vec::new();
        if !self.begun {
            Encoder::new(&self.listed, self.shape).begin(&mut json);
        }
        Encoder::end(&mut json, metadata);
        json
    }
}

/// How long what is made of the next rows will be at most, if it is no more than was stored: room for one row too few is made by copying
/// all the others.
fn expected(rows: &[Found], most: usize) -> usize {
    let (mut stored, mut around) = (0, AROUND_ROW);
    for found in rows.iter().take(most) {
        stored += found.body.len();
        around += AROUND_ROW;
        if stored >= FLUSH_BYTES {
            break;
        }
    }
    stored + around
}

/// Makes bytes of rows and hands them on to the client.
struct Outlet<'a> {
    writer: Writer,
    rewrite: Rewrite,
    pieces: mpsc::Sender<Piece>,
    sent: &'a mut Sent,
}

impl Outlet<'_> {
    /// Hands a page on, some rows at a time.
    async fn page(
        &mut self,
        rows: Vec<Found>,
        mut held: Reservation,
        outbox: &Outbox,
    ) -> Result<(), ListFailed> {
        let mut rows = rows.into_iter();
        while rows.len() > 0 {
            let before = rows.len();
            let Written { json, freed } = self.writer.some(&mut rows)?;
            let json = outbox.hold(json, held.split(freed)).await?;
            self.hand_on(json, outbox).await?;
            self.sent.rows += (before - rows.len()) as u64;
        }
        Ok(())
    }

    /// Hands on what follows the last row.
    async fn end(mut self, metadata: &ListMeta, outbox: &Outbox) -> Result<(), ListFailed> {
        let json = self.writer.end(metadata);
        let room = outbox.take(json.len()).await;
        self.hand_on(room.keep(json.into()), outbox).await?;
        self.send(Piece::End).await
    }

    async fn hand_on(&mut self, mut json: Bytes, outbox: &Outbox) -> Result<(), ListFailed> {
        while let Some(piece) = self.rewrite.next(&mut json, outbox).await {
            self.sent.bytes += piece.len() as u64;
            self.send(Piece::Data(piece)).await?;
        }
        Ok(())
    }

    async fn send(&self, piece: Piece) -> Result<(), ListFailed> {
        self.pieces.send(piece).await.map_err(|_| ListFailed::Gone)
    }
}

fn token(start: &Continue, fingerprint: &str, seal: &Seal) -> Result<Option<Token>, InvalidToken> {
    match start {
        Continue::Token(text) => Token::decode(text, fingerprint, seal).map(Some),
        Continue::Beginning | Continue::Offset(_) => Ok(None),
    }
}

fn start(start: &Continue, token: Option<&Token>) -> Start {
    match (token, start) {
        (Some(token), _) => Start::After(token.position.clone()),
        (None, Continue::Offset(rows)) => Start::Offset(*rows),
        (None, _) => Start::Beginning,
    }
}

/// What the first response of a list begins with.
fn beginning(params: &ListParams) -> Progress {
    Progress {
        served: 0,
        skipped: match params.start {
            Continue::Offset(rows) => rows,
            Continue::Beginning | Continue::Token(_) => 0,
        },
        exact: matches!(params.revision, Revision::Exactly(_)),
        counted: Counted::NotYet,
    }
}

/// Whether the store is still one that the list may be read from.
fn check_head(now: &Head, first: &Head, progress: Progress) -> Result<(), StoreError> {
    let gone = |reason: &str| {
        Err(StoreError::Gone {
            reason: reason.to_owned(),
        })
    };
    if now.incarnation != first.incarnation {
        return gone("the database was restored in the middle of a list");
    }
    if progress.exact && now.revision != first.revision {
        return gone("the revision that a list was to be of ended in the middle of it");
    }
    Ok(())
}

fn check_revision(asked: Revision, head: &Head) -> Result<(), ApiError> {
    let current = u64::try_from(head.revision).unwrap_or(0);
    match asked {
        Revision::AtLeast(asked) | Revision::Exactly(asked) if asked > current => {
            Err(ApiError::revision_too_large(asked, head.revision))
        }
        Revision::Exactly(asked) if asked < current => Err(ApiError::expired(format!(
            "the resource version {asked} is past, the current one is {current}"
        ))),
        Revision::Any | Revision::AtLeast(_) | Revision::Exactly(_) => Ok(()),
    }
}

/// Rows from the beginning of this response on, of so many.
fn remaining(rows: u64, total: Option<u64>, progress: Progress) -> u64 {
    let rows = rows.saturating_sub(progress.skipped);
    let rows = total.map_or(rows, |total| rows.min(total));
    rows.saturating_sub(progress.served)
}

fn smaller(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}

fn budget(wanted: Option<u64>, bytes: usize) -> PageBudget {
    let rows = wanted
        .and_then(|rows| u32::try_from(rows).ok())
        .unwrap_or(PAGE_ROWS);
    PageBudget {
        rows: rows.clamp(1, PAGE_ROWS),
        bytes,
    }
}

impl From<InvalidToken> for ApiError {
    fn from(error: InvalidToken) -> Self {
        match error {
            InvalidToken::Damaged | InvalidToken::Foreign => Self::bad_request(error.to_string()),
            InvalidToken::Expired => Self::expired(error.to_string()),
            InvalidToken::Ahead { asked, current } => Self::revision_too_large(asked, current),
        }
    }
}

static SLOW_LISTS: Seldom = Seldom::new();
static FAILED_LISTS: Seldom = Seldom::new();

impl ListFailed {
    /// Says in the log what clients only see as a broken connection.
    pub(crate) fn log(&self, path: &str) {
        match self {
            Self::Gone => tracing::debug!(path, "the client of a list went away"),
            Self::TimedOut(_) | Self::NoRoom(_) => {
                // A slow client is enough for one of these.
                if let Some(left_out) = SLOW_LISTS.turn() {
                    tracing::warn!(path, error = %self, left_out, "a list was broken off");
                }
            }
            // Who asks for one revision on every page is told so when it ends.
            Self::Store(StoreError::Gone { .. }) => {
                tracing::debug!(path, error = %chain(self), "a list was broken off");
            }
            Self::Store(_) | Self::Damaged(_) => {
                if let Some(left_out) = FAILED_LISTS.turn() {
                    tracing::error!(path, error = %chain(self), left_out, "a list was broken off");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
