//! What a group costs, and what becomes of the others in it, where some of it is refused.

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
