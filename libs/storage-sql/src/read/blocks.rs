//! Rows by posting blocks, in page order.

use std::collections::{HashMap, VecDeque};

use armadex_storage::StoreError;

use super::Reading;
use super::matches::{Chunk, Matcher, Matches};
use super::walk::Walk;
use crate::backend::rows;
use crate::read::plan::{Plan, Segment};
use crate::sql::select::{self, Candidate};
use crate::sql::statement::MAX_LIST;

/// A namespace with more hits is walked along its index and tested: fetching them all to sort them would cost more.
const MOST_HITS: usize = 2000;
/// Rows of such a walk that are read at a time.
const WALKED: usize = 1000;

/// A walk over matching rows.
pub(crate) struct BlockWalk<'a> {
    plan: &'a Plan,
    matcher: Matcher<'a>,
    after: Option<(i64, String)>,
    /// Namespaces whose matches are known and not yet read.
    waiting: VecDeque<(i64, Matches)>,
    /// Namespaces being walked, and what to keep of each.
    walking: Option<(Walk, HashMap<i64, Matches>)>,
}

impl<'a> BlockWalk<'a> {
    pub(crate) async fn new(
        reading: &mut Reading<'_>,
        plan: &'a Plan,
        after: Option<(i64, &str)>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            plan,
            matcher: Matcher::new(reading, plan, after.map(|(nsid, _)| nsid)).await?,
            after: after.map(|(nsid, name)| (nsid, name.to_owned())),
            waiting: VecDeque::new(),
            walking: None,
        })
    }

    /// The next rows, about `wanted` of them; `None` at the end. There may be none although more follow.
    pub(crate) async fn next(
        &mut self,
        reading: &mut Reading<'_>,
        wanted: usize,
    ) -> Result<Option<Vec<Candidate>>, StoreError> {
        if let Some((walk, matches)) = &mut self.walking {
            let found = walk.next(reading, WALKED).await?;
            if !found.is_empty() {
                let kept =
                    |row: &Candidate| matches.get(&row.nsid).is_some_and(|m| m.admits(row.oid));
                return Ok(Some(found.into_iter().filter(kept).collect()));
            }
            self.walking = None;
        }
        if self.waiting.is_empty() {
            let Some(chunk): Option<Chunk> = self.matcher.next(reading).await? else {
                return Ok(None);
            };
            self.waiting.extend(chunk);
        }
        let few = self.take_few(wanted);
        if few.is_empty() {
            self.begin_walk();
            return Ok(Some(Vec::new()));
        }
        self.fetch(reading, &few).await.map(Some)
    }

    /// The ids of the next small namespaces, together about as many as are wanted.
    fn take_few(&mut self, wanted: usize) -> Vec<i64> {
        let mut few = Vec::new();
        while let Some((_, Matches::Exactly(ids))) = self.waiting.front() {
            if ids.len() > MOST_HITS || few.len() >= wanted {
                break;
            }
            few.extend_from_slice(ids.as_slice());
            self.waiting.pop_front();
        }
        few
    }

    /// Turns to the next namespace, which is large, or to the next ones that are known by what they are without.
    fn begin_walk(&mut self) {
        let Some(first) = self.waiting.pop_front() else {
            return;
        };
        let mut nsids = vec![first.0];
        let mut matches = HashMap::from([first]);
        while let Some((nsid, Matches::AllBut { .. })) = self.waiting.front() {
            nsids.push(*nsid);
            matches.extend(self.waiting.pop_front());
        }
        let place = self
            .after
            .as_ref()
            .map(|(nsid, name)| (*nsid, name.as_str()));
        let walk = Walk::new(&[Segment::Ids(nsids)], &self.plan.names, place);
        self.walking = Some((walk, matches));
    }

    /// Rows by id, in page order.
    async fn fetch(
        &self,
        reading: &mut Reading<'_>,
        oids: &[i64],
    ) -> Result<Vec<Candidate>, StoreError> {
        let mut found = Vec::with_capacity(oids.len());
        for part in oids.chunks(MAX_LIST) {
            found.extend(rows(reading.connection, select::by_id(part), select::decode).await?);
        }
        found.retain(|row| self.admits(row));
        found.sort_by(|a, b| (a.nsid, &a.name).cmp(&(b.nsid, &b.name)));
        Ok(found)
    }

    fn admits(&self, row: &Candidate) -> bool {
        let later = self
            .after
            .as_ref()
            .is_none_or(|(nsid, name)| (row.nsid, &row.name) > (*nsid, name));
        later && self.plan.names.admits(&row.name)
    }
}
