//! A member that answers as a test says: for what a real one can hardly be made to do on purpose. It is reached through pipes, so a
//! test may stop the clock.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use armadex_member::Member;
use tokio::io::{AsyncWriteExt, BufReader, DuplexStream};

use crate::testing::request::{Request, through_pipes, through_pipes_of_a_proxy};

/// Who it is, unless a test says otherwise.
pub(super) const IDENTITY: &str = "member-uid";

pub(super) struct FakeMember {
    script: Arc<Script>,
}

/// Answers a request for a list or a watch, given as [`FakeMember::requests`] tells it.
type Rule = Box<dyn Fn(&str) -> Answer + Send + Sync>;

#[derive(Default)]
struct Script {
    /// Answers what was not scripted.
    rule: Mutex<Option<Arc<Rule>>>,
    lists: Mutex<VecDeque<Answer>>,
    watches: Mutex<VecDeque<Answer>>,
    /// The collection's present version.
    present: Mutex<String>,
    /// How many objects it has, where it says so.
    size: Mutex<Option<u64>>,
    /// Kinds of which it does not say how far they are, nor that it won't.
    hanging: Mutex<Vec<String>>,
    identity: Mutex<String>,
    /// The code with which it refuses to say that; 0: it says it.
    refuses_identity: AtomicU16,
    /// The uid of its Service `default/kubernetes`; empty: it does not let that be read.
    service: Mutex<String>,
    requests: Mutex<Vec<String>>,
    /// All requests, checks included.
    asked: AtomicUsize,
    /// Those for its identity.
    identified: AtomicUsize,
}

/// One answer: status, body, and what comes after it.
pub(super) struct Answer {
    status: u16,
    /// How long it asks to be left alone, in a header.
    retry_after: Option<&'static str>,
    /// What its clock shows; empty: it does not say.
    date: &'static str,
    body: String,
    /// What else of it comes, and after which time.
    parts: Vec<(Duration, Arc<str>)>,
    then: Then,
    after: Duration,
}

/// What comes after a body.
#[derive(Clone, Copy)]
enum Then {
    /// Its proper end, after a while.
    End(Duration),
    /// The same, at the time that was asked for.
    EndInTime,
    /// The connection breaks, after a while.
    Break(Duration),
    /// A blank now and then, for ever.
    Trickle(Duration),
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
            retry_after: None,
            date: "",
            body: body.into(),
            parts: Vec::new(),
            then: Then::End(Duration::ZERO),
            after: Duration::ZERO,
        }
    }

    /// It asks to be left alone, with this code and for so many seconds.
    pub(super) fn wait(status: u16, seconds: &'static str) -> Self {
        Self {
            retry_after: Some(seconds),
            ..Self::status(status, "Too many requests, please try again later.")
        }
    }

    /// No answer, for ever.
    pub(super) fn never() -> Self {
        Self::ok("").that_comes_after(Duration::MAX)
    }

    pub(super) fn that_comes_after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    pub(super) fn that_ends_after(self, after: Duration) -> Self {
        Self {
            then: Then::End(after),
            ..self
        }
    }

    pub(super) fn that_ends_in_time(self) -> Self {
        Self {
            then: Then::EndInTime,
            ..self
        }
    }

    /// More of the body comes, after a while.
    pub(super) fn and_then(mut self, after: Duration, part: &str) -> Self {
        self.parts.push((after, part.into()));
        self
    }

    /// The same so many times, one after the other.
    pub(super) fn and_then_times(mut self, times: usize, after: Duration, part: &str) -> Self {
        let part: Arc<str> = part.into();
        let parts = std::iter::repeat_n((after, part), times);
        self.parts.extend(parts);
        self
    }

    /// By a clock that shows this.
    pub(super) fn dated(self, date: &'static str) -> Self {
        Self { date, ..self }
    }

    /// From this text on the body comes after a while.
    pub(super) fn that_pauses_before(mut self, text: &str, pause: Duration) -> Self {
        let at = self.body.find(text).expect("it is in there");
        let rest = self.body.split_off(at);
        self.and_then(pause, &rest)
    }

    pub(super) fn that_breaks(self) -> Self {
        self.that_breaks_after(Duration::ZERO)
    }

    pub(super) fn that_breaks_after(self, after: Duration) -> Self {
        Self {
            then: Then::Break(after),
            ..self
        }
    }

    pub(super) fn that_trickles_every(self, period: Duration) -> Self {
        Self {
            then: Then::Trickle(period),
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
    pub(super) fn start() -> Self {
        let script = Arc::new(Script::default());
        *script.identity.lock().unwrap() = IDENTITY.to_owned();
        *script.present.lock().unwrap() = "1000".to_owned();
        Self { script }
    }

    pub(super) fn connect(&self) -> Arc<Member> {
        let script = Arc::clone(&self.script);
        through_pipes(move |pipe| drop(tokio::spawn(serve(pipe, Arc::clone(&script)))))
    }

    pub(super) fn connect_behind_a_proxy(&self) -> Arc<Member> {
        let script = Arc::clone(&self.script);
        through_pipes_of_a_proxy(move |pipe| drop(tokio::spawn(serve(pipe, Arc::clone(&script)))))
    }

    /// Answers by `rule` what is not scripted.
    pub(super) fn answers_by(&self, rule: impl Fn(&str) -> Answer + Send + Sync + 'static) {
        *self.script.rule.lock().unwrap() = Some(Arc::new(Box::new(rule)));
    }

    pub(super) fn lists(&self, answers: impl IntoIterator<Item = Answer>) {
        self.script.lists.lock().unwrap().extend(answers);
    }

    pub(super) fn watches(&self, answers: impl IntoIterator<Item = Answer>) {
        self.script.watches.lock().unwrap().extend(answers);
    }

    /// How far it is; empty: it does not let that be read.
    pub(super) fn set_present(&self, version: &str) {
        *self.script.present.lock().unwrap() = version.to_owned();
    }

    /// Who asks how far one of these kinds is waits for ever.
    pub(super) fn hangs_when_asked_for(&self, kinds: impl IntoIterator<Item = String>) {
        self.script.hanging.lock().unwrap().extend(kinds);
    }

    /// It says that it has so many objects.
    pub(super) fn set_size(&self, size: u64) {
        *self.script.size.lock().unwrap() = Some(size);
    }

    pub(super) fn set_identity(&self, uid: &str) {
        *self.script.identity.lock().unwrap() = uid.to_owned();
    }

    /// The code of its answer to whoever asks for the uid of its namespace; 0: it says it.
    pub(super) fn refuses_identity(&self, code: u16) {
        self.script.refuses_identity.store(code, Ordering::Relaxed);
    }

    /// The uid of its Service, which may be read from now on.
    pub(super) fn tells_service(&self, uid: &str) {
        *self.script.service.lock().unwrap() = uid.to_owned();
    }

    /// The requests so far: `list`, `list:TOKEN`, `watch@VERSION`, `list+watch` of a list that is to come as the beginning of a watch; `list/LIMIT` if it is not the usual one; `gzip` if it may be compressed.
    pub(super) fn requests(&self) -> Vec<String> {
        self.script.requests.lock().unwrap().clone()
    }

    /// How many requests there were, checks included.
    pub(super) fn asked(&self) -> usize {
        self.script.asked.load(Ordering::Relaxed)
    }

    /// How often it was asked who it is.
    pub(super) fn identified(&self) -> usize {
        self.script.identified.load(Ordering::Relaxed)
    }
}

/// One request per connection.
async fn serve(pipe: DuplexStream, script: Arc<Script>) {
    let mut socket = BufReader::new(pipe);
    let request = Request::read(&mut socket).await;
    let is_packed = request.values("accept-encoding: ").any(|how| how == "gzip");
    let path = request.path;
    if path.is_empty() {
        // A connection that was opened for a request that was then given up.
        return;
    }
    let answer = script.answer(&path, is_packed);
    tokio::time::sleep(answer.after).await;
    let retry_after = answer.retry_after;
    let retry_after = retry_after.map(|seconds| format!("retry-after: {seconds}\r\n"));
    let date = match answer.date {
        "" => String::new(),
        date => format!("date: {date}\r\n"),
    };
    let mut text = format!(
        "HTTP/1.1 {} X\r\n{date}{}transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        answer.status,
        retry_after.unwrap_or_default()
    );
    if !answer.body.is_empty() {
        text += &format!("{:x}\r\n{}\r\n", answer.body.len(), answer.body);
    }
    // Whoever asked may have gone.
    let _ = socket.write_all(text.as_bytes()).await;
    for (after, part) in answer.parts {
        tokio::time::sleep(after).await;
        let chunk = format!("{:x}\r\n{part}\r\n", part.len());
        let _ = socket.write_all(chunk.as_bytes()).await;
    }
    let in_time = parameter(&path, "timeoutSeconds").and_then(|seconds| seconds.parse().ok());
    let in_time = in_time.map(Duration::from_secs);
    match answer.then {
        Then::EndInTime => {
            tokio::time::sleep(in_time.expect("a watch")).await;
            let _ = socket.write_all(b"0\r\n\r\n").await;
        }
        // No member keeps a watch for longer than it was told to.
        Then::End(after) => {
            tokio::time::sleep(in_time.map_or(after, |in_time| after.min(in_time))).await;
            let _ = socket.write_all(b"0\r\n\r\n").await;
        }
        Then::Break(after) => tokio::time::sleep(after).await,
        Then::Trickle(period) => {
            while socket.write_all(b"1\r\n \r\n").await.is_ok() {
                tokio::time::sleep(period).await;
            }
        }
        Then::Silence => std::future::pending().await,
    }
}

/// A list of the first of so many objects. Who does not say how many there are says that there are others.
fn one_of(size: Option<u64>, version: &str) -> String {
    let (items, others) = match size {
        Some(0) => ("", String::new()),
        Some(1) => ("{}", String::new()),
        Some(size) => (
            "{}",
            format!(r#","continue":"next","remainingItemCount":{}"#, size - 1),
        ),
        None => ("{}", r#","continue":"next""#.to_owned()),
    };
    format!(r#"{{"metadata":{{"resourceVersion":"{version}"{others}}},"items":[{items}]}}"#)
}

fn parameter<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = path.split_once('?')?;
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

impl Script {
    fn answer(&self, path: &str, is_packed: bool) -> Answer {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let parameter = |name: &str| parameter(path, name);
        if path.ends_with("/namespaces/kube-system") {
            self.identified.fetch_add(1, Ordering::Relaxed);
            let refusal = self.refuses_identity.load(Ordering::Relaxed);
            if refusal != 0 {
                return Answer::status(refusal, r#"{"kind":"Status","message":"no"}"#);
            }
            let uid = self.identity.lock().unwrap().clone();
            return Answer::ok(format!(r#"{{"metadata":{{"uid":"{uid}"}}}}"#));
        }
        let service = self.service.lock().unwrap().clone();
        if path.contains("/namespaces/default/services?") && !service.is_empty() {
            return Answer::ok(format!(
                r#"{{"metadata":{{}},"items":[{{"metadata":{{"name":"kubernetes","uid":"{service}"}}}}]}}"#
            ));
        }
        if parameter("limit") == Some("1") {
            let is_of = |kind: &String| path.contains(&format!("/{kind}?"));
            if self.hanging.lock().unwrap().iter().any(is_of) {
                return Answer::never();
            }
            let version = self.present.lock().unwrap().clone();
            if version.is_empty() {
                let refusal = r#"{"kind":"Status","code":403,"message":"pods is forbidden"}"#;
                return Answer::status(403, refusal);
            }
            let size = *self.size.lock().unwrap();
            return Answer::ok(one_of(size, &version));
        }
        let is_streamed = parameter("sendInitialEvents").is_some();
        let watched = parameter("watch").and_then(|_| parameter("resourceVersion"));
        let list = match parameter("limit") {
            _ if is_packed => "gzip".to_owned(),
            None | Some("500") => "list".to_owned(),
            Some(limit) => format!("list/{limit}"),
        };
        let (mut request, queue) = match (watched, parameter("continue")) {
            (Some(version), _) => (format!("watch@{version}"), &self.watches),
            (None, None) if is_streamed => ("list+watch".to_owned(), &self.lists),
            (None, Some(token)) => (format!("{list}:{token}"), &self.lists),
            (None, None) => (list, &self.lists),
        };
        if parameter("fieldSelector").is_some() {
            request.push_str(" selecting");
        }
        let scripted = queue.lock().unwrap().pop_front();
        let rule = self.rule.lock().unwrap().clone();
        let ruled = || rule.map(|rule| rule(&request));
        let answer = scripted.or_else(ruled);
        self.requests.lock().unwrap().push(request);
        answer.unwrap_or_else(|| Answer::ok("").that_stays_open())
    }
}
