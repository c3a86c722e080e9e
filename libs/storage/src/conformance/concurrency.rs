//! Readers beside writers: what each of them sees is a state that some commit left.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use armadex_model::Query;
use armadex_model::label::{Operator, Requirement};
use armadex_model::query::Start;
use futures::future::{join, join_all};

use super::fixture::{Fixture, Writer, all_pods, object, path, through_a_token};
use crate::{Change, PageBudget};

/// Objects that every batch writes.
const MOVED: usize = 12;
/// Objects that no batch touches, between and around the others.
const STILL: usize = 30;
const BATCHES: usize = 60;
const READERS: usize = 3;

/// Each batch gives all its objects another version and another label: a page shows them of one batch, its index agrees with its rows, and
/// whoever walks pages meanwhile misses nothing and sees nothing twice.
pub async fn readers_beside_a_writer_see_whole_batches(fixture: &Fixture) {
    let pods = fixture.pods_of("member1").await;
    let still = (0..STILL).map(|n| object(&format!("ns{}", n % 3), &format!("still-{n:02}")));
    fixture.put(&pods, still).await;
    write_batch(fixture, &pods, 0).await;
    let done = AtomicBool::new(false);
    let write = async {
        for batch in 1..=BATCHES {
            write_batch(fixture, &pods, batch).await;
        }
        done.store(true, Ordering::Release);
    };
    let readers = (0..READERS).map(|_| read_until(fixture, &done));
    join(write, join_all(readers)).await;
    fixture.assert_sound().await;
}

/// Batches of odd numbers have one object more, which those of even numbers delete.
async fn write_batch(fixture: &Fixture, pods: &Writer, batch: usize) {
    let generation = batch.to_string();
    let mut changes: Vec<Change> = (0..MOVED)
        .map(|n| {
            let moved = object(&format!("ns{}", n % 3), &format!("moved-{n:02}"));
            let moved = moved.version(&(100 + batch).to_string());
            Change::Put(moved.label("generation", &generation).build())
        })
        .collect();
    let odd = object("ns1", "odd").version(&(100 + batch).to_string());
    changes.push(match batch % 2 {
        0 => Change::Delete(odd.build().key),
        _ => Change::Put(odd.label("generation", &generation).build()),
    });
    fixture.write(pods, changes).await.expect("written");
}

async fn read_until(fixture: &Fixture, done: &AtomicBool) {
    let mut newest = 0;
    loop {
        let last = done.load(Ordering::Acquire);
        let seen = see(fixture).await;
        assert!(seen >= newest, "batch {seen} was seen after batch {newest}");
        newest = seen;
        walk(fixture).await;
        if last {
            assert_eq!(newest, BATCHES, "the last batch is not there");
            return;
        }
    }
}

/// The batch that is seen, after making sure that it is seen whole.
async fn see(fixture: &Fixture) -> usize {
    let labelled = Query {
        labels: vec![Requirement {
            key: "generation".into(),
            operator: Operator::Exists,
        }],
        ..all_pods()
    };
    let budget = PageBudget {
        rows: 100,
        bytes: usize::MAX,
    };
    let page = fixture.search.page(&labelled, &Start::Beginning, budget);
    let page = page.await.expect("a page");
    let versions: BTreeSet<&str> = page
        .rows
        .iter()
        .map(|row| row.resource_version.as_str())
        .collect();
    assert!(versions.len() <= 1, "one page shows {versions:?}");
    let Some(version) = versions.first() else {
        assert!(fixture.tiny, "no object has the label that all have");
        return 0;
    };
    let batch = version.parse::<usize>().expect("a number") - 100;
    if page.next.is_none() {
        let odd = page.rows.iter().any(|row| row.key.name == "odd");
        assert_eq!(odd, batch % 2 == 1, "batch {batch}");
        assert_eq!(page.rows.len(), MOVED + batch % 2, "batch {batch}");
    } else {
        assert!(fixture.tiny, "{} rows and more", page.rows.len());
    }
    batch
}

/// All pages, with commits between them: what stays is there once, in order.
async fn walk(fixture: &Fixture) {
    let budget = PageBudget {
        rows: 7,
        bytes: usize::MAX,
    };
    let (mut paths, mut start) = (Vec::new(), Start::Beginning);
    let mut revision = 0;
    loop {
        let page = fixture.search.page(&all_pods(), &start, budget).await;
        let page = page.expect("a page");
        assert!(
            page.head.revision >= revision,
            "the store went back to {}",
            page.head.revision
        );
        revision = page.head.revision;
        for row in &page.rows {
            assert!(row.revision <= revision, "{row:?} is of the future");
        }
        paths.extend(page.rows.iter().map(path));
        match page.next {
            Some(next) => start = Start::After(through_a_token(&next)),
            None => break,
        }
    }
    assert!(paths.is_sorted_by(|a, b| a < b), "{paths:#?}");
    let odd = paths.iter().filter(|path| path.ends_with("/odd")).count();
    assert_eq!(paths.len(), MOVED + STILL + odd, "{paths:#?}");
}
