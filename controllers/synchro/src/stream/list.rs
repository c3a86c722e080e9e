//! Reading one page of a list, item by item.

use armadex_member::{ByteStream, ListRequest, MemberError};
use armadex_storage::{Change, Phase};
use bytes::Bytes;
use tokio::sync::SemaphorePermit;

use crate::items::{Items, ListMetadata};
use crate::lines::Piece;
use crate::prune::{self, Skipped};
use crate::step::{Listing, Outcome, Seen};
use crate::stream::Stream;
use crate::stream::pull::{Gathering, too_long};
use crate::writer::Halt;

/// Objects on a page; what every client of Kubernetes asks for.
const PAGE: u32 = 500;

impl Stream {
    pub(super) async fn page(&mut self, listing: &mut Listing) -> Result<Outcome, Halt> {
        if listing.token.is_none() {
            self.context.report.listing();
            self.context.metrics.lists.add(1);
        }
        let cancel = self.context.cancel.clone();
        let page = async {
            match self.request_page(listing).await {
                Err(error) => Ok(Err(error)),
                Ok((body, _permits)) => self.read_page(body, listing).await,
            }
        };
        let read = tokio::select! {
            () = cancel.cancelled() => return Err(Halt::Cancelled),
            read = page => read?,
        };
        Ok(match read {
            Err(error) => self.failed(&error),
            Ok(ListMetadata {
                resource_version,
                r#continue,
            }) => Outcome::Page {
                version: resource_version,
                token: (!r#continue.is_empty()).then_some(r#continue),
            },
        })
    }

    /// Waits for its turn, first among the streams of this cluster, then among all.
    async fn request_page(
        &self,
        listing: &Listing,
    ) -> Result<(ByteStream, [Option<SemaphorePermit<'_>>; 2]), MemberError> {
        let of_cluster = self.context.lists.acquire().await.ok();
        let of_all = self.context.shared.lists.acquire().await.ok();
        let request = ListRequest {
            resource: &self.context.resource.gvr,
            limit: PAGE,
            continue_token: listing.token.as_deref(),
        };
        let body = self.context.member.list(&request).await?;
        Ok((body, [of_cluster, of_all]))
    }

    async fn read_page(
        &self,
        mut body: ByteStream,
        listing: &mut Listing,
    ) -> Result<Result<ListMetadata, MemberError>, Halt> {
        self.context.report.listing_goes();
        if !listing.marked {
            let begun = Some(self.position("", Phase::Listing));
            self.flush(&mut Gathering::default(), begun).await?;
            listing.marked = true;
        }
        let mut items = Items::new(self.incoming_limit());
        let mut gathering = Gathering::default();
        while let Some(chunk) = body.next().await {
            match chunk {
                Err(error) => {
                    self.flush(&mut gathering, None).await?;
                    return Ok(Err(error));
                }
                Ok(chunk) => {
                    self.context.metrics.received_bytes.add(chunk.len() as u64);
                    items.push(chunk);
                    self.take_items(&mut items, &mut gathering, &mut listing.seen)
                        .await?;
                }
            }
        }
        self.flush(&mut gathering, None).await?;
        Ok(items.finish().ok_or_else(|| MemberError::Malformed {
            path: self.context.resource.gvr.list_path(),
            problem: "it is no whole list".to_owned(),
        }))
    }

    async fn take_items(
        &self,
        items: &mut Items,
        gathering: &mut Gathering,
        seen: &mut Seen,
    ) -> Result<(), Halt> {
        while let Some(piece) = items.next() {
            self.context.metrics.received_objects.add(1);
            match self.read_item(&piece) {
                Err(skipped) => self.skip(skipped),
                Ok(change) => {
                    seen.insert(change.key());
                    self.gather(gathering, change, || None).await?;
                    if gathering.pending.is_full() {
                        self.flush(gathering, None).await?;
                    }
                }
            }
        }
        Ok(())
    }

    fn read_item(&self, piece: &Piece) -> Result<Change, Skipped> {
        match piece {
            Piece::Whole(json) => prune::prune(json, &self.rules).map(Change::Put),
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
