//! What a group costs, and what becomes of the others in it, where some of it is refused.

use armadex_storage::Tenure;

use super::*;

/// Batches of so many streams, of which some are taken over by somebody else; what comes of them, and how many transactions that took.
async fn written_beside(
    streams: usize,
    taken_over: &'static str,
) -> (Vec<Result<Done, StoreError>>, usize) {
    let mut fleet = Fleet::of(streams).await;
    fleet.open().await;
    let changes = objects("1", "web").split_off(3);
    let work = batches(&fleet.clusters, &fleet.streams, "1", &changes);
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    run(&database, taken_over).await;
    let results = writer.results(&work).await;
    (results, database.begun.load(SeqCst))
}

#[tokio::test]
async fn a_batch_of_a_stream_that_was_taken_over_costs_the_others_nothing() {
    let taken_over = "UPDATE stream SET epoch = epoch + 1000 WHERE cluster = 77";
    let (results, transactions) = written_beside(128, taken_over).await;
    for (index, result) in results.iter().enumerate() {
        match result {
            Ok(Done::Written(_)) => assert_ne!(index, 76),
            Err(StoreError::Fenced { what }) => {
                assert_eq!((index, &what[..]), (76, "type 1 in cluster 77"));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(transactions, 1);
}

/// A cluster that changed hands has a batch of each of its streams on the way.
#[tokio::test]
async fn many_that_are_refused_take_as_many_statements_as_one() {
    let mut statements = vec![];
    for streams in [1, 32] {
        let mut fleet = Fleet::of(streams).await;
        fleet.open().await;
        known(&mut fleet).await;
        let work = batches(&fleet.clusters, &fleet.streams, "1", &objects("1", "web"));
        let leaves = (0..streams).map(|number| {
            let name = format!("c-{number:03}").parse().expect("a name");
            Work::Leave(name, "uid".into())
        });
        fleet.carry_out(leaves.collect()).await;
        let (done, taken) = fleet.carry_out(work).await;
        let left = |done: &Done| matches!(done, Done::Refused(StoreError::Left { .. }));
        assert!(done.iter().all(left), "{done:?}");
        assert!(fleet.tables.is_empty(), "{:?}", fleet.tables);
        statements.push(taken);
    }
    assert_eq!(statements[0], statements[1]);
}

/// Everything that is told of each of these clusters, and asked of it, by who looked after all of them.
fn asked_of(fleet: &Fleet) -> Vec<Work> {
    let (labels, _) = ClusterLabels::of([("env", "prod")]);
    let each = fleet.clusters.iter().zip(&fleet.streams);
    let each = each.flat_map(|(&cluster, stream)| {
        let label = Work::Label(cluster, String::new(), labels.clone());
        let close = Work::Close(cluster, Some(String::new()), stream.resource);
        let told = unhealthy(&[cluster]).into_iter();
        told.chain([label, opening(cluster), close])
    });
    each.collect()
}

/// A process that lost its clusters may still have much to say of them.
#[tokio::test]
async fn who_looks_after_a_cluster_no_more_is_refused_and_costs_the_others_nothing() {
    let mut fleet = Fleet::of(32).await;
    fleet.open().await;
    let left = "c-004".parse().expect("a name");
    let leave = Work::Leave(left, "uid".into());
    fleet.carry_out(vec![leave]).await;
    let work = asked_of(&fleet);
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    let claim = "UPDATE cluster SET owner = 'another' WHERE id IN (7, 31)";
    run(&database, claim).await;
    let results = writer.results(&work).await;
    for (index, result) in results.iter().enumerate() {
        let (cluster, what) = (
            index / 4 + 1,
            ["health", "labels", "open", "close"][index % 4],
        );
        let said = match result {
            Err(StoreError::TakenOver { .. }) => "another's",
            Err(StoreError::Left { .. }) => "left",
            Ok(_) => "done",
            Err(err) => panic!("{err}"),
        };
        let expected = match (cluster, what) {
            (7 | 31, _) => "another's",
            (5, "health" | "labels" | "open") => "left",
            _ => "done",
        };
        assert_eq!(said, expected, "{what} of {cluster}");
    }
    assert_eq!(database.begun.load(SeqCst), 1);
    for (text, expected) in [
        ("SELECT COUNT(*) FROM health", 29),
        ("SELECT COUNT(*) FROM cluster WHERE labels = 'env=prod'", 29),
        ("SELECT COUNT(*) FROM stream WHERE is_open = 1", 2),
    ] {
        let mut reader = database.read(Lane::Short).await.expect("a reader");
        let counted = Statement::fixed("test.count", text, []);
        let counted = row(&mut *reader, counted, |row| row.int(0)).await;
        reader.rollback().await.expect("ended");
        assert_eq!(counted.expect("an answer"), Some(expected), "{text}");
    }
}

/// Another process of the owner has begun since.
async fn is_replaced(database: &Contended) {
    run(database, "UPDATE tenure SET number = number + 1").await;
}

fn begins() -> Work {
    Work::Begin(String::new(), CancellationToken::new())
}

/// It may have waited for long; who lost the Lease and has it again begins behind it.
#[tokio::test]
async fn what_was_asked_before_the_next_tenure_begins_is_refused_and_costs_the_others_nothing() {
    let mut fleet = Fleet::of(1).await;
    fleet.open().await;
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    let mut work = vec![begins()];
    let begun = writer.results(&work).await.remove(0);
    assert!(matches!(begun, Ok(Done::Begun(Tenure(1)))), "{begun:?}");
    is_replaced(&database).await;
    work = unhealthy(&fleet.clusters);
    work.extend(batches(
        &fleet.clusters,
        &fleet.streams,
        "1",
        &objects("1", "web"),
    ));
    work.push(Work::KeepAlive(String::new(), Tenure(1)));
    work.push(begins());
    work.extend(unhealthy(&fleet.clusters));
    work.push(Work::Leave("c-000".parse().expect("a name"), "uid".into()));
    let transactions = database.begun.load(SeqCst);
    let results = writer.results(&work).await;
    assert!(
        matches!(
            &results[..],
            [
                Err(StoreError::TakenOver { .. }),
                Ok(Done::Written(_)),
                Ok(Done::Kept(false)),
                Ok(Done::Begun(Tenure(3))),
                Ok(Done::Nothing),
                Ok(Done::Nothing),
            ]
        ),
        "{results:?}"
    );
    assert_eq!(database.begun.load(SeqCst), transactions + 1);
}

/// Whether it has begun its next tenure is not known, so the former one counts for nothing any more.
#[tokio::test]
async fn who_begins_and_is_not_answered_is_not_refused_for_the_tenure_before() {
    let fleet = Fleet::of(1).await;
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    assert!(writer.results(&[begins()]).await[0].is_ok());
    is_replaced(&database).await;
    let work = unhealthy(&fleet.clusters);
    assert!(writer.results(&work).await[0].is_err());
    database.away_after.store(0, SeqCst);
    let (reply, answer) = oneshot::channel();
    let work = begins();
    writer.carry_out(vec![Order { work, reply }]).await;
    let begun = answer.await.expect("an answer");
    assert!(begun.is_err_and(|err| err.is_transient()));
    database.away_after.store(usize::MAX, SeqCst);
    let work = unhealthy(&fleet.clusters);
    assert!(writer.results(&work).await[0].is_ok());
}

/// A stream whose rows are damaged comes again and again, with whoever writes at the time.
#[tokio::test]
async fn one_that_is_refused_takes_as_many_transactions_as_a_group_has_halves() {
    for damaged in [1, 61, 64, 128] {
        let refuses = format!(
            "CREATE TRIGGER damage BEFORE INSERT ON health WHEN NEW.cluster = {damaged} \
             BEGIN SELECT RAISE(FAIL, 'damaged'); END"
        );
        let (stored, transactions) = stored_of(128, 1, refuses.leak()).await;
        let sound = Vec::from_iter((1..=128).map(|cluster| cluster != damaged));
        assert_eq!(stored, sound);
        assert!(transactions <= 16, "{damaged}: {transactions} transactions");
    }
}

/// Who gave it has lost the Lease meanwhile, also after it was taken from the queue, and somebody else began the next one.
#[tokio::test]
async fn a_tenure_that_nobody_waits_for_is_not_begun() {
    let fleet = Fleet::of(0).await;
    let database = Contended::new(Arc::clone(&fleet.database), 0);
    let mut writer = writer_on(&database, fleet.committed.clone());
    let given_up = CancellationToken::new();
    let waited_for = CancellationToken::new();
    given_up.cancel();
    let work = [given_up, waited_for].map(|given_up| Work::Begin("shard".into(), given_up));
    let done = writer.results(&work).await;
    assert!(
        matches!(
            done[..],
            [
                Err(StoreError::TakenOver { .. }),
                Ok(Done::Begun(Tenure(1)))
            ]
        ),
        "{done:?}"
    );
}

/// Somebody else has begun the next one meanwhile, and this process was stopped: what it has in hand is of the tenure before, whatever comes of the one that it gave up.
#[tokio::test]
async fn what_stands_behind_a_tenure_that_nobody_waits_for_is_refused_and_so_is_what_stands_before_a_later_one()
 {
    let fleet = Fleet::of(1).await;
    let database = Contended::new(fleet.database, 0);
    let mut writer = writer_on(&database, fleet.committed);
    assert!(writer.results(&[begins()]).await[0].is_ok());
    is_replaced(&database).await;
    let given_up = CancellationToken::new();
    given_up.cancel();
    let gives_up = || Work::Begin(String::new(), given_up.clone());
    let mut work = vec![gives_up()];
    work.extend(unhealthy(&fleet.clusters));
    let results = writer.results(&work).await;
    let is_refused = |one: &Result<Done, _>| matches!(one, Err(StoreError::TakenOver { .. }));
    assert!(results.iter().all(is_refused), "{results:?}");
    let orders = [gives_up(), begins()].map(|work| {
        let (reply, _) = oneshot::channel();
        Order { work, reply }
    });
    writer.carry_out(orders.into()).await;
    is_replaced(&database).await;
    let results = writer.results(&unhealthy(&fleet.clusters)).await;
    assert!(results.iter().all(is_refused), "{results:?}");
}
