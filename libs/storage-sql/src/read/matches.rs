//! Which objects of each place match the terms: posting blocks, combined place by place.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use armadex_postings::IdSet;
use armadex_storage::StoreError;

use super::ids::{combined, id_sets, joined};
use super::place::Place;
use super::plan::{Lead, Plan, TypePlan};
use super::reading::Reading;
use crate::sql::post;
use crate::sql::statement::Statement;

/// The objects of a place that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matches {
    /// All that are there.
    All,
    /// These.
    Exactly(IdSet),
    /// All but these.
    AllBut(IdSet),
    /// Those of these whose own terms say so: one clause leads to few, another has more blocks than may be held, or none.
    Among(IdSet),
    /// There are more blocks than may be held, or none: each object's own terms tell.
    Unknown,
}

impl Matches {
    /// How many there are, if that is known.
    pub(crate) fn count(&self, place: &Place) -> Option<i64> {
        let length = |ids: &IdSet| i64::try_from(ids.len()).unwrap_or(i64::MAX);
        match self {
            Self::All => Some(place.objects),
            Self::Exactly(ids) => Some(length(ids)),
            Self::AllBut(gone) => Some(place.objects - length(gone)),
            Self::Among(_) | Self::Unknown => None,
        }
    }

    /// Whether nothing is left to be told by an object's own terms.
    pub(crate) fn is_certain(&self) -> bool {
        !matches!(self, Self::Among(_) | Self::Unknown)
    }
}

/// What matches in each of the first places, as many of them as can be told at once; at least one. `first` is the clause to begin with,
/// that of the fewest objects.
pub(crate) async fn matches(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
    first: usize,
    places: &[Arc<Place>],
) -> Result<Vec<Matches>, StoreError> {
    if !plan.has_terms() {
        return Ok(vec![Matches::All; places.len()]);
    }
    // What blocks exclude is of no use where each object has to be looked at.
    if plan.has.is_empty() && plan.has_told() {
        return Ok(vec![Matches::Unknown; places.len()]);
    }
    let mut count = at_once(reading, plan, planned, places);
    loop {
        let here = &places[..count];
        let found = match plan.has.get(first) {
            Some(_) => narrow(reading, plan, planned, first, here).await?,
            None => exclude(reading, plan, planned, here).await?,
        };
        match found {
            Some(found) => return Ok(found),
            None if count <= 1 => return Ok(vec![Matches::Unknown]),
            None => count = count.div_ceil(2),
        }
    }
}

/// The fewest ids that a block in the middle of a run holds.
const IDS_IN_BLOCK: i64 = 64;

/// Of how many places the matches can probably be told at once; at least one.
fn at_once(reading: &Reading<'_>, plan: &Plan, planned: &TypePlan, places: &[Arc<Place>]) -> usize {
    let clauses = plan.has.iter().chain(&*plan.has_not);
    let leads = clauses.map(|clause| clause.lead(&planned.unposted));
    let terms: usize = leads.map(|lead| lead.terms.len()).sum();
    let most = i64::try_from(reading.tuning.blocks).unwrap_or(i64::MAX);
    let mut blocks = 0;
    let fits = |place: &&Arc<Place>| {
        blocks += place.objects / IDS_IN_BLOCK;
        blocks <= most
    };
    let places = places.iter().take(reading.tuning.lookups / terms.max(1));
    places.take_while(fits).count().max(1)
}

/// The ids that all clauses admit, beginning with one; `None` if that takes more blocks than may be held.
async fn narrow(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
    first: usize,
    places: &[Arc<Place>],
) -> Result<Option<Vec<Matches>>, StoreError> {
    let nsids: Vec<i64> = places.iter().map(|place| place.nsid).collect();
    let lead = plan.has[first].lead(&planned.unposted);
    let Some(mut found) = id_sets(reading, lead, planned.id, &nsids).await? else {
        return Ok(None);
    };
    let others = plan.has.iter().enumerate().filter(|(at, _)| *at != first);
    let others = others.map(|(_, clause)| (clause, true));
    let excluding = plan.has_not.iter().map(|clause| (clause, false));
    let mut certain = lead.decides && !plan.has_told();
    for (clause, wanted) in others.chain(excluding) {
        let lead = clause.lead(&planned.unposted);
        certain &= lead.decides;
        if !lead.decides && !wanted {
            // It leads to objects of which it excludes some.
            continue;
        }
        let Some(other) = id_sets(reading, lead, planned.id, &keys(&found)).await? else {
            if places.len() > 1 {
                return Ok(None);
            }
            certain = false;
            continue;
        };
        found = combined(reading.tuning, found, other, wanted).await?;
    }
    let matches = nsids.iter().map(|nsid| {
        let ids = found.remove(nsid).unwrap_or_default();
        match certain {
            true => Matches::Exactly(ids),
            false => Matches::Among(ids),
        }
    });
    Ok(Some(matches.collect()))
}

/// All objects but those that some clause excludes. A place in which a clause excludes everything is not read any further.
async fn exclude(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
    places: &[Arc<Place>],
) -> Result<Option<Vec<Matches>>, StoreError> {
    let mut left: BTreeMap<i64, i64> = places
        .iter()
        .map(|place| (place.nsid, place.objects))
        .collect();
    let mut touched: BTreeMap<i64, IdSet> = BTreeMap::new();
    let mut undecided: BTreeSet<i64> = BTreeSet::new();
    let leads = plan.has_not.iter();
    let leads: Vec<Lead<'_>> = leads.map(|clause| clause.lead(&planned.unposted)).collect();
    for &lead in &leads {
        let sums = sums(reading, lead, planned.id, &keys(&left)).await?;
        if lead.decides {
            left.retain(|nsid, total| sums.get(nsid).is_none_or(|sum| sum < total));
            touched.extend(sums.into_keys().map(|nsid| (nsid, IdSet::new())));
        } else {
            undecided.extend(sums.into_keys());
        }
    }
    touched.retain(|nsid, _| left.contains_key(nsid) && !undecided.contains(nsid));
    for &lead in leads.iter().filter(|lead| lead.decides) {
        let Some(gone) = id_sets(reading, lead, planned.id, &keys(&touched)).await? else {
            return Ok(None);
        };
        touched = joined(reading.tuning, touched, gone).await?;
    }
    let matches = places.iter().map(|place| match &place.nsid {
        nsid if !left.contains_key(nsid) => Matches::Exactly(IdSet::new()),
        nsid if undecided.contains(nsid) => Matches::Unknown,
        nsid => Matches::AllBut(touched.remove(nsid).unwrap_or_default()),
    });
    Ok(Some(matches.collect()))
}

fn keys<T>(found: &BTreeMap<i64, T>) -> Vec<i64> {
    found.keys().copied().collect()
}

/// How many objects of each namespace a clause leads to; without those where it leads to none.
async fn sums(
    reading: &mut Reading<'_>,
    lead: Lead<'_>,
    resource: i32,
    nsids: &[i64],
) -> Result<HashMap<i64, i64>, StoreError> {
    let mut all = HashMap::new();
    for terms in lead.terms.chunks(reading.tuning.list) {
        for part in nsids.chunks(reading.tuning.list) {
            let statement = post::sums(reading.dialect, terms, resource, part);
            reading.looked_for(terms.len() * part.len());
            for sum in reading.rows(statement, post::decode_sum).await? {
                reading.looked_at += sum.blocks;
                *all.entry(sum.nsid).or_default() += sum.objects;
            }
        }
    }
    Ok(all)
}

/// Where the positive clause that leads to the fewest objects has them: by namespace id, how many. `None` if every clause has more blocks than
/// are worth reading. Where there are many clauses, the first of them are tried: one that is good enough is among them, or the page ends
/// early.
pub(crate) async fn hits(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
) -> Result<(usize, Option<BTreeMap<i64, i64>>), StoreError> {
    let mut best: Option<(usize, i64, BTreeMap<i64, i64>)> = None;
    let end = reading.looked_at + MOST_PROBES * reading.tuning.probe as u64;
    for (at, clause) in plan.has.iter().enumerate() {
        if at > 0 && reading.looked_at >= end {
            break;
        }
        let lead = clause.lead(&planned.unposted);
        let Some(found) = sizes(reading, lead, planned).await? else {
            continue;
        };
        let sum = found.values().sum();
        if best.as_ref().is_none_or(|(_, least, _)| sum < *least) {
            best = Some((at, sum, found));
        }
    }
    Ok(match best {
        Some((at, _, found)) => (at, Some(found)),
        None => (0, None),
    })
}

/// Clauses whose blocks are counted to the end of what is worth reading.
const MOST_PROBES: u64 = 4;

async fn sizes(
    reading: &mut Reading<'_>,
    lead: Lead<'_>,
    planned: &TypePlan,
) -> Result<Option<BTreeMap<i64, i64>>, StoreError> {
    let (dialect, probe) = (reading.dialect, reading.tuning.probe);
    let limit = i64::try_from(probe).map_or(i64::MAX, |probe| probe.saturating_add(1));
    let ranges = planned.ranges(reading.tuning, lead.terms.len());
    reading.looked_for(lead.terms.len() * ranges.as_ref().map_or(1, Vec::len));
    let mut found = BTreeMap::new();
    let mut blocks = 0;
    for terms in lead.terms.chunks(reading.tuning.list) {
        let statements: Vec<Statement> = match &ranges {
            None => vec![post::sizes(dialect, terms, planned.id, limit)],
            Some(ranges) => dialect
                .ranges(ranges, terms.len())
                .map(|part| post::sizes_in(dialect, terms, planned.id, part, limit))
                .collect(),
        };
        for statement in statements {
            let sizes = reading.pairs(statement).await?;
            blocks += sizes.len();
            if blocks > probe {
                return Ok(None);
            }
            for (nsid, n) in sizes {
                *found.entry(nsid).or_default() += n;
            }
        }
    }
    Ok(Some(found))
}
