//! Making what does not agree with the objects anew, from the objects. Each order is one transaction of the writer. Another process may write the
//! same stream: so it is taken from whoever has it before anything is looked at. What had been written of it by then is waited for and seen, what was
//! under way is refused, and its writer takes the stream over again.

use std::collections::BTreeSet;

use armadex_storage::StoreError;

use crate::backend::error::broken;
use crate::backend::{Connection, head_row, row, rows};
use crate::form::namespace_id::cluster_of;
use crate::form::term::TermHasher;
use crate::sql::counter::{self, CounterKey};
use crate::sql::head;
use crate::sql::lease;
use crate::sql::mend::{self, PlacedRow};
use crate::sql::milestone;
use crate::sql::namespace::{self, NamespaceRow};
use crate::sql::object;
use crate::sql::post::{self, RunKey};
use crate::sql::stream::{self, Fence};
use crate::write::index::IndexChange;
use crate::write::purge;
use crate::write::session::Session;
use crate::write::unposting::unposting;

/// By which the terms of an object are told from damage.
struct Rules {
    hasher: TermHasher,
    /// No term of the type is left unposted.
    posts_all: bool,
}

impl Rules {
    /// Whether an object is indexed by what its form stands for.
    fn admit(&self, row: &PlacedRow) -> bool {
        row.terms.as_ref().is_some_and(|terms| {
            let is_posted = !self.posts_all || terms.unposted().is_empty();
            is_posted && self.hasher.is_form_of(row.form, terms)
        })
    }
}

/// What is to be made anew.
pub(crate) enum Mending {
    /// The index and the counter of a type in a namespace.
    Place {
        resource: i32,
        nsid: i64,
        /// Terms by which there are blocks.
        terms: BTreeSet<i64>,
        hasher: TermHasher,
    },
    /// How many types a namespace has.
    Namespace(i64),
    /// How many objects a stream has; one that is missing is made, closed.
    Stream { cluster: i64, resource: i32 },
    /// What is noted of the log: the periodic work notes it anew, so what is kept is kept for the whole window from then on.
    Notes,
    /// The log: it begins anew, with nothing in it.
    Log,
}

/// Does it; gives how many objects had to be removed.
pub(crate) async fn mend(session: &mut Session<'_>, mending: &Mending) -> Result<u64, StoreError> {
    session.catalog.is_mended = true;
    match mending {
        Mending::Place {
            resource,
            nsid,
            terms,
            hasher,
        } => mend_place(session, (*resource, *nsid), terms, *hasher).await,
        Mending::Namespace(nsid) => count_types(session.connection, *nsid).await.map(|()| 0),
        Mending::Stream { cluster, resource } => {
            fence(session.connection, *cluster, *resource).await?;
            mend_stream(session, *cluster, *resource).await.map(|()| 0)
        }
        Mending::Notes => drop_notes(session.connection).await.map(|()| 0),
        Mending::Log => mend_log(session.connection).await.map(|()| 0),
    }
}

/// Takes a stream from whoever writes it: what it relies on from here on nobody changes.
async fn fence(
    connection: &mut dyn Connection,
    cluster: i64,
    resource: i32,
) -> Result<(), StoreError> {
    let fence = stream::fence(cluster, resource);
    connection.execute(fence).await.map(drop)
}

async fn count_types(connection: &mut dyn Connection, nsid: i64) -> Result<(), StoreError> {
    connection.execute(mend::hold_namespace(nsid)).await?;
    connection.execute(mend::count_types(nsid)).await.map(drop)
}

async fn mend_place(
    session: &mut Session<'_>,
    place: (i32, i64),
    known: &BTreeSet<i64>,
    hasher: TermHasher,
) -> Result<u64, StoreError> {
    let (resource, nsid) = place;
    fence(session.connection, cluster_of(nsid), resource).await?;
    let rules = Rules {
        hasher,
        // Objects that were indexed otherwise since are sound.
        posts_all: !unposting(session.connection).await?.contains(&resource),
    };
    let name = name_of(session.connection, nsid).await?;
    let found = mend::objects(session.dialect, resource, nsid);
    let found = rows(session.connection, found, mend::decode_object).await?;
    // What is nowhere cannot be shown, and its namespace has a number of its own when it is listed again.
    let is_sound = |row: &PlacedRow| name.is_some() && rules.admit(row);
    let (sound, damaged): (Vec<_>, Vec<_>) = found.into_iter().partition(is_sound);
    if !damaged.is_empty() {
        remove(session.connection, &damaged).await?;
    }
    // Whoever searches may find other rows from now on.
    session.shown.stream(cluster_of(nsid), resource);
    let terms = sound.iter().filter_map(|row| row.terms.as_ref());
    let mut terms: BTreeSet<i64> = terms
        .flat_map(|terms| terms.posted().iter().copied())
        .collect();
    terms.extend(known);
    drop_runs(session, place, &Vec::from_iter(terms)).await?;
    let mut change = IndexChange::default();
    change.begins(resource, nsid);
    for row in &sound {
        if let Some(terms) = &row.terms {
            change.add(place, row.id, terms);
        }
    }
    let capacity = session.capacity();
    change
        .write(session.connection, session.dialect, capacity)
        .await?;
    if let Some(name) = name {
        count(session, place, name, sound.len()).await?;
    }
    Ok(damaged.len() as u64)
}

/// The name of a namespace: its row says it, or, where that is missing, a counter.
async fn name_of(connection: &mut dyn Connection, nsid: i64) -> Result<Option<String>, StoreError> {
    let by_id = namespace::by_id(connection.dialect(), &[nsid]);
    let known = row(connection, by_id, namespace::decode).await?;
    match known {
        Some(known) => Ok(Some(known.namespace)),
        None => row(connection, mend::namespace_name(nsid), |r| r.text(0)).await,
    }
}

async fn remove(connection: &mut dyn Connection, damaged: &[PlacedRow]) -> Result<(), StoreError> {
    let ids: Vec<i64> = damaged.iter().map(|row| row.id).collect();
    let revs: Vec<i64> = damaged.iter().map(|row| row.rev).collect();
    let dialect = connection.dialect();
    for part in ids.chunks(dialect.most_values()) {
        connection.execute(object::delete(dialect, part)).await?;
    }
    purge::delete_newest(connection, &revs).await
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

/// Writes the counter of a type in a namespace, and the namespace if it is missing.
async fn count(
    session: &mut Session<'_>,
    (resource, nsid): (i32, i64),
    namespace: String,
    objects: usize,
) -> Result<(), StoreError> {
    let (connection, dialect) = (&mut *session.connection, session.dialect);
    let by_id = namespace::by_id(dialect, &[nsid]);
    let known = row(connection, by_id, namespace::decode).await?;
    if known.is_none() {
        let made = NamespaceRow {
            id: nsid,
            cluster: cluster_of(nsid),
            namespace: namespace.clone(),
            types: 0,
        };
        connection
            .execute(namespace::insert(dialect, &[made]))
            .await?;
    }
    let key = CounterKey {
        resource,
        cluster: cluster_of(nsid),
        namespace,
    };
    let written = match i64::try_from(objects) {
        Ok(0) => counter::delete(dialect, &[key]),
        Ok(objects) => counter::put(dialect, &[(key, nsid, objects)]),
        Err(_) => return Err(broken("it has more objects than can be counted")),
    };
    connection.execute(written).await?;
    count_types(session.connection, nsid).await?;
    mend_stream(session, cluster_of(nsid), resource).await
}

async fn mend_stream(
    session: &mut Session<'_>,
    cluster: i64,
    resource: i32,
) -> Result<(), StoreError> {
    let (connection, dialect) = (&mut *session.connection, session.dialect);
    let known = stream::several(dialect, &[(cluster, resource)]);
    if row(connection, known, stream::decode).await?.is_none() {
        // Nobody writes to it, so its rows wait for their purge, unless somebody opens it before.
        let fence = Fence {
            cluster,
            resource,
            epoch: 0,
        };
        connection
            .execute(stream::take_over(dialect, &[fence]))
            .await?;
        connection.execute(stream::close(cluster, resource)).await?;
        session.catalog.streams.insert((cluster, resource));
        session.shown.stream(cluster, resource);
    }
    let counted = mend::count_objects(cluster, resource);
    session.connection.execute(counted).await.map(drop)
}

/// A step of the periodic work that is under way is waited for: what it has noted is not to stay alone.
async fn drop_notes(connection: &mut dyn Connection) -> Result<(), StoreError> {
    connection.execute(lease::touch()).await?;
    let dropped = milestone::drop_until(i64::MAX);
    connection.execute(dropped).await.map(drop)
}

/// Versions that one look takes.
const LOOK: u32 = 2000;

/// Whoever follows changes begins anew; what no object has is gone.
async fn mend_log(connection: &mut dyn Connection) -> Result<(), StoreError> {
    let dialect = connection.dialect();
    // In the order of a purge.
    drop_notes(connection).await?;
    // Holds the head, so nobody appends meanwhile.
    connection.execute(head::advance(0)).await?;
    let head = head_row::read(connection).await?;
    let pruned = head::set_pruned(head.pruned, head.revision);
    connection.execute(pruned).await?;
    let mut after = -1;
    loop {
        let looked = mend::versions_after(after, LOOK);
        let found = rows(connection, looked, |r| Ok((r.int(0)?, r.int(1)?))).await?;
        let Some(&(last, _)) = found.last() else {
            return Ok(());
        };
        let orphans = found.iter().filter(|(_, object)| *object == 0);
        let orphans: Vec<i64> = orphans.map(|(rev, _)| *rev).collect();
        for part in orphans.chunks(dialect.most_values()) {
            connection
                .execute(object::delete_versions(dialect, part))
                .await?;
        }
        after = last;
    }
}
