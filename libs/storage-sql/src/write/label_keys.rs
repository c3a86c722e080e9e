//! Which label keys are worth an index of their values.
//!
//! A label that tells each object from every other, such as the uid of its controller, costs a posting block of its own for each object and leads
//! to one. Where counting shows that a key is so, its values are not posted any more: the key is, and a search for a value tests the objects
//! that carry it. That is dear where it is wrong, so it takes many objects in several clusters, among which values hardly ever came back.
//! Which keys these are is part of the catalogue and never taken back, so a reader knows it before it can meet an object that is not
//! posted; rows that were posted before stay so until they change.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use armadex_storage::StoreError;

use crate::backend::{Connection, row, rows};
use crate::form::term::Label;
use crate::sql::dialect::Dialect;
use crate::sql::{post, unposted};

/// A type and the term of a label key.
pub(crate) type TypeKey = (i32, i64);

/// The label keys of a type whose values are not posted, and the revision after which no object was posted under one.
pub(crate) type Unposted = BTreeMap<i64, i64>;

/// Whoever writes it into the catalogue knows which revision it is.
const NOT_YET: i64 = i64::MAX;

/// Samples that are kept at a time, 1.5 KiB each. Beyond that the half that met the fewest objects begins anew.
const MOST_SAMPLES: usize = 2048;
/// Keys of one type that may go unposted; a search without an index on them would be all that is left.
const MOST_UNPOSTED: usize = 64;
/// How many times as many objects have to be met where most are of one cluster: what is called after one thing in each cluster looks unique
/// as long as there is one.
const ALONE: u64 = 16;

/// What the writer knows of label keys.
#[derive(Debug)]
pub(crate) struct LabelKeys {
    unposted: HashMap<i32, Unposted>,
    /// What the catalogue had at this count is known.
    as_of: i64,
    samples: HashMap<TypeKey, Sample>,
    /// Learnt, but in no catalogue yet.
    due: BTreeSet<TypeKey>,
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
            due: BTreeSet::new(),
            enough: enough.into(),
        }
    }

    /// The keys of a type whose values are not posted.
    pub(crate) fn unposted(&self, resource: i32) -> &Unposted {
        static NONE: Unposted = Unposted::new();
        self.unposted.get(&resource).unwrap_or(&NONE)
    }

    /// What was learnt since the last transaction, if as many objects were met as are stored: what comes and goes quickly says nothing of what
    /// stays. From now on it is not posted, so it has to be in the catalogue with what is written next, or be taken back.
    pub(crate) async fn decide(
        &mut self,
        connection: &mut dyn Connection,
        dialect: Dialect,
    ) -> Result<Vec<TypeKey>, StoreError> {
        let mut stored = Vec::with_capacity(self.due.len());
        for &(resource, key) in &self.due {
            // All blocks of the key: a walk that was paid for by meeting as many objects.
            let everywhere = (i64::MIN, i64::MAX);
            let carriers = post::sum(dialect, &[key], resource, everywhere);
            let carriers = row(connection, carriers, |row| row.int(0)).await?;
            stored.push(((resource, key), carriers.unwrap_or(0)));
        }
        Ok(self.take(&stored))
    }

    /// Decides for keys of which as many objects are stored.
    fn take(&mut self, stored: &[(TypeKey, i64)]) -> Vec<TypeKey> {
        self.due.clear();
        let mut decided = Vec::new();
        for &((resource, key), carriers) in stored {
            let sample = self.samples.get(&(resource, key));
            let carriers = carriers.cast_unsigned();
            // One that was decided before and taken back has no sample any more.
            if sample.is_none_or(|sample| sample.objects >= carriers) {
                let keys = self.unposted.entry(resource).or_default();
                keys.insert(key, NOT_YET);
                self.samples.remove(&(resource, key));
                decided.push((resource, key));
            }
        }
        decided
    }

    /// What was decided came into the catalogue at this revision.
    pub(crate) fn settle(&mut self, revision: i64) {
        let since = self.unposted.values_mut().flat_map(Unposted::values_mut);
        for since in since.filter(|since| **since == NOT_YET) {
            *since = revision;
        }
    }

    /// Takes back what came into no catalogue.
    pub(crate) fn undo(&mut self, decided: Vec<TypeKey>) {
        for (resource, key) in decided {
            self.unposted.entry(resource).or_default().remove(&key);
            self.due.insert((resource, key));
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

    /// Notes the labels of an object that was added.
    pub(crate) fn note(&mut self, resource: i32, cluster: i64, labels: &[Label]) {
        if self.enough == 0 {
            return;
        }
        for label in labels {
            let key = (resource, label.key);
            if self.unposted(resource).contains_key(&label.key) || self.due.contains(&key) {
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

    fn has_room(&self, resource: i32) -> bool {
        let due = self.due.range((resource, i64::MIN)..=(resource, i64::MAX));
        self.unposted(resource).len() + due.count() < MOST_UNPOSTED
    }

    fn forget_rare(&mut self) {
        let mut met: Vec<u64> = self.samples.values().map(|sample| sample.objects).collect();
        let middle = met.len() / 2;
        let (_, median, _) = met.select_nth_unstable(middle);
        let median = *median;
        self.samples.retain(|_, sample| sample.objects > median);
    }
}

/// How many values of a key are followed.
const FOLLOWED: usize = 64;
/// How many objects' values are looked at side by side.
const RECENT: usize = 64;

/// The values of one key: those with the least hashes, which are as good as drawn by lot, and how often each was met. Whether values come back
/// is seen in them however long that takes.
#[derive(Debug, Default)]
struct Sample {
    /// Sorted by hash.
    followed: Vec<(u64, u32)>,
    /// Those of the last objects, in no order.
    recent: Vec<i64>,
    objects: u64,
    /// The one cluster that may have more than half of the objects, and by how many it is ahead of the others.
    cluster: i64,
    ahead: u64,
}

impl Sample {
    /// Takes an object; whether it is known now that the key is unique. It is asked when `enough` objects were met, and each time that
    /// they have doubled.
    fn takes(&mut self, value: i64, cluster: i64, enough: u64) -> bool {
        self.follow(value.cast_unsigned());
        match self.recent.get_mut(self.objects as usize % RECENT) {
            Some(oldest) => *oldest = value,
            None => self.recent.push(value),
        }
        self.objects += 1;
        match self.ahead {
            _ if cluster == self.cluster => self.ahead += 1,
            0 => (self.cluster, self.ahead) = (cluster, 1),
            _ => self.ahead -= 1,
        }
        let is_time =
            self.objects.is_multiple_of(enough) && (self.objects / enough).is_power_of_two();
        is_time && self.is_unique() && (self.is_spread() || self.objects >= enough * ALONE)
    }

    fn follow(&mut self, hash: u64) {
        let full = self.followed.len() >= FOLLOWED;
        if full && self.followed.last().is_some_and(|last| hash > last.0) {
            return;
        }
        match self
            .followed
            .binary_search_by_key(&hash, |followed| followed.0)
        {
            Ok(at) => self.followed[at].1 = self.followed[at].1.saturating_add(1),
            Err(at) => {
                self.followed.insert(at, (hash, 1));
                self.followed.truncate(FOLLOWED);
            }
        }
    }

    /// Whether no cluster has more than three quarters of the objects.
    fn is_spread(&self) -> bool {
        self.ahead * 2 <= self.objects
    }

    /// Whether nine of ten objects have a value of their own. Each part sees what the others miss: values that come back after long, a few values
    /// that very many objects have, and many that some have. The last is known to an eighth.
    fn is_unique(&self) -> bool {
        let met: u64 = self.followed.iter().map(|(_, met)| u64::from(*met)).sum();
        let recent: BTreeSet<i64> = self.recent.iter().copied().collect();
        met * 9 <= self.followed.len() as u64 * 10
            && recent.len() * 10 >= self.recent.len() * 9
            && self.values() >= 0.75 * self.objects as f64
    }

    /// About how many values there are: so many hashes are this dense.
    fn values(&self) -> f64 {
        let followed = self.followed.len() as f64;
        match self.followed.last() {
            Some((last, _)) if self.followed.len() >= FOLLOWED => {
                (followed - 1.0) * (u64::MAX as f64 / (*last).max(1) as f64)
            }
            _ => followed,
        }
    }
}

#[cfg(test)]
mod tests;
