//! Walking a type in page order: place by place, small ones together, large ones along their index.

use std::collections::VecDeque;
use std::sync::Arc;

use armadex_model::query::END;
use armadex_storage::StoreError;

use super::collect::Collector;
use super::fetch::{self, Only};
use super::matches::{Matches, hits, matches};
use super::place::{Located, Place};
use super::places::{Places, Point};
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
    /// Those of them whose matches are known.
    matched: VecDeque<(Arc<Place>, Matches)>,
    /// Rows up to here come no more: where the walk began, or what it has handed on of a large place.
    from: Option<Point>,
    /// Everything up to here was looked at.
    reached: Option<Point>,
}

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
        from: Option<Point>,
    ) -> Result<Self, StoreError> {
        let (first, hits) = hits(reading, plan, planned).await?;
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
            portion: reading.tuning.first_places,
            waiting: VecDeque::new(),
            matched: VecDeque::new(),
            reached: from.clone(),
            from,
        })
    }

    /// Everything up to here was looked at.
    pub(crate) fn reached(self) -> Option<Point> {
        self.reached
    }

    /// Does one unit of work: finds some places, and fetches the objects of a few small ones or a part of a large one. Each unit gets the
    /// walk further, whatever finding it has cost; the rows of the last one come with [`Step::Done`].
    pub(crate) async fn step(
        &mut self,
        reading: &mut Reading<'_>,
        collector: &mut Collector,
    ) -> Result<Step, StoreError> {
        if self.matched.is_empty() {
            self.find(reading, collector.missing()).await?;
        }
        self.skip(collector);
        let missing = collector.missing();
        let first = self.matched.front();
        match first.map(|first| self.is_large(reading, first, missing)) {
            Some(true) => self.along(reading, collector).await?,
            Some(false) => self.together(reading, collector).await?,
            None => {}
        }
        Ok(self.settle())
    }

    /// Finds the next places and what matches in the first of them.
    async fn find(&mut self, reading: &mut Reading<'_>, missing: usize) -> Result<(), StoreError> {
        let most = reading.tuning.places.max(1);
        if self.waiting.is_empty() {
            let wanted = missing.min(self.portion).clamp(1, most);
            self.portion = self.portion.saturating_mul(4);
            let found = self.places.next(reading, wanted).await?;
            self.waiting.extend(found.unwrap_or_default());
        }
        let here: Vec<Arc<Place>> = self.waiting.iter().take(most).cloned().collect();
        if here.is_empty() {
            return Ok(());
        }
        let is_begun = self.after(&here[0]).is_some_and(|name| !name.is_empty());
        let some = (&*here, is_begun);
        let found = matches(reading, self.plan, self.planned, self.first, some).await?;
        self.matched = here.into_iter().zip(found).collect();
        self.waiting.drain(..self.matched.len());
        Ok(())
    }

    /// Notes that clusters in which nothing was found are behind, too; whether anything is left.
    fn settle(&mut self) -> Step {
        if !self.matched.is_empty() || !self.waiting.is_empty() {
            return Step::More;
        }
        let Some(next) = self.places.next_from() else {
            return Step::Done;
        };
        self.reached = Some(next);
        Step::More
    }

    /// Skips whole places, as long as it is known how many rows that is.
    fn skip(&mut self, collector: &mut Collector) {
        if !matches!(self.only, Only::Named(armadex_model::NameFilter::Any)) {
            return;
        }
        while let Some((place, matches)) = self.matched.front() {
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
            let place = Arc::clone(place);
            self.reach(&place, END);
            self.matched.pop_front();
        }
    }

    /// The name in a place after which the walk begins.
    fn after(&self, place: &Place) -> Option<&str> {
        let from = self.from.as_ref()?;
        let here = from.cluster == place.cluster.as_str() && from.namespace == *place.namespace;
        here.then_some(from.name.as_str())
    }

    fn reach(&mut self, place: &Place, name: &str) {
        self.reached = Some(Point {
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
                // Where clauses led here the size is that of what they lead to.
                || *matches == Matches::Unknown && !self.plan.has.is_empty()
                || plain && objects > missing.saturating_mul(2).saturating_add(reading.tuning.few)
                || plain && self.after(place).is_some_and(|name| !name.is_empty()))
    }

    /// Looks at the next objects of the first place along its index.
    async fn along(
        &mut self,
        reading: &mut Reading<'_>,
        collector: &mut Collector,
    ) -> Result<(), StoreError> {
        let Some((place, matches)) = self.matched.pop_front() else {
            return Ok(());
        };
        let after = self.after(&place).unwrap_or_default();
        let most = reading.tuning.rows.max(1);
        let limit = match matches {
            Matches::All => collector.missing().clamp(1, most),
            _ => most.div_ceil(2),
        };
        let here = (&place, &matches);
        let (rows, last) =
            fetch::part(reading, self.plan, self.planned.id, here, after, limit).await?;
        collector.extend(rows);
        self.reach(&place, last.as_deref().unwrap_or(END));
        if last.is_some() {
            self.from.clone_from(&self.reached);
            self.matched.push_front((place, matches));
        }
        Ok(())
    }

    /// Fetches the next small places together.
    async fn together(
        &mut self,
        reading: &mut Reading<'_>,
        collector: &mut Collector,
    ) -> Result<(), StoreError> {
        let missing = collector.missing();
        let mut few: Vec<(Arc<Place>, Matches)> = Vec::new();
        let mut objects = 0_usize;
        while let Some(next) = self.matched.front() {
            let more = self.only.most(&next.0, &next.1);
            let full = objects >= missing
                || objects.saturating_add(more) > reading.tuning.rows
                || self.is_large(reading, next, missing.saturating_sub(objects));
            if (full || few.len() == self.only.places_at_once(reading.tuning)) && !few.is_empty() {
                break;
            }
            objects = objects.saturating_add(more);
            few.extend(self.matched.pop_front());
        }
        let rows = fetch::whole(reading, self.plan, self.planned.id, self.only, &few).await?;
        collector.extend(rows.into_iter().filter(|row| self.is_later(row)));
        if let Some((last, _)) = few.last() {
            self.reach(last, END);
        }
        Ok(())
    }

    fn is_later(&self, row: &Located) -> bool {
        self.after(&row.place)
            .is_none_or(|after| row.object.name.as_str() > after)
    }
}
