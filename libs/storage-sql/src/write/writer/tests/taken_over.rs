//! Streams that somebody else takes between the moment at which a group reads them and the one at which it moves them.

use std::sync::Mutex;

use armadex_databases::Engine;

use super::*;
use crate::backend::several::place::wait_until_a_row_is_waited_for;
use crate::sql::head::{self, Numbered};
use crate::write::numbers::OBJECT_IDS;

/// A database in which a stream is taken over each time that this is read, a few times, each time another one.
struct Taken {
    database: Arc<Contended>,
    moment: Moment,
    /// Clusters whose streams are still to be taken, the next one last.
    left: Arc<Mutex<Vec<ClusterId>>>,
}

/// The file has one writer, so what is taken is taken within its transaction, and once more when that is undone.
struct TakenTransaction {
    transaction: Box<dyn Transaction>,
    database: SharedDatabase,
    moment: Moment,
    left: Arc<Mutex<Vec<ClusterId>>>,
    taken: Vec<ClusterId>,
}

/// When a stream is taken over.
#[derive(Clone, Copy)]
struct Moment {
    /// Behind this statement.
    behind: &'static str,
    /// What who takes it over writes at once, of the cluster.
    writes: Option<&'static str>,
}

/// When streams are read and not held.
const AT_ONCE: Moment = Moment {
    behind: "stream.several",
    writes: None,
};

/// What somebody does who opens the stream.
fn takes(cluster: ClusterId) -> Statement {
    let text = "UPDATE stream SET epoch = epoch + 1000 WHERE cluster = ?";
    Statement::fixed("test.takes", text, [cluster.0.into()])
}

#[async_trait]
impl Database for Taken {
    fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    async fn read(&self, lane: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        self.database.read(lane).await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        Ok(Box::new(TakenTransaction {
            transaction: self.database.write().await?,
            database: Arc::clone(&self.database.database),
            moment: self.moment,
            left: Arc::clone(&self.left),
            taken: vec![],
        }))
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.database.note_committed(incarnation, revision);
    }

    async fn catch_up(&self) {}

    async fn rest(&self) {}

    async fn close(&self) {}
}

#[async_trait]
impl Connection for TakenTransaction {
    fn dialect(&self) -> Dialect {
        self.transaction.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.transaction.execute(statement).await
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        let is_the_moment = statement.name == self.moment.behind;
        self.transaction.fetch(statement, each).await?;
        let next = match is_the_moment {
            true => self.left.lock().expect("no panic").pop(),
            false => None,
        };
        if let Some(next) = next {
            self.transaction.execute(takes(next)).await?;
            if let Some(text) = self.moment.writes {
                let writes = Statement::fixed("test.writes", text, [next.0.into()]);
                self.transaction.execute(writes).await?;
            }
            self.taken.push(next);
        }
        Ok(())
    }
}

#[async_trait]
impl Transaction for TakenTransaction {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.transaction.commit().await
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        self.transaction.rollback().await?;
        let mut transaction = self.database.write().await?;
        for taken in self.taken {
            transaction.execute(takes(taken)).await?;
        }
        transaction.commit().await
    }
}

/// A writer that knows where it left the streams of a fleet, of which others take so many, and how it is done.
async fn writer_beside(fleet: &Fleet, taken: usize) -> (Writer, Arc<Contended>) {
    writer_beside_at(fleet, AT_ONCE, taken).await
}

async fn writer_beside_at(fleet: &Fleet, moment: Moment, taken: usize) -> (Writer, Arc<Contended>) {
    let contended = Contended::new(Arc::clone(&fleet.database), 0);
    let mut writer = writer_on(&contended, fleet.committed.clone());
    let first = batches(&fleet.clusters, &fleet.streams, "1", &objects("1", "web"));
    let first = writer.results(&first).await;
    assert!(first.iter().all(Result::is_ok), "{first:?}");
    contended.begun.store(0, SeqCst);
    writer.database = Arc::new(Taken {
        database: Arc::clone(&contended),
        moment,
        left: Arc::new(Mutex::new(fleet.clusters[..taken].to_vec())),
    });
    (writer, contended)
}

/// A replica more opens the streams of the clusters that fall to it, one transaction after the other, while the one before still writes to all.
#[tokio::test]
async fn streams_that_are_taken_over_one_after_the_other_cost_the_others_one_try() {
    let mut fleet = Fleet::of(32).await;
    fleet.open().await;
    let (mut writer, contended) = writer_beside(&fleet, TRIES).await;
    let work = batches(&fleet.clusters, &fleet.streams, "2", &objects("2", "web"));
    let results = writer.results(&work).await;
    assert_eq!(outcomes(&results), (1, 31));
    assert_eq!(contended.begun.load(SeqCst), 2);
}

/// Whoever took it over has written since the group read a part of it, and what it reads of the rest does not go with that.
#[tokio::test]
async fn what_somebody_else_wrote_meanwhile_is_not_taken_for_damage() {
    let deletes = ["p-1", "p-2", "more"].map(|name| Change::Delete(ObjectKey::new("a", name)));
    for (behind, writes, changes) in [
        // The version that was the newest is not there any more.
        ("obj.old", NO_VERSIONS, &objects("2", "db")[..]),
        // One more is there in the namespace than when that was counted.
        (
            "ns.places",
            "UPDATE obj SET name = 'more', nsid = nsid - 1 WHERE name = 'p-3' AND nsid >> 32 = ?",
            &deletes,
        ),
    ] {
        let moment = Moment {
            behind,
            writes: Some(writes),
        };
        // Alone it would be told so at once.
        for count in [1, 8] {
            let mut fleet = Fleet::of(count).await;
            fleet.open().await;
            let (mut writer, contended) = writer_beside_at(&fleet, moment, 1).await;
            let work = batches(&fleet.clusters, &fleet.streams, "2", changes);
            let results = writer.results(&work).await;
            assert_eq!(outcomes(&results), (1, count - 1), "{behind}");
            assert_eq!(contended.begun.load(SeqCst), 2);
        }
    }
}

/// Of a cluster.
const NO_VERSIONS: &str = "DELETE FROM ver WHERE obj IN (SELECT id FROM obj WHERE nsid >> 32 = ?)";

/// The second try, which holds the stream, finds the same.
#[tokio::test]
async fn what_is_damaged_is_told_so_and_spoils_no_other() {
    let mut fleet = Fleet::of(8).await;
    fleet.open().await;
    let (mut writer, contended) = writer_beside(&fleet, 0).await;
    let mut transaction = contended.database.write().await.expect("a transaction");
    let first = fleet.clusters[0].0.into();
    let damage = Statement::fixed("test.damage", NO_VERSIONS, [first]);
    assert_eq!(transaction.execute(damage).await.expect("done"), 4);
    transaction.commit().await.expect("committed");
    let work = batches(&fleet.clusters, &fleet.streams, "2", &objects("2", "db"));
    let results = writer.results(&work).await;
    for (index, result) in results.iter().enumerate() {
        match result {
            Err(StoreError::Broken { .. }) => assert_eq!(index, 0),
            Ok(Done::Written(_)) => assert_ne!(index, 0),
            other => panic!("{other:?}"),
        }
    }
    // Together, the same held, the first four, each of these, and the others.
    assert_eq!(contended.begun.load(SeqCst), 2 + 1 + 4 + 1);
}

/// How many of a group were refused because their streams are another's, and how many are written. There are no others.
fn outcomes(results: &[Result<Done, StoreError>]) -> (usize, usize) {
    let is_fenced = |result: &Result<Done, StoreError>| match result {
        Err(StoreError::Fenced { .. }) => true,
        Ok(Done::Written(_)) => false,
        other => panic!("{other:?}"),
    };
    let fenced = results.iter().filter(|result| is_fenced(result)).count();
    (fenced, results.len() - fenced)
}

/// Another process that has the database.
async fn another(location: &Location) -> SharedDatabase {
    let other = crate::open::database(location, &Options::default()).await;
    other.expect("a database")
}

/// Numbers of objects for this many more.
async fn ids_for(database: &SharedDatabase, objects: usize) -> ObjectIds {
    let mut ids = ObjectIds::default();
    let mut transaction = database.write().await.expect("a transaction");
    let others = usize::try_from(OBJECT_IDS).expect("few") - objects;
    let taken = ids.next(&mut *transaction, others).await;
    taken.expect("numbers");
    transaction.commit().await.expect("taken");
    ids.settle();
    ids
}

/// Somebody takes a stream over while the group waits for a counter. The next time it holds its streams and waits for numbers of objects, which somebody else has who
/// wants one of the streams: the server ends one of the two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_meets_a_takeover_and_a_deadlock_is_written_before_anybody_hears_of_it() {
    for place in Place::of_each_kind() {
        // In a file nobody else writes.
        let Some(engine) = place.engine() else {
            continue;
        };
        let location = place.location();
        let mut fleet = Fleet::in_place(place, 8).await;
        fleet.open().await;
        meets_both(engine, &location, &fleet).await;
    }
}

async fn meets_both(engine: Engine, location: &Location, fleet: &Fleet) {
    let (holds, takes_one) = (another(location).await, another(location).await);
    let (mut writer, contended) = writer_beside(fleet, 0).await;
    // The second try needs others.
    writer.object_ids = ids_for(&holds, fleet.clusters.len()).await;
    let more = [Change::Put(object("a", "more").build())];
    let work = batches(&fleet.clusters, &fleet.streams, "2", &more);
    let mut holder = holds.write().await.expect("a transaction");
    let counters = Statement::fixed("test.holds", "UPDATE counter SET n = n + 0", []);
    holder.execute(counters).await.expect("held");
    let writing = tokio::spawn(async move { writer.results(&work).await });
    wait_until_a_row_is_waited_for(engine, &holds).await;
    let mut taker = takes_one.write().await.expect("a transaction");
    let taken = taker.execute(takes(fleet.clusters[0])).await;
    assert_eq!(taken.expect("nobody holds it"), 1);
    taker.commit().await.expect("taken over");
    let mut taker = takes_one.write().await.expect("a transaction");
    let numbers = head::take_numbers(Numbered::Object, 1);
    taker.execute(numbers).await.expect("held");
    holder.rollback().await.expect("let go");
    // Until then it may be the counter that is seen to be waited for.
    let again = async {
        while contended.begun.load(SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let again = tokio::time::timeout(Duration::from_secs(60), again).await;
    again.expect("it is tried again");
    wait_until_a_row_is_waited_for(engine, &holds).await;
    let is_taken = taker.execute(takes(fleet.clusters[1])).await.is_ok();
    match is_taken {
        true => taker.commit().await.expect("taken over"),
        false => taker.rollback().await.expect("let go"),
    }
    let results = writing.await.expect("no panic");
    let fenced = 1 + usize::from(is_taken);
    assert_eq!(outcomes(&results), (fenced, 8 - fenced));
    // Where it is the group that is ended, it may have the stream again before whoever waits for it, and meet the same once more. And where this takes long it has
    // waited for the numbers as long as one may, and begins anew.
    let begun = contended.begun.load(SeqCst);
    let expected = if is_taken { 3..=4 } else { 2..=3 };
    assert!(expected.contains(&begun), "{begun} for {expected:?}");
}
