//! Lists of one revision are alike: what readers see while orders are carried out is kept, and held against each other.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use armadex_model::Query;
use armadex_model::query::Start;
use futures::future::join;

use super::map::{KINDS, described};
use crate::conformance::fixture::{Fixture, path};
use crate::{Found, PageBudget};

/// Lists of everything, by the revision that they are of.
#[derive(Default)]
pub(super) struct Lists {
    known: BTreeMap<i64, Vec<String>>,
    compared: u64,
}

impl Lists {
    /// Lists again and again until some work is done, and once after it.
    pub(super) async fn during<T>(
        &mut self,
        fixture: &Fixture,
        work: impl Future<Output = T>,
    ) -> T {
        let is_done = AtomicBool::new(false);
        let working = async {
            let done = work.await;
            is_done.store(true, Ordering::Relaxed);
            done
        };
        let looking = async {
            while !is_done.load(Ordering::Relaxed) {
                self.look(fixture).await;
            }
            self.look(fixture).await;
        };
        join(working, looking).await.0
    }

    /// The same for work that takes no revision: what it leaves is held against what there was.
    pub(super) async fn across<T>(
        &mut self,
        fixture: &Fixture,
        work: impl Future<Output = T>,
    ) -> T {
        self.look(fixture).await;
        let compared = self.compared;
        let done = self.during(fixture, work).await;
        assert!(
            self.compared > compared,
            "no list of the revision that was before"
        );
        done
    }

    /// Lists everything once. Pages of different revisions are no list of any.
    async fn look(&mut self, fixture: &Fixture) {
        let mut query = Query::all(described(0).gvr);
        let others = (1..KINDS.len()).flat_map(|kind| Query::all(described(kind).gvr).types);
        query.types.extend(others);
        let budget = PageBudget {
            rows: 10_000,
            bytes: usize::MAX,
        };
        let (mut start, mut all, mut revision) = (Start::Beginning, Vec::new(), None);
        loop {
            let page = fixture.search.page(&query, &start, budget).await;
            let page = page.expect("a page");
            if *revision.get_or_insert(page.head.revision) != page.head.revision {
                return;
            }
            all.extend(page.rows.iter().map(told));
            match page.next {
                Some(next) => start = Start::After(next),
                None => break,
            }
        }
        let revision = revision.unwrap_or_default();
        match self.known.get(&revision) {
            Some(before) => {
                assert_eq!(*before, all, "two lists of revision {revision}");
                self.compared += 1;
            }
            None => {
                self.known.insert(revision, all);
            }
        }
    }
}

/// All that a list says of an object.
fn told(row: &Found) -> String {
    let Found {
        resource,
        cluster: _,
        key: _,
        resource_version,
        revision,
        created,
        body,
    } = row;
    let body = String::from_utf8_lossy(body);
    format!(
        "{} {} {resource_version} {revision} {created} {body}",
        resource.kind,
        path(row)
    )
}
