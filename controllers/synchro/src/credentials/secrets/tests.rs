//! A namespace with Secrets, on a control plane that is scripted.

use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration;

use armadex_model::ObjectKey;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};

use super::*;
use crate::testing::until;

type Answer = UnsyncBoxBody<Bytes, Infallible>;

fn whole(json: &Value) -> Answer {
    Full::from(json.to_string()).boxed_unsync()
}

/// The Secrets of a control plane, by namespace and name: version and the value of `token`.
#[derive(Clone)]
struct Vault {
    secrets: Arc<Mutex<BTreeMap<ObjectKey, (u32, String)>>>,
    requests: Arc<Mutex<Vec<String>>>,
    lines: broadcast::Sender<String>,
    watch_is_refused: bool,
    /// Secrets that may not be read.
    refused: Arc<Mutex<BTreeSet<String>>>,
    /// Secrets that a question for is never answered.
    silent: Arc<Mutex<BTreeSet<String>>>,
}

impl Vault {
    fn new(names: &[&str]) -> Self {
        let secret = |name: &&str| (ObjectKey::new("ns", *name), (1, format!("token of {name}")));
        Self {
            secrets: Arc::new(Mutex::new(names.iter().map(secret).collect())),
            requests: Arc::default(),
            lines: broadcast::channel(16).0,
            watch_is_refused: false,
            refused: Arc::default(),
            silent: Arc::default(),
        }
    }

    fn client(&self) -> Client {
        let vault = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let answer = vault.answer(&request);
            let path = request.uri().path();
            let is_silent = lock(&vault.silent).iter().any(|name| path.ends_with(name));
            async move {
                if is_silent {
                    std::future::pending::<()>().await;
                }
                Ok::<_, Infallible>(answer)
            }
        });
        Client::new(service, "default")
    }

    /// Writes a Secret, and tells whoever watches.
    fn write(&self, name: &str, version: u32, token: &str) {
        let key = ObjectKey::new("ns", name);
        lock(&self.secrets).insert(key, (version, token.to_owned()));
        let line = json!({"type": "MODIFIED", "object": metadata(name, version)});
        self.lines
            .send(format!("{line}\n"))
            .expect("somebody watches");
    }

    /// Tells whoever watches that it failed.
    fn fail_watch(&self, code: u16) {
        let line = json!({"type": "ERROR", "object": status(code)});
        self.lines
            .send(format!("{line}\n"))
            .expect("somebody watches");
    }

    /// Secrets that were read, each as often as it was.
    fn reads(&self) -> usize {
        let requests = lock(&self.requests);
        let is_read = |request: &&String| request.starts_with("get ");
        requests.iter().filter(is_read).count()
    }

    fn answer(&self, request: &Request<Body>) -> Response<Answer> {
        let (path, query) = (
            request.uri().path(),
            request.uri().query().unwrap_or_default(),
        );
        let name = path
            .strip_prefix("/api/v1/namespaces/ns/secrets")
            .expect("Secrets of ns");
        let secrets = lock(&self.secrets);
        let (note, code, body) = match name.strip_prefix('/') {
            Some(name) if lock(&self.refused).contains(name) => {
                (format!("get {name}"), 403, whole(&status(403)))
            }
            Some(name) => {
                let found = secrets.get(&ObjectKey::new("ns", name));
                let (code, body) = found.map_or((404, status(404)), |(version, token)| {
                    (200, secret(name, *version, token))
                });
                (format!("get {name}"), code, whole(&body))
            }
            None if self.watch_is_refused => ("refused".to_owned(), 403, whole(&status(403))),
            None if query.contains("watch=true") => ("watch".to_owned(), 200, self.watch()),
            None => {
                let items: Vec<Value> = secrets
                    .iter()
                    .map(|(key, (version, _))| metadata(&key.name, *version))
                    .collect();
                let list = json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                    "metadata": {"resourceVersion": "100"}, "items": items});
                ("list".to_owned(), 200, whole(&list))
            }
        };
        lock(&self.requests).push(note);
        Response::builder()
            .status(code)
            .body(body)
            .expect("an answer")
    }

    fn watch(&self) -> Answer {
        let (sender, receiver) = mpsc::channel::<String>(16);
        let mut lines = self.lines.subscribe();
        tokio::spawn(async move {
            while let Ok(line) = lines.recv().await {
                if sender.send(line).await.is_err() {
                    return;
                }
            }
        });
        let frames = futures::stream::unfold(receiver, |mut receiver| async {
            let line = receiver.recv().await?;
            let frame = http_body::Frame::data(Bytes::from(line));
            Some((Ok::<_, Infallible>(frame), receiver))
        });
        StreamBody::new(frames).boxed_unsync()
    }

    fn count(&self, request: &str) -> usize {
        let requests = lock(&self.requests);
        requests.iter().filter(|found| *found == request).count()
    }
}

fn metadata(name: &str, version: u32) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": name, "namespace": "ns", "resourceVersion": version.to_string()}})
}

fn secret(name: &str, version: u32, token: &str) -> Value {
    let token = k8s_openapi::ByteString(token.as_bytes().to_vec());
    json!({"kind": "Secret", "apiVersion": "v1", "data": {"token": token},
        "metadata": {"name": name, "namespace": "ns", "resourceVersion": version.to_string()}})
}

fn status(code: u16) -> Value {
    let reason = if code == 404 { "NotFound" } else { "Forbidden" };
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "no"})
}

fn ids(names: &[&str]) -> BTreeSet<SecretId> {
    let id = |name: &&str| SecretId {
        namespace: "ns".into(),
        name: (*name).to_owned(),
    };
    names.iter().map(id).collect()
}

impl Secrets {
    fn of(watches: &Arc<SecretWatches>, names: &[&str]) -> Self {
        let mut secrets = Self::new(Arc::clone(watches));
        secrets.follow(ids(names));
        secrets
    }

    /// The tokens of those that exist, once all have been read.
    fn tokens(&self) -> Option<Vec<String>> {
        let Snapshot::Complete(data) = self.snapshot() else {
            return None;
        };
        let token = |content: &Arc<SecretContent>| {
            String::from_utf8_lossy(content.data["token"].expose()).into_owned()
        };
        Some(data.values().map(token).collect())
    }

    async fn come_to(&self, tokens: &[&str]) {
        let wanted: Vec<String> = tokens.iter().map(ToString::to_string).collect();
        until(&format!("{tokens:?}"), || async {
            self.tokens().as_ref() == Some(&wanted)
        })
        .await;
    }
}

#[tokio::test]
async fn a_namespace_takes_one_watch_and_what_nobody_names_is_not_read() {
    let vault = Vault::new(&["a", "b", "c", "other"]);
    let watches = Arc::new(SecretWatches::new(vault.client(), Arc::default()));
    let first = Secrets::of(&watches, &["a", "b"]);
    let second = Secrets::of(&watches, &["b", "c", "absent"]);
    first.come_to(&["token of a", "token of b"]).await;
    second.come_to(&["token of b", "token of c"]).await;
    until("a watch", || async { vault.count("watch") == 1 }).await;
    vault.write("other", 2, "new");
    vault.write("b", 2, "rotated");
    first.come_to(&["token of a", "rotated"]).await;
    second.come_to(&["rotated", "token of c"]).await;
    vault.write("absent", 1, "made");
    second.come_to(&["made", "rotated", "token of c"]).await;
    let counts = ["list", "watch", "get other", "get a"].map(|request| vault.count(request));
    assert_eq!(counts, [1, 1, 0, 1]);
}

#[tokio::test]
async fn the_same_bytes_in_a_new_version_are_no_news() {
    let vault = Vault::new(&["a"]);
    let watches = Arc::new(SecretWatches::new(vault.client(), Arc::default()));
    let secrets = Secrets::of(&watches, &["a"]);
    secrets.come_to(&["token of a"]).await;
    until("a watch", || async { vault.count("watch") == 1 }).await;
    secrets.changed().await;
    let read = vault.count("get a");
    vault.write("a", 7, "token of a");
    until("a read", || async { vault.count("get a") > read }).await;
    vault.write("a", 8, "rotated");
    secrets.changed().await;
    assert_eq!(
        secrets.tokens().expect("read"),
        ["rotated"],
        "the first change told is this one"
    );
}

#[tokio::test]
async fn what_may_be_read_and_not_watched_is_read() {
    let vault = Vault {
        watch_is_refused: true,
        ..Vault::new(&["a"])
    };
    let watches = Arc::new(SecretWatches::new(vault.client(), Arc::default()));
    let secrets = Secrets::of(&watches, &["a"]);
    secrets.come_to(&["token of a"]).await;
    lock(&vault.secrets).insert(ObjectKey::new("ns", "a"), (2, "rotated".to_owned()));
    secrets.come_to(&["rotated"]).await;
}

#[tokio::test]
async fn a_namespace_of_which_nothing_is_named_is_not_watched() {
    let vault = Vault::new(&["a"]);
    let watches = Arc::new(SecretWatches::new(vault.client(), Arc::default()));
    let mut first = Secrets::of(&watches, &["a"]);
    let second = Secrets::of(&watches, &["a"]);
    first.come_to(&["token of a"]).await;
    first.follow(BTreeSet::new());
    assert!(watches.watches("ns"), "somebody else names it");
    drop(second);
    assert!(!watches.watches("ns"));
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_read_is_asked_for_seldom_whatever_else_is_read() {
    let vault = Vault {
        watch_is_refused: true,
        ..Vault::new(&["granted", "refused"])
    };
    lock(&vault.refused).insert("refused".to_owned());
    let watches = Arc::new(SecretWatches::new(vault.client(), Arc::default()));
    let secrets = Secrets::of(&watches, &["granted", "refused"]);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let (granted, refused) = (vault.count("get granted"), vault.count("get refused"));
    // A round every 15 to 30 s, and some more at the beginning.
    for asked in [granted, refused] {
        assert!((20..=50).contains(&asked), "{granted} and {refused}");
    }
    lock(&vault.refused).clear();
    secrets
        .come_to(&["token of granted", "token of refused"])
        .await;
}

#[tokio::test(start_paused = true)]
async fn reads_that_are_never_answered_hold_up_no_others() {
    let silent: Vec<String> = (0..8).map(|number| format!("silent-{number}")).collect();
    let silent: Vec<&str> = silent.iter().map(String::as_str).collect();
    let vault = Vault::new(&["well"]);
    lock(&vault.silent).extend(silent.iter().map(ToString::to_string));
    let watches = Arc::new(SecretWatches::new(vault.client(), Arc::default()));
    let _theirs = Secrets::of(&watches, &silent);
    until("reads that hang", || async {
        vault.count("get silent-7") == 1
    })
    .await;
    let ours = Secrets::of(&watches, &["well"]);
    // What hangs has all places; it gives them back after half a minute, and comes after all others then.
    let soon = Duration::from_secs(31);
    let read = tokio::time::timeout(soon, ours.changed()).await;
    assert!(read.is_ok(), "it is not read");
    assert_eq!(ours.tokens().expect("read"), ["token of well"]);
    vault.write("well", 2, "rotated");
    let read = tokio::time::timeout(soon, ours.changed()).await;
    assert!(read.is_ok(), "it is not read again");
    assert_eq!(ours.tokens().expect("read"), ["rotated"]);
    let one = Secrets::of(&watches, &["silent-0"]);
    let Snapshot::Failed(error) = one.snapshot() else {
        panic!("it was not given up");
    };
    let words = error.to_string();
    assert!(words.contains("does not answer in time"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn many_secrets_that_cannot_be_watched_are_read_in_rounds() {
    let names: Vec<String> = (0..1000).map(|number| format!("s{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let vault = Vault {
        watch_is_refused: true,
        ..Vault::new(&names)
    };
    let watches = Arc::new(SecretWatches::new(vault.client(), Arc::default()));
    let _secrets = Secrets::of(&watches, &names);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let asked = lock(&vault.requests).len();
    // A thousand at 20 in a second are a round in 50 s.
    assert!((10_000..=15_000).contains(&asked), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_once_or_is_too_old_tells_of_changes_soon_and_has_nothing_read() {
    let names: Vec<String> = (0..1000).map(|number| format!("s{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let vault = Vault::new(&names);
    let watches = Arc::new(SecretWatches::new(vault.client(), Arc::default()));
    let _secrets = Secrets::of(&watches, &names);
    let soon = Duration::from_secs(3);
    until("all are read", || async { vault.reads() == 1000 }).await;
    until("a watch", || async { vault.count("watch") == 1 }).await;
    let rotate = async |version: u32| {
        tokio::time::sleep(soon).await;
        let read = vault.reads();
        vault.write("s7", version, "rotated");
        until("it is read", || async { vault.reads() > read }).await;
        tokio::time::sleep(soon).await;
        assert_eq!(vault.reads(), read + 1, "and nothing else");
        read
    };
    let read = rotate(2).await;
    vault.fail_watch(500);
    assert_eq!(rotate(3).await, read + 1, "that it broke has nothing read");
    vault.fail_watch(410);
    until("a list", || async { vault.count("list") == 2 }).await;
    until("a watch", || async { vault.count("watch") == 2 }).await;
    assert_eq!(rotate(4).await, read + 2, "nor that it was too old");
}
