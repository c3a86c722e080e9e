//! Which objects of each namespace match the terms: posting blocks combined, namespace by namespace, in page order.

use std::collections::{BTreeMap, HashMap, VecDeque};

use armadex_postings::{Block, IdSet};
use armadex_storage::StoreError;

use super::Reading;
use super::walk::{Step, steps};
use crate::backend::{row, rows};
use crate::read::plan::{Clause, Plan};
use crate::sql::statement::MAX_LIST;
use crate::sql::{post, select};
use crate::write::index::damaged;

/// Blocks in the first chunk of the driving term; each chunk is twice as large as the one before, up to the last figure, so that
/// a page of a common label is cheap and a rare one does not take many statements.
const FIRST_BLOCKS: i64 = 64;
const MOST_BLOCKS: i64 = 1024;
/// Namespaces in one chunk where the counter drives.
const NAMESPACES: i64 = 64;
/// Blocks that an estimate reads: 131,072 objects are "many" without looking further.
const ESTIMATE_BLOCKS: i64 = 512;

/// The objects of a namespace that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matches {
    /// These.
    Exactly(IdSet),
    /// All of the namespace's `total` but these.
    AllBut { total: i64, gone: IdSet },
}

impl Matches {
    /// Whether an object of the namespace matches.
    pub(crate) fn admits(&self, oid: i64) -> bool {
        match self {
            Self::Exactly(ids) => ids.contains(oid),
            Self::AllBut { gone, .. } => !gone.contains(oid),
        }
    }

    pub(crate) fn count(&self) -> i64 {
        let length = |ids: &IdSet| i64::try_from(ids.len()).unwrap_or(i64::MAX);
        match self {
            Self::Exactly(ids) => length(ids),
            Self::AllBut { total, gone } => total - length(gone),
        }
    }
}

/// Reads matches chunk by chunk.
pub(crate) struct Matcher<'a> {
    plan: &'a Plan,
    /// The positive clause with the fewest objects; without one the counter drives.
    driver: Option<usize>,
    steps: VecDeque<Step>,
    blocks: i64,
}

/// Matches by namespace, in page order; namespaces without any are left out.
pub(crate) type Chunk = Vec<(i64, Matches)>;

impl<'a> Matcher<'a> {
    /// Begins at the namespace of a place, if there is one; rows before the place are for the caller to drop.
    pub(crate) async fn new(
        reading: &mut Reading<'_>,
        plan: &'a Plan,
        from: Option<i64>,
    ) -> Result<Self, StoreError> {
        let after = from.map(|nsid| (nsid.saturating_sub(1), ""));
        let steps = steps(&plan.segments, after);
        Ok(Self {
            plan,
            driver: driver(reading, &plan.has).await?,
            // A place before the namespace of interest leaves nothing of the namespace before it.
            steps: steps
                .into_iter()
                .filter(|step| !matches!(step, Step::Rest { .. }))
                .collect(),
            blocks: FIRST_BLOCKS,
        })
    }

    /// The next chunk; `None` at the end. A chunk may be empty.
    pub(crate) async fn next(
        &mut self,
        reading: &mut Reading<'_>,
    ) -> Result<Option<Chunk>, StoreError> {
        let Some(step) = self.steps.pop_front() else {
            return Ok(None);
        };
        let chunk = match self.driver {
            Some(driver) => {
                let found = self.driven(reading, step, driver).await?;
                self.narrow(reading, found, driver).await?
            }
            None => {
                let totals = self.counted(reading, step).await?;
                self.exclude(reading, totals).await?
            }
        };
        Ok(Some(chunk))
    }

    /// The ids of the driving clause in the next namespaces.
    async fn driven(
        &mut self,
        reading: &mut Reading<'_>,
        step: Step,
        driver: usize,
    ) -> Result<BTreeMap<i64, IdSet>, StoreError> {
        let terms = &self.plan.has[driver].terms;
        let range = match step {
            Step::Range(range) => range,
            Step::Ids(ids) | Step::Group(ids) => {
                let part = self.split_ids(ids, MAX_LIST);
                return reading.id_sets(terms, &part).await;
            }
            Step::Rest { .. } => return Ok(BTreeMap::new()),
        };
        let statement = post::from(terms, reading.resource, &range, self.blocks);
        let mut blocks = rows(reading.connection, statement, post::decode).await?;
        let full = i64::try_from(blocks.len()).unwrap_or(i64::MAX) >= self.blocks;
        self.blocks = MOST_BLOCKS.min(self.blocks * 2);
        if let (true, Some(&(last, _))) = (full, blocks.last()) {
            blocks.retain(|&(nsid, _)| nsid != last);
            if blocks.is_empty() {
                // One namespace has more blocks than a chunk: read it whole.
                self.steps.push_front(Step::Range(last + 1..range.end));
                return reading.id_sets(terms, &[last]).await;
            }
            self.steps.push_front(Step::Range(last..range.end));
        }
        id_sets(blocks)
    }

    /// Keeps the ids that all other clauses admit.
    async fn narrow(
        &self,
        reading: &mut Reading<'_>,
        mut found: BTreeMap<i64, IdSet>,
        driver: usize,
    ) -> Result<Chunk, StoreError> {
        let others = self
            .plan
            .has
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != driver);
        for (_, clause) in others {
            let other = reading.id_sets(&clause.terms, &nsids(&found)).await?;
            found = combine(found, |nsid, ids| {
                other
                    .get(&nsid)
                    .map_or_else(IdSet::new, |other| ids.intersection(other))
            });
        }
        for clause in &self.plan.has_not {
            let other = reading.id_sets(&clause.terms, &nsids(&found)).await?;
            found = combine(found, |nsid, ids| {
                other
                    .get(&nsid)
                    .map_or_else(|| ids.clone(), |other| ids.difference(other))
            });
        }
        Ok(found
            .into_iter()
            .map(|(nsid, ids)| (nsid, Matches::Exactly(ids)))
            .collect())
    }

    /// The next namespaces that have objects at all, and how many.
    async fn counted(
        &mut self,
        reading: &mut Reading<'_>,
        step: Step,
    ) -> Result<Vec<(i64, i64)>, StoreError> {
        match step {
            Step::Range(range) => {
                let statement = select::counts_from(reading.resource, &range, NAMESPACES);
                let counts = reading.pairs(statement).await?;
                if let (true, Some(&(last, _))) = (counts.len() as i64 == NAMESPACES, counts.last())
                {
                    self.steps.push_front(Step::Range(last + 1..range.end));
                }
                Ok(counts)
            }
            Step::Ids(ids) | Step::Group(ids) => {
                let part = self.split_ids(ids, NAMESPACES as usize);
                reading.counts(&part).await
            }
            Step::Rest { .. } => Ok(Vec::new()),
        }
    }

    /// Takes the excluded ids away. A namespace in which a clause excludes everything is not read any further.
    async fn exclude(
        &self,
        reading: &mut Reading<'_>,
        totals: Vec<(i64, i64)>,
    ) -> Result<Chunk, StoreError> {
        let mut left: BTreeMap<i64, i64> = totals.into_iter().collect();
        let mut touched: BTreeMap<i64, IdSet> = BTreeMap::new();
        for clause in &self.plan.has_not {
            let sums = reading
                .sums(&clause.terms, &Vec::from_iter(left.keys().copied()))
                .await?;
            left.retain(|nsid, total| sums.get(nsid).is_none_or(|sum| sum < total));
            touched.extend(sums.into_keys().map(|nsid| (nsid, IdSet::new())));
        }
        touched.retain(|nsid, _| left.contains_key(nsid));
        for clause in &self.plan.has_not {
            let gone = reading.id_sets(&clause.terms, &nsids(&touched)).await?;
            for (nsid, gone) in gone {
                let all = touched.entry(nsid).or_default();
                *all = all.union(&gone);
            }
        }
        let matches = left.into_iter().map(|(nsid, total)| {
            let gone = touched.remove(&nsid).unwrap_or_default();
            (nsid, Matches::AllBut { total, gone })
        });
        Ok(matches.filter(|(_, matches)| matches.count() > 0).collect())
    }

    /// Takes some ids and leaves the others for the next chunk.
    fn split_ids(&mut self, mut ids: Vec<i64>, count: usize) -> Vec<i64> {
        let rest = ids.split_off(count.min(ids.len()));
        if !rest.is_empty() {
            self.steps.push_front(Step::Ids(rest));
        }
        ids
    }
}

/// The positive clause with the fewest objects.
async fn driver(
    reading: &mut Reading<'_>,
    clauses: &[Clause],
) -> Result<Option<usize>, StoreError> {
    if clauses.len() < 2 {
        return Ok(clauses.first().map(|_| 0));
    }
    let mut sizes = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let statement = post::estimate(&clause.terms, reading.resource, ESTIMATE_BLOCKS);
        sizes.push(
            row(reading.connection, statement, |row| row.int(0))
                .await?
                .unwrap_or(0),
        );
    }
    Ok((0..sizes.len()).min_by_key(|&index| sizes[index]))
}

fn nsids(found: &BTreeMap<i64, IdSet>) -> Vec<i64> {
    found.keys().copied().collect()
}

fn combine(
    found: BTreeMap<i64, IdSet>,
    with: impl Fn(i64, &IdSet) -> IdSet,
) -> BTreeMap<i64, IdSet> {
    let combined = found
        .into_iter()
        .map(|(nsid, ids)| (nsid, with(nsid, &ids)));
    combined.filter(|(_, ids)| !ids.is_empty()).collect()
}

/// The ids of each namespace; blocks of several terms are united.
fn id_sets(blocks: Vec<(i64, Block)>) -> Result<BTreeMap<i64, IdSet>, StoreError> {
    let mut ids: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (nsid, block) in blocks {
        let decoded = block.decode().map_err(|err| damaged(&err))?;
        ids.entry(nsid)
            .or_default()
            .extend_from_slice(decoded.as_slice());
    }
    Ok(ids
        .into_iter()
        .map(|(nsid, ids)| (nsid, ids.into_iter().collect()))
        .collect())
}

impl Reading<'_> {
    /// The objects of some namespaces that have any of the terms.
    async fn id_sets(
        &mut self,
        terms: &[i64],
        nsids: &[i64],
    ) -> Result<BTreeMap<i64, IdSet>, StoreError> {
        let mut all = BTreeMap::new();
        for part in nsids.chunks(MAX_LIST) {
            let statement = post::within(terms, self.resource, part);
            let blocks = rows(self.connection, statement, post::decode).await?;
            all.extend(id_sets(blocks)?);
        }
        Ok(all)
    }

    /// How many objects of each namespace have any of the terms; without those that have none.
    async fn sums(
        &mut self,
        terms: &[i64],
        nsids: &[i64],
    ) -> Result<HashMap<i64, i64>, StoreError> {
        let mut all = HashMap::new();
        for part in nsids.chunks(MAX_LIST) {
            all.extend(self.pairs(post::sums(terms, self.resource, part)).await?);
        }
        Ok(all)
    }
}
