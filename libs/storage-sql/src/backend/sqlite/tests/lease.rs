//! The clock by which the age of versions is told. Who holds it is in `tests/upkeep.rs`, for every database.

use super::*;
use crate::backend::row;
use crate::sql::lease::{self, LeaseRow};

async fn held(store: &SqlStore) -> LeaseRow {
    let reader = store.database.read(Lane::Short).await;
    let mut reader = reader.expect("a reader");
    let found = row(&mut *reader, lease::select(), lease::decode).await;
    found.expect("an answer").expect("a row")
}

#[tokio::test]
async fn the_clock_of_periodic_work_never_goes_back_and_stands_still_while_nobody_does_it() {
    let place = Home::new();
    let store = open_store(&place).await;
    let mut last = 0;
    while last == 0 {
        store.purge(10, Duration::ZERO).await.expect("a step");
        let clock = held(&store).await.clock;
        assert!(clock >= last);
        last = clock;
    }
    store.shutdown().await;
    let store = open_store(&place).await;
    store.purge(10, Duration::ZERO).await.expect("a step");
    assert_eq!(held(&store).await.clock, last, "nobody held it meanwhile");
}
