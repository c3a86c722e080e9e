//! The write side of the index: from terms that objects gain and lose to posting blocks.

pub(crate) mod around;

use std::collections::{HashMap, HashSet};

use armadex_postings::{Block, Capacity, Damaged, IdSet, Part, cut, edit};
use armadex_storage::StoreError;

use crate::backend::Connection;
use crate::backend::error::broken;
use crate::form::term::TermSet;
use crate::sql::dialect::Dialect;
use crate::sql::post::{self, BlockRow, RunKey, RunPart};

/// A type and a namespace id.
type TypeInNamespace = (i32, i64);

/// What a transaction changes in the index.
#[derive(Debug, Default)]
pub(crate) struct IndexChange {
    entries: Vec<Entry>,
    counts: HashMap<TypeInNamespace, i64>,
    /// Where there was nothing before: whole runs are new.
    begun: HashSet<TypeInNamespace>,
}

/// An object that a run gains or loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    run: RunKey,
    id: i64,
    gained: bool,
}

impl IndexChange {
    /// An object appears.
    pub(crate) fn add(&mut self, place: TypeInNamespace, id: i64, terms: &TermSet) {
        self.extend(place, id, true, terms.posted());
        *self.counts.entry(place).or_default() += 1;
    }

    /// An object goes away.
    pub(crate) fn remove(&mut self, place: TypeInNamespace, id: i64, terms: &TermSet) {
        self.extend(place, id, false, terms.posted());
        *self.counts.entry(place).or_default() -= 1;
    }

    /// An object's terms change.
    pub(crate) fn change(&mut self, place: TypeInNamespace, id: i64, old: &TermSet, new: &TermSet) {
        let without = |a: &TermSet, b: &TermSet| -> Vec<i64> {
            let absent = |term: &&i64| b.posted().binary_search(term).is_err();
            a.posted().iter().filter(absent).copied().collect()
        };
        self.extend(place, id, true, &without(new, old));
        self.extend(place, id, false, &without(old, new));
    }

    /// Says that the type had no objects in the namespace before, so that no blocks of it are looked for.
    pub(crate) fn begins(&mut self, resource: i32, nsid: i64) {
        self.begun.insert((resource, nsid));
    }

    /// How many entries come and go.
    pub(crate) fn edits(&self) -> usize {
        self.entries.len()
    }

    /// By how much the number of objects changes.
    pub(crate) fn delta(&self, resource: i32, nsid: i64) -> i64 {
        self.counts.get(&(resource, nsid)).copied().unwrap_or(0)
    }

    /// Writes the changed blocks.
    pub(crate) async fn write(
        self,
        connection: &mut dyn Connection,
        dialect: Dialect,
        capacity: Capacity,
    ) -> Result<(), StoreError> {
        let Self { entries, begun, .. } = self;
        let edits = group(entries);
        let is_new = |edit: &RunEdit| begun.contains(&(edit.run.resource, edit.run.nsid));
        let (new, known): (Vec<RunEdit>, Vec<RunEdit>) = edits.into_iter().partition(is_new);
        let (_, written) =
            compare(&new, vec![], capacity).map_err(|err| broken(err.to_string()))?;
        for piece in dialect.pieces(&written) {
            connection.execute(post::insert(dialect, piece)).await?;
        }
        // A run's parts may be in two pieces: the second reads what the first has written.
        for piece in dialect.pieces(&known) {
            let parts: Vec<RunPart> = piece.iter().map(RunEdit::around).collect();
            let found = around::around(connection, &parts).await?;
            let changes = compare(piece, found, capacity).map_err(|err| broken(err.to_string()))?;
            write_blocks(connection, dialect, &changes).await?;
        }
        Ok(())
    }

    fn extend(&mut self, (resource, nsid): TypeInNamespace, id: i64, gained: bool, terms: &[i64]) {
        let run = |term| RunKey {
            term,
            resource,
            nsid,
        };
        self.entries.extend(terms.iter().map(|&term| Entry {
            run: run(term),
            id,
            gained,
        }));
    }
}

/// A part of the edit of one run.
#[derive(Debug)]
struct RunEdit {
    run: RunKey,
    part: Part,
}

impl RunEdit {
    /// The blocks that it needs.
    fn around(&self) -> RunPart {
        RunPart {
            run: self.run,
            low: self.part.low(),
            high: self.part.high(),
            shrinks: self.part.shrinks(),
        }
    }
}

/// The edits of all runs that are touched, in key order.
fn group(mut entries: Vec<Entry>) -> Vec<RunEdit> {
    entries.sort_unstable();
    let runs = entries.chunk_by(|a, b| a.run == b.run);
    runs.flat_map(|entries| {
        let run = entries[0].run;
        let ids = |gained| {
            let of = entries.iter().filter(move |entry| entry.gained == gained);
            IdSet::from_iter(of.map(|entry| entry.id))
        };
        let parts = cut(ids(true), ids(false));
        parts.into_iter().map(move |part| RunEdit { run, part })
    })
    .collect()
}

async fn write_blocks(
    connection: &mut dyn Connection,
    dialect: Dialect,
    (removed, written): &BlockChanges,
) -> Result<(), StoreError> {
    for part in removed.chunks(dialect.most_values()) {
        connection.execute(post::delete(dialect, part)).await?;
    }
    for piece in dialect.pieces(written) {
        connection.execute(post::put(dialect, piece)).await?;
    }
    Ok(())
}

type BlockChanges = (Vec<(RunKey, i64)>, Vec<BlockRow>);

/// Which blocks go and which are written.
fn compare(
    edits: &[RunEdit],
    found: Vec<BlockRow>,
    capacity: Capacity,
) -> Result<BlockChanges, Damaged> {
    let mut stored: HashMap<RunKey, Vec<Block>> = HashMap::new();
    for row in found {
        stored.entry(row.run).or_default().push(row.block);
    }
    let (mut removed, mut written) = (Vec::new(), Vec::new());
    for edits in edits.chunk_by(|a, b| a.run == b.run) {
        let run = edits[0].run;
        let blocks = stored.entry(run).or_default();
        blocks.sort_by_key(|block| block.first);
        blocks.dedup();
        let edit = edit(blocks, edits.iter().map(|edit| &edit.part), capacity)?;
        removed.extend(edit.removed.into_iter().map(|first| (run, first)));
        written.extend(
            edit.written
                .into_iter()
                .map(|block| BlockRow { run, block }),
        );
    }
    Ok((removed, written))
}

#[cfg(test)]
mod tests;
