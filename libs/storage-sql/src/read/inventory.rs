//! What a stream has stored, page by page, by namespace, then name: keys for whoever sweeps, versions for whoever compares.

use std::collections::HashMap;

use armadex_model::ObjectKey;
use armadex_storage::{ClusterId, StoreError, StoredVersion, TypeId};

use crate::backend::{Connection, Row, rows};
use crate::sql::counter::{self, CounterRow};
use crate::sql::dialect::Dialect;
use crate::sql::pieces::MAX_LIST;
use crate::sql::select;
use crate::sql::statement::Statement;

/// Namespaces that are read at a time.
const PLACES: i64 = 512;

/// Namespaces by their numbers.
type Names<'a> = HashMap<i64, &'a str>;

/// What is told of each object.
pub(crate) struct Told<T> {
    /// The objects of one namespace after a name, by name.
    after: fn(Dialect, i32, (i64, &str), i64) -> Statement,
    /// All objects of some namespaces, in no order.
    within: fn(Dialect, i32, &[i64]) -> Statement,
    decode: fn(&Names<'_>, &dyn Row) -> Result<T, StoreError>,
    key: fn(&T) -> &ObjectKey,
}

/// Keys: read from an index alone, in a fifth of the time.
pub(crate) const KEYS: Told<ObjectKey> = Told {
    after: select::keys_after,
    within: select::keys_within,
    decode: |names, row| Ok(ObjectKey::new(names[&row.int(0)?], row.text(1)?)),
    key: |key| key,
};

/// Keys and versions.
pub(crate) const VERSIONS: Told<StoredVersion> = Told {
    after: select::after,
    within: |dialect, resource, nsids| select::within(dialect, resource, nsids, None),
    decode: |names, row| {
        let object = select::decode(row)?;
        Ok(StoredVersion {
            key: ObjectKey::new(names[&object.nsid], object.name),
            uid: object.uid,
            resource_version: object.version.into_text(),
            bytes: u64::try_from(object.size).unwrap_or(0),
        })
    },
    key: |version| &version.key,
};

/// The type of one cluster that is told of.
pub(crate) struct Inventory<'a> {
    pub(crate) connection: &'a mut dyn Connection,
    pub(crate) dialect: Dialect,
    pub(crate) cluster: ClusterId,
    pub(crate) resource: TypeId,
}

impl Inventory<'_> {
    /// At most `limit` objects after a key; fewer only at the end.
    pub(crate) async fn page<T: Send>(
        &mut self,
        told: &Told<T>,
        after: Option<&ObjectKey>,
        limit: u32,
    ) -> Result<Vec<T>, StoreError> {
        let wanted = limit as usize;
        let mut found = Vec::new();
        let (mut from, mut begun) = after.map_or_else(
            || (String::new(), None),
            |key| (key.namespace.clone(), Some(key.name.as_str())),
        );
        let mut done = None;
        loop {
            let statement = counter::from(self.resource.0, self.cluster.0, &from, PLACES);
            let mut places = rows(self.connection, statement, counter::decode).await?;
            let more = places.len() as i64 == PLACES;
            places.retain(|place| done.as_ref() != Some(&place.namespace));
            let Some(last) = places.last().map(|place| place.namespace.clone()) else {
                break;
            };
            let mut rest = places.as_slice();
            if let Some(name) = begun.take()
                && let Some((first, others)) = rest.split_first()
                && first.namespace == from
            {
                found.extend(self.after_name(told, (first, name), wanted).await?);
                rest = others;
            }
            let missing = wanted.saturating_sub(found.len());
            found.extend(self.of_places(told, rest, missing).await?);
            if !more || found.len() >= wanted {
                break;
            }
            done = Some(last.clone());
            from = last;
        }
        found.truncate(wanted);
        Ok(found)
    }

    /// The first objects of some namespaces, about as many as are wanted, or all that there are.
    async fn of_places<T: Send>(
        &mut self,
        told: &Told<T>,
        mut places: &[CounterRow],
        wanted: usize,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        while let (Some(first), true) = (places.first(), found.len() < wanted) {
            let missing = wanted - found.len();
            let few = few_objects(places, missing);
            if few == 0 {
                found.extend(self.after_name(told, (first, ""), missing).await?);
                places = &places[1..];
                continue;
            }
            let (here, rest) = places.split_at(few);
            found.extend(self.within(told, here).await?);
            places = rest;
        }
        Ok(found)
    }

    async fn after_name<T: Send>(
        &mut self,
        told: &Told<T>,
        (place, name): (&CounterRow, &str),
        wanted: usize,
    ) -> Result<Vec<T>, StoreError> {
        let limit = i64::try_from(wanted).unwrap_or(i64::MAX);
        let statement = (told.after)(self.dialect, self.resource.0, (place.nsid, name), limit);
        self.read(told, std::slice::from_ref(place), statement)
            .await
    }

    async fn within<T: Send>(
        &mut self,
        told: &Told<T>,
        places: &[CounterRow],
    ) -> Result<Vec<T>, StoreError> {
        let nsids: Vec<i64> = places.iter().map(|place| place.nsid).collect();
        let statement = (told.within)(self.dialect, self.resource.0, &nsids);
        let mut found = self.read(told, places, statement).await?;
        found.sort_by(|a, b| (told.key)(a).cmp((told.key)(b)));
        Ok(found)
    }

    async fn read<T: Send>(
        &mut self,
        told: &Told<T>,
        places: &[CounterRow],
        statement: Statement,
    ) -> Result<Vec<T>, StoreError> {
        let names = places
            .iter()
            .map(|place| (place.nsid, place.namespace.as_str()));
        let names: Names<'_> = names.collect();
        let mut found = Vec::new();
        self.connection
            .fetch(statement, &mut |row| {
                found.push((told.decode)(&names, row)?);
                Ok(())
            })
            .await?;
        Ok(found)
    }
}

/// How many of the first namespaces have together no more objects than are wanted.
fn few_objects(places: &[CounterRow], wanted: usize) -> usize {
    let mut sum = 0;
    let fits = |place: &&CounterRow| {
        sum += place.objects;
        usize::try_from(sum).is_ok_and(|sum| sum <= wanted)
    };
    places.iter().take(MAX_LIST).take_while(fits).count()
}
