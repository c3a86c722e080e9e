//! What is no copy, or would be one of two halves that do not fit.

use std::time::Duration;

use armadex_storage::StoreError;
use armadex_storage::conformance::fixture::name;

use super::*;

/// One revision.
async fn one_pod(place: &Home) {
    let store = place.store().await;
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("ns", "a")]).await;
    store.shutdown().await;
}

/// One more.
async fn another_pod(place: &Home) {
    let store = place.store().await;
    let fixture = Fixture::of(&store);
    let pods = fixture.pods_of("m").await;
    fixture.put(&pods, [object("ns", "b")]).await;
    store.shutdown().await;
}

#[track_caller]
fn says(refused: Result<Copied, CopyError>, words: &[&str]) {
    let refused = refused.expect_err("refused").to_string();
    for words in words {
        assert!(refused.contains(words), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_something_in_it_is_not_written_over() {
    for to in Home::kinds() {
        let (from, Some(to)) = (Home::in_a_file(), Home::of(to)) else {
            continue;
        };
        one_pod(&from).await;
        one_pod(&to).await;
        let before = to.tables().await;
        let words = ["TO: ", "a store of its own already", "an empty database"];
        says(copied(&from, &to).await, &words);
        assert_eq!(to.tables().await, before);
        says(copied(&to, &to).await, &["TO: "]);
    }
}

/// Makes a store one of an earlier release.
const LAST_MIGRATION: &str =
    "DELETE FROM _sqlx_migrations WHERE version = (SELECT MAX(version) FROM _sqlx_migrations)";

#[tokio::test]
async fn what_an_earlier_release_made_is_refused_as_it_is() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    one_pod(&from).await;
    one_pod(&to).await;
    to.run(LAST_MIGRATION).await;
    let words = ["TO: ", "made by an earlier release", "an empty database"];
    says(copied(&from, &to).await, &words);
    let standing = schema_standing(&to.location).await.expect("a standing");
    assert_eq!(standing.version, Some(standing.newest - 1));
    // It would not help to migrate FROM.
    from.run(LAST_MIGRATION).await;
    says(copied(&from, &to).await, &["TO: "]);
}

/// Whoever works with it might end.
#[tokio::test]
async fn what_an_earlier_release_works_with_is_not_migrated_to_be_copied() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    one_pod(&from).await;
    from.run(LAST_MIGRATION).await;
    let before = schema_standing(&from.location).await.expect("a standing");
    let words = ["FROM: ", "earlier release", "`armadex migrate` first"];
    says(copied(&from, &to).await, &words);
    let after = schema_standing(&from.location).await.expect("a standing");
    assert_eq!(after, before);
    assert!(!to.is_there());
}

/// Whoever was not told that a copy is whole, because the program was killed or the connection was lost, copies again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_is_whole_is_found_to_be_so_until_somebody_writes_to_it() {
    for to in Home::kinds() {
        let (from, Some(to)) = (Home::in_a_file(), Home::of(to)) else {
            continue;
        };
        one_pod(&from).await;
        let first = copied(&from, &to).await.expect("copied");
        assert!(!first.was_whole);
        let tables = to.tables().await;
        let again = copied(&from, &to).await.expect("it is there");
        let was_whole = true;
        assert_eq!(again, Copied { was_whole, ..first });
        assert_eq!(to.tables().await, tables);
        let another = Home::in_a_file();
        one_pod(&another).await;
        let words = ["TO: ", "a store of its own already"];
        says(copied(&another, &to).await, &words);
        another_pod(&to).await;
        says(copied(&from, &to).await, &words);
    }
}

/// What was written to before the copy is no copy any more, either.
#[tokio::test]
async fn a_copy_of_what_was_written_since_is_a_store_of_its_own() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    one_pod(&from).await;
    copied(&from, &to).await.expect("copied");
    another_pod(&from).await;
    says(copied(&from, &to).await, &["a store of its own already"]);
}

/// However that came: FROM is left as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_has_lost_a_row_does_not_take_the_place_of_its_store() {
    for to in Home::kinds() {
        let (from, Some(to)) = (Home::in_a_file(), Home::of(to)) else {
            continue;
        };
        one_pod(&from).await;
        let source = Source::open(&from.location).await.expect("a source");
        let (standing, _) = source.standing().await.expect("a standing");
        source.close().await;
        let stop = tokio_util::sync::CancellationToken::new();
        let stopping = stop.clone();
        let mut tell = move |step: CopyStep| {
            if step == CopyStep::Counting {
                stopping.cancel();
            }
        };
        let pace = small();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            done = copy(&from.location, &to.location, &pace, &mut tell) => panic!("{done:?}"),
        }
        to.run("DELETE FROM counter").await;
        let words = ["TO: ", "rows of the table counter", "copy again"];
        says(copied(&from, &to).await, &words);
        let source = Source::open(&from.location).await.expect("a source");
        let (after, _) = source.standing().await.expect("a standing");
        assert_eq!(after, standing);
        source.close().await;
    }
}

#[tokio::test]
async fn nothing_is_not_copied() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    says(copied(&from, &to).await, &["FROM: there is nothing in"]);
    from.store().await.shutdown().await;
    says(copied(&from, &to).await, &["FROM: there is nothing in"]);
    assert!(!to.is_there());
}

/// A store whose process lives does the periodic work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_a_process_looks_after_is_not_copied() {
    for from in Home::kinds() {
        let (Some(from), to) = (Home::of(from), Home::in_a_file()) else {
            continue;
        };
        one_pod(&from).await;
        let store = from.store().await;
        store.purge(10, Duration::ZERO).await.expect("purged");
        let working = async {
            loop {
                store.purge(10, Duration::ZERO).await.expect("purged");
            }
        };
        let refused = tokio::select! {
            refused = copied(&from, &to) => refused,
            () = working => unreachable!("it works on"),
        };
        says(
            refused,
            &["FROM: a process writes to", "stop each `armadex synchro`"],
        );
        assert!(!to.is_there());
        store.shutdown().await;
        copied(&from, &to).await.expect("it was given back");
    }
}

#[tokio::test]
async fn a_process_that_was_killed_is_waited_for_no_longer_than_others_wait() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    one_pod(&from).await;
    from.run("UPDATE lease SET holder = 'killed', beat = 7")
        .await;
    let pace = Pace {
        patience: Duration::from_millis(60),
        ..small()
    };
    let mut told = Vec::new();
    let mut tell = |step| told.push(step);
    let done = copy(&from.location, &to.location, &pace, &mut tell).await;
    done.expect("copied");
    assert_eq!(told[0], CopyStep::Watching(pace.patience));
}

/// Its rows are more by then than were copied, which is no fault of the copy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_before_rows_are_counted_is_found() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    one_pod(&from).await;
    let mut tell = |step| {
        if step == CopyStep::Counting {
            let handle = tokio::runtime::Handle::current();
            tokio::task::block_in_place(|| handle.block_on(another_pod(&from)));
        }
    };
    let done = copy(&from.location, &to.location, &small(), &mut tell).await;
    says(done, &["FROM: ", "was written while it was copied"]);
}

/// Before a chunk is read, and after the last of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_to_a_store_while_it_is_copied_is_found() {
    for from in Home::kinds() {
        for change in [
            "UPDATE head SET rev = rev + 1",
            "UPDATE head SET catalog = catalog + 1",
            "UPDATE lease SET beat = beat + 1",
            "UPDATE allocation SET next = next + 1 WHERE name = 'epoch'",
        ] {
            let (Some(from), to) = (Home::of(from), Home::in_a_file()) else {
                continue;
            };
            one_pod(&from).await;
            let source = Source::open(&from.location).await.expect("a source");
            let target = Target::open(&to.location).await.expect("a target");
            let progress = begun(&source, &target).await;
            from.run(change).await;
            let chunk = source.chunk(&progress, &TABLES[0], None, (7, 300)).await;
            assert!(matches!(chunk, Ok(Chunk::Changed)), "{change}");
            assert!(!source.retire(&progress).await.expect("an answer"));
            source.close().await;
            target.close().await;
            says(
                copied(&from, &to).await,
                &["FROM: ", "was written while it was copied", "remove TO"],
            );
        }
    }
}

/// What is made anew may have other keys than the part of it that was copied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_mended_in_a_store_while_it_is_copied_is_found() {
    for from in Home::kinds() {
        for damage in [
            "UPDATE counter SET n = n + 1",
            "UPDATE ns SET types = types + 1",
            "UPDATE stream SET objects = objects + 1",
        ] {
            let (Some(from), to) = (Home::of(from), Home::in_a_file()) else {
                continue;
            };
            one_pod(&from).await;
            from.run(damage).await;
            let source = Source::open(&from.location).await.expect("a source");
            let target = Target::open(&to.location).await.expect("a target");
            let progress = begun(&source, &target).await;
            let store = from.store().await;
            store.mend().await.expect("mended");
            assert_eq!(store.check().await.expect("a report").faults, [""; 0]);
            store.shutdown().await;
            assert!(!source.retire(&progress).await.expect("an answer"));
            source.close().await;
            target.close().await;
            says(
                copied(&from, &to).await,
                &["FROM: ", "was written while it was copied"],
            );
        }
    }
}

/// It wrote nothing meanwhile, so nothing is missing; from then on it would be the only one that knows what it writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_was_idle_while_its_store_was_copied_ends() {
    for from in Home::kinds() {
        let (Some(from), to) = (Home::of(from), Home::in_a_file()) else {
            continue;
        };
        one_pod(&from).await;
        let store = from.store().await;
        copied(&from, &to).await.expect("copied");
        let left = store.leave(&name("m"), "incarnation-1").await;
        assert!(matches!(left, Err(StoreError::Gone { .. })), "{left:?}");
        store.ended().await;
    }
}

#[tokio::test]
async fn two_stores_are_not_copied_into_one() {
    let (from, other, to) = (Home::in_a_file(), Home::in_a_file(), Home::in_a_file());
    one_pod(&from).await;
    one_pod(&other).await;
    let target = Target::open(&to.location).await.expect("a target");
    let source = Source::open(&from.location).await.expect("a source");
    begun(&source, &target).await;
    source.close().await;
    target.close().await;
    says(
        copied(&other, &to).await,
        &["an unfinished copy of another store"],
    );
    let refused = copied(&to, &other).await.expect_err("refused");
    assert!(matches!(refused, CopyError::From { .. }), "{refused}");
    copied(&from, &to).await.expect("copied");
}

/// The second finds that the first has gone on.
#[tokio::test]
async fn two_processes_do_not_make_one_copy() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    one_pod(&from).await;
    let source = Source::open(&from.location).await.expect("a source");
    let target = Target::open(&to.location).await.expect("a target");
    let progress = begun(&source, &target).await;
    let next = Progress {
        rows: 1,
        ..progress.clone()
    };
    let stored = target.store(&TABLES[0], &[], &progress, &next).await;
    stored.expect("stored");
    let again = target.store(&TABLES[0], &[], &progress, &next).await;
    assert!(matches!(again, Err(CopyError::Overtaken { .. })));
    source.close().await;
    target.close().await;
}
