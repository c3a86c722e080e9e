//! Objects with one of a few names: found by the index of names, unless there are many.

use std::collections::HashMap;
use std::sync::Arc;

use armadex_model::NameFilter;
use armadex_storage::StoreError;

use super::place::{Located, Place};
use super::places::namespace_names;
use super::plan::{Plan, TypePlan};
use super::reading::Reading;
use super::tested::tested;
use crate::form::namespace_id::cluster_of;
use crate::sql::select::{self, Candidate};
use crate::sql::statement::Statement;

/// All rows of a query that names its objects, in no order; `None` if it names none, or too many are called so.
pub(crate) async fn all(
    reading: &mut Reading<'_>,
    plan: &Plan,
) -> Result<Option<Vec<Located>>, StoreError> {
    let NameFilter::In(names) = &plan.names else {
        return Ok(None);
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if names.len() > reading.tuning.list {
        return Ok(None);
    }
    let mut all = Vec::new();
    for planned in &plan.types {
        let Some(found) = called(reading, planned, &names).await? else {
            return Ok(None);
        };
        // What may not be shown is not looked at any further.
        let found = placed(reading, planned, found).await?;
        all.extend(tested(reading, plan, found, |row| row.object.rev).await?);
    }
    Ok(Some(all))
}

async fn called(
    reading: &mut Reading<'_>,
    planned: &TypePlan,
    names: &[&str],
) -> Result<Option<Vec<Candidate>>, StoreError> {
    let (dialect, most) = (reading.dialect, reading.tuning.probe);
    let limit = i64::try_from(most).map_or(i64::MAX, |most| most.saturating_add(1));
    let ranges = planned.ranges(reading.tuning, names.len());
    reading.looked_for(names.len() * ranges.as_ref().map_or(1, Vec::len));
    let statements: Vec<Statement> = match &ranges {
        None => vec![select::called(dialect, planned.id, names, limit)],
        Some(ranges) => dialect
            .ranges(ranges, names.len())
            .map(|part| select::called_in(dialect, planned.id, names, part, limit))
            .collect(),
    };
    let mut found = Vec::new();
    for statement in statements {
        found.extend(reading.rows(statement, select::decode).await?);
        if found.len() > most {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// Those objects that may be shown, where they live.
pub(crate) async fn placed(
    reading: &mut Reading<'_>,
    planned: &TypePlan,
    objects: Vec<Candidate>,
) -> Result<Vec<Located>, StoreError> {
    let objects: Vec<Candidate> = objects
        .into_iter()
        .filter(|object| planned.clusters.at(cluster_of(object.nsid)).is_some())
        .collect();
    let mut nsids: Vec<i64> = objects.iter().map(|object| object.nsid).collect();
    nsids.sort_unstable();
    nsids.dedup();
    let names = namespace_names(reading, &nsids).await?;
    let places: HashMap<i64, Arc<Place>> = names
        .into_iter()
        .filter_map(|(nsid, namespace)| {
            let at = planned.clusters.at(cluster_of(nsid))?;
            let space = planned.clusters.get(at)?;
            space.namespaces.admits(&namespace).then(|| {
                let place = Place {
                    index: planned.index,
                    cluster: space.name.clone(),
                    namespace: namespace.into(),
                    nsid,
                    objects: 0,
                };
                (nsid, Arc::new(place))
            })
        })
        .collect();
    let row = |object: Candidate| {
        let place = Arc::clone(places.get(&object.nsid)?);
        Some(Located { place, object })
    };
    Ok(objects.into_iter().filter_map(row).collect())
}
