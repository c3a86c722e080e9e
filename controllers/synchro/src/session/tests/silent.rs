//! Members that accept connections and say nothing.

use std::future::pending;
use std::sync::{Arc, Mutex};

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::config::Shared;
use crate::session::LAST_RETRY;

/// A pause that grew to a minute has that at least, whatever chance takes off; between two looks there is never as much.
const HALF_A_MINUTE: Duration = Duration::from_secs(30);

/// A cluster whose member is silent.
struct Act {
    shared: Arc<Shared>,
    /// When it was asked.
    asked: Arc<Mutex<Vec<Instant>>>,
    fleet: Fleet,
    _stage: Stage,
    _listens: AbortOnDropHandle<()>,
}

impl Act {
    async fn begin() -> Self {
        let stage = Stage::new().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut object = asking_for(&ScriptedMember::start("uid", &[]).await, &["pods"]);
        object.spec.apiserver = format!("http://{address}");
        let asked = Arc::<Mutex<Vec<Instant>>>::default();
        let listens = tokio::spawn(listen(listener, Arc::clone(&asked)));
        let shared = stage.shared("one", Config::default());
        let mut fleet = stage.synchro_of_these(stage.control_plane.client(), &shared);
        stage.relist(&mut fleet, [object]);
        Self {
            shared,
            asked,
            fleet,
            _stage: stage,
            _listens: AbortOnDropHandle::new(listens),
        }
    }

    fn asked(&self) -> Vec<Instant> {
        self.asked.lock().expect("no panic").clone()
    }

    /// How long it was left alone before it was asked again.
    fn pause(&self) -> Option<Duration> {
        let [one, next, ..] = self.asked()[..] else {
            return None;
        };
        Some(next - one)
    }
}

async fn listen(listener: TcpListener, asked: Arc<Mutex<Vec<Instant>>>) {
    let mut open = Vec::new();
    while let Ok((socket, _)) = listener.accept().await {
        asked.lock().expect("no panic").push(Instant::now());
        open.push(socket);
    }
}

#[tokio::test]
async fn a_member_that_says_nothing_is_asked_now_and_then_whether_it_is_there_again() {
    let mut act = Act::begin().await;
    in_time("many questions", || async { act.asked().len() > 20 }).await;
    let asked = act.asked();
    let pauses: Vec<_> = asked.windows(2).map(|two| two[1] - two[0]).collect();
    let (longest, all) = (pauses.iter().max(), pauses.iter().sum::<Duration>());
    assert!(longest < Some(&(HALF_A_MINUTE / 2)), "{pauses:?}");
    assert!(all > 3 * HALF_A_MINUTE, "{pauses:?}");
    act.fleet.shutdown().await;
}

/// However long it was: what it is asked for less and less often is more than that.
#[tokio::test]
async fn a_member_that_was_silent_for_minutes_is_followed_again_within_seconds() {
    let mut act = super::Act::begin().await;
    act.member.hangs("/readyz");
    act.comes_to_say("ClusterHealthy", "False").await;
    let begun = Instant::now();
    in_time("some minutes", || async {
        begun.elapsed() > 3 * LAST_RETRY
    })
    .await;
    assert!(act.says("ClusterHealthy", "False"));
    act.member.answers("/readyz", 200);
    let back = Instant::now();
    act.comes_to_say("ClusterHealthy", "True").await;
    let took = back.elapsed();
    assert!(took < HALF_A_MINUTE / 2, "{took:?}");
    act.fleet.shutdown().await;
}

#[tokio::test]
async fn a_member_that_said_nothing_does_not_wait_behind_a_crowd_of_others() {
    let mut act = Act::begin().await;
    in_time("a question", || async { !act.asked().is_empty() }).await;
    let mut crowd = JoinSet::new();
    for _ in 0..5_000 {
        let shared = Arc::clone(&act.shared);
        crowd.spawn(async move { shared.reaching.ask(false, pending::<()>()).await.answer });
    }
    in_time("another", || async { act.asked().len() > 1 }).await;
    assert!(act.pause() < Some(HALF_A_MINUTE), "{:?}", act.pause());
    act.fleet.shutdown().await;
}
