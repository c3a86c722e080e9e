//! The body of an answer as chunks of bytes, with a limit to silence.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;

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
    /// Safe to cancel.
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
        let silence = self.silence;
        loop {
            let frame = match tokio::time::timeout(silence, self.body.frame()).await {
                Err(_) => {
                    return Some(Err(MemberError::TimedOut {
                        phase: "data",
                        after: silence,
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
