//! How many rows statements read whose cost a plan does not tell: by the server's own count, on tables with much in them.

use armadex_postings::Block;

use super::*;
use crate::form::namespace_id::ids_of;
use crate::form::version::MemberVersion;
use crate::sql::object::{self, ObjectRow};
use crate::sql::post::{self, BlockRow, RunKey, RunPart};
use crate::sql::select;
use crate::write::index::around::around;

const TYPE: i32 = 3;
const TERM: i64 = -77;
const NAME: &str = "kube-root-ca.crt";

/// Rows and entries of an index that this connection has read so far.
async fn looked_at(connection: &mut dyn Connection) -> i64 {
    let status = statement("SHOW SESSION STATUS LIKE 'Handler_read%'");
    let found = rows(connection, status, |row| Ok((row.text(0)?, row.text(1)?))).await;
    let found = found.expect("a status").into_iter();
    // What reads a table without an index reads the status as well.
    let found = found.filter(|(name, _)| !name.contains("_rnd"));
    let counts = found.map(|(_, count)| count.parse::<i64>().expect("a number"));
    counts.sum()
}

/// As many ids as a block is for, of which nothing but the first one matters.
fn block(run: RunKey, number: i64) -> BlockRow {
    let block = Block::encode(&[number * 256]).expect("a block");
    BlockRow { run, block }
}

async fn write_blocks(connection: &mut dyn Connection, blocks: &[BlockRow]) {
    for piece in Dialect::MySql.pieces(blocks) {
        let written = connection.execute(post::insert(Dialect::MySql, piece));
        written.await.expect("written");
    }
}

/// An object of the same name in each namespace.
async fn write_objects(connection: &mut dyn Connection, nsids: &[i64]) {
    let version = MemberVersion::from_columns(1, None);
    let row = |&nsid: &i64| ObjectRow {
        id: nsid,
        resource: TYPE,
        nsid,
        name: NAME,
        uid: "uid",
        created: 1,
        version: &version,
        size: 1,
        rev: nsid,
        form: 0,
    };
    let objects: Vec<ObjectRow<'_>> = nsids.iter().map(row).collect();
    for piece in Dialect::MySql.pieces(&objects) {
        let written = connection.execute(object::insert(Dialect::MySql, piece));
        written.await.expect("written");
    }
}

/// A limit that ends the whole of a statement, and not each of its parts.
#[tokio::test]
async fn what_is_looked_for_in_some_clusters_ends_where_enough_is_found() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    let connection = &mut *transaction;
    let ranges: Vec<(i64, i64)> = (1..=10).map(ids_of).collect();
    for &(first, _) in &ranges {
        let nsids: Vec<i64> = (first..first + 200).collect();
        write_objects(connection, &nsids).await;
        let run = |nsid| RunKey {
            term: TERM,
            resource: TYPE,
            nsid,
        };
        let blocks: Vec<BlockRow> = nsids.iter().map(|&nsid| block(run(nsid), 1)).collect();
        write_blocks(connection, &blocks).await;
    }
    for statement in [
        post::sizes_in(Dialect::MySql, &[TERM], TYPE, &ranges, 101),
        select::called_in(Dialect::MySql, TYPE, &[NAME], &ranges, 101),
    ] {
        let name = statement.name;
        let before = looked_at(connection).await;
        let found = rows(connection, statement, |_| Ok(())).await;
        assert_eq!(found.expect("rows").len(), 101, "{name}");
        let read = looked_at(connection).await - before;
        assert!(read < 150, "{name}: {read} read to find 101 of 2,000");
    }
    transaction.rollback().await.expect("rolled back");
    database.close().await;
}

/// The edit of a large namespace costs what it edits, wherever in it that is.
#[tokio::test]
async fn the_blocks_around_an_edit_are_found_without_the_rest_of_their_run() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    let connection = &mut *transaction;
    let run = RunKey {
        term: TERM,
        resource: TYPE,
        nsid: 1000,
    };
    let blocks: Vec<BlockRow> = (1..=2000).map(|number| block(run, number)).collect();
    write_blocks(connection, &blocks).await;
    let part = |number: i64, shrinks| RunPart {
        run,
        low: number * 256 + 5,
        high: number * 256 + 7,
        shrinks,
    };
    let many: Vec<RunPart> = (1..=15).map(|n| part(n * 130, true)).collect();
    let three = (1..=15).flat_map(|n| [n * 130 - 1, n * 130, n * 130 + 1]);
    for (parts, expected, most) in [
        (vec![part(1990, false)], vec![1990, 1991], 20),
        (vec![part(2000, true)], vec![1999, 2000], 20),
        (vec![part(0, true)], vec![1], 20),
        (many, three.collect(), 100),
    ] {
        let before = looked_at(connection).await;
        let found = around(connection, &parts).await.expect("blocks");
        let read = looked_at(connection).await - before;
        let mut found: Vec<i64> = found.iter().map(|row| row.block.first / 256).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
        assert!(read <= most, "{read} read to find {}", found.len());
    }
    transaction.rollback().await.expect("rolled back");
    database.close().await;
}

/// Most runs are a block or two: those are read without asking where each part of an edit is.
#[tokio::test]
async fn short_runs_are_read_as_they_are() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    let connection = &mut *transaction;
    let run = |term| RunKey {
        term,
        resource: TYPE,
        nsid: 1000,
    };
    let blocks = (1..=100).flat_map(|term| [1, 2].map(|number| block(run(term), number)));
    let blocks: Vec<BlockRow> = blocks.collect();
    write_blocks(connection, &blocks).await;
    let part = |term| RunPart {
        run: run(term),
        low: 300,
        high: 300,
        shrinks: true,
    };
    let parts: Vec<RunPart> = (1..=100).map(part).collect();
    let before = looked_at(connection).await;
    let mut found = around(connection, &parts).await.expect("blocks");
    let read = looked_at(connection).await - before;
    found.sort_unstable_by_key(|row| (row.run, row.block.first));
    assert_eq!(found, blocks);
    assert!(read <= 400, "{read} read to find {} blocks", found.len());
    transaction.rollback().await.expect("rolled back");
    database.close().await;
}
