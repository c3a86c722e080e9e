//! Members that are made beforehand: pods as they are sent lie in memory, so that playing the members costs little but TLS. No sockets.
//!
//! As a kube-apiserver they tell a watch what came after its version, in order, and say that a version is gone which they do not remember any
//! more. A list shows what is there when its page is asked for: they are compared with nothing while they change.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::Result;
use armadex_e2e::seed;
use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use crate::seeded::{find, with_first};
use crate::served::body::Body;
use crate::served::discovery::{discovery, resource};
use crate::served::{coded, refusal, whole};

/// Where versions begin: they are overwritten in place, so all have as many digits.
const FIRST: u64 = 1_000_000_000;
const DIGITS: usize = 10;
/// Changes that are remembered.
const PAST: usize = 100_000;
/// Lines that a watch may be behind; then whoever changes something waits.
const LINES: usize = 256;

/// All members.
pub(super) struct Stock {
    members: Vec<Member>,
    pub(super) asked: Asked,
}

/// What was asked of all of them so far.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Lists of whole objects that began.
    pub(super) lists: AtomicU64,
    /// Requests of any kind.
    pub(super) requests: AtomicU64,
}

struct Member {
    state: Mutex<State>,
    /// Held by whoever changes something until that is told: events come in the order of their versions.
    turn: tokio::sync::Mutex<()>,
    uid: String,
}

struct State {
    version: u64,
    pods: Vec<Pod>,
    past: VecDeque<(u64, usize)>,
    watch: Option<mpsc::Sender<Bytes>>,
}

struct Pod {
    text: Vec<u8>,
    /// Where its version stands, in its metadata and in what changes with it.
    slots: [usize; 2],
    /// Where its metadata ends.
    metadata: usize,
}

/// A change that was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changed {
    pub(super) version: u64,
    pub(super) at: Instant,
}

/// A page that is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Page {
    pub(super) start: usize,
    pub(super) limit: usize,
    /// Whether whole objects are asked for.
    pub(super) whole: bool,
}

impl Stock {
    /// So many members with so many pods each.
    pub(super) fn new(members: usize, pods: usize) -> Result<Self> {
        let members = (0..members).map(|number| Member::new(number, pods));
        Ok(Self {
            members: members.collect::<Result<_>>()?,
            asked: Asked::default(),
        })
    }

    /// How many members there are.
    pub(super) fn members(&self) -> usize {
        self.members.len()
    }

    /// How many pods there are, of all members.
    pub(super) fn pods(&self) -> usize {
        self.members
            .iter()
            .map(|member| member.lock().pods.len())
            .sum()
    }

    /// Members whose pods are watched now.
    pub(super) fn watched(&self) -> usize {
        let is_open = |member: &&Member| {
            let watch = &member.lock().watch;
            watch.as_ref().is_some_and(|lines| !lines.is_closed())
        };
        self.members.iter().filter(is_open).count()
    }

    /// The namespace and the name of a pod.
    pub(super) fn named(&self, member: usize, pod: usize) -> Result<(String, String)> {
        #[derive(Deserialize)]
        struct Read {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        struct Metadata {
            namespace: String,
            name: String,
        }
        let state = self.members[member].lock();
        let Read { metadata } = serde_json::from_slice(&state.pods[pod].text)?;
        Ok((metadata.namespace, metadata.name))
    }

    /// Changes a pod, which is told when there is room for it.
    pub(super) async fn change(&self, member: usize, pod: usize) -> Changed {
        let member = &self.members[member];
        let _turn = member.turn.lock().await;
        let at = Instant::now();
        let (version, line, watch) = member.lock().change(pod);
        if let Some(watch) = watch {
            // Whoever does not listen any more asks again from its version on.
            let _ = watch.send(line).await;
        }
        Changed { version, at }
    }

    /// What tells whose objects these are.
    pub(super) fn identity(&self, member: usize) -> Response<Body> {
        let metadata = json!({"name": "kube-system", "uid": self.members[member].uid});
        whole(json!({"metadata": metadata}).to_string())
    }

    /// A page of the pods.
    pub(super) fn page(&self, member: usize, page: Page) -> Response<Body> {
        if page.whole && page.start == 0 {
            self.asked.lists.fetch_add(1, Ordering::Relaxed);
        }
        whole(self.members[member].lock().page(page))
    }

    /// What comes after this version.
    pub(super) fn watch(&self, member: usize, version: u64) -> Response<Body> {
        match self.members[member].lock().watch(version) {
            Some(lines) => coded(StatusCode::OK, Body::Watch(lines)),
            None => refusal(StatusCode::GONE, "Expired", "too old resource version"),
        }
    }
}

/// What `/api` tells, and what `/apis` does.
pub(super) fn types() -> [String; 2] {
    let pods = resource("pods", "Pod", "Namespaced");
    let namespaces = resource("namespaces", "Namespace", "Cluster");
    [
        discovery("", &[pods, namespaces]),
        discovery("bench.armadex.dev", &[]),
    ]
}

impl Member {
    fn new(number: usize, pods: usize) -> Result<Self> {
        let name = format!("member{number}");
        let pods = seed::pods(&name, pods, 1)
            .map(|pod| Pod::new(&pod))
            .collect::<Result<_>>()?;
        let state = State {
            version: FIRST,
            pods,
            past: VecDeque::new(),
            watch: None,
        };
        Ok(Self {
            state: Mutex::new(state),
            turn: tokio::sync::Mutex::default(),
            uid: format!("{number:08x}-0000-4000-8000-000000000000"),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn change(&mut self, pod: usize) -> (u64, Bytes, Option<mpsc::Sender<Bytes>>) {
        self.version += 1;
        self.pods[pod].set_version(self.version);
        if self.past.len() == PAST {
            self.past.pop_front();
        }
        self.past.push_back((self.version, pod));
        (self.version, self.pods[pod].event(), self.watch.clone())
    }

    fn page(&self, page: Page) -> Vec<u8> {
        let end = self.pods.len().min(page.start.saturating_add(page.limit));
        let token = match end < self.pods.len() {
            true => end.to_string(),
            false => String::new(),
        };
        let version = self.version;
        let head = format!(
            r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":["#
        );
        let mut text = head.into_bytes();
        for (index, pod) in self
            .pods
            .get(page.start..end)
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            if index > 0 {
                text.push(b',');
            }
            match page.whole {
                true => text.extend_from_slice(&pod.text),
                false => {
                    text.extend_from_slice(&pod.text[..pod.metadata]);
                    text.push(b'}');
                }
            }
        }
        text.extend_from_slice(b"]}");
        text
    }

    /// `None` if what came next is forgotten. An object that changed twice since comes once, as it is now, in the place of its last change.
    fn watch(&mut self, version: u64) -> Option<mpsc::Receiver<Bytes>> {
        let forgotten = self.version - self.past.len() as u64;
        if version < forgotten {
            return None;
        }
        let missed = self.past.iter().filter(|(at, _)| *at > version);
        let missed: Vec<_> = missed
            .filter(|(at, pod)| self.pods[*pod].version() == *at)
            .map(|(_, pod)| self.pods[*pod].event())
            .collect();
        let (watch, lines) = mpsc::channel(LINES + missed.len());
        for line in missed {
            // There is room for all of them.
            let _ = watch.try_send(line);
        }
        self.watch = Some(watch);
        Some(lines)
    }
}

impl Pod {
    fn new(made: &[u8]) -> Result<Self> {
        let version = format!(r#""resourceVersion":"{FIRST}","#);
        let message = format!(r#""message":"{FIRST}","#);
        let text = with_first(made, r#""metadata":{"#, &version)?;
        let text = with_first(&text, r#""status":{"#, &message)?;
        let after = |member: &str| find(&text, member).map(|at| at + member.len());
        Ok(Self {
            slots: [
                after(r#""resourceVersion":""#)?,
                after(r#""status":{"message":""#)?,
            ],
            metadata: find(&text, r#","spec":{"#)?,
            text,
        })
    }

    fn set_version(&mut self, version: u64) {
        let digits = version.to_string();
        for slot in self.slots {
            self.text[slot..slot + DIGITS].copy_from_slice(digits.as_bytes());
        }
    }

    fn version(&self) -> u64 {
        let digits = &self.text[self.slots[0]..][..DIGITS];
        let digits = digits.iter().map(|digit| u64::from(digit - b'0'));
        digits.fold(0, |number, digit| number * 10 + digit)
    }

    fn event(&self) -> Bytes {
        [br#"{"type":"MODIFIED","object":"#, &self.text[..], b"}\n"]
            .concat()
            .into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn stock() -> Stock {
        Stock::new(1, 3).expect("pods")
    }

    fn listed(stock: &Stock, page: Page) -> Value {
        serde_json::from_slice(&stock.members[0].lock().page(page)).expect("JSON")
    }

    #[test]
    fn pages_go_on_until_all_pods_were_there() {
        let stock = stock();
        let page = |start, whole| Page {
            start,
            limit: 2,
            whole,
        };
        let first = listed(&stock, page(0, true));
        assert_eq!(first["items"].as_array().map(Vec::len), Some(2));
        assert_eq!(first["metadata"]["continue"], "2");
        assert!(first["items"][0]["spec"].is_object());
        let last = listed(&stock, page(2, false));
        assert_eq!(last["items"].as_array().map(Vec::len), Some(1));
        assert_eq!(last["metadata"]["continue"], "");
        assert!(last["items"][0]["metadata"]["uid"].is_string());
        assert!(last["items"][0].get("spec").is_none());
    }

    #[tokio::test]
    async fn a_watch_is_told_what_came_after_its_version_and_what_comes() {
        let stock = stock();
        let first = stock.change(0, 1).await;
        stock.change(0, 2).await;
        let last = stock.change(0, 1).await;
        let mut lines = stock.members[0].lock().watch(first.version).expect("known");
        stock.change(0, 0).await;
        let told = std::iter::from_fn(|| lines.try_recv().ok()).map(|line| {
            let line: Value = serde_json::from_slice(&line).expect("JSON");
            let of = |path: &str| line.pointer(path).and_then(Value::as_str).expect("a text");
            assert_eq!(
                of("/object/metadata/resourceVersion"),
                of("/object/status/message")
            );
            of("/object/metadata/resourceVersion")
                .parse::<u64>()
                .expect("a version")
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told, [last.version - 1, last.version, last.version + 1]);
        assert_eq!(stock.watched(), 1);
        assert!(stock.members[0].lock().watch(FIRST - 1).is_none());
    }
}
