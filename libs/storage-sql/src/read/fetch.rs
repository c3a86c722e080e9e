//! The objects of places, in page order.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use armadex_model::NameFilter;
use armadex_storage::StoreError;

use super::matches::Matches;
use super::place::{Located, Place};
use super::plan::Plan;
use super::reading::{Reading, Tuning};
use super::tested::tested;
use crate::backend::error::broken;
use crate::sql::select::{self, Candidate};

/// What an object must be besides matching the terms.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Only<'a> {
    /// Called so.
    Named(&'a NameFilter),
    /// Called so, and created in this second.
    Created(i64, &'a NameFilter),
}

impl Only<'_> {
    fn names(&self) -> &NameFilter {
        match self {
            Self::Named(names) | Self::Created(_, names) => names,
        }
    }

    /// How many names are looked for in each place.
    fn lookups(&self) -> usize {
        match self {
            Self::Named(NameFilter::In(names)) => names.len(),
            _ => 0,
        }
    }

    /// In how many places names are looked for at a time.
    pub(crate) fn places_at_once(&self, tuning: &Tuning) -> usize {
        (tuning.lookups / self.lookups().max(1)).max(1)
    }

    /// How many objects of a place are fetched at most.
    pub(crate) fn most(&self, place: &Place, matches: &Matches) -> usize {
        let objects = |count: i64| usize::try_from(count).unwrap_or(usize::MAX);
        let there = match matches {
            Matches::Exactly(ids) | Matches::Among(ids) => ids.len(),
            _ => objects(place.objects),
        };
        match self.names() {
            NameFilter::In(names) => there.min(names.len()),
            NameFilter::Any | NameFilter::NotIn(_) => there,
        }
    }
}

/// All objects of some places.
pub(crate) async fn whole(
    reading: &mut Reading<'_>,
    plan: &Plan,
    resource: i32,
    only: Only<'_>,
    places: &[(Arc<Place>, Matches)],
) -> Result<Vec<Located>, StoreError> {
    let found = candidates(reading, resource, only, places).await?;
    let by_nsid: HashMap<i64, usize> = places
        .iter()
        .enumerate()
        .map(|(at, (place, _))| (place.nsid, at))
        .collect();
    let mut kept = Vec::with_capacity(found.len());
    let mut unknown = Vec::new();
    for object in found {
        let at = by_nsid.get(&object.nsid).copied();
        let at = at.ok_or_else(|| broken(format!("object {} has moved", object.id)))?;
        match &places[at].1 {
            _ if !only.names().admits(&object.name) => {}
            matches if !admits(matches, object.id) => {}
            matches if matches.is_certain() => kept.push((at, object)),
            _ => unknown.push((at, object)),
        }
    }
    kept.extend(tested(reading, plan, unknown, |(_, object)| object.rev).await?);
    kept.sort_by(|(a, x), (b, y)| (a, &x.name).cmp(&(b, &y.name)));
    let row = |(at, object): (usize, Candidate)| Located {
        place: Arc::clone(&places[at].0),
        object,
    };
    Ok(kept.into_iter().map(row).collect())
}

fn admits(matches: &Matches, id: i64) -> bool {
    match matches {
        Matches::All | Matches::Unknown => true,
        Matches::Exactly(ids) | Matches::Among(ids) => ids.contains(id),
        Matches::AllBut(gone) => !gone.contains(id),
    }
}

async fn candidates(
    reading: &mut Reading<'_>,
    resource: i32,
    only: Only<'_>,
    places: &[(Arc<Place>, Matches)],
) -> Result<Vec<Candidate>, StoreError> {
    let mut found = Vec::new();
    if let Some(ids) = ids_of(only, places) {
        for part in ids.chunks(reading.tuning.list) {
            let statement = select::by_id(reading.dialect, part);
            found.extend(reading.rows(statement, select::decode).await?);
        }
        return Ok(found);
    }
    let nsids: Vec<i64> = places
        .iter()
        .filter(|(_, matches)| *matches != Matches::Exactly(armadex_postings::IdSet::new()))
        .map(|(place, _)| place.nsid)
        .collect();
    let names = only.lookups();
    for part in nsids.chunks(only.places_at_once(reading.tuning).min(reading.tuning.list)) {
        reading.looked_for(part.len() * names);
        let statement = match only {
            Only::Named(names) => select::within(reading.dialect, resource, part, called(names)),
            Only::Created(created, _) => {
                select::created_within(reading.dialect, resource, part, created)
            }
        };
        found.extend(reading.rows(statement, select::decode).await?);
    }
    Ok(found)
}

/// The names that are looked for. Those that are not to be found tell nothing of where to look: their rows are read, and counted as work, as others are.
fn called(names: &NameFilter) -> Option<&BTreeSet<String>> {
    match names {
        NameFilter::In(names) => Some(names),
        NameFilter::Any | NameFilter::NotIn(_) => None,
    }
}

/// The ids of all matches, if they are known and nothing but them decides.
fn ids_of(only: Only<'_>, places: &[(Arc<Place>, Matches)]) -> Option<Vec<i64>> {
    if !matches!(only, Only::Named(NameFilter::Any | NameFilter::NotIn(_))) {
        return None;
    }
    let mut ids = Vec::new();
    for (_, matches) in places {
        let (Matches::Exactly(here) | Matches::Among(here)) = matches else {
            return None;
        };
        ids.extend_from_slice(here.as_slice());
    }
    Some(ids)
}

/// The next objects of one place after a name, and the last name that was looked at; `None` for it at the place's end.
pub(crate) async fn part(
    reading: &mut Reading<'_>,
    plan: &Plan,
    resource: i32,
    (place, matches): (&Arc<Place>, &Matches),
    after: &str,
    limit: usize,
) -> Result<(Vec<Located>, Option<String>), StoreError> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let statement = select::after(reading.dialect, resource, (place.nsid, after), most);
    let mut found = reading.rows(statement, select::decode).await?;
    let last = (found.len() >= limit).then(|| found.last().map(|row| row.name.clone()));
    found.retain(|object| plan.names.admits(&object.name) && admits(matches, object.id));
    if !matches.is_certain() {
        found = tested(reading, plan, found, |object| object.rev).await?;
    }
    let row = |object| Located {
        place: Arc::clone(place),
        object,
    };
    Ok((found.into_iter().map(row).collect(), last.flatten()))
}
