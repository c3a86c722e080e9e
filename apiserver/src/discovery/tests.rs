use std::collections::BTreeSet;
use std::sync::Arc;

use armadex_model::{ClusterLabels, ClusterName, GroupVersionResource, ResourceType};
use armadex_storage::{Catalog, ClusterEntry};
use serde_json::{Value, json};

use super::*;

fn resource(group: &str, version: &str, name: &str, kind: &str, namespaced: bool) -> ResourceType {
    ResourceType {
        gvr: GroupVersionResource::new(group, version, name),
        kind: kind.to_owned(),
        namespaced,
        singular: String::new(),
        short_names: Vec::new(),
        categories: Vec::new(),
    }
}

/// Two clusters: `a` has everything, `b` has pods alone.
fn catalog() -> Catalog {
    let mut deployments = resource("apps", "v1", "deployments", "Deployment", true);
    deployments.short_names = vec!["deploy".to_owned()];
    deployments.categories = vec!["all".to_owned()];
    deployments.singular = "deployment".to_owned();
    let types = [
        resource("", "v1", "pods", "Pod", true),
        resource("", "v1", "nodes", "Node", false),
        deployments,
        resource("example.com", "v1beta1", "widgets", "Widget", true),
        resource("example.com", "v1", "widgets", "Widget", true),
    ];
    let mut catalog = Catalog::default();
    let all: BTreeSet<_> = types.iter().map(|one| Arc::new(one.gvr.clone())).collect();
    let pods = BTreeSet::from([Arc::new(GroupVersionResource::new("", "v1", "pods"))]);
    for (name, resources) in [("a", all), ("b", pods)] {
        let entry = ClusterEntry {
            health: None,
            version: None,
            labels: ClusterLabels::default(),
            resources: Arc::new(resources),
        };
        catalog
            .clusters
            .insert(ClusterName::new(name).expect("a name"), Arc::new(entry));
    }
    let types = types.into_iter();
    catalog.types = Arc::new(types.map(|one| (one.gvr.clone(), Arc::new(one))).collect());
    catalog
}

fn names(list: &Value) -> Vec<&str> {
    let entries = list.as_array().expect("a list");
    entries
        .iter()
        .filter_map(|entry| entry["name"].as_str())
        .collect()
}

#[test]
fn the_fleet_has_the_types_of_all_clusters_and_a_cluster_its_own() {
    let catalog = catalog();
    let fleet = Types::of(&catalog, None);
    assert_eq!(
        names(&group_list(&fleet)["groups"]),
        [
            "apps",
            "authentication.k8s.io",
            "authorization.k8s.io",
            "example.com"
        ]
    );
    let core = resources(&fleet, "", "v1").expect("the core group");
    assert_eq!(names(&core["resources"]), ["nodes", "pods"]);
    let b = catalog.clusters.values().next_back().map(|entry| &**entry);
    let of_b = Types::of(&catalog, b);
    assert_eq!(
        names(&group_list(&of_b)["groups"]),
        ["authentication.k8s.io", "authorization.k8s.io"]
    );
    assert_eq!(
        names(&resources(&of_b, "", "v1").expect("the core group")["resources"]),
        ["pods"]
    );
    assert!(group(&of_b, "apps").is_none() && resources(&of_b, "apps", "v1").is_none());
}

/// As a kube-apiserver: kubectl asks for the type of the first group that has the name.
#[test]
fn kubernetes_own_groups_come_before_those_that_members_define() {
    let kinds = [
        ("aaa.example", "deployments"),
        ("apps", "deployments"),
        ("crd.projectcalico.org", "networkpolicies"),
        ("networking.k8s.io", "networkpolicies"),
        ("batch", "jobs"),
    ];
    let types = kinds.map(|(group, name)| resource(group, "v1", name, "Any", true));
    let types = Types::from_types(types.iter());
    let ordered = [
        "apps",
        "batch",
        "networking.k8s.io",
        "aaa.example",
        "crd.projectcalico.org",
    ];
    assert_eq!(names(&group_list(&types)["groups"]), ordered);
    let aggregated = aggregated_groups(&types);
    let items = aggregated["items"].as_array().expect("a list");
    let told: Vec<_> = items.iter().map(|item| &item["metadata"]["name"]).collect();
    assert_eq!(told, ordered);
}

#[test]
fn the_preferred_version_comes_first() {
    let catalog = catalog();
    let fleet = Types::of(&catalog, None);
    let group = group(&fleet, "example.com").expect("a group");
    assert_eq!(
        group["preferredVersion"],
        json!({"groupVersion": "example.com/v1", "version": "v1"})
    );
    assert_eq!(group["versions"][1]["version"], "v1beta1");
    assert_eq!(group["kind"], "APIGroup");
}

#[test]
fn an_empty_store_still_has_a_core_version() {
    let nothing = Catalog::default();
    let types = Types::of(&nothing, None);
    assert_eq!(
        resources(&types, "", "v1").expect("the core group")["resources"],
        json!([])
    );
    assert_eq!(aggregated_core(&types)["items"], json!([]));
}

#[test]
fn legacy_entries_say_how_a_type_is_called() {
    let catalog = catalog();
    let list = resources(&Types::of(&catalog, None), "apps", "v1").expect("a version");
    assert_eq!(list["groupVersion"], "apps/v1");
    assert_eq!(
        list["resources"],
        json!([{"name": "deployments", "singularName": "deployment", "namespaced": true, "kind": "Deployment",
                "verbs": ["get", "list"], "shortNames": ["deploy"], "categories": ["all"]}])
    );
}

#[test]
fn aggregated_documents_hold_the_same() {
    let catalog = catalog();
    let fleet = Types::of(&catalog, None);
    let core = aggregated_core(&fleet);
    assert_eq!(core["items"][0]["metadata"], json!({}));
    assert_eq!(
        core["items"][0]["versions"][0]["resources"][0],
        json!({"resource": "nodes", "responseKind": {"group": "", "version": "v1", "kind": "Node"},
               "scope": "Cluster", "singularResource": "node", "verbs": ["get", "list"]})
    );
    let groups = aggregated_groups(&fleet);
    assert_eq!(groups["items"][0]["metadata"]["name"], "apps");
    assert_eq!(groups["items"][3]["versions"][0]["version"], "v1");
    assert_eq!(
        groups["items"][0]["versions"][0]["resources"][0]["shortNames"],
        json!(["deploy"])
    );
}

#[test]
fn the_own_group_is_described_to_the_aggregator() {
    assert_eq!(
        own_groups("clusterpedia.io")["groups"][0]["name"],
        "clusterpedia.io"
    );
    assert_eq!(
        own_group("clusterpedia.io")["preferredVersion"]["groupVersion"],
        "clusterpedia.io/v1beta1"
    );
    assert_eq!(
        names(&own_resources("clusterpedia.io")["resources"]),
        [
            "clusters",
            "clusters/proxy",
            "fleets",
            "fleets/proxy",
            "resources"
        ]
    );
    let aggregated = own_group_aggregated("clusterpedia.io");
    let fleets = &aggregated["items"][0]["versions"][0]["resources"][1];
    assert_eq!(fleets["resource"], "fleets");
    assert_eq!(fleets["subresources"][0]["subresource"], "proxy");
}

#[test]
fn reviews_are_below_every_view_and_can_only_be_created() {
    let nothing = Catalog::default();
    let types = Types::of(&nothing, None);
    let list = resources(&types, "authorization.k8s.io", "v1").expect("a version");
    assert_eq!(
        names(&list["resources"]),
        ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
    );
    for one in list["resources"].as_array().expect("a list") {
        assert_eq!(one["verbs"], json!(["create"]));
    }
    let groups = aggregated_groups(&types);
    let identity = &groups["items"][0]["versions"][0]["resources"][0];
    assert_eq!(
        (&identity["resource"], &identity["verbs"]),
        (&json!("selfsubjectreviews"), &json!(["create"]))
    );
}
