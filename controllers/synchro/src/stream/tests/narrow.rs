//! Lists over a narrow way, which are asked for compressed.

use super::*;

/// A page of this many bytes, of which the rest comes after its first object.
fn page_of(bytes: usize, rest: Duration, token: &str) -> Answer {
    let filled = format!(
        r#"{{"metadata":{{"name":"a","namespace":"n","resourceVersion":"1","managedFields":[{{"manager":"{}"}}]}}}}"#,
        "x".repeat(3000)
    );
    let items: Vec<_> = std::iter::repeat_n(filled, bytes / 3000).collect();
    let body = format!(
        r#"{{"metadata":{{"resourceVersion":"10","continue":"{token}"}},"items":[{}],"end":0}}"#,
        items.join(",")
    );
    Answer::ok(body).that_pauses_before(r#","end""#, rest)
}

#[tokio::test(start_paused = true)]
async fn pages_that_come_slowly_are_asked_for_compressed_from_then_on() {
    const BYTES: usize = 300_000;
    for (rest, next) in [(100, ["list:t", "list:u"]), (200, ["gzip:t", "gzip:u"])] {
        let scene = Scene::new();
        let rest = Duration::from_millis(rest);
        scene.member.lists([
            page_of(BYTES, rest, "t"),
            page_of(BYTES, Duration::ZERO, "u"),
            page(10, "", &[("b", 2)]),
        ]);
        let act = scene.run();
        scene.comes_to(&["n/a@1", "n/b@2"], "Live@10").await;
        assert_eq!(scene.member.requests()[1..3], next, "{rest:?}");
        act.end().await;
    }
}

/// What stands between may compress it and not say so.
#[tokio::test(start_paused = true)]
async fn where_a_page_that_may_be_compressed_is_not_understood_the_next_one_comes_as_it_is() {
    let scene = Scene::new();
    scene.member.lists([
        page_of(300_000, Duration::from_millis(200), "t"),
        Answer::ok("no list"),
        page(10, "", &[("b", 2)]),
    ]);
    let act = scene.run();
    scene.comes_to(&["n/a@1", "n/b@2"], "Live@10").await;
    assert_eq!(scene.member.requests()[1..3], ["gzip:t", "list:t"]);
    act.end().await;
}

/// The length of what is compressed tells about its content.
#[tokio::test(start_paused = true)]
async fn secrets_are_never_asked_for_compressed() {
    let scene = Scene::new();
    scene.member.lists([
        page_of(300_000, Duration::from_millis(200), "t"),
        page(10, "", &[("b", 2)]),
    ]);
    let shared = shared(Arc::clone(&scene.sink) as Arc<dyn Sink>);
    let connected = scene.connect(&shared);
    let of = (ClusterId(1), type_of("secrets"));
    let act = scene.run_beside(shared, connected, of);
    scene.comes_to(&["n/a@1", "n/b@2"], "Live@10").await;
    assert_eq!(scene.member.requests()[..2], ["list", "list:t"]);
    act.end().await;
}
