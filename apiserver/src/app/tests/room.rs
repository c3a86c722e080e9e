//! Room: who finds none, whose it is, and how long it is held.

use futures::FutureExt as _;

use super::*;
use crate::caller::attributes::Attributes;
use crate::caller::authz::{AccessReviewer, Decision};
use crate::caller::review::ReviewFailed;
use crate::testing::{Authority, extension_authentication};

const LIST: &str = "resources/api/v1/pods";
const GET: &str = "resources/clusters/m1/api/v1/nodes/n1";

fn limits(in_flight: PoolSizes) -> Limits {
    Limits {
        in_flight,
        bytes: 64 << 20,
        time: Duration::from_secs(60),
        searches: 4,
    }
}

async fn server(in_flight: PoolSizes) -> Server {
    let everything = ["everybody may do everything"];
    Server::with_limits(fleet(), everything, limits(in_flight)).await
}

impl Server {
    /// A user asks on a connection; the answer is not taken yet.
    pub(super) async fn begin(
        &self,
        connection: &Connection,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Response<Body> {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(String::new()).expect("a request");
        self.app.respond(request, connection).await
    }
}

async fn taken(response: Response<Body>) -> Value {
    let body = response.into_body().collect().await.expect("complete");
    serde_json::from_slice(&body.to_bytes()).expect("JSON")
}

#[tokio::test]
async fn a_pool_that_is_full_asks_to_come_again_and_keeps_nobody_else_out() {
    let (no_short, no_lists) = (
        PoolSizes { short: 0, ..SIZES },
        PoolSizes { lists: 0, ..SIZES },
    );
    for (sizes, list, get) in [(no_short, 200, 429), (no_lists, 429, 200)] {
        let server = server(sizes).await;
        let connection = server.app.connection(HOME, Vec::new());
        for (path, code) in [
            (format!("{BASE}/{LIST}"), list),
            (format!("{BASE}/{GET}"), get),
            ("/apis".to_owned(), 200),
        ] {
            let alice = [("authorization", "Bearer alice")];
            let response = server.begin(&connection, &path, &alice).await;
            assert_eq!(response.status(), code, "{path}");
            if code == 429 {
                assert_eq!(response.headers()["retry-after"], "1");
                let status = taken(response).await;
                assert_eq!(status["reason"], "TooManyRequests");
                let message = status["message"].as_str().expect("a message");
                assert!(message.starts_with("too many requests are in"), "{message}");
            }
        }
    }
}

#[tokio::test]
async fn health_needs_no_room() {
    let sizes = PoolSizes {
        short: 0,
        lists: 0,
        short_per_user: 0,
    };
    let server = server(sizes).await;
    assert_eq!(server.get(GET).await.code, 429);
    assert_eq!(server.ask("GET", "/livez", &[]).await.code, 200);
}

#[tokio::test]
async fn one_user_cannot_keep_another_out() {
    let server = server(PoolSizes {
        short: 4,
        lists: 2,
        short_per_user: 2,
    })
    .await;
    for (path, share) in [(LIST, 1), (GET, 2)] {
        let ask = async |user: &str| {
            let token = format!("Bearer {user}");
            let connection = server.app.connection(HOME, Vec::new());
            let path = format!("{BASE}/{path}");
            let headers = [("authorization", token.as_str())];
            server.begin(&connection, &path, &headers).await
        };
        // An answer that has been made holds its place until it has been taken.
        let mut held = Vec::new();
        for _ in 0..share {
            held.push(ask("alice").await);
            assert_eq!(held.last().expect("an answer").status(), 200, "{path}");
        }
        assert_eq!(ask("alice").await.status(), 429, "{path}");
        assert_eq!(ask("bob").await.status(), 200, "{path}");
        taken(held.pop().expect("an answer")).await;
        // The task that sent a list lets go of its place soon after.
        while ask("alice").await.status() == 429 {
            tokio::task::yield_now().await;
        }
    }
}

/// Whoever may make a service account in a namespace may make as many as they like.
#[tokio::test]
async fn the_service_accounts_of_a_namespace_share_one_users_room() {
    let server = server(PoolSizes {
        short: 4,
        lists: 4,
        short_per_user: 1,
    })
    .await;
    for path in [GET, LIST] {
        let ask = async |user: &str| {
            let token = format!("Bearer {user}");
            let connection = server.app.connection(HOME, Vec::new());
            let headers = [("authorization", token.as_str())];
            let path = format!("{BASE}/{path}");
            let answer = server.begin(&connection, &path, &headers).await;
            (answer, connection.last_user())
        };
        let (held, account) = ask("builder").await;
        assert_eq!(held.status(), 200);
        assert_eq!(account.as_deref(), Some("system:serviceaccount:tenant:"));
        assert_eq!(ask("runner").await.0.status(), 429, "{path}");
        assert_eq!(ask("neighbour").await.0.status(), 200, "{path}");
        drop(held);
    }
}

#[tokio::test]
async fn who_acts_as_others_takes_up_their_own_room() {
    let server = server(PoolSizes {
        short: 4,
        lists: 4,
        short_per_user: 1,
    })
    .await;
    let connection = server.app.connection(HOME, Vec::new());
    let path = format!("{BASE}/{GET}");
    let alice = ("authorization", "Bearer alice");
    let as_bob = [alice, ("impersonate-user", "bob")];
    let held = server.begin(&connection, &path, &[alice]).await;
    assert_eq!(held.status(), 200);
    let refused = server.begin(&connection, &path, &as_bob).await;
    assert_eq!(refused.status(), 429);
    let bob = [("authorization", "Bearer bob")];
    let other = server.begin(&connection, &path, &bob).await;
    assert_eq!(other.status(), 200);
    drop(held);
    let granted = server.begin(&connection, &path, &as_bob).await;
    assert_eq!(granted.status(), 200);
}

/// Believes a front proxy and the tokens of some.
async fn behind_a_proxy(
    proxy: &Authority,
    reviewer: Arc<dyn AccessReviewer>,
    contents: Contents,
    limits: Limits,
) -> Server {
    let trust = Trust::from_data(&extension_authentication(proxy, &Authority::new("c")));
    let tokens = FixedTokens::new(["alice", "bob", "carol", "dave"].map(|name| (name, name)));
    let store = contents.store().await;
    let app = App::new(
        Arc::clone(&store) as Arc<dyn Search>,
        Authenticator::new(
            Arc::new(ArcSwap::from_pointee(trust.expect("a configuration"))),
            Arc::new(tokens),
        ),
        Authorizer::new(reviewer),
        Arc::default(),
        limits,
    );
    Server {
        app: Arc::new(app),
        store,
    }
}

/// Answers about nobody but erin, who may do everything.
struct Slow;

#[async_trait::async_trait]
impl AccessReviewer for Slow {
    async fn review(&self, who: &Identity, _: &Attributes) -> Result<Decision, ReviewFailed> {
        match who.user.as_str() {
            "erin" => Ok(Decision::Allowed),
            _ => std::future::pending().await,
        }
    }
}

#[tokio::test]
async fn users_whose_reviews_are_slow_keep_nobody_out_who_comes_with_one_request() {
    let sizes = PoolSizes {
        short: 8,
        lists: 8,
        short_per_user: 2,
    };
    let proxy = Authority::new("p");
    let server = behind_a_proxy(&proxy, Arc::new(Slow), fleet(), limits(sizes)).await;
    let proxys = Connection::new(
        proxy.peer("front-proxy-client", &[]),
        HOME,
        server.app.budget.share(),
    );
    for path in [LIST, GET].map(|path| format!("{BASE}/{path}")) {
        let users = ["alice", "bob", "carol", "dave"].map(|user| format!("Bearer {user}"));
        let (strangers, server) = (server.app.connection(HOME, Vec::new()), &server);
        let asking = users.iter().flat_map(|user| [user; 2]).map(|user| {
            let (connection, path) = (&strangers, &path);
            Box::pin(async move {
                let headers = [("authorization", user.as_str())];
                server.begin(connection, path, &headers).await
            })
        });
        let mut asking: Vec<_> = asking.collect();
        let mut refused = 0;
        // The tasks that ask about tokens have their turns in between.
        for _ in 0..100 {
            asking.retain_mut(|one| one.as_mut().now_or_never().is_none());
            refused = 8 - asking.len();
            tokio::task::yield_now().await;
        }
        assert_eq!(refused, 1, "the last place is for somebody who has none");
        let erin = [("x-remote-user", "erin")];
        let answer = server.begin(&proxys, &path, &erin).await;
        assert_eq!(answer.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn long_heads_that_wait_are_bounded_and_leave_room_for_others() {
    let proxy = Authority::new("p");
    let sizes = PoolSizes {
        short: 400,
        lists: 400,
        short_per_user: 100,
    };
    let server = behind_a_proxy(&proxy, Arc::new(Slow), fleet(), limits(sizes)).await;
    let proxys = Connection::new(
        proxy.peer("front-proxy-client", &[]),
        HOME,
        server.app.budget.share(),
    );
    let long = format!("{BASE}/{GET}?ignored={}", "x".repeat(20 << 10));
    let (server, proxys, long) = (&server, &proxys, &long);
    let ask = |user: String| {
        Box::pin(async move {
            let headers = [("x-remote-user", user.as_str())];
            server.begin(proxys, long, &headers).await.status()
        })
    };
    let mut held = Vec::new();
    for (user, waiting) in [("alice", 16), ("bob", 16), ("carol", 16), ("dave", 1)] {
        let mut asking: Vec<_> = (0..40).map(|_| ask(user.to_owned())).collect();
        asking.retain_mut(|one| one.as_mut().now_or_never().is_none());
        assert_eq!(asking.len(), waiting, "{user}");
        held.extend(asking);
    }
    assert_eq!(ask("erin".to_owned()).await, 200);
    let short = format!("{BASE}/{GET}");
    let alice = [("x-remote-user", "alice")];
    let mut asking = Box::pin(server.begin(proxys, &short, &alice));
    assert!(
        asking.as_mut().now_or_never().is_none(),
        "it is not refused"
    );
}

/// A quarter of the budget is less than is reserved before an object is read, so that one that is not taken leaves no room for another.
#[tokio::test(start_paused = true)]
async fn the_users_of_a_connection_share_what_it_may_hold_unless_it_is_a_front_proxys() {
    let proxy = Authority::new("p");
    let large = json!({"spec": {"text": "x".repeat(256 << 10)}});
    let contents = fleet().object("m1", &pods(), "x", "large", large);
    let everything = Rules::new(["everybody may do everything"]);
    let limits = Limits {
        bytes: 4 << 20,
        ..limits(SIZES)
    };
    let server = behind_a_proxy(&proxy, Arc::new(everything), contents, limits).await;
    let connection = |peer: Peer| Connection::new(peer, HOME, server.app.budget.share());
    let strangers = connection(Peer::default());
    let proxys = connection(proxy.peer("front-proxy-client", &[]));
    let path = format!("{BASE}/resources/clusters/m1/api/v1/namespaces/x/pods/large");
    for (connection, [alice, bob], code) in [
        (
            &strangers,
            [
                ("authorization", "Bearer alice"),
                ("authorization", "Bearer bob"),
            ],
            429,
        ),
        (
            &proxys,
            [("x-remote-user", "alice"), ("x-remote-user", "bob")],
            200,
        ),
    ] {
        let held = server.begin(connection, &path, &[alice]).await;
        assert_eq!(held.status(), 200);
        let other = server.begin(connection, &path, &[bob]).await;
        assert_eq!(other.status(), code, "{bob:?}");
        drop(held);
    }
}

#[tokio::test]
async fn refusals_that_nobody_takes_keep_nobody_else_out() {
    let sizes = PoolSizes {
        short: 4,
        lists: 2,
        short_per_user: 2,
    };
    let rules = [
        "carol get resources/clusters/m1",
        "carol get nodes in *",
        "carol list nodes in *",
    ];
    let server = Server::with_limits(fleet(), rules, limits(sizes)).await;
    let connection = server.app.connection(HOME, Vec::new());
    for (path, share) in [("resources/clusters/m1/api/v1/nodes", 1), (GET, 2)] {
        let ask = async |user: &str| {
            let token = format!("Bearer {user}");
            let headers = [("authorization", token.as_str())];
            let path = format!("{BASE}/{path}");
            server.begin(&connection, &path, &headers).await
        };
        let mut untaken = Vec::new();
        for user in ["alice", "bob"] {
            for _ in 0..share {
                untaken.push(ask(user).await);
                assert_eq!(untaken[untaken.len() - 1].status(), 403, "{path}");
            }
            assert_eq!(
                ask(user).await.status(),
                429,
                "{path}: they count against {user}"
            );
        }
        assert_eq!(ask("carol").await.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn health_is_told_to_who_asks_for_a_head_alone() {
    let server = server(SIZES).await;
    for (path, code) in [("/readyz", 200), ("/livez", 200), ("/version", 405)] {
        assert_eq!(server.ask("HEAD", path, &[]).await.code, code, "{path}");
    }
    let answer = server.ask("PUT", "/readyz", &[]).await;
    assert_eq!(answer.header("allow"), ["GET, HEAD"]);
}
