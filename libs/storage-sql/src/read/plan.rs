//! From a query to a plan: which clusters and namespaces of each type to look at, which terms must hold, in which order. Pure; a plan
//! prints itself.

mod clause;
mod labelled;
pub(crate) mod order;
mod spaces;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use armadex_model::query::{NamespaceScope, OrderBy, OrderField, Scope, Searched};
use armadex_model::{ClusterName, NameFilter, Query, ResourceType};
use armadex_storage::StoreError;

use super::reading::Tuning;
use crate::catalog::Snapshot;
use crate::form::namespace_id::ids_of;
use crate::form::term::TermHasher;

use clause::Clauses;
pub(crate) use clause::{Clause, Lead};
pub(crate) use spaces::{Space, Spaces};

/// How a query is answered.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Where to look, in page order.
    pub(crate) types: Vec<TypePlan>,
    /// Which names pass.
    pub(crate) names: NameFilter,
    /// Each of these must hold: the object has one of the terms.
    pub(crate) has: Arc<[Clause]>,
    /// Each of these must hold: the object has none of the terms.
    pub(crate) has_not: Arc<[Clause]>,
    /// As `has`, on fields that no index leads to: the object itself tells.
    pub(crate) told: Arc<[Clause]>,
    /// As `has_not`, on fields that no index leads to.
    pub(crate) told_not: Arc<[Clause]>,
    /// The order as it was asked for; positions carry its values.
    pub(crate) order: Vec<OrderBy>,
    /// Whether the query names one cluster. How many there are just now says nothing: the next page is to be planned alike.
    pub(crate) one_cluster: bool,
    /// The namespace that all rows are in, if the query names one; it may be one in each cluster.
    pub(crate) one_namespace: Option<String>,
    pub(crate) strategy: Strategy,
}

/// A type that is stored, and where to look for it.
#[derive(Clone, Debug)]
pub(crate) struct TypePlan {
    /// Its place among the query's types.
    pub(crate) index: usize,
    pub(crate) id: i32,
    pub(crate) resource: Arc<ResourceType>,
    pub(crate) clusters: Spaces,
    /// The terms of label keys whose values are not posted.
    pub(crate) unposted: Arc<BTreeSet<i64>>,
}

/// What is read, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The query admits nothing.
    Nothing,
    /// Namespace by namespace, in page order; the clusters may be walked backwards.
    Walk { backwards: bool },
    /// Objects in another order.
    Sort,
}

impl TypePlan {
    /// Whether no cluster is restricted to some of its namespaces.
    pub(crate) fn is_whole(&self) -> bool {
        self.clusters.is_whole()
    }

    /// The namespace ids of its clusters, if there are so few that each of these keys is better looked for cluster by cluster than in the
    /// whole fleet.
    pub(crate) fn ranges(&self, tuning: &Tuning, keys: usize) -> Option<Vec<(i64, i64)>> {
        let is_few = self.clusters.len().saturating_mul(keys) <= tuning.ranges;
        let ranges = self.clusters.iter().map(|space| ids_of(space.id));
        is_few.then(|| ranges.collect())
    }
}

impl Plan {
    /// Whether nothing but clusters restricts the objects.
    pub(crate) fn is_whole(&self) -> bool {
        self.names == NameFilter::Any
            && !self.has_terms()
            && self.types.iter().all(TypePlan::is_whole)
    }

    /// Whether posting blocks tell which objects of a type match.
    pub(crate) fn is_decided(&self, planned: &TypePlan) -> bool {
        let mut clauses = self.has.iter().chain(&*self.has_not);
        !self.has_told() && clauses.all(|clause| clause.lead(&planned.unposted).decides)
    }

    /// Whether some terms are in no posting block.
    pub(crate) fn has_told(&self) -> bool {
        !(self.told.is_empty() && self.told_not.is_empty())
    }

    /// How many terms are looked for in each place: those of the clause that leads there and, where it is known that something matches it,
    /// of the others.
    pub(crate) fn lookups(&self, planned: &TypePlan, is_known: bool) -> usize {
        let has = match is_known {
            true => &self.has[..],
            false => &self.has[..self.has.len().min(1)],
        };
        let has_not = match self.has.is_empty() || is_known {
            true => &self.has_not[..],
            false => &[],
        };
        let leads = has.iter().chain(has_not);
        leads
            .map(|clause| clause.lead(&planned.unposted).terms.len())
            .sum()
    }

    /// Whether objects are chosen by terms.
    pub(crate) fn has_terms(&self) -> bool {
        self.has_told() || !(self.has.is_empty() && self.has_not.is_empty())
    }
}

/// The most requirements of one query; equal ones are counted once.
const MOST_CLAUSES: usize = 64;
/// The most names of one kind, and the most values of all requirements together: twice what a URL of 64 KiB holds.
const MOST_VALUES: usize = 16_000;

/// Plans a query.
pub(crate) fn plan(
    query: &Query,
    snapshot: &Snapshot,
    hasher: &TermHasher,
) -> Result<Plan, StoreError> {
    labelled::check(query)?;
    let clauses = clause::clauses(query, hasher)?;
    check_clauses(&clauses, query)?;
    for (what, names) in [
        ("names", &query.names),
        ("namespaces", &query.namespaces),
        ("clusters", &query.clusters),
    ] {
        check_size(what, names_in(names), MOST_VALUES)?;
    }
    let Clauses {
        has,
        has_not,
        told,
        told_not,
    } = clauses;
    let mut plan = Plan {
        types: types(query, snapshot),
        names: query.names.clone(),
        has: has.into(),
        has_not: has_not.into(),
        told: told.into(),
        told_not: told_not.into(),
        order: query.order.clone(),
        one_cluster: matches!(&query.clusters, NameFilter::In(names) if names.len() == 1),
        one_namespace: match &query.namespaces {
            NameFilter::In(names) if names.len() == 1 => names.first().cloned(),
            _ => None,
        },
        strategy: Strategy::Nothing,
    };
    plan.strategy = strategy(&plan, query.types.len());
    Ok(plan)
}

fn check_clauses(clauses: &Clauses, query: &Query) -> Result<(), StoreError> {
    let Clauses {
        has,
        has_not,
        told,
        told_not,
    } = clauses;
    let all = [has, has_not, told, told_not];
    let requirements: usize = all.iter().map(|clauses| clauses.len()).sum();
    let requirements = requirements + query.cluster_labels.len();
    check_size("requirements", requirements, MOST_CLAUSES)?;
    let values = all.into_iter().flatten().map(|clause| clause.terms.len());
    let values = values.sum::<usize>() + labelled::values(query);
    check_size("values", values, MOST_VALUES)
}

fn check_size(what: &str, count: usize, most: usize) -> Result<(), StoreError> {
    if count <= most {
        return Ok(());
    }
    Err(StoreError::Unsupported {
        what: format!("{count} {what} at once are more than {most}: ask in several requests"),
    })
}

fn names_in(names: &NameFilter) -> usize {
    match names {
        NameFilter::Any => 0,
        NameFilter::In(names) | NameFilter::NotIn(names) => names.len(),
    }
}

fn types(query: &Query, snapshot: &Snapshot) -> Vec<TypePlan> {
    let asked = Arc::new(query.namespaces.clone());
    let types = query.types.iter().enumerate();
    types
        .filter_map(|(index, searched)| {
            let id = snapshot.type_id(&searched.resource)?;
            let resource = Arc::clone(snapshot.resource(id)?);
            let clusters = match (&query.clusters, &searched.scope) {
                (NameFilter::Any, Scope::Everything) if !admits_nothing(&asked) => {
                    Spaces::all(snapshot.chosen_holders(id, &query.cluster_labels), &asked)
                }
                (_, _) => spaces(query, searched, &asked, snapshot, id),
            };
            (!clusters.is_empty()).then_some(TypePlan {
                index,
                id,
                resource,
                clusters,
                unposted: snapshot.unposted(id),
            })
        })
        .collect()
}

/// The clusters of a type of which the query and its scope let something through. Where either names clusters no others are looked at, however large the fleet is.
fn spaces(
    query: &Query,
    searched: &Searched,
    asked: &Arc<NameFilter>,
    snapshot: &Snapshot,
    resource: i32,
) -> Spaces {
    let space = |name: &ClusterName, id: i64| {
        let namespaces = namespaces_in(query, searched, name, asked)?;
        Some((name.clone(), id, namespaces))
    };
    let labels = &query.cluster_labels;
    let named = |name: &String| {
        let (name, member) = snapshot.holder(resource, name)?;
        let is_meant = snapshot.is_labelled(name, labels);
        is_meant.then(|| space(name, member.id)).flatten()
    };
    match (&query.clusters, &searched.scope) {
        // Sets of names are in their order.
        (NameFilter::In(names), _) => Spaces::some(names.iter().filter_map(named)),
        (_, Scope::Clusters(allowed)) => Spaces::some(allowed.keys().filter_map(named)),
        (_, Scope::Everything) => {
            let chosen = snapshot.chosen_holders(resource, labels);
            let places = (0..chosen.len()).filter_map(|at| chosen.get(at));
            Spaces::some(places.filter_map(|(name, id)| space(name, id)))
        }
    }
}

fn admits_nothing(names: &NameFilter) -> bool {
    matches!(names, NameFilter::In(names) if names.is_empty())
}

/// The namespaces that the query and its scope let through in one cluster; `None` if nothing of the cluster is let through.
fn namespaces_in(
    query: &Query,
    searched: &Searched,
    cluster: &ClusterName,
    asked: &Arc<NameFilter>,
) -> Option<Arc<NameFilter>> {
    if !query.clusters.admits(cluster.as_str()) {
        return None;
    }
    let allowed = match &searched.scope {
        Scope::Everything => Arc::clone(asked),
        Scope::Clusters(allowed) => match allowed.get(cluster.as_str())? {
            NamespaceScope::All => Arc::clone(asked),
            NamespaceScope::Only(names) => {
                Arc::new(NameFilter::clone(asked).and(NameFilter::In(names.clone())))
            }
        },
    };
    (!admits_nothing(&allowed)).then_some(allowed)
}

/// Which way rows come. It follows from the query, whatever clusters, types and rights there are, and from whether a type lives in namespaces, which
/// does not change while it has rows that stay: a position of one page is continued by the next one.
fn strategy(plan: &Plan, types: usize) -> Strategy {
    let no_name = matches!(&plan.names, NameFilter::In(names) if names.is_empty());
    let no_term = plan.has.iter().any(|clause| clause.terms.is_empty());
    if plan.types.is_empty() || no_name || no_term {
        return Strategy::Nothing;
    }
    let walkable = match plan.types.as_slice() {
        _ if plan.order.is_empty() => Some(false),
        [only] if types == 1 => page_order(&plan.order, plan, only),
        _ => None,
    };
    match walkable {
        Some(backwards) => Strategy::Walk { backwards },
        None => Strategy::Sort,
    }
}

/// The order of a walk: of these, only clusters can be walked backwards.
const PAGE_ORDER: [OrderField; 3] = [OrderField::Cluster, OrderField::Namespace, OrderField::Name];

/// Whether a walk gives the order that was asked for, and then whether its clusters go backwards. A key that is the same for all rows orders
/// nothing.
pub(crate) fn page_order(order: &[OrderBy], plan: &Plan, only: &TypePlan) -> Option<bool> {
    let one_namespace = plan.one_namespace.is_some() || !only.resource.namespaced;
    let varies = |field: OrderField| match field {
        OrderField::Cluster => !plan.one_cluster,
        OrderField::Namespace => !one_namespace,
        _ => true,
    };
    let mut walked = PAGE_ORDER.into_iter().filter(|&field| varies(field));
    let mut backwards = false;
    for key in order.iter().filter(|key| varies(key.field)) {
        if walked.next() != Some(key.field) {
            return None;
        }
        match key.field {
            OrderField::Cluster => backwards = key.descending,
            _ if key.descending => return None,
            _ => {}
        }
    }
    Some(backwards)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.strategy {
            Strategy::Nothing => return f.write_str("nothing: the query admits no object"),
            Strategy::Walk { backwards: false } => "walk namespaces in page order",
            Strategy::Walk { backwards: true } => "walk namespaces, the last cluster first",
            Strategy::Sort => "sort few objects, or walk the index of the order",
        })?;
        for planned in &self.types {
            let TypePlan { id, clusters, .. } = planned;
            write!(f, "\n  {} (type {id})", planned.resource.gvr)?;
            write!(f, " in {} clusters", clusters.len())?;
            let first = clusters.get(0).map(|space| space.namespaces);
            match first {
                None | Some(NameFilter::Any) => {}
                Some(NameFilter::In(names)) => {
                    write!(f, ", of the first {} namespaces", names.len())?;
                }
                Some(NameFilter::NotIn(names)) => {
                    write!(f, ", without {} namespaces", names.len())?;
                }
            }
        }
        match &self.names {
            NameFilter::Any => {}
            NameFilter::In(names) => write!(f, "\n  {} names", names.len())?,
            NameFilter::NotIn(names) => write!(f, "\n  without {} names", names.len())?,
        }
        for clause in &*self.has {
            write!(f, "\n  has {clause}")?;
        }
        for clause in &*self.has_not {
            write!(f, "\n  has not {clause}")?;
        }
        for clause in &*self.told {
            write!(f, "\n  is told to have {clause}")?;
        }
        for clause in &*self.told_not {
            write!(f, "\n  is told not to have {clause}")?;
        }
        for key in &self.order {
            let direction = if key.descending {
                "descending"
            } else {
                "ascending"
            };
            write!(f, "\n  by {:?}, {direction}", key.field)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
