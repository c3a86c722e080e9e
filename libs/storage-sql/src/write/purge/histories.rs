//! Sees to it that the types that are to have a history have one, and no others. Whoever does the periodic work decides that: by what it was told, which it writes down for the
//! next one, or by what is written down. With each type it notes from which revision on its history is whole.

use std::collections::BTreeSet;
use std::time::Duration;

use armadex_storage::StoreError;
use tracing::{info, warn};

use super::notes::milliseconds;
use crate::backend::{rows, schema};
use crate::options::History;
use crate::sql::head::{self, HeadRow};
use crate::sql::history::{AskedRow, HistoryRow};
use crate::sql::{history, milestone};
use crate::write::history::{Histories, Settled};
use crate::write::session::Session;

/// Versions of resources that have a history: a member may serve any number of versions of one, and all that have a history stay known for as long as it lasts.
const MOST: usize = 256;

/// Whether something had to be noted: that is a step of its own.
pub(super) async fn settle(session: &mut Session<'_>, head: &HeadRow) -> Result<bool, StoreError> {
    if session.past.history.is_settled(head.catalog) {
        return Ok(false);
    }
    let (history, is_noted) = wanted(session).await?;
    let had = rows(session.connection, history::types(), history::decode).await?;
    let mut wanted = types_of(session, &history).await?;
    let without = choose(&mut wanted);
    let types = Histories::of(wanted.iter().map(|row| row.id));
    let begin: Vec<&HistoryRow> = wanted.iter().filter(|row| row.since < 0).collect();
    let end: Vec<&HistoryRow> = had
        .iter()
        .filter(|row| !types.has(i64::from(row.id)))
        .collect();
    if begin.is_empty() && end.is_empty() {
        if !is_noted {
            tell_without(session.past.history.settled(), without);
            session.past.history.settle(Settled {
                catalog: head.catalog,
                history,
                types,
                without,
            });
        }
        return Ok(is_noted);
    }
    tell(&begin, &end);
    // What there was before is another part of what was counted. Of a type that came since then nothing was, but it may have stood in line.
    let settled = session.past.history.settled();
    if !end.is_empty() || settled.is_none_or(|settled| settled.without > 0) {
        let uncounted = milestone::uncount(head.pruned);
        session.connection.execute(uncounted).await?;
    }
    note(session, head.pruned, &begin).await?;
    note(session, history::ended(head.pruned), &end).await?;
    if !begin.is_empty() {
        // Who does not know of it would remove it.
        let serves = schema::serves_with_history(session.dialect);
        session
            .connection
            .execute(head::raise_serves(serves))
            .await?;
    }
    Ok(true)
}

/// What is to have a history, and whether it had to be written down.
async fn wanted(session: &mut Session<'_>) -> Result<(History, bool), StoreError> {
    let written = rows(session.connection, history::asked(), history::decode_asked).await?;
    let Some(asked) = session.past.history.asked().cloned() else {
        return Ok((of_rows(written), false));
    };
    let rows = rows_of(&asked);
    let is_new = rows != written;
    if is_new {
        let forgotten = history::forget_asked();
        session.connection.execute(forgotten).await?;
        for piece in session.dialect.pieces(&rows) {
            let asked = history::ask(session.dialect, piece);
            session.connection.execute(asked).await?;
        }
    }
    Ok((asked, is_new))
}

fn of_rows(rows: Vec<AskedRow>) -> History {
    let longest = rows.iter().map(|row| row.period).max().unwrap_or_default();
    let bytes = rows.iter().map(|row| row.bytes).max().unwrap_or_default();
    History {
        of: rows
            .into_iter()
            .map(|row| (row.group, row.resource))
            .collect(),
        window: Duration::from_millis(longest.max(0).unsigned_abs()),
        bytes: bytes.max(0).unsigned_abs(),
    }
}

/// In their order, each once.
fn rows_of(history: &History) -> Vec<AskedRow> {
    let mut rows: Vec<AskedRow> = history
        .of
        .iter()
        .map(|(group, resource)| AskedRow {
            group: group.clone(),
            resource: resource.clone(),
            period: milliseconds(history.window),
            bytes: i64::try_from(history.bytes).unwrap_or(0),
        })
        .collect();
    rows.sort_by(|a, b| (&a.group, &a.resource).cmp(&(&b.group, &b.resource)));
    rows.dedup();
    rows
}

/// Types of all that is asked for.
async fn types_of(
    session: &mut Session<'_>,
    history: &History,
) -> Result<Vec<HistoryRow>, StoreError> {
    // Each once.
    let asked: BTreeSet<(&str, &str)> = history
        .of
        .iter()
        .map(|(group, resource)| (group.as_str(), resource.as_str()))
        .collect();
    if asked.is_empty() {
        return Ok(vec![]);
    }
    let types = history::types_of(session.dialect, &Vec::from_iter(asked));
    rows(session.connection, types, history::decode).await
}

/// Leaves no more than there may be, and those that have a history; gives how many are without.
fn choose(wanted: &mut Vec<HistoryRow>) -> usize {
    wanted.sort_by_key(|row| (row.since < 0, row.id));
    let without = wanted.len().saturating_sub(MOST);
    wanted.truncate(MOST);
    without
}

/// Says how many are without a history, where that is news.
fn tell_without(before: Option<&Settled>, without: usize) {
    if without > 0 && before.is_none_or(|before| before.without != without) {
        warn!(
            "{without} versions of resources of --history-of have no history: there are more than {MOST} of all together"
        );
    }
}

fn tell(begin: &[&HistoryRow], end: &[&HistoryRow]) {
    if !begin.is_empty() {
        info!(types = %names(begin), "what these types superseded is kept as their history from now on");
    }
    if !end.is_empty() {
        warn!(types = %names(end), "the history of these types is not asked for any more: it goes with that of others, or at once if there is none");
    }
}

fn names(rows: &[&HistoryRow]) -> String {
    let named = rows.iter().map(|row| row.gvr.to_string());
    Vec::from_iter(named).join(", ")
}

async fn note(
    session: &mut Session<'_>,
    since: i64,
    types: &[&HistoryRow],
) -> Result<(), StoreError> {
    let ids: Vec<i64> = types.iter().map(|row| i64::from(row.id)).collect();
    for part in ids.chunks(session.dialect.most_values()) {
        let noted = history::note(session.dialect, since, part);
        session.connection.execute(noted).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use armadex_model::GroupVersionResource;

    use super::*;

    #[test]
    fn what_is_asked_for_is_written_down_and_read_back() {
        let named = |group: &str, resource: &str| (group.to_owned(), resource.to_owned());
        let history = History {
            of: vec![named("", "pods"), named("apps", "deployments")],
            window: Duration::from_secs(7200),
            bytes: 9,
        };
        assert_eq!(of_rows(rows_of(&history)), history);
        let twice = History {
            of: [&history.of[..], &history.of[..]].concat(),
            ..history.clone()
        };
        assert_eq!(rows_of(&twice), rows_of(&history));
    }

    #[test]
    fn of_more_versions_than_may_have_a_history_those_stay_that_have_one() {
        let row = |id: i32, since: i64| HistoryRow {
            id,
            since,
            gvr: GroupVersionResource::new("apps", "v1", "deployments"),
        };
        let most = i32::try_from(MOST).expect("a few");
        let mut rows: Vec<_> = (0..most + 9)
            .map(|id| row(id, i64::from(id - 10)))
            .collect();
        assert_eq!(choose(&mut rows), 9);
        assert_eq!(rows.len(), MOST);
        assert_eq!(rows[0], row(10, 0));
        assert_eq!(rows.last(), Some(&row(0, -10)));
        assert_eq!(choose(&mut rows), 0);
    }
}
