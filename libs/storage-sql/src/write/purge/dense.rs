//! Which objects of a large namespace go in one step: those with neighbouring ids. All runs of a namespace are in the order of ids, so what goes is a stretch of each,
//! and a block is met once. By names, which are in another order after a while, each step would meet every block of the runs that most objects are in.

use std::collections::{HashMap, HashSet};

use armadex_postings::MAX_IDS;
use armadex_storage::StoreError;

use crate::backend::error::broken;
use crate::backend::rows;
use crate::form::term::TermSet;
use crate::sql::object::{self, PurgedRow};
use crate::sql::post::{self, RunKey};
use crate::write::session::Session;
use crate::write::terms::terms_of;

/// So many objects say in which run the most are.
const SAMPLE: i64 = 64;

/// Chooses `wanted` objects of a type in a namespace, or all if there are fewer, in the order of their ids.
pub(super) async fn choose(
    session: &mut Session<'_>,
    place: (i32, i64),
    wanted: i64,
) -> Result<Vec<PurgedRow>, StoreError> {
    let enough = usize::try_from(wanted).unwrap_or_default();
    let mut found = match most_met(session, place, wanted.min(SAMPLE)).await? {
        Some(run) => of_run(session, run, enough).await?,
        None => vec![],
    };
    if found.len() < enough {
        // Those that share no term have no block in common either.
        let known: HashSet<i64> = found.iter().map(|row| row.id).collect();
        let statement = object::some(session.dialect, place, wanted);
        let others = rows(session.connection, statement, object::decode_purged).await?;
        let others = others.into_iter().filter(|row| !known.contains(&row.id));
        found.extend(others.take(enough - known.len()));
    }
    found.sort_unstable_by_key(|row| row.id);
    Ok(found)
}

/// The run that leads to the most of some objects, if it leads to more than one.
async fn most_met(
    session: &mut Session<'_>,
    place: (i32, i64),
    sample: i64,
) -> Result<Option<RunKey>, StoreError> {
    let statement = object::some(session.dialect, place, sample);
    let some = rows(session.connection, statement, object::decode_purged).await?;
    let revs: Vec<i64> = some.iter().map(|row| row.rev).collect();
    let terms = terms_of(session.connection, &revs).await?;
    let mut met: HashMap<i64, usize> = HashMap::new();
    for term in terms.values().flat_map(TermSet::posted) {
        *met.entry(*term).or_default() += 1;
    }
    let most = met.into_iter().max_by_key(|&(term, times)| (times, term));
    let (resource, nsid) = place;
    Ok(most
        .filter(|&(_, times)| times > 1)
        .map(|(term, _)| RunKey {
            term,
            resource,
            nsid,
        }))
}

/// The first objects of a run.
async fn of_run(
    session: &mut Session<'_>,
    run: RunKey,
    enough: usize,
) -> Result<Vec<PurgedRow>, StoreError> {
    let mut ids = Vec::new();
    let mut last = 0;
    while ids.len() < enough {
        let missing = (enough - ids.len()).div_ceil(MAX_IDS);
        let limit = i64::try_from(missing).unwrap_or(i64::MAX);
        let statement = post::following(session.dialect, &run, last, limit);
        let next = rows(session.connection, statement, post::decode_block).await?;
        let Some(end) = next.last() else {
            break;
        };
        last = end.block.first;
        for row in next {
            let decoded = row.block.decode().map_err(|err| broken(err.to_string()))?;
            ids.extend_from_slice(decoded.as_slice());
        }
    }
    ids.truncate(enough);
    let mut found = Vec::new();
    for part in ids.chunks(session.dialect.most_values()) {
        let statement = object::numbered(session.dialect, part);
        found.extend(rows(session.connection, statement, object::decode_purged).await?);
    }
    // Whatever the index says, nothing else goes.
    found.retain(|row| (row.resource, row.nsid) == (run.resource, run.nsid));
    Ok(found)
}
