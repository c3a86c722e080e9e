//! Bodies of answers: whole ones, ones that stop in the middle, and watches.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::Frame;
use tokio::sync::mpsc;

/// The body of an answer.
pub(crate) enum Body {
    Whole(Bytes),
    /// After these bytes there is neither more nor an end.
    Stalled(Bytes),
    /// Ends with its sender.
    Watch(mpsc::Receiver<Bytes>),
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => None,
            // Nobody wakes it, as is meant.
            Self::Stalled(bytes) if bytes.is_empty() => return Poll::Pending,
            Self::Whole(bytes) | Self::Stalled(bytes) => Some(std::mem::take(bytes)),
            Self::Watch(lines) => match lines.poll_recv(context) {
                Poll::Ready(line) => line,
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }
}
