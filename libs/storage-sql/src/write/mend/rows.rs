//! Rows that several kinds of mending come to.

use armadex_storage::StoreError;

use crate::backend::{Connection, head_row, row};
use crate::sql::history;
use crate::sql::lease;
use crate::sql::mend;
use crate::sql::milestone;
use crate::sql::stream::{self, Fence};
use crate::write::session::Session;

/// Versions or objects that one statement looks at.
pub(super) const LOOK: u32 = 2000;

/// Takes a stream from whoever writes it: what it relies on from here on nobody changes.
pub(super) async fn fence(
    connection: &mut dyn Connection,
    cluster: i64,
    resource: i32,
) -> Result<(), StoreError> {
    let fence = stream::fence(cluster, resource);
    connection.execute(fence).await.map(drop)
}

/// Counts the types of a namespace, by the streams that there are.
pub(super) async fn count_types(
    connection: &mut dyn Connection,
    nsid: i64,
) -> Result<(), StoreError> {
    let counted = mend::count_types(connection.dialect(), nsid);
    connection.execute(mend::hold_namespace(nsid)).await?;
    connection.execute(counted).await.map(drop)
}

pub(super) async fn mend_stream(
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
            .execute(stream::take_over(dialect, &[(fence, false)]))
            .await?;
        connection.execute(stream::close(cluster, resource)).await?;
        session.catalog.streams.insert((cluster, resource));
        session.shown.stream(cluster, resource);
    }
    let counted = mend::count_objects(dialect, cluster, resource);
    session.connection.execute(counted).await.map(drop)
}

/// A step of the periodic work that is under way is waited for. What was noted says since when the head was there, which stays; nothing is noted of what is not there.
pub(super) async fn count_anew(connection: &mut dyn Connection) -> Result<(), StoreError> {
    connection.execute(lease::touch()).await?;
    let head = head_row::read(connection).await?;
    for statement in [
        milestone::drop_until(head.history),
        milestone::drop_after(head.revision),
        milestone::uncount(head.history),
    ] {
        connection.execute(statement).await?;
    }
    Ok(())
}

/// What is missing is missing before the log begins; what is left of it goes as it would have.
pub(super) async fn begin_histories(connection: &mut dyn Connection) -> Result<(), StoreError> {
    connection.execute(lease::touch()).await?;
    let head = head_row::read(connection).await?;
    let begun = history::begin_at(head.pruned);
    connection.execute(begun).await.map(drop)
}

/// A step of the periodic work that is under way is waited for: what it has noted is not to stay alone.
pub(super) async fn drop_notes(connection: &mut dyn Connection) -> Result<(), StoreError> {
    connection.execute(lease::touch()).await?;
    let dropped = milestone::drop_until(i64::MAX);
    connection.execute(dropped).await.map(drop)
}
