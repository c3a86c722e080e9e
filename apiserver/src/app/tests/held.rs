//! What is held for clients: all of it is in the budget, and nobody waits for the budget who needs none of it.

use super::*;
use crate::answer::outbox::OUTBOX;

const PODS: &str = "resources/api/v1/pods";
const BUDGET: usize = 16 << 20;
const SELF_REVIEW: &str = r#"{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}"#;

/// A pod that becomes longer in every form but the plain one.
fn pod(rows: usize) -> Value {
    json!({
        "spec": {"nodeName": "n", "containers": [], "rows": vec![json!([[[[1]]]]); rows]},
        "status": {"phase": "Running"},
    })
}

/// Many small pods in one cluster, one large one in another.
fn large_and_small() -> Contents {
    let contents = Contents::new()
        .cluster("m1", "v1.36.1", "")
        .cluster("m2", "v1.36.1", "");
    let contents = contents.object("m2", &pods(), "x", "large", pod(80_000));
    (0..2000).fold(contents, |contents, number| {
        contents.object("m1", &pods(), "x", &format!("p{number:04}"), pod(20))
    })
}

async fn server() -> Server {
    let limits = Limits {
        in_flight: SIZES,
        bytes: BUDGET,
        time: Duration::from_secs(60),
        searches: 4,
    };
    Server::with_limits(large_and_small(), ["everybody may do everything"], limits).await
}

/// Asks, and keeps every frame of the answer for as long as another one comes: what is kept, and what that holds of the budget.
async fn keep_all(server: &Server, path: &str, accept: &str) -> usize {
    let request = Request::get(format!("{BASE}/{path}"))
        .header("authorization", "Bearer alice")
        .header("accept", accept)
        .body(http_body_util::Empty::<bytes::Bytes>::new())
        .expect("a request");
    let connection = server.app.connection(HOME, Vec::new());
    let response = server.app.respond(request, &connection).await;
    assert_eq!(response.status(), 200, "{path}");
    let mut body = response.into_body();
    let (mut kept, mut length) = (Vec::new(), 0);
    while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_secs(1), body.frame()).await {
        let frame = frame.expect("no error").into_data().expect("data");
        length += frame.len();
        kept.push(frame);
        let held = server.app.counters().read().held_bytes;
        assert!(
            length as u64 <= held,
            "{held} of {length} bytes are in the budget"
        );
        assert!(held <= BUDGET as u64 / 4);
    }
    length
}

#[tokio::test(start_paused = true)]
async fn what_a_client_has_not_taken_is_in_the_budget_in_every_form() {
    let server = server().await;
    for path in [PODS, "resources/clusters/m2/api/v1/namespaces/x/pods/large"] {
        for (query, accept) in [
            ("", "application/json"),
            ("", "application/yaml"),
            ("", TABLE),
            ("", "application/yaml;as=Table;v=v1;g=meta.k8s.io"),
            ("?pretty=true", "application/json"),
            ("?pretty=true&includeObject=Object", TABLE),
        ] {
            let kept = keep_all(&server, &format!("{path}{query}"), accept).await;
            assert!(kept > 100, "{path} {query} {accept}: {kept}");
            while server.app.counters().read().in_flight > 0 {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            assert_eq!(server.app.counters().read().held_bytes, 0);
        }
    }
}

/// Holds all of the budget.
fn hold_all(server: &Server) -> Vec<crate::answer::budget::Reservation> {
    let allowance = Allowance::new(Arc::clone(&server.app.budget), Vec::new());
    let held = std::iter::from_fn(|| allowance.reserve_now(BUDGET));
    held.collect()
}

#[tokio::test(start_paused = true)]
async fn documents_reviews_and_health_do_not_wait_behind_lists() {
    let server = server().await;
    let held = hold_all(&server);
    assert_eq!(server.app.counters().read().held_bytes, BUDGET as u64);
    let began = Instant::now();
    let headers = [("authorization", "Bearer alice")];
    for path in [
        "/apis",
        "/apis/clusterpedia.io",
        BASE,
        "/openapi/v2",
        "/openapi/v3",
        "/version",
        "/readyz",
        "/livez",
        &format!("{BASE}/resources/apis"),
        &format!("{BASE}/resources/api/v1"),
        &format!("{BASE}/resources/readyz"),
    ] {
        let answer = server.ask("GET", path, &headers).await;
        assert_eq!(answer.code, 200, "{path}");
    }
    let review = format!("{BASE}/resources/apis/authentication.k8s.io/v1/selfsubjectreviews");
    let answer = server
        .send("POST", &review, &headers, SELF_REVIEW.to_owned())
        .await;
    assert_eq!(answer.code, 201, "{}", answer.text());
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(server.get(PODS).await.code, 429);
    assert!(began.elapsed() >= Duration::from_secs(10));
    drop(held);
    assert_eq!(server.get(PODS).await.code, 200);
}

/// Numbers on lines of their own, as far to the right as lines are in YAML.
fn deep_review() -> String {
    let (open, close) = ("[".repeat(30), "]".repeat(30));
    let numbers = vec!["1"; 8000].join(",");
    let spec = format!(r#","spec":{open}{numbers}{close}}}"#);
    SELF_REVIEW.replace('}', &spec)
}

#[tokio::test(start_paused = true)]
async fn a_review_becomes_yaml_in_pieces_that_are_in_the_budget() {
    let server = server().await;
    let review = format!("{BASE}/resources/apis/authentication.k8s.io/v1/selfsubjectreviews");
    let request = Request::post(&review)
        .header("authorization", "Bearer alice")
        .header("accept", "application/yaml")
        .body(deep_review())
        .expect("a request");
    let connection = server.app.connection(HOME, Vec::new());
    let response = server.app.respond(request, &connection).await;
    assert_eq!(response.status(), 201);
    let most = (OUTBOX + (20 << 10)) as u64;
    let (mut body, mut length) = (response.into_body(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.expect("no error").into_data().expect("data");
        let held = server.app.counters().read().held_bytes;
        let is_held = frame.len() as u64 <= held;
        assert!(is_held && held <= most, "{held} of {}", frame.len());
        length += frame.len();
    }
    assert!(length > 450_000, "{length}");
    let held = hold_all(&server);
    let headers = [
        ("authorization", "Bearer alice"),
        ("accept", "application/yaml"),
    ];
    for (posted, code) in [(SELF_REVIEW.to_owned(), 201), (deep_review(), 429)] {
        let answer = server.send("POST", &review, &headers, posted).await;
        assert_eq!(answer.code, code, "{}", answer.text());
    }
    drop(held);
}

fn large_config_map(value: &Value) -> Contents {
    let config_maps = resource("", "v1", "configmaps", "ConfigMap", true);
    let contents = Contents::new().cluster("m1", "v1.36.1", "");
    contents.object("m1", &config_maps, "x", "large", json!({"data": value}))
}

const CONFIG_MAP: &str = "resources/clusters/m1/api/v1/namespaces/x/configmaps/large";

async fn server_with(contents: Contents, bytes: usize) -> Server {
    let limits = Limits {
        in_flight: SIZES,
        bytes,
        time: Duration::from_secs(60),
        searches: 4,
    };
    Server::with_limits(contents, ["everybody may do everything"], limits).await
}

#[tokio::test(start_paused = true)]
async fn the_largest_object_that_is_stored_comes_in_every_form() {
    // Twice as long as JSON.
    let lines = "\n".repeat(1_000_000);
    let server = server_with(large_config_map(&json!({"lines": lines})), 32 << 20).await;
    for (query, accept) in [
        ("", "application/json"),
        ("?pretty=true", "application/json"),
        ("", "application/yaml"),
        ("?pretty=true&includeObject=Object", TABLE),
    ] {
        let path = format!("{CONFIG_MAP}{query}");
        let asking = server.get_as(&path, accept);
        let answer = tokio::time::timeout(Duration::from_secs(5), asking).await;
        let answer = answer.unwrap_or_else(|_| panic!("{query} {accept} stands still"));
        assert_eq!(answer.code, 200, "{query} {accept}");
        assert!(answer.text().len() > 1_000_000, "{query} {accept}");
        drop(answer);
        assert_eq!(server.app.counters().read().held_bytes, 0);
    }
}
