//! On a database that does what a test says.

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::time;

use super::*;
use crate::backend::error::{Class, classified, collided};
use crate::backend::gate::JUST;

/// What it does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Work,
    /// Nothing can be begun.
    Fail,
    /// It does not answer for ten seconds, as a pool would wait.
    Hang,
    /// It has no place for one more connection.
    BeFull,
    /// All connections are with others for long.
    BeCrowded,
    /// It was replaced.
    BeGone,
    /// Nothing can be written.
    RefuseWrites,
    /// All can be written, and nothing committed.
    RefuseCommits,
    /// Writers collide.
    Collide,
}

struct Double {
    does: Mutex<Does>,
    begun: AtomicUsize,
}

fn unavailable(reason: &str) -> StoreError {
    StoreError::Unavailable {
        reason: reason.to_owned(),
        source: "no route to host".into(),
    }
}

impl Double {
    fn does(&self) -> Does {
        *self.does.lock().expect("no panic")
    }

    fn now(&self, does: Does) {
        *self.does.lock().expect("no panic") = does;
    }

    async fn begin(&self) -> Result<Box<dyn Transaction>, StoreError> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        match self.does() {
            Does::Fail => Err(unavailable("a connection was not made")),
            Does::Hang => {
                time::sleep(Duration::from_secs(10)).await;
                Err(unavailable("nobody gave a connection back"))
            }
            Does::BeFull => {
                let full = sqlx::Error::PoolTimedOut;
                Err(classified("connecting", full, Class::Full))
            }
            Does::BeCrowded => {
                let crowded = sqlx::Error::PoolTimedOut;
                Err(classified("taking a connection", crowded, Class::Passing))
            }
            Does::BeGone => Err(StoreError::Gone {
                reason: "the file was replaced".into(),
            }),
            does => Ok(Box::new(Ours(does))),
        }
    }
}

#[async_trait]
impl Database for Double {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
    async fn read(&self, _: Lane) -> Result<Box<dyn Transaction>, StoreError> {
        self.begin().await
    }
    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        self.begin().await
    }
    fn note_committed(&self, _: &str, _: i64) {}
    async fn catch_up(&self) {}
    async fn rest(&self) {}
    async fn close(&self) {}
}

struct Ours(Does);

#[async_trait]
impl Connection for Ours {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
    async fn execute(&mut self, _: Statement) -> Result<u64, StoreError> {
        match self.0 {
            Does::RefuseWrites => Err(unavailable("the disk is full")),
            Does::Collide => Err(collided("a row was taken")),
            _ => Ok(1),
        }
    }
    async fn fetch(&mut self, _: Statement, _: RowSink<'_>) -> Result<(), StoreError> {
        match self.0 {
            Does::Collide => Err(collided("a table was locked")),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Transaction for Ours {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        match self.0 {
            Does::RefuseWrites | Does::RefuseCommits => Err(unavailable("no standby has got it")),
            _ => Ok(()),
        }
    }
    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

fn database() -> (Arc<Double>, GuardedDatabase) {
    let double = Arc::new(Double {
        does: Mutex::new(Does::Work),
        begun: AtomicUsize::new(0),
    });
    let guarded = GuardedDatabase::new(Arc::<Double>::clone(&double));
    (double, guarded)
}

async fn read(database: &GuardedDatabase) -> Result<(), StoreError> {
    let begun = database.read(Lane::Search).await?;
    begun.rollback().await
}

async fn write(database: &GuardedDatabase) -> Result<(), StoreError> {
    let mut begun = database.write().await?;
    begun.execute(crate::sql::head::select()).await?;
    begun.commit().await
}

#[tokio::test(start_paused = true)]
async fn while_a_database_hangs_reads_are_refused_at_once() {
    let (double, database) = database();
    read(&database).await.expect("it works");
    double.now(Does::Hang);
    let first = read(&database).await.expect_err("nobody knew");
    assert!(first.is_told(), "{first}");
    let begun = time::Instant::now();
    for _ in 0..1000 {
        let refused = read(&database).await.expect_err("it hangs");
        assert!(refused.is_told() && refused.is_transient(), "{refused}");
    }
    assert_eq!(begun.elapsed(), Duration::ZERO, "nobody waited");
    assert_eq!(double.begun.load(Ordering::Relaxed), 2);
    let known = database.availability();
    assert_eq!(
        (known.reads, known.outages, known.refused),
        (false, 1, 1000)
    );
    assert!(known.writes, "nobody wrote");
}

#[tokio::test(start_paused = true)]
async fn a_database_that_comes_back_is_found_by_one_try_that_nobody_waits_for() {
    let (double, database) = database();
    double.now(Does::Hang);
    read(&database).await.expect_err("it hangs");
    double.now(Does::Work);
    let begun = time::Instant::now();
    while read(&database).await.is_err() {
        time::sleep(Duration::from_millis(10)).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(1));
    let known = database.availability();
    assert!(known.reads && known.outages == 1, "{known:?}");
    assert_eq!(double.begun.load(Ordering::Relaxed), 3, "one try");
}

#[tokio::test(start_paused = true)]
async fn a_database_that_comes_back_is_told_of_though_nobody_searches() {
    let (double, database) = database();
    double.now(Does::Fail);
    read(&database).await.expect_err("it fails");
    double.now(Does::Work);
    let begun = time::Instant::now();
    while !database.availability().reads {
        assert!(begun.elapsed() < Duration::from_secs(1));
        time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(double.begun.load(Ordering::Relaxed), 2, "one try");
    assert_eq!(database.availability().refused, 0, "nobody came");
}

/// A standby has nothing to write.
#[tokio::test(start_paused = true)]
async fn a_database_that_can_be_written_to_again_is_told_of_though_nobody_writes() {
    let (double, database) = database();
    double.now(Does::RefuseWrites);
    let mut begun = database.write().await.expect("begun");
    let written = begun.execute(head::advance(1)).await;
    assert!(written.expect_err("refused").is_told());
    drop(begun);
    time::sleep(Duration::from_secs(30)).await;
    assert!(!database.availability().writes, "it is tried");
    time::sleep(Duration::from_secs(30)).await;
    assert!(!database.availability().writes, "in vain");
    double.now(Does::Work);
    assert!(
        !database.availability().writes,
        "whoever writes may come first"
    );
    let begun = time::Instant::now();
    while !database.availability().writes {
        assert!(begun.elapsed() < Duration::from_secs(20));
        time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(database.availability().outages, 1);
}

/// Each search asks how the store is.
#[tokio::test(start_paused = true)]
async fn a_try_that_is_answered_with_something_else_is_not_made_anew_at_once() {
    let (double, database) = database();
    double.now(Does::RefuseWrites);
    let mut begun = database.write().await.expect("begun");
    begun.execute(head::advance(1)).await.expect_err("refused");
    drop(begun);
    double.now(Does::Collide);
    let before = double.begun.load(Ordering::Relaxed);
    for _ in 0..6000 {
        assert!(!database.availability().writes);
        time::sleep(Duration::from_millis(10)).await;
    }
    let tries = double.begun.load(Ordering::Relaxed) - before;
    assert!((1..=6).contains(&tries), "{tries} in a minute");
}

#[tokio::test(start_paused = true)]
async fn what_no_time_mends_is_told_to_who_comes_although_reading_was_in_trouble() {
    let (double, database) = database();
    double.now(Does::Fail);
    read(&database).await.expect_err("it fails");
    double.now(Does::BeGone);
    let begun = time::Instant::now();
    loop {
        let refused = read(&database).await.expect_err("it is gone");
        if matches!(refused, StoreError::Gone { .. }) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(1), "{refused}");
        time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_connection_too_many_keeps_nobody_from_those_that_there_are() {
    for crowd in [Does::BeFull, Does::BeCrowded] {
        let (double, database) = database();
        read(&database).await.expect("it works");
        double.now(crowd);
        let refused = read(&database).await.expect_err("it is one too many");
        assert!(refused.is_transient() && !refused.is_told(), "{crowd:?}");
        double.now(Does::Work);
        read(&database).await.expect("one that was there");
        assert_eq!(database.availability().outages, 0);
        double.now(crowd);
        time::sleep(JUST).await;
        let refused = read(&database).await.expect_err("none is given back");
        assert!(refused.is_told() && !database.availability().reads);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_no_place_at_all_is_in_trouble() {
    let (double, database) = database();
    read(&database).await.expect("it works");
    write(&database).await.expect("it works");
    double.now(Does::BeFull);
    write(&database).await.expect_err("all is written over one");
    assert!(!database.availability().writes);
    time::sleep(JUST).await;
    let refused = read(&database).await.expect_err("none is left");
    assert!(refused.is_told() && !database.availability().reads);
    let begun = time::Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        read(&database).await.expect_err("none is left");
        time::sleep(Duration::from_millis(10)).await;
    }
    let known = database.availability();
    assert_eq!((known.reads, known.outages), (false, 2), "{known:?}");
    double.now(Does::Work);
    while read(&database).await.is_err() {
        time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_database_that_cannot_be_written_is_read_and_tried_now_and_then() {
    let (double, database) = database();
    double.now(Does::RefuseWrites);
    let first = write(&database).await.expect_err("it is full");
    assert!(first.is_told(), "{first}");
    let mut tried = 0;
    for _ in 0..600 {
        let before = double.begun.load(Ordering::Relaxed);
        write(&database).await.expect_err("it is full");
        tried += double.begun.load(Ordering::Relaxed) - before;
        time::sleep(Duration::from_millis(100)).await;
    }
    assert!((10..40).contains(&tried), "{tried} in a minute");
    read(&database).await.expect("it can be read");
    double.now(Does::Work);
    time::sleep(Duration::from_secs(5)).await;
    write(&database).await.expect("the first try is a write");
    write(&database).await.expect("it works");
    let known = database.availability();
    assert!(known.writes && known.outages == 1, "{known:?}");
}

/// As where a standby is away, whoever writes: a batch, or a number that is to say whether it is over.
#[tokio::test(start_paused = true)]
async fn a_database_that_commits_nothing_cannot_be_written_to() {
    let (double, database) = database();
    double.now(Does::RefuseCommits);
    let refused = write(&database).await.expect_err("it is not committed");
    assert!(refused.is_told(), "{refused}");
    for tries in 2..=4 {
        while double.begun.load(Ordering::Relaxed) < tries {
            assert!(!database.availability().writes);
            time::sleep(Duration::from_millis(100)).await;
        }
    }
    let known = database.availability();
    assert_eq!((known.reads, known.writes, known.outages), (true, false, 1));
    double.now(Does::Work);
    while !database.availability().writes {
        time::sleep(Duration::from_millis(100)).await;
    }
}

/// A disk that is full, or a standby that is away, is not in the way of that.
#[tokio::test(start_paused = true)]
async fn a_transaction_that_wrote_nothing_does_not_say_that_the_store_can_be_written_to() {
    let (double, database) = database();
    double.now(Does::RefuseWrites);
    write(&database).await.expect_err("it is full");
    time::sleep(Duration::from_secs(1)).await;
    double.now(Does::Work);
    for _ in 0..2 {
        let mut begun = database.write().await.expect("a try");
        let mut seen = |_: &dyn Row| Ok(());
        let looked = begun.fetch(crate::sql::head::select(), &mut seen);
        looked.await.expect("it can be read");
        begun.commit().await.expect("it was nothing");
        assert!(!database.writes.gate().is_well());
    }
    write(&database).await.expect("a try as well");
    assert!(database.availability().writes);
}

#[tokio::test(start_paused = true)]
async fn writers_who_meet_are_no_trouble_and_a_try_without_an_answer_is_made_anew() {
    let (double, database) = database();
    double.now(Does::Collide);
    let collided = write(&database).await.expect_err("they met");
    assert!(is_collision(&collided) && !collided.is_told());
    assert!(database.availability().writes);
    double.now(Does::Fail);
    write(&database).await.expect_err("it fails");
    double.now(Does::Collide);
    time::sleep(Duration::from_secs(1)).await;
    for _ in 0..2 {
        let collided = write(&database).await.expect_err("a try of its own");
        assert!(is_collision(&collided), "{collided}");
    }
    double.now(Does::Work);
    write(&database).await.expect("it works");
    assert!(database.availability().writes);
}

#[tokio::test]
async fn a_database_that_is_closed_in_order_is_no_outage() {
    let (double, database) = database();
    database.close().await;
    double.now(Does::Fail);
    for _ in 0..2 {
        let refused = read(&database).await.expect_err("it is closed");
        assert!(refused.to_string().contains("a connection was not made"));
    }
}

/// It is not the connections that are in trouble, so who finds none for themselves is alone with that.
#[tokio::test(start_paused = true)]
async fn a_lock_that_is_in_the_way_as_a_read_begins_says_that_the_database_answers() {
    let (double, database) = database();
    read(&database).await.expect("it works");
    time::advance(JUST).await;
    double.now(Does::Collide);
    let mut seen = |_: &dyn Row| Ok(());
    let begun = database.read_with(Lane::Search, crate::sql::head::select(), &mut seen);
    assert!(begun.await.is_err_and(|err| is_collision(&err)));
    double.now(Does::BeCrowded);
    read(&database).await.expect_err("all are with others");
    assert!(database.availability().reads);
}
