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
        let keys = self.keys.iter().zip(&other.keys);
        let keys = keys.map(|(a, b)| (Key::from(a), Key::from(b)));
        first_of(order, keys, (self.page_order(), other.page_order()))
    }

    /// Whether a row comes after this place.
    pub(crate) fn is_before(&self, row: &Located, order: &[OrderBy]) -> bool {
        let keys = order.iter().zip(&self.keys);
        let keys = keys.map(|(key, value)| (Key::from(value), key_of(row, key.field)));
        first_of(order, keys, (self.page_order(), page_order(row))).is_lt()
    }

    fn page_order(&self) -> PageOrder<'_> {
        (self.index, &self.cluster, &self.namespace, &self.name)
    }
}

/// The type's place among the query's, cluster, namespace and name.
type PageOrder<'a> = (usize, &'a str, &'a str, &'a str);

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
    let keys = order.iter().map(|key| key.field);
    let keys = keys.map(|field| (key_of(a, field), key_of(b, field)));
    first_of(order, keys, (page_order(a), page_order(b)))
}

fn page_order(row: &Located) -> PageOrder<'_> {
    let Located { place, object } = row;
    let cluster = place.cluster.as_str();
    (place.index, cluster, &place.namespace, &object.name)
}

/// Which of two comes first by what each is sorted by, and where that is the same as pages are.
fn first_of<'a>(
    order: &[OrderBy],
    keys: impl Iterator<Item = (Key<'a>, Key<'a>)>,
    (a, b): (PageOrder<'_>, PageOrder<'_>),
) -> Ordering {
    let mut compared = order.iter().zip(keys).map(|(key, (a, b))| {
        let compared = a.cmp(&b);
        match key.descending {
            true => compared.reverse(),
            false => compared,
        }
    });
    compared
        .find(|ordering| ordering.is_ne())
        .unwrap_or_else(|| a.cmp(&b))
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
