//! A copy that is stopped in the middle, as by a kill, goes on; until it is whole it serves nobody.

use tokio_util::sync::CancellationToken;

use super::*;

/// Stops a copy when it has told so many steps. Whether it came to its end before.
async fn stopped_after(steps: usize, from: &Home, to: &Home) -> bool {
    let stop = CancellationToken::new();
    let mut told = 0;
    let stopping = stop.clone();
    let mut tell = move |_| {
        told += 1;
        if told == steps {
            stopping.cancel();
        }
    };
    let pace = small();
    tokio::select! {
        biased;
        () = stop.cancelled() => false,
        // Also where the last step of the one that was stopped was carried out, though nobody waited for its answer.
        done = copy(&from.location, &to.location, &pace, &mut tell) => {
            done.expect("copied");
            true
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_is_stopped_after_any_step_goes_on() {
    let [file, postgres, mysql] = Home::kinds();
    for (from, to) in [(file, postgres), (postgres, mysql), (mysql, file)] {
        let (Some(from), Some(to)) = (Home::of(from), Home::of(to)) else {
            continue;
        };
        fill_a_little(&from).await;
        let store = from.store().await;
        let before = store.head().await.expect("a head");
        let expected = answers(&Fixture::of(&store)).await;
        store.shutdown().await;
        let tables = from.tables().await;
        let mut stops = 0;
        while !stopped_after(1 + stops % 2, &from, &to).await {
            stops += 1;
            if stops % 8 == 1 && serves(&to).await {
                break;
            }
        }
        assert!(stops > 5, "{stops}");
        assert_eq!(to.tables().await, tables);
        goes_on(&to, &before, expected).await;
    }
}

/// Nobody writes to the original, so nothing of it is lost when the machine goes down.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_goes_on_after_the_machine_was_started_anew() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    fill_a_little(&from).await;
    let tables = from.tables().await;
    assert!(!stopped_after(3, &from, &to).await);
    for place in [&from, &to] {
        let Location::Sqlite(path) = &place.location else {
            unreachable!("a file");
        };
        let mark = path.with_extension("db-mark");
        let text = std::fs::read_to_string(&mark).expect("a mark");
        let life = text.split(' ').nth(4).expect("a life of the machine");
        let other = text.replacen(life, &"0".repeat(life.len()), 1);
        std::fs::write(&mark, other).expect("written");
    }
    copied(&from, &to).await.expect("copied");
    assert_eq!(to.tables().await, tables);
}

/// Whether it is whole; until then it is refused in these words.
async fn serves(to: &Home) -> bool {
    let refused = match crate::open(&to.location).await {
        Ok(store) => {
            store.shutdown().await;
            return true;
        }
        Err(refused) => refused.to_string(),
    };
    for words in ["a copy that is not finished", "armadex store copy"] {
        assert!(refused.contains(words), "{refused}");
    }
    false
}

/// Whoever has it open already, and a binary that knows nothing of copies, reads the same of the head.
#[tokio::test]
async fn a_process_that_has_the_empty_store_open_ends() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    fill_a_little(&from).await;
    let open = to.store().await;
    open.head().await.expect("a head");
    assert!(!stopped_after(1, &from, &to).await);
    open.head().await.expect_err("it serves nobody");
    open.ended().await;
}

/// Whoever had it open and read nothing meanwhile knows another key than that of the index which is there now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_had_the_empty_store_open_and_reads_it_when_the_copy_is_whole_ends() {
    for to in Home::kinds() {
        let (from, Some(to)) = (Home::in_a_file(), Home::of(to)) else {
            continue;
        };
        fill_a_little(&from).await;
        let (first, other) = (to.store().await, to.store().await);
        other.head().await.expect("a head");
        copied(&from, &to).await.expect("copied");
        first.catalog().await.expect_err("it serves nobody");
        other.head().await.expect_err("it serves nobody");
        first.ended().await;
        other.ended().await;
        let store = to.store().await;
        store.head().await.expect("a head");
        store.shutdown().await;
    }
}

/// The last step but one is done, the last is not.
#[tokio::test]
async fn a_copy_that_is_stopped_before_its_last_step_goes_on() {
    let (from, to) = (Home::in_a_file(), Home::in_a_file());
    fill_a_little(&from).await;
    let before = from.store().await;
    let head = before.head().await.expect("a head");
    before.shutdown().await;
    let source = Source::open(&from.location).await.expect("a source");
    let target = Target::open(&to.location).await.expect("a target");
    let mut progress = begun(&source, &target).await;
    let copying = Copying {
        source: &source,
        target: &target,
        pace: &small(),
        names: (String::new(), String::new()),
    };
    for number in 0..TABLES.len() {
        let copied = copying.copy_table(number, &mut progress, &mut |_| {}).await;
        copied.expect("copied");
    }
    assert!(source.retire(&progress).await.expect("retired"));
    source.close().await;
    target.close().await;
    copied(&from, &to).await.expect("copied");
    let store = to.store().await;
    assert_eq!(store.head().await.expect("a head"), head);
    store.shutdown().await;
}
