//! A member that answers as a test says: for what a real one can hardly be made to do on purpose.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use armadex_member::{Connection, Endpoint, Member, Trust};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// Who it is, unless a test says otherwise.
pub(super) const IDENTITY: &str = "member-uid";

pub(super) struct FakeMember {
    script: Arc<Script>,
    address: String,
    _task: AbortOnDropHandle<()>,
}

#[derive(Default)]
struct Script {
    lists: Mutex<VecDeque<Answer>>,
    watches: Mutex<VecDeque<Answer>>,
    /// The collection's present version.
    present: Mutex<String>,
    identity: Mutex<String>,
    requests: Mutex<Vec<String>>,
}

/// One answer: status, body, and what comes after it.
pub(super) struct Answer {
    status: u16,
    body: String,
    then: Then,
}

/// What comes after a body.
#[derive(Clone, Copy)]
enum Then {
    /// Its proper end.
    End,
    /// The connection breaks.
    Break,
    /// Nothing, for ever.
    Silence,
}

impl Answer {
    pub(super) fn ok(body: impl Into<String>) -> Self {
        Self::status(200, body)
    }

    pub(super) fn status(status: u16, body: impl Into<String>) -> Self {
        Self {
            status,
            body: body.into(),
            then: Then::End,
        }
    }

    pub(super) fn that_breaks(self) -> Self {
        Self {
            then: Then::Break,
            ..self
        }
    }

    pub(super) fn that_stays_open(self) -> Self {
        Self {
            then: Then::Silence,
            ..self
        }
    }
}

impl FakeMember {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Script::default());
        *script.identity.lock().unwrap() = IDENTITY.to_owned();
        *script.present.lock().unwrap() = "1000".to_owned();
        let task = tokio::spawn(accept(listener, Arc::clone(&script)));
        Self {
            script,
            address,
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(super) fn connect(&self) -> Arc<Member> {
        // Plain HTTP needs no provider, but the TLS configuration is made all the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let connection = Connection {
            server: Endpoint::parse("test", &self.address).unwrap(),
            trust: Trust::Anyone,
            server_name: None,
            token: None,
            certificate: None,
            proxy: None,
        };
        Arc::new(Member::new(&connection).unwrap())
    }

    pub(super) fn lists(&self, answers: impl IntoIterator<Item = Answer>) {
        self.script.lists.lock().unwrap().extend(answers);
    }

    pub(super) fn watches(&self, answers: impl IntoIterator<Item = Answer>) {
        self.script.watches.lock().unwrap().extend(answers);
    }

    pub(super) fn set_present(&self, version: &str) {
        *self.script.present.lock().unwrap() = version.to_owned();
    }

    pub(super) fn set_identity(&self, uid: &str) {
        *self.script.identity.lock().unwrap() = uid.to_owned();
    }

    /// The requests so far: `list`, `list:TOKEN`, `watch@VERSION`.
    pub(super) fn requests(&self) -> Vec<String> {
        self.script.requests.lock().unwrap().clone()
    }
}

async fn accept(listener: TcpListener, script: Arc<Script>) {
    let mut connections = Vec::new();
    while let Ok((socket, _)) = listener.accept().await {
        let serving = tokio::spawn(serve(socket, Arc::clone(&script)));
        connections.push(AbortOnDropHandle::new(serving));
    }
}

/// One request per connection.
async fn serve(socket: TcpStream, script: Arc<Script>) {
    let mut socket = BufReader::new(socket);
    let mut path = String::new();
    loop {
        let mut line = String::new();
        if socket.read_line(&mut line).await.unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if path.is_empty() {
            path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        }
    }
    if path.is_empty() {
        // A connection that was opened for a request that was then given up.
        return;
    }
    let answer = script.answer(&path);
    let head = format!(
        "HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        answer.status
    );
    let mut text = head;
    if !answer.body.is_empty() {
        text += &format!("{:x}\r\n{}\r\n", answer.body.len(), answer.body);
    }
    if matches!(answer.then, Then::End) {
        text += "0\r\n\r\n";
    }
    // Whoever asked may have gone.
    let _ = socket.write_all(text.as_bytes()).await;
    let _ = socket.flush().await;
    if matches!(answer.then, Then::Silence) {
        std::future::pending::<()>().await;
    }
}

impl Script {
    fn answer(&self, path: &str) -> Answer {
        let parameter = |name: &str| {
            let (_, query) = path.split_once('?')?;
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        if path.ends_with("/namespaces/kube-system") {
            let uid = self.identity.lock().unwrap().clone();
            return Answer::ok(format!(r#"{{"metadata":{{"uid":"{uid}"}}}}"#));
        }
        if parameter("limit") == Some("1") {
            let version = self.present.lock().unwrap().clone();
            return Answer::ok(format!(
                r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#
            ));
        }
        let watched = parameter("watch").and_then(|_| parameter("resourceVersion"));
        let (request, queue) = match (watched, parameter("continue")) {
            (Some(version), _) => (format!("watch@{version}"), &self.watches),
            (None, Some(token)) => (format!("list:{token}"), &self.lists),
            (None, None) => ("list".to_owned(), &self.lists),
        };
        self.requests.lock().unwrap().push(request);
        let scripted = queue.lock().unwrap().pop_front();
        scripted.unwrap_or_else(|| Answer::ok("").that_stays_open())
    }
}
