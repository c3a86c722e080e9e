//! Clusters chosen by their labels: each way to ask, in each view.

use super::*;

const PODS: &str = "resources/api/v1/pods";
const OWN: &str = "cluster.search.clusterpedia.io";
const M1: [&str; 3] = ["m1/x/a", "m1/x/b", "m1/y/c"];
const M2: [&str; 2] = ["m2/x/a", "m2/z/d"];

async fn labelled() -> Server {
    let server = Server::open(fleet()).await;
    let labels = "env=prod,topology.kubernetes.io/region=eu-1";
    server.store.set_labels("m1", labels).await;
    let labels = "env=test,topology.kubernetes.io/region=eu-2";
    server.store.set_labels("m2", labels).await;
    server
}

#[tokio::test]
async fn labels_of_clusters_narrow_the_list() {
    let server = labelled().await;
    let region = format!("topology.kubernetes.io.{OWN}/region");
    for (view, query, expected) in [
        (PODS, format!("labelSelector={OWN}/env%3Dprod"), &M1[..]),
        (PODS, format!("labelSelector={OWN}/env!%3Dprod"), &M2[..]),
        (
            PODS,
            format!("labelSelector={region}%20in%20(eu-2,eu-3)"),
            &M2[..],
        ),
        (
            PODS,
            format!("labelSelector={region}%20notin%20(eu-2)"),
            &M1[..],
        ),
        (PODS, format!("labelSelector=!{OWN}/env"), &[][..]),
        (
            PODS,
            format!("labelSelector={OWN}/env%3Dprod,app%3Dweb"),
            &["m1/x/a", "m1/y/c"][..],
        ),
        (PODS, "clusterSelector=env%3Dtest".to_owned(), &M2[..]),
        (
            PODS,
            "clusterSelector=env,topology.kubernetes.io/region%3Deu-1".to_owned(),
            &M1[..],
        ),
        (
            PODS,
            "clusterSelector=env%3Dtest&namespaces=z".to_owned(),
            &M2[1..],
        ),
        (
            PODS,
            "clusterSelector=env%3Dtest&clusters=m1".to_owned(),
            &[][..],
        ),
        (
            "fleets/all/proxy/api/v1/pods",
            "clusterSelector=env%3Dtest".to_owned(),
            &M2[..],
        ),
        (
            "resources/clusters/m1/api/v1/pods",
            "clusterSelector=env%3Dprod".to_owned(),
            &M1[..],
        ),
        (
            "resources/clusters/m1/api/v1/pods",
            "clusterSelector=env%3Dtest".to_owned(),
            &[][..],
        ),
    ] {
        let answer = server.get(&format!("{view}?{query}")).await;
        assert_eq!(answer.items(), expected, "{view}?{query}");
    }
}

#[tokio::test]
async fn rows_of_chosen_clusters_are_counted() {
    let server = labelled().await;
    let counted = server
        .get(&format!(
            "{PODS}?clusterSelector=env%3Dprod&limit=1&withRemainingCount"
        ))
        .await;
    assert_eq!(counted.json()["metadata"]["remainingItemCount"], json!(2));
}

#[tokio::test]
async fn what_a_label_of_clusters_cannot_say_is_refused_with_how_it_is_said() {
    let server = labelled().await;
    for (query, words) in [
        (
            "labelSelector=search.clusterpedia.io/cluster-labels%3Dprod".to_owned(),
            "did you mean cluster.search.clusterpedia.io/NAME for the label NAME of clusters",
        ),
        (
            "labelSelector=clusters.search.clusterpedia.io/env%3Dprod".to_owned(),
            "did you mean cluster.search.clusterpedia.io?",
        ),
        (
            "clusterSelectors=env".to_owned(),
            "did you mean clusterSelector?",
        ),
        (
            "clusterSelector=nodes%3E3".to_owned(),
            "the requirement nodes>3 on a label of clusters is not served",
        ),
    ] {
        let answer = server.get(&format!("{PODS}?{query}")).await;
        assert_eq!(answer.code, 400, "{query}");
        assert!(answer.text().contains(words), "{query}: {}", answer.text());
    }
}

/// A page is continued for the same search alone, and shows what there is when it is read.
#[tokio::test]
async fn pages_of_chosen_clusters_continue_and_follow_their_labels() {
    let server = labelled().await;
    let all = format!("{PODS}?clusterSelector=env&limit=2");
    let first = server.get(&all).await;
    assert_eq!(first.items(), M1[..2]);
    let token = first.json()["metadata"]["continue"].clone();
    let token = token.as_str().expect("more pages");
    let other = format!("{PODS}?clusterSelector=env%3Dprod&limit=2&continue={token}");
    assert_eq!(server.get(&other).await.code, 400);
    assert_eq!(
        server.get(&format!("{all}&continue={token}")).await.items(),
        ["m1/y/c", "m2/x/a"]
    );
    server
        .store
        .set_labels("m2", "topology.kubernetes.io/region=eu-2")
        .await;
    assert_eq!(
        server.get(&format!("{all}&continue={token}")).await.items(),
        M1[2..]
    );
}

/// Who is warned of clusters that may be behind is warned of those that were chosen.
#[tokio::test]
async fn a_cluster_that_was_not_chosen_is_not_warned_of() {
    let server = labelled().await;
    for (env, warnings) in [("prod", 0), ("test", 1)] {
        let answer = server
            .get(&format!("{PODS}?clusterSelector=env%3D{env}"))
            .await;
        assert_eq!(answer.header("warning").len(), warnings, "{env}");
    }
}
