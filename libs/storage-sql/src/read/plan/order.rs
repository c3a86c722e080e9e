//! Places in an order: a row's sort values, then the page order.

use std::cmp::Ordering;

use armadex_model::Query;
use armadex_model::query::{OrderBy, OrderField, Position, SortValue};
use armadex_storage::StoreError;

use crate::read::place::Located;

/// A place in the total order of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rank {
    pub(crate) keys: Vec<SortValue>,
    /// The type's place among the query's.
    pub(crate) index: usize,
    pub(crate) cluster: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Rank {
    /// Where a row stands.
    pub(crate) fn of_row(row: &Located, order: &[OrderBy]) -> Self {
        Self {
            keys: order.iter().map(|key| value(row, key.field)).collect(),
            index: row.place.index,
            cluster: row.place.cluster.as_str().to_owned(),
            namespace: row.place.namespace.to_string(),
            name: row.object.name.clone(),
        }
    }

    /// The place that a position names, if it was made for this query.
    pub(crate) fn of_position(position: &Position, query: &Query) -> Result<Self, StoreError> {
        let Position {
            keys,
            resource,
            cluster,
            namespace,
            name,
        } = position.clone();
        let index = query.types.iter().position(|one| one.resource == resource);
        let fits = keys.len() == query.order.len()
            && query
                .order
                .iter()
                .zip(&keys)
                .all(|(key, value)| fits(key.field, value));
        match index {
            Some(index) if fits => Ok(Self {
                keys,
                index,
                cluster,
                namespace,
                name,
            }),
            _ => Err(StoreError::Gone {
                reason: "it was made for another search".into(),
            }),
        }
    }

    /// The position that stands for this place.
    pub(crate) fn into_position(self, query: &Query) -> Position {
        Position {
            keys: self.keys,
            resource: query.types[self.index].resource.clone(),
            cluster: self.cluster,
            namespace: self.namespace,
            name: self.name,
        }
    }

    /// Which of two places of the same order comes first.
    pub(crate) fn compare(&self, other: &Self, order: &[OrderBy]) -> Ordering {
        let keys = order
            .iter()
            .zip(self.keys.iter().zip(&other.keys))
            .map(|(key, (a, b))| if key.descending { b.cmp(a) } else { a.cmp(b) });
        keys.into_iter()
            .find(|ordering| ordering.is_ne())
            .unwrap_or_else(|| self.page_order().cmp(&other.page_order()))
    }

    fn page_order(&self) -> (usize, &str, &str, &str) {
        (self.index, &self.cluster, &self.namespace, &self.name)
    }
}

fn fits(field: OrderField, value: &SortValue) -> bool {
    let number = matches!(field, OrderField::CreatedAt | OrderField::ResourceVersion);
    number == matches!(value, SortValue::Number(_))
}

fn value(row: &Located, field: OrderField) -> SortValue {
    match field {
        OrderField::Cluster => SortValue::Text(row.place.cluster.as_str().to_owned()),
        OrderField::Namespace => SortValue::Text(row.place.namespace.to_string()),
        OrderField::Name => SortValue::Text(row.object.name.clone()),
        OrderField::CreatedAt => SortValue::Number(row.object.created),
        OrderField::ResourceVersion => SortValue::Number(row.object.version.number()),
        OrderField::Uid => SortValue::Text(row.object.uid.clone()),
    }
}
