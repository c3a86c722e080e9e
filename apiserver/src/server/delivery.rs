//! A watch over what a client has been given and does not take.
//!
//! hyper asks a body for more only when its client has room, and nobody tells a body that nothing is asked of it. So every piece of
//! an answer is followed until it is on the wire, and the task that drives the answer is wrapped in [`Delivery::watch`], which ends
//! it when the client has taken nothing for too long.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use crate::answer::body::{Body, BrokenOff};

/// Handed on at a time: what one frame of HTTP/2 carries. A stream that is given up may leave so much behind in its connection.
const FRAME: usize = 16 << 10;

/// A stream that is given up is reset by its connection's task, which frees what the stream has not sent: at once, unless it is kept
/// from writing.
const RESET: Duration = Duration::from_millis(500);

/// What is on its way to a client: on one stream, or on a connection that sends one answer at a time.
#[derive(Debug)]
pub(super) struct Delivery {
    patience: Patience,
    state: Mutex<State>,
}

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Without taking anything.
    pub(super) stall: Duration,
    /// Without taking anything of a refusal: it fits into any window, and whoever is refused by the hundred takes none of them.
    pub(super) refusal: Duration,
    /// With a whole answer.
    pub(super) whole: Duration,
}

#[derive(Debug, Default)]
struct State {
    /// Pieces that were handed on and are not all on the wire.
    outstanding: usize,
    /// When the client last took something, while there is more for it to take.
    waiting: Option<Instant>,
    /// When the last answer began.
    began: Option<Instant>,
    /// The last answer is a refusal.
    refused: bool,
    /// Who waits for the last piece to be gone.
    finishing: Option<Waker>,
}

/// How a watched task ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended<T> {
    /// By itself, and everything is on the wire.
    Complete(T),
    /// The client has taken nothing for too long. If a piece is left, only the end of the connection frees it.
    Stalled { is_left: bool },
}

impl Delivery {
    pub(super) fn new(patience: Patience) -> Arc<Self> {
        Arc::new(Self {
            patience,
            state: Mutex::default(),
        })
    }

    /// An answer whose body is followed.
    pub(super) fn follow(self: &Arc<Self>, answer: Response<Body>) -> Response<Followed> {
        let mut state = self.state();
        state.began = Some(Instant::now());
        state.refused = !answer.status().is_success();
        drop(state);
        answer.map(|body| Followed {
            body,
            rest: Bytes::new(),
            delivery: Arc::clone(self),
        })
    }

    /// Drives a task until it has ended and what it handed on is on the wire, or the client is given up.
    pub(super) async fn watch<F: Future>(&self, task: F) -> Ended<F::Output> {
        let mut sleep = None;
        let mut task = pin!(Some(task));
        let driven = std::future::poll_fn(|context| {
            let running = task.as_mut().as_pin_mut();
            let running = running.expect("it is dropped after its last poll");
            if let Poll::Ready(output) = running.poll(context) {
                return Poll::Ready(Some(output));
            }
            self.poll_given_up(&mut sleep, context).map(|()| None)
        });
        let output = driven.await;
        // It holds a piece itself: while it waits for its client, and still when its client wants no more.
        task.set(None);
        let Some(output) = output else {
            let gone = std::future::poll_fn(|context| self.poll_gone(context));
            let reset = tokio::time::timeout(RESET, gone).await;
            return Ended::Stalled {
                is_left: reset.is_err(),
            };
        };
        let gone = std::future::poll_fn(|context| {
            if self.poll_gone(context).is_ready() {
                return Poll::Ready(true);
            }
            self.poll_given_up(&mut sleep, context).map(|()| false)
        });
        match gone.await {
            true => Ended::Complete(output),
            false => Ended::Stalled { is_left: true },
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the client is given up unless it takes something; never while there is nothing to take.
    fn deadline(&self) -> Option<Instant> {
        let state = self.state();
        let patience = match state.refused {
            true => self.patience.refusal.min(self.patience.stall),
            false => self.patience.stall,
        };
        let stalled = state.waiting? + patience;
        let whole = state.began.map(|began| began + self.patience.whole);
        Some(whole.map_or(stalled, |whole| whole.min(stalled)))
    }

    fn poll_given_up(
        &self,
        sleep: &mut Option<Pin<Box<Sleep>>>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        loop {
            let Some(deadline) = self.deadline() else {
                return Poll::Pending;
            };
            if deadline <= Instant::now() {
                return Poll::Ready(());
            }
            // Deadlines only move away, so one that was set before fires early and is set again: cheaper than at every piece.
            let sleep = sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            if sleep.is_elapsed() {
                sleep.as_mut().reset(deadline);
            }
            ready!(sleep.as_mut().poll(context));
        }
    }

    fn poll_gone(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.outstanding == 0 {
            return Poll::Ready(());
        }
        state.finishing = Some(context.waker().clone());
        Poll::Pending
    }

    fn taken(&self) {
        let mut state = self.state();
        state.outstanding -= 1;
        state.waiting = (state.outstanding > 0).then(Instant::now);
        if state.outstanding == 0
            && let Some(waker) = state.finishing.take()
        {
            waker.wake();
        }
    }
}

/// A body whose pieces are followed until they are on the wire.
pub(super) struct Followed {
    body: Body,
    /// What is left of the last piece.
    rest: Bytes,
    delivery: Arc<Delivery>,
}

impl Followed {
    fn piece(&self, bytes: Bytes) -> Bytes {
        self.delivery.state().outstanding += 1;
        Bytes::from_owner(Piece {
            bytes,
            delivery: Arc::clone(&self.delivery),
        })
    }
}

/// Told when the last of it has been dropped, which is when it has been encrypted.
struct Piece {
    bytes: Bytes,
    delivery: Arc<Delivery>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.delivery.taken();
    }
}

impl http_body::Body for Followed {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) if bytes.is_empty() => {}
                    Ok(bytes) => self.rest = self.piece(bytes),
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        self.delivery.state().waiting = Some(Instant::now());
        let size = self.rest.len().min(FRAME);
        let frame = self.rest.split_to(size);
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let body = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower() + rest);
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::body;
    use http_body_util::BodyExt as _;

    const PATIENCE: Patience = Patience {
        stall: Duration::from_secs(30),
        refusal: Duration::from_secs(5),
        whole: Duration::from_secs(100),
    };

    fn answer(delivery: &Arc<Delivery>, bytes: Vec<u8>) -> Followed {
        let answer = Response::new(body::whole(bytes.into()));
        delivery.follow(answer).into_body()
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_that_is_not_taken_is_given_up_soon() {
        let delivery = Delivery::new(PATIENCE);
        let mut refusal = Response::new(body::whole(vec![0; 10].into()));
        *refusal.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
        let mut body = delivery.follow(refusal).into_body();
        let began = Instant::now();
        let ended = delivery.watch(async {
            std::mem::forget(frame(&mut body).await);
        });
        assert_eq!(ended.await, Ended::Stalled { is_left: true });
        assert_eq!(began.elapsed().as_secs(), 5);
    }

    async fn frame(body: &mut Followed) -> Bytes {
        let frame = body.frame().await.expect("a frame").expect("no error");
        frame.into_data().expect("data")
    }

    /// A client that takes a frame after each of these pauses, and its last one never.
    async fn taking(pauses: &[u64]) -> (Ended<()>, Duration) {
        let delivery = Delivery::new(PATIENCE);
        let mut body = answer(&delivery, vec![0; pauses.len() * FRAME + 1]);
        let began = Instant::now();
        let ended = delivery.watch(async {
            for pause in pauses {
                let taken = frame(&mut body).await;
                tokio::time::sleep(Duration::from_secs(*pause)).await;
                drop(taken);
            }
            std::mem::forget(frame(&mut body).await);
        });
        (ended.await, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_for_too_long_is_given_up() {
        for (pauses, seconds) in [
            (&[][..], 30),
            (&[20, 20], 70),
            (&[20, 31], 50),
            (&[29; 9], 100),
        ] {
            let (ended, took) = taking(pauses).await;
            assert_eq!(ended, Ended::Stalled { is_left: true }, "{pauses:?}");
            assert_eq!(took.as_secs(), seconds, "{pauses:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_task_holds_itself_is_not_left_when_it_is_given_up() {
        let delivery = Delivery::new(PATIENCE);
        let mut body = answer(&delivery, vec![0; 3 * FRAME]);
        let ended = delivery.watch(async move {
            let _taken = frame(&mut body).await;
            std::future::pending::<()>().await;
        });
        assert_eq!(ended.await, Ended::Stalled { is_left: false });
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_server_is_no_stalled_client() {
        let delivery = Delivery::new(PATIENCE);
        let task = tokio::time::sleep(Duration::from_secs(1000));
        assert_eq!(delivery.watch(task).await, Ended::Complete(()));
    }

    #[tokio::test(start_paused = true)]
    async fn the_task_ends_when_the_last_piece_is_on_the_wire() {
        let delivery = Delivery::new(PATIENCE);
        let mut body = answer(&delivery, vec![0; 10]);
        let began = Instant::now();
        let piece = frame(&mut body).await;
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(7)).await;
            drop(piece);
        });
        assert_eq!(delivery.watch(async {}).await, Ended::Complete(()));
        assert_eq!(began.elapsed().as_secs(), 7);
    }

    #[tokio::test]
    async fn a_body_arrives_in_frames_and_whole() {
        let delivery = Delivery::new(PATIENCE);
        let bytes: Vec<u8> = (0..40_000_u32).map(|number| number as u8).collect();
        let body = answer(&delivery, bytes.clone());
        assert_eq!(http_body::Body::size_hint(&body).exact(), Some(40_000));
        let whole = body.collect().await.expect("complete").to_bytes();
        assert_eq!(whole, bytes);
        drop(whole);
        assert_eq!(delivery.state().outstanding, 0);
    }
}
