//! Comparing what is stored of a type with what its member lists, by keys and versions. Pure.
//!
//! ```text
//! StoredCopy ──the member is listed──> Comparison ──> Suspects ──the store, once the stream is past that list──> Missing ──listed again──> Found
//! ```
//! Objects change meanwhile, so what differs at first is only suspected. A version never comes back, so a row that is the same before the
//! list and after the stream has passed its version, and is not what the list had, is wrong. That there is no row can come back:
//! what is missing is wrong only if the member still has that very version afterwards. Versions are asked for equality alone.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};

use armadex_model::ObjectKey;
use armadex_storage::StoredVersion;

/// Suspects that are followed up: some 4 MB. Whatever is wrong in so many is put right by a list, which compares all.
const MOST_SUSPECTS: usize = 65_536;
/// Objects that are named in a report.
const NAMED: usize = 5;

/// Stands for keys and versions: 8 bytes for each. Two in 2^64 are alike, and a difference would then be passed over, or a list made that
/// finds nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hashes(RandomState);

/// What a list tells of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
}

/// What is stored, as it is read: 16 bytes an object.
#[derive(Debug)]
pub(crate) struct StoredCopy {
    hashes: Hashes,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    key: u64,
    version: u64,
}

/// What is stored, beside a list that comes in: 17 bytes an object.
#[derive(Debug)]
pub(crate) struct Comparison {
    hashes: Hashes,
    /// So many suspects are followed up.
    most: usize,
    rows: Vec<Row>,
    /// Which rows the list had.
    met: Vec<bool>,
    objects: u64,
    suspects: HashMap<u64, Suspect>,
    beyond: bool,
}

#[derive(Clone, Copy, Debug)]
struct Suspect {
    stored: Option<u64>,
    listed: Option<u64>,
}

/// What differed between a copy and a list.
#[derive(Debug)]
pub(crate) struct Suspects {
    hashes: Hashes,
    suspects: HashMap<u64, Suspect>,
    found: Found,
}

/// What was listed and is not stored though the stream has passed the list, with the version that was listed.
#[derive(Debug)]
pub(crate) struct Missing {
    hashes: Hashes,
    versions: HashMap<u64, u64>,
    found: Found,
}

/// What came of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Objects that the member listed.
    pub(crate) objects: u64,
    /// Hashes of the keys that are wrong for certain.
    pub(crate) wrong: BTreeSet<u64>,
    /// The first of them.
    pub(crate) named: BTreeSet<ObjectKey>,
    /// Objects that changed while they were compared, which brings whatever was missed.
    pub(crate) changing: u64,
    /// More differed than is followed up.
    pub(crate) beyond: bool,
}

impl Hashes {
    /// Of a key.
    pub(crate) fn key(&self, key: &ObjectKey) -> u64 {
        self.0.hash_one(key)
    }

    fn version(&self, uid: &str, resource_version: &str) -> u64 {
        self.0.hash_one((uid, resource_version))
    }

    fn row(&self, row: &StoredVersion) -> Row {
        Row {
            key: self.key(&row.key),
            version: self.version(&row.uid, &row.resource_version),
        }
    }

    fn listed(&self, listed: &Listed) -> Row {
        Row {
            key: self.key(&listed.key),
            version: self.version(&listed.uid, &listed.resource_version),
        }
    }
}

impl StoredCopy {
    pub(crate) fn new(hashes: Hashes) -> Self {
        Self {
            hashes,
            rows: Vec::new(),
        }
    }

    /// Takes a row in.
    pub(crate) fn stored(&mut self, row: &StoredVersion) {
        self.rows.push(self.hashes.row(row));
    }

    /// All rows were read, and of suspects no more than so many are held. Sorting a million takes some 50 ms.
    pub(crate) fn complete(mut self, most: usize) -> Comparison {
        self.rows.sort_unstable_by_key(|row| row.key);
        Comparison {
            most: most.min(MOST_SUSPECTS),
            met: vec![false; self.rows.len()],
            hashes: self.hashes,
            rows: self.rows,
            objects: 0,
            suspects: HashMap::new(),
            beyond: false,
        }
    }
}

impl Comparison {
    /// Takes in what the list says.
    pub(crate) fn listed(&mut self, listed: &Listed) {
        self.objects += 1;
        let Row { key, version } = self.hashes.listed(listed);
        let found = self.rows.binary_search_by_key(&key, |row| row.key);
        let stored = found.ok().map(|at| {
            self.met[at] = true;
            self.rows[at].version
        });
        if stored != Some(version) {
            let listed = Some(version);
            self.suspect(key, Suspect { stored, listed });
        }
    }

    /// The list is at its end.
    pub(crate) fn end(mut self) -> Suspects {
        let rows = std::mem::take(&mut self.rows);
        let met = std::mem::take(&mut self.met);
        for (row, _) in rows.iter().zip(met).filter(|(_, met)| !met) {
            let stored = Some(row.version);
            self.suspect(
                row.key,
                Suspect {
                    stored,
                    listed: None,
                },
            );
        }
        Suspects {
            hashes: self.hashes,
            suspects: self.suspects,
            found: Found {
                objects: self.objects,
                beyond: self.beyond,
                ..Found::default()
            },
        }
    }

    fn suspect(&mut self, key: u64, suspect: Suspect) {
        if self.suspects.len() < self.most {
            self.suspects.insert(key, suspect);
        } else {
            self.beyond = true;
        }
    }
}

impl Suspects {
    /// How many objects differed.
    pub(crate) fn count(&self) -> usize {
        self.suspects.len()
    }

    /// Whether more differed than were held.
    pub(crate) fn are_more(&self) -> bool {
        self.found.beyond
    }

    /// Whether the copy is what the list had.
    pub(crate) fn is_empty(&self) -> bool {
        self.suspects.is_empty()
    }

    /// What is found if nobody asks further.
    pub(crate) fn into_found(self) -> Found {
        self.found
    }

    /// Takes in a row as it is once the stream is past the list.
    pub(crate) fn stored(&mut self, row: &StoredVersion) {
        let Row { key, version } = self.hashes.row(row);
        let Some(suspect) = self.suspects.remove(&key) else {
            return;
        };
        if suspect.listed == Some(version) {
            // It was on its way.
        } else if suspect.stored == Some(version) {
            self.found.is_wrong(key, &row.key);
        } else {
            self.found.changing += 1;
        }
    }

    /// All rows were read.
    pub(crate) fn end(mut self) -> Missing {
        let mut versions = HashMap::new();
        for (key, suspect) in self.suspects {
            match (suspect.stored, suspect.listed) {
                (None, Some(version)) => drop(versions.insert(key, version)),
                // It was there and is gone, as from the list.
                (_, None) => {}
                (Some(_), Some(_)) => self.found.changing += 1,
            }
        }
        Missing {
            hashes: self.hashes,
            versions,
            found: self.found,
        }
    }
}

impl Missing {
    /// Whether anything is missing.
    pub(crate) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Takes out what is left out on purpose.
    pub(crate) fn leave_out(&mut self, keys: &BTreeSet<ObjectKey>) {
        for key in keys {
            self.versions.remove(&self.hashes.key(key));
        }
    }

    /// Takes in what a list says that was begun after the rows were read.
    pub(crate) fn listed(&mut self, listed: &Listed) {
        let Row { key, version } = self.hashes.listed(listed);
        match self.versions.remove(&key) {
            Some(before) if before == version => self.found.is_wrong(key, &listed.key),
            Some(_) => self.found.changing += 1,
            None => {}
        }
    }

    /// That list is at its end; what it did not have came and went.
    pub(crate) fn end(mut self) -> Found {
        self.found.changing += self.versions.len() as u64;
        self.found
    }
}

impl Found {
    /// And what was found of the same type later.
    pub(crate) fn and(mut self, later: &Self) -> Self {
        self.wrong.extend(&later.wrong);
        for key in &later.named {
            self.name(key);
        }
        self.beyond |= later.beyond;
        self
    }

    /// Without these.
    pub(crate) fn without(&self, keys: &BTreeSet<ObjectKey>, hashes: &Hashes) -> Self {
        let mut found = self.clone();
        for key in keys {
            found.wrong.remove(&hashes.key(key));
            found.named.remove(key);
        }
        found
    }

    fn is_wrong(&mut self, hash: u64, key: &ObjectKey) {
        self.wrong.insert(hash);
        self.name(key);
    }

    fn name(&mut self, key: &ObjectKey) {
        if self.named.len() < NAMED {
            self.named.insert(key.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, version: &str) -> StoredVersion {
        StoredVersion {
            key: ObjectKey::new("n", name),
            uid: format!("uid-{name}"),
            resource_version: version.into(),
            bytes: 100,
        }
    }

    fn item(name: &str, version: &str) -> Listed {
        let StoredVersion {
            key,
            uid,
            resource_version,
            bytes: _,
        } = row(name, version);
        Listed {
            key,
            uid,
            resource_version,
        }
    }

    /// What is found of one object that is stored, listed, stored once the stream is past that and listed again in these versions; `-`
    /// is none. Another one stays as it is.
    fn verdict([stored, listed, then, again]: [&str; 4]) -> &'static str {
        let is_there = |version: &&str| *version != "-";
        let rows = |version| [Some("1"), Some(version).filter(is_there)];
        let named = ["stays", "a"];
        let mut copy = StoredCopy::new(Hashes::default());
        for (name, version) in named.iter().zip(rows(stored)) {
            version
                .iter()
                .for_each(|version| copy.stored(&row(name, version)));
        }
        let mut comparison = copy.complete(MOST_SUSPECTS);
        for (name, version) in named.iter().zip(rows(listed)) {
            version
                .iter()
                .for_each(|version| comparison.listed(&item(name, version)));
        }
        let mut suspects = comparison.end();
        if suspects.is_empty() {
            return "equal";
        }
        for (name, version) in named.iter().zip(rows(then)) {
            version
                .iter()
                .for_each(|version| suspects.stored(&row(name, version)));
        }
        let mut missing = suspects.end();
        let asked = !missing.is_empty();
        for (name, version) in named.iter().zip(rows(again)) {
            version
                .iter()
                .for_each(|version| missing.listed(&item(name, version)));
        }
        let found = missing.end();
        let wrong = found.wrong.len() as u64;
        assert_eq!(found.named.len() as u64, wrong);
        match (asked, wrong, found.changing) {
            (false, 0, 0) => "settled",
            (false, 1, 0) => "wrong",
            (false, 0, 1) => "changing",
            (true, 1, 0) => "wrong, listed again",
            (true, 0, 1) => "changing, listed again",
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_stays_as_it_is_and_differs_is_wrong_and_nothing_else() {
        let cases = [
            (["5", "5", "5", "5"], "equal"),
            (["-", "-", "5", "5"], "equal"),
            // The stream brings what the list had.
            (["5", "6", "6", "6"], "settled"),
            (["-", "6", "6", "6"], "settled"),
            (["5", "-", "-", "-"], "settled"),
            // A change and a deletion that never came.
            (["5", "6", "5", "6"], "wrong"),
            (["5", "-", "5", "-"], "wrong"),
            // It changed again, which brings whatever was missed.
            (["5", "6", "7", "7"], "changing"),
            (["-", "6", "7", "7"], "changing"),
            (["5", "6", "-", "-"], "changing"),
            (["5", "-", "8", "8"], "changing"),
            // It never came, or it came and went.
            (["-", "6", "-", "6"], "wrong, listed again"),
            (["-", "6", "-", "-"], "changing, listed again"),
            (["-", "6", "-", "9"], "changing, listed again"),
        ];
        for (versions, wanted) in cases {
            assert_eq!(verdict(versions), wanted, "{versions:?}");
        }
    }

    #[test]
    fn another_object_of_the_same_name_and_version_is_another_one() {
        let mut copy = StoredCopy::new(Hashes::default());
        copy.stored(&row("a", "5"));
        let mut comparison = copy.complete(MOST_SUSPECTS);
        comparison.listed(&Listed {
            uid: "another".into(),
            ..item("a", "5")
        });
        assert!(!comparison.end().is_empty());
    }

    #[test]
    fn what_is_left_out_on_purpose_is_not_missing() {
        let mut comparison = StoredCopy::new(Hashes::default()).complete(MOST_SUSPECTS);
        comparison.listed(&item("large", "5"));
        let mut missing = comparison.end().end();
        missing.leave_out(&BTreeSet::from([ObjectKey::new("n", "large")]));
        assert!(missing.is_empty());
    }

    #[test]
    fn of_more_suspects_than_may_be_no_more_are_held_and_that_is_known() {
        let mut comparison = StoredCopy::new(Hashes::default()).complete(2);
        for number in 0..2 {
            comparison.listed(&item(&number.to_string(), "5"));
        }
        assert!(!comparison.beyond);
        for number in 2..1000 {
            comparison.listed(&item(&number.to_string(), "5"));
        }
        let suspects = comparison.end();
        assert_eq!((suspects.count(), suspects.are_more()), (2, true));
    }

    #[test]
    fn a_copy_that_has_nothing_takes_no_more_than_is_followed_up() {
        let mut comparison = StoredCopy::new(Hashes::default()).complete(MOST_SUSPECTS);
        for number in 0..MOST_SUSPECTS + 1000 {
            comparison.listed(&item(&number.to_string(), "5"));
        }
        let mut missing = comparison.end().end();
        assert_eq!(missing.versions.len(), MOST_SUSPECTS);
        for number in 0..MOST_SUSPECTS + 1000 {
            missing.listed(&item(&number.to_string(), "5"));
        }
        let found = missing.end();
        assert_eq!((found.wrong.len(), found.beyond), (MOST_SUSPECTS, true));
        assert_eq!(found.named.len(), NAMED);
    }
}
