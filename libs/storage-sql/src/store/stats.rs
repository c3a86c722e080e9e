//! What is in a store and what it costs, by type and cluster. Reads everything, in one snapshot.

use std::collections::{BTreeMap, HashMap};

use armadex_model::GroupVersionResource;
use armadex_storage::StoreError;

use crate::backend::{Connection, Disk, Lane, head_row, row, rows};
use crate::form::dictionaries::{FIRST_TRAINED, type_of};
use crate::sql::head::HeadRow;
use crate::sql::history::HistoryRow;
use crate::sql::stats::{self, IndexSums, Shared, VersionSums};
use crate::sql::{catalog, dictionary, history, lease, milestone};
use crate::store::SqlStore;
use crate::write::past::Past;
use crate::write::purge::pasts;
use crate::write::shown::EVERY_TYPE;

/// What a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreStats {
    /// The last revision.
    pub revision: i64,
    /// The log reaches back to this revision.
    pub pruned: i64,
    /// That of types with a history to this one, or to where their history begins; the same as `pruned` where nothing is kept for any.
    pub history: i64,
    /// Types with a history, and what is kept for them.
    pub histories: Vec<HistoryShare>,
    /// What is kept for histories, as it is counted, with what of it is within the watch window.
    pub kept: Past,
    /// What is kept of the past, as it is counted for the watch window.
    pub past: Past,
    /// What the database takes on its disk, by table or index.
    pub disk: Disk,
    /// One for each type of each cluster that has anything, clusters that left included.
    pub shares: Vec<Share>,
    /// Dictionaries that were trained, the oldest of each type first.
    pub dictionaries: Vec<DictionaryShare>,
}

/// A dictionary that was trained on objects of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryShare {
    /// The type's group.
    pub group: String,
    /// The type's version.
    pub version: String,
    /// The type's plural name.
    pub resource: String,
    /// What bodies name it by.
    pub number: u64,
    /// How many objects the type had when it was trained.
    pub objects: u64,
    /// What it takes.
    pub bytes: u64,
}

/// A type that has a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryShare {
    /// The type's group.
    pub group: String,
    /// The type's version.
    pub version: String,
    /// The type's plural name.
    pub resource: String,
    /// What was superseded after this revision is kept.
    pub since: i64,
}

/// What a type of a cluster has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The cluster's name.
    pub cluster: String,
    /// It is hidden, and its rows wait for its return or their purge.
    pub has_left: bool,
    /// The type's group.
    pub group: String,
    /// The type's version.
    pub version: String,
    /// The type's plural name.
    pub resource: String,
    /// Its objects.
    pub objects: u64,
    /// Bytes of their bodies, as they are served.
    pub served_bytes: u64,
    /// Bytes of bodies and terms, packed; those of `past` included.
    pub stored_bytes: u64,
    /// Versions that were superseded, and tombstones.
    pub past: u64,
    /// Bytes of those versions, each with its name and what a row takes: as pruning counts them.
    pub past_bytes: u64,
    /// How many versions, those of `past` included, a trained dictionary packs.
    pub trained: u64,
    /// Blocks of the index.
    pub blocks: u64,
    /// Entries in them: an object for each term that leads to it.
    pub entries: u64,
    /// Bytes of them.
    pub index_bytes: u64,
}

impl SqlStore {
    /// Adds up what is stored. Reads everything: not for a busy store.
    pub async fn stats(&self) -> Result<StoreStats, StoreError> {
        let mut transaction = self.database.read(Lane::Whole).await?;
        let found = read(&mut *transaction).await;
        transaction.rollback().await?;
        let mut found = found?;
        if found.disk.total == 0 {
            found.disk = self.database.disk().await?;
        }
        Ok(found)
    }
}

async fn read(connection: &mut dyn Connection) -> Result<StoreStats, StoreError> {
    let head = head_row::read(connection).await?;
    let names = Names::read(connection).await?;
    let mut sums: BTreeMap<Shared, (VersionSums, IndexSums)> = BTreeMap::new();
    let versions = stats::versions(connection.dialect(), FIRST_TRAINED);
    for (key, versions) in rows(connection, versions, stats::decode_versions).await? {
        sums.entry(key).or_default().0 = versions;
    }
    let index = stats::index(connection.dialect());
    for (key, index) in rows(connection, index, stats::decode_index).await? {
        sums.entry(key).or_default().1 = index;
    }
    let dictionaries = rows(connection, dictionary::sizes(), dictionary::decode_sizes).await?;
    let dictionaries = dictionaries
        .into_iter()
        .map(|sizes| names.dictionary(sizes));
    let dictionaries = dictionaries.collect();
    let (past, kept) = past(connection, &head).await?;
    let histories = rows(connection, history::types(), history::decode).await?;
    let histories = histories.into_iter().map(|row| share_of(row, head.history));
    let histories = histories.collect();
    let disk = disk(connection).await?;
    let shares = sums
        .into_iter()
        // What the log says of whole clusters has no bytes.
        .filter(|((resource, _), _)| *resource != EVERY_TYPE)
        .map(|(key, (versions, index))| names.share(key, versions, index));
    Ok(StoreStats {
        revision: head.revision,
        pruned: head.pruned,
        history: head.history,
        histories,
        past,
        kept,
        disk,
        shares: shares.collect(),
        dictionaries,
    })
}

/// What is noted of the log: for the watch window, and for histories.
async fn past(connection: &mut dyn Connection, head: &HeadRow) -> Result<(Past, Past), StoreError> {
    let notes = milestone::after(head.history);
    let notes = rows(connection, notes, milestone::decode).await?;
    let held = row(connection, lease::select(), lease::decode).await?;
    let clock = held.map_or(0, |held| held.clock);
    Ok(pasts(notes, head.pruned, clock))
}

fn share_of(HistoryRow { since, gvr, .. }: HistoryRow, history: i64) -> HistoryShare {
    HistoryShare {
        group: gvr.group,
        version: gvr.version,
        resource: gvr.resource,
        since: since.max(history),
    }
}

/// What a server says that its tables take.
async fn disk(connection: &mut dyn Connection) -> Result<Disk, StoreError> {
    let Some(tables) = stats::tables(connection.dialect()) else {
        return Ok(Disk::default());
    };
    let tables = rows(connection, tables, stats::decode_table).await?;
    Ok(Disk {
        total: tables.iter().map(|(_, bytes)| bytes).sum(),
        tables,
        free: 0,
    })
}

/// What numbers stand for.
struct Names {
    types: HashMap<i32, GroupVersionResource>,
    /// The name, and whether it is shown.
    clusters: HashMap<i64, (String, bool)>,
}

impl Names {
    /// All that there are: a catalogue begins with count 1.
    async fn read(connection: &mut dyn Connection) -> Result<Self, StoreError> {
        let types = rows(connection, catalog::types_since(-1), catalog::decode_type).await?;
        let clusters = catalog::clusters_since(-1);
        let clusters = rows(connection, clusters, catalog::decode_cluster).await?;
        Ok(Self {
            types: types
                .into_iter()
                .map(|row| (row.id, row.resource.gvr))
                .collect(),
            clusters: clusters
                .into_iter()
                .map(|row| (row.id, (row.name, row.active)))
                .collect(),
        })
    }

    fn resource(&self, id: i32) -> GroupVersionResource {
        let known = self.types.get(&id).cloned();
        known.unwrap_or_else(|| GroupVersionResource::new("", "", format!("type {id}")))
    }

    fn dictionary(&self, (number, objects, bytes): (i64, i64, i64)) -> DictionaryShare {
        let gvr = self.resource(type_of(number).unwrap_or(-1));
        DictionaryShare {
            group: gvr.group,
            version: gvr.version,
            resource: gvr.resource,
            number: number.unsigned_abs(),
            objects: objects.unsigned_abs(),
            bytes: bytes.unsigned_abs(),
        }
    }

    fn share(&self, (resource, cluster): Shared, versions: VersionSums, index: IndexSums) -> Share {
        let VersionSums {
            objects,
            served_bytes,
            stored_bytes,
            past,
            past_bytes,
            trained,
        } = versions;
        let IndexSums {
            blocks,
            entries,
            bytes,
        } = index;
        let known = self.clusters.get(&cluster);
        // A cluster that was purged has tombstones until they are past the window.
        let (name, is_shown) = known
            .cloned()
            .unwrap_or_else(|| (format!("cluster {cluster}"), false));
        let gvr = self.resource(resource);
        Share {
            cluster: name,
            has_left: !is_shown,
            group: gvr.group,
            version: gvr.version,
            resource: gvr.resource,
            objects: objects.unsigned_abs(),
            served_bytes: served_bytes.unsigned_abs(),
            stored_bytes: stored_bytes.unsigned_abs(),
            past: past.unsigned_abs(),
            past_bytes: past_bytes.unsigned_abs(),
            trained: trained.unsigned_abs(),
            blocks: blocks.unsigned_abs(),
            entries: entries.unsigned_abs(),
            index_bytes: bytes.unsigned_abs(),
        }
    }
}
