//! Who is asking, when they say that they are somebody else.

use super::*;

const PODS: &str = "resources/api/v1/pods";

async fn as_bob(server: &Server, path: &str) -> Answer {
    let headers = [
        ("authorization", "Bearer alice"),
        ("impersonate-user", "bob"),
    ];
    server.ask("GET", &format!("{BASE}/{path}"), &headers).await
}

#[tokio::test]
async fn who_acts_as_somebody_else_sees_what_they_may_see() {
    let rules = [
        "alice get resources/api/v1",
        "alice list pods in *",
        "alice impersonate users in *",
        "bob get resources/api/v1",
        "bob list pods in x",
    ];
    let server = Server::new(fleet(), rules).await;
    assert_eq!(server.get(PODS).await.code, 200);
    let refused = as_bob(&server, PODS).await;
    assert_eq!(refused.code, 403);
    assert!(
        refused
            .message()
            .starts_with("pods is forbidden: User \"bob\" cannot list"),
        "{}",
        refused.message()
    );
    let granted = as_bob(&server, "resources/api/v1/namespaces/x/pods").await;
    assert_eq!(granted.items(), ["m1/x/a", "m1/x/b", "m2/x/a"]);
}

#[tokio::test]
async fn who_may_not_act_as_somebody_else_is_refused_first() {
    let server = Server::new(fleet(), ["bob get resources/api/v1", "bob list pods in *"]).await;
    let refused = as_bob(&server, PODS).await;
    assert_eq!(
        (refused.code, refused.message().as_str()),
        (
            403,
            "users \"bob\" is forbidden: User \"alice\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope"
        )
    );
}
