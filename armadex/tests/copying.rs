//! Moving a store to another place with the real binary.

use std::process::Command;
use std::sync::Arc;

use armadex_storage::conformance::fixture::{all_pods, live};
use armadex_storage::conformance::{Fixture, object};
use armadex_storage::{Change, Search as _, Sink as _};
use armadex_storage_sql::{Location, SqlStore};

async fn opened(store: &str) -> Arc<SqlStore> {
    let location: Location = store.parse().expect("a location");
    let store = armadex_storage_sql::open(&location).await;
    Arc::new(store.expect("a store"))
}

fn run(arguments: &[&str]) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_armadex"))
        .args(arguments)
        .output();
    let run = run.expect("it runs");
    let said = |text| String::from_utf8_lossy(text).into_owned();
    assert!(run.status.success(), "{}", said(&run.stderr));
    said(&run.stdout)
}

#[tokio::test]
async fn a_store_that_was_copied_serves_and_goes_on_from_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let (from, to) = (place("from.db"), place("to.db"));
    let store = opened(&from).await;
    let pods = Fixture::of(&store).pods_of("member1").await;
    let objects = ["a", "b", "c"].map(|name| Change::Put(object("ns", name).build()));
    let written = store.write(pods.batch(objects, Some(live("77")))).await;
    written.expect("written");
    let before = store.head().await.expect("a head");
    store.shutdown().await;

    let said = run(&["store", "copy", &from, &to]);
    let copied = format!("copied {from} to {to}: ");
    assert!(said.contains(&copied), "{said}");
    assert!(said.contains(" rows, up to revision 3\n"), "{said}");
    let again = run(&["store", "copy", &from, &to]);
    let whole = format!("{to} is the whole copy of {from} already: ");
    assert_eq!(again, said.replace(&copied, &whole));
    let checked = run(&["store", "check", "--store", &to]);
    assert!(checked.contains("3 objects in 1 namespaces"), "{checked}");

    let store = opened(&to).await;
    assert_eq!(store.head().await.expect("a head"), before);
    let fixture = Fixture::of(&store);
    let found = fixture.list(&all_pods(), 2).await;
    assert_eq!(
        found,
        ["a", "b", "c"].map(|name| format!("member1/ns/{name}"))
    );
    let pods = fixture.pods_of("member1").await;
    assert_eq!(pods.stream.position, Some(live("77")), "there is no list");
    store.shutdown().await;
    let left = opened(&from).await;
    let retired = left.head().await.expect("a head");
    assert_ne!(retired.incarnation, before.incarnation);
    left.shutdown().await;
}
