//! Sort orders: which of them the page order already is, which have an index, and how rows compare.

use std::cmp::Ordering;

use armadex_model::query::{OrderBy, OrderField, Position, SortValue};
use armadex_model::{NameFilter, Query};
use armadex_storage::StoreError;

use super::space::namespaces_in;
use crate::catalog::{Member, Snapshot};
use crate::sql::dialect::ObjIndex;

/// The page order, as long as numbers could be handed out in name order.
const PAGE_ORDER: [OrderField; 3] = [OrderField::Cluster, OrderField::Namespace, OrderField::Name];

/// Whether walking in page order gives the order that was asked for.
pub(crate) fn is_page_order(query: &Query, resource: i32, snapshot: &Snapshot) -> bool {
    let shown: Vec<&Member> = snapshot
        .clusters()
        .iter()
        .filter(|m| snapshot.is_visible(m, resource) && namespaces_in(query, m).is_some())
        .collect();
    let one_namespace = matches!(&query.namespaces, NameFilter::In(names) if names.len() == 1);
    let varies = |field: &OrderField| match field {
        OrderField::Cluster => shown.len() > 1,
        OrderField::Namespace => !one_namespace,
        _ => true,
    };
    let sound = |field: OrderField| match field {
        OrderField::Cluster => shown.is_sorted_by(|a, b| a.name <= b.name),
        OrderField::Namespace => shown.iter().all(|member| member.in_order),
        _ => true,
    };
    let asked = query.order.iter().filter(|key| varies(&key.field));
    let mut page_order = PAGE_ORDER.into_iter().filter(varies);
    asked
        .into_iter()
        .all(|key| !key.descending && page_order.next() == Some(key.field) && sound(key.field))
}

/// The index that begins with the order's first key.
pub(crate) fn index_of(order: &[OrderBy]) -> Option<ObjIndex> {
    match order.first()?.field {
        OrderField::Name => Some(ObjIndex::Name),
        OrderField::CreatedAt => Some(ObjIndex::Created),
        _ => None,
    }
}

/// A row's place in an order: its sort values, then the page order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rank {
    pub(crate) keys: Vec<SortValue>,
    pub(crate) nsid: i64,
    pub(crate) name: String,
}

impl Rank {
    /// The place that a position names, if it was made for this order.
    pub(crate) fn of_position(position: &Position, order: &[OrderBy]) -> Result<Self, StoreError> {
        let fits = position.keys.len() == order.len()
            && order
                .iter()
                .zip(&position.keys)
                .all(|(key, value)| fits(key.field, value));
        if !fits {
            return Err(StoreError::Gone {
                reason: "it was made for another order".into(),
            });
        }
        Ok(Self {
            keys: position.keys.clone(),
            nsid: position.namespace_id,
            name: position.name.clone(),
        })
    }
}

fn fits(field: OrderField, value: &SortValue) -> bool {
    let number = matches!(field, OrderField::CreatedAt | OrderField::ResourceVersion);
    number == matches!(value, SortValue::Number(_))
}

/// How two ranks of the same order compare.
pub(crate) fn ranked_before(order: &[OrderBy], a: &Rank, b: &Rank) -> Ordering {
    let keys = order
        .iter()
        .zip(a.keys.iter().zip(&b.keys))
        .map(
            |(key, (a, b))| {
                if key.descending { b.cmp(a) } else { a.cmp(b) }
            },
        );
    keys.into_iter()
        .find(|ordering| ordering.is_ne())
        .unwrap_or_else(|| (a.nsid, &a.name).cmp(&(b.nsid, &b.name)))
}
