//! Answers that are compressed on their way, for clients that ask for it: those that are long.
//!
//! An answer is compressed piece by piece while it is taken, so that a list begins to arrive as soon as it does without. A piece takes a
//! fraction of a millisecond, after which others have their turn.

use std::io::{self, Write as _};
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};

use super::body::{Body, BrokenOff};
use super::budget::{Reservation, keeping};

/// Answers are compressed from this length on, as a kube-apiserver's are: shorter ones take longer to compress than to send.
pub(crate) const LONG: usize = 128 << 10;
/// What is held while an answer is compressed: 400 KiB are the compressor's own, and of what it has made a connection buffers 64 KiB.
pub(crate) const HELD: usize = 512 << 10;

/// Compressed at a time: 0.1 ms at 600 MB/s, which pods become an eighth at.
const STEP: usize = 64 << 10;
/// Handed on when so much has been made: a frame of HTTP/2.
const FRAME: usize = 16 << 10;

/// A body that is compressed as it is taken. What it holds is given back with its last byte.
pub(crate) fn gzipped(body: Body, held: Reservation) -> Body {
    let gzip = Gzip {
        body,
        rest: Bytes::new(),
        // As a kube-apiserver: most of what can be gained is gained by little work.
        encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())),
        held: Arc::new(held),
    };
    let frames = stream::unfold(gzip, |mut gzip| async move {
        let piece = gzip.next().await?;
        Some((piece.map(Frame::data), gzip))
    });
    StreamBody::new(frames).boxed()
}

struct Gzip {
    body: Body,
    /// What was taken of the body and has not been compressed.
    rest: Bytes,
    /// Gone when the end has been made.
    encoder: Option<GzEncoder<Vec<u8>>>,
    held: Arc<Reservation>,
}

impl Gzip {
    /// The next piece of what was compressed.
    async fn next(&mut self) -> Option<Result<Bytes, BrokenOff>> {
        let mut encoder = self.encoder.take()?;
        while encoder.get_ref().len() < FRAME {
            if self.rest.is_empty() {
                match self.body.frame().await {
                    Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                    Some(Err(error)) => return Some(Err(error)),
                    None => return Some(Ok(self.keep(in_memory(encoder.finish())))),
                }
            }
            let part = self.rest.split_to(STEP.min(self.rest.len()));
            in_memory(encoder.write_all(&part));
            tokio::task::yield_now().await;
        }
        let made = std::mem::take(encoder.get_mut());
        self.encoder = Some(encoder);
        Some(Ok(self.keep(made)))
    }

    fn keep(&self, made: Vec<u8>) -> Bytes {
        keeping(made.into(), Arc::clone(&self.held))
    }
}

fn in_memory<T>(written: io::Result<T>) -> T {
    written.expect("a vector takes whatever is written to it")
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use tokio::sync::mpsc;

    use super::*;
    use crate::answer::body::{Piece, streamed, whole};
    use crate::answer::budget::{Allowance, Budget};

    fn budget() -> (Arc<Budget>, Reservation) {
        let budget = Arc::new(Budget::new(4 << 20, Arc::default()));
        let held = Allowance::new(Arc::clone(&budget), Vec::new()).reserve_now(HELD);
        (budget, held.expect("room"))
    }

    /// What no compressor makes shorter, and what every one does.
    fn texts() -> [Vec<u8>; 3] {
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        [
            noise.take(1 << 20).collect(),
            vec![b'x'; 3 << 20],
            Vec::new(),
        ]
    }

    #[tokio::test]
    async fn what_was_compressed_is_what_was_there() {
        for text in texts() {
            let (budget, held) = budget();
            let mut body = gzipped(whole(text.clone().into()), held);
            let mut compressed = Vec::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.expect("no error").into_data().expect("data");
                assert!(frame.len() <= FRAME + 2 * STEP, "{}", frame.len());
                compressed.extend_from_slice(&frame);
            }
            let mut read = Vec::new();
            let mut decoder = GzDecoder::new(compressed.as_slice());
            decoder.read_to_end(&mut read).expect("gzip");
            assert_eq!(read, text);
            drop(body);
            let whole = Allowance::new(budget, Vec::new()).reserve_now(usize::MAX);
            assert!(whole.is_some());
        }
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_breaks_off() {
        let (sender, receiver) = mpsc::channel(1);
        let piece = Piece::Data(vec![b'x'; 100].into());
        sender.send(piece).await.expect("room");
        drop(sender);
        let (_budget, held) = budget();
        assert!(gzipped(streamed(receiver), held).collect().await.is_err());
    }
}
