//! Versions that go. What they superseded is found by them, so where some of it is kept longer they leave a tombstone in their place.

use std::collections::{BTreeSet, HashMap, HashSet};

use armadex_storage::StoreError;

use crate::backend::{Connection, head_row, rows};
use crate::sql::head::HeadRow;
use crate::sql::{namespace, object};

/// Takes the newest versions of objects that go away as if they had never been: at once where what they superseded is gone. Others give their
/// place in the log to tombstones, by which pruning finds what they superseded: that may be any number of versions for each. They are given by revision
/// and namespace; done again for the same ones it does what is left to do.
pub(crate) async fn delete_newest(
    connection: &mut dyn Connection,
    versions: &[(i64, i64)],
) -> Result<Unseen, StoreError> {
    let head = head_row::read(connection).await?;
    let revs = versions.iter().map(|(rev, _)| *rev);
    let (past, ahead): (Vec<i64>, Vec<i64>) = revs.partition(|rev| *rev <= head.pruned);
    bury(connection, &ahead).await?;
    let buried = remove(connection, head.history, past).await?;
    let buried: HashSet<i64> = buried.into_iter().collect();
    let of_buried = versions.iter().filter(|(rev, _)| buried.contains(rev));
    Ok(Unseen {
        namespaces: of_buried.map(|(_, nsid)| *nsid).collect(),
        head,
    })
}

/// Namespaces of tombstones that pruning does not come by any more.
#[must_use = "their names would go with the watch window"]
pub(crate) struct Unseen {
    /// What it was by then: no such tombstone is later than what was pruned.
    head: HeadRow,
    namespaces: BTreeSet<i64>,
}

impl Unseen {
    /// Keeps their names for as long as a history has the tombstones; gives what the head was when these were made.
    pub(crate) async fn keep_names(
        self,
        connection: &mut dyn Connection,
    ) -> Result<HeadRow, StoreError> {
        keep_names(connection, self.head.pruned, self.namespaces).await?;
        Ok(self.head)
    }
}

/// Namespaces are known by their names for as long as a history may have something of them up to a revision.
pub(crate) async fn keep_names(
    connection: &mut dyn Connection,
    last: i64,
    namespaces: impl IntoIterator<Item = i64>,
) -> Result<(), StoreError> {
    // In their order, each once.
    let ids: BTreeSet<i64> = namespaces.into_iter().collect();
    let ids: Vec<i64> = ids.into_iter().collect();
    let dialect = connection.dialect();
    for part in ids.chunks(dialect.most_values()) {
        connection
            .execute(namespace::keep(dialect, last, part))
            .await?;
    }
    Ok(())
}

/// Takes versions that nobody finds by the log any more; gives those that left a tombstone. `history` is up to where nothing superseded is left of any type.
pub(crate) async fn remove(
    connection: &mut dyn Connection,
    history: i64,
    revs: Vec<i64>,
) -> Result<Vec<i64>, StoreError> {
    let later: Vec<i64> = revs.iter().copied().filter(|rev| *rev > history).collect();
    let mut leading = HashMap::new();
    let dialect = connection.dialect();
    for part in later.chunks(dialect.most_values()) {
        let found = object::leading(dialect, part);
        leading.extend(rows(connection, found, |row| Ok((row.int(0)?, row.int(1)?))).await?);
    }
    let (buried, gone) = parted(revs, &leading);
    bury(connection, &buried).await?;
    delete(connection, &gone).await?;
    Ok(buried)
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
