//! A path on the left, what it names on the right.

use super::*;
use proptest::prelude::*;

const BASE: &str = "/apis/clusterpedia.io/v1beta1";

fn target(path: &str) -> Option<Target> {
    Target::parse(&segments(path)?, GROUP)
}

#[track_caller]
fn check(path: &str, expected: &str) {
    let shown = target(path).map_or_else(|| "nothing".to_owned(), |target| show(&target));
    assert_eq!(shown, expected, "{path}");
}

fn show(target: &Target) -> String {
    let Target::View(view, native) = target else {
        return format!("{target:?}");
    };
    let view = match view {
        View::Fleet => "fleet".to_owned(),
        View::Cluster(name) => name.to_string(),
    };
    let place = |namespace: &Option<String>| {
        namespace
            .as_ref()
            .map_or_else(String::new, |namespace| format!(" in {namespace}"))
    };
    match native {
        Native::List {
            resource,
            namespace,
        } => format!("{view}: list {resource}{}", place(namespace)),
        Native::Get {
            resource,
            namespace,
            name,
        } => format!("{view}: get {resource} {name}{}", place(namespace)),
        Native::Subresource {
            resource,
            subresource,
        } => format!("{view}: {subresource} of {resource}"),
        Native::Resources { group, version } => format!("{view}: resources of {group}/{version}"),
        Native::Group(group) => format!("{view}: group {group}"),
        other => format!("{view}: {other:?}"),
    }
}

#[test]
fn the_paths_of_the_server_itself() {
    check("/livez", "Health(Live)");
    check("/readyz", "Health(Ready)");
    check("/healthz", "Health(Ready)");
    check("/version", "Version");
    check("/apis", "Groups");
    check("/apis/clusterpedia.io", "Group");
    check(BASE, "Resources");
    check("/openapi/v2", "OpenApiV2");
    check("/openapi/v3", "OpenApiV3");
    check("/openapi/v3/apis/clusterpedia.io/v1beta1", "OpenApiV3Group");
    check(&format!("{BASE}/collectionresources"), "Collections");
    check(&format!("{BASE}/collectionresources/any"), "Collections");
}

#[test]
fn both_forms_of_both_views_hold_the_same_tree() {
    for (prefix, view) in [
        ("resources", "fleet"),
        ("fleets/all/proxy", "fleet"),
        ("resources/clusters/m1", "m1"),
        ("clusters/m1/proxy", "m1"),
    ] {
        let path = |native: &str| format!("{BASE}/{prefix}{native}");
        check(&path("/api"), &format!("{view}: CoreVersions"));
        check(&path("/apis"), &format!("{view}: Groups"));
        check(&path("/apis/apps"), &format!("{view}: group apps"));
        check(&path("/api/v1"), &format!("{view}: resources of /v1"));
        check(
            &path("/apis/apps/v1"),
            &format!("{view}: resources of apps/v1"),
        );
        check(&path("/version"), &format!("{view}: Version"));
        check(&path("/readyz"), &format!("{view}: Health"));
        check(&path("/api/v1/pods"), &format!("{view}: list pods/v1"));
        check(
            &path("/api/v1/namespaces"),
            &format!("{view}: list namespaces/v1"),
        );
        check(
            &path("/api/v1/namespaces/x"),
            &format!("{view}: get namespaces/v1 x"),
        );
        check(
            &path("/api/v1/namespaces/x/pods"),
            &format!("{view}: list pods/v1 in x"),
        );
        check(
            &path("/api/v1/namespaces/x/pods/p"),
            &format!("{view}: get pods/v1 p in x"),
        );
        check(
            &path("/api/v1/namespaces/x/pods/p/log"),
            &format!("{view}: log of pods/v1"),
        );
        check(
            &path("/api/v1/namespaces/x/pods/p/proxy/a/b"),
            &format!("{view}: proxy of pods/v1"),
        );
        check(
            &path("/api/v1/namespaces/x/status"),
            &format!("{view}: status of namespaces/v1"),
        );
        check(&path("/api/v1/nodes/n"), &format!("{view}: get nodes/v1 n"));
        check(
            &path("/apis/apps/v1/deployments"),
            &format!("{view}: list deployments.apps/v1"),
        );
        check(
            &path("/apis/apps/v1/namespaces/x/deployments/d"),
            &format!("{view}: get deployments.apps/v1 d in x"),
        );
    }
}

#[test]
fn names_are_decoded() {
    check(
        &format!(
            "{BASE}/resources/clusters/m1/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"
        ),
        "m1: get clusterroles.rbac.authorization.k8s.io/v1 system:node",
    );
}

#[test]
fn a_slash_at_the_end_changes_nothing() {
    for path in [
        "/version",
        "/apis",
        "/apis/clusterpedia.io",
        BASE,
        "/openapi/v3",
    ] {
        assert_ne!(target(path), None, "{path}");
        assert_eq!(target(&format!("{path}/")), target(path), "{path}");
    }
    for view in ["resources", "clusters/m1/proxy"] {
        for native in [
            "version",
            "api",
            "api/v1",
            "apis",
            "apis/apps",
            "apis/apps/v1",
            "api/v1/pods",
        ] {
            let path = format!("{BASE}/{view}/{native}");
            assert_ne!(target(&path), None, "{path}");
            assert_eq!(target(&format!("{path}/")), target(&path), "{path}");
        }
    }
}

#[test]
fn everything_else_names_nothing() {
    for path in [
        "",
        "/",
        "//apis",
        "/apis//",
        "/api",
        "/api/v1/pods",
        "/apis/apps/v1/deployments",
        "/apis/clusterpedia.io/v1",
        "/openapi/v3/api/v1",
        "/metrics",
    ] {
        check(path, "nothing");
    }
    for rest in [
        "resources",
        "resources/",
        "resources/api//",
        "resources/clusters",
        "resources/clusters/",
        "resources/clusters/m1",
        "resources/clusters/m1/",
        "resources/clusters/M1/api",
        "resources/clusters/m1/proxy/api",
        "resources/metrics",
        "fleets",
        "fleets/all",
        "fleets/all/proxy",
        "fleets/some/proxy/api",
        "clusters/m1",
        "clusters/m1/api",
        "collectionresources/any/status",
        "resources/api/v1/namespaces/a%2Fb/pods",
        "resources/api/v1/../pods",
        "resources/api/v1/%2e%2e/pods",
        "resources/api//pods",
        "resources/api/v1/pods%00",
        "resources/api/v1/pods/%ff",
    ] {
        check(&format!("{BASE}/{rest}"), "nothing");
    }
}

proptest! {
    #[test]
    fn no_path_makes_it_panic(path in "(/(apis|api|v1|resources|clusters|clusterpedia.io|v1beta1|proxy|%2[ef]|\\PC{0,4})){0,8}/?") {
        let _ = target(&path);
    }
}
