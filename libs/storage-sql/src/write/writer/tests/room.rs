//! How many transactions it takes to store what edits the index in many places.

use armadex_databases::{Database as TestDatabase, Engine};
use armadex_model::ClusterName;
use armadex_storage::conformance::Fixture;
use armadex_storage::conformance::fixture::{
    ObjectBuilder, Writer as StreamWriter, all_pods, live,
};
use armadex_storage::{Search as _, Sink as _, Tenure, Written};

use super::*;
use crate::location::Location;
use crate::store::SqlStore;
use crate::write::queue::queue;

/// Labels of a heavy object, each with a value of its own.
const LABELS: usize = 40;

fn heavy(name: &str) -> ObjectBuilder {
    let pod = object("ns", name).version("1");
    (0..LABELS).fold(pod, |pod, label| {
        pod.label(&format!("l-{label}"), &format!("{name}-{label}"))
    })
}

pub(super) fn batch_of(cluster: ClusterId, stream: &Stream, changes: Vec<Change>) -> Batch {
    Batch {
        cluster,
        resource: stream.resource,
        epoch: stream.epoch,
        rules: RULES,
        whole: true,
        changes,
        position: Some(live("1")),
    }
}

/// Entries of the index that lead to a heavy object.
fn edits_of_one() -> usize {
    let (terms, _) = TermHasher::new([7; 16]).terms_and_labels(&heavy("x").build().terms);
    terms.posted().len()
}

/// Gives a writer so many batches of four heavy objects at once; how many transactions that takes.
async fn transactions_of(batches: usize, room: usize) -> usize {
    let mut fleet = Fleet::of(batches).await;
    fleet.open().await;
    let (orders, waiting) = queue(batches);
    let mut answers = vec![];
    for (cluster, stream) in fleet.clusters.iter().zip(&fleet.streams) {
        let pods = ["a", "b", "c", "d"].map(|name| Change::Put(heavy(name).build()));
        let work = Work::Write(prepared(batch_of(*cluster, stream, pods.into())));
        let (reply, answer) = tokio::sync::oneshot::channel();
        let order = Order { work, reply };
        assert!(orders.give(order).await, "there is room");
        answers.push(answer);
    }
    drop(orders);
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    writer.portions.edits = room;
    writer.run(waiting, CancellationToken::new()).await;
    for answer in answers {
        let done = answer.await.expect("an answer").expect("no trouble");
        assert!(
            matches!(done, Done::Written(Written { added: 4, .. })),
            "{done:?}"
        );
    }
    database.begun.load(SeqCst)
}

/// However much waits to be written, what is past is removed meanwhile.
#[tokio::test]
async fn a_step_of_the_periodic_work_waits_for_what_is_being_done_and_no_more() {
    const ORDERS: usize = 50;
    let fleet = Fleet::of(0).await;
    let (orders, waiting) = queue(ORDERS);
    let mut answers = vec![];
    for number in 0..=ORDERS {
        let work = match number {
            ORDERS => Work::Purge(10, Duration::ZERO),
            number => Work::Begin(format!("owner-{number}"), CancellationToken::new()),
        };
        let (reply, answer) = tokio::sync::oneshot::channel();
        assert!(orders.give(Order { work, reply }).await, "there is room");
        answers.push(answer);
    }
    drop(orders);
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    writer.portions.orders = 1;
    let running = tokio::spawn(writer.run(waiting, CancellationToken::new()));
    let step = answers.pop().expect("the last").await.expect("an answer");
    assert!(matches!(step, Ok(Done::Purged(_))), "{step:?}");
    let done = answers
        .iter_mut()
        .map(tokio::sync::oneshot::Receiver::try_recv);
    let done = done.filter(Result::is_ok);
    assert!(done.count() < ORDERS / 2);
    running.await.expect("all is carried out");
    // One is the step, and the last gives the periodic work back.
    assert_eq!(database.begun.load(SeqCst), ORDERS + 2);
}

/// However fast steps follow each other, what is to be written has every other turn.
#[tokio::test]
async fn steps_of_the_periodic_work_and_what_else_waits_take_turns() {
    let (orders, mut waiting) = queue(8);
    let work = |number: usize| match number {
        0..4 => Work::Purge(10, Duration::ZERO),
        _ => Work::Begin("owner".into(), CancellationToken::new()),
    };
    for work in (0..8).map(work) {
        assert!(orders.give(order(work)).await, "there is room");
    }
    let mut turns = vec![];
    let mut take = async |waiting: &mut Waiting| {
        let order = match waiting.ready() {
            Some(order) => order,
            None => waiting.next().await.expect("one waits"),
        };
        let is_step = matches!(order.work, Work::Purge(..));
        turns.push(is_step);
        order
    };
    take(&mut waiting).await;
    // Of those that go together the last does not fit.
    let fits_not = waiting.order().expect("one waits");
    waiting.give_back(fits_not);
    for _ in 0..6 {
        take(&mut waiting).await;
    }
    assert_eq!(turns, [true, false, true, false, true, false, true]);
    assert!(waiting.ready().is_some() && waiting.ready().is_none());
}

#[tokio::test]
async fn batches_that_wait_share_a_transaction_as_long_as_their_edits_fit() {
    let batch = 4 * edits_of_one();
    assert_eq!(transactions_of(12, 12 * batch).await, 1);
    assert_eq!(transactions_of(12, 3 * batch).await, 4);
    assert_eq!(transactions_of(12, 4 * batch - 1).await, 4);
}

/// A batch that is too much spoils nothing for those that wait with it, and is given back to be written in parts, each of which goes alone.
#[tokio::test]
async fn what_is_too_much_is_found_among_those_that_wait_with_it() {
    let mut fleet = Fleet::of(16).await;
    fleet.open().await;
    let pods: Vec<Change> = (0..32)
        .map(|number| Change::Put(heavy(&format!("p-{number}")).build()))
        .collect();
    fleet.write("1", &pods).await;
    let gone: Vec<Change> = pods
        .iter()
        .map(|pod| Change::Delete(pod.key().clone()))
        .collect();
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    writer.portions.edits = 16 * edits_of_one();
    let streams = fleet.clusters.iter().zip(&fleet.streams).enumerate();
    let work: Vec<Work> = streams
        .map(|(number, (cluster, stream))| {
            let changes = if number == 5 { &gone[..] } else { &gone[..1] };
            Work::Write(prepared(batch_of(*cluster, stream, changes.to_vec())))
        })
        .collect();
    let results = writer.results(&work).await;
    for (number, result) in results.iter().enumerate() {
        match result {
            Ok(Done::Written(Written { deleted: 1, .. })) => assert_ne!(number, 5),
            Err(err) => assert!(number == 5 && is_too_much(err), "{number}: {err}"),
            other => panic!("{number}: {other:?}"),
        }
    }
    // All, then 8, 4, 2 and 1 with it, and as many without.
    assert_eq!(database.begun.load(SeqCst), 9);
    let Some(Work::Write(batch)) = work.into_iter().nth(5) else {
        panic!("it is a batch");
    };
    let [first, second] = batch.halves();
    let group = Group::of(order(Work::Write(first)));
    assert!(!group.fits(&Work::KeepAlive("owner".into(), Tenure(1))));
    let group = Group::of(order(Work::KeepAlive("owner".into(), Tenure(1))));
    assert!(!group.fits(&Work::Write(second)));
}

fn order(work: Work) -> Order {
    let (reply, _) = tokio::sync::oneshot::channel();
    Order { work, reply }
}

/// Users decide what is too much, and the clock of the periodic work is not theirs.
#[tokio::test]
async fn a_batch_that_is_too_much_takes_no_time_from_the_periodic_work() {
    let mut fleet = Fleet::of(1).await;
    fleet.open().await;
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    let step = [Work::Purge(10, Duration::ZERO)];
    let begun = Instant::now();
    writer.results(&step).await.remove(0).expect("a step");
    writer.portions.edits = edits_of_one();
    let pods = ["a", "b"].map(|name| Change::Put(heavy(name).build()));
    let batch = prepared(batch_of(fleet.clusters[0], &fleet.streams[0], pods.into()));
    let refused = writer.results(&[Work::Write(batch)]).await.remove(0);
    assert!(is_too_much(&refused.expect_err("too much")));
    let mut transaction = database.database.write().await.expect("a transaction");
    let later = begun + Duration::from_secs(20);
    let clock = writer.lease.hold(&mut *transaction, later).await;
    let clock = clock.expect("no trouble").expect("it is held");
    assert!((15_000..=20_000).contains(&clock.clock), "{clock:?}");
    transaction.rollback().await.expect("ended");
}

/// An empty database of each kind, and what holds it.
fn places() -> Vec<(Location, Box<dyn std::any::Any>)> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut places: Vec<(Location, Box<dyn std::any::Any>)> = vec![(
        Location::Sqlite(folder.path().join("store.db")),
        Box::new(folder),
    )];
    for engine in [Engine::Postgres, Engine::Mysql] {
        if let Some(database) = TestDatabase::for_test(engine).expect("a server") {
            let location = database.patient_url().parse().expect("a location");
            places.push((location, Box::new(database)));
        }
    }
    places
}

/// A store whose transactions have room for four heavy objects.
async fn narrow(location: &Location) -> (Arc<Contended>, Arc<SqlStore>) {
    let mut options = Options::default();
    options.portions.edits = 4 * edits_of_one();
    let database = crate::open::database(location, &options).await;
    let database = Contended::new(database.expect("a database"), 0);
    let store = SqlStore::start(Arc::clone(&database) as SharedDatabase, &options).await;
    (database, Arc::new(store.expect("a store")))
}

fn names() -> impl Iterator<Item = String> {
    (0..16).map(|number| format!("p-{number:02}"))
}

fn puts() -> Vec<Change> {
    names()
        .map(|name| Change::Put(heavy(&name).build()))
        .collect()
}

fn deletes() -> Vec<Change> {
    names()
        .map(|name| Change::Delete(ObjectKey::new("ns", &name)))
        .collect()
}

/// Writes a batch; says how many transactions that took.
async fn write(
    (database, store): &(Arc<Contended>, Arc<SqlStore>),
    pods: &StreamWriter,
    changes: Vec<Change>,
    position: MemberPosition,
) -> (Result<Written, StoreError>, usize) {
    let before = database.begun.load(SeqCst);
    let batch = pods.batch(changes, Some(position));
    let written = store.write(batch).await;
    (written, database.begun.load(SeqCst) - before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_too_much_for_a_transaction_is_stored_in_several_whatever_it_does() {
    for (location, _held) in places() {
        let narrow = narrow(&location).await;
        let fixture = Fixture::of(&narrow.1);
        let mut pods = fixture.pods_of("m").await;
        for (changes, position, comes, goes) in [(puts(), "1", 16, 0), (deletes(), "2", 0, 16)] {
            let (written, transactions) = write(&narrow, &pods, changes, live(position)).await;
            let written = written.expect("written");
            assert_eq!((written.added, written.deleted), (comes, goes));
            // Four that fit, and three that turn out not to.
            assert_eq!(transactions, 7, "{written:?}");
            let listed = fixture.list(&all_pods(), 100).await.len();
            assert_eq!(listed as u64, comes);
            let report = narrow.1.check().await.expect("a report");
            assert_eq!(report.faults, Vec::<String>::new());
            pods = fixture.pods_of("m").await;
            assert_eq!(pods.stream.position, Some(live(position)));
        }
    }
}

/// Two that turn out to be too much, and two of four that fit; the third is met by what ends the batch.
const BEFORE_THE_THIRD: usize = 4;

/// Stores 16 objects, and deletes them in a batch that is interrupted; gives where the stream then stands, and stores it anew.
async fn interrupted(location: &Location, position: MemberPosition) -> Option<MemberPosition> {
    let narrow = narrow(location).await;
    let fixture = Fixture::of(&narrow.1);
    let pods = fixture.pods_of("m").await;
    let (written, _) = write(&narrow, &pods, puts(), live("1")).await;
    written.expect("written");
    let (database, store) = &narrow;
    let begun = database.begun.load(SeqCst);
    database
        .refuses_after
        .store(begun + BEFORE_THE_THIRD, SeqCst);
    let (refused, _) = write(&narrow, &pods, deletes(), position.clone()).await;
    refused.expect_err("interrupted");
    database.refuses_after.store(usize::MAX, SeqCst);
    let left = fixture.list(&all_pods(), 100).await;
    assert!((1..16).contains(&left.len()), "{left:?}");
    let pods = fixture.pods_of("m").await;
    let stands = pods.stream.position.clone();
    let (written, _) = write(&narrow, &pods, deletes(), position).await;
    let written = written.expect("written");
    assert_eq!(written.deleted, left.len() as u64);
    assert_eq!(written.deleted + written.unchanged, 16);
    let report = store.check().await.expect("a report");
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!(store.head().await.expect("a head").revision, 32);
    stands
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_interrupted_between_its_transactions_stands_where_it_stood_and_is_stored_anew() {
    for (location, _held) in places() {
        let stands = interrupted(&location, live("2")).await;
        assert_eq!(stands, Some(live("1")));
    }
}

/// Whoever finds the rows of a list finds that it was under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_is_interrupted_between_its_first_rows_is_known_to_have_begun() {
    for (location, _held) in places() {
        let begun = MemberPosition {
            phase: Phase::Listing,
            ..live("2")
        };
        let stands = interrupted(&location, begun.clone()).await;
        assert_eq!(stands, Some(begun));
    }
}

/// Between two parts others have their turn: here somebody who takes the stream over.
#[tokio::test]
async fn a_batch_whose_stream_is_taken_over_between_its_transactions_is_refused() {
    let mut fleet = Fleet::of(1).await;
    fleet.open().await;
    let (cluster, stream) = (fleet.clusters[0], fleet.streams[0].clone());
    let mut writer = writer_on(&Contended::new(fleet.database, 0), fleet.committed);
    let mut carry_out = async |work| writer.results(&[work]).await.remove(0);
    let [first, second] = prepared(batch_of(cluster, &stream, puts())).halves();
    let done = carry_out(Work::Write(first)).await;
    assert!(matches!(done, Ok(Done::Written(Written { added: 8, .. }))));
    let opening = Opening {
        cluster,
        owner: String::new(),
        resource: pods(),
        rules: RULES,
    };
    let Ok(Done::Opened(Ok(latter))) = carry_out(Work::Open(opening)).await else {
        panic!("it is opened");
    };
    let phase = latter.position.as_ref().map(|position| position.phase);
    assert_eq!(phase, Some(Phase::Listing), "half of it is there");
    let refused = carry_out(Work::Write(second)).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })));
    let batch = prepared(batch_of(cluster, &latter, puts()));
    let done = carry_out(Work::Write(batch)).await;
    let is_rest = |written: Written| written.added == 8 && written.unchanged == 8;
    assert!(matches!(done, Ok(Done::Written(written)) if is_rest(written)));
}

/// All of their streams are stamped with the head in hand.
#[tokio::test]
async fn clusters_that_come_back_at_once_do_so_a_few_thousand_streams_at_a_time() {
    let mut fleet = Fleet::of(4).await;
    fleet.open().await;
    let names = ["c-000", "c-001", "c-002", "c-003"].map(|name| name.parse().expect("a name"));
    let leaves = names
        .clone()
        .map(|name: ClusterName| Work::Leave(name, "uid".into()));
    fleet.carry_out(Vec::from(leaves)).await;
    let database = Contended::new(Arc::clone(&fleet.database), 0);
    let mut writer = writer_on(&database, fleet.committed.clone());
    writer.portions.changes = 2;
    let joins = names.map(|name| Work::Join(name, "uid".into(), String::new()));
    for (done, cluster) in writer.results(&joins).await.iter().zip(&fleet.clusters) {
        let is_back = matches!(done, Ok(Done::Joined(joined)) if joined == cluster);
        assert!(is_back, "{done:?}");
    }
    assert_eq!(database.begun.load(SeqCst), 3, "all, and two halves");
}
