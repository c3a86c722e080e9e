//! Whole requests against a real store, with reviewers that answer what they were told to.

mod callers;
mod compressed;
mod discovery;
mod held;
mod labelled;
mod lists;
mod objects;
mod order;
mod permissions;
mod reviews;
mod revisions;
mod room;
mod scope;
mod searches;
mod strangers;
mod time_limits;
mod yaml;

use std::sync::atomic::Ordering;

use arc_swap::ArcSwap;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::*;
use crate::caller::authn::Trust;
use crate::testing::{Contents, FixedTokens, Rules, Watched, resource};

/// Where everybody comes from.
const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const BASE: &str = "/apis/clusterpedia.io/v1beta1";
/// Enough for every test that is not about them.
const SIZES: PoolSizes = PoolSizes {
    short: 10,
    lists: 10,
    short_per_user: 10,
};
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

struct Server {
    app: Arc<App>,
    store: Arc<Watched>,
}

/// An answer that was read to its end.
struct Answer {
    code: u16,
    head: Response<()>,
    /// `None` if it broke off.
    body: Option<Vec<u8>>,
}

impl Answer {
    #[track_caller]
    fn text(&self) -> &str {
        let body = self.body.as_deref().expect("a complete body");
        std::str::from_utf8(body).expect("text")
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    #[track_caller]
    fn message(&self) -> String {
        let status = self.json();
        assert_eq!(status["kind"], "Status", "{status}");
        assert_eq!(status["code"], self.code, "{status}");
        status["message"].as_str().expect("a message").to_owned()
    }

    fn header(&self, name: &str) -> Vec<&str> {
        let values = self.head.headers().get_all(name).into_iter();
        values.map(|value| value.to_str().expect("text")).collect()
    }

    /// `cluster/namespace/name` of every item.
    #[track_caller]
    fn items(&self) -> Vec<String> {
        let list = self.json();
        let items = list["items"]
            .as_array()
            .unwrap_or_else(|| panic!("no items: {list}"));
        items.iter().map(path_of).collect()
    }
}

fn path_of(object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!(
        "{}/{}/{}",
        text(&metadata["annotations"]["shadow.clusterpedia.io/cluster-name"]),
        text(&metadata["namespace"]),
        text(&metadata["name"])
    )
}

impl Server {
    /// Everybody may do everything.
    async fn open(contents: Contents) -> Self {
        Self::new(contents, ["everybody may do everything"]).await
    }

    async fn new(contents: Contents, rules: impl IntoIterator<Item = &'static str>) -> Self {
        Self::with_limits(
            contents,
            rules,
            Limits {
                in_flight: SIZES,
                bytes: 64 << 20,
                time: Duration::from_secs(60),
                searches: 4,
            },
        )
        .await
    }

    async fn with_limits(
        contents: Contents,
        rules: impl IntoIterator<Item = &'static str>,
        limits: Limits,
    ) -> Self {
        let store = contents.store().await;
        let trust = Arc::new(ArcSwap::from_pointee(Trust::nothing()));
        let tokens = FixedTokens::new([
            ("alice", "alice"),
            ("bob", "bob"),
            ("carol", "carol"),
            ("builder", "system:serviceaccount:tenant:builder"),
            ("runner", "system:serviceaccount:tenant:runner"),
            ("neighbour", "system:serviceaccount:other:builder"),
        ]);
        let mut app = App::new(
            Arc::clone(&store) as Arc<dyn Search>,
            Authenticator::new(trust, Arc::new(tokens)),
            Authorizer::new(Arc::new(Rules::new(rules))),
            Arc::default(),
            limits,
        );
        app.context.clock = || "2026-03-01T12:00:00Z".parse().expect("a time");
        Self {
            app: Arc::new(app),
            store,
        }
    }

    /// The same, with its API in another group.
    fn in_group(self, group: &str) -> Self {
        let app = Arc::into_inner(self.app).expect("nobody has it yet");
        Self {
            app: Arc::new(app.in_group(group.to_owned())),
            ..self
        }
    }

    /// Alice asks for a path below the group.
    async fn get(&self, path: &str) -> Answer {
        self.get_as(path, "application/json").await
    }

    async fn get_as(&self, path: &str, accept: &str) -> Answer {
        let uri = format!("{BASE}/{path}");
        self.ask(
            "GET",
            &uri,
            &[("authorization", "Bearer alice"), ("accept", accept)],
        )
        .await
    }

    async fn ask(&self, method: &str, uri: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(method, uri, headers, String::new()).await
    }

    async fn send(
        &self,
        method: &str,
        uri: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(http_body_util::Full::<bytes::Bytes>::from(body));
        let request = request.expect("a request");
        let response = self
            .app
            .respond(request, &self.app.connection(HOME, Vec::new()))
            .await;
        let (parts, body) = response.into_parts();
        Answer {
            code: parts.status.as_u16(),
            head: Response::from_parts(parts, ()),
            body: read(body).await,
        }
    }
}

/// Takes a body to its end as a socket does: what has been taken holds nothing. `None` if it broke off.
async fn read(mut body: Body) -> Option<Vec<u8>> {
    let mut taken = Vec::new();
    while let Some(frame) = body.frame().await {
        taken.extend_from_slice(frame.ok()?.data_ref().expect("data"));
    }
    Some(taken)
}

fn pods() -> armadex_model::ResourceType {
    resource("", "v1", "pods", "Pod", true)
}

fn nodes() -> armadex_model::ResourceType {
    resource("", "v1", "nodes", "Node", false)
}

fn deployments() -> armadex_model::ResourceType {
    resource("apps", "v1", "deployments", "Deployment", true)
}

/// Two clusters with pods in two namespaces each; `m1` has a node and deployments too, `m2` does not answer.
fn fleet() -> Contents {
    let pod = |app: &str, phase: &str| json!({"labels": {"app": app}, "spec": {"containers": [{"name": "c"}]}, "status": {"phase": phase}});
    Contents::new()
        .cluster("m1", "v1.36.1", "")
        .cluster("m2", "v1.35.0", "NotReachable")
        .object("m1", &pods(), "x", "a", pod("web", "Running"))
        .object("m1", &pods(), "x", "b", pod("db", "Failed"))
        .object("m1", &pods(), "y", "c", pod("web", "Running"))
        .object("m2", &pods(), "x", "a", pod("web", "Pending"))
        .object("m2", &pods(), "z", "d", json!({"spec": {}, "status": {}}))
        .object("m1", &nodes(), "", "n1", json!({"spec": {}}))
        .synced("m1", &deployments())
}
