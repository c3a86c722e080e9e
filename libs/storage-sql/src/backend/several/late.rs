//! A server that answers late: what comes within the time that a statement has is waited for; what does not is given up with its connection, keeps nobody else
//! waiting, and is written exactly once.

use std::sync::Arc;
use std::time::Duration;

use armadex_model::query::Start;
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::conformance::{Fixture, ObjectBuilder, Writer, object};
use armadex_storage::{Change, PageBudget, Search as _};
use tokio::time::Instant;

use super::place::{Home, fixture_of, open, persist};
use super::proxy::{Cut, Proxy};
use crate::store::SqlStore;

/// To connect and to begin, and for one statement: where the server says nothing that is given up five seconds later.
const TIMES: &str = "connect_timeout=4s&statement_timeout=4s";
/// Less than any of these,
const WITHIN: Duration = Duration::from_secs(1);
/// and more than all.
const BEYOND: Duration = Duration::from_secs(13);
/// The bodies of a page, which nobody else reads.
const BODIES: &str = "SELECT rev, dict, body";

type Lateness = fn(Duration) -> Cut;
const IN_THE_MIDDLE: Lateness = |by| Cut::Late("INTO ver", by);
const AT_THE_COMMIT: Lateness = Cut::LateCommit;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_answered_late_is_served() {
    for place in Home::on_each_server() {
        let slow = Slow::at(&place).await;
        slow.proxy.cut_next(Cut::Late(BODIES, WITHIN));
        let begun = Instant::now();
        let found = slow.fixture.list(&all_pods(), 10).await;
        assert_eq!(found, ["m/ns/a", "m/ns/b"]);
        assert!(slow.proxy.has_cut() && begun.elapsed() >= WITHIN);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_not_answered_in_time_is_given_up_and_keeps_nobody_else_waiting() {
    for place in Home::on_each_server() {
        let slow = Slow::at(&place).await;
        slow.proxy.cut_next(Cut::Late(BODIES, BEYOND));
        let begun = Instant::now();
        let budget = PageBudget {
            rows: 10,
            bytes: usize::MAX,
        };
        let query = all_pods();
        let page = slow.store.page(&query, &Start::Beginning, budget);
        let others = async {
            for _ in 0..10 {
                assert_eq!(slow.fixture.count(&all_pods()).await, 2);
                slow.store.head().await.expect("others go on");
            }
            begun.elapsed()
        };
        let (page, others) = tokio::join!(page, others);
        let (refused, took) = (page.expect_err("it is given up"), begun.elapsed());
        assert!(refused.is_transient(), "{refused}");
        assert!(slow.proxy.has_cut() && others < took && took < BEYOND);
        // It is the matter of who asked.
        let known = slow.store.availability();
        assert!(known.reads && known.outages == 0, "{known:?}");
        let found = slow.fixture.list(&all_pods(), 10).await;
        assert_eq!(found, ["m/ns/a", "m/ns/b"]);
    }
}

/// One that lay idle may be dead, which is all that is known of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_begins_too_late_begins_over_another_connection() {
    for place in Home::on_each_server() {
        let slow = Slow::at(&place).await;
        slow.store.head().await.expect("a head");
        slow.proxy.cut_next(Cut::Late("FROM head", BEYOND));
        let begun = Instant::now();
        let head = slow.store.head().await;
        head.expect("over another connection");
        assert!(slow.proxy.has_cut() && begun.elapsed() < BEYOND);
        assert_eq!(slow.store.availability().outages, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_answered_late_is_stored() {
    is_waited_for(IN_THE_MIDDLE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_answered_late_is_one() {
    is_waited_for(AT_THE_COMMIT).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_not_answered_in_time_is_stored_once() {
    is_given_up(IN_THE_MIDDLE, 3).await;
}

/// It is there: the second time nothing is left to write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_not_answered_in_time_is_one() {
    is_given_up(AT_THE_COMMIT, 0).await;
}

async fn is_waited_for(late: Lateness) {
    for place in Home::on_each_server() {
        let slow = Slow::at(&place).await;
        slow.proxy.cut_next(late(WITHIN));
        let changes = batch().map(|object| Change::Put(object.build()));
        let written = slow.fixture.write(&slow.pods, changes).await;
        let written = written.expect("written");
        assert!(slow.proxy.has_cut());
        assert_eq!(written.added + written.changed, 3, "{written:?}");
        slow.has_all_of_it_once().await;
        assert_eq!(slow.store.availability().outages, 0);
    }
}

/// `again` is how many changes the second try finds to make.
async fn is_given_up(late: Lateness, again: u64) {
    for place in Home::on_each_server() {
        let slow = Slow::at(&place).await;
        slow.proxy.cut_next(late(BEYOND));
        let begun = Instant::now();
        let changes = batch().map(|object| Change::Put(object.build()));
        let written = slow.fixture.write(&slow.pods, changes);
        let reads = async {
            while !slow.proxy.has_cut() {
                slow.store.head().await.expect("it is read");
            }
            slow.store.head().await.expect("it is read meanwhile");
            begun.elapsed()
        };
        let (written, read) = tokio::join!(written, reads);
        let (refused, took) = (written.expect_err("it is given up"), begun.elapsed());
        assert!(refused.is_transient() && refused.is_told(), "{refused}");
        assert!(read < took && took < BEYOND, "{read:?}, {took:?}");
        let known = slow.store.availability();
        assert!(known.reads && !known.writes, "{known:?}");
        let written = persist(&slow.fixture, &slow.pods, &batch()).await;
        let written = written.expect("written");
        assert_eq!(written.added + written.changed, again, "{written:?}");
        slow.has_all_of_it_once().await;
        // Where nothing was left to write that says nothing of writing.
        let later = [object("ns", "later")];
        slow.fixture.put(&slow.pods, later).await;
        assert!(slow.store.availability().writes);
    }
}

/// A store of two objects on a server that may be slow.
struct Slow {
    proxy: Proxy,
    store: Arc<SqlStore>,
    fixture: Fixture,
    pods: Writer,
    revision: i64,
}

impl Slow {
    async fn at(place: &Home) -> Self {
        let proxy = Proxy::to(place.database.server()).await;
        let store = open(&format!("{}&{TIMES}", place.url_by(proxy.port()))).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        let objects = [object("ns", "a"), object("ns", "b")];
        fixture.put(&pods, objects).await;
        let revision = store.head().await.expect("a head").revision;
        Self {
            proxy,
            store,
            fixture,
            pods,
            revision,
        }
    }

    /// Each change has one revision, whenever it was made.
    async fn has_all_of_it_once(&self) {
        let head = self.store.head().await.expect("a head");
        assert_eq!(head.revision, self.revision + 3);
        let paths = ["m/ns/a", "m/ns/b", "m/ns/c", "m/other/d"];
        assert_eq!(self.fixture.list(&all_pods(), 10).await, paths);
        self.fixture.assert_sound().await;
    }
}

/// One object that changes, and two that come.
fn batch() -> [ObjectBuilder; 3] {
    [
        object("ns", "a").version("101"),
        object("ns", "c"),
        object("other", "d"),
    ]
}
