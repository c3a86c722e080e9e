//! The body of an answer as chunks of bytes, with a limit to silence.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::Instant;

use crate::error::MemberError;
use crate::heard::Heard;
use crate::lanes::Seat;

/// A body that is being received. Dropping it ends the request.
pub struct ByteStream {
    body: Incoming,
    silence: Duration,
    heard: Option<Arc<Heard>>,
    _seat: Option<Seat>,
}

impl ByteStream {
    pub(crate) fn new(body: Incoming, silence: Duration) -> Self {
        Self {
            body,
            silence,
            heard: None,
            _seat: None,
        }
    }

    /// Keeps `seat` for as long as the body is received.
    pub(crate) fn on(self, seat: Seat) -> Self {
        Self {
            _seat: Some(seat),
            ..self
        }
    }

    /// Tells `heard` of what comes, and that nothing comes any more.
    pub(crate) fn heard_by(self, heard: &Arc<Heard>) -> Self {
        Self {
            heard: Some(Arc::clone(heard)),
            ..self
        }
    }

    /// The next bytes; `None` at the end of the body. Only the time spent in here counts as silence, so a reader may be slow.
    /// A frame without data ends no silence. Safe to cancel.
    pub async fn next(&mut self) -> Option<Result<Bytes, MemberError>> {
        let came = self.data().await;
        match (&self.heard, &came) {
            (Some(heard), Some(Ok(_))) => heard.note(),
            (Some(heard), Some(Err(_))) => heard.forget(),
            _ => {}
        }
        came
    }

    async fn data(&mut self) -> Option<Result<Bytes, MemberError>> {
        let end = Instant::now() + self.silence;
        loop {
            let frame = match tokio::time::timeout_at(end, self.body.frame()).await {
                Err(_) => {
                    return Some(Err(MemberError::TimedOut {
                        phase: "data",
                        after: self.silence,
                    }));
                }
                Ok(frame) => frame?,
            };
            match frame {
                Err(error) => return Some(Err(MemberError::unreachable(&error))),
                // Trailers are no data.
                Ok(frame) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Some(Ok(data)),
                    _ => {}
                },
            }
        }
    }

    /// The whole body, or as much of it as fits into `limit`; `false` if there was more.
    pub(crate) async fn collect(mut self, limit: usize) -> Result<(Vec<u8>, bool), MemberError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next().await {
            let chunk = chunk?;
            let room = limit - bytes.len();
            bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return Ok((bytes, false));
            }
        }
        Ok((bytes, true))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use http_body_util::{Empty, StreamBody};
    use hyper::body::Frame;
    use hyper::client::conn::http2 as client;
    use hyper::server::conn::http2 as server;
    use hyper::service::service_fn;
    use hyper_util::rt::{TokioExecutor, TokioIo};

    use super::*;

    const SILENCE: Duration = Duration::from_secs(30);

    /// Answers with a hundred frames, one each second, of which none has data.
    async fn answer(
        _: Request<Incoming>,
    ) -> Result<Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>>, Infallible>
    {
        let frames = futures::stream::unfold(100, |left: u32| async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let left = left.checked_sub(1)?;
            Some((Ok::<_, Infallible>(Frame::data(Bytes::new())), left))
        });
        Ok(Response::new(StreamBody::new(frames)))
    }

    #[tokio::test(start_paused = true)]
    async fn frames_without_data_are_silence() {
        let (near, far) = tokio::io::duplex(64 << 10);
        let serve = server::Builder::new(TokioExecutor::new());
        let serve = serve.serve_connection(TokioIo::new(far), service_fn(answer));
        let serving = tokio::spawn(serve);
        let asks = client::handshake(TokioExecutor::new(), TokioIo::new(near));
        let (mut sender, connection) = asks.await.expect("a connection");
        let asking = tokio::spawn(connection);
        let request = Request::get("http://member/").body(Empty::<Bytes>::new());
        let answer = sender.send_request(request.expect("a request")).await;
        let mut body = ByteStream::new(answer.expect("an answer").into_body(), SILENCE);
        let begun = Instant::now();
        let next = body.next().await.expect("it is not over");
        assert!(
            matches!(next, Err(MemberError::TimedOut { .. })),
            "{next:?}"
        );
        assert_eq!(begun.elapsed(), SILENCE);
        serving.abort();
        asking.abort();
    }
}
