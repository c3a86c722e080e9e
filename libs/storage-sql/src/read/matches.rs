//! Which objects of each place match the terms: posting blocks, combined place by place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use armadex_postings::IdSet;
use armadex_storage::StoreError;

use super::ids::{combined, holders, id_sets};
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
/// that of the fewest objects. Whether any of a large place matches was found out when its first objects were looked at.
pub(crate) async fn matches(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
    first: usize,
    (places, is_begun): (&[Arc<Place>], bool),
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
            None if count <= 1 && is_begun => return Ok(vec![Matches::Unknown]),
            None if count <= 1 => {
                let alone = alone(reading, plan, planned, &places[0]).await?;
                return Ok(vec![alone]);
            }
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
    // Blocks of all clauses are held together.
    let clauses = i64::try_from(plan.has.len() + plan.has_not.len()).unwrap_or(i64::MAX);
    let most = i64::try_from(reading.tuning.blocks).unwrap_or(i64::MAX);
    let mut blocks = 0_i64;
    let fits = |place: &&Arc<Place>| {
        let of_each = place.objects / IDS_IN_BLOCK;
        blocks = blocks.saturating_add(of_each.saturating_mul(clauses));
        blocks <= most
    };
    let places = places.iter().take(reading.tuning.lookups / terms.max(1));
    places.take_while(fits).count().max(1)
}

/// What the clauses that must not hold lead to: an object with any of the terms is excluded, whichever clause it is of.
struct Excluded {
    /// Each once, however many clauses have it.
    terms: Vec<i64>,
    /// Those of clauses that lead to objects of which they exclude some.
    undecided: Vec<i64>,
}

impl Excluded {
    fn by(plan: &Plan, planned: &TypePlan) -> Self {
        let of = |decides| {
            let leads = plan.has_not.iter();
            let leads = leads.map(|clause| clause.lead(&planned.unposted));
            let leads = leads.filter(|lead| lead.decides == decides);
            let terms: BTreeSet<i64> = leads.flat_map(|lead| lead.terms).copied().collect();
            terms.into_iter().collect()
        };
        Self {
            terms: of(true),
            undecided: of(false),
        }
    }
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
    let mut room = reading.tuning.blocks;
    let led = id_sets(reading, lead.terms, planned.id, &nsids, &mut room);
    let Some(mut found) = led.await? else {
        return Ok(None);
    };
    let others = plan.has.iter().enumerate().filter(|(at, _)| *at != first);
    let others = others.map(|(_, clause)| clause.lead(&planned.unposted));
    let others: Vec<Lead<'_>> = others.collect();
    let excluded = Excluded::by(plan, planned);
    let mut certain = plan.is_decided(planned);
    let wanted = others.iter().map(|lead| (lead.terms, true));
    for (terms, wanted) in wanted.chain([(&*excluded.terms, false)]) {
        let there = keys(&found);
        let Some(other) = id_sets(reading, terms, planned.id, &there, &mut room).await? else {
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

/// All objects but those that some clause excludes; `None` if that takes more blocks than may be held.
async fn exclude(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
    places: &[Arc<Place>],
) -> Result<Option<Vec<Matches>>, StoreError> {
    let nsids: Vec<i64> = places.iter().map(|place| place.nsid).collect();
    let Excluded { terms, undecided } = Excluded::by(plan, planned);
    let mut room = reading.tuning.blocks;
    let gone = id_sets(reading, &terms, planned.id, &nsids, &mut room).await?;
    let Some(mut gone) = gone else {
        return Ok(None);
    };
    // Of one place its first block tells as much as all of them.
    let mut room = if places.len() > 1 { room } else { 0 };
    let undecided = holders(reading, &undecided, planned.id, &nsids, &mut room).await?;
    if undecided.is_none() && places.len() > 1 {
        return Ok(None);
    }
    let matches = places.iter().map(|place| {
        let left = Matches::AllBut(gone.remove(&place.nsid).unwrap_or_default());
        let undecided = undecided.as_ref();
        match left.count(place) {
            Some(..=0) => Matches::Exactly(IdSet::new()),
            _ if undecided.is_none_or(|found| found.contains(&place.nsid)) => Matches::Unknown,
            _ => left,
        }
    });
    Ok(Some(matches.collect()))
}

/// What is known of a place with more blocks than may be held: none matches where one term excludes as many as there are.
async fn alone(
    reading: &mut Reading<'_>,
    plan: &Plan,
    planned: &TypePlan,
    place: &Place,
) -> Result<Matches, StoreError> {
    let excluded = Excluded::by(plan, planned);
    for term in excluded.terms.iter().take(MOST_TOTALS) {
        let blocks = place.objects / IDS_IN_BLOCK;
        reading.looked_for(usize::try_from(blocks).unwrap_or(usize::MAX));
        let total = post::total(reading.dialect, *term, planned.id, place.nsid);
        let total = reading.rows(total, |row| row.int(0)).await?;
        if total.first().is_some_and(|total| *total >= place.objects) {
            return Ok(Matches::Exactly(IdSet::new()));
        }
    }
    Ok(Matches::Unknown)
}

/// Terms whose blocks are added up, where those of all are more than may be held.
const MOST_TOTALS: usize = 2;

fn keys<T>(found: &BTreeMap<i64, T>) -> Vec<i64> {
    found.keys().copied().collect()
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
