//! Lists: a page is read from the store, written, sent, and forgotten before the next is read.
//!
//! No transaction and no connection of the store is held while a client reads, and what is in memory is one page at most. A
//! failure in the middle breaks the answer off; it never looks like a shorter list.

use std::sync::Arc;
use std::time::Duration;

use armadex_model::ResourceType;
use armadex_model::params::{Continue, ListParams, Revision};
use armadex_model::query::{Position, Start};
use armadex_storage::{Head, Page, PageBudget, Search, StoreError};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::answer::body::Piece;
use crate::answer::encode::{Encoder, ListMeta, Shape};
use crate::answer::object::Damaged;
use crate::answer::rewrite::Rewrite;
use crate::answer::status::{ApiError, chain};
use crate::request::token::{InvalidToken, Token, fingerprint};

/// Rows read at a time: enough that the store is asked seldom, few enough that a page is small.
const PAGE_ROWS: u32 = 500;
/// Bytes of bodies read at a time: 4 MiB, so that large objects do not add up.
const PAGE_BYTES: usize = 4 << 20;
/// Bytes sent at a time.
const FLUSH_BYTES: usize = 64 << 10;
/// Room for those and for the object that fills them up, which seldom has more than 16 KiB.
const CAPACITY: usize = FLUSH_BYTES + (16 << 10);

/// A list that is ready to be sent: its first page has been read, so what could be refused has been.
pub(crate) struct ListStream {
    search: Arc<dyn Search>,
    resource: ResourceType,
    shape: Shape,
    params: ListParams,
    fingerprint: String,
    head: Head,
    /// Rows on the responses before this one.
    served_before: u64,
    remaining: Option<u64>,
    /// Rows that this response may hold; `None` for all.
    wanted: Option<u64>,
    first: Page,
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
    Store(#[from] StoreError),
    #[error(transparent)]
    Damaged(#[from] Damaged),
}

impl ListStream {
    /// Finds where the list begins and reads its first page.
    pub(crate) async fn open(
        search: Arc<dyn Search>,
        resource: ResourceType,
        params: ListParams,
        shape: Shape,
    ) -> Result<Self, ApiError> {
        // Before the first row, so that whatever is missing from the rows is newer than the revision.
        let head = search.head().await?;
        check_revision(params.revision, &head)?;
        let total = params.limits.total.map(std::num::NonZeroU64::get);
        let fingerprint = fingerprint(&params.query, total);
        let (start, served_before) = begin(&params.start, &fingerprint, &head)?;
        let wanted = smaller(
            params.limits.page.map(std::num::NonZeroU64::get),
            total.map(|total| total.saturating_sub(served_before)),
        );
        let remaining = match params.with_remaining_count {
            true => Some(remaining(&*search, &params, total, served_before).await?),
            false => None,
        };
        let first = search.page(&params.query, &start, budget(wanted)).await?;
        Ok(Self {
            search,
            resource,
            shape,
            params,
            fingerprint,
            head,
            served_before,
            remaining,
            wanted,
            first,
        })
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
        let sending = self.send_all(pieces, sent);
        match tokio::time::timeout_at(started + limit, sending).await {
            Ok(result) => result,
            Err(_) => Err(ListFailed::TimedOut(limit)),
        }
    }

    async fn send_all(
        self,
        pieces: mpsc::Sender<Piece>,
        sent: &mut Sent,
    ) -> Result<(), ListFailed> {
        let rewrite = Rewrite::to(self.shape.notation, self.params.pretty);
        let mut out = Outlet::new(pieces, rewrite, sent);
        let mut encoder = Encoder::new(&self.resource, self.shape);
        encoder.begin(&mut out.buffer);
        let mut page = self.first;
        let next = loop {
            for found in &page.rows {
                encoder.item(&mut out.buffer, found, out.sent.rows == 0)?;
                out.sent.rows += 1;
                out.flush_if_full().await?;
            }
            let Some(next) = page.next else { break None };
            let left = self
                .wanted
                .map(|wanted| wanted.saturating_sub(out.sent.rows));
            if left == Some(0) {
                break Some(next);
            }
            let start = Start::After(next);
            page = self
                .search
                .page(&self.params.query, &start, budget(left))
                .await?;
        };
        let served = self.served_before + out.sent.rows;
        let metadata = ListMeta {
            resource_version: self.head.revision.to_string(),
            next: next_token(&self.params, &self.fingerprint, &self.head, served, next),
            remaining_item_count: self
                .remaining
                .map(|rows| rows.saturating_sub(out.sent.rows)),
        };
        Encoder::end(&mut out.buffer, &metadata);
        out.finish().await
    }
}

/// The token of the page after; none where the answer ends, or the client wants none.
fn next_token(
    params: &ListParams,
    fingerprint: &str,
    head: &Head,
    served: u64,
    next: Option<Position>,
) -> Option<String> {
    let total_reached = params
        .limits
        .total
        .is_some_and(|total| served >= total.get());
    if !params.with_continue || total_reached {
        return None;
    }
    next.map(|position| Token::new(fingerprint, head, served, position).encode())
}

/// Collects bytes and hands them on in pieces.
struct Outlet<'a> {
    pieces: mpsc::Sender<Piece>,
    rewrite: Rewrite,
    buffer: Vec<u8>,
    sent: &'a mut Sent,
}

impl<'a> Outlet<'a> {
    fn new(pieces: mpsc::Sender<Piece>, rewrite: Rewrite, sent: &'a mut Sent) -> Self {
        Self {
            pieces,
            rewrite,
            buffer: Vec::with_capacity(CAPACITY),
            sent,
        }
    }

    async fn flush_if_full(&mut self) -> Result<(), ListFailed> {
        if self.buffer.len() < FLUSH_BYTES {
            return Ok(());
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), ListFailed> {
        let json = std::mem::replace(&mut self.buffer, Vec::with_capacity(CAPACITY));
        let bytes = Bytes::from(self.rewrite.piece(json));
        self.sent.bytes += bytes.len() as u64;
        self.pieces
            .send(Piece::Data(bytes))
            .await
            .map_err(|_| ListFailed::Gone)
    }

    async fn finish(mut self) -> Result<(), ListFailed> {
        self.flush().await?;
        self.pieces
            .send(Piece::End)
            .await
            .map_err(|_| ListFailed::Gone)
    }
}

fn begin(start: &Continue, fingerprint: &str, head: &Head) -> Result<(Start, u64), ApiError> {
    match start {
        Continue::Beginning => Ok((Start::Beginning, 0)),
        Continue::Offset(rows) => Ok((Start::Offset(*rows), 0)),
        Continue::Token(text) => {
            let token = Token::decode(text, fingerprint, head)?;
            Ok((Start::After(token.position), token.served))
        }
    }
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

/// Rows from the beginning of this response on.
async fn remaining(
    search: &dyn Search,
    params: &ListParams,
    total: Option<u64>,
    served_before: u64,
) -> Result<u64, StoreError> {
    let rows = search.count(&params.query).await?;
    let skipped = match params.start {
        Continue::Offset(offset) => offset,
        Continue::Beginning | Continue::Token(_) => 0,
    };
    let rows = rows.saturating_sub(skipped);
    Ok(total
        .map_or(rows, |total| rows.min(total))
        .saturating_sub(served_before))
}

fn smaller(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}

fn budget(wanted: Option<u64>) -> PageBudget {
    let rows = wanted
        .and_then(|rows| u32::try_from(rows).ok())
        .unwrap_or(PAGE_ROWS);
    PageBudget {
        rows: rows.clamp(1, PAGE_ROWS),
        bytes: PAGE_BYTES,
    }
}

impl From<InvalidToken> for ApiError {
    fn from(error: InvalidToken) -> Self {
        match error {
            InvalidToken::Damaged | InvalidToken::Foreign => Self::bad_request(error.to_string()),
            InvalidToken::Expired => Self::expired(error.to_string()),
        }
    }
}

impl ListFailed {
    /// Says in the log what clients only see as a broken connection.
    pub(crate) fn log(&self, path: &str) {
        match self {
            Self::Gone => tracing::debug!(path, "the client of a list went away"),
            Self::TimedOut(_) => tracing::warn!(path, error = %self, "a list was broken off"),
            Self::Store(_) | Self::Damaged(_) => {
                tracing::error!(path, error = %chain(self), "a list was broken off");
            }
        }
    }
}
