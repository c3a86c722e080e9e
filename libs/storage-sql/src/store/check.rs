//! Whether the index agrees with the objects, blocks and counters against rows and their terms, and whether these can be read.
//!
//! Both sides are folded into a tally for each type and namespace, so that memory grows with the number of namespaces and not of objects.

mod notes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;

use armadex_postings::Block;
use armadex_storage::StoreError;
use siphasher::sip::SipHasher13;

use crate::backend::{Connection, Lane, Row, head_row, row, rows};
use crate::form::codec::{Packed, Unpacker};
use crate::form::dictionaries::{Known, Trained};
use crate::form::namespace_id::cluster_of;
use crate::form::term::{TermHasher, TermSet};
use crate::sql::head::HeadRow;
use crate::sql::{audit, dictionary};
use crate::store::SqlStore;
use crate::write::unposting::unposting;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Objects that were looked at.
    pub objects: u64,
    /// Entries of the index: an object for each term that leads to it.
    pub entries: u64,
    /// Namespaces that the store has an id for.
    pub namespaces: u64,
    /// What does not agree, in words; empty for a sound store.
    pub faults: Vec<String>,
}

impl SqlStore {
    /// Compares the index and the counters with the objects, whose bodies are unpacked, in one snapshot. Reads everything: not for a busy store.
    pub async fn check(&self) -> Result<CheckReport, StoreError> {
        let mut transaction = self.database.read(Lane::Whole).await?;
        let (report, _) = examine(&mut *transaction, &self.hasher).await?;
        transaction.rollback().await?;
        Ok(report)
    }
}

/// Faults beyond these add nothing for a reader.
const MOST_FAULTS: usize = 100;

/// Where something does not agree.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Dictionaries of which nothing can be made.
    pub(crate) dictionaries: Vec<i64>,
    /// The index or the counter, or an object itself.
    pub(crate) places: BTreeSet<TypeNamespace>,
    /// Ids of namespaces whose number of types is wrong.
    pub(crate) namespaces: BTreeSet<i64>,
    /// Of places, the revisions of objects whose bodies cannot be unpacked.
    pub(crate) unreadable: BTreeMap<TypeNamespace, BTreeSet<i64>>,
    /// (cluster, type) of streams whose number of objects is wrong, or that are missing.
    pub(crate) streams: BTreeSet<(i64, i64)>,
    pub(crate) is_log_damaged: bool,
    /// A type's history lacks something.
    pub(crate) are_histories_damaged: bool,
    /// What is noted of the log.
    pub(crate) are_notes_wrong: bool,
}

/// What a check says, in words, and where.
#[derive(Debug, Default)]
struct Faults {
    words: Vec<String>,
    at: Findings,
}

impl Faults {
    fn say(&mut self, words: String) {
        if self.words.len() < MOST_FAULTS {
            self.words.push(words);
        }
    }

    fn place(&mut self, place: TypeNamespace, words: String) {
        self.at.places.insert(place);
        self.say(words);
    }
}

/// A type and a namespace id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeNamespace {
    pub(crate) resource: i64,
    pub(crate) nsid: i64,
}

impl TypeNamespace {
    /// Of a row that begins with both.
    pub(crate) fn decode(row: &dyn Row) -> Result<Self, StoreError> {
        Ok(Self {
            resource: row.int(0)?,
            nsid: row.int(1)?,
        })
    }
}

impl fmt::Display for TypeNamespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "type {} in namespace id {}", self.resource, self.nsid)
    }
}

/// What one side says of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    objects: i64,
    entries: i64,
    /// The sum of a hash of each entry: equal for equal sets, whatever their order.
    sum: u64,
}

impl Tally {
    fn entry(&mut self, term: i64, id: i64) {
        let mut hasher = SipHasher13::new();
        hasher.write(&term.to_le_bytes());
        hasher.write(&id.to_le_bytes());
        self.entries += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// One side of the comparison.
type Tallies = BTreeMap<TypeNamespace, Tally>;

/// Compares everything; what does not agree, in words and by place.
pub(super) async fn examine(
    connection: &mut dyn Connection,
    hasher: &TermHasher,
) -> Result<(CheckReport, Findings), StoreError> {
    let mut faults = Faults::default();
    let dictionaries = dictionaries(connection).await?;
    check_dictionaries(&dictionaries, &mut faults);
    let mut bodies = Unpacker::new(&dictionaries);
    let stored = tally_objects(connection, hasher, &mut bodies, &mut faults).await?;
    let mut indexed = tally_blocks(connection, &mut faults).await?;
    tally_counters(connection, &mut indexed).await?;
    compare(&stored, &indexed, &mut faults);
    let objects = stored.values().map(|tally| tally.objects).sum::<i64>();
    let entries = indexed.values().map(|tally| tally.entries).sum::<i64>();
    let namespaces = check_sums(connection, &stored, &mut faults).await?;
    check_versions(connection, objects, &mut faults).await?;
    let report = CheckReport {
        objects: u64::try_from(objects).unwrap_or(0),
        entries: u64::try_from(entries).unwrap_or(0),
        namespaces,
        faults: faults.words,
    };
    Ok((report, faults.at))
}

/// All that were trained, as they are stored: what a process has in memory may not be there any more.
async fn dictionaries(connection: &mut dyn Connection) -> Result<Known, StoreError> {
    let all = rows(connection, dictionary::all(), dictionary::decode_trained).await?;
    let all: Vec<i64> = all.into_iter().map(|(number, _)| number).collect();
    let mut known = Known::new();
    for part in all.chunks(connection.dialect().most_values()) {
        let statement = dictionary::several(connection.dialect(), part);
        for (number, bytes) in rows(connection, statement, dictionary::decode).await? {
            known.insert(number, Arc::new(Trained::new(number, bytes)));
        }
    }
    Ok(known)
}

fn check_dictionaries(dictionaries: &Known, faults: &mut Faults) {
    let damaged = dictionaries
        .iter()
        .filter(|(_, trained)| !trained.is_sound());
    let mut damaged: Vec<i64> = damaged.map(|(number, _)| *number).collect();
    damaged.sort_unstable();
    for number in &damaged {
        faults.say(format!("dictionary {number} is damaged"));
    }
    faults.at.dictionaries = damaged;
}

/// What the objects, the terms of their versions and their bodies say.
async fn tally_objects(
    connection: &mut dyn Connection,
    hasher: &TermHasher,
    bodies: &mut Unpacker<'_>,
    faults: &mut Faults,
) -> Result<Tallies, StoreError> {
    let unposting = unposting(connection).await?.into_iter().map(i64::from);
    let unposting: BTreeSet<i64> = unposting.collect();
    let mut tallies = Tallies::new();
    connection
        .fetch(audit::objects(), &mut |row| {
            let (place, id, form) = (TypeNamespace::decode(row)?, row.int(2)?, row.int(3)?);
            let tally = tallies.entry(place).or_default();
            tally.objects += 1;
            match TermSet::from_bytes(&row.blob(4)?) {
                Some(terms) => {
                    terms
                        .posted()
                        .iter()
                        .for_each(|&term| tally.entry(term, id));
                    if !terms.unposted().is_empty() && !unposting.contains(&place.resource) {
                        let words = format!("object {id} has terms that its type would post");
                        faults.place(place, words);
                    }
                    if !hasher.is_form_of(form, &terms) {
                        let words = format!("the form of object {id} is not that of its terms");
                        faults.place(place, words);
                    }
                }
                None => faults.place(place, format!("the terms of object {id} are damaged")),
            }
            let (rev, size, dictionary) = (row.int(5)?, row.int(6)?, row.int(7)?);
            let bytes = row.blob(8)?;
            if let Err(why) = bodies.unpack(Packed { dictionary, bytes }, size) {
                faults.at.unreadable.entry(place).or_default().insert(rev);
                faults.place(place, format!("the body of object {id} is damaged: {why}"));
            }
            Ok(())
        })
        .await?;
    Ok(tallies)
}

/// What the blocks say.
async fn tally_blocks(
    connection: &mut dyn Connection,
    faults: &mut Faults,
) -> Result<Tallies, StoreError> {
    let mut tallies = Tallies::new();
    connection
        .fetch(audit::blocks(), &mut |row| {
            let place = TypeNamespace::decode(row)?;
            let (term, block) = (row.int(2)?, block(row)?);
            match block.decode() {
                Ok(ids) => {
                    let tally = tallies.entry(place).or_default();
                    ids.as_slice().iter().for_each(|&id| tally.entry(term, id));
                }
                Err(err) => faults.place(place, format!("{place}: {err}")),
            }
            Ok(())
        })
        .await?;
    Ok(tallies)
}

/// What the counters say.
async fn tally_counters(
    connection: &mut dyn Connection,
    tallies: &mut Tallies,
) -> Result<(), StoreError> {
    connection
        .fetch(audit::counters(), &mut |row| {
            tallies
                .entry(TypeNamespace::decode(row)?)
                .or_default()
                .objects = row.int(2)?;
            Ok(())
        })
        .await
}

fn compare(stored: &Tallies, indexed: &Tallies, faults: &mut Faults) {
    let places = stored
        .keys()
        .chain(indexed.keys().filter(|place| !stored.contains_key(place)));
    for place in places {
        let objects = stored.get(place).copied().unwrap_or_default();
        let index = indexed.get(place).copied().unwrap_or_default();
        if objects.objects != index.objects {
            let (there, counted) = (objects.objects, index.objects);
            let words = format!("{place}: {there} objects, and the counter says {counted}");
            faults.place(*place, words);
        }
        if (objects.entries, objects.sum) != (index.entries, index.sum) {
            let (terms, entries) = (objects.entries, index.entries);
            let words = format!("{place}: {terms} terms, and the blocks have {entries}");
            faults.place(*place, words);
        }
    }
}

/// What streams say of their objects, and namespaces of the types that have objects there; how many namespaces there are.
async fn check_sums(
    connection: &mut dyn Connection,
    stored: &Tallies,
    faults: &mut Faults,
) -> Result<u64, StoreError> {
    check_streams(connection, stored, faults).await?;
    let mut by_namespace: BTreeMap<i64, i64> = BTreeMap::new();
    for place in stored.keys() {
        *by_namespace.entry(place.nsid).or_default() += 1;
    }
    let mut namespaces = 0;
    connection
        .fetch(audit::namespaces(), &mut |row| {
            namespaces += 1;
            let (nsid, said) = (row.int(0)?, row.int(1)?);
            let there = by_namespace.remove(&nsid).unwrap_or(0);
            if there != said {
                faults.at.namespaces.insert(nsid);
                faults.say(format!(
                    "namespace id {nsid}: {there} types have objects, and it says {said}"
                ));
            }
            Ok(())
        })
        .await?;
    let lost = stored
        .keys()
        .filter(|place| by_namespace.contains_key(&place.nsid));
    faults.at.places.extend(lost);
    for nsid in by_namespace.keys() {
        faults.say(format!("namespace id {nsid} stands for nothing"));
    }
    Ok(namespaces)
}

async fn check_streams(
    connection: &mut dyn Connection,
    stored: &Tallies,
    faults: &mut Faults,
) -> Result<(), StoreError> {
    let mut by_stream: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for (place, tally) in stored {
        let key = (cluster_of(place.nsid), place.resource);
        *by_stream.entry(key).or_default() += tally.objects;
    }
    connection
        .fetch(audit::streams(), &mut |row| {
            let (cluster, resource, said) = (row.int(0)?, row.int(1)?, row.int(2)?);
            let there = by_stream.remove(&(cluster, resource)).unwrap_or(0);
            if there != said {
                faults.at.streams.insert((cluster, resource));
                faults.say(format!(
                    "type {resource} in cluster {cluster}: {there} objects, and the stream says {said}"
                ));
            }
            Ok(())
        })
        .await?;
    for (cluster, resource) in by_stream.into_keys() {
        faults.at.streams.insert((cluster, resource));
        faults.say(format!(
            "type {resource} in cluster {cluster}: objects without a stream"
        ));
    }
    Ok(())
}

/// Every object has its version, the log has every revision, and there is no version beside those that are either or that the log says were
/// superseded.
async fn check_versions(
    connection: &mut dyn Connection,
    with_version: i64,
    faults: &mut Faults,
) -> Result<(), StoreError> {
    let head = head_row::read(connection).await?;
    let HeadRow {
        revision,
        pruned,
        history,
        ..
    } = head;
    let dialect = connection.dialect();
    let counted = row(connection, audit::count_objects(dialect, pruned), |row| {
        Ok((row.int(0)?, row.int(1)?))
    });
    let (objects, old_objects) = counted.await?.unwrap_or_default();
    let counted = audit::count_versions(dialect, pruned, revision);
    let counted = row(connection, counted, |row| {
        Ok((row.int(0)?, row.int(1)?, row.int(2)?, row.int(3)?))
    });
    let (versions, old, log, superseded) = counted.await?.unwrap_or_default();
    let counted = audit::count_history(dialect, history, pruned, revision);
    let counted = row(connection, counted, |row| {
        Ok((row.int(0)?, row.int(1)?, row.int(2)?))
    });
    let (kept, tombstones, lost) = counted.await?.unwrap_or_default();
    let without = objects - with_version;
    if without != 0 {
        faults.say(format!("{without} objects have no version"));
    }
    let mut fault = |is_one: bool, words: String| {
        if is_one {
            faults.at.is_log_damaged = true;
            faults.say(words);
        }
    };
    let revisions = revision - pruned;
    fault(
        log != revisions,
        format!("the log has {log} versions for {revisions} revisions"),
    );
    let known = old_objects + superseded + kept + tombstones;
    fault(
        old != known,
        format!("{old} versions are past the log, and {known} of them are known"),
    );
    let beyond = versions - old - log;
    fault(
        beyond != 0,
        format!("{beyond} versions are beyond the head"),
    );
    if lost != 0 {
        faults.at.are_histories_damaged = true;
        faults.say(format!(
            "{lost} versions are missing from the history of their types"
        ));
    }
    for words in notes::faults(connection, &head).await? {
        faults.at.are_notes_wrong = true;
        faults.say(words);
    }
    Ok(())
}

fn block(row: &dyn Row) -> Result<Block, StoreError> {
    Ok(Block {
        first: row.int(3)?,
        // A count that is no number of ids is refused when the block is decoded.
        count: u32::try_from(row.int(4)?).unwrap_or(0),
        bytes: row.blob(5)?,
    })
}
