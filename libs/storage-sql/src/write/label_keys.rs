//! Which label keys are worth an index of their values.
//!
//! A label that tells each object from every other, such as the uid of its controller, costs a posting block of its own for each object and leads
//! to one. Where counting shows that a key is so, its values are not posted any more: the key is, and a search for a value tests the objects
//! that carry it. That is dear where it is wrong, so it takes many objects in several clusters that are there at the same time, among which
//! values hardly ever came back, in whichever group of these clusters; and no few clusters speak for many that were there before.
//! Which keys these are is part of the catalogue and never taken back, so a reader knows it before it can meet an object that is not
//! posted; rows that were posted before stay so until they change.

mod begun;
mod carriers;
mod sample;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use armadex_storage::StoreError;

use crate::backend::{Connection, rows};
use crate::form::term::Label;
use crate::sql::{stream, unposted};
use begun::Begun;
use carriers::{has_spoken, stored};
use sample::Sample;

/// A type and the term of a label key.
pub(crate) type TypeKey = (i32, i64);

/// The label keys of a type whose values are not posted, and the revision after which no object was posted under one.
pub(crate) type Unposted = BTreeMap<i64, i64>;

/// Whoever writes it into the catalogue knows which revision it is.
const NOT_YET: i64 = i64::MAX;

/// Samples that are kept at a time, 2.5 KiB each. Beyond that the half that met the fewest objects begins anew.
const MOST_SAMPLES: usize = 2048;
/// Keys of one type that may go unposted; a search without an index on them would be all that is left.
const MOST_UNPOSTED: usize = 64;

/// What the writer knows of label keys.
#[derive(Debug)]
pub(crate) struct LabelKeys {
    unposted: HashMap<i32, Unposted>,
    /// What the catalogue had at this count is known.
    as_of: i64,
    samples: HashMap<TypeKey, Sample>,
    begun: Begun,
    /// Learnt, but in no catalogue yet.
    due: BTreeSet<TypeKey>,
    /// Due again as soon as something is committed: before, deciding anew would be in vain.
    undone: BTreeSet<TypeKey>,
    /// Streams that the transaction that is under way opens once more: the type, the cluster, the epoch that it had before and the one that it has then.
    reopened: Vec<(i32, i64, i64, i64)>,
    /// Objects that have to be met.
    enough: u64,
}

impl LabelKeys {
    /// `enough` is how many objects with a key have to be met before anything is decided; 0 means that nothing ever is.
    pub(crate) fn new(enough: u32) -> Self {
        Self {
            unposted: HashMap::new(),
            as_of: 0,
            samples: HashMap::new(),
            begun: Begun::default(),
            due: BTreeSet::new(),
            undone: BTreeSet::new(),
            reopened: Vec::new(),
            enough: enough.into(),
        }
    }

    /// The keys of a type whose values are not posted.
    pub(crate) fn unposted(&self, resource: i32) -> &Unposted {
        static NONE: Unposted = Unposted::new();
        self.unposted.get(&resource).unwrap_or(&NONE)
    }

    /// One of what was learnt. It is due no more, whatever comes of it: what is not decided is asked again when as many objects more were met.
    pub(crate) fn take_due(&mut self) -> Option<TypeKey> {
        self.due.pop_first()
    }

    /// Decides for what was due, where nine of ten objects were met of those that are stored of the streams that were met from their first object on, for what comes and goes quickly
    /// says nothing of what stays; and where these are of enough clusters to speak for the others. From now on it is not posted, so it has to be in the catalogue with what is
    /// written next, or be taken back.
    pub(crate) async fn decide(
        &mut self,
        connection: &mut dyn Connection,
        due: TypeKey,
    ) -> Result<Option<TypeKey>, StoreError> {
        let (resource, _) = due;
        self.forget_others(connection, resource).await?;
        let carriers = match self.samples.get(&due) {
            Some(_) if !has_spoken(connection, due, &self.begun).await? => u64::MAX,
            Some(sample) => {
                let streams = self.begun.ranges(resource);
                let most = sample.objects() + sample.objects() / 9;
                stored(connection, due, &streams, most).await?
            }
            // Others were met more often since.
            None => u64::MAX,
        };
        Ok(self.take(due, carriers))
    }

    /// Forgets streams of a type that somebody else writes by now, or wrote meanwhile: what is stored of them is more than what was met. What was met of them stays met.
    async fn forget_others(
        &mut self,
        connection: &mut dyn Connection,
        resource: i32,
    ) -> Result<(), StoreError> {
        let keys = Vec::from_iter(self.begun.of_type(resource));
        let dialect = connection.dialect();
        let mut epochs = HashMap::with_capacity(keys.len());
        for part in keys.chunks(dialect.most_values()) {
            let several = stream::several(dialect, part);
            let found = rows(connection, several, stream::decode).await?;
            epochs.extend(found.into_iter().map(|row| (row.cluster, row.epoch)));
        }
        self.begun.keep(resource, &epochs);
        Ok(())
    }

    /// Decides for a key of which so many objects are stored.
    fn take(&mut self, due: TypeKey, stored: u64) -> Option<TypeKey> {
        // Some may have come with a commit that was not answered, or by a change, and some be given back by two tries.
        let has_met = |sample: &Sample| sample.objects() >= stored.saturating_sub(stored / 10);
        if !self.samples.get(&due).is_some_and(has_met) {
            return None;
        }
        let (resource, key) = due;
        let keys = self.unposted.entry(resource).or_default();
        keys.insert(key, NOT_YET);
        Some(due)
    }

    /// What was decided came into the catalogue at this revision.
    pub(crate) fn settle(&mut self, revision: i64) {
        let since = self.unposted.values_mut().flat_map(Unposted::values_mut);
        for since in since.filter(|since| **since == NOT_YET) {
            *since = revision;
        }
    }

    /// The transaction is committed, and what was decided for it.
    pub(crate) fn note_committed(&mut self, decided: Option<TypeKey>) {
        if let Some(key) = decided {
            self.samples.remove(&key);
        }
        self.due.append(&mut self.undone);
        for (resource, cluster, former, epoch) in std::mem::take(&mut self.reopened) {
            self.begun.goes_on(resource, cluster, former, epoch);
        }
    }

    /// The transaction came to nothing, as far as is known: what was decided for it is taken back. It is due again, once something is committed, where that may pass; else it may
    /// be the very reason, and is asked again when as many objects more were met.
    pub(crate) fn undo(&mut self, decided: Option<TypeKey>, may_pass: bool) {
        self.reopened.clear();
        let Some((resource, key)) = decided else {
            return;
        };
        // Another writer may have decided the same meanwhile, and what it wrote been read already.
        self.as_of = 0;
        self.unposted.entry(resource).or_default().remove(&key);
        if may_pass {
            self.undone.insert((resource, key));
        }
    }

    /// Reads what the catalogue has by the count `catalog`; whether this writer has posted what another one no longer posts.
    pub(crate) async fn follow(
        &mut self,
        connection: &mut dyn Connection,
        catalog: i64,
    ) -> Result<bool, StoreError> {
        if self.as_of == catalog {
            return Ok(false);
        }
        let mut is_news = false;
        let found = rows(connection, unposted::since(self.as_of), unposted::decode).await?;
        for row in found {
            let keys = self.unposted.entry(row.resource).or_default();
            is_news |= !keys.contains_key(&row.key);
            keys.entry(row.key).or_insert(row.revision);
        }
        self.as_of = catalog;
        Ok(is_news)
    }

    /// A stream has no object yet: from now on its labels are counted.
    pub(crate) fn begins(&mut self, resource: i32, cluster: i64, epoch: i64) {
        if self.enough > 0 {
            self.begun.begins(resource, cluster, epoch);
        }
    }

    /// The transaction opens a stream, which had this epoch before.
    pub(crate) fn reopens(&mut self, resource: i32, cluster: i64, former: i64, epoch: i64) {
        self.reopened.push((resource, cluster, former, epoch));
    }

    /// Notes the labels of an object that was added.
    pub(crate) fn note(&mut self, resource: i32, cluster: i64, labels: &[Label]) {
        if !self.begun.has(resource, cluster) {
            return;
        }
        for label in labels {
            let key = (resource, label.key);
            if self.unposted(resource).contains_key(&label.key) {
                continue;
            }
            if self.samples.len() >= MOST_SAMPLES && !self.samples.contains_key(&key) {
                self.forget_rare();
            }
            let sample = self.samples.entry(key).or_default();
            if sample.takes(label.value, cluster, self.enough) && self.has_room(resource) {
                self.due.insert(key);
            }
        }
    }

    /// Takes an object out again that is indexed by these terms: nobody who makes objects and deletes them decides for what stays.
    pub(crate) fn forget(&mut self, resource: i32, cluster: i64, posted: &[i64]) {
        if !self.begun.has(resource, cluster) {
            return;
        }
        for &term in posted {
            if let Some(sample) = self.samples.get_mut(&(resource, term)) {
                sample.gives_back(cluster, posted);
            }
        }
    }

    fn has_room(&self, resource: i32) -> bool {
        let of_type = (resource, i64::MIN)..=(resource, i64::MAX);
        let due = [&self.due, &self.undone].map(|keys| keys.range(of_type.clone()).count());
        self.unposted(resource).len() + due.into_iter().sum::<usize>() < MOST_UNPOSTED
    }

    fn forget_rare(&mut self) {
        let mut met: Vec<u64> = self.samples.values().map(Sample::objects).collect();
        let middle = met.len() / 2;
        let (_, median, _) = met.select_nth_unstable(middle);
        let median = *median;
        self.samples.retain(|_, sample| sample.objects() > median);
    }
}

#[cfg(test)]
mod tests;
