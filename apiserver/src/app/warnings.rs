//! What a client has to be told beside its answer, as texts for `Warning` headers. However much there is to say, a text names a few.

use std::collections::BTreeSet;

use armadex_model::params::Ignored;
use armadex_model::{ClusterName, GroupVersionResource, NameFilter};
use armadex_storage::{Catalog, ClusterEntry};

/// At most this many names are put into one warning.
const NAMES_IN_WARNING: usize = 5;

/// Says which parameters had no effect.
pub(super) fn ignored(ignored: &Ignored) -> Vec<String> {
    let Ignored { unknown, repeated } = ignored;
    let quoted = |names: &BTreeSet<String>| {
        let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        a_few(&names)
    };
    let mut said = Vec::new();
    if !unknown.is_empty() {
        let names = quoted(unknown);
        said.push(format!(
            "query parameters without effect here are ignored: {names}"
        ));
    }
    if !repeated.is_empty() {
        let names = quoted(repeated);
        said.push(format!(
            "of query parameters that are given more than once the first value counts: {names}"
        ));
    }
    said
}

/// Says which of the clusters that were asked for do not exist.
pub(super) fn unknown_clusters(catalog: &Catalog, asked: &NameFilter) -> Option<String> {
    let NameFilter::In(names) = asked else {
        return None;
    };
    let is_known =
        |name: &str| ClusterName::new(name).is_ok_and(|name| catalog.clusters.contains_key(&name));
    let unknown: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !is_known(name))
        .collect();
    (!unknown.is_empty()).then(|| format!("no such cluster: {}", a_few(&unknown)))
}

/// Says which of the clusters that an answer is made from may be behind.
pub(super) fn unhealthy_clusters(
    catalog: &Catalog,
    asked: &NameFilter,
    resource: &GroupVersionResource,
) -> Option<String> {
    // Health first: in a large fleet few are left to look at.
    let unhealthy = catalog.clusters.iter().filter(|(name, entry)| {
        !is_healthy(entry) && asked.admits(name.as_str()) && entry.resources.contains(resource)
    });
    let unhealthy: Vec<(&ClusterName, &ClusterEntry)> =
        unhealthy.map(|(name, entry)| (name, &**entry)).collect();
    match unhealthy.as_slice() {
        [] => None,
        [(name, entry)] => unhealthy_cluster(name, entry),
        several => {
            let names: Vec<&str> = several.iter().map(|(name, _)| name.as_str()).collect();
            let names = a_few(&names);
            Some(format!(
                "{names} are not ready and the resources obtained may be inaccurate"
            ))
        }
    }
}

/// What a caller has to know about the health of one cluster, as Clusterpedia says it.
pub(super) fn unhealthy_cluster(name: &ClusterName, entry: &ClusterEntry) -> Option<String> {
    let incomplete = format!("{name} is not ready and the resources obtained may be inaccurate");
    match &entry.health {
        Some(health) if health.healthy => None,
        Some(health) => Some(format!("{incomplete}, reason: {}", health.reason)),
        None => Some(format!("{incomplete}.")),
    }
}

fn is_healthy(entry: &ClusterEntry) -> bool {
    entry.health.as_ref().is_some_and(|health| health.healthy)
}

fn a_few(names: &[impl AsRef<str>]) -> String {
    let (shown, hidden) = names.split_at(names.len().min(NAMES_IN_WARNING));
    let shown: Vec<&str> = shown.iter().map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    match hidden.len() {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use armadex_storage::Health;

    use super::*;

    fn pods() -> GroupVersionResource {
        GroupVersionResource::new("", "v1", "pods")
    }

    /// Clusters with pods that do not answer, one that does, one that was never asked, and one without pods.
    fn fleet(unhealthy: usize) -> Catalog {
        let health = |healthy, reason: &str| {
            Some(Health {
                healthy,
                reason: reason.to_owned(),
            })
        };
        let mut catalog = Catalog::default();
        let mut add = |name: &str, health, resources: &[GroupVersionResource]| {
            let entry = ClusterEntry {
                health,
                version: None,
                resources: Arc::new(resources.iter().cloned().collect()),
            };
            let name = ClusterName::new(name).expect("a name");
            catalog.clusters.insert(name, Arc::new(entry));
        };
        for number in 0..unhealthy {
            let health = health(false, "NotReachable");
            add(&format!("down-{number}"), health, &[pods()]);
        }
        add("healthy", health(true, ""), &[pods()]);
        add("other", health(false, "NotReachable"), &[]);
        catalog
    }

    #[track_caller]
    fn check(unhealthy: usize, asked: &NameFilter, expected: Option<&str>) {
        let said = unhealthy_clusters(&fleet(unhealthy), asked, &pods());
        assert_eq!(said.as_deref(), expected);
    }

    #[test]
    fn clusters_that_do_not_answer_are_named_and_many_are_counted() {
        check(0, &NameFilter::Any, None);
        check(
            1,
            &NameFilter::Any,
            Some(
                "down-0 is not ready and the resources obtained may be inaccurate, reason: NotReachable",
            ),
        );
        check(
            2,
            &NameFilter::Any,
            Some("down-0, down-1 are not ready and the resources obtained may be inaccurate"),
        );
        check(
            900,
            &NameFilter::Any,
            Some(
                "down-0, down-1, down-10, down-100, down-101 and 895 more are not ready and the resources obtained may be inaccurate",
            ),
        );
    }

    #[test]
    fn clusters_that_a_list_does_not_touch_are_not_named() {
        check(9, &NameFilter::only("healthy"), None);
        check(9, &NameFilter::only("other"), None);
        let but_one: BTreeSet<String> = ["down-0".to_owned()].into();
        check(1, &NameFilter::NotIn(but_one), None);
    }

    #[test]
    fn a_cluster_that_was_never_asked_for_its_health_is_not_ready() {
        let mut catalog = fleet(1);
        for entry in catalog.clusters.values_mut() {
            Arc::make_mut(entry).health = None;
        }
        let said = unhealthy_clusters(&catalog, &NameFilter::only("down-0"), &pods());
        assert_eq!(
            said.as_deref(),
            Some("down-0 is not ready and the resources obtained may be inaccurate.")
        );
    }

    #[test]
    fn parameters_without_effect_are_named_and_many_are_counted() {
        let names = (0..7).map(|number| format!("x{number}"));
        let said = ignored(&Ignored {
            unknown: names.collect(),
            repeated: ["limit".to_owned()].into(),
        });
        assert_eq!(
            said,
            [
                r#"query parameters without effect here are ignored: "x0", "x1", "x2", "x3", "x4" and 2 more"#,
                r#"of query parameters that are given more than once the first value counts: "limit""#,
            ]
        );
        assert_eq!(ignored(&Ignored::default()), [""; 0]);
    }
}
