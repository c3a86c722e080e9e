//! What is granted is granted for one group, one type and, where a rule says so, one name.

use super::*;

/// The code that alice gets who may look at the fleet and `m1`, and has one more rule.
async fn code(rule: &'static str, path: &str) -> u16 {
    let outer = [
        "alice get fleets/all/proxy",
        "alice get clusters/m1/proxy",
        rule,
    ];
    Server::new(fleet(), outer).await.get(path).await.code
}

#[tokio::test]
async fn a_type_is_granted_with_its_group() {
    let path = "fleets/all/proxy/apis/apps/v1/deployments";
    for (rule, expected) in [
        ("alice list deployments.apps in *", 200),
        ("alice list deployments in *", 403),
        ("alice list deployments.acme.com in *", 403),
        ("alice list pods in *", 403),
        ("alice get deployments.apps in *", 403),
    ] {
        assert_eq!(code(rule, path).await, expected, "{rule}");
    }
}

#[tokio::test]
async fn a_name_is_granted_without_the_others() {
    for (path, expected) in [
        ("clusters/m1/proxy/api/v1/namespaces/x/pods/a", 200),
        ("clusters/m1/proxy/api/v1/namespaces/x/pods/b", 403),
        ("clusters/m1/proxy/api/v1/namespaces/y/pods/a", 403),
    ] {
        assert_eq!(
            code("alice get pods a in x", path).await,
            expected,
            "{path}"
        );
    }
    for (path, expected) in [
        ("fleets/all/proxy/api/v1/namespaces/x/pods", 403),
        (
            "fleets/all/proxy/api/v1/namespaces/x/pods?fieldSelector=metadata.name%3Da",
            200,
        ),
        (
            "fleets/all/proxy/api/v1/namespaces/x/pods?fieldSelector=metadata.name%3Db",
            403,
        ),
    ] {
        assert_eq!(
            code("alice list pods a in x", path).await,
            expected,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_refusal_is_short_whatever_was_asked() {
    let server = Server::new(
        fleet(),
        [
            "alice get resources/clusters/m1",
            "alice get pods in x",
            "alice list pods in x",
        ],
    )
    .await;
    let long = |text: &str, bytes: usize| text.repeat(bytes / text.len());
    let name = "resources/clusters/m1/api/v1/namespaces/x/pods";
    for (path, code) in [
        (format!("/{}", long("%22", 60 << 10)), 404),
        (format!("/a{}", long("/a", 60 << 10)), 404),
        (format!("/{}", long("%22", 4000)), 403),
        (format!("/{}", long("%F4%8F%BF%BF", 4000)), 403),
        (
            format!(
                "{BASE}/resources/clusters/m1/api/v1/nodes/{}",
                long("%22", 3900)
            ),
            403,
        ),
        (format!("{BASE}/{name}/{}", long("%22", 3900)), 404),
        (format!("{BASE}/{name}?{}=1", long("%22", 60 << 10)), 200),
        (
            format!("{BASE}/{name}?labelSelector={}", long("%22", 60 << 10)),
            400,
        ),
    ] {
        let answer = server
            .ask("GET", &path, &[("authorization", "Bearer alice")])
            .await;
        let length = answer.text().len();
        assert!(length < 8 << 10, "{length} bytes for {}", &path[..80]);
        assert_eq!(answer.code, code, "{}", &path[..80]);
    }
}
