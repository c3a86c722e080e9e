//! What one step of a purge takes.

use super::*;
use crate::sql::gone;
use crate::write::purge::IN_A_ROW;

/// Closes all streams and purges them; gives how many objects went with each step.
async fn purge(fleet: &mut Fleet, limit: u32) -> Vec<u64> {
    let closes = fleet.clusters.iter().zip(&fleet.streams);
    let closes =
        closes.map(|(cluster, stream)| Work::Close(*cluster, Some(String::new()), stream.resource));
    fleet.carry_out(closes.collect()).await;
    fleet.blocks = 0;
    let mut steps = Vec::new();
    while steps.len() < 1000 {
        let (done, _) = fleet
            .carry_out(vec![Work::Purge(limit, Duration::ZERO)])
            .await;
        let [
            Done::Purged(Purged {
                objects, finished, ..
            }),
        ] = done[..]
        else {
            panic!("{done:?}")
        };
        steps.push(objects);
        if finished {
            return steps;
        }
    }
    panic!("{steps:?}")
}

fn pod(number: usize) -> Change {
    let pod = object("large", &format!("p-{number:05}")).version("1");
    let pod = pod.label("app", "web").label("tier", "front");
    Change::Put(pod.build())
}

/// The blocks that are read and written to purge a namespace of 2,000 objects, 100 at a time, which were written in so many rounds.
async fn blocks_of_a_purge(rounds: usize) -> u64 {
    let mut fleet = Fleet::of(1).await;
    fleet.portions.ids_in_block = 16;
    fleet.open().await;
    for round in 0..rounds {
        let pods: Vec<Change> = (round..2000).step_by(rounds).map(pod).collect();
        fleet.write(&round.to_string(), &pods).await;
    }
    let steps = purge(&mut fleet, 100).await;
    assert_eq!(steps.iter().sum::<u64>(), 2000);
    assert!(steps.iter().all(|objects| *objects <= 100), "{steps:?}");
    fleet.blocks
}

/// After a first list ids are in the order of names; what came and went for long is in any order.
#[tokio::test]
async fn a_large_namespace_is_purged_block_by_block_whatever_its_objects_are_called() {
    let (listed, churned) = (blocks_of_a_purge(1).await, blocks_of_a_purge(40).await);
    assert!(listed < 2 * 2000, "{listed} blocks");
    assert!(
        churned < listed + listed / 4,
        "{churned} instead of {listed}"
    );
}

#[tokio::test]
async fn a_step_removes_no_more_than_its_terms_allow() {
    let labelled = |namespace: &str, number: usize| {
        let name = format!("p-{number}");
        let labels = 0..40;
        let pod = labels.fold(object(namespace, &name).version("1"), |pod, label| {
            pod.label(&format!("l-{number}-{label}"), "x")
        });
        Change::Put(pod.build())
    };
    let pods = [("a", 3), ("b", 1), ("c", 2)].map(|(namespace, count)| {
        let pods = (0..count).map(move |number| labelled(namespace, number));
        pods.collect::<Vec<_>>()
    });
    for (terms, most) in [(1, 1), (100, 1), (200, 2), (Portions::default().terms, 6)] {
        let mut fleet = Fleet::of(1).await;
        fleet.portions.terms = terms;
        fleet.open().await;
        fleet.write("1", &pods.concat()).await;
        let steps = purge(&mut fleet, 500).await;
        assert_eq!(steps.iter().sum::<u64>(), 6, "{steps:?}");
        assert_eq!(steps.iter().max(), Some(&most), "{steps:?}");
        let mut transaction = fleet.database.read(Lane::Short).await.expect("a reader");
        let left = Statement::fixed("test.left", "SELECT COUNT(*) FROM post", []);
        let left = crate::backend::row(&mut *transaction, left, |row| row.int(0)).await;
        assert_eq!(left.expect("a number"), Some(0));
        transaction.rollback().await.expect("ended");
    }
}

/// Dropping a run costs the same whoever is in it.
#[tokio::test]
async fn a_namespace_whose_objects_have_the_same_terms_goes_whole() {
    let mut fleet = Fleet::of(1).await;
    fleet.portions.terms = 100;
    fleet.open().await;
    let labelled = |number: usize| {
        let pod = object("ns", &format!("p-{number}")).version("1");
        let pod = (0..12).fold(pod, |pod, label| pod.label(&format!("l-{label}"), "same"));
        Change::Put(pod.build())
    };
    fleet
        .write("1", &(0..12).map(labelled).collect::<Vec<_>>())
        .await;
    let steps = purge(&mut fleet, 500).await;
    assert_eq!(steps.iter().max(), Some(&12), "{steps:?}");
}

/// How many versions are left after each step until there is no more to do.
async fn versions_left(fleet: &mut Fleet) -> Vec<i64> {
    let mut left = Vec::new();
    while left.len() < 1000 {
        let (done, _) = fleet
            .carry_out(vec![Work::Purge(500, Duration::ZERO)])
            .await;
        left.push(number(fleet, "SELECT COUNT(*) FROM ver").await);
        if let [Done::Purged(Purged { finished: true, .. })] = done[..] {
            return left;
        }
    }
    panic!("{left:?}")
}

async fn number(fleet: &Fleet, sql: &'static str) -> i64 {
    let mut transaction = fleet.database.read(Lane::Short).await.expect("a reader");
    let asked = Statement::fixed("test.number", sql, []);
    let found = crate::backend::row(&mut *transaction, asked, |row| row.int(0)).await;
    transaction.rollback().await.expect("ended");
    found.expect("an answer").expect("a number")
}

/// A store with a version that is current and so many that were superseded.
async fn with_past(versions: usize) -> Fleet {
    with_past_in(Place::in_a_file(), versions).await
}

async fn with_past_in(place: Place, versions: usize) -> Fleet {
    let mut fleet = Fleet::in_place(place, 1).await;
    fleet.watch_window = Duration::from_secs(3600);
    fleet.open().await;
    for version in 0..=versions {
        let version = version.to_string();
        let pod = object("ns", "p").version(&version).build();
        fleet.write(&version, &[Change::Put(pod)]).await;
    }
    fleet
}

#[tokio::test]
async fn a_step_ends_where_what_it_looks_at_or_removes_takes_enough() {
    for place in Place::of_each_kind() {
        let mut fleet = with_past_in(place, 9).await;
        (fleet.portions.look, fleet.portions.bytes) = (1, 1);
        // None is to go. Where versions are read to be counted the first, which superseded nothing, is with the next two, the others one by one.
        let steps = match fleet.database.dialect().reads_to_measure() {
            true => 8,
            false => 1,
        };
        let counted = versions_left(&mut fleet).await;
        assert_eq!(counted, vec![10; steps]);
        let notes = number(&fleet, "SELECT COUNT(*) FROM milestone").await;
        assert_eq!(notes, 9);
        let most = number(&fleet, "SELECT MAX(bytes) FROM milestone").await;
        fleet.watch_window = Duration::ZERO;
        fleet.portions.bytes = 3 * most.unsigned_abs();
        // The last one is for what has left, which is nothing.
        assert_eq!(versions_left(&mut fleet).await, [7, 4, 1, 1]);
    }
    let mut fleet = with_past(9).await;
    fleet.watch_window = Duration::ZERO;
    assert_eq!(versions_left(&mut fleet).await, [1, 1]);
}

/// A store whose past never comes to an end.
#[tokio::test]
async fn what_has_left_goes_although_there_is_always_something_past() {
    let mut fleet = with_past(40).await;
    fleet.watch_window = Duration::ZERO;
    let most = number(&fleet, "SELECT MAX(LENGTH(body)) FROM ver").await;
    fleet.portions.bytes = most.unsigned_abs();
    let close = Work::Close(
        fleet.clusters[0],
        Some(String::new()),
        fleet.streams[0].resource,
    );
    fleet.carry_out(vec![close]).await;
    for _ in 0..6 {
        fleet
            .carry_out(vec![Work::Purge(500, Duration::ZERO)])
            .await;
    }
    assert!(number(&fleet, "SELECT COUNT(*) FROM ver").await > 10);
    assert_eq!(number(&fleet, "SELECT COUNT(*) FROM obj").await, 0);
}

/// Changes after which a transaction is full, and the clusters of which each had a batch in it when it was not yet.
const FULL: usize = 80;
const CLUSTERS: usize = 5;
/// What is past when a step has walked its most, and as much as is written before the next two.
const BOUND: i64 = 3 * FULL as i64 + 4 * 85;

/// Pods of which all clusters together have a few more than a transaction may have.
fn pods_of_a_full_transaction(version: usize) -> Vec<Change> {
    let pod = |number| {
        let pod = object("ns", &format!("p-{number}"));
        Change::Put(pod.version(&version.to_string()).build())
    };
    (0..=FULL / CLUSTERS).map(pod).collect()
}

/// A store in which something is past, and nothing is kept from now on.
async fn of_full_transactions() -> Fleet {
    let mut fleet = Fleet::of(CLUSTERS).await;
    (fleet.portions.changes, fleet.watch_window) = (FULL, Duration::from_secs(3600));
    fleet.open().await;
    fleet.write("0", &pods_of_a_full_transaction(0)).await;
    fleet.watch_window = Duration::ZERO;
    fleet
}

/// What is past after each of a hundred steps, before which so many transactions each are written; and how many steps said that they are behind.
async fn behind(fleet: &mut Fleet, transactions: usize) -> (Vec<i64>, usize) {
    let (mut behind, mut said) = (vec![], 0);
    for step in 0..100 {
        for number in 1..=transactions {
            let version = step * transactions + number;
            let pods = pods_of_a_full_transaction(version);
            fleet.write(&version.to_string(), &pods).await;
        }
        let step = vec![Work::Purge(20, Duration::ZERO)];
        let (done, _) = fleet.carry_out(step).await;
        let [Done::Purged(purged)] = done[..] else {
            panic!("{done:?}")
        };
        said += usize::from(purged.is_behind);
        behind.push(number(fleet, "SELECT rev - pruned FROM head").await);
    }
    (behind, said)
}

/// A step and a transaction of all others have their turn one after the other. Of another process, which does no steps, there may be two in the place of one.
#[tokio::test]
async fn what_is_past_goes_as_fast_as_it_is_written() {
    for transactions in [1, 2] {
        let mut fleet = of_full_transactions().await;
        let (behind, said) = behind(&mut fleet, transactions).await;
        assert!(behind.iter().all(|left| *left < BOUND), "{behind:?}");
        // Not while it has caught up.
        assert!((20..95).contains(&said), "{said}");
        // So do clusters that are kept no longer.
        let leave = Work::Leave("c-000".parse().expect("a name"), "uid".into());
        fleet.carry_out(vec![leave]).await;
        for _ in 0..IN_A_ROW + 2 {
            let purge = vec![Work::Purge(1, Duration::ZERO)];
            fleet.carry_out(purge).await;
        }
        let left = number(&fleet, "SELECT COUNT(*) FROM cluster WHERE active = 2").await;
        assert_eq!(left, 0);
    }
}

/// What has left has its turn as well, and takes many.
#[tokio::test]
async fn what_is_past_goes_as_fast_as_it_is_written_while_a_large_stream_is_removed() {
    let mut fleet = of_full_transactions().await;
    let (cluster, stream) = (fleet.clusters.pop(), fleet.streams.pop());
    let (cluster, stream) = (cluster.expect("five"), stream.expect("five"));
    let pods = Vec::from_iter((0..2000).map(pod));
    let large = batches(&[cluster], std::slice::from_ref(&stream), "1", &pods);
    fleet.carry_out(large).await;
    let close = Work::Close(cluster, Some(String::new()), stream.resource);
    fleet.carry_out(vec![close]).await;
    purge_steps(&mut fleet, 20).await;
    let before = number(&fleet, "SELECT COUNT(*) FROM obj").await;
    let (behind, _) = behind(&mut fleet, 2).await;
    assert!(behind[20..].iter().all(|left| *left < BOUND), "{behind:?}");
    let left = number(&fleet, "SELECT COUNT(*) FROM obj").await;
    assert!((1..before - 100).contains(&left), "{left} of {before}");
}

/// Behind the lease, the head and the notes. Rows past some hundred come in pieces where a statement has a parameter for each, and MySQL reads what it counts.
#[tokio::test]
async fn a_step_for_what_is_past_takes_few_statements() {
    for place in Place::of_each_kind() {
        let mut fleet = Fleet::in_place(place, 1).await;
        fleet.watch_window = Duration::from_secs(3600);
        fleet.open().await;
        for version in ["1", "2"] {
            let pods = Vec::from_iter((0..2000).map(|number| {
                let pod = object("ns", &format!("p-{number}"));
                Change::Put(pod.version(version).build())
            }));
            fleet.write(version, &pods).await;
        }
        fleet.watch_window = Duration::ZERO;
        let mut taken = vec![];
        for _ in 0..2 {
            let purge = vec![Work::Purge(2000, Duration::ZERO)];
            taken.push(fleet.carry_out(purge).await.1);
        }
        assert_eq!(number(&fleet, "SELECT rev - pruned FROM head").await, 0);
        let most = match fleet.database.dialect().reads_to_measure() {
            true => 48,
            false => 16,
        };
        assert!(taken.iter().all(|taken| *taken <= most), "{taken:?}");
    }
}

/// A history has names of each, and none can go before a part of the history does.
#[tokio::test]
async fn empty_namespaces_that_a_history_names_are_not_looked_at_by_each_step() {
    let mut fleet = Fleet::of(2).await;
    fleet.past.history = HistoryKnown::new(Some(History {
        of: vec![(String::new(), "pods".to_owned())],
        window: Duration::from_secs(3600),
        bytes: 0,
    }));
    fleet.watch_window = Duration::from_secs(3600);
    fleet.open().await;
    purge_steps(&mut fleet, 4).await;
    let names = Vec::from_iter((0..40).map(|number| format!("ns-{number}")));
    let pods = names.iter().map(|name| object(name, "p").version("1"));
    let pods = Vec::from_iter(pods.map(|pod| Change::Put(pod.build())));
    fleet.write("1", &pods).await;
    let gone = names
        .iter()
        .map(|name| Change::Delete(ObjectKey::new(name, "p")));
    let one = batches(&fleet.clusters, &fleet.streams, "2", &Vec::from_iter(gone)).remove(0);
    fleet.carry_out(vec![one]).await;
    fleet.watch_window = Duration::ZERO;
    purge_steps(&mut fleet, 4).await;
    assert_eq!(
        number(&fleet, "SELECT COUNT(*) FROM ns WHERE types = 0").await,
        40
    );
    let close = Work::Close(
        fleet.clusters[1],
        Some(String::new()),
        fleet.streams[1].resource,
    );
    fleet.carry_out(vec![close]).await;
    fleet.asked.clear();
    purge_steps(&mut fleet, 20).await;
    let looks = fleet.asked.iter().filter(|name| **name == "ns.empty_since");
    assert!(looks.count() < 4, "{:?}", fleet.asked);
    assert_eq!(number(&fleet, "SELECT COUNT(*) FROM obj").await, 0);
    // They go with it.
    fleet.past.history = HistoryKnown::new(Some(History {
        of: vec![],
        ..History::default()
    }));
    purge_steps(&mut fleet, 60).await;
    assert_eq!(number(&fleet, "SELECT COUNT(*) FROM ns").await, 0);
}

async fn purge_steps(fleet: &mut Fleet, steps: usize) {
    for _ in 0..steps {
        let purge = vec![Work::Purge(5, Duration::ZERO)];
        fleet.carry_out(purge).await;
    }
}

/// A fleet that went is a row for each of its streams, and the catalogue may not change for long.
#[tokio::test]
async fn what_readers_need_not_hear_of_any_more_is_forgotten_some_at_a_time() {
    let mut fleet = Fleet::of(0).await;
    let database = Contended::new(Arc::clone(&fleet.database), 0);
    run(&database, "UPDATE head SET catalog = 40000").await;
    run(
        &database,
        "INSERT INTO gone (seq, cluster, type) WITH RECURSIVE n (n) AS \
         (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30000) SELECT n, n, 1 FROM n",
    )
    .await;
    let mut left = vec![];
    for _ in 0..5 {
        let purge = vec![Work::Purge(500, Duration::ZERO)];
        fleet.carry_out(purge).await;
        let (floor, gone) = hidden(&fleet).await;
        assert_eq!(floor, 30_000 - i64::try_from(gone).expect("few"));
        left.push(gone);
    }
    assert_eq!(left, [21_999, 13_998, 5997, 0, 0]);
    // Streams that were opened long ago, and are hidden and purged where the catalogue does not change any more.
    let old = "INSERT INTO gone (seq, cluster, type) WITH RECURSIVE n (n) AS \
               (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000) SELECT n % 5, n, 2 FROM n";
    run(&database, old).await;
    for left in [10_000, 4000, 0] {
        assert!(hidden(&fleet).await.1 <= left);
        let purge = vec![Work::Purge(500, Duration::ZERO)];
        fleet.carry_out(purge).await;
    }
    assert_eq!(hidden(&fleet).await, (30_000, 0));
}

/// Up to which count what was hidden may have been forgotten, and of how much it is known.
async fn hidden(fleet: &Fleet) -> (i64, usize) {
    let mut reader = fleet.database.read(Lane::Short).await.expect("a reader");
    let head = head_row::read(&mut *reader).await.expect("a head");
    let gone = rows(&mut *reader, gone::since(-1), gone::decode).await;
    reader.rollback().await.expect("ended");
    (head.floor, gone.expect("rows").len())
}
