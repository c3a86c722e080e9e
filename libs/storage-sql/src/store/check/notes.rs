//! Whether what is noted of the past is what is there: how many bytes were superseded up to each note, and how many of them are kept for histories.

use std::collections::BTreeMap;

use armadex_storage::StoreError;

use crate::backend::{Connection, rows};
use crate::sql::head::HeadRow;
use crate::sql::history;
use crate::sql::milestone::{self, Milestone, Superseding};
use crate::write::history::Histories;

/// What does not agree, in words. The part that the log begins in may have been pruned to some extent, for which its note still counts the whole.
pub(super) async fn faults(
    connection: &mut dyn Connection,
    head: &HeadRow,
) -> Result<Vec<String>, StoreError> {
    let kept = rows(connection, history::types(), history::decode).await?;
    let kept = Histories::of(kept.into_iter().map(|row| row.id));
    let notes = rows(
        connection,
        milestone::after(head.history),
        milestone::decode,
    )
    .await?;
    let mut found: BTreeMap<i64, Bytes> = notes
        .iter()
        .map(|note| (note.rev, Bytes::default()))
        .collect();
    let everything = milestone::measure((head.history, i64::MAX), u32::MAX);
    connection
        .fetch(everything, &mut |row| {
            let row = milestone::decode_superseding(row)?;
            if let Some((_, bytes)) = found.range_mut(row.rev..).next() {
                bytes.add(&row, kept.keep(&row, head.pruned));
            }
            Ok(())
        })
        .await?;
    let first = notes.partition_point(|note| note.rev <= head.pruned);
    let wrong = notes.iter().enumerate().filter_map(|(at, note)| {
        let there = &found[&note.rev];
        match note.is_counted() {
            true => there.disagreement(note, (at, first)),
            false => None,
        }
    });
    Ok(wrong.collect())
}

/// What is there of what was superseded up to a note.
#[derive(Clone, Copy, Debug, Default)]
struct Bytes {
    all: i64,
    history: i64,
}

impl Bytes {
    fn add(&mut self, row: &Superseding, is_kept: bool) {
        self.all += row.bytes;
        if is_kept {
            self.history += row.bytes;
        }
    }

    /// With the note in the place `at`, where `first` is the place of the first that the watch window has.
    fn disagreement(&self, note: &Milestone, (at, first): (usize, usize)) -> Option<String> {
        let Milestone {
            rev,
            bytes,
            history,
            ..
        } = *note;
        let agrees =
            |noted: i64, there: i64, is_first: bool| noted == there || (is_first && noted > there);
        if at >= first && !agrees(bytes, self.all, at == first) {
            let there = self.all;
            return Some(format!(
                "{there} bytes were superseded up to revision {rev}, and it is noted that {bytes} were"
            ));
        }
        let there = self.history;
        (!agrees(history, there, at == 0)).then(|| {
            format!("{there} bytes of histories were superseded up to revision {rev}, and it is noted that {history} were")
        })
    }
}
