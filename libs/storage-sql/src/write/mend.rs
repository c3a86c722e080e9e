//! Making what does not agree with the objects anew, from the objects, in steps: each is one transaction of the writer. Another process may write the
//! same stream: so it is taken from whoever has it before anything is looked at. What had been written of it by then is waited for and seen, what was
//! under way is refused, and its writer takes the stream over again.
//!
//! Between two steps others write, and after any of them all may be broken off: what is found then is right, or as wrong as it was before.

mod log;
mod place;

use std::fmt;

use armadex_storage::StoreError;

use crate::backend::{Connection, row};
use crate::sql::lease;
use crate::sql::mend;
use crate::sql::milestone;
use crate::sql::stream::{self, Fence};
use crate::write::session::Session;

pub(crate) use log::Orphans;
pub(crate) use place::PlaceMending;

/// What is to be made anew.
pub(crate) enum Mending {
    /// The index and the counter of a type in a namespace.
    Place(PlaceMending),
    /// How many types a namespace has.
    Namespace(i64),
    /// How many objects a stream has; one that is missing is made, closed.
    Stream { cluster: i64, resource: i32 },
    /// What is noted of the log: the periodic work notes it anew, so what is kept is kept for the whole window from then on.
    Notes,
    /// The log: it begins anew, with nothing in it.
    Log,
    /// What was in a log that has begun anew.
    Orphans(Orphans),
}

/// What a step came to.
pub(crate) struct Step {
    /// How many objects had to be removed.
    pub(crate) removed: u64,
    /// What is left to do.
    pub(crate) next: Option<Mending>,
}

impl Step {
    const LAST: Self = Self {
        removed: 0,
        next: None,
    };

    fn before(next: Mending) -> Self {
        Self {
            removed: 0,
            next: Some(next),
        }
    }
}

/// Nothing of the key that terms are hashed with.
impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut step = f.debug_struct("Step");
        step.field("removed", &self.removed).finish_non_exhaustive()
    }
}

/// Versions or objects that one statement looks at.
const LOOK: u32 = 2000;

/// Does a step of it.
pub(crate) async fn mend(session: &mut Session<'_>, mending: &Mending) -> Result<Step, StoreError> {
    session.catalog.is_mended = true;
    match mending {
        Mending::Place(place) => place::mend_place(session, place).await,
        Mending::Namespace(nsid) => count_types(session.connection, *nsid)
            .await
            .map(|()| Step::LAST),
        Mending::Stream { cluster, resource } => {
            fence(session.connection, *cluster, *resource).await?;
            mend_stream(session, *cluster, *resource).await?;
            Ok(Step::LAST)
        }
        Mending::Notes => drop_notes(session.connection).await.map(|()| Step::LAST),
        Mending::Log => log::begin_anew(session.connection).await,
        Mending::Orphans(orphans) => log::step(session, orphans).await,
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

/// Counts the types of a namespace, by the streams that there are.
async fn count_types(connection: &mut dyn Connection, nsid: i64) -> Result<(), StoreError> {
    let counted = mend::count_types(connection.dialect(), nsid);
    connection.execute(mend::hold_namespace(nsid)).await?;
    connection.execute(counted).await.map(drop)
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
    let counted = mend::count_objects(dialect, cluster, resource);
    session.connection.execute(counted).await.map(drop)
}

/// A step of the periodic work that is under way is waited for: what it has noted is not to stay alone.
async fn drop_notes(connection: &mut dyn Connection) -> Result<(), StoreError> {
    connection.execute(lease::touch()).await?;
    let dropped = milestone::drop_until(i64::MAX);
    connection.execute(dropped).await.map(drop)
}
