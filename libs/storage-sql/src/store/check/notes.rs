//! Whether what is noted of the past is what is there: how many bytes were superseded up to each note.

use std::collections::BTreeMap;

use armadex_storage::StoreError;

use crate::backend::{Connection, rows};
use crate::sql::milestone::{self, Milestone};

/// What does not agree, in words. The part that the log begins in may have been pruned to some extent, for which its note still counts the whole.
pub(super) async fn faults(
    connection: &mut dyn Connection,
    pruned: i64,
) -> Result<Vec<String>, StoreError> {
    let notes = rows(connection, milestone::after(pruned), milestone::decode).await?;
    let mut found: BTreeMap<i64, i64> = notes.iter().map(|note| (note.rev, 0)).collect();
    let everything = milestone::measure((pruned, i64::MAX), u32::MAX);
    connection
        .fetch(everything, &mut |row| {
            let row = milestone::decode_superseding(row)?;
            if let Some((_, bytes)) = found.range_mut(row.rev..).next() {
                *bytes += row.bytes;
            }
            Ok(())
        })
        .await?;
    let wrong = notes.iter().enumerate().filter_map(|(at, note)| {
        let Milestone { rev, bytes, .. } = *note;
        let there = found[&rev];
        let agrees = bytes < 0 || bytes == there || (at == 0 && bytes > there);
        (!agrees).then(|| format!("{there} bytes were superseded up to revision {rev}, and it is noted that {bytes} were"))
    });
    Ok(wrong.collect())
}
