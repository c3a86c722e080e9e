//! What is counted of the values of one label key: whether nearly each object has a value of its own. Pure, and of a bounded size.

/// How many times as many objects have to be met where most are of one cluster: what is called after one thing in each cluster looks unique
/// as long as there is one.
const ALONE: u64 = 16;
/// How many values of a key are followed.
const FOLLOWED: usize = 64;
/// How many objects' values are looked at side by side, of each group of clusters.
const RECENT: usize = 16;
/// Groups of clusters, by their numbers.
const GROUPS: usize = 8;
/// So many objects of a group say something of it.
const ENOUGH_OF_A_GROUP: u64 = RECENT as u64;

/// The values of one key: those with the least hashes, which are as good as drawn by lot, and how often each was met. Whether values come back
/// is seen in them however long that takes.
#[derive(Debug, Default)]
pub(super) struct Sample {
    /// Sorted by hash.
    followed: Vec<(u64, u32)>,
    groups: [Group; GROUPS],
    objects: u64,
    /// It was asked when there were so many.
    asked: u64,
    /// The one cluster that may have more than half of the objects, and by how many it is ahead of the others.
    cluster: i64,
    ahead: u64,
}

impl Sample {
    /// Takes an object; whether it is known now that the key is unique. It is asked when `enough` objects were met, and each time that
    /// they have doubled, whatever goes meanwhile.
    pub(super) fn takes(&mut self, value: i64, cluster: i64, enough: u64) -> bool {
        self.follow(value.cast_unsigned());
        let group = cluster.cast_unsigned() as usize % GROUPS;
        self.groups[group].takes(value);
        self.objects += 1;
        match self.ahead {
            _ if cluster == self.cluster => self.ahead += 1,
            0 => (self.cluster, self.ahead) = (cluster, 1),
            _ => self.ahead -= 1,
        }
        let is_time = self.objects > self.asked
            && self.objects.is_multiple_of(enough)
            && (self.objects / enough).is_power_of_two();
        if is_time {
            self.asked = self.objects;
        }
        is_time && self.is_unique() && (self.is_spread() || self.objects >= enough * ALONE)
    }

    /// Takes back an object that was indexed by these terms, which are sorted. Which values came and went beside those that are followed is
    /// not known, so that there seem to be fewer than there are.
    pub(super) fn gives_back(&mut self, cluster: i64, posted: &[i64]) {
        self.objects = self.objects.saturating_sub(1);
        if cluster == self.cluster {
            self.ahead = self.ahead.saturating_sub(1);
        }
        for (hash, met) in &mut self.followed {
            if posted.binary_search(&hash.cast_signed()).is_ok() {
                *met = met.saturating_sub(1);
            }
        }
        self.followed.retain(|(_, met)| *met > 0);
    }

    /// How many objects it has met that were not deleted since.
    pub(super) fn objects(&self) -> u64 {
        self.objects
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
    /// that very many objects have, and many that some have. The last is known to an eighth. The second is asked of each group of clusters, however few objects it has:
    /// one cluster of very many objects says nothing of the others.
    fn is_unique(&self) -> bool {
        let met: u64 = self.followed.iter().map(|(_, met)| u64::from(*met)).sum();
        met * 9 <= self.followed.len() as u64 * 10
            && self.groups.iter().all(Group::is_unique)
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

/// What some clusters have.
#[derive(Debug, Default)]
struct Group {
    /// The values of the last objects, in no order.
    recent: Vec<i64>,
    objects: u64,
    /// Objects that had a value of one of the last before them.
    repeats: u64,
}

impl Group {
    fn takes(&mut self, value: i64) {
        self.repeats += u64::from(self.recent.contains(&value));
        match self.recent.get_mut(self.objects as usize % RECENT) {
            Some(oldest) => *oldest = value,
            None => self.recent.push(value),
        }
        self.objects += 1;
    }

    fn is_unique(&self) -> bool {
        self.objects < ENOUGH_OF_A_GROUP || self.repeats * 10 <= self.objects
    }
}
