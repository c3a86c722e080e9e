//! Which label keys are worth an index of their values.
//!
//! A label that tells each object from every other, such as the uid of its controller, costs a posting block of its own for each object and leads
//! to one. Where counting shows that a key is so, its values are not posted any more: the key is, and a search for a value tests the objects
//! that carry it. Which keys these are is part of the catalogue and never taken back, so a reader knows it before it can meet an object
//! that is not posted; rows that were posted before stay so until they change.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use armadex_storage::StoreError;

use crate::backend::{Connection, rows};
use crate::form::term::Label;
use crate::sql::unposted;

/// A type and the term of a label key.
pub(crate) type TypeKey = (i32, i64);

/// The label keys of a type whose values are not posted, and the revision after which no object was posted under one.
pub(crate) type Unposted = BTreeMap<i64, i64>;

/// Whoever writes it into the catalogue knows which revision it is.
const NOT_YET: i64 = i64::MAX;

/// Samples that are kept at a time, 0.5 KiB each. Beyond that the half that met the fewest objects begins anew.
const MOST_SAMPLES: usize = 2048;
/// Keys of one type that may go unposted; a search without an index on them would be all that is left.
const MOST_UNPOSTED: usize = 64;
/// How often in a row all values of a sample have to be different where nearly all are from one cluster: what is called after one thing
/// in each cluster looks unique as long as there is one.
const MOST_ROUNDS: u32 = 16;

/// What the writer knows of label keys.
#[derive(Debug)]
pub(crate) struct LabelKeys {
    unposted: HashMap<i32, Unposted>,
    /// What the catalogue had at this count is known.
    as_of: i64,
    samples: HashMap<TypeKey, Sample>,
    /// Learnt, but in no catalogue yet.
    due: BTreeSet<TypeKey>,
    /// Objects in a sample.
    enough: u32,
}

impl LabelKeys {
    /// `enough` is how many objects with a key are compared.
    pub(crate) fn new(enough: u32) -> Self {
        Self {
            unposted: HashMap::new(),
            as_of: 0,
            samples: HashMap::new(),
            due: BTreeSet::new(),
            enough: enough.clamp(1, SAMPLE_BITS),
        }
    }

    /// The keys of a type whose values are not posted.
    pub(crate) fn unposted(&self, resource: i32) -> &Unposted {
        static NONE: Unposted = Unposted::new();
        self.unposted.get(&resource).unwrap_or(&NONE)
    }

    /// What was learnt since the last transaction. From now on it is not posted, so it has to be in the catalogue with what is written
    /// next, or be taken back.
    pub(crate) fn decide(&mut self) -> Vec<TypeKey> {
        let decided = Vec::from_iter(std::mem::take(&mut self.due));
        for &(resource, key) in &decided {
            self.unposted
                .entry(resource)
                .or_default()
                .insert(key, NOT_YET);
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

    /// Everything, to be written once more: the catalogue may have forgotten it.
    pub(crate) fn anew(&mut self) -> Vec<TypeKey> {
        let mut all = Vec::new();
        for (&resource, keys) in &mut self.unposted {
            all.extend(keys.keys().map(|&key| (resource, key)));
            keys.values_mut().for_each(|since| *since = NOT_YET);
        }
        all
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

    /// Notes the labels of an object that is added.
    pub(crate) fn note(&mut self, resource: i32, cluster: i64, labels: &[Label]) {
        for label in labels {
            let key = (resource, label.key);
            if self.unposted(resource).contains_key(&label.key) || self.due.contains(&key) {
                continue;
            }
            if self.samples.len() >= MOST_SAMPLES && !self.samples.contains_key(&key) {
                self.forget_rare();
            }
            let sample = self
                .samples
                .entry(key)
                .or_insert_with(|| Sample::of(cluster));
            if sample.takes(label.value, cluster, self.enough) {
                self.samples.remove(&key);
                if self.unposted(resource).len() < MOST_UNPOSTED {
                    self.due.insert(key);
                }
            }
        }
    }

    fn forget_rare(&mut self) {
        let mut met: Vec<u64> = self.samples.values().map(Sample::met).collect();
        let middle = met.len() / 2;
        let (_, median, _) = met.select_nth_unstable(middle);
        let median = *median;
        self.samples.retain(|_, sample| sample.met() > median);
    }
}

/// The values of a sample are counted by as many bits: with one bit a value the count is right to 2 %.
const SAMPLE_BITS: u32 = 4096;

/// The values of one key.
#[derive(Debug)]
struct Sample {
    /// One bit for each value that was met, by its hash.
    bits: Box<[u64; (SAMPLE_BITS / u64::BITS) as usize]>,
    objects: u32,
    /// The cluster of the first object, and how many are from others.
    cluster: i64,
    elsewhere: u32,
    /// How often in a row all values were different.
    rounds: u32,
}

impl Sample {
    fn of(cluster: i64) -> Self {
        Self {
            bits: Box::new([0; (SAMPLE_BITS / u64::BITS) as usize]),
            objects: 0,
            cluster,
            elsewhere: 0,
            rounds: 0,
        }
    }

    /// Takes an object; whether it is known now that the key is unique.
    fn takes(&mut self, value: i64, cluster: i64, enough: u32) -> bool {
        let bit = value.cast_unsigned() % u64::from(SAMPLE_BITS);
        let word = usize::try_from(bit / 64).expect("below 64");
        self.bits[word] |= 1 << (bit % 64);
        self.objects += 1;
        self.elsewhere += u32::from(cluster != self.cluster);
        if self.objects < enough {
            return false;
        }
        let rounds = match (self.is_unique(), self.elsewhere >= enough.div_ceil(4)) {
            (false, _) => 0,
            (true, true) => MOST_ROUNDS,
            (true, false) => self.rounds + 1,
        };
        *self = Self {
            rounds,
            ..Self::of(self.cluster)
        };
        rounds >= MOST_ROUNDS
    }

    /// Whether nine of ten objects at least have a value of their own, as far as the bits can tell.
    fn is_unique(&self) -> bool {
        let bits = f64::from(SAMPLE_BITS);
        let unset = f64::from(self.bits.iter().map(|word| word.count_zeros()).sum::<u32>());
        // What falls on a bit that is set is not seen: so many values leave so many bits unset.
        let values = bits * (bits / unset.max(1.0)).ln();
        values >= 0.9 * f64::from(self.objects)
    }

    /// How many objects it has met.
    fn met(&self) -> u64 {
        // A round is at most this long, and those before the last tell rare keys from others well enough.
        u64::from(self.rounds) * u64::from(SAMPLE_BITS) + u64::from(self.objects)
    }
}

#[cfg(test)]
mod tests;
