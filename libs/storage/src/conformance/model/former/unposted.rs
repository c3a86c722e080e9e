//! A store that an earlier release filled with objects whose labels it learnt not to post.

use armadex_model::label::{Operator, Requirement};
use armadex_model::{ObjectKey, Query};

use super::{INCARNATION, OWNER, POSITION, assert_nothing_is_written};
use crate::conformance::fixture::{
    Fixture, RULES, Writer, all_pods, live, name, object, path, resource,
};
use crate::{Change, Object, Sink};

/// Two clusters with a stream of pods each, whose objects come one by one and by turns: so their labels are counted while they come, and what nearly each has
/// a value of its own of is not posted from then on. Some are changed then, and some deleted.
pub async fn fill_one_by_one(sink: &dyn Sink) {
    let mut writers = Vec::new();
    for cluster in ALTERNATING {
        let id = sink.join(&name(cluster), INCARNATION, OWNER).await;
        let id = id.expect("joined");
        let stream = sink
            .open(id, OWNER, &resource("", "pods", "Pod", true), RULES)
            .await;
        let stream = stream.expect("opened");
        writers.push((
            cluster,
            Writer {
                cluster: id,
                stream,
            },
        ));
    }
    for (from, until) in [(0, ONE_BY_ONE), (ONE_BY_ONE, 2 * ONE_BY_ONE)] {
        for number in from..until {
            for (cluster, writer) in &writers {
                let Some(change) = one_by_one(cluster, number) else {
                    continue;
                };
                let batch = writer.batch([change], Some(live(POSITION)));
                sink.write(batch).await.expect("written");
            }
        }
    }
}

/// How many there are of each cluster.
const ONE_BY_ONE: usize = 40;
const ALTERNATING: [&str; 2] = ["alpha", "beta"];

/// Each comes once; every fifth changes later, every seventh goes.
fn one_by_one(cluster: &str, number: usize) -> Option<Change> {
    let (object, is_later) = (number % ONE_BY_ONE, number >= ONE_BY_ONE);
    match (object % 5, object % 7) {
        _ if !is_later => Some(Change::Put(numbered(cluster, object, "1"))),
        (_, 0) => Some(Change::Delete(ObjectKey::new(
            "ns",
            format!("p-{object:02}"),
        ))),
        (0, _) => Some(Change::Put(numbered(cluster, object, "2"))),
        _ => None,
    }
}

fn numbered(cluster: &str, number: usize, version: &str) -> Object {
    let app = ["db", "web"][number % 2];
    object("ns", &format!("p-{number:02}"))
        .uid(&format!("{cluster}-{number}-{version}"))
        .version(version)
        .created(1_700_000_000 + number as i64)
        .label("app", app)
        .label("id", &format!("{cluster}-{number}"))
        .build()
}

/// What [`fill_one_by_one`] left is there, and found by each of its labels.
pub async fn labels_that_are_not_posted_are_found_as_before(fixture: &Fixture) {
    fixture.assert_sound().await;
    let there = |cluster: &'static str| {
        let numbers = (0..ONE_BY_ONE).filter(|number| number % 7 != 0);
        numbers.map(move |number| {
            let version = if number % 5 == 0 { "2" } else { "1" };
            (cluster, number, numbered(cluster, number, version))
        })
    };
    let there: Vec<_> = ALTERNATING.into_iter().flat_map(there).collect();
    let found = fixture.rows(&all_pods(), 7).await;
    let found: Vec<_> = found
        .into_iter()
        .map(|row| (path(&row), row.resource_version, row.created, row.body))
        .collect();
    let expected = there.iter().cloned().map(|(cluster, _, object)| {
        let path = format!("{cluster}/ns/{}", object.key.name);
        (path, object.resource_version, object.created, object.body)
    });
    assert_eq!(found, Vec::from_iter(expected));
    find_each(fixture, &there).await;
    for cluster in ALTERNATING {
        let writer = fixture.pods_of(cluster).await;
        assert_eq!(writer.stream.position, Some(live(POSITION)), "{cluster}");
        let own = there.iter().filter(|(of, ..)| *of == cluster);
        let changes: Vec<Change> = own
            .map(|(.., object)| Change::Put(object.clone()))
            .collect();
        assert_nothing_is_written(fixture, &writer, changes).await;
    }
    fixture.purge(100).await;
    fixture.assert_sound().await;
    find_each(fixture, &there).await;
}

/// By the label that it alone has, and by one that half of all have.
async fn find_each(fixture: &Fixture, there: &[(&str, usize, Object)]) {
    let labelled = |key: &str, value: &str| Query {
        labels: vec![Requirement {
            key: key.into(),
            operator: Operator::In([value.to_owned()].into()),
        }],
        ..all_pods()
    };
    for (cluster, number, object) in there {
        let alone = labelled("id", &format!("{cluster}-{number}"));
        let expected = [format!("{cluster}/ns/{}", object.key.name)];
        assert_eq!(fixture.list(&alone, 7).await, expected);
    }
    let web = fixture.list(&labelled("app", "web"), 7).await;
    let odd = there.iter().filter(|(_, number, _)| number % 2 == 1);
    assert_eq!(web.len(), odd.count());
}
