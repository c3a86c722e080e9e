//! Where to look: the namespace ids that a query may show, in page order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use armadex_model::query::{NamespaceScope, Scope};
use armadex_model::{NameFilter, Query};

use crate::catalog::{Member, Snapshot};
use crate::sql::namespace::NamespaceRow;

/// A stretch of namespace ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// All ids of a range.
    Range(Range<i64>),
    /// These ids, sorted.
    Ids(Vec<i64>),
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) if *range == EVERYTHING => f.write_str("all namespaces"),
            Self::Range(range) => write!(f, "namespaces {}..{}", range.start, range.end),
            Self::Ids(ids) => write!(f, "{} namespaces from {}", ids.len(), ids[0]),
        }
    }
}

/// Namespace ids are positive.
pub(crate) const EVERYTHING: Range<i64> = 0..i64::MAX;

/// The namespaces that `query` and its scope let through in one cluster; `None` if the cluster itself is not let through.
pub(crate) fn namespaces_in(query: &Query, member: &Member) -> Option<NameFilter> {
    if !query.clusters.admits(member.name.as_str()) {
        return None;
    }
    match &query.scope {
        Scope::Everything => Some(query.namespaces.clone()),
        Scope::Clusters(allowed) => match allowed.get(member.name.as_str())? {
            NamespaceScope::All => Some(query.namespaces.clone()),
            NamespaceScope::Only(names) => {
                Some(query.namespaces.clone().and(NameFilter::In(names.clone())))
            }
        },
    }
}

/// The namespaces whose ids [`space`] needs to know.
pub(crate) fn named_namespaces(
    query: &Query,
    resource: i32,
    snapshot: &Snapshot,
) -> BTreeSet<String> {
    let visible = snapshot
        .clusters()
        .iter()
        .filter(|m| snapshot.is_visible(m, resource));
    visible
        .filter_map(|member| match namespaces_in(query, member)? {
            NameFilter::Any => None,
            NameFilter::In(names) | NameFilter::NotIn(names) => Some(names),
        })
        .flatten()
        .collect()
}

/// The segments in page order. Ranges of neighbouring clusters become one where nothing hidden lies between them.
pub(crate) fn space(
    query: &Query,
    resource: i32,
    snapshot: &Snapshot,
    named: &[NamespaceRow],
) -> Vec<Segment> {
    let mut ids: BTreeMap<i64, Vec<(i64, &str)>> = BTreeMap::new();
    for row in named {
        ids.entry(row.cluster)
            .or_default()
            .push((row.id, &row.namespace));
    }
    let mut builder = Builder::default();
    for member in snapshot.clusters() {
        let named = ids.remove(&member.id).unwrap_or_default();
        let shown = snapshot
            .is_visible(member, resource)
            .then(|| namespaces_in(query, member));
        match shown.flatten() {
            Some(NameFilter::Any) => builder.show(member.range.clone()),
            Some(NameFilter::In(names)) => builder.pick(&named, &names),
            Some(NameFilter::NotIn(names)) => {
                builder.show_without(member.range.clone(), &named, &names);
            }
            None if snapshot.may_have_rows(member, resource) => builder.hide(),
            None => {}
        }
    }
    builder.finish()
}

/// Collects segments from left to right.
#[derive(Default)]
struct Builder {
    done: Vec<Segment>,
    /// The last segment may still grow.
    growing: bool,
    /// Something hidden was met.
    hidden: bool,
}

impl Builder {
    fn show(&mut self, range: Range<i64>) {
        match self.done.last_mut() {
            Some(Segment::Range(last)) if self.growing => last.end = range.end,
            _ => self.done.push(Segment::Range(range)),
        }
        self.growing = true;
    }

    fn hide(&mut self) {
        self.growing = false;
        self.hidden = true;
    }

    fn pick(&mut self, named: &[(i64, &str)], names: &BTreeSet<String>) {
        self.hide();
        let mut ids: Vec<i64> = matching(named, names);
        ids.sort_unstable();
        match self.done.last_mut() {
            _ if ids.is_empty() => {}
            Some(Segment::Ids(last)) => last.extend(ids),
            _ => self.done.push(Segment::Ids(ids)),
        }
    }

    fn show_without(&mut self, range: Range<i64>, named: &[(i64, &str)], names: &BTreeSet<String>) {
        let mut from = range.start;
        let mut holes = matching(named, names);
        holes.sort_unstable();
        for hole in holes {
            self.show(from..hole);
            self.hide();
            from = hole + 1;
        }
        self.show(from..range.end);
    }

    /// If nothing is hidden the only range may as well be everything.
    fn finish(self) -> Vec<Segment> {
        match self.done.as_slice() {
            [Segment::Range(_)] if !self.hidden => vec![Segment::Range(EVERYTHING)],
            _ => self.done,
        }
    }
}

fn matching(named: &[(i64, &str)], names: &BTreeSet<String>) -> Vec<i64> {
    named
        .iter()
        .filter(|(_, name)| names.contains(*name))
        .map(|&(id, _)| id)
        .collect()
}
