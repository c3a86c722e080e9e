//! One member at work: what may be asked of it, each with time-outs on its phases and never on a whole stream.

mod identity;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use armadex_crds::ControlPlaneProxy;
use armadex_model::GroupVersionResource;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, ETAG, IF_NONE_MATCH, RETRY_AFTER,
    USER_AGENT,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version};
use hyper::body::Incoming;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tower::{Service, ServiceExt};

use crate::connection::{Connection, Endpoint};
use crate::control_plane::ControlPlane;
use crate::discovery::holding::Holding;
use crate::error::{ConfigError, LONGEST_WAIT, MemberError, StatusDetails};
use crate::heard::Heard;
use crate::lanes::Lanes;
use crate::names;
use crate::outline::Outline;
use crate::request::{ListRequest, StreamedListRequest, WatchRequest};
use crate::stream::ByteStream;
use crate::transport::{self, ClientMaker, HttpClient, LIST_WINDOWS, WATCH_WINDOWS, secret_header};
use crate::words::Words;

/// A health check that takes longer has failed.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
const _: () = assert!(names::LIMIT.as_secs() < PROBE_TIMEOUT.as_secs());
const _: () = assert!(transport::CONNECT_TIMEOUT.as_secs() < PROBE_TIMEOUT.as_secs());
/// Connecting and the first byte of an answer. An apiserver gives up on a request after 60 s; a page of 500 takes one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// An answer that is kept as a whole, from the request to its last byte: 2 MiB, at 70 KB/s. Bytes that come one by one are held until then.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The same of one of [`ANSWER_BYTES`].
const LONG_ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two pieces of a body that is no watch.
const BODY_SILENCE: Duration = Duration::from_secs(30);
/// A watch is silent while nothing happens: 5 s above the time at which the member was told to end it.
const WATCH_MARGIN: Duration = Duration::from_secs(5);
/// A `Status` is a few hundred bytes; more of an error page is not worth reading.
const ERROR_BYTES: usize = 64 << 10;
/// Aggregated discovery of a member with a thousand types has about 2 MiB, and of one with as many as are read 8.
const ANSWER_BYTES: usize = 8 << 20;
/// A kube-apiserver's has 130: a hash in quotes.
const ETAG_BYTES: usize = 256;
/// A uid has 36, a version of etcd 20 at most; both are stored with each position.
const NUMBER_BYTES: usize = 256;
/// `v1.36.0-eks-5e0fdde` and the like.
const VERSION_CHARS: usize = 64;
/// By which headers a kube-apiserver says how it classed a request, and what they name.
const FLOW_CONTROL: [(&str, &str); 2] = [
    ("x-kubernetes-pf-flowschema-uid", "flow schema"),
    ("x-kubernetes-pf-prioritylevel-uid", "priority level"),
];
/// Of a uid in hexadecimal digits.
const UID_BYTES: usize = 36;
/// What a server may say that knows the first of two media types as little as the second.
const NOT_ACCEPTABLE: u16 = 406;
const GZIP: &str = "gzip";
/// What is gzip as well. [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.3)
const X_GZIP: &str = "x-gzip";
const IDENTITY: &str = "identity";
const JSON: &str = "application/json";
const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// A connection to a member. Lists and watches go over TCP connections of their own, so that neither waits for the other.
pub struct Member {
    server: Endpoint,
    headers: HeaderMap,
    leads: Leads,
    /// Who vouches for whoever answers there, as a digest.
    authority: Option<String>,
    make: ClientMaker,
    connections: Mutex<Arc<Connections>>,
    heard: Arc<Heard>,
}

/// Whom connections are with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leads {
    /// With the member.
    Straight,
    /// With a proxy, which passes on what it does not understand.
    ThroughTunnel,
    /// With the control plane, which asks the member itself.
    ByControlPlane,
}

/// What is open to a member.
struct Connections {
    /// Pages of lists, what a member serves, and small questions while there is no watch.
    requests: HttpClient,
    /// Watches, and small questions beside them: a member at rest has one connection.
    watches: Lanes,
}

impl Connections {
    fn new(make: &ClientMaker) -> Arc<Self> {
        let for_watches = Arc::clone(make);
        Arc::new(Self {
            requests: make(LIST_WINDOWS),
            watches: Lanes::new(move || for_watches(WATCH_WINDOWS)),
        })
    }

    /// For an answer that is small.
    fn for_question(&self) -> HttpClient {
        let connected = self.watches.connected();
        connected.unwrap_or_else(|| self.requests.clone())
    }
}

impl Member {
    /// Prepares the connection; nothing is sent yet.
    pub fn new(connection: &Connection) -> Result<Self, ConfigError> {
        Self::over(connection, &transport::client_maker(connection)?)
    }

    /// A member to which every connection is a pipe that `dial` opens: a test's clock may stand still while bytes are under way.
    #[cfg(any(test, feature = "testing"))]
    pub fn through_pipes(
        connection: &Connection,
        dial: impl Fn() -> tokio::io::DuplexStream + Send + Sync + 'static,
    ) -> Result<Self, ConfigError> {
        let dial = move || crate::pipe::Pipe::of_http1(dial());
        Self::over(connection, &crate::pipe::client_maker(dial))
    }

    pub(crate) fn over(connection: &Connection, make: &ClientMaker) -> Result<Self, ConfigError> {
        let leads = match connection.proxy {
            None => Leads::Straight,
            Some(_) => Leads::ThroughTunnel,
        };
        let mut headers = common_headers();
        if let Some(token) = &connection.token {
            let value = [b"Bearer ".as_slice(), token.expose()].concat();
            headers.insert(AUTHORIZATION, secret_header(&value)?);
        }
        let member = Self::at(connection.server.clone(), headers, leads, make);
        Ok(Self {
            authority: connection.authority(),
            ..member
        })
    }

    /// The member behind an object of the control plane: asked there, with the credentials that the control plane is asked with.
    pub fn by_control_plane(
        control_plane: &ControlPlane,
        proxy: &ControlPlaneProxy,
    ) -> Result<Self, ConfigError> {
        let server = control_plane.proxy(proxy)?;
        let (headers, make) = (common_headers(), control_plane.make());
        Ok(Self::at(server, headers, Leads::ByControlPlane, make))
    }

    fn at(server: Endpoint, headers: HeaderMap, leads: Leads, make: &ClientMaker) -> Self {
        Self {
            server,
            headers,
            leads,
            authority: None,
            make: Arc::clone(make),
            connections: Mutex::new(Connections::new(make)),
            heard: Arc::default(),
        }
    }

    fn connections(&self) -> Arc<Connections> {
        let connections = self.connections.lock();
        Arc::clone(&connections.unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks whatever comes next over new connections: the present ones may be to nobody, which a request over HTTP/2 that was given up does not
    /// show. Bodies that are being received go on.
    pub fn leave_connections(&self) {
        let connections = Connections::new(&self.make);
        *self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = connections;
    }

    /// Whether a list or a watch of it brought something in the time before now, and none broke since: whoever sends is there.
    #[must_use]
    pub fn was_heard_within(&self, time: Duration) -> bool {
        self.heard.within(time)
    }

    /// The API server's URL.
    #[must_use]
    pub fn server(&self) -> &Endpoint {
        &self.server
    }

    /// Asks `/readyz`, or `/healthz` where there is none. A member that forbids that is there: then it is asked for its version, and where that is forbidden too,
    /// for a list of one object of this type. One that forbids that as well lets nothing be read.
    pub async fn probe(&self, listed: Option<&GroupVersionResource>) -> Result<(), MemberError> {
        let check = async {
            let mut answer = match self.text("/readyz").await {
                Err(error) if error.code() == Some(404) => self.text("/healthz").await,
                other => other,
            };
            if self.forbids(&answer) {
                answer = self.text("/version").await;
            }
            match (self.forbids(&answer), listed) {
                (true, Some(resource)) => self.list_one(resource).await,
                (true, None) => Ok(()),
                (false, _) => answer.map(drop),
            }
        };
        within("answer to the health check", PROBE_TIMEOUT, check).await
    }

    /// Whether whoever is asked is the control plane, whose refusals may be its own.
    #[must_use]
    pub fn is_asked_by_control_plane(&self) -> bool {
        self.leads == Leads::ByControlPlane
    }

    /// Whether it is the member that refuses, which it is not known to be where the control plane is asked for it.
    fn forbids<T>(&self, answer: &Result<T, MemberError>) -> bool {
        let is_forbidden = answer.as_ref().is_err_and(MemberError::is_forbidden);
        is_forbidden && !self.is_asked_by_control_plane()
    }

    async fn list_one(&self, resource: &GroupVersionResource) -> Result<(), MemberError> {
        let request = ListRequest {
            resource,
            limit: 1,
            continue_token: None,
            field_selector: None,
        };
        let (client, path) = (self.connections().for_question(), request.path());
        self.outline_of(client, &path, METADATA_LIST)
            .await
            .map(drop)
    }

    /// `gitVersion` of the API server.
    pub async fn version(&self) -> Result<String, MemberError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            git_version: String,
        }
        let version: Version = self.outline("/version", JSON).await?;
        let version = Words::within(VERSION_CHARS, &version.git_version);
        Ok(version.as_str().to_owned())
    }

    /// The collection's present resourceVersion, by a list of at most one object's metadata.
    pub async fn collection_version(
        &self,
        request: &ListRequest<'_>,
    ) -> Result<String, MemberError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct List {
            metadata: ListMetadata,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ListMetadata {
            resource_version: String,
        }
        let path = request.path();
        let list: List = self.outline(&path, METADATA_LIST).await?;
        number(&path, list.metadata.resource_version)
    }

    /// How many objects a collection has, by a list of one of them: what came, and what is said to come after it. `None` where others do and the member does not
    /// say how many.
    pub async fn collection_size(
        &self,
        request: &ListRequest<'_>,
    ) -> Result<Option<u64>, MemberError> {
        #[derive(Deserialize)]
        struct List {
            metadata: ListMetadata,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ListMetadata {
            #[serde(default)]
            r#continue: String,
            remaining_item_count: Option<u64>,
        }
        let (path, client) = (request.path(), self.connections().for_question());
        let outline = self.outline_of(client, &path, METADATA_LIST).await?;
        let List { metadata } = decoded(&path, &outline)?;
        let others = match metadata.r#continue.is_empty() {
            true => Some(0),
            false => metadata.remaining_item_count,
        };
        Ok(others.map(|others| others.saturating_add(outline.items())))
    }

    /// One page of a list, as the bytes of its body.
    pub async fn list(&self, request: &ListRequest<'_>) -> Result<ByteStream, MemberError> {
        let (client, path) = (self.connections().requests.clone(), request.path());
        let answer = self.send(client, &path, JSON, BODY_SILENCE);
        let body = within("answer to the list", HEAD_TIMEOUT, answer).await?;
        Ok(body.that_is_a_page(false).heard_by(&self.heard))
    }

    /// The same, compressed with gzip if the member does that: a kube-apiserver does it with what has 128 KiB and more. The bytes are those that were unpacked.
    pub async fn list_compressed(
        &self,
        request: &ListRequest<'_>,
    ) -> Result<ByteStream, MemberError> {
        let (client, path) = (self.connections().requests.clone(), request.path());
        let answer = async {
            let mut headers = self.headers_for(&path, JSON)?;
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(GZIP));
            let response = self.ask(client, &path, headers).await?;
            let coding = Coding::of(response.headers());
            let body = body(response, BODY_SILENCE, no_words).await?;
            match coding {
                Coding::None => Ok(body.that_is_a_page(false)),
                Coding::Gzip => Ok(body.that_is_a_page(true)),
                Coding::Other => {
                    let problem = "it is compressed in another way than it may be";
                    Err(MemberError::malformed(&path, problem))
                }
            }
        };
        let body = within("answer to the list", HEAD_TIMEOUT, answer).await?;
        Ok(body.heard_by(&self.heard))
    }

    /// One page of a list of what names each object and its version, as the bytes of its body. A member that cannot leave the rest out
    /// sends whole objects.
    pub async fn list_metadata(
        &self,
        request: &ListRequest<'_>,
    ) -> Result<ByteStream, MemberError> {
        let (client, path) = (self.connections().requests.clone(), request.path());
        let answer = self.send(client, &path, METADATA_LIST, BODY_SILENCE);
        match within("answer to the list", HEAD_TIMEOUT, answer).await {
            Err(error) if error.code() == Some(NOT_ACCEPTABLE) => self.list(request).await,
            other => other.map(|body| body.heard_by(&self.heard)),
        }
    }

    /// A watch, as the bytes of its body: one JSON object per line.
    pub async fn watch(&self, request: &WatchRequest<'_>) -> Result<ByteStream, MemberError> {
        self.watch_at(&request.path(), request.timeout_seconds, JSON)
            .await
    }

    /// The same of what names each object and its version. A member that cannot leave the rest out sends whole objects.
    pub async fn watch_metadata(
        &self,
        request: &WatchRequest<'_>,
    ) -> Result<ByteStream, MemberError> {
        self.watch_at(&request.path(), request.timeout_seconds, METADATA)
            .await
    }

    /// A list that comes as the beginning of a watch, as the bytes of its body: one JSON object per line. A member that does not know such lists
    /// [refuses](MemberError::refuses_streamed_list) it.
    pub async fn list_and_watch(
        &self,
        request: &StreamedListRequest<'_>,
    ) -> Result<ByteStream, MemberError> {
        self.watch_at(&request.path(), request.timeout_seconds, JSON)
            .await
    }

    async fn watch_at(
        &self,
        path: &str,
        timeout_seconds: u32,
        accept: &str,
    ) -> Result<ByteStream, MemberError> {
        let silence = Duration::from_secs(timeout_seconds.into()) + WATCH_MARGIN;
        let (client, mut seat) = self.connections().watches.take();
        let answer = async {
            let _ahead = seat.connection().await;
            let headers = self.headers_for(path, accept)?;
            let response = self.ask_plainly(client, path, headers).await?;
            // Pings of HTTP/2 go through a tunnel, what TCP does to keep a connection alive does not.
            let breaks = match self.leads {
                Leads::Straight => true,
                Leads::ThroughTunnel => response.version() == Version::HTTP_2,
                Leads::ByControlPlane => false,
            };
            let body = body(response, silence, no_words).await?;
            seat.answered();
            Ok(body.on(seat).that_breaks(breaks).heard_by(&self.heard))
        };
        within("answer to the watch", HEAD_TIMEOUT, answer).await
    }

    /// Of a small answer what stands in its outline, decoded.
    async fn outline<T: DeserializeOwned>(
        &self,
        path: &str,
        accept: &str,
    ) -> Result<T, MemberError> {
        let client = self.connections().for_question();
        self.outline_over(client, path, accept).await
    }

    async fn outline_over<T: DeserializeOwned>(
        &self,
        client: HttpClient,
        path: &str,
        accept: &str,
    ) -> Result<T, MemberError> {
        decoded(path, &self.outline_of(client, path, accept).await?)
    }

    /// The outline of an answer. Each stream asks so at the same time, so no more than that is held of it.
    async fn outline_of(
        &self,
        client: HttpClient,
        path: &str,
        accept: &str,
    ) -> Result<Outline, MemberError> {
        let answer = async {
            let mut body = self.send(client, path, accept, BODY_SILENCE).await?;
            let (mut outline, mut length) = (Outline::default(), 0);
            while let Some(piece) = body.next().await {
                let piece = piece?;
                length += piece.len();
                if length > ANSWER_BYTES || !outline.push(&piece) {
                    let problem = "it is longer than what was asked for can be";
                    return Err(MemberError::malformed(path, problem));
                }
            }
            Ok(outline)
        };
        within("whole answer", ANSWER_TIMEOUT, answer).await
    }

    /// An answer of so many bytes at most.
    pub(crate) async fn bytes(
        &self,
        path: &str,
        limit: usize,
        holding: &Holding,
    ) -> Result<Vec<u8>, MemberError> {
        let answer = async {
            let client = self.connections().requests.clone();
            let body = self.send(client, path, JSON, BODY_SILENCE).await?;
            whole(path, body, limit, holding).await
        };
        within("whole answer", ANSWER_TIMEOUT, answer).await
    }

    /// Whether an answer is still the one of this ETag. If not nothing of it is read: for that there is a connection with larger windows.
    pub(crate) async fn is_still(
        &self,
        path: &str,
        accept: &str,
        known: &str,
    ) -> Result<bool, MemberError> {
        let headers = self.headers_unless(path, accept, Some(known))?;
        let answer = async {
            let client = self.connections().for_question();
            let response = self.ask_plainly(client, path, headers).await?;
            if response.status() == StatusCode::NOT_MODIFIED {
                return Ok(true);
            }
            let another = body(response, BODY_SILENCE, no_words).await;
            another.map(|_| false)
        };
        within("answer", ANSWER_TIMEOUT, answer).await
    }

    /// An answer and its ETag, if it has one; `None` if it is still the one of the ETag that is known.
    pub(crate) async fn bytes_unless(
        &self,
        path: &str,
        accept: &str,
        known: Option<&str>,
        holding: &Holding,
    ) -> Result<Option<(Vec<u8>, Option<String>)>, MemberError> {
        let headers = self.headers_unless(path, accept, known)?;
        let answer = async {
            let client = self.connections().requests.clone();
            let response = self.ask_plainly(client, path, headers).await?;
            if known.is_some() && response.status() == StatusCode::NOT_MODIFIED {
                return Ok(None);
            }
            let etag = etag_of(&response);
            let body = body(response, BODY_SILENCE, no_words).await?;
            let body = whole(path, body, ANSWER_BYTES, holding).await?;
            Ok(Some((body, etag)))
        };
        within("whole answer", LONG_ANSWER_TIMEOUT, answer).await
    }

    async fn text(&self, path: &str) -> Result<Vec<u8>, MemberError> {
        let headers = self.headers_for(path, "*/*")?;
        let client = self.connections().for_question();
        let response = self.ask_plainly(client, path, headers).await?;
        let body = body(response, PROBE_TIMEOUT, failed_checks).await?;
        let (bytes, _) = body.collect(ERROR_BYTES).await?;
        Ok(bytes)
    }

    async fn send(
        &self,
        client: HttpClient,
        path: &str,
        accept: &str,
        silence: Duration,
    ) -> Result<ByteStream, MemberError> {
        let headers = self.headers_for(path, accept)?;
        let response = self.ask_plainly(client, path, headers).await?;
        body(response, silence, no_words).await
    }

    fn headers_for(&self, path: &str, accept: &str) -> Result<HeaderMap, MemberError> {
        let mut headers = self.headers.clone();
        let accept = HeaderValue::from_str(accept)
            .map_err(|_| MemberError::malformed(path, "the media type is no header"))?;
        headers.insert(ACCEPT, accept);
        Ok(headers)
    }

    fn headers_unless(
        &self,
        path: &str,
        accept: &str,
        known: Option<&str>,
    ) -> Result<HeaderMap, MemberError> {
        let mut headers = self.headers_for(path, accept)?;
        if let Some(Ok(known)) = known.map(HeaderValue::from_str) {
            headers.insert(IF_NONE_MATCH, known);
        }
        Ok(headers)
    }

    /// The same of an answer that comes as it is. One that is compressed all the same would be taken for what a member says: of a watch each line for an object that is
    /// left out.
    async fn ask_plainly(
        &self,
        client: HttpClient,
        path: &str,
        headers: HeaderMap,
    ) -> Result<Response<Incoming>, MemberError> {
        let response = self.ask(client, path, headers).await?;
        let is_packed = Coding::of(response.headers()) != Coding::None;
        if is_packed && response.status().is_success() {
            let problem = "it is compressed, which nobody asked for";
            return Err(MemberError::malformed(path, problem));
        }
        Ok(response)
    }

    async fn ask(
        &self,
        mut client: HttpClient,
        path: &str,
        headers: HeaderMap,
    ) -> Result<Response<Incoming>, MemberError> {
        let uri = self
            .server
            .join(path)
            .map_err(|_| MemberError::malformed(path, "it does not make a URL"))?;
        let ready = client
            .ready()
            .await
            .map_err(|error| MemberError::unreachable(&*error))?;
        let response = ready.call(transport::get(uri, headers)).await;
        // What the client calls it before it names its cause says nothing.
        response.map_err(|error| MemberError::unreachable(error.source().unwrap_or(&*error)))
    }
}

fn decoded<T: DeserializeOwned>(path: &str, outline: &Outline) -> Result<T, MemberError> {
    serde_json::from_slice(outline.text()).map_err(|error| MemberError::undecoded(path, &error))
}

fn etag_of(response: &Response<Incoming>) -> Option<String> {
    let etag = response.headers().get(ETAG)?.to_str().ok()?;
    (etag.len() <= ETAG_BYTES).then(|| etag.to_owned())
}

/// How a body is compressed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    None,
    Gzip,
    /// In a way that nobody asked for, or in several.
    Other,
}

impl Coding {
    /// As the headers of an answer say it, in any case of letters.
    fn of(headers: &HeaderMap) -> Self {
        let mut codings = headers.get_all(CONTENT_ENCODING).iter();
        let (coding, others) = (codings.next(), codings.next());
        let Some(coding) = coding else {
            return Self::None;
        };
        let coding = coding.as_bytes().trim_ascii();
        let is = |name: &str| coding.eq_ignore_ascii_case(name.as_bytes());
        match others {
            None if is(GZIP) || is(X_GZIP) => Self::Gzip,
            None if is(IDENTITY) => Self::None,
            _ => Self::Other,
        }
    }
}

/// What is told of the body of an error that is no `Status`.
type Telling = fn(&[u8]) -> Words;

/// The body of an answer, or the error that it is.
async fn body(
    response: Response<Incoming>,
    silence: Duration,
    telling: Telling,
) -> Result<ByteStream, MemberError> {
    let (head, body) = response.into_parts();
    if head.status.is_success() {
        return Ok(ByteStream::new(body, silence));
    }
    let mut body = ByteStream::new(body, PROBE_TIMEOUT);
    if Coding::of(&head.headers) == Coding::Gzip {
        body = body.that_is_a_page(true);
    }
    Err(status_error(head.status, &head.headers, body, telling).await)
}

/// A uid or a version.
fn number(path: &str, text: String) -> Result<String, MemberError> {
    if text.len() > NUMBER_BYTES || text.contains(char::is_control) {
        return Err(MemberError::malformed(path, "a uid or version is too long"));
    }
    Ok(text)
}

async fn whole(
    path: &str,
    stream: ByteStream,
    limit: usize,
    holding: &Holding,
) -> Result<Vec<u8>, MemberError> {
    match stream.collect_for(limit, holding).await? {
        (bytes, true) => Ok(bytes),
        (_, false) => {
            let problem = format!("it is larger than {} MiB", limit >> 20);
            Err(MemberError::malformed(path, problem))
        }
    }
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

/// `identity`: an apiserver may compress each event of a watch by itself, which costs more than it saves.
fn common_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let agent = concat!("armadex/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    headers
}

async fn within<T>(
    phase: &'static str,
    after: Duration,
    work: impl Future<Output = Result<T, MemberError>>,
) -> Result<T, MemberError> {
    tokio::time::timeout(after, work)
        .await
        .unwrap_or(Err(MemberError::TimedOut { phase, after }))
}

async fn status_error(
    status: StatusCode,
    headers: &HeaderMap,
    body: ByteStream,
    telling: Telling,
) -> MemberError {
    let body = body.collect(ERROR_BYTES).await.map(|(bytes, _)| bytes);
    let said = read_status(status, &body.unwrap_or_default(), telling);
    let message = match status {
        StatusCode::TOO_MANY_REQUESTS => with_priority(&said.message, headers),
        _ => said.message,
    };
    MemberError::Status {
        code: status.as_u16(),
        message,
        retry_after: retry_after(headers),
        fresh_token: said.fresh_token,
        details: said.details.map(Box::new),
    }
}

/// What an error says.
struct Said {
    message: Words,
    fresh_token: Option<String>,
    details: Option<StatusDetails>,
}

/// The message of a `Status`, else the status in words; and what else a `Status` has. Whoever makes a PediaCluster may have us ask whatever we can
/// reach, so nothing else of an answer is told.
fn read_status(status: StatusCode, body: &[u8], telling: Telling) -> Said {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Status {
        kind: String,
        message: String,
        metadata: Option<Metadata>,
        details: Option<StatusDetails>,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        r#continue: String,
    }
    let said = serde_json::from_slice::<Status>(body).ok();
    let said = said.filter(|said| said.kind == "Status");
    let words = match &said {
        Some(said) => Words::of(&said.message),
        None => telling(body),
    };
    let message = match words.as_str() {
        "" => format!("the member answered {status}").into(),
        _ => words,
    };
    let Status {
        metadata, details, ..
    } = said.unwrap_or_default();
    let token = metadata.map(|metadata| metadata.r#continue);
    Said {
        message,
        fresh_token: token.filter(|token| !token.is_empty()),
        details,
    }
}

fn no_words(_: &[u8]) -> Words {
    Words::default()
}

/// The lines of a health check that name what failed.
fn failed_checks(body: &[u8]) -> Words {
    let text = String::from_utf8_lossy(body);
    let failed = text.lines().filter(|line| line.starts_with("[-]"));
    Words::of(&failed.collect::<Vec<_>>().join(" "))
}

/// A refusal, and which of the member's settings led to it if it says so: by priority and fairness a kube-apiserver names them with each answer.
/// [API Priority and Fairness](https://kubernetes.io/docs/concepts/cluster-administration/flow-control/#diagnostics)
fn with_priority(message: &Words, headers: &HeaderMap) -> Words {
    let named = FLOW_CONTROL.iter().filter_map(|(header, what)| {
        let uid = headers.get(*header)?.to_str().ok()?;
        let is_uid = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        let is_fit = uid.len() == UID_BYTES && uid.bytes().all(is_uid);
        is_fit.then(|| format!("{what} {uid}"))
    });
    match named.collect::<Vec<_>>().join(", ") {
        named if named.is_empty() => message.clone(),
        named => format!("{message} ({named})").into(),
    }
}

/// In seconds, as Kubernetes says it.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let asked = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let is_number = !asked.is_empty() && asked.bytes().all(|byte| byte.is_ascii_digit());
    // What is no number of this size is more than is waited for.
    let seconds = || asked.parse().map_or(LONGEST_WAIT, Duration::from_secs);
    is_number.then(|| seconds().min(LONGEST_WAIT))
}

#[cfg(test)]
mod answers;

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERED: &str = "the member answered 503 Service Unavailable";

    #[test]
    fn an_error_is_told_in_the_words_of_a_status_and_in_no_others() {
        let cases = [
            (
                r#"{"kind":"Status","message":"pods is\nforbidden"}"#,
                "pods is forbidden",
            ),
            (r#"{"kind":"Status"}"#, ANSWERED),
            (r#"{"kind":"Other","message":"a secret"}"#, ANSWERED),
            (r#"{"message":"a secret"}"#, ANSWERED),
            ("a secret", ANSWERED),
            ("[-]etcd failed\nreadyz check failed", ANSWERED),
            ("<html>nope</html>", ANSWERED),
            ("", ANSWERED),
        ];
        for (body, want) in cases {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let said = read_status(status, body.as_bytes(), no_words);
            assert_eq!(said.message.as_str(), want, "{body}");
        }
    }

    #[test]
    fn a_health_check_tells_what_failed_and_nothing_else() {
        let cases = [
            (
                "[+]ping ok\n[-]etcd failed: reason withheld\n[-]b failed\nreadyz check failed",
                "[-]etcd failed: reason withheld [-]b failed",
            ),
            ("a secret", ANSWERED),
        ];
        for (body, want) in cases {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let said = read_status(status, body.as_bytes(), failed_checks);
            assert_eq!(said.message.as_str(), want, "{body}");
        }
    }

    #[test]
    fn an_answer_that_is_not_understood_is_not_quoted() {
        for body in [
            r#""a secret""#,
            r#"{"metadata":"a secret"}"#,
            "a secret",
            "{",
        ] {
            #[derive(Debug, Deserialize)]
            struct Answer {
                #[expect(dead_code, reason = "no answer has it")]
                metadata: Vec<String>,
            }
            let error = serde_json::from_str::<Answer>(body).unwrap_err();
            let error = MemberError::undecoded("/version", &error).to_string();
            assert!(
                error.contains("/version") && error.contains("column"),
                "{error}"
            );
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_uid_or_version_is_short() {
        assert_eq!(number("/x", "42".to_owned()).unwrap(), "42");
        for bad in ["9".repeat(257), "a\nb".to_owned()] {
            assert!(number("/x", bad).is_err());
        }
    }

    #[test]
    fn an_expired_token_may_come_with_a_fresh_one() {
        let said = |body: &str| read_status(StatusCode::GONE, body.as_bytes(), no_words);
        let token = |body| said(body).fresh_token;
        let expired = r#"{"kind":"Status","metadata":{"continue":"fresh"},"code":410}"#;
        assert_eq!(token(expired).as_deref(), Some("fresh"));
        assert_eq!(token(r#"{"kind":"Status","metadata":{},"code":410}"#), None);
    }

    #[test]
    fn a_refusal_may_say_what_it_is_about() {
        let said = |body: &str| read_status(StatusCode::FORBIDDEN, body.as_bytes(), no_words);
        let object = r#"{"kind":"Status","details":{"group":"cluster.karmada.io","kind":"clusters","name":"east"}}"#;
        let details = StatusDetails {
            group: "cluster.karmada.io".into(),
            kind: "clusters".into(),
            name: "east".into(),
        };
        assert_eq!(said(object).details, Some(details));
        let path = r#"{"kind":"Status","details":{}}"#;
        assert_eq!(said(path).details, Some(StatusDetails::default()));
        for nothing in [r#"{"kind":"Status"}"#, r#"{"details":{"name":"east"}}"#] {
            assert_eq!(said(nothing).details, None, "{nothing}");
        }
    }

    #[test]
    fn a_member_may_ask_for_a_minute_at_most() {
        let mut headers = HeaderMap::new();
        assert_eq!(retry_after(&headers), None);
        let cases = [
            ("7", Some(7)),
            ("0", Some(0)),
            ("99999999", Some(60)),
            ("99999999999999999999999999", Some(60)),
            ("-7", None),
            ("", None),
            ("Fri, 31 Dec 9999 23:59:59 GMT", None),
        ];
        for (asked, seconds) in cases {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(asked));
            let want = seconds.map(Duration::from_secs);
            assert_eq!(retry_after(&headers), want, "{asked}");
        }
    }

    #[test]
    fn a_refusal_by_priority_and_fairness_names_its_level() {
        let message = Words::of("too many requests");
        let mut headers = HeaderMap::new();
        let mut said = |header: &'static str, uid: &'static str| {
            headers.insert(header, HeaderValue::from_static(uid));
            with_priority(&message, &headers).as_str().to_owned()
        };
        let [(schema, _), (level, _)] = FLOW_CONTROL;
        for nothing in ["", "a secret", "a-secret-that-is-as-long-as-a-uid-is."] {
            assert_eq!(said(level, nothing), "too many requests");
        }
        let uid = "12345678-90ab-cdef-1234-567890abcdef";
        let named = format!("too many requests (priority level {uid})");
        assert_eq!(said(level, uid), named);
        let of_both = said(schema, uid);
        let named = format!("too many requests (flow schema {uid}, priority level {uid})");
        assert_eq!(of_both, named);
    }

    #[test]
    fn who_asks_to_wait_is_told_from_who_is_away() {
        let asks = |code, retry_after: Option<u64>| {
            let error = MemberError::Status {
                code,
                message: Words::default(),
                retry_after: retry_after.map(Duration::from_secs),
                fresh_token: None,
                details: None,
            };
            error.asks_to_wait().map(|wait| wait.as_secs())
        };
        assert_eq!([asks(429, None), asks(429, Some(5))], [Some(0), Some(5)]);
        assert_eq!([asks(503, None), asks(503, Some(5))], [None, Some(5)]);
        assert_eq!(asks(500, Some(5)), None);
    }
}
