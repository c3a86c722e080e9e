//! A member with a few pods and a config map: it tells what it serves, lists them, and tells on watches what a test adds. It answers what a test
//! says, dies and returns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use armadex_crds::ControlPlaneProxy;
use armadex_member::{Connection, ControlPlane, Member};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, watch};
use tokio_util::task::AbortOnDropHandle;

use super::request::Request;

/// A member on loopback.
pub(crate) struct ScriptedMember {
    script: Arc<Script>,
    address: String,
    _task: AbortOnDropHandle<()>,
}

struct Script {
    /// Bodies by path.
    bodies: Mutex<BTreeMap<String, String>>,
    /// Codes by path, where they are not 200.
    codes: Mutex<BTreeMap<String, u16>>,
    pods: Mutex<String>,
    /// Whatever is told here ends all connections.
    lives: watch::Sender<bool>,
    requests: Mutex<Vec<String>>,
    discoveries: Mutex<Vec<String>>,
    /// How often another code than 200 was answered.
    refusals: AtomicUsize,
    /// How often it was asked whether it is well.
    probes: AtomicUsize,
    /// Names of CRDs.
    crds: Mutex<Vec<String>>,
    /// How often CRDs were listed.
    crd_lists: AtomicUsize,
    /// Events for whoever watches CRDs now, and for whoever watches APIServices.
    type_events: [broadcast::Sender<String>; TYPES.len()],
    /// Events for whoever watches pods now.
    events: broadcast::Sender<String>,
    /// Core Events that it has: what each is about is its kind.
    core_events: Mutex<Vec<CoreEvent>>,
    /// Lines for whoever watches core Events now, each with the kind that it is about.
    told_events: broadcast::Sender<(String, String)>,
    /// It refuses field selectors.
    selects_nothing: AtomicBool,
    /// Of the last of them, or of the lists: how far the member is.
    version: AtomicU32,
    /// Bearer tokens that came, each once.
    tokens: Mutex<BTreeSet<String>>,
}

/// An Event of the core group, and the kind that it is about.
struct CoreEvent {
    json: String,
    about: String,
}

/// A version and its kinds, if its API server answers.
type ServedVersion<'a> = (&'a str, Option<&'a [&'a str]>);

/// The code of an answer that begins and never ends.
const NEVER: u16 = 0;
/// No test adds so many pods before they are told.
const MOST_EVENTS: usize = 16;
/// The version of every list.
const LISTED: u32 = 10;

const CORE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","resources":[
  {"resource":"configmaps","responseKind":{"kind":"ConfigMap"},"scope":"Namespaced","singularResource":"configmap","verbs":["list","watch"]},
  {"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced","singularResource":"pod","verbs":["list","watch"]}]}]}]}"#;
const EVENTS: &str = r#"{"resource":"events","responseKind":{"kind":"Event"},"scope":"Namespaced","singularResource":"event","verbs":["list","watch"]}"#;
const EVENTS_PATH: &str = "/api/v1/events";
const CONFIG_MAPS: &str = r#"{"kind":"ConfigMapList","metadata":{"resourceVersion":"10"},"items":[
  {"metadata":{"name":"settings","namespace":"n","uid":"settings","resourceVersion":"5"}}]}"#;
const OTHERS: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]}]}"#;

impl ScriptedMember {
    /// A member of this identity with these pods in the namespace `n`.
    pub(crate) async fn start(identity: &str, pods: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let bodies = [
            ("/readyz", "ok".to_owned()),
            ("/version", r#"{"gitVersion":"v1.36.0"}"#.to_owned()),
            (IDENTITY_PATH, identity_body(identity)),
            ("/api", CORE.to_owned()),
            ("/apis", OTHERS.to_owned()),
            ("/api/v1/configmaps", CONFIG_MAPS.to_owned()),
        ];
        let bodies = bodies.map(|(path, body)| (path.to_owned(), body));
        let script = Arc::new(Script {
            bodies: Mutex::new(bodies.into()),
            codes: Mutex::new(HIDDEN.map(|path| (path.to_owned(), 403)).into()),
            refusals: AtomicUsize::new(0),
            probes: AtomicUsize::new(0),
            crds: Mutex::default(),
            crd_lists: AtomicUsize::new(0),
            type_events: TYPES.map(|_| broadcast::Sender::new(MOST_EVENTS)),
            lives: watch::Sender::new(true),
            pods: Mutex::new(pod_list(pods)),
            requests: Mutex::default(),
            discoveries: Mutex::default(),
            events: broadcast::Sender::new(MOST_EVENTS),
            core_events: Mutex::default(),
            told_events: broadcast::Sender::new(MOST_EVENTS),
            selects_nothing: AtomicBool::new(false),
            version: AtomicU32::new(LISTED),
            tokens: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&script)));
        Self {
            script,
            address,
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(crate) fn connect(&self) -> Arc<Member> {
        Arc::new(Member::new(&Connection::plain(&self.address)).expect("a member"))
    }

    /// The same as the control plane asks it, below an object of its own.
    pub(crate) fn behind_control_plane(&self) -> Member {
        let proxy = ControlPlaneProxy {
            group: "cluster.karmada.io".to_owned(),
            version: "v1alpha1".to_owned(),
            resource: "clusters".to_owned(),
            name: "m".to_owned(),
        };
        let control_plane = ControlPlane::plain(&self.address);
        Member::by_control_plane(&control_plane, &proxy).expect("a member")
    }

    /// One more group is served from now on.
    pub(crate) fn serves_group(&self, name: &str) {
        let mut bodies = self.script.bodies.lock().expect("no panic");
        let told = bodies.get_mut("/apis").expect("groups");
        let group = format!(
            r#""items":[{{"metadata":{{"name":"{name}"}},"versions":[{{"version":"v1"}}]}},"#
        );
        *told = told.replacen(r#""items":["#, &group, 1);
    }

    /// Its group `shop.example` serves things in these versions, the first of which it would rather have: there is one, `n/a`.
    pub(crate) fn serves_things(&self, versions: &[&str]) {
        const THINGS: &str = r#"{"kind":"ThingList","metadata":{"resourceVersion":"10"},"items":[
          {"metadata":{"name":"a","namespace":"n","uid":"a","resourceVersion":"5"}}]}"#;
        let mut bodies = self.script.bodies.lock().expect("no panic");
        let served = versions.iter().map(|version| {
            bodies.insert(format!("/apis/shop.example/{version}/things"), THINGS.to_owned());
            format!(
                r#"{{"version":"{version}","resources":[{{"resource":"things","responseKind":{{"kind":"Thing"}},"scope":"Namespaced","verbs":["list","watch"]}}]}}"#
            )
        });
        let served: Vec<_> = served.collect();
        let served = served.join(",");
        let told = format!(
            r#"{{"kind":"APIGroupDiscoveryList","items":[{{"metadata":{{"name":"shop.example"}},"versions":[{served}]}}]}}"#
        );
        bodies.insert("/apis".to_owned(), told);
    }

    /// It serves these groups and no others, each in these versions, the first of which it would rather have, with these kinds: there is one object of each,
    /// `n/a`. A version without a list of kinds is one whose API server does not answer.
    pub(crate) fn serves_groups(&self, groups: &[(&str, &[ServedVersion<'_>])]) {
        let mut bodies = self.script.bodies.lock().expect("no panic");
        let mut served = |group: &str, (version, plurals): ServedVersion<'_>| {
            let Some(plurals) = plurals else {
                return format!(r#"{{"version":"{version}","freshness":"Stale"}}"#);
            };
            let kinds = plurals.iter().map(|plural| {
                let list = r#"{"metadata":{"resourceVersion":"10"},"items":[{"metadata":{"name":"a","namespace":"n","uid":"a","resourceVersion":"5"}}]}"#;
                bodies.insert(format!("/apis/{group}/{version}/{plural}"), list.to_owned());
                format!(
                    r#"{{"resource":"{plural}","responseKind":{{"kind":"{plural}"}},"scope":"Namespaced","verbs":["list","watch"]}}"#
                )
            });
            let kinds = kinds.collect::<Vec<_>>().join(",");
            format!(r#"{{"version":"{version}","resources":[{kinds}]}}"#)
        };
        let groups = groups.iter().map(|(group, versions)| {
            let versions = versions.iter().map(|version| served(group, *version));
            let versions = versions.collect::<Vec<_>>().join(",");
            format!(r#"{{"metadata":{{"name":"{group}"}},"versions":[{versions}]}}"#)
        });
        let groups = groups.collect::<Vec<_>>().join(",");
        let told = format!(r#"{{"kind":"APIGroupDiscoveryList","items":[{groups}]}}"#);
        bodies.insert("/apis".to_owned(), told);
    }

    /// It serves this kind, and no other of a group, in these groups and versions, each of which lists one object, as it is there.
    pub(crate) fn serves_one(&self, (kind, plural): (&str, &str), versions: &[(&str, &str, &str)]) {
        let mut bodies = self.script.bodies.lock().expect("no panic");
        let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (group, version, object) in versions {
            let path = format!("/apis/{group}/{version}/{plural}");
            let list = format!(r#"{{"metadata":{{"resourceVersion":"10"}},"items":[{object}]}}"#);
            bodies.insert(path, list);
            groups.entry(group).or_default().push(format!(
                r#"{{"version":"{version}","resources":[{{"resource":"{plural}","responseKind":{{"kind":"{kind}"}},"scope":"Namespaced","verbs":["list","watch"]}}]}}"#
            ));
        }
        let groups = groups.iter().map(|(group, versions)| {
            let versions = versions.join(",");
            format!(r#"{{"metadata":{{"name":"{group}"}},"versions":[{versions}]}}"#)
        });
        let groups = groups.collect::<Vec<_>>().join(",");
        let told = format!(r#"{{"kind":"APIGroupDiscoveryList","items":[{groups}]}}"#);
        bodies.insert("/apis".to_owned(), told);
    }

    /// It serves Events, and has these, each by its name and the kind and version of what it is about.
    pub(crate) fn has_events(&self, events: &[(&str, &str, &str)]) {
        let mut bodies = self.script.bodies.lock().expect("no panic");
        let told = bodies.get_mut("/api").expect("types");
        *told = told.replacen(r#""resources":["#, &format!(r#""resources":[{EVENTS},"#), 1);
        let events = events.iter().map(|event| CoreEvent::of(*event, 5));
        *self.script.core_events.lock().expect("no panic") = events.collect();
    }

    /// An Event comes or goes, which those are told of who watch Events of its kind now. The version is the next one.
    pub(crate) fn tells_event(&self, what: &str, event: (&str, &str, &str)) {
        let version = self.script.version.fetch_add(1, Ordering::AcqRel) + 1;
        let CoreEvent { json, about } = CoreEvent::of(event, version);
        let line = format!(r#"{{"type":"{what}","object":{json}}}"#);
        // Nobody may watch.
        let _ = self.script.told_events.send((about, line));
    }

    /// Field selectors are refused from now on.
    pub(crate) fn selects_nothing(&self) {
        self.script.selects_nothing.store(true, Ordering::Release);
    }

    /// It is of this version from now on, and answers all the time.
    pub(crate) fn is_upgraded_to(&self, version: &str) {
        let mut bodies = self.script.bodies.lock().expect("no panic");
        let told = format!(r#"{{"gitVersion":"{version}"}}"#);
        bodies.insert("/version".to_owned(), told);
    }

    /// It serves kinds of these numbers and no others, of which it has no objects.
    pub(crate) fn serves_kinds(&self, numbers: std::ops::Range<usize>) {
        const EMPTY: &str = r#"{"kind":"List","metadata":{"resourceVersion":"10"},"items":[]}"#;
        let mut bodies = self.script.bodies.lock().expect("no panic");
        let kinds = numbers.map(|number| {
            bodies.insert(format!("/api/v1/kind{number:02}"), EMPTY.to_owned());
            format!(
                r#"{{"resource":"kind{number:02}","responseKind":{{"kind":"Kind{number:02}"}},"scope":"Namespaced","verbs":["list","watch"]}}"#
            )
        });
        let kinds: Vec<_> = kinds.collect();
        let kinds = kinds.join(",");
        let told = format!(
            r#"{{"kind":"APIGroupDiscoveryList","items":[{{"metadata":{{}},"versions":[{{"version":"v1","resources":[{kinds}]}}]}}]}}"#
        );
        bodies.insert("/api".to_owned(), told);
    }

    /// It does not say any more that it serves config maps.
    pub(crate) fn keeps_config_maps_to_itself(&self) {
        let mut bodies = self.script.bodies.lock().expect("no panic");
        let told = bodies.get_mut("/api").expect("types");
        *told = told.replace(r#""resource":"configmaps""#, r#""resource":"others""#);
    }

    /// What is asked for at this path is answered with this code from now on.
    pub(crate) fn answers(&self, path: &str, code: u16) {
        let mut codes = self.script.codes.lock().expect("no panic");
        codes.insert(path.to_owned(), code);
    }

    /// Answers to this begin and never end.
    pub(crate) fn hangs(&self, path: &str) {
        self.answers(path, NEVER);
    }

    /// Waits until so many requests were answered with another code than 200.
    pub(crate) async fn until_refused(&self, times: usize) {
        super::until("a refusal", || async {
            self.script.refusals.load(Ordering::Acquire) >= times
        })
        .await;
    }

    /// Its CRDs and APIServices may be watched from now on.
    pub(crate) fn tells_what_changes(&self) {
        for path in TYPES {
            self.answers(path, 200);
        }
    }

    /// Its CRDs may be listed, and are these.
    pub(crate) fn has_crds(&self, names: &[&str]) {
        let names = names.iter().copied().map(str::to_owned).collect();
        *self.script.crds.lock().expect("no panic") = names;
        self.answers(TYPES[0], 200);
    }

    /// How often its CRDs were listed, page by page.
    pub(crate) fn crd_lists(&self) -> usize {
        self.script.crd_lists.load(Ordering::Acquire)
    }

    /// One of its CRDs goes, which those are told of who watch CRDs now.
    pub(crate) fn loses_a_crd(&self) {
        self.script.tells(0, "DELETED");
    }

    /// One of its CRDs becomes another, which those are told of who watch CRDs now.
    pub(crate) fn changes_a_crd(&self) {
        self.script.tells(0, "MODIFIED");
    }

    /// The same of an APIService.
    pub(crate) fn changes_an_api_service(&self) {
        self.script.tells(1, "MODIFIED");
    }

    /// The uid of its Service `default/kubernetes` may be read from now on.
    pub(crate) fn tells_its_service(&self, uid: &str) {
        let mut bodies = self.script.bodies.lock().expect("no panic");
        let told = format!(r#"{{"items":[{{"metadata":{{"name":"kubernetes","uid":"{uid}"}}}}]}}"#);
        bodies.insert(SERVICES_PATH.to_owned(), told);
        self.answers(SERVICES_PATH, 200);
    }

    /// It breaks off all connections and answers nobody.
    pub(crate) fn dies(&self) {
        self.script.lives.send_replace(false);
    }

    /// It breaks off all connections and answers on.
    pub(crate) fn breaks_off(&self) {
        self.script.lives.send_replace(true);
    }

    /// It is there again, as the member of this identity with these pods. Connections that there are break off.
    pub(crate) fn returns_as(&self, identity: &str, pods: &[&str]) {
        let mut bodies = self.script.bodies.lock().expect("no panic");
        bodies.insert(IDENTITY_PATH.to_owned(), identity_body(identity));
        *self.script.pods.lock().expect("no panic") = pod_list(pods);
        self.script.lives.send_replace(true);
    }

    /// A pod comes, which those are told of who watch now, and nobody else. The first has version 11, and each the next one.
    pub(crate) fn adds(&self, pod_name: &str) {
        let version = self.script.version.fetch_add(1, Ordering::AcqRel) + 1;
        let pod = pod(pod_name, version);
        let event = format!(r#"{{"type":"ADDED","object":{pod}}}"#);
        // Nobody may watch.
        let _ = self.script.events.send(event);
    }

    /// How often it was asked whether it is well.
    pub(crate) fn probes(&self) -> usize {
        self.script.probes.load(Ordering::Acquire)
    }

    /// The answers to discovery since the last call, sorted: `/api: 200`.
    pub(crate) fn take_discoveries(&self) -> Vec<String> {
        let mut taken = std::mem::take(&mut *self.script.discoveries.lock().expect("no panic"));
        taken.sort();
        taken
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the watch of this number.
    pub(crate) async fn until_watched(&self, times: usize) {
        super::until("a watch", || async { self.watches() >= times }).await;
    }

    /// How often pods were watched so far.
    pub(crate) fn watches(&self) -> usize {
        let requests = self.requests();
        let of_pods = |request: &&String| request.starts_with("watch@") && !request.contains(' ');
        requests.iter().filter(of_pods).count()
    }

    /// The bearer tokens that it was sent so far.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let tokens = self.script.tokens.lock().expect("no panic");
        tokens.iter().cloned().collect()
    }

    /// The requests for pods so far, `list` and `watch@VERSION`; those for other kinds with their name: `list configmaps`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.script.requests.lock().expect("no panic").clone()
    }
}

/// What tells of other types, which nobody may see unless a test says so.
const TYPES: [&str; 2] = [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/apiregistration.k8s.io/v1/apiservices",
];

/// What may not be read unless a test says so.
const HIDDEN: [&str; 3] = [TYPES[0], TYPES[1], SERVICES_PATH];
const SERVICES_PATH: &str = "/api/v1/namespaces/default/services";
pub(crate) const IDENTITY_PATH: &str = "/api/v1/namespaces/kube-system";

fn identity_body(identity: &str) -> String {
    format!(r#"{{"metadata":{{"uid":"{identity}"}}}}"#)
}

impl CoreEvent {
    fn of((name, kind, version): (&str, &str, &str), at: u32) -> Self {
        let json = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"{name}","resourceVersion":"{at}"}},"involvedObject":{{"kind":"{kind}","apiVersion":"{version}"}}}}"#
        );
        Self {
            json,
            about: kind.to_owned(),
        }
    }
}

/// The kind that Events are asked for of, if not of all.
fn kind_asked_for(asked: &str) -> Option<&str> {
    let (_, selector) = asked.split_once("fieldSelector=involvedObject.kind%3D")?;
    selector.split('&').next()
}

fn pod_list(pods: &[&str]) -> String {
    let pods: Vec<String> = pods.iter().map(|name| pod(name, 5)).collect();
    format!(
        r#"{{"kind":"PodList","metadata":{{"resourceVersion":"10"}},"items":[{}]}}"#,
        pods.join(",")
    )
}

fn pod(name: &str, version: u32) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"{name}","resourceVersion":"{version}"}}}}"#
    )
}

async fn accept(listener: TcpListener, script: Arc<Script>) {
    let mut connections = Vec::new();
    while let Ok((socket, _)) = listener.accept().await {
        let serving = tokio::spawn(serve(socket, Arc::clone(&script)));
        connections.push(AbortOnDropHandle::new(serving));
    }
}

/// One request per connection, unless the member dies before.
async fn serve(socket: TcpStream, script: Arc<Script>) {
    let mut lives = script.lives.subscribe();
    if *lives.borrow_and_update() {
        tokio::select! {
            biased;
            _ = lives.changed() => {}
            () = answer(socket, &script) => {}
        }
    }
}

async fn answer(socket: TcpStream, script: &Script) {
    let mut socket = BufReader::new(socket);
    let request = Request::read(&mut socket).await;
    // Below an object of the control plane it is the same member.
    let path = request.path.split_once("/proxy");
    let path = path.map_or(request.path.as_str(), |(_, below)| below);
    let known = request.values("if-none-match: ").last();
    let tokens = request.values("authorization: Bearer ");
    let tokens = tokens.map(str::to_owned);
    script.tokens.lock().expect("no panic").extend(tokens);
    let head = "connection: close\r\n";
    let events = match of_types(path) {
        Some(index) => &script.type_events[index],
        None => &script.events,
    };
    let mut events = events.subscribe();
    let mut told_events = script.told_events.subscribe();
    let text = match script.answer(path) {
        Some((code, body)) => {
            // Long enough to tell the bodies of a test apart.
            let etag = format!("\"{}\"", body.len());
            let code = if code == 200 && known == Some(etag.as_str()) {
                304
            } else {
                code
            };
            script.note(path, code);
            let body = if code == 304 { "" } else { &body };
            let length = body.len();
            format!(
                "HTTP/1.1 {code} X\r\netag: {etag}\r\ncontent-length: {length}\r\n{head}\r\n{body}"
            )
        }
        None => format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n{head}\r\n"),
    };
    // Whoever asked may have gone.
    let _ = socket.write_all(text.as_bytes()).await;
    if path.starts_with("/api/v1/configmaps") && path.contains("watch=true") {
        // None ever comes or goes.
        std::future::pending::<()>().await;
    }
    while path.starts_with(EVENTS_PATH) && !text.contains("content-length") {
        let (about, event) = told_events.recv().await.expect("few events");
        if kind_asked_for(path).is_none_or(|kind| kind == about) {
            let chunk = format!("{:x}\r\n{event}\n\r\n", event.len() + 1);
            let _ = socket.write_all(chunk.as_bytes()).await;
        }
    }
    while !text.contains("content-length") {
        let event = events.recv().await.expect("few events");
        let chunk = format!("{:x}\r\n{event}\n\r\n", event.len() + 1);
        let _ = socket.write_all(chunk.as_bytes()).await;
    }
}

/// The version from which a watch is to go on.
fn version_of(asked: &str) -> &str {
    let query = asked.split_once('?').map_or("", |(_, query)| query);
    let mut parameters = query.split('&');
    let version = parameters.find_map(|parameter| parameter.strip_prefix("resourceVersion="));
    version.unwrap_or_default()
}

/// Which of the kinds that tell of other types is asked for.
fn of_types(asked: &str) -> Option<usize> {
    TYPES.iter().position(|path| asked.starts_with(path))
}

impl Script {
    /// Something that tells of other types becomes another.
    fn tells(&self, index: usize, what: &str) {
        let object = r#"{"metadata":{"name":"a","resourceVersion":"12"}}"#;
        let event = format!(r#"{{"type":"{what}","object":{object}}}"#);
        // Nobody may watch.
        let _ = self.type_events[index].send(event);
    }

    /// One CRD on each page, however many are asked for.
    fn crd_page(&self, asked: &str) -> String {
        let names = self.crds.lock().expect("no panic");
        let place = asked
            .split_once("continue=")
            .map_or("0", |(_, place)| place);
        let place: usize = place.parse().expect("a token of ours");
        let item = |name: &String| format!(r#"{{"metadata":{{"name":"{name}","uid":"u"}}}}"#);
        let items = names.get(place).map(item).unwrap_or_default();
        let next = match names.len() > place + 1 {
            true => (place + 1).to_string(),
            false => String::new(),
        };
        format!(
            r#"{{"metadata":{{"resourceVersion":"10","continue":"{next}"}},"items":[{items}]}}"#
        )
    }

    fn refuses_selector(&self) -> (u16, String) {
        self.refusals.fetch_add(1, Ordering::AcqRel);
        let status = r#"{"kind":"Status","code":400,"message":"field label not supported"}"#;
        (400, status.to_owned())
    }

    fn event_list(&self, asked: &str) -> String {
        let events = self.core_events.lock().expect("no panic");
        let selected = kind_asked_for(asked);
        let is_meant = |event: &&CoreEvent| selected.is_none_or(|kind| event.about == kind);
        let items = events.iter().filter(is_meant);
        let items = items.map(|event| event.json.as_str());
        let items = items.collect::<Vec<_>>().join(",");
        format!(r#"{{"kind":"EventList","metadata":{{"resourceVersion":"10"}},"items":[{items}]}}"#)
    }

    fn note(&self, path: &str, code: u16) {
        if path.starts_with("/api") && !path.starts_with("/api/") {
            let mut discoveries = self.discoveries.lock().expect("no panic");
            discoveries.push(format!("{path}: {code}"));
        }
    }

    /// Code and body; `None`: the answer begins and never ends.
    fn answer(&self, asked: &str) -> Option<(u16, String)> {
        let path = asked.split_once('?').map_or(asked, |(path, _)| path);
        if path == "/readyz" {
            self.probes.fetch_add(1, Ordering::AcqRel);
        }
        if let Some(code) = self.codes.lock().expect("no panic").get(path)
            && *code != 200
        {
            if *code == NEVER {
                return None;
            }
            self.refusals.fetch_add(1, Ordering::AcqRel);
            let words = "as a test says";
            let status = format!(r#"{{"kind":"Status","code":{code},"message":"{words}"}}"#);
            return Some((*code, status));
        }
        let mut kind = path.trim_start_matches("/api/v1/").to_owned();
        if let Some(selected) = kind_asked_for(asked) {
            kind = format!("{kind} of {selected}");
            if self.selects_nothing.load(Ordering::Acquire) {
                return Some(self.refuses_selector());
            }
        }
        let note = |request: &str| {
            let request = match kind.as_str() {
                "pods" => request.to_owned(),
                other => format!("{request} {other}"),
            };
            self.requests.lock().expect("no panic").push(request);
        };
        if asked.contains("watch=true") {
            if of_types(asked).is_none() {
                note(&format!("watch@{}", version_of(asked)));
            }
            return None;
        }
        let is_listed_by_one = asked.contains("limit=1&") || asked.ends_with("limit=1");
        if path != SERVICES_PATH && is_listed_by_one {
            let version = self.version.load(Ordering::Acquire);
            let body = format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#);
            return Some((200, body));
        }
        if kind == "pods" {
            note("list");
            let pods = self.pods.lock().expect("no panic");
            return Some((200, pods.clone()));
        }
        if path.starts_with("/api/v1/") && !kind.contains('/') {
            note("list");
        }
        if path == EVENTS_PATH {
            return Some((200, self.event_list(asked)));
        }
        if path == TYPES[0] {
            self.crd_lists.fetch_add(1, Ordering::AcqRel);
            return Some((200, self.crd_page(asked)));
        }
        let bodies = self.bodies.lock().expect("no panic");
        bodies.get(path).cloned().map(|body| (200, body))
    }
}
