//! The index and the counter of a type in a namespace. All of it is one transaction: a selector of several labels finds an object by what leads to it from each
//! of them, so to make some anew before others would show what was rightly not found.

use std::collections::BTreeSet;

use armadex_storage::StoreError;

use super::rows::{LOOK, count_types, fence, mend_stream};
use super::step::{PlaceMending, Step};
use crate::backend::error::broken;
use crate::backend::{Connection, head_row, row, rows};
use crate::form::term::{TermHasher, TermSet};
use crate::sql::counter::{self, CounterKey};
use crate::sql::head::{self, HeadRow};
use crate::sql::mend::{self, PlacedRow};
use crate::sql::namespace::{self, NamespaceRow};
use crate::sql::object;
use crate::sql::post::{self, RunKey};
use crate::write::index::IndexChange;
use crate::write::session::Session;
use crate::write::unposting::is_unposting;
use crate::write::versions::{self, Unseen};

pub(super) async fn mend_place(
    session: &mut Session<'_>,
    place: &PlaceMending,
) -> Result<Step, StoreError> {
    fence(session.connection, place.cluster(), place.resource).await?;
    // Whoever searches may find other rows from now on.
    session.shown.stream(place.cluster(), place.resource);
    let name = name_of(session.connection, place).await?;
    let rules = Rules {
        hasher: place.hasher,
        unreadable: &place.unreadable,
        // Objects that were indexed otherwise since are sound.
        posts_all: !is_unposting(session.connection, place.resource).await?,
        is_somewhere: name.is_some(),
    };
    let Scan {
        objects,
        damaged,
        entries,
    } = scan(session, place, &rules).await?;
    let removed = Removed::of(session.connection, place.nsid, &damaged).await?;
    write_runs(session, place, entries).await?;
    if let Some(name) = name {
        count(session, place, name, objects).await?;
    }
    removed.settle(session.connection).await?;
    Ok(Step {
        removed: damaged.len() as u64,
        next: None,
    })
}

/// By which the terms of an object are told from damage.
struct Rules<'a> {
    hasher: TermHasher,
    unreadable: &'a BTreeSet<i64>,
    /// No term of the type is left unposted.
    posts_all: bool,
    /// What is nowhere cannot be shown, and its namespace has a number of its own when it is listed again.
    is_somewhere: bool,
}

impl Rules<'_> {
    /// What an object is indexed by, if that is what its form stands for and its body can be read.
    fn admit<'r>(&self, row: &'r PlacedRow) -> Option<&'r TermSet> {
        let is_readable = !self.unreadable.contains(&row.rev);
        row.terms.as_ref().filter(|terms| {
            let is_posted = !self.posts_all || terms.unposted().is_empty();
            let is_sound = is_readable && self.is_somewhere && is_posted;
            is_sound && self.hasher.is_form_of(row.form, terms)
        })
    }
}

/// The name of a namespace: its row says it, or, where that is missing, a counter.
async fn name_of(
    connection: &mut dyn Connection,
    place: &PlaceMending,
) -> Result<Option<String>, StoreError> {
    let by_id = namespace::by_id(connection.dialect(), &[place.nsid]);
    let known = row(connection, by_id, namespace::decode).await?;
    Ok(known
        .map(|known| known.namespace)
        .or_else(|| place.lost_name.clone()))
}

/// What is found of all objects of a place.
#[derive(Default)]
struct Scan {
    /// Sound ones.
    objects: i64,
    damaged: Vec<PlacedRow>,
    /// What the sound ones are indexed by: (term, id).
    entries: Vec<(i64, i64)>,
}

async fn scan(
    session: &mut Session<'_>,
    place: &PlaceMending,
    rules: &Rules<'_>,
) -> Result<Scan, StoreError> {
    let mut scan = Scan::default();
    let mut after = String::new();
    loop {
        let page = mend::objects(session.dialect, place.key(), &after, LOOK);
        let page = rows(session.connection, page, mend::decode_object).await?;
        let Some(last) = page.last() else {
            return Ok(scan);
        };
        after.clone_from(&last.name);
        for row in page {
            match rules.admit(&row) {
                Some(terms) => {
                    let terms = terms.posted().iter();
                    scan.entries.extend(terms.map(|&term| (term, row.id)));
                    scan.objects += 1;
                }
                None => scan.damaged.push(row),
            }
        }
    }
}

/// Objects that were damaged, and have been removed.
struct Removed {
    /// Revisions and namespaces of their newest versions.
    newest: Vec<(i64, i64)>,
    unseen: Unseen,
}

impl Removed {
    async fn of(
        connection: &mut dyn Connection,
        nsid: i64,
        damaged: &[PlacedRow],
    ) -> Result<Self, StoreError> {
        let newest: Vec<_> = damaged.iter().map(|row| (row.rev, nsid)).collect();
        let ids: Vec<i64> = damaged.iter().map(|row| row.id).collect();
        let dialect = connection.dialect();
        for part in ids.chunks(dialect.most_values()) {
            connection.execute(object::delete(dialect, part)).await?;
        }
        let unseen = versions::delete_newest(connection, &newest).await?;
        Ok(Self { newest, unseen })
    }

    /// The last thing of a step: from here on nobody prunes, and where somebody has, for the watch window or for a history, he may have passed by a tombstone
    /// that he did not see. What is ahead of him he will see.
    async fn settle(self, connection: &mut dyn Connection) -> Result<(), StoreError> {
        if self.newest.is_empty() {
            return Ok(());
        }
        let before = self.unseen.keep_names(connection).await?;
        connection.execute(head::advance(0)).await?;
        let now = head_row::read(connection).await?;
        let mut passed = self.newest;
        passed.retain(|(rev, _)| is_passed(*rev, (&before, &now)));
        if !passed.is_empty() {
            let unseen = versions::delete_newest(connection, &passed).await?;
            unseen.keep_names(connection).await?;
        }
        Ok(())
    }
}

/// Whether the end of the watch window or of a history has come by a revision meanwhile.
fn is_passed(rev: i64, (before, now): (&HeadRow, &HeadRow)) -> bool {
    let of_window = before.pruned < rev && rev <= now.pruned;
    of_window || (before.history < rev && rev <= now.history)
}

/// Writes all runs anew, and drops those that nothing is in any more.
async fn write_runs(
    session: &mut Session<'_>,
    place: &PlaceMending,
    mut entries: Vec<(i64, i64)>,
) -> Result<(), StoreError> {
    entries.sort_unstable();
    let runs = || entries.chunk_by(|a, b| a.0 == b.0);
    let mut terms: Vec<i64> = runs().map(|run| run[0].0).collect();
    terms.extend(&place.terms);
    terms.sort_unstable();
    terms.dedup();
    drop_runs(session, place.key(), &terms).await?;
    let mut change = begun(place);
    for run in runs() {
        for &(term, id) in run {
            change.add(place.key(), id, &TermSet::of(term));
        }
        // What stands for an entry here takes several times as much.
        if change.edits() >= session.portions.edits {
            write(session, std::mem::replace(&mut change, begun(place))).await?;
        }
    }
    write(session, change).await
}

fn begun(place: &PlaceMending) -> IndexChange {
    let mut change = IndexChange::default();
    change.begins(place.resource, place.nsid);
    change
}

async fn write(session: &mut Session<'_>, change: IndexChange) -> Result<(), StoreError> {
    let capacity = session.capacity();
    change
        .write(session.connection, session.dialect, capacity)
        .await
}

async fn drop_runs(
    session: &mut Session<'_>,
    (resource, nsid): (i32, i64),
    terms: &[i64],
) -> Result<(), StoreError> {
    for part in terms.chunks(session.dialect.most_values()) {
        let runs = part.iter().map(|&term| RunKey {
            term,
            resource,
            nsid,
        });
        let dropped = post::delete_runs(session.dialect, &Vec::from_iter(runs));
        session.connection.execute(dropped).await?;
    }
    Ok(())
}

/// Writes the counter of a type in a namespace, and what is added up of it; the namespace, too, if it is missing.
async fn count(
    session: &mut Session<'_>,
    place: &PlaceMending,
    namespace: String,
    objects: i64,
) -> Result<(), StoreError> {
    let (connection, dialect) = (&mut *session.connection, session.dialect);
    let by_id = namespace::by_id(dialect, &[place.nsid]);
    let known = row(connection, by_id, namespace::decode).await?;
    if known.is_none() {
        let made = NamespaceRow {
            id: place.nsid,
            cluster: place.cluster(),
            namespace: namespace.clone(),
            types: 0,
        };
        connection
            .execute(namespace::insert(dialect, &[made]))
            .await?;
    }
    let key = CounterKey {
        resource: place.resource,
        cluster: place.cluster(),
        namespace,
    };
    let written = match objects {
        ..0 => return Err(broken("it has fewer than no objects")),
        0 => counter::delete(dialect, &[key]),
        objects => counter::put(dialect, &[(key, place.nsid, objects)]),
    };
    connection.execute(written).await?;
    // Types are counted by the streams, of which this one may have been missing.
    mend_stream(session, place.cluster(), place.resource).await?;
    count_types(session.connection, place.nsid).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use armadex_databases::{Database, Engine};
    use armadex_storage::conformance::{Fixture, object};

    use super::*;
    use crate::options::History;
    use crate::sql::statement::Statement;
    use crate::{Location, Options, SqlStore, open_with};

    /// Two processes of one store.
    async fn two_stores(database: &Database, options: &Options) -> [Arc<SqlStore>; 2] {
        let location: Location = database.patient_url().parse().expect("a location");
        let open = async || {
            let store = open_with(&location, options).await;
            Arc::new(store.expect("a store"))
        };
        [open().await, open().await]
    }

    async fn pass(store: &SqlStore, statement: &'static str) {
        let mut time = store.database.write().await.expect("a transaction");
        let passes = Statement::fixed("test", statement, []);
        time.execute(passes).await.expect("passed");
        time.commit().await.expect("committed");
    }

    #[test]
    fn what_was_passed_by_is_between_what_either_end_was_and_is() {
        let head = |(history, pruned)| HeadRow {
            revision: 100,
            pruned,
            catalog: 0,
            floor: 0,
            incarnation: String::new(),
            serves: 1,
            history,
        };
        for (before, now, passed) in [
            ((10, 20), (10, 20), 0..0),
            ((10, 20), (10, 30), 21..31),
            ((10, 20), (15, 20), 11..16),
            ((10, 20), (20, 21), 11..22),
        ] {
            let (before, now) = (head(before), head(now));
            let found = (0..=100).filter(|rev| is_passed(*rev, (&before, &now)));
            assert_eq!(Vec::from_iter(found), Vec::from_iter(passed));
        }
    }

    async fn number(connection: &mut dyn Connection, sql: &'static str) -> i64 {
        let found = row(connection, Statement::fixed("test", sql, []), |row| {
            row.int(0)
        })
        .await;
        found.expect("an answer").expect("a row")
    }

    /// Takes all objects of a type for damaged.
    async fn removed(step: &mut dyn Connection, resource: i32) -> Removed {
        let nsid = number(step, "SELECT nsid FROM ns").await;
        let page = mend::objects(step.dialect(), (resource, nsid), "", LOOK);
        let damaged = rows(step, page, mend::decode_object).await;
        let damaged = damaged.expect("objects");
        assert_eq!(damaged.len(), 1);
        let removed = Removed::of(step, nsid, &damaged).await;
        removed.expect("removed")
    }

    fn with_history() -> Options {
        Options {
            history: Some(History {
                of: [(String::new(), "pods".to_owned())].into(),
                window: Duration::from_secs(100_000_000),
                bytes: 0,
            }),
            ..Options::default()
        }
    }

    /// Two versions of a pod, of which the second one is newest.
    async fn put_twice(fixture: &Fixture) -> i32 {
        let pods = fixture.pods_of("member1").await;
        for version in ["1", "2"] {
            let object = object("ns", "a").version(version);
            fixture.put(&pods, [object]).await;
        }
        fixture.purge(10).await;
        pods.stream.resource.0
    }

    /// The end of a history passed it, where that of the watch window had been before.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_the_end_of_a_history_passed_by_leaves_no_tombstone() {
        for engine in [Engine::Postgres, Engine::Mysql] {
            let Some(database) = Database::for_test(engine).expect("a server") else {
                continue;
            };
            let [prunes, mends] = two_stores(&database, &with_history()).await;
            let fixture = Fixture::of(&prunes);
            let resource = put_twice(&fixture).await;
            pass(&mends, "UPDATE lease SET clock = clock + 999999999").await;
            fixture.purge(10).await;
            pass(&mends, "UPDATE lease SET clock = clock + 999999999999").await;

            let mut step = mends.database.write().await.expect("a transaction");
            assert_eq!(number(&mut *step, "SELECT pruned FROM head").await, 2);
            assert_eq!(number(&mut *step, "SELECT history FROM head").await, 0);
            let removed = removed(&mut *step, resource).await;
            fixture.purge(10).await;
            removed.settle(&mut *step).await.expect("settled");
            assert_eq!(number(&mut *step, "SELECT history FROM head").await, 2);
            step.commit().await.expect("committed");

            let mut reader = mends.database.write().await.expect("a transaction");
            let left = number(&mut *reader, "SELECT COUNT(*) FROM ver").await;
            assert_eq!(left, 0, "{engine:?}");
            reader.rollback().await.expect("ended");
        }
    }

    /// A tombstone that pruning passed by leads to what a history has, so the namespace is known by its name for as long; and another one that is
    /// known for longer stays so.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_pruning_passed_by_keeps_its_name_where_a_history_has_it() {
        for engine in [Engine::Postgres, Engine::Mysql] {
            let Some(database) = Database::for_test(engine).expect("a server") else {
                continue;
            };
            let [prunes, mends] = two_stores(&database, &with_history()).await;
            let fixture = Fixture::of(&prunes);
            let resource = put_twice(&fixture).await;
            pass(&mends, "UPDATE lease SET clock = clock + 999999999").await;

            let mut step = mends.database.write().await.expect("a transaction");
            let removed = removed(&mut *step, resource).await;
            fixture.purge(10).await;
            removed.settle(&mut *step).await.expect("settled");
            assert_eq!(number(&mut *step, "SELECT pruned FROM head").await, 2);
            assert_eq!(number(&mut *step, "SELECT kept FROM ns").await, 2);
            assert_eq!(number(&mut *step, "SELECT COUNT(*) FROM ver").await, 2);
            for (noted, kept) in [(1, 2), (3, 3)] {
                let nsid = number(&mut *step, "SELECT nsid FROM ns").await;
                let names = versions::keep_names(&mut *step, noted, [nsid]);
                names.await.expect("noted");
                assert_eq!(number(&mut *step, "SELECT kept FROM ns").await, kept);
            }
            step.rollback().await.expect("ended");
        }
    }

    /// Whoever prunes meanwhile does not see what is buried by a step that is not committed.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_pruning_passed_by_while_a_place_was_made_anew_leaves_no_tombstone() {
        for engine in [Engine::Postgres, Engine::Mysql] {
            let Some(database) = Database::for_test(engine).expect("a server") else {
                continue;
            };
            let [prunes, mends] = two_stores(&database, &Options::default()).await;
            let fixture = Fixture::of(&prunes);
            let pods = fixture.pods_of("member1").await;
            fixture.put(&pods, [object("ns", "a")]).await;
            fixture.purge(10).await;
            pass(&mends, "UPDATE lease SET clock = clock + 999999999").await;

            let mut step = mends.database.write().await.expect("a transaction");
            let removed = removed(&mut *step, pods.stream.resource.0).await;
            fixture.purge(10).await;
            removed.settle(&mut *step).await.expect("settled");
            assert_eq!(number(&mut *step, "SELECT pruned FROM head").await, 1);
            step.commit().await.expect("committed");

            let mut reader = mends.database.write().await.expect("a transaction");
            let left = number(&mut *reader, "SELECT COUNT(*) FROM ver").await;
            assert_eq!(left, 0, "{engine:?}");
            reader.rollback().await.expect("ended");
        }
    }
}
