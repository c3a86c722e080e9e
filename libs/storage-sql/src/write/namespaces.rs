//! From namespaces of a batch to their ids; new ones get a number between their neighbours'.

use std::collections::{BTreeSet, HashMap};

use armadex_storage::StoreError;

use crate::backend::error::broken;
use crate::backend::{Connection, row, rows};
use crate::sql::statement::MAX_LIST;
use crate::sql::{catalog, head, namespace};
use crate::write::allocate::{Place, any_namespace_id, namespace_id};
use crate::write::prepare::{Prepared, PreparedChange};

/// A cluster that namespaces are resolved in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    pub(crate) cluster: i64,
    pub(crate) slot: i64,
}

/// The ids of the batch's namespaces; those of puts are made if they are not there.
pub(crate) async fn resolve(
    connection: &mut dyn Connection,
    home: Home,
    batch: &Prepared,
) -> Result<HashMap<String, i64>, StoreError> {
    let asked: BTreeSet<&str> = batch
        .changes
        .iter()
        .map(|change| change.key().namespace.as_str())
        .collect();
    let asked: Vec<String> = asked.into_iter().map(String::from).collect();
    let mut known = HashMap::with_capacity(asked.len());
    for part in asked.chunks(MAX_LIST) {
        let statement = namespace::of_cluster(home.cluster, part);
        let found = rows(connection, statement, namespace::decode).await?;
        known.extend(found.into_iter().map(|row| (row.namespace, row.id)));
    }
    for name in missing(batch, &known) {
        let id = allocate(connection, home, &name).await?;
        known.insert(name, id);
    }
    Ok(known)
}

/// The namespaces of puts that have no id yet, in order.
fn missing(batch: &Prepared, known: &HashMap<String, i64>) -> BTreeSet<String> {
    batch
        .changes
        .iter()
        .filter(|change| matches!(change, PreparedChange::Put(_)))
        .map(|change| &change.key().namespace)
        .filter(|namespace| !known.contains_key(*namespace))
        .cloned()
        .collect()
}

async fn allocate(
    connection: &mut dyn Connection,
    home: Home,
    name: &str,
) -> Result<i64, StoreError> {
    let Home { cluster, slot } = home;
    let previous = row(connection, namespace::before(cluster, name), |r| r.int(0)).await?;
    let next = row(connection, namespace::after(cluster, name), |r| r.int(0)).await?;
    let id = match namespace_id(slot, previous, next) {
        Place::InOrder(id) if is_free(connection, id).await? => id,
        _ => out_of_order(connection, home).await?,
    };
    connection
        .execute(namespace::insert(id, cluster, name))
        .await?;
    Ok(id)
}

async fn is_free(connection: &mut dyn Connection, id: i64) -> Result<bool, StoreError> {
    let holder = row(connection, namespace::by_id(&[id]), namespace::decode).await?;
    Ok(holder.is_none())
}

/// The page order of this cluster is no longer alphabetical: readers must know.
async fn out_of_order(connection: &mut dyn Connection, home: Home) -> Result<i64, StoreError> {
    let Home { cluster, slot } = home;
    let taken = rows(connection, namespace::taken(cluster), |r| r.int(0)).await?;
    let id = any_namespace_id(slot, &taken)
        .ok_or_else(|| broken("a cluster has no free namespace id"))?;
    connection
        .execute(catalog::mark_out_of_order(cluster))
        .await?;
    connection.execute(head::bump_catalog()).await?;
    Ok(id)
}
