//! How often a status is written whose cluster changes all the time.

use armadex_storage::Written;
use tokio_util::task::AbortOnDropHandle;

use super::unanswered::keeper;
use super::*;
use crate::testing::{Stage, named};
use crate::told::report::Report;
use crate::told::tally::Rows;

/// Its keeper at work, with one stream that follows its watch and whose report this is. The time stands still.
async fn followed(stage: &Stage) -> (Arc<Report>, AbortOnDropHandle<()>) {
    let keeper = keeper(stage).await;
    let report = Arc::new(Report::new(
        Arc::clone(keeper.board.changed()),
        Timestamp::UNIX_EPOCH,
    ));
    report.opened(0, Rows::Others);
    report.listed();
    report.syncing();
    let pods = (Arc::new(named("pods")), Arc::clone(&report));
    keeper.board.show_streams(vec![pods]);
    tokio::time::pause();
    let task = tokio::spawn(keeper.run(CancellationToken::new()));
    (report, AbortOnDropHandle::new(task))
}

fn writes(stage: &Stage) -> usize {
    stage.control_plane.statuses("m").len()
}

/// How often is looked at what was written.
const LOOK: Duration = Duration::from_millis(100);

/// The times between writes while for ten minutes something is told at every look. The first few are shorter, and are left out.
async fn gaps(stage: &Stage, tell: impl Fn(u64)) -> Vec<Duration> {
    let (mut seen, mut last, mut gaps) = (writes(stage), Instant::now(), Vec::new());
    for look in 1..6_000 {
        tell(look);
        tokio::time::sleep(LOOK).await;
        let written = writes(stage);
        if written > seen {
            assert_eq!(written, seen + 1, "at look {look}");
            gaps.push(last.elapsed());
            (seen, last) = (written, Instant::now());
        }
    }
    gaps.split_off(4)
}

fn objects(stage: &Stage) -> Option<i64> {
    stage.control_plane.cluster("m").status?.objects
}

fn adds() -> Written {
    Written {
        added: 1,
        bytes: 100,
        ..Written::default()
    }
}

#[tokio::test]
async fn what_is_counted_is_written_once_in_a_minute() {
    let stage = Stage::new().await;
    let (report, _keeper) = followed(&stage).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    let before = writes(&stage);
    for _ in 0..3_600 {
        report.wrote(adds());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let written = writes(&stage) - before;
    assert!((30..=60).contains(&written), "{written} in an hour");
    let told = objects(&stage).expect("they are told");
    assert!((3_450..=3_600).contains(&told), "{told}");
    let before = writes(&stage);
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let written = writes(&stage) - before;
    assert!(written <= 1, "{written} while nothing changes");
    assert_eq!(objects(&stage), Some(3_600), "it is told to the end");
}

#[tokio::test]
async fn what_is_counted_is_written_with_whatever_else_changes() {
    let stage = Stage::new().await;
    let (report, _keeper) = followed(&stage).await;
    tokio::time::sleep(Duration::from_secs(121)).await;
    report.wrote(adds());
    report.failed("refused".to_owned());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(objects(&stage), Some(1));
}

#[tokio::test]
async fn a_cluster_with_news_all_the_time_is_written_every_few_seconds() {
    let stage = Stage::new().await;
    let (report, _keeper) = followed(&stage).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    report.listing();
    let gaps_where = async |tell: fn(&Report, u64)| {
        let told = |page: u64| {
            report.wrote(adds());
            report.list_goes_on(page, Some(6_000 - page));
            tell(&report, page);
        };
        gaps(&stage, told).await
    };
    // What is told is by chance what was, at times, and the next is told sooner then.
    let changes = gaps_where(|report, page| match page % 2 {
        0 => report.stands("cut off".to_owned()),
        _ => report.works(),
    });
    let changes = changes.await;
    assert!(changes.len() > 60, "{changes:?}");
    assert!(
        changes.iter().all(|gap| *gap + LOOK >= FLOOR),
        "{changes:?}"
    );
    let new = gaps_where(|report, page| report.stands(format!("cut off at {page}"))).await;
    assert!(new.len() > 60, "{new:?}");
    let is_slow = |gap: &Duration| *gap + LOOK >= HIGHEST_FLOOR;
    assert!(new.iter().all(is_slow), "{new:?}");
}
