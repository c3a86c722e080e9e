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
            .map(|(key, (a, b))| directed(a.cmp(b), key));
        first_of(keys, || self.page_order().cmp(&other.page_order()))
    }

    /// Whether a row comes after this place.
    pub(crate) fn is_before(&self, row: &Located, order: &[OrderBy]) -> bool {
        let keys = order.iter().zip(&self.keys).map(|(key, value)| {
            let compared = Key::from(value).cmp(&key_of(row, key.field));
            directed(compared, key)
        });
        first_of(keys, || self.page_order().cmp(&page_order(row))).is_lt()
    }

    fn page_order(&self) -> (usize, &str, &str, &str) {
        (self.index, &self.cluster, &self.namespace, &self.name)
    }
}

/// A sort value where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key<'a> {
    Number(i64),
    Text(&'a str),
}

impl<'a> From<&'a SortValue> for Key<'a> {
    fn from(value: &'a SortValue) -> Self {
        match value {
            SortValue::Number(number) => Self::Number(*number),
            SortValue::Text(text) => Self::Text(text),
        }
    }
}

/// What a row is sorted by.
pub(crate) fn key_of(row: &Located, field: OrderField) -> Key<'_> {
    match field {
        OrderField::Cluster => Key::Text(row.place.cluster.as_str()),
        OrderField::Namespace => Key::Text(&row.place.namespace),
        OrderField::Name => Key::Text(&row.object.name),
        OrderField::CreatedAt => Key::Number(row.object.created),
        OrderField::ResourceVersion => Key::Number(row.object.version.number()),
        OrderField::Uid => Key::Text(&row.object.uid),
    }
}

/// Which of two rows comes first. Nothing is copied for it: a page may sort ten thousand that it does not have.
pub(crate) fn compare(a: &Located, b: &Located, order: &[OrderBy]) -> Ordering {
    let keys = order.iter().map(|key| {
        let compared = key_of(a, key.field).cmp(&key_of(b, key.field));
        directed(compared, key)
    });
    first_of(keys, || page_order(a).cmp(&page_order(b)))
}

fn page_order(row: &Located) -> (usize, &str, &str, &str) {
    let Located { place, object } = row;
    let cluster = place.cluster.as_str();
    (place.index, cluster, &place.namespace, &object.name)
}

fn directed(compared: Ordering, key: &OrderBy) -> Ordering {
    match key.descending {
        true => compared.reverse(),
        false => compared,
    }
}

/// What the first of several says that says anything, and what is said else.
fn first_of(
    mut compared: impl Iterator<Item = Ordering>,
    or_else: impl FnOnce() -> Ordering,
) -> Ordering {
    compared
        .find(|ordering| ordering.is_ne())
        .unwrap_or_else(or_else)
}

fn fits(field: OrderField, value: &SortValue) -> bool {
    let number = matches!(field, OrderField::CreatedAt | OrderField::ResourceVersion);
    number == matches!(value, SortValue::Number(_))
}

fn value(row: &Located, field: OrderField) -> SortValue {
    match key_of(row, field) {
        Key::Number(number) => SortValue::Number(number),
        Key::Text(text) => SortValue::Text(text.to_owned()),
    }
}
