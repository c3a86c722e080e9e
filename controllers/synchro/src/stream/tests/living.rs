//! A member that lives: objects come, change and go, lists have them as they were at one version, and watches tell what happened since,
//! but for what a test has it keep to itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use armadex_member::Member;
use tokio::io::{AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::Notify;

use super::member::IDENTITY;
use crate::testing::request::{Request, through_pipes};

/// The objects by name, each with its version and its size.
type Objects = BTreeMap<String, (u64, usize)>;
/// Called before each page is made.
type Meanwhile = Box<dyn FnMut(&mut Life) + Send>;

#[derive(Clone)]
pub(super) struct LivingMember {
    script: Arc<Script>,
}

struct Script {
    life: Mutex<Life>,
    meanwhile: Mutex<Option<Meanwhile>>,
    happened: Notify,
}

/// What is there and what happened.
pub(super) struct Life {
    revision: u64,
    objects: Objects,
    /// Lines of watches and the revisions that they lead to.
    told: Vec<(u64, String)>,
    /// Collections that were listed, by their version.
    listed: BTreeMap<u64, Objects>,
    /// Objects on a page.
    page: usize,
    /// How it answers who asks for metadata alone.
    metadata: Metadata,
    /// Whether it says how far a collection is.
    says_version: bool,
    /// So many pages that go on are refused: their tokens have expired.
    expires: usize,
    /// So many pages are put off.
    puts_off: usize,
    /// `list`, `metadata`, each a page; `watch`.
    requests: Vec<&'static str>,
}

/// What is done for those who ask for metadata alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Metadata {
    Alone,
    WholeObjects,
    Refused,
    /// Nothing, for ever.
    Hangs,
}

impl Life {
    /// An object comes or changes.
    pub(super) fn put(&mut self, name: &str) {
        let kind = self.put_silently(name);
        self.tell(kind, name);
    }

    /// The same, and no watch tells it.
    pub(super) fn put_silently(&mut self, name: &str) -> &'static str {
        self.put_with(name, 0)
    }

    /// An object of a size that no watch tells of.
    pub(super) fn put_with(&mut self, name: &str, size: usize) -> &'static str {
        self.revision += 1;
        let state = (self.revision, size);
        match self.objects.insert(name.to_owned(), state) {
            None => "ADDED",
            Some(_) => "MODIFIED",
        }
    }

    /// An object goes.
    pub(super) fn delete(&mut self, name: &str) {
        let object = self.objects.get(name).copied();
        self.delete_silently(name);
        let (_, size) = object.expect("an object");
        let line = event("DELETED", &whole(name, (self.revision, size)));
        self.told.push((self.revision, line));
    }

    /// The same, and no watch tells it.
    pub(super) fn delete_silently(&mut self, name: &str) {
        self.revision += 1;
        assert!(self.objects.remove(name).is_some());
    }

    /// Something else happens in this cluster.
    pub(super) fn pass_on(&mut self) {
        self.revision += 1;
    }

    /// Watches are told how far they are.
    pub(super) fn bookmark(&mut self) {
        let version = self.revision;
        let object = format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#);
        self.told.push((version, event("BOOKMARK", &object)));
    }

    pub(super) fn says_version(&mut self, says: bool) {
        self.says_version = says;
    }

    /// The tokens of so many pages have expired by the time that they are asked for.
    pub(super) fn expires(&mut self, pages: usize) {
        self.expires = pages;
    }

    /// It has too much to do for so many pages.
    pub(super) fn puts_off(&mut self, pages: usize) {
        self.puts_off = pages;
    }

    pub(super) fn answers_metadata(&mut self, metadata: Metadata) {
        self.metadata = metadata;
    }

    /// `namespace/name@version` of all.
    pub(super) fn shown(&self) -> Vec<String> {
        let one = |(name, (version, _)): (&String, &(u64, usize))| format!("n/{name}@{version}");
        self.objects.iter().map(one).collect()
    }

    /// How often something was asked for.
    pub(super) fn asked_for(&self, what: &str) -> usize {
        let requests = self.requests.iter();
        requests.filter(|request| **request == what).count()
    }

    fn tell(&mut self, kind: &str, name: &str) {
        let state = self.objects[name];
        self.told
            .push((self.revision, event(kind, &whole(name, state))));
    }

    /// Refuses a token for one of the present version.
    fn refuse(&mut self, token: &str) -> String {
        self.expires -= 1;
        let (_, from) = token.split_once('.').unwrap();
        let fresh = format!("{}.{from}", self.revision);
        format!(
            r#"{{"kind":"Status","code":410,"reason":"Expired","metadata":{{"continue":"{fresh}"}}}}"#
        )
    }

    /// A page and its token, `VERSION.PLACE`.
    fn page(&mut self, token: Option<&str>, alone: bool) -> String {
        let (version, from) = match token.and_then(|token| token.split_once('.')) {
            Some((version, from)) => (version.parse().unwrap(), from.parse().unwrap()),
            None => (self.revision, 0),
        };
        let objects = self.listed.entry(version);
        let objects = objects.or_insert_with(|| self.objects.clone());
        let item = |(name, state): (&String, &(u64, usize))| match alone {
            true => metadata(name, state.0),
            false => whole(name, *state),
        };
        let items: Vec<String> = objects
            .iter()
            .skip(from)
            .take(self.page)
            .map(item)
            .collect();
        let to = from + items.len();
        let token = match to < objects.len() {
            true => format!("{version}.{to}"),
            false => String::new(),
        };
        format!(
            r#"{{"metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[{}]}}"#,
            items.join(",")
        )
    }
}

fn metadata(name: &str, version: u64) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"u-{name}","resourceVersion":"{version}"}}}}"#
    )
}

fn whole(name: &str, (version, size): (u64, usize)) -> String {
    let metadata = metadata(name, version);
    let rest = &metadata[1..];
    format!(r#"{{"spec":{{"text":"{}"}},{rest}"#, "x".repeat(size))
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

impl LivingMember {
    /// A member with these objects, of which it gives two on a page.
    pub(super) fn with(names: &[&str]) -> Self {
        let mut life = Life {
            revision: 100,
            objects: Objects::new(),
            told: Vec::new(),
            listed: BTreeMap::new(),
            page: 2,
            metadata: Metadata::Alone,
            says_version: true,
            expires: 0,
            puts_off: 0,
            requests: Vec::new(),
        };
        for name in names {
            life.put(name);
        }
        let script = Script {
            life: Mutex::new(life),
            meanwhile: Mutex::default(),
            happened: Notify::new(),
        };
        Self {
            script: Arc::new(script),
        }
    }

    /// Lives, or is looked at.
    pub(super) fn lives<T>(&self, life: impl FnOnce(&mut Life) -> T) -> T {
        let lived = life(&mut self.script.life.lock().unwrap());
        self.script.happened.notify_waiters();
        lived
    }

    /// What happens whenever a page is asked for.
    pub(super) fn meanwhile(&self, life: impl FnMut(&mut Life) + Send + 'static) {
        *self.script.meanwhile.lock().unwrap() = Some(Box::new(life));
    }

    pub(super) fn connect(&self) -> Arc<Member> {
        let script = Arc::clone(&self.script);
        through_pipes(move |pipe| drop(tokio::spawn(serve(pipe, Arc::clone(&script)))))
    }
}

/// One request per connection.
async fn serve(pipe: DuplexStream, script: Arc<Script>) {
    let mut socket = BufReader::new(pipe);
    let Request { path, fields } = Request::read(&mut socket).await;
    let asks_alone = |line: &String| line.contains("PartialObjectMetadataList");
    let alone = fields.iter().any(asks_alone);
    let head = "transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    if let Some(version) =
        parameter(&path, "watch").and_then(|_| parameter(&path, "resourceVersion"))
    {
        let head = format!("HTTP/1.1 200 OK\r\n{head}");
        let _ = socket.write_all(head.as_bytes()).await;
        script.life.lock().unwrap().requests.push("watch");
        return script.watch(&mut socket, version.parse().unwrap()).await;
    }
    if path.is_empty() {
        return;
    }
    let (status, body) = script.answer(&path, alone);
    if alone && script.life.lock().unwrap().metadata == Metadata::Hangs {
        std::future::pending::<()>().await;
    }
    let text = format!(
        "HTTP/1.1 {status} X\r\n{head}{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    // Whoever asked may have gone.
    let _ = socket.write_all(text.as_bytes()).await;
}

fn parameter<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = path.split_once('?')?;
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

impl Script {
    fn answer(&self, path: &str, alone: bool) -> (u16, String) {
        if path.ends_with("/namespaces/kube-system") {
            return (200, format!(r#"{{"metadata":{{"uid":"{IDENTITY}"}}}}"#));
        }
        let mut life = self.life.lock().unwrap();
        if parameter(path, "limit") == Some("1") {
            let version = life.revision;
            let body = format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#);
            return if life.says_version {
                (200, body)
            } else {
                (500, "{}".to_owned())
            };
        }
        if alone && life.metadata == Metadata::Refused {
            return (406, r#"{"kind":"Status","message":"only JSON"}"#.to_owned());
        }
        life.requests.push(if alone { "metadata" } else { "list" });
        if life.puts_off > 0 {
            life.puts_off -= 1;
            return (429, "Too many requests".to_owned());
        }
        if let Some(meanwhile) = &mut *self.meanwhile.lock().unwrap() {
            meanwhile(&mut life);
            self.happened.notify_waiters();
        }
        let alone = alone && life.metadata == Metadata::Alone;
        match parameter(path, "continue") {
            Some(token) if life.expires > 0 => (410, life.refuse(token)),
            token => (200, life.page(token, alone)),
        }
    }

    async fn watch(&self, socket: &mut BufReader<DuplexStream>, from: u64) {
        let mut next = 0;
        loop {
            let mut happened = std::pin::pin!(self.happened.notified());
            happened.as_mut().enable();
            let lines: String = {
                let life = self.life.lock().unwrap();
                let told = life.told.iter().skip(next);
                let told = told.filter(|(revision, _)| *revision > from);
                let lines = told.map(|(_, line)| line.as_str()).collect();
                next = life.told.len();
                lines
            };
            let chunk = format!("{:x}\r\n{lines}\r\n", lines.len());
            if !lines.is_empty() && socket.write_all(chunk.as_bytes()).await.is_err() {
                return;
            }
            happened.await;
        }
    }
}
