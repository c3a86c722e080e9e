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
