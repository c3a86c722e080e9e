//! Reading one page of a list, item by item.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::incoming::items::{Items, ListMetadata};
use crate::incoming::lines::Piece;
use crate::incoming::prune::{self, Skipped};
use crate::incoming::unfinished::Part;
use crate::stream::Stream;
use crate::stream::limit::PAGE;
use crate::stream::objects::Begins;
use crate::stream::pull::{Gathering, too_long};
use crate::stream::step::{Listing, Outcome};
use crate::stream::turns::{Room, SHORT_PAGES, Turn};
use crate::stream::writer::Halt;
use armadex_member::{ByteStream, ListRequest, MemberError};
use armadex_model::GroupVersionResource;
use armadex_storage::{Change, MemberPosition, Phase};
use bytes::Bytes;

/// Answers in a row that refuse a token until the list begins anew: a member that is in trouble for a moment is through by then.
const REFUSALS: u8 = 6;
/// Failures of one page in a row after which a proxy that answers in the place of a member may not be able to hand it on: who is away for a moment alone
/// is back by then.
const AWAY: u8 = 3;
/// Failures of one page in a row, whatever they are, until the list begins anew: some 13 minutes of them, after which no token of Kubernetes is young
/// enough. A proxy may fail on one page for ever, and what is in the pages after it would never come.
const FAILURES: u8 = 30;
/// Objects of a member that sends all it has on one page, as aggregated APIs may that know no limit. Their keys are remembered: 8 MB.
pub(super) const MOST_OF_PAGE: usize = 1 << 20;
/// A page whose next bytes take longer has no turn any more: twice the half a second after which it is lost.
pub(super) const LETS_US_WAIT: Duration = Duration::from_secs(1);
/// What a page without a turn keeps of the memory on the way to the store. A hundred may be without, for minutes: that many whole batches would be
/// more than there is, and the watches of all clusters would wait for them.
pub(super) const WITHOUT_A_TURN: usize = 64 << 10;

impl Listing {
    /// Whether it is longer than a short one, as far as is known.
    fn is_long(&self) -> bool {
        let short = u64::from(SHORT_PAGES * PAGE);
        self.asked_for >= short || self.asked_for.saturating_add(self.remaining) > short
    }

    /// A page after which others come is whole.
    fn page_is_whole(&mut self) {
        self.asked_for = self.asked_for.saturating_add(self.limit.objects().into());
        self.limit.was_whole();
        (self.refused, self.failed) = (0, 0);
    }

    /// Whether a page that failed may have done so because it is large.
    fn is_too_large(&self, error: &MemberError) -> bool {
        let is_away = error.is_of_a_gateway() && error.asks_to_wait().is_none();
        error.took_long() || self.failed >= AWAY && is_away
    }

    /// A page failed. Whether the list leads nowhere any more: its token is likely to be what fails. A list that has none yet has nothing to lose.
    fn page_failed(&mut self, error: &MemberError) -> bool {
        self.failed = self.failed.saturating_add(1);
        if self.token.is_none() {
            return false;
        }
        self.refused = match error.may_refuse_token() {
            true => self.refused + 1,
            false => 0,
        };
        self.refused == REFUSALS || self.failed == FAILURES
    }
}

impl Stream {
    pub(super) async fn page(&mut self, listing: &mut Listing) -> Result<Outcome, Halt> {
        if listing.token.is_none() {
            self.disown(listing).await?;
            if !self.begin(listing).await? {
                return Ok(self.full());
            }
        }
        let cancel = self.context.cancel.clone();
        let has_room = tokio::select! {
            () = cancel.cancelled() => return Err(Halt::Cancelled),
            has_room = self.has_room(listing) => has_room,
        };
        if !has_room {
            self.turn.end();
            return Ok(Outcome::Crowded);
        }
        if listing.token.is_none() {
            self.context.report.listing();
            self.context.report.place().lists();
            self.context.metrics.lists.add(1);
            self.outlasted().begins(Instant::now());
        }
        listing.begin_page();
        let mut turn = std::mem::take(&mut self.turn);
        let read = match Box::pin(self.streamed_list(listing, &mut turn)).await? {
            Some(read) => read,
            None => self.request_and_read(listing, &mut turn).await?,
        };
        self.turn = turn;
        let outcome = read.unwrap_or_else(|error| self.page_failed(&error, listing));
        if let Outcome::Page { token: None, .. } | Outcome::Listed { .. } = outcome {
            self.is_long = listing.is_long();
        }
        if let Outcome::Listed { .. } = outcome {
            self.list_is_stored();
        }
        if let Outcome::Page {
            token: Some(token), ..
        } = &outcome
        {
            if !listing.gets_on(token) {
                self.failed_for("the list has no end: it tells the same objects over and over");
                return Ok(Outcome::Gone);
            }
            listing.page_is_whole();
        }
        Ok(outcome)
    }

    async fn request_and_read(
        &self,
        listing: &mut Listing,
        turn: &mut Turn,
    ) -> Result<Result<Outcome, MemberError>, Halt> {
        let packs = self.asks_for_packed_pages();
        let page = async {
            match self.request_page(packs, listing, turn).await {
                Err(error) => {
                    if listing.is_too_large(&error) {
                        listing.limit.broke_off();
                    }
                    Ok(Err(error))
                }
                Ok(body) => self.read_page(body, listing, turn).await,
            }
        };
        let page = async {
            let read = page.await;
            // What stands between may compress it and not say so, or say so and not do it.
            if packs && matches!(read, Ok(Err(MemberError::Malformed { .. }))) {
                self.context.connected.link.packs_badly();
            }
            read
        };
        tokio::select! {
            () = self.context.cancel.cancelled() => Err(Halt::Cancelled),
            read = page => read,
        }
    }

    /// The stored position is that of what the member was before it was restored, and nothing else will say so once the member is past it: where the list does not
    /// begin now, or is not read to its end, it has to be made later.
    async fn disown(&mut self, listing: &mut Listing) -> Result<(), Halt> {
        if std::mem::take(&mut listing.disowns) {
            let position = self.mark(listing.marked);
            self.writer.write(self.opened()?, vec![], position).await?;
            listing.marked = true;
        }
        Ok(())
    }

    /// Whether the list begins.
    async fn begin(&mut self, listing: &mut Listing) -> Result<bool, Halt> {
        let begins = self.begins().await?;
        (listing.only_sweeps, listing.left_out) = (false, false);
        listing.may_have = match begins {
            Begins::Whole { may_have } => may_have,
            Begins::ToSweep | Begins::Not => 0,
        };
        Ok(begins != Begins::Not)
    }

    /// How a list begins.
    pub(super) async fn begins(&mut self) -> Result<Begins, Halt> {
        if self.context.objects.fill_it()
            && let Some(stored) = self.writer.stored(self.opened()?).await?
        {
            let begins = stored.begins(self.size().await?);
            return Ok(match begins {
                Begins::Not if self.opened()?.is_narrowed => Begins::ToSweep,
                begins => begins,
            });
        }
        Ok(Begins::Whole { may_have: 0 })
    }

    /// How many objects of the type the member has, if it says so.
    async fn size(&mut self) -> Result<Option<u64>, Halt> {
        self.until_cancelled(async |stream| {
            let connected = Arc::clone(&stream.context.connected);
            let size = connected.size(stream.context.asked()).await;
            // Of all Events, of which some are kept.
            let is_of_all = stream.context.involved.is_none();
            size.ok().flatten().filter(|_| is_of_all)
        })
        .await
    }

    fn page_failed(&mut self, error: &MemberError, listing: &mut Listing) -> Outcome {
        let leads_nowhere = listing.page_failed(error);
        match self.failed(error) {
            Outcome::Failed if leads_nowhere => Outcome::Gone,
            outcome => outcome,
        }
    }

    /// Whether a list may go on, or begin: if it is long there are not too many others. Where it is known to be long it waits for that.
    async fn has_room(&mut self, listing: &mut Listing) -> bool {
        self.is_long |= listing.is_long();
        if !self.is_long {
            return true;
        }
        let lists = &self.context.connected.lists;
        // Those that are slow have turns of their own. What room one has it keeps while nobody else wants it, for it may be slow for a moment alone.
        if lists.is_slow() {
            let room = listing.room.get_or_insert_with(Room::needed_by_nobody);
            if lists.wants_room() {
                room.give_up();
            }
            return true;
        }
        let has_to_leave = listing.room.take_if(|room| lists.is_to_leave(room));
        if let Some(room) = &mut listing.room {
            // What was read without any is not thrown away for the want of it.
            lists.fill(room);
        } else {
            let goes_on = listing.token.is_some() && has_to_leave.is_none();
            drop(has_to_leave);
            listing.room = match goes_on {
                true => lists.room_now(),
                false => {
                    self.turn.end();
                    lists.room().await
                }
            };
        }
        listing.room.is_some()
    }

    /// Whether pages are asked for compressed. Not those of Secrets: the length of what is compressed tells about its content, and whoever can have something stored
    /// in a Secret may see how long it is.
    fn asks_for_packed_pages(&self) -> bool {
        let GroupVersionResource {
            group, resource, ..
        } = self.context.asked();
        let is_secret = group.is_empty() && resource == "secrets";
        !is_secret && self.context.connected.link.is_narrow(Instant::now())
    }

    async fn request_page(
        &self,
        packs: bool,
        listing: &Listing,
        turn: &mut Turn,
    ) -> Result<ByteStream, MemberError> {
        let lists = &self.context.connected.lists;
        let involved = self.context.involved.as_deref();
        let (connected, resource) = (&self.context.connected, self.context.asked());
        let (limit, continue_token) = (listing.limit.objects(), listing.token.as_deref());
        let request = |field_selector| async move {
            let request = ListRequest {
                resource,
                limit,
                continue_token,
                field_selector,
            };
            match packs {
                true => connected.member.list_compressed(&request).await,
                false => connected.member.list(&request).await,
            }
        };
        let page = connected.selecting(involved, request);
        turn.ask(lists, listing.token.is_some(), page).await
    }

    async fn read_page(
        &self,
        mut body: ByteStream,
        listing: &mut Listing,
        turn: &mut Turn,
    ) -> Result<Result<Outcome, MemberError>, Halt> {
        self.context.report.listing_goes();
        let mut items = Items::new(self.incoming_limit());
        let mut unfinished = self.context.connected.memory.unfinished.part();
        let mut gathering = Gathering::default();
        loop {
            let came = {
                let mut came = pin!(self.next_bytes(&mut body, &mut unfinished, turn));
                match timeout(LETS_US_WAIT, &mut came).await {
                    Ok(came) => came,
                    Err(_) => {
                        self.flush_page(&mut gathering, listing).await?;
                        came.await
                    }
                }
            };
            match came {
                Err(error) => {
                    listing.limit.broke_off();
                    self.flush_page(&mut gathering, listing).await?;
                    return Ok(Err(error));
                }
                Ok(None) => break,
                Ok(Some(chunk)) => {
                    self.context.metrics.received_bytes.add(chunk.len() as u64);
                    turn.came(chunk.len());
                    items.push(chunk);
                    self.take_items(&mut items, &mut gathering, listing).await?;
                    if !turn.is_held() && gathering.held() > WITHOUT_A_TURN {
                        self.flush_page(&mut gathering, listing).await?;
                    }
                    unfinished.holds(items.unfinished());
                    if listing.seen.of_page() > MOST_OF_PAGE {
                        return Ok(Err(self.no_list("it has more than a million objects")));
                    }
                }
            }
        }
        if !body.is_packed() {
            let link = &self.context.connected.link;
            link.brought(body.came(), Instant::now());
        }
        let metadata = items.finish();
        let Some(metadata) = metadata.filter(|list| prune::is_fit(&list.resource_version)) else {
            self.flush_page(&mut gathering, listing).await?;
            return Ok(Err(self.no_list("it is no whole list")));
        };
        listing.remaining = metadata.remaining_item_count.unwrap_or_default();
        if metadata.r#continue.is_empty() {
            // What was read is within the budget; others are read while it is written, and written with it.
            turn.end();
        }
        self.end_page(metadata, gathering, listing).await.map(Ok)
    }

    async fn next_bytes(
        &self,
        body: &mut ByteStream,
        unfinished: &mut Part,
        turn: &mut Turn,
    ) -> Result<Option<Bytes>, MemberError> {
        let chunk = async { body.next().await.transpose() };
        tokio::select! {
            came = turn.wait_for(&self.context.connected.lists, chunk) => came,
            error = unfinished.has_to_go() => Err(error),
        }
    }

    pub(super) fn no_list(&self, problem: &str) -> MemberError {
        MemberError::Malformed {
            path: self.context.asked().list_path(),
            problem: problem.into(),
        }
    }

    /// A list of one page over no rows needs no comparing: its end and the position that it leads to are stored together, which for
    /// most types of most members is one write in all.
    pub(super) async fn end_page(
        &self,
        metadata: ListMetadata,
        mut gathering: Gathering,
        listing: &mut Listing,
    ) -> Result<Outcome, Halt> {
        let ListMetadata {
            resource_version: version,
            r#continue,
            remaining_item_count: left,
        } = metadata;
        if r#continue.is_empty() && listing.is_first_over_nothing() {
            let position = self.position(&version, Phase::Live);
            self.flush(&mut gathering, Some(position)).await?;
            self.context.report.listed();
            self.context.report.place().listed(&version);
            return Ok(Outcome::Listed { version });
        }
        self.flush_page(&mut gathering, listing).await?;
        if !r#continue.is_empty() {
            self.context.report.list_goes_on(listing.seen.len(), left);
        }
        Ok(Outcome::Page {
            version,
            token: (!r#continue.is_empty()).then_some(r#continue),
        })
    }

    async fn take_items(
        &self,
        items: &mut Items,
        gathering: &mut Gathering,
        listing: &mut Listing,
    ) -> Result<(), Halt> {
        while let Some(piece) = items.next() {
            self.context.metrics.received_objects.add(1);
            if let Piece::Whole(json) = &piece
                && !self.context.takes(json)
            {
                listing.seen.pass(json);
                continue;
            }
            match self.read_item(&piece) {
                Ok(change) => self.take_change(change, gathering, listing).await?,
                Err(skipped) => self.skip(skipped),
            }
        }
        Ok(())
    }

    /// What a list tells of one object: it is there, or gone.
    pub(super) async fn take_change(
        &self,
        change: Change,
        gathering: &mut Gathering,
        listing: &mut Listing,
    ) -> Result<(), Halt> {
        if let Change::Put(object) = &change {
            listing.seen.insert(&object.key);
        }
        if listing.only_sweeps {
            listing.left_out = true;
            return Ok(());
        }
        let write = async |gathering: &mut Gathering| self.flush_page(gathering, listing).await;
        self.gather(gathering, change, write).await?;
        if gathering.pending.is_full() {
            self.flush_page(gathering, listing).await?;
        }
        Ok(())
    }

    /// Writes what a page has brought so far, if it has. A list that finds the cluster full writes no more: what it does not have may make place.
    pub(super) async fn flush_page(
        &self,
        gathering: &mut Gathering,
        listing: &mut Listing,
    ) -> Result<(), Halt> {
        if gathering.pending.is_empty() {
            return Ok(());
        }
        let position = self.mark(listing.marked);
        let flush = self.flush(gathering, position).await;
        listing.marked |= flush.is_ok();
        listing.only_sweeps |= match flush {
            Ok(written) if listing.seen.kept() > listing.may_have => {
                self.writer.is_above_by(self.opened()?, written).await?
            }
            Ok(_) => false,
            Err(Halt::Full) => {
                listing.left_out = true;
                true
            }
            Err(halt) => return Err(halt),
        };
        Ok(())
    }

    /// The position that goes with the first thing that a list writes or takes away: whoever finds it knows that a list was under way, and that no watch from the
    /// position before leads on from what is stored.
    pub(super) fn mark(&self, marked: bool) -> Option<MemberPosition> {
        (!marked).then(|| self.position("", Phase::Listing))
    }

    fn read_item(&self, piece: &Piece) -> Result<Change, Skipped> {
        match piece {
            Piece::Whole(json) => self.read_object(json).map(Change::Put),
            Piece::TooLong { prefix, length } => Err(self.overlong_item(prefix, *length)),
        }
    }

    fn overlong_item(&self, prefix: &Bytes, length: usize) -> Skipped {
        Skipped {
            key: self.salvaged_key(&prune::salvage(prefix)),
            reason: too_long(length, self.incoming_limit()),
        }
    }
}
