//! The body of a request, where there may be one: read whole, within a size and a time.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use crate::answer::status::ApiError;

/// A review has some hundred bytes. With 400 requests in flight these are 6 MiB, and what is kept of them once more as much.
const LARGEST: usize = 16 << 10;
/// A body of this size takes one round trip.
const PATIENCE: Duration = Duration::from_secs(10);

/// A body, by what its head says that it is.
#[derive(Debug)]
pub(super) enum Posted {
    /// JSON.
    Json(Bytes),
    /// Kubernetes' protobuf, which kubectl prefers.
    Protobuf(Bytes),
}

/// Reads a body.
pub(super) async fn read<B>(headers: &HeaderMap, body: B) -> Result<Posted, ApiError>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let posted = form(headers)
        .ok_or_else(|| ApiError::unsupported_media_type(&format!("{JSON}, {PROTOBUF}")))?;
    let reading = Box::pin(Limited::new(body, LARGEST).collect());
    match tokio::time::timeout(PATIENCE, reading).await {
        Ok(Ok(collected)) => Ok(posted(collected.to_bytes())),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ApiError::too_large(LARGEST)),
        Ok(Err(_)) => Err(ApiError::bad_request("the body broke off")),
        Err(_) => Err(ApiError::timed_out()),
    }
}

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// What the bytes are to be taken for; `None` for what is not read here.
fn form(headers: &HeaderMap) -> Option<fn(Bytes) -> Posted> {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return Some(Posted::Json);
    };
    let media_type = value.to_str().ok()?.split(';').next()?.trim();
    if media_type.eq_ignore_ascii_case(JSON) {
        Some(Posted::Json)
    } else if media_type.eq_ignore_ascii_case(PROTOBUF) {
        Some(Posted::Protobuf)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{Full, StreamBody};

    use super::*;

    fn headers(content_type: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, content_type.parse().expect("a value"))])
    }

    async fn code(content_type: &'static str, bytes: usize) -> u16 {
        let body = Full::new(Bytes::from(vec![b' '; bytes]));
        read(&headers(content_type), body)
            .await
            .map_or_else(|error| error.code.as_u16(), |_| 200)
    }

    #[tokio::test]
    async fn a_body_is_of_a_known_kind_and_small() {
        assert_eq!(code("application/json; charset=utf-8", LARGEST).await, 200);
        assert_eq!(code("application/json", LARGEST + 1).await, 413);
        assert_eq!(code("application/vnd.kubernetes.protobuf", 10).await, 200);
        assert_eq!(code("application/cbor", 10).await, 415);
        assert_eq!(code("application/yaml", 10).await, 415);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_given_up() {
        let never = futures::stream::pending::<Result<http_body::Frame<Bytes>, std::io::Error>>();
        let error = read(&HeaderMap::new(), StreamBody::new(never))
            .await
            .expect_err("a refusal");
        assert_eq!(error.code.as_u16(), 504);
    }
}
