//! What an index change reads and writes, on SQLite.

use async_trait::async_trait;

use super::*;
use crate::backend::sqlite::SqliteDatabase;
use crate::backend::{Database, Row, RowSink, rows};
use crate::options::Options;
use crate::sql::statement::Statement;

const TYPE: i32 = 3;
const NSID: i64 = 1_000;
const TERM: i64 = -77;

/// A connection that counts the blocks which edits read.
struct Counted<'a> {
    connection: &'a mut dyn Connection,
    blocks: usize,
}

#[async_trait]
impl Connection for Counted<'_> {
    fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.connection.execute(statement).await
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        let blocks = &mut self.blocks;
        let mut counted = |row: &dyn Row| {
            *blocks += 1;
            each(row)
        };
        self.connection.fetch(statement, &mut counted).await
    }
}

/// Removes and adds objects with one term; gives how many blocks were read.
async fn change(
    connection: &mut dyn Connection,
    removed: impl IntoIterator<Item = i64>,
    added: impl IntoIterator<Item = i64>,
) -> usize {
    let terms = TermSet::from_bytes(&TERM.to_le_bytes()).expect("one term");
    let mut change = IndexChange::default();
    for oid in removed {
        change.remove((TYPE, NSID), oid, &terms);
    }
    for oid in added {
        change.add((TYPE, NSID), oid, &terms);
    }
    let mut counted = Counted {
        connection,
        blocks: 0,
    };
    let written = change
        .write(&mut counted, Dialect::Sqlite, Capacity::default())
        .await;
    written.expect("written");
    counted.blocks
}

/// The whole run.
async fn run(connection: &mut dyn Connection) -> Vec<Block> {
    let whole = RunPart {
        run: RunKey {
            term: TERM,
            resource: TYPE,
            nsid: NSID,
        },
        low: 1,
        high: i64::MAX,
        shrinks: false,
    };
    let statement = post::around(Dialect::Sqlite, &[whole]);
    let found = rows(connection, statement, post::decode_block).await;
    let blocks = found.expect("rows").into_iter().map(|row| row.block);
    blocks.collect()
}

#[tokio::test]
async fn an_expiry_and_an_addition_read_four_blocks_of_a_hundred() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = place.path().join("store.db");
    let database = SqliteDatabase::open(&path, &Options::default()).await;
    let database = database.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    let connection = &mut *transaction;
    change(connection, [], 1..=25_600).await;
    assert_eq!(run(connection).await.len(), 100);

    assert_eq!(change(connection, [300], [25_601]).await, 4);
    // The blocks on both sides are joined with what is left of the second one.
    assert_eq!(change(connection, 257..=512, []).await, 3);
    assert_eq!(change(connection, (1..=250).chain(513..=700), []).await, 3);

    let ids = armadex_postings::ids(&run(connection).await).expect("sound");
    let expected = (251..=256).chain(701..=25_601);
    assert_eq!(ids, expected.collect());
    assert_eq!(run(connection).await.len(), 99);
}

/// The time for each run that is changed must not grow with their number: this would take minutes.
#[test]
fn what_is_compared_is_found_by_its_run() {
    const RUNS: i64 = 100_000;
    let run = |term| RunKey {
        term,
        resource: TYPE,
        nsid: NSID,
    };
    let ids = |id| IdSet::from_iter([id]);
    let edits = (0..RUNS).flat_map(|term| {
        let parts = cut(ids(2), IdSet::default());
        parts.into_iter().map(move |part| RunEdit {
            run: run(term),
            part,
        })
    });
    let edits: Vec<RunEdit> = edits.collect();
    // As a database may give them: in another order.
    let found = (0..RUNS).rev().map(|term| BlockRow {
        run: run(term),
        block: Block::encode(&[1]).expect("a block"),
    });
    let found: Vec<BlockRow> = found.collect();
    let begun = std::time::Instant::now();
    let (removed, written) = compare(&edits, found, Capacity::default()).expect("sound");
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
    assert_eq!((removed.len(), written.len()), (0, edits.len()));
    let both = Block::encode(&[1, 2]).expect("a block");
    assert!(written.iter().all(|row| row.block == both));
}
