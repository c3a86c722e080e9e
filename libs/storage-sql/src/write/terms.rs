//! What stored versions were indexed by, read in pieces: an object may have two thousand terms, 16 KiB, and hundreds go at once.

use std::collections::HashMap;

use armadex_storage::StoreError;

use crate::backend::error::broken;
use crate::backend::{Connection, rows};
use crate::form::term::TermSet;
use crate::sql::object;

/// Versions of the first piece, and of each after one that had many terms: a megabyte at most.
const FIRST: usize = 64;
/// Where there were few a piece is so many times as long as the last one, and what comes is a little beyond usual at most.
const GROWTH: usize = 4;
/// Versions of a piece at most, wherever a statement may have more.
const MOST: usize = 1024;
/// What a version has that has few: twice a usual one's.
const FEW: usize = 64;

/// What these versions were indexed by, by revision.
pub(crate) async fn terms_of(
    connection: &mut dyn Connection,
    revs: &[i64],
) -> Result<HashMap<i64, TermSet>, StoreError> {
    terms_up_to(connection, revs, usize::MAX).await
}

/// The same of as many as come first and have no more than `most` posted terms together, and of a few more.
pub(crate) async fn terms_up_to(
    connection: &mut dyn Connection,
    revs: &[i64],
    most: usize,
) -> Result<HashMap<i64, TermSet>, StoreError> {
    let dialect = connection.dialect();
    let mut terms = HashMap::new();
    let (mut left, mut piece, mut sum) = (revs, FIRST, 0);
    while !left.is_empty() && sum <= most {
        let (part, later) = left.split_at(piece.min(left.len()));
        let found = rows(
            connection,
            object::terms(dialect, part),
            object::decode_terms,
        )
        .await?;
        let met = posted(found.iter().map(|(_, terms)| terms));
        terms.extend(found);
        if let Some(rev) = part.iter().find(|rev| !terms.contains_key(rev)) {
            return Err(broken(format!("the version of revision {rev} is missing")));
        }
        sum += met;
        piece = match met <= FEW * part.len() {
            true => (piece * GROWTH).min(MOST).min(dialect.most_values()),
            false => FIRST,
        };
        left = later;
    }
    Ok(terms)
}

/// How many terms lead to objects that have these.
pub(crate) fn posted<'a>(terms: impl Iterator<Item = &'a TermSet>) -> usize {
    terms.map(|terms| terms.posted().len()).sum()
}
