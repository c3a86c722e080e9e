//! Callers who may see a part of the fleet.

use armadex_model::query::{NamespaceScope, Scope};

use super::*;

const PODS: &str = "resources/api/v1/pods";
const SHOWN: [&str; 3] = ["m1/x/a", "m1/x/b", "m1/y/c"];

/// A fleet of which two namespaces of one cluster may be seen.
async fn server() -> Server {
    let contents = fleet().object("m1", &pods(), "secret", "s", json!({"spec": {}}));
    let mut server = Server::open(contents).await;
    let two = NamespaceScope::Only(["x", "y"].map(str::to_owned).into());
    let scope = Scope::Clusters([("m1".to_owned(), two)].into());
    let reviewer = Rules::new(["everybody may do everything"]);
    let app = Arc::get_mut(&mut server.app).expect("nobody else has it");
    app.context.authorizer = Authorizer::new(Arc::new(reviewer)).within(scope);
    server
}

#[tokio::test]
async fn every_page_shows_what_the_caller_may_see() {
    let server = server().await;
    for query in [
        "limit=1",
        "limit=1&orderby=name",
        "limit=1&labelSelector=app",
    ] {
        let (mut items, mut token) = (Vec::new(), String::new());
        for _ in 0..SHOWN.len() {
            let answer = server
                .get(&format!("{PODS}?{query}&continue={token}"))
                .await;
            items.extend(answer.items());
            let next = answer.json()["metadata"]["continue"].clone();
            token = next.as_str().unwrap_or_default().to_owned();
        }
        assert_eq!(items, SHOWN, "{query}");
        assert_eq!(token, "", "{query}");
    }
    let none = server.get(&format!("{PODS}?clusters=m2")).await;
    assert_eq!(none.items(), [""; 0]);
}

#[tokio::test]
async fn what_the_caller_may_not_see_is_neither_counted_nor_skipped() {
    let server = server().await;
    for (query, items, remaining) in [
        ("limit=1&withRemainingCount=true", &SHOWN[..1], 2),
        (
            "limit=1&continue=1&withRemainingCount=true",
            &SHOWN[1..2],
            1,
        ),
        (
            "limit=1&continue=2&withRemainingCount=true&orderby=created_at",
            &SHOWN[2..],
            0,
        ),
    ] {
        let answer = server.get(&format!("{PODS}?{query}")).await;
        assert_eq!(answer.items(), items, "{query}");
        let metadata = &answer.json()["metadata"];
        assert_eq!(metadata["remainingItemCount"], remaining, "{query}");
    }
}

#[tokio::test]
async fn no_warning_names_a_cluster_that_the_caller_may_not_see() {
    let server = server().await;
    for query in ["", "clusters=m1,m2", "orderby=name"] {
        let answer = server.get(&format!("{PODS}?{query}")).await;
        assert_eq!(answer.items(), SHOWN, "{query}");
        assert_eq!(answer.header("warning"), [""; 0], "{query}");
    }
}
