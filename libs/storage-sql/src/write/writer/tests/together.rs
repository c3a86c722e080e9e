//! What a writer does to many clusters at once takes as many statements as what it does to one.

use armadex_databases::Engine;
use armadex_storage::TypeId;
use tokio::sync::oneshot;

use super::*;
use crate::backend::rows;
use crate::backend::several::place::wait_until_a_row_is_waited_for;
use crate::sql::catalog::{self, HealthRow, NewCluster, OwnedRow};
use crate::sql::head::Numbered;
use crate::write::numbers::take;
use crate::write::queue::queue;

/// Rows that every dialect takes in one statement.
const MANY: usize = 32;

fn said(cluster: ClusterId, reason: &str, version: Option<&str>) -> Work {
    let health = Health {
        healthy: reason.is_empty(),
        reason: reason.into(),
    };
    Work::Health(cluster, String::new(), health, version.map(String::from))
}

/// What is recorded of clusters.
async fn recorded(fleet: &Fleet, clusters: &[ClusterId]) -> Vec<HealthRow> {
    let mut reader = fleet.database.read(Lane::Short).await.expect("a reader");
    let ids = Vec::from_iter(clusters.iter().map(|cluster| cluster.0));
    let statement = catalog::health_of(fleet.database.dialect(), &ids);
    let found = rows(&mut *reader, statement, catalog::decode_health).await;
    reader.rollback().await.expect("ended");
    let mut found = found.expect("rows");
    found.sort_by_key(|row| row.cluster);
    found
}

/// Statements of telling the health of clusters, the same again, and another.
async fn statements_of_health(place: Place, clusters: usize) -> [usize; 3] {
    let mut fleet = Fleet::in_place(place, clusters).await;
    let mut statements = [0; 3];
    for (count, reason) in statements.iter_mut().zip(["", "", "NotReachable"]) {
        let work = fleet.clusters.iter().rev();
        let work = work.map(|cluster| said(*cluster, reason, Some("v1.36.0")));
        *count = fleet.carry_out(work.collect()).await.1;
        let recorded = recorded(&fleet, &fleet.clusters).await;
        let told = recorded.iter().filter(|row| row.health.reason == reason);
        assert_eq!(told.count(), clusters);
    }
    statements
}

/// Who looks after the clusters, what is recorded, whoever looks after them until the end, what is new, and three for the catalogue. Of what is recorded only
/// the first two.
#[tokio::test]
async fn the_health_of_many_clusters_takes_as_many_statements_as_that_of_one() {
    for place in Place::of_each_kind() {
        assert_eq!(statements_of_health(place, 1).await, [7, 2, 7]);
    }
    for place in Place::of_each_kind() {
        assert_eq!(statements_of_health(place, MANY).await, [7, 2, 7]);
    }
}

#[tokio::test]
async fn of_what_is_said_of_a_cluster_at_once_the_last_counts_and_the_version_that_was_said_last() {
    for place in Place::of_each_kind() {
        let mut fleet = Fleet::in_place(place, 2).await;
        let [one, other] = fleet.clusters[..] else {
            panic!("two")
        };
        let told = async |fleet: &mut Fleet, work: Vec<Work>| {
            fleet.carry_out(work).await;
            let recorded = recorded(fleet, &[one, other]).await;
            let told = recorded.into_iter();
            Vec::from_iter(told.map(|row| (row.health.reason, row.version.unwrap_or_default())))
        };
        let row = |reason: &str, version: &str| (reason.to_owned(), version.to_owned());
        let work = vec![
            said(one, "first", Some("v1")),
            said(other, "other", None),
            said(one, "second", Some("v2")),
            said(one, "last", None),
        ];
        let expected = [row("last", "v2"), row("other", "")];
        assert_eq!(told(&mut fleet, work).await, expected);
        // What is known stays where none is said.
        let work = vec![said(one, "", None), said(other, "other", Some("v3"))];
        let expected = [row("", "v2"), row("other", "v3")];
        assert_eq!(told(&mut fleet, work).await, expected);
        let work = vec![said(one, "passing", None), said(one, "", None)];
        assert_eq!(told(&mut fleet, work).await, expected);
        assert!(fleet.tables.is_empty(), "{:?}", fleet.tables);
    }
}

/// Statements of closing the stream of each cluster.
async fn statements_of_closing(place: Place, clusters: usize) -> usize {
    let mut fleet = Fleet::in_place(place, clusters).await;
    fleet.open().await;
    let closes = fleet.clusters.iter().zip(&fleet.streams);
    let closes =
        closes.map(|(cluster, stream)| Work::Close(*cluster, Some(String::new()), stream.resource));
    fleet.carry_out(closes.collect()).await.1
}

#[tokio::test]
async fn each_stream_that_is_closed_together_with_others_takes_one_statement_more() {
    for (place, other) in Place::of_each_kind().zip(Place::of_each_kind()) {
        let one = statements_of_closing(place, 1).await;
        let many = statements_of_closing(other, MANY).await;
        assert_eq!(many - one, MANY - 1);
    }
}

/// Another one in which they are in another order would hold what this one waits for, and wait for what it has.
#[tokio::test]
async fn whoever_looks_after_clusters_is_held_in_the_order_of_their_numbers() {
    for place in Place::of_each_kind() {
        // In a file nobody else writes.
        let Some(engine) = place.engine() else {
            continue;
        };
        let location = place.location();
        let mut fleet = Fleet::in_place(place, 3).await;
        let other = crate::open::database(&location, &Options::default()).await;
        let other = other.expect("a database");
        let [first, second, third] = fleet.clusters[..] else {
            panic!("three")
        };
        let mut holder = other.write().await.expect("a transaction");
        let hold = catalog::hold_owners(holder.dialect(), &[second.0]);
        rows(&mut *holder, hold, |row| row.int(0))
            .await
            .expect("held");
        let work = [third, second, first].map(|cluster| said(cluster, "a reason", None));
        let looking = async {
            wait_until_a_row_is_waited_for(engine, &other).await;
            let free = "SELECT id FROM cluster WHERE id = ? FOR UPDATE SKIP LOCKED";
            let mut is_free = async |cluster: ClusterId| {
                let free = Statement::fixed("test.free", free, [cluster.0.into()]);
                let free = rows(&mut *holder, free, |row| row.int(0)).await;
                free.expect("an answer") == [cluster.0]
            };
            assert!(is_free(third).await, "it comes after what is waited for");
            assert!(!is_free(first).await, "it comes before");
            holder.rollback().await.expect("let go");
        };
        tokio::join!(fleet.carry_out(work.into()), looking);
        assert_eq!(recorded(&fleet, &[first, second, third]).await.len(), 3);
    }
}

/// What comes of an order about a cluster whose owner was looked at before, where the statement is committed by another before that is held; and what is recorded
/// of the cluster then.
async fn done_meanwhile(
    fleet: &mut Fleet,
    engine: Engine,
    order: Work,
    meanwhile: Statement,
) -> (Result<Vec<Done>, StoreError>, Vec<HealthRow>) {
    let location = fleet.place.location();
    let other = crate::open::database(&location, &Options::default()).await;
    let other = other.expect("a database");
    let mut changes = other.write().await.expect("a transaction");
    assert_eq!(changes.execute(meanwhile).await.expect("done"), 1);
    let changing = async {
        wait_until_a_row_is_waited_for(engine, &other).await;
        changes.commit().await.expect("done");
    };
    let work = [order];
    let (done, ()) = tokio::join!(fleet.try_to_carry_out(&work), changing);
    let recorded = recorded(fleet, &fleet.clusters).await;
    (done.map(|(done, _)| done), recorded)
}

/// Nothing would delete that any more. A stream of a cluster that is not there is nobody's, so whoever closes it is not refused.
#[tokio::test]
async fn nothing_is_recorded_of_a_cluster_that_goes_before_whoever_looks_after_it_is_held() {
    let ways: [fn(Dialect, ClusterId) -> Statement; 2] = [
        |_, cluster| catalog::delete_cluster(cluster.0),
        |dialect, cluster| catalog::leave_clusters(dialect, &[cluster.0], 1),
    ];
    for goes in ways {
        for place in Place::of_each_kind() {
            // In a file nobody else writes.
            let Some(engine) = place.engine() else {
                continue;
            };
            let mut fleet = Fleet::in_place(place, 2).await;
            let [told, closed] = fleet.clusters[..] else {
                panic!("two")
            };
            let order = said(told, "a reason", None);
            let dialect = fleet.database.dialect();
            let goes = |cluster| goes(dialect, cluster);
            let (refused, recorded) = done_meanwhile(&mut fleet, engine, order, goes(told)).await;
            let is_refused = matches!(
                refused.as_deref(),
                Ok([Done::Refused(StoreError::Left { .. })])
            );
            assert!(is_refused, "{refused:?}");
            assert_eq!(recorded, []);
            let order = Work::Close(closed, Some(String::new()), TypeId(1));
            let (done, _) = done_meanwhile(&mut fleet, engine, order, goes(closed)).await;
            assert!(matches!(done.as_deref(), Ok([Done::Nothing])), "{done:?}");
        }
    }
}

fn joins(name: &str, incarnation: &str, owner: &str) -> Work {
    let name = name.parse().expect("a name");
    Work::Join(name, incarnation.into(), owner.into())
}

fn leaves(name: &str, incarnation: &str) -> Work {
    Work::Leave(name.parse().expect("a name"), incarnation.into())
}

/// The clusters that joined, in the order of the work.
fn joined(done: Vec<Done>) -> Vec<ClusterId> {
    let joined = done.into_iter().filter_map(|done| match done {
        Done::Joined(cluster) => Some(cluster),
        _ => None,
    });
    joined.collect()
}

/// Clusters of these names, in the order in which they were made.
async fn clusters(database: &SharedDatabase, names: &[&str]) -> Vec<String> {
    let mut reader = database.read(Lane::Short).await.expect("a reader");
    let statement = catalog::clusters_of_names(database.dialect(), names);
    let found = rows(&mut *reader, statement, catalog::decode_owned).await;
    reader.rollback().await.expect("ended");
    let mut found = found.expect("rows");
    found.sort_by_key(|row| row.cluster.id);
    let words = found.into_iter().map(|OwnedRow { cluster, owner }| {
        let state = match (cluster.active, cluster.has_left) {
            (true, _) => "is there",
            (_, true) => "has left",
            _ => "is over",
        };
        format!(
            "{}/{} of {owner} {state}",
            cluster.name, cluster.incarnation
        )
    });
    words.collect()
}

/// Statements of clusters that join, join again, are taken over, are replaced by others of their names, and come back.
async fn statements_of_joining(place: Place, clusters: usize) -> [usize; 5] {
    let mut fleet = Fleet::in_place(place, 0).await;
    let (mut statements, mut ids) = ([0; 5], vec![]);
    let rounds = [("1", "x"), ("1", "x"), ("1", "y"), ("2", "y"), ("1", "y")];
    for (count, (incarnation, owner)) in statements.iter_mut().zip(rounds) {
        let work = (0..clusters).map(|number| joins(&format!("c-{number}"), incarnation, owner));
        let (done, taken) = fleet.carry_out(work.collect()).await;
        *count = taken;
        ids.push(joined(done));
    }
    let several: BTreeSet<i64> = ids[0].iter().map(|cluster| cluster.0).collect();
    assert_eq!(several.len(), clusters);
    let others = ids.remove(3);
    assert!(others.iter().all(|other| !several.contains(&other.0)));
    assert!(ids.iter().all(|one| *one == ids[0]), "{ids:?}");
    statements
}

/// That the owner lives, what there is, two for the numbers, what there is once more, what is new, and three for the catalogue. Where all are there the first
/// two, and the third is who looks after them from then on. Six more hide what is replaced and say so; and two show what comes back.
#[tokio::test]
async fn many_clusters_join_in_as_many_statements_as_one_does() {
    for clusters in [1, MANY] {
        for place in Place::of_each_kind() {
            let statements = statements_of_joining(place, clusters).await;
            assert_eq!(statements, [9, 2, 3, 15, 17], "{clusters}");
        }
    }
}

#[tokio::test]
async fn clusters_that_join_together_become_what_each_would_alone() {
    for place in Place::of_each_kind() {
        let mut fleet = Fleet::in_place(place, 0).await;
        let work = vec![
            joins("returned", "1", "x"),
            joins("stayed", "1", "x"),
            joins("remade", "1", "x"),
            leaves("returned", "1"),
        ];
        let before = joined(fleet.carry_out(work).await.0);
        let work = vec![
            joins("new", "1", "y"),
            joins("stayed", "1", "y"),
            joins("remade", "2", "z"),
            joins("returned", "1", "x"),
        ];
        let after = joined(fleet.carry_out(work).await.0);
        assert_eq!([after[3], after[1]], before[..2]);
        let names = ["new", "stayed", "remade", "returned"];
        let expected = [
            "returned/1 of x is there",
            "stayed/1 of y is there",
            "remade/1 of x has left",
            "new/1 of y is there",
            "remade/2 of z is there",
        ];
        assert_eq!(clusters(&fleet.database, &names).await, expected);
    }
}

#[tokio::test]
async fn what_is_asked_of_one_name_at_once_is_done_in_the_order_in_which_it_is_asked() {
    for place in Place::of_each_kind() {
        let mut fleet = Fleet::in_place(place, 0).await;
        let work = vec![
            joins("m", "1", "x"),
            joins("m", "1", "y"),
            joins("m", "2", "z"),
            joins("m", "1", "x"),
        ];
        let ids = joined(fleet.carry_out(work).await.0);
        assert!(ids[0] == ids[1] && ids[0] == ids[3] && ids[0] != ids[2]);
        for (work, state) in [
            (vec![leaves("m", "1"), joins("m", "1", "x")], "is there"),
            (vec![joins("m", "1", "x"), leaves("m", "1")], "has left"),
        ] {
            assert_eq!(joined(fleet.carry_out(work).await.0), [ids[0]]);
            let expected = [format!("m/1 of x {state}"), "m/2 of z has left".to_owned()];
            assert_eq!(clusters(&fleet.database, &["m"]).await, expected);
        }
    }
}

/// Refuses the health of so many clusters that it is looked at whether all are refused.
const DAMAGED_FRONT: &str = "CREATE TRIGGER damage BEFORE INSERT ON health WHEN NEW.cluster < (SELECT MIN(id) + 4 FROM cluster) \
     BEGIN SELECT RAISE(FAIL, 'damaged'); END";

/// Some of the orders are tried before others, to see whether all are refused.
#[tokio::test]
async fn what_is_asked_of_one_name_is_done_in_its_order_where_others_are_refused_too() {
    let fleet = Fleet::of(ALIKE + 2).await;
    let work = |last: [Work; 2]| {
        let mut work = unhealthy(&fleet.clusters[..=ALIKE]);
        work.extend(last);
        work
    };
    let named = |incarnation| [leaves("c-005", "uid"), joins("c-005", incarnation, "")];
    let [leave, join] = named("uid");
    let (first, second) = (work([leave, join]), work(named("other")));
    let database = Contended::new(fleet.database, 0);
    run(&database, DAMAGED_FRONT).await;
    let mut writer = writer_on(&database, fleet.committed);
    for (work, expected) in [
        (first, ["c-005/uid of  is there"].as_slice()),
        (
            second,
            &["c-005/uid of  has left", "c-005/other of  is there"],
        ),
    ] {
        let results = writer.results(&work).await;
        let refused = results.iter().filter(|result| result.is_err()).count();
        assert_eq!(refused, ALIKE, "{results:?}");
        assert_eq!(clusters(&writer.database, &["c-005"]).await, expected);
    }
}

#[test]
fn nothing_is_tried_before_what_it_has_to_come_behind() {
    let of = |number: i64| said(ClusterId(number), "a reason", None);
    let check = |others: Vec<Work>, witnesses: &[usize]| {
        let mut work: Vec<Work> = (0..ALIKE).map(|_| of(1)).collect();
        work.extend(others);
        let expected = (0..ALIKE).chain(witnesses.iter().map(|index| ALIKE + index));
        assert_eq!(samples(&work), Vec::from_iter(expected));
    };
    check(vec![], &[]);
    check(vec![of(1), of(1)], &[0]);
    check(vec![of(1), of(2), of(3), of(2)], &[1, 2]);
    check(vec![of(2), of(1)], &[0, 1]);
    check(vec![of(2), leaves("m", "1"), of(3), of(4)], &[0]);
    check(vec![leaves("m", "1"), of(3), joins("m", "1", "")], &[0]);
    let joins = ["m", "n", "m", "o", "n"].map(|name| joins(name, "1", ""));
    check(joins.into(), &[0, 3]);
}

/// They have looked, and wait for numbers, which somebody else has.
#[tokio::test]
async fn of_clusters_that_join_together_one_that_another_makes_meanwhile_is_made_once() {
    for place in Place::of_each_kind() {
        // In a file nobody else writes.
        let Some(engine) = place.engine() else {
            continue;
        };
        let location = place.location();
        let mut fleet = Fleet::in_place(place, 0).await;
        let other = crate::open::database(&location, &Options::default()).await;
        let other = other.expect("a database");
        let mut maker = other.write().await.expect("a transaction");
        let ids = take(&mut *maker, Numbered::Cluster, 1).await;
        let made = NewCluster {
            id: ids.expect("a number").start,
            name: "b",
            incarnation: "1",
            owner: "other",
        };
        let make = catalog::insert_clusters(maker.dialect(), &[made]);
        maker.execute(make).await.expect("made");
        let work = ["a", "b", "c"].map(|name| joins(name, "1", "x"));
        let making = async {
            wait_until_a_row_is_waited_for(engine, &other).await;
            maker.commit().await.expect("made");
        };
        let ((done, _), ()) = tokio::join!(fleet.carry_out(work.into()), making);
        assert_eq!(joined(done)[1], ClusterId(made.id));
        let expected = [
            "b/1 of x is there",
            "a/1 of x is there",
            "c/1 of x is there",
        ];
        assert_eq!(clusters(&fleet.database, &["a", "b", "c"]).await, expected);
    }
}

/// Each of them waits as long as all do, and the round trips of a transaction are what takes long with a server.
#[tokio::test]
async fn what_a_thousand_streams_have_at_once_is_one_transaction_of_few_statements() {
    let mut fleet = Fleet::of(1000).await;
    fleet.open().await;
    let change = objects("1", "web").split_off(3);
    let statements = fleet.write("1", &change).await;
    assert!(statements < 100, "{statements} statements");
    let change = objects("2", "web").split_off(3);
    let work = batches(&fleet.clusters, &fleet.streams, "2", &change);
    assert_eq!(transactions(&fleet, work).await, 1);
}

/// So many orders of which each takes statements of its own.
const THOUSAND: usize = 1024;

/// What takes statements of its own is done in small transactions: they hold what others wait for.
#[tokio::test]
async fn what_is_done_one_by_one_for_a_thousand_clusters_is_several_transactions() {
    let mut fleet = Fleet::of(THOUSAND).await;
    fleet.open().await;
    let name = |number: usize| format!("c-{number:03}");
    let named = |number: usize| name(number).parse().expect("a name");
    let closes = fleet.clusters.iter().zip(&fleet.streams);
    let closes =
        closes.map(|(cluster, stream)| Work::Close(*cluster, Some(String::new()), stream.resource));
    let adopts = |number| Work::Adopt(named(number), "uid".into(), "member".into());
    let of_all = |of: &dyn Fn(usize) -> Work| Vec::from_iter((0..THOUSAND).map(of));
    let again = |number| joins(&name(0), "uid", &format!("owner-{}", number % 2));
    let works = [
        closes.collect(),
        of_all(&adopts),
        of_all(&|number| leaves(&name(number), "uid")),
        of_all(&again),
    ];
    let one_by_one = fleet.portions.one_by_one;
    for (work, besides) in works.into_iter().zip([0, 0, 0, 1]) {
        let begun = transactions(&fleet, work).await;
        // The first of those that join is done as one of many.
        assert_eq!(begun, (THOUSAND - besides).div_ceil(one_by_one));
    }
    // All others go with as many as wait.
    let joins = (0..THOUSAND).map(|number| joins(&name(number), "uid", ""));
    assert_eq!(transactions(&fleet, joins.collect()).await, 1);
}

/// Gives a writer so much at once; how many transactions that takes.
async fn transactions(fleet: &Fleet, work: Vec<Work>) -> usize {
    let (orders, waiting) = queue(work.len());
    let mut replies = vec![];
    for work in work {
        let (reply, replied) = oneshot::channel();
        assert!(orders.give(Order { work, reply }).await);
        replies.push(replied);
    }
    drop(orders);
    let database = Contended::new(Arc::clone(&fleet.database), 0);
    let writer = writer_on(&database, fleet.committed.clone());
    writer.run(waiting, CancellationToken::new()).await;
    for replied in replies {
        let done = replied.await.expect("an answer");
        done.and_then(Done::told).expect("done");
    }
    database.begun.load(SeqCst)
}
