//! Bodies of responses: there already, or made piece by piece by a task.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream;
use http_body::{Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::rewrite::Rewritten;
use crate::counters::Counters;

/// The body of every response. An error in it breaks the connection (HTTP/1.1) or the stream (HTTP/2) off.
pub(crate) type Body = BoxBody<Bytes, BrokenOff>;

/// The answer ends in the middle, and the client has to see that.
#[derive(Debug, thiserror::Error)]
#[error("the answer broke off")]
pub(crate) struct BrokenOff;

/// One piece of a streamed body.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Some bytes.
    Data(Bytes),
    /// The body is complete. A stream that ends without it has broken off.
    End,
}

/// A body that is there already.
pub(crate) fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed()
}

/// A body whose pieces come from elsewhere.
pub(crate) fn streamed(pieces: mpsc::Receiver<Piece>) -> Body {
    let frames = stream::unfold(Some(pieces), |pieces| async move {
        let mut pieces = pieces?;
        match pieces.recv().await {
            Some(Piece::Data(bytes)) => Some((Ok(Frame::data(bytes)), Some(pieces))),
            Some(Piece::End) => None,
            None => Some((Err(BrokenOff), None)),
        }
    });
    StreamBody::new(frames).boxed()
}

/// A body whose pieces are made while they are taken, until the deadline.
pub(crate) fn rewritten(object: Rewritten, deadline: Instant, counters: Arc<Counters>) -> Body {
    let frames = stream::unfold(Some((object, counters)), move |state| async move {
        let (mut object, counters) = state?;
        let Ok(piece) = tokio::time::timeout_at(deadline, object.next()).await else {
            counters.broke_off();
            return Some((Err(BrokenOff), None));
        };
        let piece = piece?;
        counters.served(0, piece.len() as u64);
        Some((Ok(Frame::data(piece)), Some((object, counters))))
    });
    StreamBody::new(frames).boxed()
}

/// A body that keeps something for as long as it lives.
pub(crate) fn keeping<T: Send + Sync + 'static>(body: Body, kept: T) -> Body {
    Keeping { body, _kept: kept }.boxed()
}

struct Keeping<T> {
    body: Body,
    _kept: T,
}

// Nothing is ever pinned to its place: a boxed body is its own pin.
impl<T> Unpin for Keeping<T> {}

impl<T> http_body::Body for Keeping<T> {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_that_ends_without_saying_so_has_broken_off() {
        for (pieces, complete) in [
            (vec![Piece::Data("a".into()), Piece::End], true),
            (vec![Piece::Data("a".into())], false),
            (vec![], false),
        ] {
            let (sender, receiver) = mpsc::channel(4);
            for piece in pieces {
                sender.send(piece).await.expect("room");
            }
            drop(sender);
            assert_eq!(streamed(receiver).collect().await.is_ok(), complete);
        }
    }
}
