//! How many statements a transaction takes: a figure that grows with rows, not with orders; and in which order it locks rows. On SQLite, and on servers
//! where they have statements of their own.

mod behind;
mod labels;
mod purge;
mod refused;
mod room;
mod taken_over;
mod together;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use armadex_model::{ClusterLabels, ObjectKey, ResourceType};
use armadex_storage::conformance::{RULES, object, resource};
use armadex_storage::{Batch, Change, ClusterId, Health, MemberPosition, Phase, Purged, Stream};
use async_trait::async_trait;
use tokio::sync::oneshot;

use super::division::{ALIKE, fails_alike, samples};
use super::*;
use crate::backend::error::broken;
use crate::backend::several::place::Place;
use crate::backend::{Connection, Database, Lane, Row, RowSink, row, rows};
use crate::form::codec::{Dictionary, Family};
use crate::form::dictionaries::Mark;
use crate::form::term::TermHasher;
use crate::location::Location;
use crate::options::{History, Options};
use crate::sql::dialect::Dialect;
use crate::sql::head::{self, Numbered};
use crate::sql::statement::Statement;
use crate::sql::stream;
use crate::write::history::HistoryKnown;
use crate::write::numbers::hold_up;
use crate::write::prepare::prepare;
use crate::write::queue::queue;

fn passing(what: &str) -> StoreError {
    StoreError::Unavailable {
        reason: what.to_owned(),
        source: what.into(),
    }
}

fn pods() -> ResourceType {
    resource("", "pods", "Pod", true)
}

/// A connection that counts statements, and blocks of the index, and notes in which tables rows are locked.
struct Counted<'a> {
    connection: &'a mut dyn Connection,
    statements: usize,
    /// What those were called that found rows.
    asked: Vec<&'static str>,
    /// That were read or written.
    blocks: u64,
    /// In the order in which they were first.
    tables: Vec<String>,
}

impl Counted<'_> {
    fn note(&mut self, table: &str) {
        if self.tables.iter().all(|known| known != table) {
            self.tables.push(table.to_owned());
        }
    }
}

/// The table that a statement writes to.
fn table(sql: &str) -> Option<&str> {
    let words: Vec<&str> = sql.split_whitespace().collect();
    words
        .windows(2)
        .find_map(|pair| match *pair {
            ["UPDATE", "SET"] => None,
            // What is changed by rows that stand in the text: the other table of the two.
            ["UPDATE", "(SELECT"] => {
                let joined = words.iter().position(|word| *word == "STRAIGHT_JOIN")?;
                words.get(joined + 1).copied()
            }
            ["INTO" | "UPDATE", table] => Some(table),
            _ => None,
        })
        .or_else(|| sql.strip_prefix("DELETE FROM ")?.split(' ').next())
}

#[async_trait]
impl Connection for Counted<'_> {
    fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.statements += 1;
        let table = table(&statement.sql).unwrap_or_else(|| panic!("{statement}"));
        self.note(table);
        let is_of_index = table == "post";
        let touched = self.connection.execute(statement).await?;
        self.blocks += if is_of_index { touched } else { 0 };
        Ok(touched)
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        self.statements += 1;
        self.asked.push(statement.name);
        if let Some(table) = statement.name.strip_suffix(".hold") {
            self.note(table);
        }
        let is_of_index = statement.name.starts_with("post.");
        let blocks = &mut self.blocks;
        let mut counted = |row: &dyn Row| {
            *blocks += u64::from(is_of_index);
            each(row)
        };
        self.connection.fetch(statement, &mut counted).await
    }
}

/// A fleet of clusters with a stream each.
struct Fleet {
    database: SharedDatabase,
    object_ids: ObjectIds,
    labels: LabelKeys,
    committed: Committed,
    clusters: Vec<ClusterId>,
    streams: Vec<Stream>,
    watch_window: Duration,
    past: PastKnown,
    lease: Lease,
    left_off: LeftOff,
    tenures: Tenures,
    portions: Portions,
    /// What all statements that found rows were called.
    asked: Vec<&'static str>,
    /// Blocks of the index that all transactions read or wrote.
    blocks: u64,
    /// The tables of which the last transaction wrote or held rows.
    tables: Vec<String>,
    place: Place,
}

impl Fleet {
    async fn of(count: usize) -> Self {
        Self::in_place(Place::in_a_file(), count).await
    }

    async fn in_place(place: Place, count: usize) -> Self {
        let database = crate::open::database(&place.location(), &Options::default()).await;
        let database = database.expect("a database");
        let mut transaction = database.read(Lane::Short).await.expect("a reader");
        let head = head_row::read(&mut *transaction).await.expect("a head");
        transaction.rollback().await.expect("ended");
        let mut fleet = Self {
            database,
            object_ids: ObjectIds::default(),
            labels: LabelKeys::new(4096),
            committed: Committed::at(&head),
            clusters: vec![],
            streams: vec![],
            watch_window: Duration::ZERO,
            past: PastKnown::new(0, None),
            lease: Lease::new(Duration::ZERO),
            left_off: LeftOff::default(),
            tenures: Tenures::default(),
            portions: Portions::default(),
            asked: vec![],
            blocks: 0,
            tables: vec![],
            place,
        };
        let joins = (0..count).map(|number| {
            let name = format!("c-{number:03}").parse().expect("a name");
            Work::Join(name, "uid".into(), String::new())
        });
        for done in fleet.carry_out(joins.collect()).await.0 {
            let Done::Joined(cluster) = done else {
                panic!("{done:?}")
            };
            fleet.clusters.push(cluster);
        }
        fleet
    }

    /// Carries orders out in one transaction; says how many statements that took.
    async fn carry_out(&mut self, work: Vec<Work>) -> (Vec<Done>, usize) {
        self.try_to_carry_out(&work).await.expect("done")
    }

    /// The same, or why that was refused.
    async fn try_to_carry_out(&mut self, work: &[Work]) -> Result<(Vec<Done>, usize), StoreError> {
        let mut transaction = self.database.write().await.expect("a transaction");
        let mut counted = Counted {
            connection: &mut *transaction,
            statements: 0,
            asked: vec![],
            blocks: 0,
            tables: vec![],
        };
        let mut session = Session {
            connection: &mut counted,
            dialect: self.database.dialect(),
            object_ids: &mut self.object_ids,
            labels: &mut self.labels,
            portions: &self.portions,
            watch_window: self.watch_window,
            past: &mut self.past,
            lease: &mut self.lease,
            left_off: &mut self.left_off,
            unanswered: &Unanswered::default(),
            instant: Instant::now(),
            now: 1,
            committed: self.committed.clone(),
            shown: Shown::default(),
            catalog: CatalogChange::default(),
        };
        let done = do_all(&mut session, &self.tenures, work).await;
        self.committed = session.committed;
        let statements = counted.statements;
        self.asked.append(&mut counted.asked);
        self.blocks += counted.blocks;
        self.tables = counted.tables;
        let done = finish(transaction, done).await;
        match done {
            Ok(_) => self.left_off.settle(),
            Err(_) => self.left_off.forget(),
        }
        let done = done?.0;
        self.tenures.note(work, &done);
        Ok((done, statements))
    }

    /// Opens every stream at once.
    async fn open(&mut self) -> usize {
        let openings = self.clusters.iter().copied().map(opening);
        let (done, statements) = self.carry_out(openings.collect()).await;
        self.streams = done
            .into_iter()
            .map(|done| match done {
                Done::Opened(Ok(stream)) => stream,
                other => panic!("{other:?}"),
            })
            .collect();
        statements
    }

    /// Writes a batch of the same changes to every stream.
    async fn write(&mut self, version: &str, changes: &[Change]) -> usize {
        let work = batches(&self.clusters, &self.streams, version, changes);
        self.carry_out(work).await.1
    }
}

fn opening(cluster: ClusterId) -> Work {
    Work::Open(Opening {
        cluster,
        owner: String::new(),
        resource: pods(),
        rules: RULES,
    })
}

/// A batch of the same changes for every stream.
fn batches(
    clusters: &[ClusterId],
    streams: &[Stream],
    version: &str,
    changes: &[Change],
) -> Vec<Work> {
    let batches = clusters.iter().zip(streams);
    let batches = batches.map(|(cluster, stream)| {
        let batch = Batch {
            cluster: *cluster,
            resource: stream.resource,
            epoch: stream.epoch,
            rules: RULES,
            whole: true,
            changes: changes.to_vec(),
            position: Some(MemberPosition {
                resource_version: version.into(),
                member: "member".into(),
                phase: Phase::Live,
            }),
        };
        Work::Write(prepared(batch))
    });
    batches.collect()
}

fn prepared(batch: Batch) -> Prepared {
    let hasher = TermHasher::new([7; 16]);
    let prepared = prepare(
        batch,
        &Dictionary::BuiltIn(Family::of(&pods().gvr)),
        &hasher,
    );
    prepared.expect("prepared")
}

/// Four objects in two namespaces, with a label each.
fn objects(version: &str, label: &str) -> Vec<Change> {
    let names = [("a", "p-1"), ("a", "p-2"), ("b", "p-3"), ("b", "p-4")];
    let put = |(namespace, name)| {
        let object = object(namespace, name).version(version);
        Change::Put(object.label("app", label).build())
    };
    names.map(put).into()
}

/// Statements of opening, a first list, the same again, other labels, deletion, and the purge of what is left.
async fn statements(place: Place, clusters: usize) -> [usize; 6] {
    let mut fleet = Fleet::in_place(place, clusters).await;
    let opened = fleet.open().await;
    let listed = fleet.write("1", &objects("1", "web")).await;
    let same = fleet.write("1", &objects("1", "web")).await;
    let changed = fleet.write("2", &objects("2", "db")).await;
    let gone = ["p-1", "p-2"].map(|name| Change::Delete(ObjectKey::new("a", name)));
    let deleted = fleet.write("3", &gone).await;
    let closes = fleet.clusters.iter().zip(&fleet.streams);
    let closes =
        closes.map(|(cluster, stream)| Work::Close(*cluster, Some(String::new()), stream.resource));
    fleet.carry_out(closes.collect()).await;
    let (done, purged) = fleet
        .carry_out(vec![Work::Purge(500, Duration::ZERO)])
        .await;
    let Done::Purged(Purged {
        objects, finished, ..
    }) = done[0]
    else {
        panic!("{done:?}")
    };
    assert_eq!((objects, finished), (2 * clusters as u64, true));
    [opened, listed, same, changed, deleted, purged]
}

#[tokio::test]
async fn what_fifty_streams_do_at_once_takes_hardly_more_statements_than_what_one_does() {
    for (place, other) in Place::of_each_kind().zip(Place::of_each_kind()) {
        let (one, fifty) = (statements(place, 1).await, statements(other, 50).await);
        for (one, fifty) in one.into_iter().zip(fifty) {
            // Rows past 16 come in pieces where a statement has a parameter for each value, which is everywhere but on PostgreSQL: so each table may take a few
            // statements more.
            assert!(fifty <= 2 * one + 2, "{fifty} instead of {one}");
        }
    }
}

/// Rows were locked in tables of the list alone, and in its order.
#[track_caller]
fn assert_locked(fleet: &Fleet, order: &[&str]) {
    let known = order
        .iter()
        .filter(|table| fleet.tables.iter().any(|one| one == *table));
    assert_eq!(fleet.tables, known.copied().collect::<Vec<_>>());
}

#[tokio::test]
async fn rows_are_locked_in_the_order_that_is_written_down() {
    for place in Place::of_each_kind() {
        locks_in_order(Fleet::in_place(place, 3).await).await;
    }
}

/// Writes a batch to every stream, and says something new of every cluster's health.
async fn write_and_say(fleet: &mut Fleet, version: &str, changes: &[Change]) {
    let mut work = batches(&fleet.clusters, &fleet.streams, version, changes);
    let health = Health {
        healthy: false,
        reason: version.to_owned(),
    };
    let said = fleet.clusters.iter();
    work.extend(said.map(|&cluster| Work::Health(cluster, String::new(), health.clone(), None)));
    fleet.carry_out(work).await;
    assert_eq!(fleet.tables[0], "cluster", "their owner is held");
}

/// Their owner is held, and that it is this process of his.
#[track_caller]
fn assert_owner_is_held(fleet: &Fleet) {
    assert_eq!(fleet.tables[..2], ["tenure", "cluster"]);
}

async fn locks_in_order(mut fleet: Fleet) {
    use crate::write::{LOCK_ORDER, LOCK_ORDER_OF_UNKNOWN, PRUNE_ORDER, PURGE_ORDER};
    fleet
        .carry_out(vec![Work::Begin(String::new(), CancellationToken::new())])
        .await;
    assert_eq!(fleet.tables, ["tenure", "owner"]);
    fleet.open().await;
    assert_owner_is_held(&fleet);
    fleet.watch_window = Duration::from_secs(3600);
    write_and_say(&mut fleet, "1", &objects("1", "web")).await;
    assert_eq!(fleet.tables, LOCK_ORDER_OF_UNKNOWN[1..]);
    // Numbers of objects are taken for many.
    fleet.object_ids = ObjectIds::default();
    let more = ["a", "c"].map(|namespace| object(namespace, "more").label("app", "web"));
    let more = more.map(|object| Change::Put(object.build()));
    write_and_say(&mut fleet, "1-more", &more).await;
    assert_eq!(fleet.tables, LOCK_ORDER[1..]);
    write_and_say(&mut fleet, "2", &objects("2", "db")).await;
    assert_locked(&fleet, &LOCK_ORDER);
    let gone = [("a", "p-1"), ("a", "p-2"), ("b", "p-3")];
    let gone = gone.map(|(namespace, name)| Change::Delete(ObjectKey::new(namespace, name)));
    write_and_say(&mut fleet, "3", &gone).await;
    assert_locked(&fleet, &LOCK_ORDER);
    let last = objects("4", "db").split_off(3);
    let mut closes = batches(&fleet.clusters, &fleet.streams, "4", &last);
    // The first one leaves as it is.
    let streams = fleet.clusters.iter().zip(&fleet.streams).skip(1);
    closes.extend(
        streams
            .map(|(cluster, stream)| Work::Close(*cluster, Some(String::new()), stream.resource)),
    );
    fleet.carry_out(closes).await;
    assert_owner_is_held(&fleet);
    assert_locked(&fleet, &LOCK_ORDER);
    let leaves = Work::Leave("c-000".parse().expect("a name"), "uid".into());
    fleet.carry_out(vec![leaves]).await;
    // What else is told with it holds clusters, for which whoever joins waits with the numbers in hand.
    assert!(!fleet.tables.contains(&"allocation".to_owned()));
    fleet.watch_window = Duration::ZERO;
    let mut orders = vec![];
    loop {
        let (done, _) = fleet
            .carry_out(vec![Work::Purge(500, Duration::ZERO)])
            .await;
        // A step that has the head for what is past does nothing else.
        match fleet.past.pruned {
            Some(_) => assert_locked(&fleet, &PRUNE_ORDER),
            None => assert_locked(&fleet, &PURGE_ORDER),
        }
        orders.extend(std::mem::take(&mut fleet.tables));
        // What the last but one noted the last finds to be past.
        let met_types = orders.iter().any(|table| table == "unposted");
        if let [Done::Purged(Purged { finished: true, .. })] = done[..]
            && met_types
        {
            break;
        }
        assert!(orders.len() < 1000, "{orders:?}");
    }
    let met = |table: &str| orders.iter().any(|one| one == table);
    let mut all = PURGE_ORDER.iter();
    assert!(all.all(|table| met(table)), "{orders:?}");
}

#[tokio::test]
async fn rows_of_what_is_past_are_locked_in_the_order_that_is_written_down() {
    for place in Place::of_each_kind() {
        locks_what_is_past_in_order(Fleet::in_place(place, 3).await).await;
    }
}

async fn locks_what_is_past_in_order(mut fleet: Fleet) {
    use crate::write::PRUNE_ORDER;
    fleet.open().await;
    fleet.watch_window = Duration::from_secs(3600);
    fleet.write("1", &objects("1", "web")).await;
    let gone = [Change::Delete(ObjectKey::new("a", "p-1"))];
    fleet.write("2", &gone).await;
    fleet.watch_window = Duration::ZERO;
    fleet.past.history = HistoryKnown::new(Some(History {
        of: vec![(String::new(), "pods".to_owned())],
        window: Duration::ZERO,
        bytes: 0,
    }));
    let mut met = vec![];
    for _ in 0..10 {
        let purge = vec![Work::Purge(500, Duration::ZERO)];
        fleet.carry_out(purge).await;
        if fleet.past.pruned.is_some() {
            assert_locked(&fleet, &PRUNE_ORDER);
            met.append(&mut fleet.tables);
        }
    }
    assert!(
        PRUNE_ORDER
            .iter()
            .all(|table| met.iter().any(|one| one == table)),
        "{met:?}"
    );
}

/// A database that counts its transactions, of which one finds it rewound, or the first meet another one, and which refuses more, or is away, after so many.
struct Contended {
    database: SharedDatabase,
    rewound_at: AtomicUsize,
    collisions: AtomicUsize,
    begun: AtomicUsize,
    refuses_after: AtomicUsize,
    away_after: AtomicUsize,
}

impl Contended {
    fn new(database: SharedDatabase, collisions: usize) -> Arc<Self> {
        Arc::new(Self {
            database,
            rewound_at: AtomicUsize::new(usize::MAX),
            collisions: collisions.into(),
            begun: AtomicUsize::new(0),
            refuses_after: AtomicUsize::new(usize::MAX),
            away_after: AtomicUsize::new(usize::MAX),
        })
    }
}

#[async_trait]
impl Database for Contended {
    fn dialect(&self) -> crate::sql::dialect::Dialect {
        self.database.dialect()
    }

    async fn read(&self, lane: crate::backend::Lane) -> Result<Box<dyn Transaction>, StoreError> {
        self.database.read(lane).await
    }

    async fn write(&self) -> Result<Box<dyn Transaction>, StoreError> {
        let begun = self.begun.fetch_add(1, SeqCst);
        if begun >= self.refuses_after.load(SeqCst) {
            return Err(broken("it refuses"));
        }
        if begun >= self.away_after.load(SeqCst) {
            return Err(passing("it is away"));
        }
        if begun == self.rewound_at.load(SeqCst) {
            return Err(incarnation::rewound());
        }
        if is_left(&self.collisions) {
            return Err(crate::backend::error::collided("it was in the way"));
        }
        self.database.write().await
    }

    fn note_committed(&self, incarnation: &str, revision: i64) {
        self.database.note_committed(incarnation, revision);
    }

    async fn catch_up(&self) {
        self.database.catch_up().await;
    }

    async fn rest(&self) {}

    async fn close(&self) {
        self.database.close().await;
    }
}

/// Takes one of what is left, if anything is.
fn is_left(count: &AtomicUsize) -> bool {
    let one_less = |left: usize| left.checked_sub(1);
    count.fetch_update(SeqCst, SeqCst, one_less).is_ok()
}

fn writer_on(database: &Arc<impl Database + 'static>, committed: Committed) -> Writer {
    Writer {
        is_over: false,
        database: Arc::clone(database) as SharedDatabase,
        portions: Portions::default(),
        watch_window: Duration::ZERO,
        past: PastKnown::new(0, None),
        lease: Lease::new(Duration::ZERO),
        left_off: LeftOff::default(),
        tenures: Tenures::default(),
        unanswered: Unanswered::default(),
        rest: Options::default().rest,
        labels: LabelKeys::new(4096),
        object_ids: ObjectIds::default(),
        seen: Arc::new(Seen::new(committed.clone())),
        committed,
    }
}

#[tokio::test]
async fn work_that_met_another_transaction_is_done_anew_a_few_times() {
    for (collisions, succeeds) in [(TRIES - 1, true), (TRIES, false)] {
        let fleet = Fleet::of(0).await;
        let database = Contended::new(fleet.database, collisions);
        let mut writer = writer_on(&database, fleet.committed);
        let joined = Work::Join("m".parse().expect("a name"), "uid".into(), String::new());
        let results = writer.results(&[joined]).await;
        match &results[..] {
            [Ok(Done::Joined(_))] => assert!(succeeds),
            [Err(err)] => assert!(!succeeds && err.is_transient(), "{err}"),
            other => panic!("{other:?}"),
        }
    }
}

/// Both wait for the writer when it looks.
#[tokio::test]
async fn a_stream_that_is_opened_again_behind_its_closing_is_open() {
    let mut fleet = Fleet::of(1).await;
    fleet.open().await;
    let (cluster, resource) = (fleet.clusters[0], fleet.streams[0].resource);
    let database = Contended::new(fleet.database, 0);
    let writer = writer_on(&database, fleet.committed);
    let (orders, waiting) = queue(2);
    let close = Work::Close(cluster, Some(String::new()), resource);
    let mut answers = vec![];
    for work in [close, opening(cluster)] {
        let (reply, answer) = oneshot::channel();
        assert!(orders.give(Order { work, reply }).await);
        answers.push(answer);
    }
    drop(orders);
    writer.run(waiting, CancellationToken::new()).await;
    for answer in answers {
        answer.await.expect("an answer").expect("done");
    }
    let mut reader = database.read(Lane::Short).await.expect("a reader");
    let streams = stream::of_cluster(cluster.0);
    let streams = rows(&mut *reader, streams, stream::decode).await;
    let open = streams
        .expect("streams")
        .iter()
        .filter(|row| row.is_open)
        .count();
    assert_eq!(open, 1);
}

/// Where there are several servers, the next one may have lost nothing.
#[tokio::test]
async fn of_a_group_that_found_the_database_rewound_nothing_is_tried_one_by_one() {
    let fleet = Fleet::of(0).await;
    let database = Contended::new(fleet.database, 0);
    database.rewound_at.store(0, SeqCst);
    let mut writer = writer_on(&database, fleet.committed);
    let join = |name: &str| Work::Join(name.parse().expect("a name"), "uid".into(), String::new());
    let results = writer.results(&[join("m"), join("n")]).await;
    for result in &results {
        assert!(matches!(result, Err(StoreError::Gone { .. })), "{result:?}");
    }
    assert!(writer.is_over);
    assert_eq!(database.begun.load(SeqCst), 1);
}

/// What a group of orders, more than are tried to see whether all are refused, is told on a store that was harmed: the same each.
async fn told_after(harm: Harm) -> String {
    let fleet = Fleet::of(0).await;
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    match harm {
        Harm::Removed => {
            let Location::Sqlite(path) = fleet.place.location() else {
                panic!("a file")
            };
            std::fs::remove_file(path).expect("gone");
        }
        Harm::Statement(sql) => run(&database, sql).await,
    }
    let names = (0..2 * ALIKE).map(|number| format!("c-{number}").parse().expect("a name"));
    let joins = names.map(|name| Work::Join(name, "uid".into(), String::new()));
    let results = writer.results(&joins.collect::<Vec<_>>()).await;
    assert!(writer.is_over);
    assert_eq!(database.begun.load(SeqCst), 1, "nothing is tried again");
    let told = results.into_iter();
    let told = told.map(|result| result.expect_err("refused").to_string());
    let mut told: Vec<String> = told.collect();
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    told.remove(0)
}

/// What somebody does to a store that is in use.
enum Harm {
    Removed,
    Statement(&'static str),
}

#[tokio::test]
async fn each_of_a_group_hears_why_nothing_is_written_any_more() {
    for (harm, why) in [
        (Harm::Removed, "was removed while it was in use"),
        (
            Harm::Statement("UPDATE head SET serves = 1000"),
            "use a newer binary",
        ),
        (
            Harm::Statement("UPDATE head SET incarnation = 'other'"),
            "was restored",
        ),
    ] {
        let told = told_after(harm).await;
        assert!(told.contains(why), "{told}");
    }
}

/// Runs a statement of somebody else's.
async fn run(database: &Contended, sql: &'static str) {
    let mut transaction = database.database.write().await.expect("a transaction");
    let statement = Statement::fixed("test.harm", sql, []);
    transaction.execute(statement).await.expect("done");
    transaction.commit().await.expect("committed");
}

/// A transaction after it might be one on a server that has lost nothing.
#[tokio::test]
async fn a_database_that_lost_what_was_written_is_given_up_in_the_transaction_that_finds_it_out() {
    let mut fleet = Fleet::of(1).await;
    fleet.open().await;
    let (former, batch) = (
        fleet.committed.clone(),
        batches(&fleet.clusters, &fleet.streams, "1", &[]).remove(0),
    );
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, former.clone());
    assert!(writer.results(&[batch]).await[0].is_ok());
    // Somebody else has led the head past what this one remembers.
    run(&database, "UPDATE stream SET rv = ''").await;
    let begun = database.begun.load(SeqCst);
    let batch = batches(&fleet.clusters, &fleet.streams, "2", &[]).remove(0);
    let refused = writer.results(&[batch]).await;
    assert!(
        matches!(refused[0], Err(StoreError::Gone { .. })),
        "{refused:?}"
    );
    assert!(writer.is_over);
    assert_eq!(database.begun.load(SeqCst), begun + 1);
    let mut reader = database.read(Lane::Short).await.expect("a reader");
    let head = head_row::read(&mut *reader).await.expect("a head");
    assert_ne!(head.incarnation, former.incarnation);
}

/// It does not post labels that the lost one says are not to be.
#[tokio::test]
async fn a_change_of_the_catalogue_by_others_that_a_writer_followed_and_that_was_lost_ends_it() {
    let mut fleet = Fleet::of(1).await;
    fleet.open().await;
    let batch = |version| {
        let changes = objects(version, "web");
        batches(&fleet.clusters, &fleet.streams, version, &changes)
    };
    let (first, second) = (batch("1"), batch("2"));
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    run(&database, "UPDATE head SET catalog = catalog + 1").await;
    assert!(writer.results(&first).await[0].is_ok());
    run(&database, "UPDATE head SET catalog = catalog - 1").await;
    let refused = writer.results(&second).await;
    assert!(
        matches!(refused[0], Err(StoreError::Gone { .. })),
        "{refused:?}"
    );
    assert!(writer.is_over);
}

#[tokio::test]
async fn who_finds_another_incarnation_than_the_one_that_was_rewound_gives_it_none() {
    let fleet = Fleet::of(0).await;
    let mut transaction = fleet.database.write().await.expect("a transaction");
    let connection = &mut *transaction;
    let renewed = incarnation::renew(connection, "one that it had").await;
    assert_eq!(renewed.expect("an answer"), None);
    let head = head_row::read(connection).await.expect("a head");
    assert_eq!(head.incarnation, fleet.committed.incarnation);
    let renewed = incarnation::renew(connection, &head.incarnation).await;
    let renewed = renewed.expect("an answer").expect("another one");
    let head = head_row::read(connection).await.expect("a head");
    assert_eq!(head.incarnation, renewed);
}

/// From here on it is known where the streams were left, so that none is held before it is written to.
async fn known(fleet: &mut Fleet) {
    fleet.write("0", &[]).await;
}

/// Writes a batch to each stream, of which the second has what nobody could unpack, together with other work. Nothing is written before that is found: it is not
/// left to a rollback, which a server may not have, and a database that is given up commits what was written.
async fn assert_refused_unwritten(fleet: &mut Fleet, others: Vec<Work>) {
    let mut work = batches(&fleet.clusters, &fleet.streams, "1", &objects("1", "web"));
    let Work::Write(second) = &mut work[1] else {
        panic!("no batch")
    };
    second.trained = Some(Mark::of(16, b"a header"));
    work.extend(others);
    let refused = fleet.try_to_carry_out(&work).await;
    assert!(
        matches!(refused, Err(StoreError::Gone { .. })),
        "{refused:?}"
    );
    // Of what is opened the cluster is held.
    let is_held = |table: &String| table == "cluster";
    assert!(fleet.tables.iter().all(is_held), "{:?}", fleet.tables);
}

#[tokio::test]
async fn a_dictionary_that_is_not_there_is_found_before_anything_is_written() {
    let mut fleet = Fleet::of(2).await;
    fleet.open().await;
    known(&mut fleet).await;
    assert_refused_unwritten(&mut fleet, vec![]).await;
}

#[tokio::test]
async fn a_dictionary_that_is_not_there_is_found_before_what_was_kept_is_shown() {
    let mut fleet = Fleet::of(2).await;
    fleet.open().await;
    known(&mut fleet).await;
    let mut transaction = fleet.database.write().await.expect("a transaction");
    for cluster in &fleet.clusters {
        let keep = stream::keep_all(cluster.0);
        assert_eq!(transaction.execute(keep).await.expect("kept"), 1);
    }
    transaction.commit().await.expect("committed");
    assert_refused_unwritten(&mut fleet, vec![]).await;
}

#[tokio::test]
async fn a_dictionary_that_is_not_there_is_found_before_streams_are_opened() {
    let mut fleet = Fleet::of(3).await;
    let third = fleet.clusters.pop().expect("three");
    fleet.open().await;
    known(&mut fleet).await;
    assert_refused_unwritten(&mut fleet, vec![opening(third)]).await;
}

/// Writes the health of clusters in one group, of which the database refuses that of some in the same words; says of which it was stored, and how many
/// transactions that took.
async fn stored_of(clusters: usize, each: usize, refuses: &'static str) -> (Vec<bool>, usize) {
    let fleet = Fleet::of(clusters).await;
    let numbers = fleet.clusters.clone();
    let database = Contended::new(fleet.database, 0);
    run(&database, refuses).await;
    let mut writer = writer_on(&database, fleet.committed);
    let work = numbers.iter().flat_map(|&cluster| {
        (0..each).map(move |number| {
            let health = Health {
                healthy: false,
                reason: format!("reason {number}"),
            };
            Work::Health(cluster, String::new(), health, None)
        })
    });
    let results = writer.results(&work.collect::<Vec<_>>()).await;
    let stored = results.iter().map(|result| match result {
        Ok(Done::Nothing) => true,
        Err(StoreError::Broken { .. }) => false,
        other => panic!("{other:?}"),
    });
    (stored.collect(), database.begun.load(SeqCst))
}

#[tokio::test]
async fn a_group_that_is_refused_whole_is_tried_in_a_few_places() {
    let all =
        "CREATE TRIGGER damage BEFORE INSERT ON health BEGIN SELECT RAISE(FAIL, 'damaged'); END";
    let (stored, transactions) = stored_of(16, 4, all).await;
    assert_eq!(stored, [false; 64]);
    // Sixty-four, thirty-two and so on down to the first four, these, and two others.
    assert_eq!(transactions, 5 + ALIKE + 2);
}

/// Refuses the health of the first cluster.
const DAMAGED_FIRST: &str = "CREATE TRIGGER damage BEFORE INSERT ON health WHEN NEW.cluster = (SELECT MIN(id) FROM cluster) \
     BEGIN SELECT RAISE(FAIL, 'damaged'); END";

#[tokio::test]
async fn those_of_a_damaged_cluster_spoil_no_others() {
    for each in [ALIKE, 5] {
        let (stored, transactions) = stored_of(4, each, DAMAGED_FIRST).await;
        let sound: Vec<bool> = (0..4 * each).map(|index| index >= each).collect();
        assert_eq!(stored, sound);
        assert!(transactions <= 16, "{transactions} transactions");
    }
    let last = "CREATE TRIGGER damage BEFORE INSERT ON health WHEN NEW.cluster <> (SELECT MIN(id) + 1 FROM cluster) \
                BEGIN SELECT RAISE(FAIL, 'damaged'); END";
    let (stored, _) = stored_of(4, ALIKE, last).await;
    assert_eq!(stored.iter().filter(|stored| **stored).count(), ALIKE);
}

/// Each might wait for the database as long as one may, and the writer takes no order meanwhile.
#[tokio::test]
async fn of_those_that_are_tried_one_by_one_none_is_after_the_first_that_the_database_is_away_for()
{
    let fleet = Fleet::of(8).await;
    let database = Contended::new(fleet.database, 0);
    run(&database, DAMAGED_FIRST).await;
    // All together, the first four, the first, and the second.
    database.away_after.store(4, SeqCst);
    let mut writer = writer_on(&database, fleet.committed);
    let results = writer.results(&unhealthy(&fleet.clusters)).await;
    assert!(matches!(results[0], Err(StoreError::Broken { .. })));
    assert!(matches!(results[1], Ok(Done::Nothing)));
    for result in &results[2..] {
        assert!(
            matches!(result, Err(err) if err.is_transient()),
            "{result:?}"
        );
    }
    assert_eq!(database.begun.load(SeqCst), 5);
}

/// It was given up, though the next server may answer as if nothing had happened.
#[tokio::test]
async fn of_those_that_are_tried_one_by_one_none_is_after_the_first_that_finds_it_rewound() {
    let fleet = Fleet::of(4).await;
    let database = Contended::new(fleet.database, 0);
    run(&database, DAMAGED_FIRST).await;
    // All together, the first, and the second, which finds it out.
    database.rewound_at.store(2, SeqCst);
    let mut writer = writer_on(&database, fleet.committed);
    let results = writer.results(&unhealthy(&fleet.clusters)).await;
    assert!(matches!(results[0], Err(StoreError::Broken { .. })));
    for result in &results[1..] {
        assert!(matches!(result, Err(StoreError::Gone { .. })), "{result:?}");
    }
    assert_eq!(database.begun.load(SeqCst), 3);
}

/// That none of these clusters is well.
fn unhealthy(clusters: &[ClusterId]) -> Vec<Work> {
    let health = Health {
        healthy: false,
        reason: "a reason".into(),
    };
    let work = clusters.iter();
    let work = work.map(|&cluster| Work::Health(cluster, String::new(), health.clone(), None));
    work.collect()
}

#[test]
fn what_all_are_refused_for_is_not_asked_for_each() {
    let denied = |reason: &str| StoreError::Denied {
        what: reason.to_owned(),
        source: "by the server".into(),
    };
    let refuses: [&dyn Fn(&str) -> StoreError; 2] = [&|reason| broken(reason), &denied];
    for refuses in refuses {
        let alike = |reasons: &[&str], stored: usize| {
            let refused = reasons.iter().map(|&reason| Err(refuses(reason)));
            let stored = (0..stored).map(|_| Ok(Done::Nothing));
            let results: Vec<Result<Done, StoreError>> = refused.chain(stored).collect();
            let alike = fails_alike(&results.iter().collect::<Vec<_>>());
            alike.map(|err| err.to_string())
        };
        assert_eq!(alike(&["a", "a", "a"], 0), None);
        let told = refuses("a").to_string();
        assert_eq!(alike(&["a", "a", "a", "a"], 0), Some(told));
        assert_eq!(alike(&["a", "a", "a", "a", "b"], 0), None);
        assert_eq!(alike(&["a", "a", "a", "a"], 1), None);
    }
}

#[tokio::test]
async fn ids_that_a_transaction_took_and_lost_are_not_used_and_those_taken_before_stay() {
    let fleet = Fleet::of(0).await;
    let mut ids = ObjectIds::default();
    let mut next = async |count, is_committed| {
        let mut transaction = fleet.database.write().await.expect("a transaction");
        let next = ids.next(&mut *transaction, count).await.expect("ids");
        if is_committed {
            transaction.commit().await.expect("committed");
            ids.settle();
        } else {
            transaction.rollback().await.expect("rolled back");
            ids.forget();
        }
        next
    };
    let lost = next(3, false).await;
    assert_eq!(next(3, true).await, lost, "they were nobody's");
    next(2, false).await;
    assert_eq!(next(1, true).await, [lost[2] + 3]);
}

/// A database that cannot be written to lets a transaction end that changes nothing, and MySQL counts a row as written that stays as it is.
#[tokio::test]
async fn who_holds_up_numbers_changes_something() {
    let fleet = Fleet::of(0).await;
    let mut transaction = fleet.database.write().await.expect("a transaction");
    for of in [Numbered::Cluster, Numbered::Epoch] {
        let mut numbers = [0; 2];
        for number in &mut numbers {
            let next = row(&mut *transaction, head::next_number(of), |r| r.int(0)).await;
            *number = next.expect("a row").expect("a number");
            hold_up(&mut *transaction, of).await.expect("held");
        }
        assert!(numbers[0] < numbers[1], "{of:?}");
    }
    transaction.rollback().await.expect("ended");
}
