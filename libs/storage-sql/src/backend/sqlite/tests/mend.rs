//! Damage that is mended: whatever a check finds, it does not find any more.

use super::*;

#[tokio::test]
async fn whatever_a_check_finds_is_mended_without_touching_what_is_sound() {
    for (damage, _) in DAMAGES {
        let place = Home::new();
        let store = open_store(&place).await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("member1").await;
        let labelled = |name| object("ns", name).label("name", name);
        fixture.put(&pods, ["a", "b", "c"].map(labelled)).await;
        let nodes = resource("", "nodes", "Node", false);
        let nodes = fixture.writer("member1", &nodes).await;
        fixture
            .put(&nodes, [object("", "n").label("name", "n")])
            .await;
        place.run(damage).await;
        assert!(!faults(Arc::clone(&store)).await.is_empty(), "{damage}");
        let mended = store.mend().await.expect("mended");
        assert!(mended.removed <= 3, "{damage}: {mended:?}");
        fixture.assert_sound().await;
        // Nothing is left to do.
        let again = store.mend().await.expect("mended");
        assert_eq!(again, crate::store::mend::Mended::default(), "{damage}");
    }
}

#[tokio::test]
async fn an_index_that_is_mended_finds_what_it_found() {
    let place = Home::new();
    let store = open_store(&place).await;
    let fixture = fixture_of(&store);
    let pods = fixture.pods_of("member1").await;
    let labelled = |n: usize| {
        let half = if n.is_multiple_of(2) { "even" } else { "odd" };
        object("ns", &format!("p-{n:04}")).label("half", half)
    };
    fixture.put(&pods, (0..1000).map(labelled)).await;
    let odd = armadex_model::Query {
        labels: vec![armadex_model::label::Requirement::is_in("half", ["odd"])],
        ..armadex_model::Query::all(pods_type())
    };
    let before = fixture.list(&odd, 500).await;
    assert_eq!(before.len(), 500);
    place.run("DELETE FROM post WHERE n > 100").await;
    place.run("UPDATE counter SET n = 7").await;
    place
        .run("UPDATE ver SET terms = x'00' WHERE rev = 2")
        .await;
    let mended = store.mend().await.expect("mended");
    assert_eq!((mended.places, mended.removed), (1, 1));
    fixture.assert_sound().await;
    let after = fixture.list(&odd, 500).await;
    assert_eq!(after.len(), 499);
    assert!(after.iter().all(|row| before.contains(row)));
    // Whoever had the stream relies on what was there before, and takes it over again.
    let late = [Change::Put(labelled(1).build())];
    let late = fixture.write(&pods, late).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })));
    let pods = fixture.pods_of("member1").await;
    // What was removed is put again by whoever finds it missing.
    fixture.put(&pods, [labelled(1)]).await;
    assert_eq!(fixture.list(&odd, 500).await.len(), 500);
    fixture.assert_sound().await;
}
