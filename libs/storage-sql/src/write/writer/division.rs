//! A group that cannot be done in one transaction is done in parts. One that is too much is halved, and so is one that is refused, until those are found that it is refused
//! for: one order that is refused spoils no other, and costs some transactions for each time that the group can be halved, not one for each order. Where the database
//! is away nobody is tried any more, nor where it refuses whatever it is asked.

use std::collections::BTreeSet;
use std::ops::Range;

use armadex_storage::StoreError;

use super::Writer;
use crate::backend::error::{is_too_much, told};
use crate::write::work::{Done, Work};

/// So many that are refused by the database in the same words, and others besides, say that it refuses all: each costs a transaction and a line in the log. A part of
/// no more than these is not halved any more.
pub(super) const ALIKE: usize = 4;

/// What came of an order.
type Outcome = Result<Done, StoreError>;

/// A group while it is done.
struct Division<'a> {
    work: &'a [Work],
    outcomes: Vec<Option<Outcome>>,
    /// What is still to be done, the first of it last.
    left: Vec<Range<usize>>,
    /// What all others of the group would meet as well.
    trouble: Option<StoreError>,
    /// Whether it was looked at whether all are refused.
    has_sampled: bool,
}

impl Writer {
    /// All of it in one transaction if that may be.
    pub(super) async fn results(&mut self, work: &[Work]) -> Vec<Outcome> {
        let mut division = Division::of(work);
        while let Some(part) = division.left.pop() {
            self.do_part(&mut division, part).await;
            if division.is_time_to_sample() {
                self.sample(&mut division).await;
            }
        }
        division.finish()
    }

    async fn do_part(&mut self, division: &mut Division<'_>, part: Range<usize>) {
        let work = &division.work[part.clone()];
        match self.attempt(work, &mut division.trouble).await {
            Ok(done) => division.is_done(part, done),
            Err(err) if part.len() == 1 => division.outcomes[part.start] = Some(Err(err)),
            Err(err) if is_too_much(&err) => division.halve(part),
            Err(err) if self.is_over || err.is_transient() => division.is_refused(part, &err),
            Err(_) if part.len() > ALIKE => division.halve(part),
            Err(_) => division.divide(part),
        }
    }

    /// Tries some beside those at the front, which were refused in the same words: if these are as well, nobody else is tried.
    async fn sample(&mut self, division: &mut Division<'_>) {
        division.has_sampled = true;
        let samples = samples(division.work);
        let (front, witnesses) = samples.split_at(ALIKE);
        if witnesses.is_empty() || division.refuses_alike(front).is_none() {
            return;
        }
        for &index in witnesses {
            division.take_out(index);
            self.do_part(division, index..index + 1).await;
        }
        if let Some(refused) = division.refuses_alike(&samples) {
            for part in std::mem::take(&mut division.left) {
                division.is_refused(part, &refused);
            }
        }
    }
}

impl<'a> Division<'a> {
    fn of(work: &'a [Work]) -> Self {
        let mut outcomes = Vec::new();
        outcomes.resize_with(work.len(), || None);
        let whole = 0..work.len();
        Self {
            work,
            outcomes,
            left: vec![whole],
            trouble: None,
            has_sampled: false,
        }
    }

    fn is_done(&mut self, part: Range<usize>, done: Vec<Done>) {
        for (outcome, done) in self.outcomes[part].iter_mut().zip(done) {
            *outcome = Some(done.told());
        }
    }

    fn is_refused(&mut self, part: Range<usize>, err: &StoreError) {
        for outcome in &mut self.outcomes[part] {
            *outcome = Some(Err(told(err)));
        }
    }

    fn halve(&mut self, part: Range<usize>) {
        let middle = part.start + part.len() / 2;
        self.left.extend([middle..part.end, part.start..middle]);
    }

    /// Each by itself.
    fn divide(&mut self, part: Range<usize>) {
        let alone = part.rev().map(|index| index..index + 1);
        self.left.extend(alone);
    }

    /// What is done by itself is in no part any more.
    fn take_out(&mut self, index: usize) {
        let without = |part: Range<usize>| match part.contains(&index) {
            true => [index + 1..part.end, part.start..index],
            false => [part, 0..0],
        };
        let parts = std::mem::take(&mut self.left).into_iter();
        let parts = parts.flat_map(without).filter(|part| !part.is_empty());
        self.left = parts.collect();
    }

    /// Once those at the front have been tried, and some are left.
    fn is_time_to_sample(&self) -> bool {
        let front = self.outcomes.get(..ALIKE);
        let is_tried = front.is_some_and(|front| front.iter().all(Option::is_some));
        is_tried && !self.has_sampled && !self.left.is_empty()
    }

    /// How all of these were refused, if they are enough to say so of others.
    fn refuses_alike(&self, tried: &[usize]) -> Option<StoreError> {
        let outcomes = tried.iter().map(|index| self.outcomes[*index].as_ref());
        fails_alike(&outcomes.collect::<Option<Vec<_>>>()?)
    }

    fn finish(self) -> Vec<Outcome> {
        let outcomes = self.outcomes.into_iter();
        outcomes
            .map(|outcome| outcome.expect("each is in a part, or was sampled"))
            .collect()
    }
}

/// Which are to say whether all are refused: those at the front, and as witnesses, for those may be of one cluster whose rows are damaged, one of another cluster, and
/// one as late as may be. A witness is the first of its cluster, or of its name, of those behind the front: what is asked of one is done in its order.
pub(super) fn samples(work: &[Work]) -> Vec<usize> {
    let front = work.len().min(ALIKE);
    let (tried, others) = work.split_at(front);
    let (mut clusters, mut names) = (BTreeSet::new(), BTreeSet::new());
    // Which cluster a name is of is not known here.
    let mut is_first = |one: &Work| match (one.cluster(), one.name()) {
        (Some(cluster), _) => clusters.insert(cluster) && names.is_empty(),
        (None, Some(name)) => names.insert(name.clone()) && clusters.is_empty(),
        (None, None) => false,
    };
    let others = others.iter().enumerate();
    let first = Vec::from_iter(others.filter(|(_, one)| is_first(one)));
    let of = |one: &Work| (one.cluster(), one.name().cloned());
    let known = Vec::from_iter(tried.iter().map(of));
    let other = first.iter().find(|(_, one)| !known.contains(&of(one)));
    let witnesses = other.into_iter().chain(first.last());
    let witnesses = witnesses.map(|(index, _)| front + index);
    let mut samples: Vec<usize> = (0..front).chain(witnesses).collect();
    samples.dedup();
    samples
}

/// How all of these were refused, if they are enough to say so of others.
pub(super) fn fails_alike(outcomes: &[&Outcome]) -> Option<StoreError> {
    let refused = outcomes.iter().map(|outcome| match outcome {
        Err(err @ (StoreError::Broken { .. } | StoreError::Denied { .. })) => Some(err),
        _ => None,
    });
    let refused = refused.collect::<Option<Vec<_>>>()?;
    let words: Vec<String> = refused.iter().map(ToString::to_string).collect();
    let are_alike = words.len() >= ALIKE && words.windows(2).all(|pair| pair[0] == pair[1]);
    are_alike.then(|| told(refused[0]))
}
