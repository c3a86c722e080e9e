//! Streams of a member that keeps things to itself, and the audits that find them.

use armadex_crds::{ClusterAudit, ResourceAudit};
use armadex_storage::Object;
use tokio::sync::{SemaphorePermit, watch};

use super::living::{Life, LivingMember, Metadata};
use super::sink::Sinks;
use super::*;
use crate::audit::{AuditedCluster, Auditor, Audits};
use crate::session::plan::Missing;
use crate::stream::objects::ClusterObjects;
use crate::stream::turns::ClusterTurns;
use crate::testing::{named, warnings};
use crate::told::board::Board;
use crate::told::metrics::Counter;

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

/// A member, a store, and what is between them.
struct Stage {
    member: LivingMember,
    cluster: ClusterId,
    sink: Arc<MemorySink>,
    shared: Arc<Shared>,
    board: Arc<Board>,
    metrics: Arc<ClusterMetrics>,
    audits: Arc<Audits>,
}

/// The stream and the auditor at work.
struct Act {
    connected: Arc<Connected>,
    asks: watch::Sender<String>,
    report: Arc<Report>,
    cancel: CancellationToken,
    stream: JoinHandle<()>,
    auditor: JoinHandle<()>,
}

impl Stage {
    fn new(member: LivingMember, audit_every: Duration) -> Self {
        let sink = Arc::<MemorySink>::default();
        let shared = shared_by(Arc::clone(&sink) as Arc<dyn Sink>, audit_every);
        Self::of(member, ClusterId(1), sink, shared)
    }

    /// Clusters of one synchro, which audits none by itself.
    fn several(members: Vec<LivingMember>) -> Vec<Self> {
        let sinks: Vec<_> = members.iter().map(|_| Arc::default()).collect();
        let shared = shared_by(Arc::new(Sinks(sinks.clone())), Duration::ZERO);
        let clusters = (0..).map(ClusterId).zip(members.into_iter().zip(sinks));
        clusters
            .map(|(cluster, (member, sink))| Self::of(member, cluster, sink, Arc::clone(&shared)))
            .collect()
    }

    fn of(
        member: LivingMember,
        cluster: ClusterId,
        sink: Arc<MemorySink>,
        shared: Arc<Shared>,
    ) -> Self {
        let audits = Audits::new(shared.config.audit_every, None);
        Self {
            member,
            cluster,
            sink,
            shared,
            board: Arc::default(),
            metrics: Arc::default(),
            audits: Arc::new(audits),
        }
    }

    fn run(&self) -> Act {
        let lists = Arc::new(ClusterTurns::new(Arc::clone(&self.shared.lists)));
        let connected = Connected::new(
            self.member.connect(),
            Identity::stored(IDENTITY),
            lists,
            Arc::default(),
            self.shared.memory_of_cluster(),
        );
        let connected = Arc::new(connected);
        let report = Report::new(Arc::clone(self.board.changed()), Timestamp::UNIX_EPOCH);
        let report = Arc::new(report);
        let name = ClusterName::new("member1").unwrap();
        let beside = self.sink.with(|stored| stored.beside.clone());
        let types = [pods()].into_iter().chain(beside);
        let streams = types.map(|resource| (Arc::new(resource), Arc::clone(&report)));
        self.board.show_streams(streams.collect());
        let cancel = CancellationToken::new();
        let context = StreamContext {
            shared: Arc::clone(&self.shared),
            connected: Arc::clone(&connected),
            cluster: self.cluster,
            cluster_name: name.clone(),
            resource: Arc::new(pods()),
            converted: None,
            involved: None,
            report: Arc::clone(&report),
            objects: Arc::new(ClusterObjects::new(0)),
            metrics: Arc::clone(&self.metrics),
            cancel: cancel.clone(),
            left: CancellationToken::new(),
        };
        let (asks, asked) = watch::channel(String::new());
        let cluster = AuditedCluster {
            shared: Arc::clone(&self.shared),
            name,
            id: self.cluster,
            board: Arc::clone(&self.board),
            metrics: Arc::clone(&self.metrics),
            connected: Arc::clone(&connected),
            audits: Arc::clone(&self.audits),
        };
        let auditor = Auditor {
            cluster: Arc::new(cluster),
            asked,
        };
        Act {
            connected,
            asks,
            report,
            cancel,
            stream: tokio::spawn(run(context)),
            auditor: tokio::spawn(auditor.run()),
        }
    }

    /// Waits until the store has what the member has.
    async fn is_equal(&self) {
        let wanted = self.member.lives(|life| life.shown());
        let what = format!("{wanted:?}");
        self.sink
            .until(what, |stored| stored.shown() == wanted)
            .await;
    }

    /// Asks for an audit and waits for it.
    async fn audit(&self, act: &Act, request: &str) -> ClusterAudit {
        act.asks.send_replace(request.to_owned());
        self.audited(|audit| audit.request == request).await
    }

    async fn audited(&self, wanted: impl Fn(&ClusterAudit) -> bool) -> ClusterAudit {
        let wait = async {
            loop {
                if let Some(audit) = self.board.facts().audit.filter(&wanted) {
                    return audit;
                }
                self.board.changed().notified().await;
            }
        };
        let waited = tokio::time::timeout(24 * HOUR, wait).await;
        waited.expect("an audit")
    }

    fn lists(&self) -> usize {
        self.member.lives(|life| life.asked_for("list"))
    }
}

fn shared_by(sink: Arc<dyn Sink>, audit_every: Duration) -> Arc<Shared> {
    let config = Config {
        max_object_bytes: 4096,
        audit_every,
        ..Config::default()
    };
    Arc::new(Shared::new(sink, "", config))
}

impl Act {
    fn verdict(&self) -> ResourceAudit {
        self.report.shown().audit.expect("an audit")
    }

    async fn end(self) {
        self.auditor.abort();
        self.cancel.cancel();
        self.stream.await.unwrap();
    }
}

/// Objects, differences, mended; types proved, unproved.
fn counts(audit: &ClusterAudit) -> [i64; 5] {
    let ClusterAudit {
        objects,
        differences,
        mended,
        proved,
        unproved,
        ..
    } = *audit;
    [objects, differences, mended, proved, unproved]
}

async fn on(names: &[&str]) -> (Stage, Act) {
    let stage = Stage::new(LivingMember::with(names), Duration::ZERO);
    let act = stage.run();
    stage.is_equal().await;
    (stage, act)
}

/// An object that came, one that changed and one that went, of which no watch tells.
fn three_in_silence(life: &mut Life) {
    life.put_silently("e");
    life.put_silently("b");
    life.delete_silently("c");
}

#[tokio::test(start_paused = true)]
async fn what_no_watch_told_is_found_and_mended_and_then_there_is_nothing() {
    let (stage, act) = on(&["a", "b", "c", "d"]).await;
    let before = stage.audit(&act, "before").await;
    assert_eq!(counts(&before), [4, 0, 0, 1, 0]);
    stage.member.lives(three_in_silence);
    stage.member.lives(|life| life.put("d"));

    let lists = stage.lists();
    let found = stage.audit(&act, "found").await;
    assert_eq!(counts(&found), [4, 3, 3, 1, 0]);
    assert_eq!(found.message, "pods: 3 differed: n/b, n/c, n/e");
    assert_eq!(act.verdict().message, "3 differed: n/b, n/c, n/e");
    assert_eq!(stage.lists(), lists + 2, "one list of two pages");
    stage.is_equal().await;

    let after = stage.audit(&act, "after").await;
    assert_eq!(counts(&after), [4, 0, 0, 1, 0]);
    assert_eq!(stage.lists(), lists + 2);
    assert!(act.verdict().proved_time.is_some());
    let ClusterMetrics {
        differences,
        mended,
        proved,
        unproved,
        ..
    } = &*stage.metrics;
    let counted = [differences, mended, proved, unproved].map(Counter::get);
    assert_eq!(counted, [3, 3, 3, 0]);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_busy_is_audited_later_and_not_without_end() {
    let (stage, act) = on(&["a", "b", "c"]).await;
    let puts_off = |pages| stage.member.lives(|life| life.puts_off(pages));
    puts_off(1);
    let audit = stage.audit(&act, "once").await;
    assert_eq!(counts(&audit), [3, 0, 0, 1, 0]);
    puts_off(2);
    let audit = stage.audit(&act, "twice").await;
    let [.., proved, unproved] = counts(&audit);
    assert_eq!([proved, unproved], [0, 1], "{audit:?}");
    assert!(audit.message.contains("429 Too Many Requests"), "{audit:?}");
    act.end().await;
}

/// A member keeps a list for some minutes, and then gives a token to go on with at another version.
#[tokio::test(start_paused = true)]
async fn a_list_that_expires_is_gone_on_with_once_for_each_page() {
    let (stage, act) = on(&["a", "b", "c", "d", "e"]).await;
    stage.member.lives(|life| life.expires(1));
    let audit = stage.audit(&act, "once").await;
    assert_eq!(counts(&audit), [5, 0, 0, 1, 0]);
    let pages = stage.member.lives(|life| life.asked_for("metadata"));
    assert_eq!(pages, 4, "three, and the one that was refused");
    stage.member.lives(|life| life.expires(2));
    let audit = stage.audit(&act, "twice").await;
    let [_, differences, _, proved, unproved] = counts(&audit);
    assert_eq!([differences, proved, unproved], [0, 0, 1], "{audit:?}");
    stage.member.lives(|life| life.expires(0));
    let audit = stage.audit(&act, "again").await;
    assert_eq!(counts(&audit), [5, 0, 0, 1, 0]);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_right_is_proved_by_its_metadata_alone_and_without_a_wait() {
    let (stage, act) = on(&["a", "b", "c"]).await;
    // The stream stands far before the version of the list, as that of a quiet type always does.
    stage
        .member
        .lives(|life| (0..100).for_each(|_| life.pass_on()));
    let (lists, begun) = (stage.lists(), tokio::time::Instant::now());
    let audit = stage.audit(&act, "quiet").await;
    assert_eq!(counts(&audit), [3, 0, 0, 1, 0]);
    assert!(begun.elapsed() < Duration::from_secs(1));
    let pages = stage.member.lives(|life| life.asked_for("metadata"));
    assert_eq!((pages, stage.lists()), (2, lists));
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_changes_all_the_time_has_no_faults_but_those_it_has() {
    let names: Vec<String> = (0..20).map(|number| format!("pod-{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (stage, act) = on(&names).await;
    let mut turn = 0;
    stage.member.meanwhile(move |life| {
        turn += 1;
        life.put(&format!("pod-{:02}", turn % 10));
        life.put(&format!("new-{turn}"));
        if turn > 3 {
            life.delete(&format!("new-{}", turn - 3));
        }
    });
    for request in 0..20 {
        let audit = stage.audit(&act, &format!("busy {request}")).await;
        assert_eq!(counts(&audit)[1..], [0, 0, 1, 0], "{audit:?}");
    }
    stage.member.lives(|life| life.put_silently("pod-15"));
    stage.member.lives(|life| life.delete_silently("pod-16"));
    let audit = stage.audit(&act, "wrong").await;
    assert_eq!(counts(&audit)[1..], [2, 2, 1, 0], "{audit:?}");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_sends_whole_objects_is_audited_all_the_same() {
    for metadata in [Metadata::WholeObjects, Metadata::Refused] {
        let (stage, act) = on(&["a", "b", "c", "d"]).await;
        stage.member.lives(|life| life.answers_metadata(metadata));
        let audit = stage.audit(&act, "right").await;
        assert_eq!(counts(&audit), [4, 0, 0, 1, 0]);
        stage.member.lives(three_in_silence);
        stage.member.lives(Life::bookmark);
        let audit = stage.audit(&act, "wrong").await;
        assert_eq!(counts(&audit), [4, 3, 3, 1, 0]);
        act.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_stream_that_is_behind_nothing_is_said_and_nothing_is_listed() {
    let (stage, act) = on(&["a", "b", "c", "d"]).await;
    stage.audit(&act, "before").await;
    let proved = act.verdict().proved_time;
    assert!(proved.is_some());
    stage.member.lives(three_in_silence);
    stage.member.lives(|life| life.says_version(false));
    let lists = stage.lists();
    let audit = stage.audit(&act, "behind").await;
    assert_eq!(counts(&audit), [0, 0, 0, 0, 1]);
    assert_eq!(
        audit.message,
        "pods: not compared: the stream has not come to version 107 within 150 s"
    );
    assert_eq!(stage.lists(), lists);
    assert_eq!(
        act.verdict().proved_time,
        None,
        "the status keeps the former"
    );
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_type_without_bookmarks_is_waited_for_until_its_silence_is_believed() {
    let (stage, act) = on(&["a", "b", "c", "d"]).await;
    stage.member.lives(three_in_silence);
    let audit = stage.audit(&act, "silent").await;
    assert_eq!(counts(&audit), [4, 3, 3, 1, 0]);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_left_out_on_purpose_is_no_difference_and_is_named_again_after_a_restart() {
    let member = LivingMember::with(&["a", "b"]);
    member.lives(|life| life.put_with("large", 5000));
    let stage = Stage::new(member, Duration::ZERO);
    let small = |stored: &super::sink::Stored| stored.shown().len() == 2;
    let act = stage.run();
    stage.sink.until("two".into(), small).await;
    let audit = stage.audit(&act, "left out").await;
    assert_eq!(counts(&audit), [3, 0, 0, 1, 0]);
    act.end().await;

    let act = stage.run();
    stage.member.lives(Life::bookmark);
    let audit = stage.audit(&act, "restarted").await;
    assert_eq!(counts(&audit), [3, 0, 0, 1, 0]);
    let words = act.report.shown().message;
    assert!(words.contains("n/large is not stored"), "{words}");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_list_leaves_as_it_is_is_told_each_time_and_listed_for_once() {
    let (stage, act) = on(&["a", "b"]).await;
    let lost = ObjectKey::new("n", "lost");
    stage.sink.with(|stored| stored.lost = Some(lost));
    stage.member.lives(|life| life.put("lost"));
    let lists = stage.lists();
    for request in ["first", "second"] {
        let audit = stage.audit(&act, request).await;
        assert_eq!(counts(&audit), [3, 1, 0, 0, 1]);
        assert_eq!(
            audit.message,
            "pods: 1 differed: n/lost; 1 does after a new list as well"
        );
        assert_eq!(stage.lists(), lists + 2);
    }
    // Something else is wrong now.
    stage.member.lives(|life| life.delete_silently("a"));
    stage.member.lives(Life::bookmark);
    let audit = stage.audit(&act, "third").await;
    assert_eq!(counts(&audit), [2, 2, 1, 0, 1]);

    // What was healed since is listed for again.
    stage.sink.with(|stored| stored.lost = None);
    stage.member.lives(|life| life.put("lost"));
    stage.is_equal().await;
    let audit = stage.audit(&act, "healed").await;
    assert_eq!(counts(&audit), [2, 0, 0, 1, 0]);
    stage.member.lives(|life| life.put_silently("lost"));
    stage.member.lives(Life::bookmark);
    let audit = stage.audit(&act, "lost again").await;
    assert_eq!(counts(&audit), [2, 1, 1, 1, 0], "{audit:?}");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_watch_loses_after_a_list_is_mended_by_another() {
    let (stage, act) = on(&["a", "b", "c", "d"]).await;
    stage.member.lives(|life| life.put_silently("a"));
    stage.member.lives(Life::bookmark);
    let (lists, compared) = (
        stage.lists(),
        stage.member.lives(|life| life.asked_for("metadata")),
    );
    let mut lost = false;
    stage.member.meanwhile(move |life| {
        // The list is made, and the first page of the second comparison is asked for.
        if !lost && life.asked_for("metadata") > compared + 2 {
            lost = true;
            life.put_silently("b");
            life.bookmark();
        }
    });
    let audit = stage.audit(&act, "twice").await;
    assert_eq!(counts(&audit), [4, 2, 2, 1, 0], "{audit:?}");
    assert_eq!(audit.message, "pods: 2 differed: n/a, n/b");
    assert_eq!(stage.lists(), lists + 4, "two lists of two pages");
    stage.is_equal().await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_not_compared_is_not_proved() {
    let (stage, act) = on(&["a"]).await;
    let proved_at = || stage.metrics.unproved_since.get();
    // Its group does not answer, so it is shown and not followed.
    stage.board.show_streams(Vec::new());
    let audit = stage.audit(&act, "unfollowed").await;
    assert_eq!(counts(&audit), [0, 0, 0, 0, 1]);
    assert_eq!(audit.message, "pods: not compared: it is not followed now");
    stage.sink.with(|stored| stored.unreadable = true);
    let log = warnings();
    let audit = stage.audit(&act, "unreadable").await;
    let words = "the store is not available, the log of the synchro says more";
    assert_eq!(audit.message, words);
    let why = "the store was not read for an audit";
    assert!(log.told().iter().any(|line| line.starts_with(why)));
    drop(log);
    stage.sink.with(|stored| stored.unreadable = false);

    let closed = stage
        .sink
        .close(ClusterId(1), "", armadex_storage::TypeId(1));
    closed.await.expect("closed");
    let missing = Missing {
        group: "apps".to_owned(),
        resource: "deploymnets".to_owned(),
        version: String::new(),
        why: "the member does not serve it".to_owned(),
    };
    stage.board.update(|facts| facts.missing = vec![missing]);
    let audit = stage.audit(&act, "misspelt").await;
    assert_eq!(counts(&audit), [0; 5]);
    assert_eq!(audit.message, "not synced: deploymnets.apps");
    assert_eq!(proved_at(), 0);
    stage.board.update(|facts| facts.missing = Vec::new());
    stage.audit(&act, "nothing is asked for").await;
    assert!(proved_at() > 0);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_asked_for_an_audit_that_breaks_off_is_told_so() {
    let (stage, act) = on(&["a"]).await;
    stage.sink.with(|stored| stored.panics = true);
    let audit = stage.audit(&act, "broken").await;
    assert_eq!(counts(&audit), [0, 0, 0, 0, 1]);
    assert_eq!(audit.message, "pods: not compared: the audit broke off");
    stage.sink.with(|stored| stored.panics = false);
    let audit = stage.audit(&act, "whole").await;
    assert_eq!(counts(&audit), [1, 0, 0, 1, 0]);
    act.end().await;
}

/// A member that does not answer after so many pages of metadata more.
fn hangs_after(stage: &Stage, pages: usize) {
    let before = stage.member.lives(|life| {
        life.answers_metadata(Metadata::Alone);
        life.asked_for("metadata")
    });
    stage.member.meanwhile(move |life| {
        if life.asked_for("metadata") > before + pages {
            life.answers_metadata(Metadata::Hangs);
        }
    });
}

/// Pods and these types beside them, each of one page.
async fn of_types(names: &[&str]) -> Stage {
    let stage = Stage::new(LivingMember::with(&["a"]), Duration::ZERO);
    let beside = names.iter().map(|name| named(name)).collect();
    stage.sink.with(|stored| stored.beside = beside);
    let act = stage.run();
    stage.is_equal().await;
    act.end().await;
    stage
}

/// A session that is lost after some seconds, in which an audit is asked for; what came of it, and how many pages were asked for.
async fn session(stage: &Stage, request: &str) -> (Option<ClusterAudit>, usize) {
    let pages = || stage.member.lives(|life| life.asked_for("metadata"));
    let before = pages();
    let act = stage.run();
    act.asks.send_replace(request.to_owned());
    let answer = stage.audited(|audit| audit.request == request);
    let answer = tokio::time::timeout(Duration::from_secs(20), answer).await;
    act.end().await;
    (answer.ok(), pages() - before)
}

#[tokio::test(start_paused = true)]
async fn an_audit_goes_on_where_the_end_of_a_session_broke_it_off_and_not_at_once() {
    let stage = of_types(&["q", "r", "s", "t"]).await;
    hangs_after(&stage, 2);
    assert_eq!(session(&stage, "7").await, (None, 3));
    hangs_after(&stage, 1);
    assert_eq!(session(&stage, "7").await, (None, 0), "it rests");
    tokio::time::sleep(MINUTE * 2).await;
    assert_eq!(session(&stage, "7").await, (None, 2));
    hangs_after(&stage, 9);
    tokio::time::sleep(MINUTE).await;
    assert_eq!(session(&stage, "7").await, (None, 0), "it rests longer");
    tokio::time::sleep(MINUTE * 3).await;
    let (audit, pages) = session(&stage, "7").await;
    assert_eq!((counts(&audit.unwrap()), pages), ([5, 0, 0, 5, 0], 2));
    assert_eq!(stage.metrics.proved.get(), 5, "each once");
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_for_another_audit_has_all_types_compared_at_once() {
    let stage = of_types(&["q", "r"]).await;
    hangs_after(&stage, 2);
    assert_eq!(session(&stage, "7").await, (None, 3));
    hangs_after(&stage, 9);
    let (audit, pages) = session(&stage, "8").await;
    assert_eq!((counts(&audit.unwrap()), pages), ([3, 0, 0, 3, 0], 3));
}

#[tokio::test(start_paused = true)]
async fn a_type_that_takes_longer_than_the_sessions_of_a_member_holds_up_no_other() {
    let stage = of_types(&["q", "r"]).await;
    let mut asked = 0;
    let audit = loop {
        // The first is compared, and the second hangs in that session and in three more.
        let pages = match asked {
            0 => 1,
            1..5 => 0,
            _ => 9,
        };
        hangs_after(&stage, pages);
        let (audit, pages) = session(&stage, "7").await;
        asked += pages;
        if let Some(audit) = audit {
            break audit;
        }
    };
    assert_eq!(counts(&audit), [2, 0, 0, 2, 1], "{audit:?}");
    let words = "q: not compared: the member was lost each time before it was done";
    assert_eq!((audit.message.as_str(), asked), (words, 6));
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_an_audit_of_a_member_that_is_never_there_for_long_is_answered() {
    let stage = of_types(&["q", "r"]).await;
    let (begun, mut asked) = (tokio::time::Instant::now(), 0);
    let audit = loop {
        hangs_after(&stage, 0);
        let (audit, pages) = session(&stage, "7").await;
        asked += pages;
        if let Some(audit) = audit {
            break audit;
        }
    };
    assert_eq!((counts(&audit), asked), ([0, 0, 0, 0, 3], 6), "{audit:?}");
    assert!(begun.elapsed() < 3 * HOUR, "{:?}", begun.elapsed());
    // It is over: the next one begins with the first type.
    hangs_after(&stage, 9);
    let (audit, pages) = session(&stage, "8").await;
    assert_eq!((counts(&audit.unwrap()), pages), ([3, 0, 0, 3, 0], 3));
}

#[tokio::test(start_paused = true)]
async fn members_that_hang_and_streams_that_are_waited_for_hold_up_nobody() {
    let members = (0..9).map(|_| LivingMember::with(&["a", "b", "c", "d"]));
    let stages = Stage::several(members.collect());
    let mut acts = Vec::new();
    for stage in &stages {
        acts.push(stage.run());
        stage.is_equal().await;
    }
    for (index, stage) in stages[..8].iter().enumerate() {
        stage.member.lives(|life| match index < 4 {
            true => life.answers_metadata(Metadata::Hangs),
            false => {
                three_in_silence(life);
                life.says_version(false);
            }
        });
        acts[index].asks.send_replace("odd".to_owned());
    }
    let asked = |stage: &Stage| stage.member.lives(|life| life.asked_for("metadata") > 0);
    while !stages[..8].iter().all(asked) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let begun = tokio::time::Instant::now();
    let audit = stages[8].audit(&acts[8], "healthy").await;
    assert_eq!(counts(&audit), [4, 0, 0, 1, 0]);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    let audit = stages[0].audited(|audit| audit.request == "odd").await;
    assert_eq!(counts(&audit), [0, 0, 0, 0, 1], "{audit:?}");
    for act in acts {
        act.end().await;
    }
}

/// All the room that there is for audits of which much is held.
async fn room(stage: &Stage) -> SemaphorePermit<'_> {
    let audits = &stage.shared.large_audits;
    let all = u32::try_from(audits.available_permits()).expect("a few");
    audits.acquire_many(all).await.expect("open")
}

#[tokio::test(start_paused = true)]
async fn of_a_type_of_many_objects_no_copy_is_held_before_there_is_room() {
    let (stage, act) = on(&["a"]).await;
    let room = room(&stage).await;
    stage.sink.with(|stored| {
        let row = stored.rows.values().next().expect("a row").clone();
        for number in 0..10_000 {
            let key = ObjectKey::new("n", number.to_string());
            let row = Object {
                key: key.clone(),
                ..row.clone()
            };
            stored.rows.insert(key, row);
        }
    });
    act.asks.send_replace("large".to_owned());
    tokio::time::sleep(HOUR).await;
    let asked = || stage.member.lives(|life| life.asked_for("metadata"));
    assert_eq!((stage.board.facts().audit, asked()), (None, 0));
    drop(room);
    let audit = stage.audited(|audit| audit.request == "large").await;
    assert_eq!(counts(&audit), [1, 10_000, 10_000, 1, 0]);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_differs_much_is_compared_anew_once_there_is_room_to_hold_it() {
    let (stage, act) = on(&["a"]).await;
    stage.member.lives(|life| {
        for number in 0..1001 {
            life.put_silently(&format!("p{number}"));
        }
    });
    let room = room(&stage).await;
    act.asks.send_replace("much".to_owned());
    tokio::time::sleep(HOUR).await;
    assert_eq!(stage.board.facts().audit, None);
    let asked = || stage.member.lives(|life| life.asked_for("metadata"));
    let once = asked();
    drop(room);
    let audit = stage.audited(|audit| audit.request == "much").await;
    assert_eq!(counts(&audit), [1002, 1001, 1001, 1, 0]);
    // Again, for what is missing, and once more when the stream has listed.
    assert_eq!(asked(), 4 * once);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_audit_waits_for_a_fleet_that_is_being_listed() {
    let (stage, act) = on(&["a"]).await;
    let mut turns = Vec::new();
    for _ in 0..8 {
        let cluster = ClusterTurns::new(Arc::clone(&stage.shared.lists));
        let mut turn = Turn::default();
        turn.page(&cluster, false).await;
        turns.push(turn);
    }
    act.asks.send_replace("patient".to_owned());
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(stage.board.facts().audit, None);
    drop(turns);
    let audit = stage.audit(&act, "patient").await;
    assert_eq!(counts(&audit), [1, 0, 0, 1, 0]);
    act.end().await;
}

/// It may have been built anew, by which nothing else is said.
#[tokio::test(start_paused = true)]
async fn a_member_of_which_its_ca_alone_says_that_it_is_the_former_one_is_audited_soon_and_once() {
    let stage = Stage::new(LivingMember::with(&["a"]), 10_000 * HOUR);
    let act = stage.run();
    tokio::time::sleep(HOUR).await;
    assert_eq!(stage.board.facts().audit, None);
    let told = tokio::time::Instant::now();
    for _ in 0..2 {
        act.connected.was_vouched_for.notify_one();
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    let first = stage.audited(|_| true).await;
    assert!(told.elapsed() < HOUR);
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(stage.board.facts().audit, Some(first));
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_audit_comes_by_itself_within_the_period_and_never_without_one() {
    let stage = Stage::new(LivingMember::with(&["a"]), HOUR);
    let act = stage.run();
    let begun = tokio::time::Instant::now();
    let first = stage.audited(|_| true).await;
    assert!(begun.elapsed() <= HOUR + Duration::from_secs(60));
    let next = stage.audited(|audit| audit.time != first.time).await;
    assert_eq!(counts(&next), [1, 0, 0, 1, 0]);
    assert!(begun.elapsed() <= 3 * HOUR);
    act.end().await;

    let (stage, act) = on(&["a"]).await;
    tokio::time::sleep(48 * HOUR).await;
    assert_eq!(stage.board.facts().audit, None);
    act.end().await;
}
