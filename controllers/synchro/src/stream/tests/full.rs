//! Clusters that have as many objects in the store as they may have.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// So many a cluster may have here.
const MOST: u64 = 10;
/// Longer than a stream of a full cluster waits.
const LONG: Duration = Duration::from_secs(3600);

/// Objects of these numbers, of this version.
fn numbered(numbers: std::ops::Range<u32>, version: u32) -> Vec<(String, u32)> {
    let named = |number: u32| (format!("p{number:02}"), version);
    numbers.map(named).collect()
}

fn page_of(version: u32, token: &str, pods: &[(String, u32)]) -> Answer {
    let pods: Vec<_> = pods
        .iter()
        .map(|(name, version)| (name.as_str(), *version))
        .collect();
    page(version, token, &pods)
}

fn rows(pods: &[(String, u32)]) -> Vec<String> {
    let row = |(name, version): &(String, u32)| format!("n/{name}@{version}");
    pods.iter().map(row).collect()
}

fn deleted(numbers: std::ops::Range<u32>, version: u32) -> String {
    let deleted = |number: u32| event("DELETED", &pod(&format!("p{number:02}"), version + number));
    numbers.map(deleted).collect()
}

impl Scene {
    /// A former process has stored these, and followed them.
    async fn that_has(pods: &[(String, u32)]) -> Self {
        let scene = Self::new();
        scene.member.lists([page_of(10, "", pods)]);
        let act = scene.run();
        scene.comes_to_have(pods, "Live@10").await;
        act.end().await;
        scene
    }

    /// Waits until it has these, as long as that takes for a stream that waits for place.
    async fn comes_to_have(&self, pods: &[(String, u32)], place: &str) {
        let (wanted, place) = (rows(pods), place.to_owned());
        let what = format!("{wanted:?} at {place}");
        let holds =
            move |stored: &sink::Stored| stored.shown() == wanted && stored.place() == place;
        self.sink.until_within(LONG, what, holds).await;
    }

    /// The member has these by now, at this version. A first list may only find that others are gone; the second brings these.
    async fn comes_down_to(&self, pods: &[(String, u32)], version: u32) {
        self.member.set_size(pods.len().try_into().expect("few"));
        let page = || page_of(version, "", pods);
        self.member.lists([page(), page()]);
        self.comes_to_have(pods, &format!("Live@{version}")).await;
    }

    /// The list of which it has these was never read to its end.
    fn is_to_be_listed(&self) {
        self.sink.with(|stored| {
            let position = stored.position.as_mut().expect("it was listed");
            position.phase = Phase::Listing;
        });
    }

    /// How often it was listed from the beginning.
    fn lists(&self) -> usize {
        let requests = self.member.requests();
        requests.iter().filter(|request| *request == "list").count()
    }
}

impl Act {
    /// Waits until it tells of this.
    async fn tells(&self, words: &str) {
        let is_told = |shown: &Progress| shown.message.contains(words);
        self.shows_within(LONG, words.to_owned(), is_told).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_cluster_whose_objects_are_others_now_is_listed_and_swept() {
    let scene = Scene::that_has(&numbered(0..10, 1)).await;
    scene.member.watches([Answer::status(410, gone())]);
    scene.member.set_size(10);
    let others = numbered(10..20, 2);
    let pages = || {
        [
            page_of(30, "t", &others[..5]),
            page_of(30, "", &others[5..]),
        ]
    };
    scene.member.lists(pages().into_iter().chain(pages()));
    let began = Instant::now();
    let act = scene.run_within(MOST).await;
    scene.comes_to_have(&others, "Live@30").await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.lists(), 3, "the first found that all are gone");
    assert!(began.elapsed() < Duration::from_secs(10), "at once");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_leaves_makes_place_for_what_comes_with_it() {
    let scene = Scene::that_has(&numbered(0..12, 1)).await;
    let lines = event("MODIFIED", &pod("p00", 11)) + &deleted(1..4, 11);
    scene.member.watches([Answer::ok(lines).that_stays_open()]);
    let act = scene.run_within(MOST).await;
    let mut left = numbered(4..12, 1);
    left.insert(0, ("p00".to_owned(), 11));
    scene.comes_to_have(&left, "Live@14").await;
    act.says(ResourceSyncStatus::Syncing).await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_leaves_is_written_where_nothing_else_is_and_a_list_brings_the_rest() {
    let scene = Scene::that_has(&numbered(0..13, 1)).await;
    let lines = event("MODIFIED", &pod("p00", 11)) + &deleted(1..2, 11);
    scene.member.watches([Answer::ok(lines).that_stays_open()]);
    scene.member.set_size(12);
    let act = scene.run_within(MOST).await;
    let mut left = numbered(2..13, 1);
    left.insert(0, ("p00".to_owned(), 1));
    scene.comes_to_have(&left, "Live@10").await;
    act.says(ResourceSyncStatus::Error).await;
    // Nothing past what was left out is recorded. By now there are three.
    scene.comes_down_to(&numbered(0..3, 11), 40).await;
    act.says(ResourceSyncStatus::Syncing).await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_followed_anew_where_the_member_has_more_than_there_is_place_for() {
    let scene = Scene::that_has(&numbered(0..12, 1)).await;
    let added = event("ADDED", &pod("p20", 11));
    scene.member.watches([Answer::ok(added).that_stays_open()]);
    scene.member.set_size(13);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    let line = deleted(0..4, 12);
    scene.member.watches([Answer::ok(line).that_stays_open()]);
    scene.comes_to_have(&numbered(4..12, 1), "Live@15").await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.lists(), 1, "that of the former process");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_made_anew_under_its_name_is_not_one_more() {
    let stored = numbered(0..11, 1);
    let scene = Scene::that_has(&stored).await;
    let anew = pod("p00", 11).replace("u-p00", "another");
    let changed = event("MODIFIED", &pod("p01", 12));
    let watch = Answer::ok(event("ADDED", &anew)).and_then(Duration::from_secs(2), &changed);
    scene.member.watches([watch.that_stays_open()]);
    let act = scene.run_within(MOST).await;
    let mut all = stored;
    (all[0].1, all[1].1) = (11, 12);
    scene.comes_to_have(&all, "Live@12").await;
    act.says(ResourceSyncStatus::Syncing).await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_of_a_full_cluster_that_only_has_fewer_than_before_is_stored() {
    let scene = Scene::that_has(&numbered(0..5, 1)).await;
    scene.sink.with(|stored| stored.others = 6);
    scene.member.watches([Answer::status(410, gone())]);
    scene.member.set_size(4);
    let fewer = numbered(1..5, 2);
    scene.member.lists([page_of(30, "", &fewer)]);
    let act = scene.run_within(MOST).await;
    scene.comes_to_have(&fewer, "Live@30").await;
    act.says(ResourceSyncStatus::Syncing).await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_expired_leads_to_no_list_that_has_no_place() {
    let scene = Scene::that_has(&numbered(0..10, 1)).await;
    scene.member.watches([Answer::status(410, gone())]);
    scene.member.set_size(11);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    assert_eq!(scene.lists(), 1, "that of the former process");
    let stored = scene.sink.with(|stored| (stored.shown(), stored.place()));
    assert_eq!(stored, (rows(&numbered(0..10, 1)), "Live@10".to_owned()));
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_list_that_broke_off_has_left_makes_room_for_no_more() {
    // Nine were there, and ten others of a list that was never read to its end.
    let scene = Scene::that_has(&numbered(0..19, 1)).await;
    scene.is_to_be_listed();
    scene.member.set_size(19);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    assert_eq!(scene.lists(), 1, "that of the former process");
    let left = numbered(50..58, 2);
    scene.member.set_size(8);
    let pages = || [page_of(30, "t", &left[..5]), page_of(30, "", &left[5..])];
    // One finds that they are gone, and there is place for the other.
    scene.member.lists(pages().into_iter().chain(pages()));
    scene.comes_to_have(&left, "Live@30").await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.lists(), 3);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_a_list_for_which_there_is_no_place_only_what_leaves_is_written() {
    let scene = Scene::that_has(&numbered(0..15, 1)).await;
    scene.member.watches([Answer::status(410, gone())]);
    scene.member.set_size(14);
    let (left, new) = (numbered(3..15, 2), numbered(20..22, 2));
    let all: Vec<_> = left.iter().chain(&new).cloned().collect();
    scene.member.lists([page_of(30, "", &all)]);
    let act = scene.run_within(MOST).await;
    // Whether the member was restored is not known, and so not whether a watch would bring back what was taken away.
    scene.comes_to_have(&numbered(3..15, 1), "Listing@").await;
    act.says(ResourceSyncStatus::Error).await;
    assert_eq!(scene.lists(), 2);
    // Nothing more can be taken away, and nothing is listed for it.
    tokio::time::sleep(LONG).await;
    assert_eq!(scene.lists(), 2);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_changes_in_a_cluster_far_too_full_is_not_listed_for_it() {
    let scene = Scene::that_has(&numbered(0..12, 1)).await;
    let changed = event("MODIFIED", &pod("p00", 11));
    let watch = move || Answer::ok(changed.clone()).that_stays_open();
    scene.member.watches((0..100).map(|_| watch()));
    scene.member.set_size(12);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    tokio::time::sleep(LONG).await;
    assert_eq!(scene.lists(), 1, "that of the former process");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_stopped_at_what_there_may_be_goes_on_without_a_list() {
    let scene = Scene::that_has(&numbered(0..10, 1)).await;
    let (added, changed) = (("p10", 11), ("p00", 12));
    let watch = |kind, (name, version)| Answer::ok(event(kind, &pod(name, version)));
    scene.member.watches([
        watch("ADDED", added).that_stays_open(),
        watch("MODIFIED", changed).that_stays_open(),
    ]);
    scene.member.set_size(11);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    let mut all = numbered(0..11, 1);
    (all[10].1, all[0].1) = (11, 12);
    scene.comes_to_have(&all, "Live@12").await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.lists(), 1, "that of the former process");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_has_more_than_it_says_is_not_listed_all_the_time() {
    let all = numbered(0..13, 1);
    let scene = Scene::that_has(&all).await;
    scene.is_to_be_listed();
    scene.member.set_size(3);
    scene.member.lists((0..100).map(|_| page_of(30, "", &all)));
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    tokio::time::sleep(LONG).await;
    let lists = scene.lists();
    assert!((3..20).contains(&lists), "{lists}");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_only_page_of_a_list_that_fills_the_cluster_is_not_taken_for_all_of_it() {
    let scene = Scene::new();
    scene.sink.with(|stored| stored.others = 4);
    let all = numbered(0..8, 1);
    // What has come is written where the rest lets us wait.
    let pause = Duration::from_secs(5);
    let first = page_of(30, "", &all).that_pauses_before("p07", pause);
    scene.member.lists([first, page_of(40, "", &all)]);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    let stored = scene.sink.with(|stored| (stored.shown(), stored.place()));
    assert_eq!(stored, (rows(&all[..7]), "Listing@".to_owned()));
    scene.sink.with(|stored| stored.others = 2);
    scene.member.set_size(8);
    scene.comes_to_have(&all, "Live@40").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_of_which_nothing_was_left_out_is_stored_though_its_end_fills_the_cluster() {
    let scene = Scene::new();
    scene.sink.with(|stored| stored.others = 4);
    let all = numbered(0..8, 1);
    scene
        .member
        .lists([page_of(30, "t", &all[..4]), page_of(30, "", &all[4..])]);
    let act = scene.run_within(MOST).await;
    scene.comes_to_have(&all, "Live@30").await;
    assert_eq!(scene.lists(), 1);
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_what_was_swept_by_what_another_cluster_has_no_watch_goes_on() {
    for is_hidden in [false, true] {
        let scene = Scene::that_has(&numbered(0..15, 1)).await;
        scene.sink.with(|stored| {
            stored.hidden = is_hidden;
            stored.is_of_another();
        });
        scene.member.set_size(3);
        scene.member.lists([page_of(30, "", &numbered(20..23, 2))]);
        let act = scene.run_within(MOST).await;
        // A watch from where the other one stood would not bring them back.
        scene.comes_to_have(&[], "Listing@").await;
        assert!(scene.sink.with(|stored| stored.rows.is_empty()));
        act.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_place_another_did_not_find_goes_on_without_a_list() {
    let scene = Scene::that_has(&numbered(0..10, 1)).await;
    scene.sink.with(sink::Stored::is_of_another);
    scene.member.set_size(12);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    let stored = scene.sink.with(|stored| (stored.shown(), stored.place()));
    assert_eq!(stored, (rows(&numbered(0..10, 1)), "Live@10".to_owned()));
    assert_eq!(scene.lists(), 1, "that of the former process");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_restored_member_for_which_there_is_no_place_is_listed_as_soon_as_there_is() {
    let scene = Scene::that_has(&numbered(0..10, 1)).await;
    scene.member.set_present("5");
    scene.member.set_size(12);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    scene.member.set_present("20");
    scene.comes_down_to(&numbered(20..28, 19), 20).await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_a_member_that_was_restored_while_its_stream_waited_for_place_no_watch_goes_on() {
    let all = numbered(0..13, 1);
    let scene = Scene::that_has(&all).await;
    let added = event("ADDED", &pod("p20", 11));
    scene.member.watches([Answer::ok(added).that_stays_open()]);
    scene.member.set_size(14);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    scene.member.set_present("5");
    scene.member.set_size(12);
    scene.member.lists([Answer::never()]);
    // It may be past what is stored when it is next asked.
    scene.comes_to_have(&all, "Listing@").await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_makes_place_each_time_is_not_made_without_end() {
    const PAGES: u32 = 50;
    let scene = Scene::that_has(&numbered(0..99, 1)).await;
    scene.is_to_be_listed();
    let listed = AtomicU32::new(1);
    // Each time others, of which there are more than there is place for; three on a page.
    scene.member.answers_by(move |request| {
        let (list, page) = match request.split_once(':') {
            None => (listed.fetch_add(1, Ordering::Relaxed) + 1, 0),
            Some((_, page)) => {
                let page: u32 = page.parse().expect("a number");
                (listed.load(Ordering::Relaxed), page)
            }
        };
        let first = (list * PAGES + page) * 3;
        let next = (page + 1 < PAGES).then(|| (page + 1).to_string());
        let token = next.unwrap_or_default();
        page_of(10, &token, &numbered(first..first + 3, list))
    });
    let began = Instant::now();
    let act = scene.run_within(100).await;
    act.says(ResourceSyncStatus::Error).await;
    tokio::time::sleep(LONG - began.elapsed()).await;
    assert!((4..40).contains(&scene.lists()), "{}", scene.lists());
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_too_old_where_nothing_is_listed_follows_no_list_that_took_too_long() {
    let scene = Scene::that_has(&numbered(0..13, 1)).await;
    let twelve = numbered(0..12, 1);
    scene.member.answers_by(move |request| match request {
        "watch@10" => Answer::status(410, gone()),
        "list" => page_of(20, "", &twelve),
        _ => Answer::ok("").that_stays_open(),
    });
    scene.member.set_size(12);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    tokio::time::sleep(LONG).await;
    scene.comes_down_to(&numbered(0..3, 1), 40).await;
    let shown = act.report.shown().message;
    assert!(!shown.contains("the list took"), "{shown}");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_a_cluster_that_filled_up_it_is_not_told_for_ever_that_its_lists_took_too_long() {
    let three = numbered(0..3, 1);
    let scene = Scene::that_has(&three).await;
    scene.sink.with(|stored| stored.others = 7);
    scene.member.set_size(3);
    scene.member.answers_by(move |request| match request {
        "list" => page_of(20, "", &three),
        "watch@40" => Answer::ok("").that_stays_open(),
        _ => Answer::status(410, gone()),
    });
    let act = scene.run_within(MOST).await;
    let words = act.says(ResourceSyncStatus::Error).await;
    assert!(words.contains("the list took"), "{words}");
    scene.sink.with(|stored| stored.others = 9);
    act.tells("as many objects").await;
    scene.sink.with(|stored| stored.others = 7);
    scene.comes_down_to(&numbered(0..2, 1), 40).await;
    act.says(ResourceSyncStatus::Syncing).await;
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_changes_little_is_stored_in_a_cluster_a_little_too_full() {
    let scene = Scene::that_has(&numbered(0..11, 1)).await;
    scene.member.watches([Answer::status(410, gone())]);
    scene.member.set_size(11);
    let others = numbered(1..12, 2);
    let pages = [
        page_of(30, "t", &others[..5]),
        page_of(30, "", &others[5..]),
    ];
    scene.member.lists(pages);
    let act = scene.run_within(MOST).await;
    scene.comes_to_have(&others, "Live@30").await;
    act.says(ResourceSyncStatus::Syncing).await;
    assert_eq!(scene.lists(), 2, "it was listed at once and once");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_the_member_is_is_asked_after_a_long_wait() {
    let scene = Scene::new();
    scene.sink.with(|stored| stored.others = MOST);
    scene.member.set_size(5);
    let act = scene.run_within(MOST).await;
    act.says(ResourceSyncStatus::Error).await;
    scene.member.set_identity("another");
    scene.sink.with(|stored| stored.others = 0);
    let found = tokio::time::timeout(LONG, act.stranger.cancelled()).await;
    assert!(found.is_ok(), "{:?}", scene.member.requests());
    assert_eq!(scene.lists(), 0, "nothing of another cluster is stored");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_the_member_is_is_asked_after_another_writer_was_seen() {
    let scene = Scene::new();
    scene.member.lists([page(10, "", &[("a", 1)])]);
    let what = "pods".to_owned();
    let fenced = StoreError::Fenced { what };
    scene.sink.with(|stored| stored.faults.push_back(fenced));
    let act = scene.run();
    act.says(ResourceSyncStatus::Stop).await;
    scene.member.set_identity("another");
    let found = tokio::time::timeout(LONG, act.stranger.cancelled()).await;
    assert!(found.is_ok(), "{:?}", scene.member.requests());
    assert_eq!(scene.lists(), 1, "nothing of another cluster is stored");
    act.end().await;
}

#[tokio::test(start_paused = true)]
async fn one_stream_looks_for_all_that_ask_at_about_the_same_time() {
    let scene = Scene::that_has(&numbered(0..10, 1)).await;
    let shared = shared(Arc::clone(&scene.sink) as Arc<dyn Sink>);
    let objects = Arc::new(ClusterObjects::new(MOST));
    let writer = |number: u32| Writer {
        shared: Arc::clone(&shared),
        cluster: ClusterId(1),
        resource: Arc::new(pods()),
        rules: Box::default(),
        report: Arc::new(Report::new(Arc::default(), Timestamp::UNIX_EPOCH)),
        objects: Arc::clone(&objects),
        metrics: Arc::default(),
        cancel: CancellationToken::new(),
        what: number.to_string().into(),
    };
    let writers: Vec<_> = (0..40).map(writer).collect();
    let opened = Opened {
        resource: sink::TYPE,
        epoch: 1,
        is_narrowed: false,
    };
    let states = scene.sink.streams(ClusterId(1)).await.expect("a look");
    objects.are(&states, Instant::now());
    for looks in 2..=4 {
        tokio::time::advance(Duration::from_secs(5)).await;
        let ask = writers.iter().map(|writer| writer.stored(opened));
        for seen in futures::future::join_all(ask).await {
            assert!(seen.expect("a look").is_some(), "it is full");
        }
        assert_eq!(scene.sink.with(|stored| stored.looks), looks);
    }
}
