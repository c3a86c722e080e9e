//! The body of an answer as chunks of bytes, with a limit to silence; unpacked, if it comes compressed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::Instant;

use crate::discovery::holding::Holding;
use crate::error::MemberError;
use crate::heard::Heard;
use crate::lanes::Seat;
use crate::unpacked::Unpacked;

/// What came of a body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Came {
    /// Bytes.
    pub bytes: u64,
    /// How long they were waited for, while nothing else was done.
    pub waited: Duration,
}

/// What is known of a page.
struct Page {
    came: Came,
    /// What is compressed comes out of here.
    unpacked: Option<Box<Unpacked>>,
}

/// A body that is being received. Dropping it ends the request.
pub struct ByteStream {
    body: Incoming,
    silence: Duration,
    breaks_when_dead: bool,
    heard: Option<Arc<Heard>>,
    /// Of a list. Apart, for most bodies most of the time are watches.
    page: Option<Box<Page>>,
    _seat: Option<Seat>,
}

impl ByteStream {
    pub(crate) fn new(body: Incoming, silence: Duration) -> Self {
        Self {
            body,
            silence,
            breaks_when_dead: false,
            heard: None,
            page: None,
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

    /// It is a page of a list, and comes compressed with gzip or as it is.
    pub(crate) fn that_is_a_page(self, is_packed: bool) -> Self {
        let page = Page {
            came: Came::default(),
            unpacked: is_packed.then(Unpacked::new),
        };
        Self {
            page: Some(Box::new(page)),
            ..self
        }
    }

    /// Whether it comes compressed.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        let page = self.page.as_ref();
        page.is_some_and(|page| page.unpacked.is_some())
    }

    /// What came of a page so far, compressed if it is.
    #[must_use]
    pub fn came(&self) -> Came {
        let page = self.page.as_ref();
        page.map(|page| page.came).unwrap_or_default()
    }

    /// It `breaks_when_dead`.
    pub(crate) fn that_breaks(self, breaks_when_dead: bool) -> Self {
        Self {
            breaks_when_dead,
            ..self
        }
    }

    /// Whether it is over within 25 s after whoever sends it is gone: the connection leads to where the bytes come from and not to a proxy, as
    /// far as can be told from here.
    #[must_use]
    pub fn breaks_when_dead(&self) -> bool {
        self.breaks_when_dead
    }

    /// Tells `heard` of what comes, and that nothing comes any more.
    pub(crate) fn heard_by(self, heard: &Arc<Heard>) -> Self {
        Self {
            heard: Some(Arc::clone(heard)),
            ..self
        }
    }

    /// The next bytes; `None` at the end of the body. Only the time spent in here counts as silence, so a reader may be slow.
    /// A frame without data ends no silence, whether HTTP/2 passes it on or not. Safe to cancel.
    pub async fn next(&mut self) -> Option<Result<Bytes, MemberError>> {
        loop {
            match self.unpacked().map(Unpacked::next) {
                Some(Ok(None)) | None => {}
                Some(Ok(Some(piece))) => return Some(Ok(piece)),
                Some(Err(problem)) => return Some(Err(MemberError::unpacked(problem))),
            }
            let came = self.data_that_is_heard().await;
            match (self.unpacked(), came) {
                (Some(unpacked), Some(Ok(packed))) => unpacked.push(packed),
                (Some(unpacked), None) if !unpacked.is_whole() => {
                    return Some(Err(MemberError::unpacked("what is compressed breaks off")));
                }
                (_, came) => return came,
            }
        }
    }

    /// Where what is compressed comes out.
    fn unpacked(&mut self) -> Option<&mut Unpacked> {
        self.page.as_mut()?.unpacked.as_deref_mut()
    }

    async fn data_that_is_heard(&mut self) -> Option<Result<Bytes, MemberError>> {
        let begun = self.page.is_some().then(Instant::now);
        let came = self.data().await;
        match (&self.heard, &came) {
            (Some(heard), Some(Ok(_))) => heard.note(),
            (Some(heard), Some(Err(_))) => heard.forget(),
            _ => {}
        }
        if let (Some(page), Some(begun), Some(Ok(data))) = (&mut self.page, begun, &came) {
            page.came.bytes += data.len() as u64;
            page.came.waited += begun.elapsed();
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
    pub(crate) async fn collect(self, limit: usize) -> Result<(Vec<u8>, bool), MemberError> {
        self.gather(limit, None).await
    }

    /// The same of an answer that is held with others of its member.
    pub(crate) async fn collect_for(
        self,
        limit: usize,
        holding: &Holding,
    ) -> Result<(Vec<u8>, bool), MemberError> {
        self.gather(limit, Some(holding)).await
    }

    async fn gather(
        mut self,
        limit: usize,
        holding: Option<&Holding>,
    ) -> Result<(Vec<u8>, bool), MemberError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next().await {
            let chunk = chunk?;
            let room = limit - bytes.len();
            let fits = &chunk[..chunk.len().min(room)];
            if let Some(holding) = holding {
                holding.hold(fits.len())?;
            }
            make_room(&mut bytes, fits.len(), limit);
            bytes.extend_from_slice(fits);
            if chunk.len() > room {
                return Ok((bytes, false));
            }
        }
        Ok((bytes, true))
    }
}

/// Makes room for so many more bytes: for twice as many as there was room for, and no more than there may be.
fn make_room(bytes: &mut Vec<u8>, more: usize, limit: usize) {
    let needed = bytes.len() + more;
    if needed > bytes.capacity() {
        let most = needed.max(limit.min(2 * bytes.capacity()));
        bytes.reserve_exact(most - bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use http_body_util::Empty;
    use hyper::client::conn::http2;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::io::{AsyncWriteExt as _, DuplexStream};

    use super::*;

    const SILENCE: Duration = Duration::from_secs(30);

    /// A frame of HTTP/2: its length, its kind, its flags and its stream.
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const SETTINGS_SEEN: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];
    /// `:status: 200`, and there are no more headers.
    const ANSWER: [u8; 10] = [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88];
    const NO_DATA: [u8; 9] = [0, 0, 0, 0, 0, 0, 0, 0, 1];
    const NO_MORE_DATA: [u8; 9] = [0, 0, 0, 0, 1, 0, 0, 0, 1];

    /// Answers the first request with a hundred frames, one each second, of which none has data.
    async fn serve(pipe: DuplexStream) -> std::io::Result<()> {
        let (mut asked, mut answer) = tokio::io::split(pipe);
        let asked = async move { tokio::io::copy(&mut asked, &mut tokio::io::sink()).await };
        let answer = async move {
            answer.write_all(&SETTINGS).await?;
            answer.write_all(&SETTINGS_SEEN).await?;
            // The clock moves when there is nothing else to do: the request has come.
            tokio::time::sleep(Duration::from_secs(1)).await;
            answer.write_all(&ANSWER).await?;
            for _ in 0..100 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                answer.write_all(&NO_DATA).await?;
            }
            answer.write_all(&NO_MORE_DATA).await
        };
        tokio::try_join!(asked, answer).map(|_| ())
    }

    #[test]
    fn what_is_collected_takes_no_more_than_it_may_have() {
        const LIMIT: usize = 1000;
        let mut bytes = Vec::new();
        let mut grown = 0;
        for _ in 0..LIMIT / 4 {
            let before = bytes.capacity();
            make_room(&mut bytes, 4, LIMIT);
            bytes.extend_from_slice(b"some");
            grown += usize::from(bytes.capacity() > before);
            assert!(bytes.capacity() <= LIMIT);
        }
        assert_eq!(
            (bytes.len(), grown),
            (LIMIT, 9),
            "from 4 to 512, and to all"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn frames_without_data_are_silence() {
        let (near, far) = tokio::io::duplex(64 << 10);
        let serving = tokio::spawn(serve(far));
        let asks = http2::handshake(TokioExecutor::new(), TokioIo::new(near));
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
