//! Which types have objects with terms that no posting block tells of: labels of which a store has learnt it, and fields that are so from the start.

use std::collections::BTreeSet;

use armadex_model::ResourceType;
use armadex_model::field::indexed;
use armadex_storage::StoreError;

use crate::backend::{Connection, row, rows};
use crate::sql::{catalog, mend, unposted};

/// The types, as of now.
pub(crate) async fn unposting(
    connection: &mut dyn Connection,
) -> Result<BTreeSet<i32>, StoreError> {
    let labels = rows(connection, unposted::since(0), unposted::decode).await?;
    let types = rows(connection, catalog::types_since(-1), catalog::decode_type).await?;
    let fields = types.iter().filter(|row| has_own_fields(&row.resource));
    let labels = labels.iter().map(|row| row.resource);
    Ok(labels.chain(fields.map(|row| row.id)).collect())
}

/// Whether a type is one of them, as of now.
pub(crate) async fn is_unposting(
    connection: &mut dyn Connection,
    resource: i32,
) -> Result<bool, StoreError> {
    let label = row(connection, mend::unposted(resource), |r| r.int(0)).await?;
    let by_id = catalog::types_by_id(connection.dialect(), &[resource.into()]);
    let known = row(connection, by_id, catalog::decode_type).await?;
    Ok(label.is_some() || known.is_some_and(|row| has_own_fields(&row.resource)))
}

fn has_own_fields(resource: &ResourceType) -> bool {
    let fields = indexed(&resource.gvr.group, &resource.gvr.resource);
    fields.iter().any(|field| field.own)
}
