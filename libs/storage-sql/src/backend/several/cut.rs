//! Connections that break: before, in the middle of, and right after a commit. What was not acknowledged is written again, the same batch.

use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::conformance::object;
use armadex_storage::{Change, Search as _};

use tokio::time::timeout;

use super::place::{Home, PATIENCE, fixture_of, open, persist};
use super::proxy::{Cut, Proxy};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_whose_commit_was_not_answered_is_stored_once() {
    for prepared in [false, true] {
        for place in Home::on_each_server() {
            // It was there already: the second time nothing is left to write.
            check(place, Cut::AfterCommit, (prepared, 0)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_whose_commit_was_not_sent_is_stored_once() {
    for prepared in [false, true] {
        for place in Home::on_each_server() {
            check(place, Cut::BeforeCommit, (prepared, 3)).await;
        }
    }
}

/// Of a statement that the server remembers no text is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_was_cut_off_in_the_middle_is_stored_once() {
    for place in Home::on_each_server() {
        check(place, Cut::At("INTO ver"), (false, 3)).await;
    }
}

/// At each message of it in turn, by statements that the server remembers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_stored_once_wherever_in_it_the_connection_breaks() {
    for place in Home::on_each_server() {
        let proxy = Proxy::to(place.database.server()).await;
        let store = open(&place.prepared_url_by(proxy.port())).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        let revision = async || store.head().await.expect("a head").revision;
        let mut messages = 0;
        loop {
            let of = |round: usize| {
                let version = round.to_string();
                ["a", "b"].map(|name| {
                    object("ns", name)
                        .version(&version)
                        .label("round", &version)
                })
            };
            let known = persist(&fixture, &pods, &of(2 * messages)).await;
            known.expect("over one connection");
            let before = revision().await;
            proxy.cut_next(Cut::After(messages));
            let batch = of(2 * messages + 1);
            let changes = batch.clone().map(|object| Change::Put(object.build()));
            let first = fixture.write(&pods, changes).await;
            if !proxy.has_cut() {
                assert_eq!(first.expect("written").changed, 2);
                break;
            }
            // A connection that lay idle and is dead as it begins is nobody's trouble.
            assert_eq!(first.is_ok(), messages == 0, "{first:?}");
            let again = persist(&fixture, &pods, &batch).await;
            again.expect("over another connection");
            assert_eq!(revision().await, before + 2, "message {messages}");
            messages += 1;
        }
        proxy.take_back();
        // Its beginning, what is there, what changes, the commit.
        assert!(messages > 4, "{messages} messages");
        assert_eq!(fixture.list(&all_pods(), 10).await, ["m/ns/a", "m/ns/b"]);
        fixture.assert_sound().await;
    }
}

/// Reading everything may take an hour; to hear nothing in the middle of an answer may not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_whose_link_falls_silent_ends() {
    for place in Home::on_each_server() {
        let proxy = Proxy::to(place.database.server()).await;
        let url = place.url_by(proxy.port());
        let url = match url.starts_with("postgres") {
            true => format!("{url}&statement_timeout=5s"),
            false => format!("{url}&statement-timeout=5s"),
        };
        let store = open(&url).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        let labelled = |n: usize| {
            let object = object("ns", &format!("pod-{n}"));
            (0..8).fold(object, |object, label| {
                object.label(&format!("l-{label}"), "x")
            })
        };
        fixture.put(&pods, (0..1000).map(labelled)).await;
        assert_eq!(store.check().await.expect("a report").faults, [""; 0]);
        proxy.cut_next(Cut::Silent("SELECT o.type, o.nsid, o.id, o.form"));
        let checked = timeout(PATIENCE, store.check()).await.expect("an end");
        assert!(proxy.has_cut());
        assert!(checked.is_err_and(|err| err.is_transient()));
    }
}

/// One that lay idle may be dead; a new one that breaks is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_is_cut_off_as_it_begins_is_made_over_a_new_connection_once() {
    for place in Home::on_each_server() {
        let proxy = Proxy::to(place.database.server()).await;
        let store = open(&place.url_by(proxy.port())).await;
        let cut = Cut::At("FROM head");
        store.head().await.expect("a head");
        proxy.cut_next(cut);
        store.head().await.expect("over another connection");
        assert!(proxy.has_cut());
        proxy.cut_next(cut);
        // That of searches has not been opened yet.
        let refused = store.count(&all_pods()).await;
        assert!(refused.is_err_and(|err| err.is_transient()));
    }
}

/// Cuts the connection off once while a batch is written; `again` is how many changes the second try finds to make.
async fn check(place: Home, cut: Cut, (prepared, again): (bool, u64)) {
    let proxy = Proxy::to(place.database.server()).await;
    let url = match prepared {
        true => place.prepared_url_by(proxy.port()),
        false => place.url_by(proxy.port()),
    };
    let store = open(&url).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("m").await;
    fixture
        .put(&pods, [object("ns", "a"), object("ns", "b")])
        .await;
    let before = store.head().await.expect("a head").revision;
    let batch = [
        object("ns", "a").version("101"),
        object("ns", "c"),
        object("other", "d").label("app", "web"),
    ];
    proxy.cut_next(cut);
    let changes = batch.clone().map(|object| Change::Put(object.build()));
    match fixture.write(&pods, changes).await {
        Err(err) => assert!(err.is_transient(), "{err}"),
        Ok(written) => panic!("{cut:?} was not in the way of {written:?}"),
    }
    assert!(proxy.has_cut());
    let written = persist(&fixture, &pods, &batch).await.expect("written");
    let changes = written.added + written.changed;
    assert_eq!(changes, again, "{written:?}");
    // Each change has one revision, whenever it was made.
    assert_eq!(store.head().await.expect("a head").revision, before + 3);
    let paths = ["m/ns/a", "m/ns/b", "m/ns/c", "m/other/d"];
    assert_eq!(fixture.list(&all_pods(), 10).await, paths);
    fixture.assert_sound().await;
}
