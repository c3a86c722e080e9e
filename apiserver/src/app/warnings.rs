//! What a client has to be told beside its answer, as texts for `Warning` headers. However much there is to say, a text names a few.

use std::collections::BTreeSet;

use armadex_model::params::Ignored;
use armadex_model::{ClusterName, NameFilter};
use armadex_storage::{Catalog, ClusterEntry};

use super::unhealthy::{Few, Unhealthy};
use crate::answer::listing::Extent;

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

/// Says which of the clusters that a response is made from may be behind.
pub(super) fn unhealthy_clusters(
    unhealthy: &Unhealthy,
    catalog: &Catalog,
    extent: &Extent<'_>,
) -> Option<String> {
    let Few { first, count } = unhealthy.within(catalog, extent, NAMES_IN_WARNING);
    match first.as_slice() {
        [] => None,
        [(name, entry)] => unhealthy_cluster(name, entry),
        several => {
            let names: Vec<&str> = several.iter().map(|(name, _)| name.as_str()).collect();
            let names = and_more(&names, count);
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

fn a_few(names: &[impl AsRef<str>]) -> String {
    let shown = &names[..names.len().min(NAMES_IN_WARNING)];
    let shown: Vec<&str> = shown.iter().map(AsRef::as_ref).collect();
    and_more(&shown, names.len())
}

/// The names that are shown, and how many there are beside them.
fn and_more(shown: &[&str], count: usize) -> String {
    let names = shown.join(", ");
    match count.saturating_sub(shown.len()) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use armadex_model::query::{NamespaceScope, Scope};
    use armadex_model::{ClusterLabels, GroupVersionResource, Query, label};
    use armadex_storage::Health;
    use armadex_storage::conformance::fixture::all_pods;

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
                labels: ClusterLabels::default(),
                resources: Arc::new(resources.iter().cloned().map(Arc::new).collect()),
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

    fn list(clusters: &NameFilter) -> Query {
        Query {
            clusters: clusters.clone(),
            ..all_pods()
        }
    }

    #[track_caller]
    fn check(unhealthy: usize, asked: &NameFilter, expected: Option<&str>) {
        check_of(&fleet(unhealthy), &list(asked), (None, None), expected);
    }

    #[track_caller]
    fn check_of(
        catalog: &Catalog,
        query: &Query,
        (first, last): (Option<&str>, Option<&str>),
        expected: Option<&str>,
    ) {
        let extent = Extent { query, first, last };
        let said = unhealthy_clusters(&Unhealthy::of(catalog), catalog, &extent);
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
    fn clusters_of_other_pages_are_not_named() {
        let (fleet, query) = (fleet(4), list(&NameFilter::Any));
        let of =
            |names: &str| format!("{names} not ready and the resources obtained may be inaccurate");
        let one = of("down-2 is") + ", reason: NotReachable";
        for (first, last, expected) in [
            (Some("down-1"), None, of("down-1, down-2, down-3 are")),
            (None, Some("down-1"), of("down-0, down-1 are")),
            (Some("down-1-"), Some("down-2-"), one.clone()),
        ] {
            check_of(&fleet, &query, (first, last), Some(&expected));
        }
        check_of(&fleet, &query, (Some("down-3-"), None), None);
        check_of(&fleet, &query, (Some("down-3"), Some("down-1")), None);
        let named = NameFilter::In(["down-0", "down-2"].map(str::to_owned).into());
        check_of(&fleet, &list(&named), (Some("down-1"), None), Some(&one));
    }

    #[test]
    fn clusters_that_the_caller_may_not_see_are_not_named() {
        let mut query = list(&NameFilter::Any);
        let clusters =
            ["down-2", "healthy", "unknown"].map(|name| (name.to_owned(), NamespaceScope::All));
        query.types[0].scope = Scope::Clusters(clusters.into());
        let expected = "down-2 is not ready and the resources obtained may be inaccurate, reason: NotReachable";
        check_of(&fleet(9), &query, (None, None), Some(expected));
        query.clusters = NameFilter::only("down-1");
        check_of(&fleet(9), &query, (None, None), None);
    }

    #[test]
    fn clusters_that_are_not_chosen_by_their_labels_are_not_named() {
        let mut fleet = fleet(9);
        for (name, entry) in fleet.clone().clusters.iter() {
            if name.as_str() == "down-2" {
                let mut other = ClusterEntry::clone(entry);
                other.labels = ClusterLabels::parse("env=prod");
                fleet.clusters.insert(name.clone(), Arc::new(other));
            }
        }
        let expected = "down-2 is not ready and the resources obtained may be inaccurate, reason: NotReachable";
        let two = NameFilter::In(["down-1", "down-2"].map(str::to_owned).into());
        for clusters in [NameFilter::Any, two] {
            let mut query = list(&clusters);
            query.cluster_labels = label::parse("env=prod").expect("a selector");
            check_of(&fleet, &query, (None, None), Some(expected));
        }
    }

    #[test]
    fn of_clusters_with_different_types_the_first_are_named() {
        let mut fleet = fleet(8);
        for (name, entry) in fleet.clone().clusters.iter() {
            if name.as_str() >= "down-3" {
                let mut other = ClusterEntry::clone(entry);
                other.resources = Arc::new(BTreeSet::clone(&entry.resources));
                fleet.clusters.insert(name.clone(), Arc::new(other));
            }
        }
        let expected = "down-0, down-1, down-2, down-3, down-4 and 3 more are not ready and the resources obtained may be inaccurate";
        check_of(
            &fleet,
            &list(&NameFilter::Any),
            (None, None),
            Some(expected),
        );
    }

    #[test]
    fn a_cluster_that_was_never_asked_for_its_health_is_not_ready() {
        let mut catalog = fleet(1);
        for (name, entry) in catalog.clone().clusters.iter() {
            let mut other = ClusterEntry::clone(entry);
            other.health = None;
            catalog.clusters.insert(name.clone(), Arc::new(other));
        }
        let expected = "down-0 is not ready and the resources obtained may be inaccurate.";
        let query = list(&NameFilter::only("down-0"));
        check_of(&catalog, &query, (None, None), Some(expected));
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
