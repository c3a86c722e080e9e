//! Reading a list that comes as the beginning of a watch: one request, and nothing between the list and what happens after it.
//! [KEP-3157](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/3157-watch-list)
//!
//! Such a list cannot be stopped between two pages. A member holds seats of its priority and fairness until all of it is sent, holds up its other watches of that
//! resource meanwhile, and ends the watch of whoever reads too slowly; what was read then is read again. So it is asked for by a list that has its turn, and
//! the next one comes in pages if it does not come to its end.

use std::pin::pin;
use std::time::Duration;

use armadex_member::{ByteStream, MemberError, StreamedListRequest};
use armadex_storage::Change;
use bytes::Bytes;
use tokio::time::{Instant, timeout};

use crate::incoming::event::{self, Event};
use crate::incoming::items::ListMetadata;
use crate::incoming::lines::{Lines, Piece};
use crate::incoming::prune::{self, Skipped};
use crate::incoming::unfinished::Part;
use crate::stream::Stream;
use crate::stream::begun::{Begun, Streamed, unless_nobody_reads_since};
use crate::stream::list::{LETS_US_WAIT, MOST_OF_PAGE, WITHOUT_A_TURN};
use crate::stream::pull::{Gathering, too_long};
use crate::stream::step::{Listing, Outcome};
use crate::stream::turns::Turn;
use crate::stream::writer::Halt;

/// Between two pieces of such a list, as of any other. A member that never says that it has told all there is sends nothing more.
const LIST_SILENCE: Duration = Duration::from_secs(30);

/// What a line of such a list tells.
enum Told {
    Item(Result<Change, Skipped>),
    /// An object that is not kept, as it came.
    Passed(Bytes),
    /// All that there was has been told, up to this version.
    End(String),
    Error(MemberError),
}

/// Why a list did not come to its end.
enum Broke {
    Error(MemberError),
    Halt(Halt),
}

impl From<Halt> for Broke {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

impl Stream {
    /// A list in one piece; `None` where it is to come in pages.
    pub(super) async fn streamed_list(
        &mut self,
        listing: &mut Listing,
        turn: &mut Turn,
    ) -> Result<Option<Result<Outcome, MemberError>>, Halt> {
        self.streamed = None;
        if listing.token.is_some() || !self.streams_lists() {
            return Ok(None);
        }
        let begun = match self.begin_list(turn).await? {
            Ok(begun) => begun,
            Err(error) if error.refuses_streamed_list() => {
                let group = &self.context.asked().group;
                self.context.connected.known.refuses(group);
                return Ok(None);
            }
            Err(error) => {
                self.lists_in_pages = error.asks_to_wait().is_none();
                return Ok(Some(Err(error)));
            }
        };
        match self.read_streamed(begun, listing, turn).await {
            Ok((outcome, streamed)) => {
                self.streamed = streamed;
                Ok(Some(Ok(outcome)))
            }
            Err(Broke::Error(error)) => {
                self.lists_in_pages = true;
                Ok(Some(Err(error)))
            }
            Err(Broke::Halt(halt)) => Err(halt),
        }
    }

    fn streams_lists(&self) -> bool {
        let group = &self.context.asked().group;
        let is_asked_for = self.context.shared.config.streaming_lists;
        let is_fit = !self.is_long && !self.lists_in_pages;
        is_asked_for && is_fit && !self.context.connected.known.is_refused(group)
    }

    /// Asks for one once it can be read.
    async fn begin_list(&self, turn: &mut Turn) -> Result<Result<Begun, MemberError>, Halt> {
        let (connected, lasts) = (&self.context.connected, self.pace.seconds());
        let (resource, involved) = (self.context.asked(), self.context.involved.as_deref());
        let request = |field_selector| async move {
            let request = StreamedListRequest {
                resource,
                timeout_seconds: lasts,
                field_selector,
            };
            connected.member.list_and_watch(&request).await
        };
        let asked = async {
            turn.page(&connected.lists, false).await;
            let at = Instant::now();
            let body = connected.selecting(involved, request);
            let body = turn.wait_for(&connected.lists, body).await?;
            Ok::<_, MemberError>(Begun {
                body,
                lines: Lines::new(self.incoming_limit()),
                at,
                since: at,
                lasts,
            })
        };
        tokio::select! {
            () = self.context.cancel.cancelled() => Err(Halt::Cancelled),
            begun = asked => Ok(begun),
        }
    }

    /// Reads to the end of the list; what comes behind it stays in the lines. `None` instead of the watch if that was given up.
    async fn read_streamed(
        &self,
        mut begun: Begun,
        listing: &mut Listing,
        turn: &mut Turn,
    ) -> Result<(Outcome, Option<Box<Streamed>>), Broke> {
        self.context.report.listing_goes();
        let mut unfinished = self.context.connected.memory.unfinished.part();
        let mut gathering = Gathering::default();
        loop {
            let came = {
                let mut came = pin!(self.next_of_list(&mut begun.body, &mut unfinished, turn));
                match timeout(LETS_US_WAIT, &mut came).await {
                    Ok(came) => came?,
                    Err(_) => {
                        self.flush_page(&mut gathering, listing).await?;
                        came.await?
                    }
                }
            };
            let told = match came {
                Err(error) => Err(error),
                Ok(chunk) => {
                    self.context.metrics.received_bytes.add(chunk.len() as u64);
                    turn.came(chunk.len());
                    begun.lines.push(chunk);
                    self.take_told(&mut begun.lines, &mut gathering, listing)
                        .await?
                }
            };
            match told {
                Err(error) => {
                    self.flush_page(&mut gathering, listing).await?;
                    return Err(Broke::Error(error));
                }
                Ok(Some(version)) => {
                    turn.end();
                    listing.asked_for = listing.seen.len();
                    begun.since = Instant::now();
                    let (since, streamed) = (begun.since, Streamed { version, begun });
                    let metadata = ListMetadata {
                        resource_version: streamed.version.clone(),
                        ..ListMetadata::default()
                    };
                    let mut streamed = Some(Box::new(streamed));
                    let end = self.end_page(metadata, gathering, listing);
                    let outcome = unless_nobody_reads_since(since, &mut streamed, end).await?;
                    return Ok((outcome, streamed));
                }
                Ok(None) if !turn.is_held() && gathering.held() > WITHOUT_A_TURN => {
                    self.flush_page(&mut gathering, listing).await?;
                }
                Ok(None) => {}
            }
            unfinished.holds(begun.lines.unfinished());
        }
    }

    async fn next_of_list(
        &self,
        body: &mut ByteStream,
        unfinished: &mut Part,
        turn: &mut Turn,
    ) -> Result<Result<Bytes, MemberError>, Halt> {
        let after = LIST_SILENCE;
        let silent = || MemberError::TimedOut {
            phase: "end of the list",
            after,
        };
        let chunk = async {
            let next = timeout(after, body.next()).await;
            next.unwrap_or_else(|_| Some(Err(silent()))).transpose()
        };
        let came = tokio::select! {
            () = self.context.cancel.cancelled() => return Err(Halt::Cancelled),
            came = turn.wait_for(&self.context.connected.lists, chunk) => came,
            error = unfinished.has_to_go() => Err(error),
        };
        let broke_off = || self.no_list("it ends before it is whole");
        Ok(came.and_then(|chunk| chunk.ok_or_else(broke_off)))
    }

    /// Takes the lines that a chunk completes, up to the one that ends the list, whose version this gives.
    async fn take_told(
        &self,
        lines: &mut Lines,
        gathering: &mut Gathering,
        listing: &mut Listing,
    ) -> Result<Result<Option<String>, MemberError>, Halt> {
        while let Some(piece) = lines.next() {
            self.context.metrics.received_objects.add(1);
            match self.read_told(&piece) {
                Told::Passed(json) => listing.seen.pass(&json),
                Told::Item(item) => self.take_told_item(item, gathering, listing).await?,
                Told::End(version) => return Ok(Ok(Some(version))),
                Told::Error(error) => return Ok(Err(error)),
            }
            if listing.seen.of_page() > MOST_OF_PAGE {
                return Ok(Err(self.no_list("it has more than a million objects")));
            }
        }
        Ok(Ok(None))
    }

    /// What is left out may have been told before in another form, which is gathered or stored.
    async fn take_told_item(
        &self,
        item: Result<Change, Skipped>,
        gathering: &mut Gathering,
        listing: &mut Listing,
    ) -> Result<(), Halt> {
        let change = match item {
            Ok(change) => {
                if let Change::Delete(key) = &change {
                    self.context.report.settled(key);
                }
                Some(change)
            }
            Err(skipped) => {
                let key = skipped.key.clone();
                self.skip(skipped);
                key.map(Change::Delete)
            }
        };
        match change {
            Some(change) => self.take_change(change, gathering, listing).await,
            None => Ok(()),
        }
    }

    /// No member tells of a deletion before it has told all there was; of one that does what is deleted is not stored.
    fn read_told(&self, piece: &Piece) -> Told {
        let limit = self.incoming_limit();
        let salvage = |bytes: &Bytes, reason: String| {
            let key = self.salvaged_key(&prune::salvage(bytes));
            Told::Item(Err(Skipped { key, reason }))
        };
        let line = match piece {
            Piece::Whole(line) => line,
            Piece::TooLong { prefix, length } => return salvage(prefix, too_long(*length, limit)),
        };
        match event::parse(line) {
            Err(problem) => salvage(line, problem.to_owned()),
            Ok(Event::Put(object) | Event::Delete { object, .. })
                if !self.context.takes(object.as_bytes()) =>
            {
                Told::Passed(line.clone())
            }
            // It may have been told before, about something else.
            Ok(Event::Modify(object)) if !self.context.takes(object.as_bytes()) => {
                match self.salvaged_key(&prune::salvage(object.as_bytes())) {
                    Some(key) => Told::Item(Ok(Change::Delete(key))),
                    None => Told::Passed(line.clone()),
                }
            }
            Ok(Event::Put(json) | Event::Modify(json)) => {
                let object = self.read_object(json.as_bytes());
                Told::Item(object.map(Change::Put))
            }
            Ok(Event::Delete { key, .. }) => Told::Item(Ok(Change::Delete(key))),
            Ok(Event::Bookmark { version, object })
                if !version.is_empty() && event::ends_list(object) =>
            {
                Told::End(version)
            }
            Ok(Event::Bookmark { .. }) => {
                Told::Error(self.no_list("a bookmark came before its end"))
            }
            Ok(Event::Error {
                code,
                message,
                wait,
            }) => Told::Error(event::refusal(code, message, wait)),
        }
    }
}
