//! What one step of a purge takes.

use super::*;

/// Closes all streams and purges them; gives how many objects went with each step.
async fn purge(fleet: &mut Fleet, limit: u32) -> Vec<u64> {
    let closes = fleet.clusters.iter().zip(&fleet.streams);
    let closes = closes.map(|(cluster, stream)| Work::Close(*cluster, stream.resource));
    fleet.carry_out(closes.collect()).await;
    fleet.blocks = 0;
    let mut steps = Vec::new();
    while steps.len() < 1000 {
        let (done, _) = fleet
            .carry_out(vec![Work::Purge(limit, Duration::ZERO)])
            .await;
        let [Done::Purged(Purged { objects, finished })] = done[..] else {
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
            pod.label(&format!("l-{label}"), &format!("{number}-{label}"))
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
