//! The revision of a list: that of its first page, whatever is written while it is read.

use super::*;

const PODS: &str = "resources/api/v1/pods";

/// More rows than the store gives in two pages.
fn many() -> Memory {
    let fleet = Memory::new().cluster("m1", "v1.36.1", "");
    (0..1200).fold(fleet, |memory, number| {
        let name = format!("p{number:04}");
        memory.object("m1", &pods(), "x", &name, json!({"spec": {}}))
    })
}

fn write(server: &Server, revision: i64, incarnation: &'static str) {
    *server.memory.head.lock().expect("no panic") = (revision, incarnation);
}

#[tokio::test]
async fn all_pages_of_a_list_carry_the_revision_of_the_first() {
    let server = Server::open(fleet());
    let mut token = String::new();
    for revision in [100, 107, 109] {
        write(&server, revision, "first");
        let page = server
            .get(&format!("{PODS}?limit=2&continue={token}"))
            .await
            .json();
        assert_eq!(page["metadata"]["resourceVersion"], "100", "at {revision}");
        let next = page["metadata"]["continue"].as_str().unwrap_or_default();
        next.clone_into(&mut token);
    }
    assert_eq!(token, "", "three pages");
    let anew = server.get(PODS).await.json();
    assert_eq!(anew["metadata"]["resourceVersion"], "109");
}

/// A list of three of the store's pages of which the first has been read when `revision` and `incarnation` become what they are.
async fn list_while(server: &Server, revision: i64, incarnation: &'static str) -> Option<Value> {
    let request = Request::get(format!("{BASE}/{PODS}")).header("authorization", "Bearer alice");
    let request = request.body(String::new()).expect("a request");
    let connection = server.app.connection(Vec::new());
    let response = server.app.respond(request, &connection).await;
    assert_eq!(server.memory.pages.load(Ordering::Relaxed), 1);
    write(server, revision, incarnation);
    let body = response.into_body().collect().await.ok()?;
    Some(serde_json::from_slice(&body.to_bytes()).expect("JSON"))
}

#[tokio::test]
async fn a_list_in_one_answer_carries_the_revision_that_it_began_at() {
    let server = Server::open(many());
    let list = list_while(&server, 107, "first").await.expect("complete");
    assert_eq!(list["metadata"], json!({"resourceVersion": "100"}));
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1200));
}

#[tokio::test]
async fn a_list_breaks_off_when_the_database_is_restored_meanwhile() {
    let server = Server::open(many());
    assert_eq!(list_while(&server, 107, "second").await, None);
    server.app.close().await;
    assert_eq!(server.app.counters().read().broken_off, 1);
}
