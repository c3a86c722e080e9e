//! Members as values: what each has, whom it tells of what, and what it answers. No sockets and no clock: times are passed in.
//!
//! They do what matters of a kube-apiserver: a list is of one version and its tokens expire, a watch tells what came after its version, a
//! bookmark comes once a minute, versions move although nothing happens, and who does not take what it is told loses its watch.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::ETAG;
use http::{Response, StatusCode};
use tokio::sync::mpsc;

use super::documents::{self, Thing};
use super::ledger::{Ledger, Purpose};
use super::request::{Asked, TYPES, Token, plural};
use super::role::{self, Role};
use crate::served::body::Body;
use crate::served::{coded, refusal, whole};

/// An API server may send fewer objects than are asked for; so a list has several pages without a member having thousands of objects.
const PAGE: usize = 25;
/// As long as an API server's etcd keeps its past.
const TOKEN_LASTS: Duration = Duration::from_secs(300);
/// Seconds between two bookmarks of a watch.
const BOOKMARKS: usize = 60;
/// Lines that a watch may be behind: there is one a minute, and a change now and then.
const LINES: usize = 8;
/// Where versions begin.
const FIRST: u64 = 1_000_000;
/// By which members know what they told of discovery: it is the same for all and never changes.
const KNOWN: &str = "\"bench\"";

/// All members.
pub(super) struct Members {
    /// Kinds of each.
    pub(super) kinds: usize,
    /// Objects of the first kind; the others have fewer.
    pub(super) objects: usize,
    pub(super) ledger: Ledger,
    members: Vec<Member>,
    core: Bytes,
    groups: Bytes,
}

struct Member {
    number: usize,
    role: Role,
    state: Mutex<State>,
}

struct State {
    version: u64,
    kinds: Vec<Kind>,
    /// What tells which types there are, where nothing happens.
    types: [Kind; TYPES.len()],
}

#[derive(Default)]
struct Kind {
    /// The version of its first object, which is the one that changes.
    changed: u64,
    watch: Option<Watch>,
}

struct Watch {
    lines: mpsc::Sender<Bytes>,
    ends: Duration,
}

/// What a request brings along.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    /// When it came.
    pub(super) now: Duration,
    /// It is content with names and versions.
    pub(super) metadata: bool,
    /// It knows what discovery told.
    pub(super) knows: bool,
}

impl Head {
    /// Reads the fields that matter.
    pub(super) fn read(now: Duration, headers: &http::HeaderMap) -> Self {
        let value = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            now,
            metadata: value(http::header::ACCEPT)
                .is_some_and(|accept| accept.contains("as=PartialObjectMetadataList")),
            knows: value(http::header::IF_NONE_MATCH) == Some(KNOWN),
        }
    }
}

impl Members {
    /// So many members, each as its number says and with as many kinds, and the first kind with so many objects.
    pub(super) fn new(
        count: usize,
        role: impl Fn(usize) -> Role,
        kinds: usize,
        objects: usize,
    ) -> Self {
        let members = (0..count).map(|number| Member {
            number,
            role: role(number),
            state: Mutex::new(State {
                version: FIRST,
                kinds: (0..kinds).map(|_| Kind::default()).collect(),
                types: Default::default(),
            }),
        });
        Self {
            kinds,
            objects,
            ledger: Ledger::default(),
            members: members.collect(),
            core: documents::core_discovery().into(),
            groups: documents::group_discovery(kinds).into(),
        }
    }

    /// What the member of this number is like.
    pub(super) fn role(&self, number: usize) -> Role {
        self.members[number].role
    }

    /// How many members of this role there are.
    pub(super) fn count(&self, role: Role) -> usize {
        let members = self.members.iter();
        members.filter(|member| member.role == role).count()
    }

    /// Streams that have to become live.
    pub(super) fn streams(&self) -> usize {
        self.sum(|member| member.role.followed(self.kinds))
    }

    /// Lists that have to end.
    pub(super) fn lists(&self) -> usize {
        self.sum(|member| member.role.listed(self.kinds))
    }

    /// Objects that have to be stored.
    pub(super) fn rows(&self) -> usize {
        let listed = |kinds: usize| (0..kinds).map(|kind| role::objects(self.objects, kind));
        self.sum(|member| listed(member.role.listed(self.kinds)).sum())
    }

    /// Watches that are followed now, of those that have to be.
    pub(super) fn live(&self) -> usize {
        let is_open = |kind: &&Kind| matches!(&kind.watch, Some(watch) if !watch.lines.is_closed());
        self.sum(|member| member.lock().kinds.iter().filter(is_open).count())
    }

    fn sum(&self, of: impl Fn(&Member) -> usize) -> usize {
        self.members.iter().map(of).sum()
    }

    /// Answers what a member is asked.
    pub(super) fn answer(&self, number: usize, asked: &Asked, head: Head) -> Response<Body> {
        let Some(member) = self.members.get(number) else {
            return refusal(StatusCode::NOT_FOUND, "NotFound", "no such member");
        };
        self.ledger.note(member.role, Purpose::from(asked));
        match *asked {
            Asked::Health => whole("ok"),
            Asked::Version => whole(r#"{"gitVersion":"v1.36.0"}"#),
            Asked::Identity => whole(documents::identity(number)),
            Asked::CoreDiscovery | Asked::Discovery if head.knows => {
                coded(StatusCode::NOT_MODIFIED, Body::Whole(Bytes::new()))
            }
            Asked::CoreDiscovery => known(&self.core),
            Asked::Discovery => known(&self.groups),
            Asked::List { kind, .. } | Asked::Watch { kind, .. } if kind >= self.kinds => {
                refusal(StatusCode::NOT_FOUND, "NotFound", "no such kind")
            }
            Asked::List { kind, .. } | Asked::Watch { kind, .. }
                if member.role == Role::ForbidsAKind && kind + 1 == self.kinds =>
            {
                let words = format!("{} is forbidden", plural(kind));
                refusal(StatusCode::FORBIDDEN, "Forbidden", &words)
            }
            Asked::List { kind, limit, token } => self.list(member, kind, (limit, token), head),
            Asked::Watch { .. } if member.role == Role::RefusesWatches => {
                refusal(StatusCode::FORBIDDEN, "Forbidden", "watches are forbidden")
            }
            Asked::Watch {
                kind,
                version,
                seconds,
            } => member.watch(kind, version, (seconds, head.now)),
            Asked::Types { which, seconds } if member.role.tells_types() => {
                member.types(which, seconds, head.now)
            }
            Asked::Types { .. } | Asked::OtherGroup => refusal(
                StatusCode::FORBIDDEN,
                "Forbidden",
                "other groups are forbidden",
            ),
            Asked::Unknown => {
                self.ledger.unknown.fetch_add(1, Ordering::Relaxed);
                refusal(StatusCode::NOT_FOUND, "NotFound", "no such path")
            }
        }
    }

    fn list(
        &self,
        member: &Member,
        kind: usize,
        (limit, token): (usize, Option<Token>),
        head: Head,
    ) -> Response<Body> {
        let state = member.lock();
        let begun = head.now.as_secs();
        let token_or_first = token.unwrap_or(Token {
            start: 0,
            version: state.version,
            begun,
        });
        let changed = state.kinds[kind].changed;
        drop(state);
        if begun.saturating_sub(token_or_first.begun) > TOKEN_LASTS.as_secs() {
            self.ledger.lists_expired.fetch_add(1, Ordering::Relaxed);
            return refusal(StatusCode::GONE, "Expired", "the list took too long");
        }
        let (start, of) = (token_or_first.start, role::objects(self.objects, kind));
        let end = of.min(start + limit.min(PAGE));
        let things = (start..end).map(|number| Thing {
            member: member.number,
            kind,
            number,
            version: if number == 0 && changed > 0 {
                changed
            } else {
                FIRST
            },
        });
        let next = (end < of).then_some(Token {
            start: end,
            ..token_or_first
        });
        let text = documents::page(token_or_first.version, things, next, !head.metadata);
        if member.role == Role::StallsInLists {
            let half = text[..text.len() / 2].to_owned();
            return coded(StatusCode::OK, Body::Stalled(half.into()));
        }
        // Whoever asks for one object or for names wants to know the version, or compares.
        if limit > 1 && !head.metadata {
            let Ledger {
                lists_begun,
                lists_ended,
                ..
            } = &self.ledger;
            lists_begun.fetch_add(u64::from(token.is_none()), Ordering::Relaxed);
            lists_ended.fetch_add(u64::from(next.is_none()), Ordering::Relaxed);
        }
        whole(text)
    }

    /// One more second has passed for the members of which `is_due` says so: bookmarks are sent, watches end whose time is over.
    pub(super) fn second(&self, now: Duration, is_due: impl Fn(usize) -> bool) {
        for member in self.members.iter().filter(|member| is_due(member.number)) {
            member.second(now);
        }
    }

    /// Changes an object of one of the members that can be followed; each number another, as long as there are others.
    pub(super) fn change(&self, number: u64) {
        let followed = |member: &&Member| member.role.followed(self.kinds) > 0;
        let followed: Vec<_> = self.members.iter().filter(followed).collect();
        let Ok(number) = usize::try_from(number) else {
            return;
        };
        let Some(rounds) = number.checked_div(followed.len()) else {
            return;
        };
        let member = followed[number % followed.len()];
        member.change(rounds % member.role.followed(self.kinds));
        self.ledger.changes.fetch_add(1, Ordering::Relaxed);
    }
}

impl Member {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, number: usize, version: u64, time: (u64, Duration)) -> Response<Body> {
        let mut state = self.lock();
        let kind = &mut state.kinds[number];
        let answer = kind.begin(time);
        if kind.changed > version {
            kind.tell(self.event(number, kind.changed));
        }
        answer
    }

    /// How far its types are, or a watch of them.
    fn types(&self, which: usize, seconds: Option<u64>, now: Duration) -> Response<Body> {
        let mut state = self.lock();
        match seconds {
            Some(seconds) => state.types[which].begin((seconds, now)),
            None => whole(documents::page(
                state.version,
                std::iter::empty(),
                None,
                false,
            )),
        }
    }

    fn change(&self, number: usize) {
        let mut state = self.lock();
        state.version += 1;
        let version = state.version;
        let kind = &mut state.kinds[number];
        kind.changed = version;
        kind.tell(self.event(number, version));
    }

    fn event(&self, kind: usize, version: u64) -> Bytes {
        let thing = Thing {
            member: self.number,
            kind,
            number: 0,
            version,
        };
        documents::event(thing).into()
    }

    fn second(&self, now: Duration) {
        let mut state = self.lock();
        // Leases are renewed, if nothing else.
        state.version += 1;
        let State {
            version,
            kinds,
            types,
        } = &mut *state;
        for (number, kind) in kinds.iter_mut().chain(types).enumerate() {
            kind.watch.take_if(|watch| watch.ends <= now);
            // Those of a member come one after the other over the minute.
            let turn = self.number + number * 17;
            if now.as_secs() as usize % BOOKMARKS == turn % BOOKMARKS {
                // Of what kind it is nobody looks at.
                kind.tell(documents::bookmark(number, *version).into());
            }
        }
    }
}

impl Kind {
    /// Begins a watch for so many seconds from now on, in the place of the one before.
    fn begin(&mut self, (seconds, now): (u64, Duration)) -> Response<Body> {
        let (lines, receiver) = mpsc::channel(LINES);
        let ends = now + Duration::from_secs(seconds);
        self.watch = Some(Watch { lines, ends });
        coded(StatusCode::OK, Body::Watch(receiver))
    }

    /// Who does not take what it is told loses its watch, and asks for what came after its version.
    fn tell(&mut self, line: Bytes) {
        self.watch
            .take_if(|watch| watch.lines.try_send(line).is_err());
    }
}

fn known(text: &Bytes) -> Response<Body> {
    let mut answer = whole(text.clone());
    let etag = http::HeaderValue::from_static(KNOWN);
    answer.headers_mut().insert(ETAG, etag);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use serde_json::Value;

    const KINDS: usize = 4;
    /// Of the first twenty, those in trouble.
    const FORBIDS: usize = 17;
    const REFUSES: usize = 18;
    const STALLS: usize = 19;

    fn members() -> Members {
        Members::new(20, Role::of, KINDS, 60)
    }

    fn list(kind: usize, token: Option<Token>) -> Asked {
        Asked::List {
            kind,
            limit: 500,
            token,
        }
    }

    fn watch(version: u64) -> Asked {
        Asked::Watch {
            kind: 1,
            version,
            seconds: 290,
        }
    }

    fn at(seconds: u64) -> Head {
        Head {
            now: Duration::from_secs(seconds),
            ..Head::default()
        }
    }

    async fn text(body: Body) -> Value {
        let bytes = body.collect().await.expect("infallible").to_bytes();
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// The lines that a watch has now.
    fn lines(answer: &mut Response<Body>) -> Vec<Value> {
        let Body::Watch(lines) = answer.body_mut() else {
            panic!("no watch");
        };
        std::iter::from_fn(|| lines.try_recv().ok())
            .map(|line| serde_json::from_slice(&line).expect("a line"))
            .collect()
    }

    #[tokio::test]
    async fn a_list_comes_in_pages_of_one_version_and_ends() {
        let members = members();
        let (mut token, mut names) = (None, std::collections::BTreeSet::new());
        loop {
            members.second(Duration::ZERO, |_| true);
            let page = text(members.answer(3, &list(0, token), at(1)).into_body()).await;
            assert_eq!(page["metadata"]["resourceVersion"], "1000001");
            for item in page["items"].as_array().expect("items") {
                assert!(names.insert(item["metadata"]["name"].to_string()));
            }
            let text = page["metadata"]["continue"].as_str().expect("a text");
            if text.is_empty() {
                break;
            }
            let query = format!("limit=500&continue={text}");
            let path = "/members/3/apis/bench.armadex.dev/v1/things00";
            let Some((_, Asked::List { token: next, .. })) =
                super::super::request::read(path, &query)
            else {
                panic!("no list: {query}");
            };
            token = next;
        }
        assert_eq!(names.len(), 60);
        let ended = members.ledger.lists_ended.load(Ordering::Relaxed);
        assert_eq!(
            (members.ledger.lists_begun.load(Ordering::Relaxed), ended),
            (1, 1)
        );
        let late = members.answer(3, &list(0, token), at(400));
        assert_eq!(late.status(), StatusCode::GONE);
    }

    #[test]
    fn a_watch_tells_what_came_after_its_version_and_bookmarks() {
        let members = members();
        for number in 0..40 {
            members.change(number);
        }
        let mut late = members.answer(3, &watch(FIRST), at(0));
        let told = lines(&mut late);
        assert_eq!(told.len(), 1);
        let version = told[0]["object"]["metadata"]["resourceVersion"].as_str();
        let version = version.expect("a text").parse().expect("a number");
        assert!(version > FIRST);
        let mut present = members.answer(3, &watch(version), at(0));
        assert_eq!(lines(&mut present), [] as [Value; 0]);
        members.change(20 + 2);
        assert_eq!(lines(&mut present), [] as [Value; 0], "of another member");
        for second in 0..60 {
            members.second(Duration::from_secs(second), |_| true);
        }
        let bookmarks = lines(&mut present);
        assert_eq!(bookmarks.len(), 1);
        assert_eq!(bookmarks[0]["type"], "BOOKMARK");
    }

    #[test]
    fn a_watch_ends_when_its_time_is_over() {
        let members = members();
        let ends = |members: &Members| {
            let opened = members.live();
            (1..=290).find(|&second| {
                members.second(Duration::from_secs(second), |_| true);
                members.live() < opened
            })
        };
        let _first = members.answer(3, &watch(FIRST), at(0));
        assert_eq!(members.live(), 1);
        assert_eq!(ends(&members), Some(290));
    }

    #[test]
    fn who_takes_nothing_loses_the_watch_and_no_change() {
        let members = members();
        let _watch = members.answer(0, &watch(FIRST), at(0));
        for _ in 0..=LINES {
            members.change(18);
        }
        assert_eq!(members.live(), 0);
        let mut again = members.answer(0, &watch(FIRST), at(0));
        assert_eq!(lines(&mut again).len(), 1);
    }

    #[test]
    fn members_in_trouble_are_as_they_are_said_to_be() {
        let members = members();
        let code = |member, asked: &Asked| members.answer(member, asked, at(0)).status().as_u16();
        assert_eq!(code(FORBIDS, &list(KINDS - 1, None)), 403);
        assert_eq!(code(FORBIDS, &list(0, None)), 200);
        assert_eq!(code(REFUSES, &list(0, None)), 200);
        assert_eq!(code(REFUSES, &watch(FIRST)), 403);
        let stalled = members.answer(STALLS, &list(0, None), at(0));
        let Body::Stalled(half) = stalled.body() else {
            panic!("it goes on");
        };
        assert!(serde_json::from_slice::<Value>(half).is_err());
        assert_eq!(members.streams(), 17 * KINDS + KINDS - 1);
        assert_eq!(members.lists(), 18 * KINDS + KINDS - 1);
        assert_eq!(members.rows(), 18 * (60 + 30 + 20 + 15) + 60 + 30 + 20);
    }

    #[test]
    fn most_members_tell_which_types_they_have() {
        let members = members();
        let types = |seconds| Asked::Types { which: 0, seconds };
        let code = |member, asked: &Asked| members.answer(member, asked, at(0)).status().as_u16();
        for (member, expected) in [(0, 200), (FORBIDS, 403), (REFUSES, 403)] {
            assert_eq!(code(member, &types(None)), expected);
            assert_eq!(code(member, &types(Some(60))), expected);
        }
        let mut watch = members.answer(0, &types(Some(60)), at(0));
        for second in 0..60 {
            members.second(Duration::from_secs(second), |_| true);
        }
        let told = lines(&mut watch);
        assert!(told.len() == 1 && told[0]["type"] == "BOOKMARK", "{told:?}");
        let before = members.live();
        members.second(Duration::from_secs(60), |_| true);
        let Body::Watch(lines) = watch.body_mut() else {
            panic!("no watch");
        };
        assert!(lines.is_closed(), "its time is over");
        assert_eq!(members.live(), before, "it is no stream");
    }

    #[test]
    fn what_is_known_of_discovery_is_not_told_again() {
        let members = members();
        let first = members.answer(0, &Asked::Discovery, at(0));
        let etag = first.headers().get(ETAG).expect("an ETag").clone();
        let mut headers = http::HeaderMap::new();
        headers.insert(http::header::IF_NONE_MATCH, etag);
        let head = Head::read(Duration::ZERO, &headers);
        let again = members.answer(0, &Asked::Discovery, head);
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    }
}
