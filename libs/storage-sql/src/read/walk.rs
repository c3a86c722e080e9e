//! Walking a type in page order: place by place, small ones together, large ones along their index.

use std::collections::VecDeque;
use std::sync::Arc;

use armadex_model::query::END;
use armadex_storage::StoreError;

use super::collect::Collector;
use super::fetch::{self, Only};
use super::matches::{Matches, hits, matches};
use super::place::{Place, Row};
use super::places::{From, Places};
use super::plan::{Plan, TypePlan};
use super::reading::Reading;

/// A walk in progress.
pub(crate) struct Walk<'a> {
    plan: &'a Plan,
    planned: &'a TypePlan,
    only: Only<'a>,
    /// The clause with the fewest objects.
    first: usize,
    places: Places<'a>,
    /// How many places to find at a time: few at first, for one may fill the page.
    portion: usize,
    /// Places that were found and not yet looked at.
    waiting: VecDeque<Arc<Place>>,
    /// Where the walk began: rows up to there are not its own.
    from: Option<From>,
    /// Everything up to here was looked at.
    reached: Option<From>,
}

/// Rows that are fetched for nothing rather than by a statement of their own.
const FEW: usize = 64;

/// Places that a walk finds first.
const FIRST_PLACES: usize = 8;

/// How a walk stands after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    More,
    Done,
}

impl<'a> Walk<'a> {
    pub(crate) async fn begin(
        reading: &mut Reading<'_>,
        plan: &'a Plan,
        planned: &'a TypePlan,
        (only, backwards): (Only<'a>, bool),
        from: Option<From>,
    ) -> Result<Self, StoreError> {
        let (first, hits) = hits(reading, plan, planned.id).await?;
        let places = match hits {
            Some(hits) => Places::of_hits(planned, backwards, from.as_ref(), &hits),
            None => Places::all(planned, backwards, from.as_ref()),
        };
        Ok(Self {
            plan,
            planned,
            only,
            first,
            places,
            portion: FIRST_PLACES,
            waiting: VecDeque::new(),
            reached: from.clone(),
            from,
        })
    }

    /// Everything up to here was looked at.
    pub(crate) fn reached(self) -> Option<From> {
        self.reached
    }

    /// Looks at some more places, and hands their rows on until the collector is full or the page has cost enough.
    pub(crate) async fn step(
        &mut self,
        reading: &mut Reading<'_>,
        collector: &mut Collector,
    ) -> Result<Step, StoreError> {
        let most = reading.tuning.places.max(1);
        if self.waiting.is_empty() {
            let wanted = collector.missing().min(self.portion).clamp(1, most);
            self.portion = self.portion.saturating_mul(4);
            let Some(found) = self.places.next(reading, wanted).await? else {
                return Ok(Step::Done);
            };
            self.waiting.extend(found);
        }
        let here: Vec<Arc<Place>> = self.waiting.iter().take(most).cloned().collect();
        if here.is_empty() {
            self.settle(true);
            return Ok(Step::More);
        }
        let resource = self.planned.id;
        let found = matches(reading, self.plan, resource, self.first, &here).await?;
        let mut matched: VecDeque<(Arc<Place>, Matches)> = here.into_iter().zip(found).collect();
        self.waiting.drain(..matched.len());
        // One unit of work is always done, whatever finding it has cost: every page gets further.
        let mut idle = true;
        let mut whole = true;
        while collector.missing() > 0 && (idle || !reading.is_spent()) {
            self.skip(&mut matched, collector);
            let Some(first) = matched.front() else {
                break;
            };
            if self.is_large(reading, first, collector.missing()) {
                if let Some(first) = matched.pop_front() {
                    whole = self.along(reading, first, collector).await?;
                }
            } else {
                self.together(reading, &mut matched, collector).await?;
            }
            idle = false;
        }
        self.settle(whole && matched.is_empty());
        Ok(Step::More)
    }

    /// Notes that clusters in which nothing was found are behind, too.
    fn settle(&mut self, all_looked_at: bool) {
        if all_looked_at
            && self.waiting.is_empty()
            && let Some(next) = self.places.next_from()
        {
            self.reached = Some(next);
        }
    }

    /// Skips whole places, as long as it is known how many rows that is.
    fn skip(&mut self, matched: &mut VecDeque<(Arc<Place>, Matches)>, collector: &mut Collector) {
        if !matches!(self.only, Only::Named(armadex_model::NameFilter::Any)) {
            return;
        }
        while let Some((place, matches)) = matched.front() {
            let count = matches
                .count(place)
                .and_then(|count| u64::try_from(count).ok());
            let Some(count) = count.filter(|&count| count <= collector.skip()) else {
                return;
            };
            if count > 0 && self.after(place).is_some() {
                return;
            }
            collector.skipped(count);
            self.reach(place, END);
            matched.pop_front();
        }
    }

    /// The name in a place after which the walk begins.
    fn after(&self, place: &Place) -> Option<&str> {
        let from = self.from.as_ref()?;
        let here = from.cluster == place.cluster.as_str() && from.namespace == *place.namespace;
        here.then_some(from.name.as_str())
    }

    fn reach(&mut self, place: &Place, name: &str) {
        self.reached = Some(From {
            cluster: place.cluster.as_str().to_owned(),
            namespace: place.namespace.to_string(),
            name: name.to_owned(),
        });
    }

    /// Whether a place is walked along its index: it has more objects than are fetched to be sorted, or the walk begins in its middle. Where
    /// every object matches, the index gives just as many as are wanted, so that pays early.
    fn is_large(
        &self,
        reading: &Reading<'_>,
        (place, matches): &(Arc<Place>, Matches),
        missing: usize,
    ) -> bool {
        let objects = self.only.most(place, matches);
        let plain = *matches == Matches::All
            && matches!(self.only, Only::Named(armadex_model::NameFilter::Any));
        let walkable = matches!(self.only, Only::Named(names) if !matches!(names, armadex_model::NameFilter::In(_)));
        walkable
            && (objects > reading.tuning.rows
                || plain && objects > missing.saturating_mul(2).saturating_add(FEW)
                || plain && self.after(place).is_some_and(|name| !name.is_empty()))
    }

    /// Walks one place along its index; whether to its end.
    async fn along(
        &mut self,
        reading: &mut Reading<'_>,
        (place, matches): (Arc<Place>, Matches),
        collector: &mut Collector,
    ) -> Result<bool, StoreError> {
        let mut after = self.after(&place).unwrap_or_default().to_owned();
        let plain = matches == Matches::All;
        let mut idle = true;
        while collector.missing() > 0 && (idle || !reading.is_spent()) {
            idle = false;
            let most = reading.tuning.rows.max(1);
            let limit = match plain {
                true => collector.missing().min(most),
                false => most.div_ceil(2),
            };
            let here = (&place, &matches);
            let (rows, last) =
                fetch::part(reading, self.plan, self.planned.id, here, &after, limit).await?;
            collector.extend(rows);
            let Some(last) = last else {
                self.reach(&place, END);
                return Ok(true);
            };
            self.reach(&place, &last);
            after = last;
        }
        Ok(false)
    }

    /// Fetches the next small places together.
    async fn together(
        &mut self,
        reading: &mut Reading<'_>,
        matched: &mut VecDeque<(Arc<Place>, Matches)>,
        collector: &mut Collector,
    ) -> Result<(), StoreError> {
        let missing = collector.missing();
        let mut few: Vec<(Arc<Place>, Matches)> = Vec::new();
        let mut objects = 0_usize;
        while let Some(next) = matched.front() {
            let more = self.only.most(&next.0, &next.1);
            let full = objects >= missing
                || objects.saturating_add(more) > reading.tuning.rows
                || self.is_large(reading, next, missing.saturating_sub(objects));
            if full && !few.is_empty() {
                break;
            }
            objects = objects.saturating_add(more);
            few.extend(matched.pop_front());
        }
        let rows = fetch::whole(reading, self.plan, self.planned.id, self.only, &few).await?;
        let rows = rows.into_iter().filter(|row| self.is_later(row));
        let rows: Vec<Row> = rows.collect();
        collector.extend(rows);
        if let Some((last, _)) = few.last() {
            self.reach(last, END);
        }
        Ok(())
    }

    fn is_later(&self, row: &Row) -> bool {
        self.after(&row.place)
            .is_none_or(|after| row.object.name.as_str() > after)
    }
}
