//! Making what does not agree with the objects anew, from the objects, in steps: each is one transaction of the writer. Another process may write the
//! same stream: so it is taken from whoever has it before anything is looked at. What had been written of it by then is waited for and seen, what was
//! under way is refused, and its writer takes the stream over again.
//!
//! Between two steps others write, and after any of them all may be broken off: what is found then is right, or as wrong as it was before.

mod log;
mod place;
mod rows;
mod step;

use armadex_storage::StoreError;

use crate::write::dictionaries;
use crate::write::session::Session;
use rows::{begin_histories, count_anew, count_types, fence, mend_stream};

pub(crate) use step::{Mending, PlaceMending, Step};

/// Does a step of it.
pub(crate) async fn mend(session: &mut Session<'_>, mending: &Mending) -> Result<Step, StoreError> {
    session.catalog.is_mended = true;
    match mending {
        Mending::Dictionaries(numbers) => dictionaries::remove(session, numbers)
            .await
            .map(|()| Step::LAST),
        Mending::Place(place) => place::mend_place(session, place).await,
        Mending::Namespace(nsid) => count_types(session.connection, *nsid)
            .await
            .map(|()| Step::LAST),
        Mending::Stream { cluster, resource } => {
            fence(session.connection, *cluster, *resource).await?;
            mend_stream(session, *cluster, *resource).await?;
            Ok(Step::LAST)
        }
        Mending::Notes => count_anew(session.connection).await.map(|()| Step::LAST),
        Mending::Histories => begin_histories(session.connection)
            .await
            .map(|()| Step::LAST),
        Mending::Log => log::begin_anew(session.connection).await,
        Mending::Orphans(orphans) => log::step(session, orphans).await,
    }
}
