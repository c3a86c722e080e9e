//! Writing objects and their versions.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::backend::error::broken;
use crate::form::term::TermSet;
use crate::form::version::MemberVersion;
use crate::sql::dialect::{Dialect, ObjIndex, Upsert};
use crate::sql::statement::{Param, Sql, Statement};

/// What a stored object is compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OldRow {
    pub(crate) id: i64,
    pub(crate) nsid: i64,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) version: MemberVersion,
    pub(crate) rev: i64,
    pub(crate) form: i64,
}

/// A row of `obj`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectRow<'a> {
    pub(crate) id: i64,
    pub(crate) resource: i32,
    pub(crate) nsid: i64,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) created: i64,
    pub(crate) version: &'a MemberVersion,
    pub(crate) size: i64,
    pub(crate) rev: i64,
    pub(crate) form: i64,
}

/// What a version records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Add = 1,
    Change = 2,
    /// A tombstone: without terms or body.
    Delete = 3,
}

/// A row of `ver`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VersionRow<'a> {
    pub(crate) rev: i64,
    /// 0 for the first version of an object.
    pub(crate) prev_rev: i64,
    pub(crate) object: i64,
    pub(crate) operation: Operation,
    pub(crate) resource: i32,
    pub(crate) nsid: i64,
    pub(crate) name: &'a str,
    pub(crate) dictionary: i64,
    pub(crate) terms: Vec<u8>,
    pub(crate) body: &'a [u8],
}

const OLD_COLUMNS: &str =
    "SELECT o.id, o.nsid, o.name, o.uid, o.rv, o.rv_text, o.rev, o.form FROM ";

/// The stored rows of these keys.
pub(crate) fn old(dialect: Dialect, resource: i32, keys: &[(i64, &str)]) -> Statement {
    let (open, close) = dialect.tuple_list();
    let tuples = keys
        .iter()
        .map(|&(nsid, name)| [Param::from(nsid), name.into()]);
    Sql::new("obj.old", OLD_COLUMNS)
        .push(dialect.obj(ObjIndex::Key))
        .bound(" WHERE o.type = ?", [resource.into()])
        .push(" AND (o.nsid, o.name) IN ")
        .push(open)
        .tuples(2, tuples)
        .push(close)
        .build()
}

/// Some stored rows of a type within a range of namespace ids, to purge them.
pub(crate) fn some(
    dialect: Dialect,
    resource: i32,
    (from, until): (i64, i64),
    limit: u32,
) -> Statement {
    Sql::new("obj.some", OLD_COLUMNS)
        .push(dialect.obj(ObjIndex::Key))
        .bound(
            " WHERE o.type = ? AND o.nsid >= ? AND o.nsid < ? ORDER BY o.nsid, o.name LIMIT ?",
            [resource.into(), from.into(), until.into(), limit.into()],
        )
        .build()
}

pub(crate) fn decode_old(row: &dyn Row) -> Result<OldRow, StoreError> {
    Ok(OldRow {
        id: row.int(0)?,
        nsid: row.int(1)?,
        name: row.text(2)?,
        uid: row.text(3)?,
        version: MemberVersion::from_columns(row.int(4)?, row.optional_text(5)?),
        rev: row.int(6)?,
        form: row.int(7)?,
    })
}

/// The terms of these versions.
pub(crate) fn terms(revs: &[i64]) -> Statement {
    Sql::new("ver.terms", "SELECT rev, terms FROM ver WHERE rev IN ")
        .list(revs)
        .build()
}

pub(crate) fn decode_terms(row: &dyn Row) -> Result<(i64, TermSet), StoreError> {
    let rev = row.int(0)?;
    let terms = TermSet::from_bytes(&row.blob(1)?);
    let terms = terms.ok_or_else(|| broken(format!("the terms of revision {rev}")))?;
    Ok((rev, terms))
}

/// Writes new objects.
pub(crate) fn insert(rows: &[ObjectRow<'_>]) -> Statement {
    insert_rows("obj.insert", rows).build()
}

/// Writes changed objects.
pub(crate) fn update(dialect: Dialect, rows: &[ObjectRow<'_>]) -> Statement {
    insert_rows("obj.update", rows)
        .push(dialect.on_conflict(Upsert::Object))
        .build()
}

fn insert_rows(name: &'static str, rows: &[ObjectRow<'_>]) -> Sql {
    Sql::new(name, "INSERT INTO obj (id, type, nsid, name, uid, created, rv, rv_text, size, rev, form) VALUES ")
        .tuples(11, rows.iter().map(object_params))
}

fn object_params(row: &ObjectRow<'_>) -> [Param; 11] {
    [
        row.id.into(),
        row.resource.into(),
        row.nsid.into(),
        row.name.into(),
        row.uid.into(),
        row.created.into(),
        row.version.number().into(),
        row.version.text().into(),
        row.size.into(),
        row.rev.into(),
        row.form.into(),
    ]
}

/// Appends versions.
pub(crate) fn append(rows: &[VersionRow<'_>]) -> Statement {
    Sql::new(
        "ver.append",
        "INSERT INTO ver (rev, prev_rev, obj, op, type, nsid, name, dict, terms, body) VALUES ",
    )
    .tuples(10, rows.iter().map(version_params))
    .build()
}

fn version_params(row: &VersionRow<'_>) -> [Param; 10] {
    [
        row.rev.into(),
        row.prev_rev.into(),
        row.object.into(),
        (row.operation as i64).into(),
        row.resource.into(),
        row.nsid.into(),
        row.name.into(),
        row.dictionary.into(),
        row.terms.clone().into(),
        row.body.to_vec().into(),
    ]
}

pub(crate) fn delete(ids: &[i64]) -> Statement {
    Sql::new("obj.delete", "DELETE FROM obj WHERE id IN ")
        .list(ids)
        .build()
}

pub(crate) fn delete_versions(revs: &[i64]) -> Statement {
    Sql::new("ver.delete", "DELETE FROM ver WHERE rev IN ")
        .list(revs)
        .build()
}

/// The versions that these superseded; 0 where there was none.
pub(crate) fn previous(revs: &[i64]) -> Statement {
    Sql::new("ver.previous", "SELECT prev_rev FROM ver WHERE rev IN ")
        .list(revs)
        .build()
}

/// Versions after `pruned` and up to `until`, in commit order: (rev, prev_rev, op).
pub(crate) fn log(pruned: i64, until: i64, limit: u32) -> Statement {
    Statement::fixed(
        "ver.log",
        "SELECT rev, prev_rev, op FROM ver WHERE rev > ? AND rev <= ? ORDER BY rev LIMIT ?",
        [pruned.into(), until.into(), limit.into()],
    )
}

/// What the log says of one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogRow {
    pub(crate) rev: i64,
    pub(crate) prev_rev: i64,
    pub(crate) is_tombstone: bool,
}

pub(crate) fn decode_log(row: &dyn Row) -> Result<LogRow, StoreError> {
    Ok(LogRow {
        rev: row.int(0)?,
        prev_rev: row.int(1)?,
        is_tombstone: row.int(2)? == Operation::Delete as i64,
    })
}
