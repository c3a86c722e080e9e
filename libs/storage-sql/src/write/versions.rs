//! Versions that go. What they superseded is found by them, so where some of it is kept longer they leave a tombstone in their place.

use std::collections::{HashMap, HashSet};

use armadex_storage::StoreError;

use crate::backend::{Connection, head_row, rows};
use crate::sql::object;

/// Takes the newest versions of objects that go away as if they had never been: at once where what they superseded is gone. Others give their
/// place in the log to tombstones, by which pruning finds what they superseded: that may be any number of versions for each.
pub(crate) async fn delete_newest(
    connection: &mut dyn Connection,
    revs: &[i64],
) -> Result<(), StoreError> {
    let head = head_row::read(connection).await?;
    let (past, ahead): (Vec<i64>, Vec<i64>) = revs.iter().partition(|rev| **rev <= head.pruned);
    remove(connection, head.history, past).await?;
    bury(connection, &ahead).await
}

/// Takes versions that nobody finds by the log any more. `history` is up to where nothing superseded is left of any type.
pub(crate) async fn remove(
    connection: &mut dyn Connection,
    history: i64,
    revs: Vec<i64>,
) -> Result<(), StoreError> {
    let later: Vec<i64> = revs.iter().copied().filter(|rev| *rev > history).collect();
    let mut leading = HashMap::new();
    let dialect = connection.dialect();
    for part in later.chunks(dialect.most_values()) {
        let found = object::leading(dialect, part);
        leading.extend(rows(connection, found, |row| Ok((row.int(0)?, row.int(1)?))).await?);
    }
    let (buried, gone) = parted(revs, &leading);
    bury(connection, &buried).await?;
    delete(connection, &gone).await
}

/// Versions that leave a tombstone, and others. What goes with what it superseded needs none; `leading` are those that superseded something which is there, and what.
fn parted(revs: Vec<i64>, leading: &HashMap<i64, i64>) -> (Vec<i64>, Vec<i64>) {
    let going: HashSet<i64> = revs.iter().copied().collect();
    let leads = |rev: &i64| {
        let superseded = leading.get(rev);
        superseded.is_some_and(|superseded| !going.contains(superseded))
    };
    revs.into_iter().partition(leads)
}

async fn bury(connection: &mut dyn Connection, revs: &[i64]) -> Result<(), StoreError> {
    let dialect = connection.dialect();
    for part in revs.chunks(dialect.most_values()) {
        connection
            .execute(object::bury_versions(dialect, part))
            .await?;
    }
    Ok(())
}

/// Takes versions that lead to nothing, or to what goes with them.
pub(crate) async fn delete(
    connection: &mut dyn Connection,
    revs: &[i64],
) -> Result<(), StoreError> {
    let dialect = connection.dialect();
    for part in revs.chunks(dialect.most_values()) {
        connection
            .execute(object::delete_versions(dialect, part))
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_alone_leads_to_a_version_that_stays_leaves_a_tombstone() {
        // 5 stays, 10 superseded it, 20 that; 7 superseded 3, which goes as well.
        let leading = HashMap::from([(10, 5), (20, 10), (7, 3)]);
        assert_eq!(
            parted(vec![3, 7, 10, 20, 30], &leading),
            (vec![10], vec![3, 7, 20, 30])
        );
    }
}
