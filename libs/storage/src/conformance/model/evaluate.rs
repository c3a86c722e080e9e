//! What a query must give, told by looking at every object of the map.

use std::cmp::Ordering;

use armadex_model::Query;
use armadex_model::label::Requirement;
use armadex_model::query::{NamespaceScope, OrderField, Scope};

use super::fleet::{Fleet, labels_of};
use super::map::{KINDS, Known, Model, Path, described};

/// The rows that a query must give, each as `Kind cluster/namespace/name`.
pub(super) fn evaluate(model: &Model, fleet: &Fleet, query: &Query) -> Vec<String> {
    let mut rows: Vec<Candidate<'_>> = Vec::new();
    for (place, searched) in query.types.iter().enumerate() {
        let of_type = model
            .iter()
            .filter(|((kind, _), _)| described(*kind).gvr == searched.resource);
        let admitted = of_type.filter(|((_, path), known)| {
            in_scope(&searched.scope, path)
                && admits(query, path, known)
                && labels_of(fleet, path.0).meet(&query.cluster_labels)
        });
        rows.extend(admitted.map(|((kind, path), known)| Candidate {
            kind: *kind,
            place: (place, *path),
            known,
        }));
    }
    rows.sort_by(|a, b| {
        let orderings = query.order.iter().map(|key| {
            let ordering = compare_by(key.field, a, b);
            if key.descending {
                ordering.reverse()
            } else {
                ordering
            }
        });
        orderings
            .into_iter()
            .find(|o| o.is_ne())
            .unwrap_or_else(|| a.place.cmp(&b.place))
    });
    rows.iter()
        .map(|row| {
            let (cluster, namespace, name) = row.place.1;
            format!("{} {cluster}/{namespace}/{name}", KINDS[row.kind].1)
        })
        .collect()
}

/// A row that a query may give.
struct Candidate<'a> {
    kind: usize,
    /// The page order: which of the query's types, and the path.
    place: (usize, Path),
    known: &'a Known,
}

fn compare_by(field: OrderField, a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
    let ((_, one), (_, other)) = (a.place, b.place);
    match field {
        OrderField::Cluster => one.0.cmp(other.0),
        OrderField::Namespace => one.1.cmp(other.1),
        OrderField::Name => one.2.cmp(other.2),
        OrderField::CreatedAt => a.known.created.cmp(&b.known.created),
        OrderField::ResourceVersion => a.known.version.cmp(&b.known.version),
        OrderField::Uid => a.known.uid.cmp(&b.known.uid),
    }
}

fn in_scope(scope: &Scope, path: &Path) -> bool {
    match scope {
        Scope::Everything => true,
        Scope::Clusters(allowed) => match allowed.get(path.0) {
            None => false,
            Some(NamespaceScope::All) => true,
            Some(NamespaceScope::Only(names)) => names.contains(path.1),
        },
    }
}

fn admits(query: &Query, path: &Path, known: &Known) -> bool {
    let label = |r: &Requirement| {
        let value = known.labels.get(r.key.as_str());
        r.operator.holds(value.map(String::as_str))
    };
    let field = |r: &Requirement| r.operator.holds(Some(known.phase));
    query.clusters.admits(path.0)
        && query.namespaces.admits(path.1)
        && query.names.admits(path.2)
        && query.labels.iter().all(label)
        && query.fields.iter().all(field)
}
