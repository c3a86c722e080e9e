//! Search labels: what Clusterpedia's users write into a label selector beside real labels.
//!
//! Their operators mean what they say: `search.clusterpedia.io/clusters notin (a)` is every cluster but `a`. What cannot be
//! served as it was asked is refused by name.

use std::num::NonZeroU64;

use crate::NameFilter;
use crate::cluster_selector::{self, LABELS};
use crate::label::Requirement;
use crate::label::parse::{Clause, Relation, shorten};
use crate::params::invalid::{InvalidParams, check_names, distinct, malformed, not_a_number};
use crate::params::names::meant;
use crate::params::raw::is_true;
use crate::query::{OrderBy, OrderField};

/// Search labels that every store understands.
const SEARCH: &str = "search.clusterpedia.io/";
/// Search labels of Clusterpedia's own store.
const INTERNAL_STORAGE: &str = "internalstorage.clusterpedia.io/";

/// A label selector, taken apart into search labels and real labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchLabels {
    pub(crate) clusters: NameFilter,
    pub(crate) namespaces: NameFilter,
    pub(crate) names: NameFilter,
    pub(crate) order: Vec<OrderBy>,
    pub(crate) limit: Option<NonZeroU64>,
    pub(crate) offset: Option<u64>,
    pub(crate) with_continue: Option<bool>,
    pub(crate) with_remaining_count: Option<bool>,
    pub(crate) cluster_labels: Vec<Requirement>,
    pub(crate) labels: Vec<Requirement>,
}

impl SearchLabels {
    pub(crate) fn from_clauses(clauses: Vec<Clause>) -> Result<Self, InvalidParams> {
        let mut found = Self::default();
        for clause in distinct(clauses)? {
            if clause.key.starts_with(INTERNAL_STORAGE) {
                return Err(not_served(&clause.key));
            }
            check_prefix(&clause.key)?;
            if let Some(key) = cluster_selector::key_of(&clause.key) {
                let clause = Clause { key, ..clause };
                let requirement = cluster_selector::requirement(clause)?;
                found.cluster_labels.push(requirement);
                continue;
            }
            match clause.key.strip_prefix(SEARCH).map(str::to_owned) {
                Some(name) => found.take(&name, &clause)?,
                None => found.labels.push(
                    clause
                        .into_requirement()
                        .map_err(|error| malformed("labelSelector", error.to_string()))?,
                ),
            }
        }
        Ok(found)
    }

    fn take(&mut self, name: &str, clause: &Clause) -> Result<(), InvalidParams> {
        match name {
            "clusters" => narrow(&mut self.clusters, clause),
            "namespaces" => narrow(&mut self.namespaces, clause),
            "names" => narrow(&mut self.names, clause),
            "orderby" => self.take_order(clause),
            "limit" => self.take_limit(clause),
            "offset" => self.take_offset(clause),
            "with-continue" => set_flag(&mut self.with_continue, clause),
            "with-remaining-count" => set_flag(&mut self.with_remaining_count, clause),
            _ if meant(name, ["cluster-labels"]).is_some() => Err(InvalidParams::Misspelt {
                what: "search label",
                name: shorten(&clause.key).to_owned(),
                meant: cluster_selector::SPELLED,
            }),
            _ => Err(not_served(&clause.key)),
        }
    }

    fn take_order(&mut self, clause: &Clause) -> Result<(), InvalidParams> {
        if clause.relation != Relation::In {
            return Err(wrong_operator(&clause.key));
        }
        for value in &clause.values {
            let (field, descending) = match value.strip_suffix("_desc") {
                Some(field) => (field, true),
                None => (value.strip_suffix("_asc").unwrap_or(value), false),
            };
            push_order(&mut self.order, &clause.key, field, descending)?;
        }
        Ok(())
    }

    fn take_limit(&mut self, clause: &Clause) -> Result<(), InvalidParams> {
        let text = single(clause)?;
        self.limit = limit(text).ok_or_else(|| not_a_number(&clause.key, text))?;
        Ok(())
    }

    fn take_offset(&mut self, clause: &Clause) -> Result<(), InvalidParams> {
        let text = single(clause)?;
        let rows = text.parse().map_err(|_| not_a_number(&clause.key, text))?;
        self.offset = Some(rows);
        Ok(())
    }
}

/// Refuses a label whose prefix is almost one of ours: as a real label it would match nothing.
fn check_prefix(key: &str) -> Result<(), InvalidParams> {
    let Some((prefix, _)) = key.split_once('/') else {
        return Ok(());
    };
    let ours = [SEARCH, INTERNAL_STORAGE].map(|prefix| prefix.trim_end_matches('/'));
    let whole = meant(prefix, ours.into_iter().chain([LABELS]));
    let end = cluster_selector::end_of(prefix);
    let meant = whole
        .or_else(|| meant(end, [LABELS]))
        .or_else(|| cluster_selector::is_of_searches(prefix).then_some(LABELS));
    let is_ours = |meant: &str| meant == prefix || meant == end;
    match meant.filter(|meant| !is_ours(meant)) {
        Some(meant) => Err(InvalidParams::Misspelt {
            what: "label prefix",
            name: shorten(prefix).to_owned(),
            meant,
        }),
        None => Ok(()),
    }
}

/// Reads a sort order as the URL writes it: `cluster,name desc`.
pub(crate) fn order(text: &str) -> Result<Vec<OrderBy>, InvalidParams> {
    let mut order = Vec::new();
    for item in text.split(',') {
        let words: Vec<&str> = item.split_whitespace().collect();
        let (field, descending) = match words.as_slice() {
            [field] | [field, "asc"] => (*field, false),
            [field, "desc"] => (*field, true),
            _ => {
                return Err(malformed(
                    "orderby",
                    format!("{:?} is not a field, or a field and desc", shorten(item)),
                ));
            }
        };
        push_order(&mut order, "orderby", field, descending)?;
    }
    Ok(order)
}

/// Reads a limit; zero and less are no limit, as in Kubernetes. `None` if the text is no number.
#[allow(
    clippy::option_option,
    reason = "no number and no limit are different answers"
)]
pub(crate) fn limit(text: &str) -> Option<Option<NonZeroU64>> {
    let number: i64 = text.parse().ok()?;
    Some(u64::try_from(number).ok().and_then(NonZeroU64::new))
}

fn push_order(
    order: &mut Vec<OrderBy>,
    parameter: &str,
    field: &str,
    descending: bool,
) -> Result<(), InvalidParams> {
    let field = match field {
        "cluster" => OrderField::Cluster,
        "namespace" => OrderField::Namespace,
        "name" => OrderField::Name,
        "created_at" => OrderField::CreatedAt,
        "resource_version" => OrderField::ResourceVersion,
        "uid" => OrderField::Uid,
        other => {
            return Err(malformed(
                parameter,
                format!(
                    "{:?} is none of cluster, namespace, name, created_at, resource_version, uid",
                    shorten(other)
                ),
            ));
        }
    };
    if order.iter().any(|known| known.field == field) {
        return Err(malformed(parameter, "a field is named twice"));
    }
    order.push(OrderBy { field, descending });
    Ok(())
}

fn narrow(filter: &mut NameFilter, clause: &Clause) -> Result<(), InvalidParams> {
    check_names(&clause.key, &clause.values)?;
    let names = clause.values.iter().cloned().collect();
    let asked = match clause.relation {
        Relation::In => NameFilter::In(names),
        Relation::NotIn => NameFilter::NotIn(names),
        Relation::Exists => NameFilter::Any,
        Relation::DoesNotExist | Relation::GreaterThan | Relation::LessThan => {
            return Err(wrong_operator(&clause.key));
        }
    };
    *filter = std::mem::take(filter).and(asked);
    Ok(())
}

fn set_flag(flag: &mut Option<bool>, clause: &Clause) -> Result<(), InvalidParams> {
    *flag = Some(is_true(single(clause)?));
    Ok(())
}

fn single(clause: &Clause) -> Result<&str, InvalidParams> {
    match (clause.relation, clause.values.as_slice()) {
        (Relation::In, [value]) => Ok(value),
        (Relation::In, _) => Err(malformed(&clause.key, "expected exactly one value")),
        _ => Err(wrong_operator(&clause.key)),
    }
}

fn not_served(key: &str) -> InvalidParams {
    InvalidParams::NotServed(format!("search label {}", shorten(key)))
}

fn wrong_operator(key: &str) -> InvalidParams {
    InvalidParams::NotServed(format!("this operator on search label {key}"))
}
