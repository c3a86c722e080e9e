//! The write side of the index: from terms that objects gain and lose to posting blocks.

use std::collections::{BTreeMap, HashMap};

use armadex_postings::{Block, Damaged, IdSet, Part, cut, edit};
use armadex_storage::StoreError;

use crate::backend::error::broken;
use crate::backend::{Connection, rows};
use crate::form::term::TermSet;
use crate::sql::dialect::Dialect;
use crate::sql::index::{self, BlockRow, RunKey, RunPart};
use crate::sql::statement::pieces;

/// What a transaction changes in the index of one type.
#[derive(Debug, Default)]
pub(crate) struct IndexChange {
    gained: Vec<(RunKey, i64)>,
    lost: Vec<(RunKey, i64)>,
    counts: BTreeMap<i64, i64>,
}

impl IndexChange {
    /// An object appears.
    pub(crate) fn add(&mut self, nsid: i64, id: i64, terms: &TermSet) {
        self.gained.extend(entries(nsid, id, terms.as_slice()));
        *self.counts.entry(nsid).or_default() += 1;
    }

    /// An object goes away.
    pub(crate) fn remove(&mut self, nsid: i64, id: i64, terms: &TermSet) {
        self.lost.extend(entries(nsid, id, terms.as_slice()));
        *self.counts.entry(nsid).or_default() -= 1;
    }

    /// An object's terms change.
    pub(crate) fn change(&mut self, nsid: i64, id: i64, old: &TermSet, new: &TermSet) {
        let without = |a: &TermSet, b: &TermSet| -> Vec<i64> {
            let absent = |term: &&i64| b.as_slice().binary_search(term).is_err();
            a.as_slice().iter().filter(absent).copied().collect()
        };
        self.gained.extend(entries(nsid, id, &without(new, old)));
        self.lost.extend(entries(nsid, id, &without(old, new)));
    }

    /// By how much the number of objects changes, for each namespace id.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (i64, i64)> {
        self.counts.iter().map(|(&nsid, &delta)| (nsid, delta))
    }

    /// Writes the changed blocks.
    pub(crate) async fn write(
        self,
        connection: &mut dyn Connection,
        dialect: Dialect,
        resource: i32,
    ) -> Result<(), StoreError> {
        let edits = group(self.gained, self.lost);
        for piece in pieces(&edits) {
            edit_runs(connection, dialect, resource, piece).await?;
        }
        Ok(())
    }
}

fn entries(nsid: i64, id: i64, terms: &[i64]) -> impl Iterator<Item = (RunKey, i64)> {
    terms.iter().map(move |&term| (RunKey { term, nsid }, id))
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
fn group(gained: Vec<(RunKey, i64)>, lost: Vec<(RunKey, i64)>) -> Vec<RunEdit> {
    let mut runs: BTreeMap<RunKey, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
    for (run, id) in gained {
        runs.entry(run).or_default().0.push(id);
    }
    for (run, id) in lost {
        runs.entry(run).or_default().1.push(id);
    }
    runs.into_iter()
        .flat_map(|(run, (gained, lost))| {
            let parts = cut(IdSet::from_iter(gained), IdSet::from_iter(lost));
            parts.into_iter().map(move |part| RunEdit { run, part })
        })
        .collect()
}

async fn edit_runs(
    connection: &mut dyn Connection,
    dialect: Dialect,
    resource: i32,
    edits: &[RunEdit],
) -> Result<(), StoreError> {
    let parts: Vec<RunPart> = edits.iter().map(RunEdit::around).collect();
    let found = rows(
        connection,
        index::around(resource, &parts),
        index::decode_block,
    )
    .await?;
    let (removed, written) = compare(edits, found).map_err(|err| damaged(&err))?;
    for piece in pieces(&removed) {
        connection
            .execute(index::delete(dialect, resource, piece))
            .await?;
    }
    for piece in pieces(&written) {
        connection
            .execute(index::put(dialect, resource, piece))
            .await?;
    }
    Ok(())
}

type BlockChanges = (Vec<(RunKey, i64)>, Vec<BlockRow>);

/// Which blocks go and which are written.
fn compare(edits: &[RunEdit], found: Vec<BlockRow>) -> Result<BlockChanges, Damaged> {
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
        let edit = edit(blocks, edits.iter().map(|edit| &edit.part))?;
        removed.extend(edit.removed.into_iter().map(|first| (run, first)));
        written.extend(
            edit.written
                .into_iter()
                .map(|block| BlockRow { run, block }),
        );
    }
    Ok((removed, written))
}

/// Damage of the index, in the store's words.
pub(crate) fn damaged(err: &Damaged) -> StoreError {
    broken(err.to_string())
}

#[cfg(test)]
mod tests;
