//! The revision of a list: that of its first page, whatever is written while it is read.

use super::*;

const PODS: &str = "resources/api/v1/pods";

/// More rows than the store gives in two pages.
fn many() -> Contents {
    let fleet = Contents::new().cluster("m1", "v1.36.1", "");
    (0..1200).fold(fleet, |contents, number| {
        let name = format!("p{number:04}");
        contents.object("m1", &pods(), "x", &name, json!({"spec": {}}))
    })
}

#[tokio::test]
async fn all_pages_of_a_list_carry_the_revision_of_the_first() {
    let server = Server::open(fleet()).await;
    let first = server.store.revision().await;
    let mut token = String::new();
    for number in 1..=3 {
        let page = server
            .get(&format!("{PODS}?limit=2&continue={token}"))
            .await
            .json();
        let version = first.to_string();
        assert_eq!(
            page["metadata"]["resourceVersion"], version,
            "page {number}"
        );
        server.store.write().await;
        let next = page["metadata"]["continue"].as_str().unwrap_or_default();
        next.clone_into(&mut token);
    }
    assert_eq!(token, "", "three pages");
    let anew = server.get(PODS).await.json();
    let last = (first + 3).to_string();
    assert_eq!(anew["metadata"]["resourceVersion"], last);
}

/// A list of three of the store's pages of which the first has been read when something happens.
async fn list_while(server: &Server, happens: impl FnOnce(&Watched)) -> Option<Value> {
    let request = Request::get(format!("{BASE}/{PODS}")).header("authorization", "Bearer alice");
    let request = request.body(String::new()).expect("a request");
    let connection = server.app.connection(HOME, Vec::new());
    let response = server.app.respond(request, &connection).await;
    assert_eq!(server.store.pages.load(Ordering::Relaxed), 1);
    happens(&server.store);
    let body = response.into_body().collect().await.ok()?;
    Some(serde_json::from_slice(&body.to_bytes()).expect("JSON"))
}

#[tokio::test]
async fn a_list_in_one_answer_carries_the_revision_that_it_began_at() {
    let server = Server::open(many()).await;
    let first = server.store.revision().await;
    let list = list_while(&server, |store| {
        store.writing_page.store(2, Ordering::Relaxed);
    });
    let list = list.await.expect("complete");
    assert!(server.store.revision().await > first);
    assert_eq!(
        list["metadata"],
        json!({"resourceVersion": first.to_string()})
    );
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1200));
}

#[tokio::test]
async fn a_replica_that_is_behind_the_first_page_is_asked_again_later() {
    let server = Server::open(many()).await;
    let first = server.get(&format!("{PODS}?limit=2")).await.json();
    let token = first["metadata"]["continue"].as_str().expect("a token");
    let next = format!("{PODS}?limit=2&continue={token}");
    server.store.behind.store(true, Ordering::Relaxed);
    let early = server.get(&next).await;
    assert_eq!(early.code, 504);
    assert_eq!(
        early.json()["details"]["causes"][0]["reason"],
        json!("ResourceVersionTooLarge")
    );
    server.store.behind.store(false, Ordering::Relaxed);
    assert_eq!(server.get(&next).await.code, 200, "it has caught up");
}

#[tokio::test]
async fn a_list_breaks_off_when_the_database_is_restored_meanwhile() {
    let server = Server::open(many()).await;
    let list = list_while(&server, |store| {
        store.restored.store(true, Ordering::Relaxed);
    });
    assert_eq!(list.await, None);
    server.app.close().await;
    assert_eq!(server.app.counters().read().broken_off, 1);
}
