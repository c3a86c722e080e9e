//! Walking the page order: along (type, namespace id, name), segment by segment.

use std::collections::VecDeque;
use std::ops::Range;

use armadex_model::NameFilter;
use armadex_storage::StoreError;

use super::Reading;
use crate::backend::rows;
use crate::read::plan::Segment;
use crate::sql::select::{self, Candidate};

/// Namespaces that are small enough are read together, this many at most.
const GROUP_NAMESPACES: usize = 16;
/// Together they have at most this many objects, because the database sorts a group before it gives the first row.
const GROUP_OBJECTS: i64 = 1000;

/// A piece of the walk that one statement reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// What follows a name in a namespace.
    Rest {
        nsid: i64,
        after: String,
    },
    Range(Range<i64>),
    /// Ids of which some may have no objects.
    Ids(Vec<i64>),
    /// Few enough to be read together.
    Group(Vec<i64>),
}

/// A walk in progress.
#[derive(Debug)]
pub(crate) struct Walk {
    steps: VecDeque<Step>,
    names: NameFilter,
}

impl Walk {
    /// A walk over the segments, right after a place if there is one.
    pub(crate) fn new(
        segments: &[Segment],
        names: &NameFilter,
        after: Option<(i64, &str)>,
    ) -> Self {
        Self {
            steps: steps(segments, after).into(),
            names: names.clone(),
        }
    }

    /// The next rows, at most `limit`; none when the walk is over.
    pub(crate) async fn next(
        &mut self,
        reading: &mut Reading<'_>,
        limit: usize,
    ) -> Result<Vec<Candidate>, StoreError> {
        while let Some(step) = self.steps.pop_front() {
            if let Step::Ids(ids) = step {
                let counts = reading.counts(&ids).await?;
                groups(&counts)
                    .into_iter()
                    .rev()
                    .for_each(|group| self.steps.push_front(group));
                continue;
            }
            let found = self.read(reading, &step, limit).await?;
            if let (true, Some(last)) = (found.len() == limit, found.last()) {
                let left = after_step(step, last.nsid, &last.name);
                left.into_iter()
                    .rev()
                    .for_each(|step| self.steps.push_front(step));
            }
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    async fn read(
        &self,
        reading: &mut Reading<'_>,
        step: &Step,
        limit: usize,
    ) -> Result<Vec<Candidate>, StoreError> {
        let (dialect, resource, names) = (reading.dialect, reading.resource, &self.names);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let statement = match step {
            Step::Rest { nsid, after } => {
                select::rest(dialect, resource, (*nsid, after), names, limit)
            }
            Step::Range(range) => select::range(dialect, resource, range, names, limit),
            Step::Ids(ids) | Step::Group(ids) => {
                select::group(dialect, resource, ids, names, limit)
            }
        };
        rows(reading.connection, statement, select::decode).await
    }
}

/// What is left of the segments after a place.
pub(crate) fn steps(segments: &[Segment], after: Option<(i64, &str)>) -> Vec<Step> {
    let all = segments.iter().map(|segment| match segment {
        Segment::Range(range) => Step::Range(range.clone()),
        Segment::Ids(ids) => Step::Ids(ids.clone()),
    });
    match after {
        None => all.collect(),
        Some((nsid, name)) => all.flat_map(|step| after_step(step, nsid, name)).collect(),
    }
}

/// What is left of a step after a place.
fn after_step(step: Step, nsid: i64, name: &str) -> Vec<Step> {
    let rest = |present: bool| {
        present.then(|| Step::Rest {
            nsid,
            after: name.to_owned(),
        })
    };
    match step {
        Step::Rest { nsid: own, .. } => rest(own == nsid).into_iter().collect(),
        Step::Range(range) => {
            let left = range.start.max(nsid.saturating_add(1))..range.end;
            let tail = (!left.is_empty()).then_some(Step::Range(left));
            rest(range.contains(&nsid))
                .into_iter()
                .chain(tail)
                .collect()
        }
        Step::Ids(ids) => {
            let left = after_ids(&ids, nsid);
            let tail = (!left.is_empty()).then_some(Step::Ids(left));
            rest(ids.contains(&nsid)).into_iter().chain(tail).collect()
        }
        Step::Group(ids) => {
            let left = after_ids(&ids, nsid);
            let tail = (!left.is_empty()).then_some(Step::Group(left));
            rest(ids.contains(&nsid)).into_iter().chain(tail).collect()
        }
    }
}

fn after_ids(ids: &[i64], nsid: i64) -> Vec<i64> {
    ids.iter().copied().filter(|&id| id > nsid).collect()
}

/// Puts small namespaces together; a large one is a group of its own, so that it is read along the index.
fn groups(counts: &[(i64, i64)]) -> Vec<Step> {
    let mut groups: Vec<(Vec<i64>, i64)> = Vec::new();
    for &(nsid, count) in counts {
        match groups.last_mut() {
            Some((ids, sum)) if ids.len() < GROUP_NAMESPACES && *sum + count <= GROUP_OBJECTS => {
                ids.push(nsid);
                *sum += count;
            }
            _ => groups.push((vec![nsid], count)),
        }
    }
    groups
        .into_iter()
        .map(|(ids, _)| Step::Group(ids))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(nsid: i64) -> Step {
        Step::Rest {
            nsid,
            after: "m".into(),
        }
    }

    #[test]
    fn a_walk_resumes_within_and_between_segments() {
        let segments = [
            Segment::Range(0..10),
            Segment::Ids(vec![20, 25, 30]),
            Segment::Range(40..50),
        ];
        let after = |nsid| steps(&segments, Some((nsid, "m")));
        assert_eq!(
            after(5),
            [
                rest(5),
                Step::Range(6..10),
                Step::Ids(vec![20, 25, 30]),
                Step::Range(40..50)
            ]
        );
        assert_eq!(
            after(9),
            [rest(9), Step::Ids(vec![20, 25, 30]), Step::Range(40..50)]
        );
        assert_eq!(
            after(25),
            [rest(25), Step::Ids(vec![30]), Step::Range(40..50)]
        );
        assert_eq!(after(33), [Step::Range(40..50)]);
        assert_eq!(after(60), []);
    }

    #[test]
    fn a_place_that_is_no_longer_shown_is_passed_over() {
        let segments = [Segment::Range(0..10), Segment::Range(20..30)];
        assert_eq!(steps(&segments, Some((15, "m"))), [Step::Range(20..30)]);
    }

    #[test]
    fn small_namespaces_are_read_together_and_large_ones_alone() {
        let counts = [(1, 10), (2, 20), (3, 5000), (4, 1)];
        assert_eq!(
            groups(&counts),
            [
                Step::Group(vec![1, 2]),
                Step::Group(vec![3]),
                Step::Group(vec![4])
            ]
        );
        let many: Vec<(i64, i64)> = (0..40).map(|nsid| (nsid, 1)).collect();
        assert_eq!(groups(&many).len(), 3);
    }
}
