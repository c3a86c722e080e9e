//! A stream that gives up on a peer that has gone silent or takes nothing, and tells what it reads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Wraps a stream and ends it with a time-out.
pub(super) struct Guarded<S, R> {
    stream: S,
    /// Told what was read.
    reads: R,
    read: Option<Deadline>,
    write: Deadline,
}

struct Deadline {
    after: Duration,
    /// Set while the peer keeps us waiting.
    waiting: bool,
    sleep: Pin<Box<Sleep>>,
}

impl Deadline {
    fn new(after: Duration) -> Self {
        Self {
            after,
            waiting: false,
            sleep: Box::pin(tokio::time::sleep(after)),
        }
    }

    /// Passes a result on; what is pending for too long becomes an error.
    fn guard<T>(
        &mut self,
        result: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.waiting = false;
            return result;
        }
        if !self.waiting {
            self.waiting = true;
            self.sleep.as_mut().reset(Instant::now() + self.after);
        }
        ready!(self.sleep.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S, R> Guarded<S, R> {
    /// Ends when nothing was read for `silence` while reading, or nothing taken for `stall` while writing.
    pub(super) fn new(stream: S, reads: R, silence: Option<Duration>, stall: Duration) -> Self {
        Self {
            stream,
            reads,
            read: silence.map(Deadline::new),
            write: Deadline::new(stall),
        }
    }
}

impl<S: AsyncRead + Unpin, R: FnMut(&[u8]) + Unpin> AsyncRead for Guarded<S, R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let result = Pin::new(&mut this.stream).poll_read(context, buffer);
        match &buffer.filled()[before..] {
            [] => {}
            bytes => (this.reads)(bytes),
        }
        match &mut this.read {
            Some(deadline) => deadline.guard(result, context),
            None => result,
        }
    }
}

impl<S: AsyncWrite + Unpin, R: Unpin> AsyncWrite for Guarded<S, R> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.write.guard(result, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.write.guard(result, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_flush(context);
        this.write.guard(result, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = Pin::new(&mut this.stream).poll_shutdown(context);
        this.write.guard(result, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const LONG: Duration = Duration::from_secs(3600);
    const SHORT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let (ours, _theirs) = tokio::io::duplex(4);
        let mut guarded = Guarded::new(ours, |_: &[u8]| {}, None, SHORT);
        let error = guarded.write_all(&[0; 64]).await.expect_err("a time-out");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_says_nothing_is_given_up() {
        let (ours, _theirs) = tokio::io::duplex(4);
        let mut guarded = Guarded::new(ours, |_: &[u8]| {}, Some(SHORT), LONG);
        let error = guarded.read_u8().await.expect_err("a time-out");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_is_served() {
        let (ours, mut theirs) = tokio::io::duplex(1);
        let mut guarded = Guarded::new(ours, |_: &[u8]| {}, Some(SHORT), SHORT);
        let reading = async {
            for _ in 0..8 {
                tokio::time::advance(Duration::from_secs(4)).await;
                theirs.read_u8().await.expect("a byte");
            }
        };
        let (written, ()) = tokio::join!(guarded.write_all(&[7; 8]), reading);
        written.expect("all was taken");
    }
}
