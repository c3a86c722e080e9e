//! Writing objects and their versions.

use armadex_storage::StoreError;

use crate::backend::Row;
use crate::backend::error::broken;
use crate::form::term::TermSet;
use crate::form::version::MemberVersion;
use crate::sql::catalog::type_id;
use crate::sql::dialect::{Dialect, Many, ObjIndex, Upsert};
use crate::sql::select::after_name;
use crate::sql::statement::{Param, Sql, Statement};

/// What a stored object is compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OldRow {
    pub(crate) id: i64,
    pub(crate) resource: i32,
    pub(crate) nsid: i64,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) version: MemberVersion,
    pub(crate) rev: i64,
    pub(crate) form: i64,
    /// Of its body, before it was packed.
    pub(crate) size: i64,
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

impl VersionRow<'_> {
    /// What it takes to send it, but for a few numbers.
    pub(crate) fn bytes(&self) -> usize {
        self.name.len() + self.terms.len() + self.body.len()
    }
}

/// The stored rows of these keys: type, namespace id, name.
pub(crate) fn old(dialect: Dialect, keys: &[(i32, i64, &str)]) -> Statement {
    let keys = keys
        .iter()
        .map(|&(resource, nsid, name)| [resource.into(), nsid.into(), name.into()]);
    let columns =
        "SELECT o.id, o.type, o.nsid, o.name, o.uid, o.rv, o.rv_text, o.rev, o.form, o.size FROM ";
    let sql = Sql::new(dialect, "obj.old", columns);
    match dialect.many() {
        Many::Arrays => sql.table("k (type, nsid, name)", keys).push(
            " CROSS JOIN LATERAL (SELECT * FROM obj o \
             WHERE o.type = k.type AND o.nsid = k.nsid AND o.name = k.name LIMIT 1) o",
        ),
        Many::Values | Many::Selects => sql
            .push(dialect.obj(ObjIndex::Key))
            .push(" WHERE ")
            .keys("(o.type, o.nsid, o.name)", keys),
    }
    .build()
}

pub(crate) fn decode_old(row: &dyn Row) -> Result<OldRow, StoreError> {
    Ok(OldRow {
        id: row.int(0)?,
        resource: type_id(row.int(1)?)?,
        nsid: row.int(2)?,
        name: row.text(3)?,
        uid: row.text(4)?,
        version: MemberVersion::from_columns(row.int(5)?, row.optional_text(6)?),
        rev: row.int(7)?,
        form: row.int(8)?,
        size: row.int(9)?,
    })
}

/// What is needed of a row to purge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PurgedRow {
    pub(crate) id: i64,
    pub(crate) resource: i32,
    pub(crate) nsid: i64,
    pub(crate) rev: i64,
}

const PURGED: &str = "SELECT o.id, o.type, o.nsid, o.rev FROM ";

/// All rows of these types and namespace ids.
pub(crate) fn of_places(dialect: Dialect, places: &[(i32, i64)]) -> Statement {
    let keys = places
        .iter()
        .map(|&(resource, nsid)| [resource.into(), nsid.into()]);
    let sql = Sql::new(dialect, "obj.of_places", PURGED);
    match dialect.many() {
        Many::Arrays => sql.table("k (type, nsid)", keys).push(
            " CROSS JOIN LATERAL (SELECT * FROM obj o \
             WHERE o.type = k.type AND o.nsid = k.nsid OFFSET 0) o",
        ),
        Many::Values | Many::Selects => sql
            .push(dialect.obj(ObjIndex::Key))
            .push(" WHERE ")
            .keys("(o.type, o.nsid)", keys),
    }
    .build()
}

/// Some rows of a type in a namespace.
pub(crate) fn some(dialect: Dialect, (resource, nsid): (i32, i64), limit: i64) -> Statement {
    let sql = Sql::new(dialect, "obj.some", PURGED);
    after_name(sql, resource, (nsid, ""), limit).build()
}

/// Rows by id.
pub(crate) fn numbered(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::new(dialect, "obj.numbered", PURGED)
        .push("obj o WHERE ")
        .within("o.id", ids)
        .build()
}

pub(crate) fn decode_purged(row: &dyn Row) -> Result<PurgedRow, StoreError> {
    Ok(PurgedRow {
        id: row.int(0)?,
        resource: type_id(row.int(1)?)?,
        nsid: row.int(2)?,
        rev: row.int(3)?,
    })
}

/// The terms of these versions.
pub(crate) fn terms(dialect: Dialect, revs: &[i64]) -> Statement {
    Sql::new(dialect, "ver.terms", "SELECT rev, terms FROM ver")
        .push(dialect.by_key())
        .push(" WHERE ")
        .within("rev", revs)
        .build()
}

/// (the revision, what the version was indexed by)
pub(crate) fn decode_terms(row: &dyn Row) -> Result<(i64, TermSet), StoreError> {
    let rev = row.int(0)?;
    let terms = TermSet::from_bytes(&row.blob(1)?);
    let terms = terms.ok_or_else(|| broken(format!("the terms of revision {rev}")))?;
    Ok((rev, terms))
}

/// Writes new objects.
pub(crate) fn insert(dialect: Dialect, rows: &[ObjectRow<'_>]) -> Statement {
    let verb = dialect.insert_into();
    insert_rows(dialect, ("obj.insert", verb), rows).build()
}

/// Writes changed objects.
pub(crate) fn update(dialect: Dialect, rows: &[ObjectRow<'_>]) -> Statement {
    insert_rows(dialect, ("obj.update", "INSERT INTO "), rows)
        .push(dialect.on_conflict(Upsert::Object))
        .build()
}

fn insert_rows(
    dialect: Dialect,
    (name, verb): (&'static str, &'static str),
    rows: &[ObjectRow<'_>],
) -> Sql {
    Sql::new(dialect, name, verb)
        .push("obj (id, type, nsid, name, uid, created, rv, rv_text, size, rev, form) ")
        .rows(rows.iter().map(object_params))
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
pub(crate) fn append(dialect: Dialect, rows: &[VersionRow<'_>]) -> Statement {
    Sql::new(dialect, "ver.append", dialect.insert_into())
        .push("ver (rev, prev_rev, obj, op, type, nsid, name, dict, terms, body) ")
        .rows(rows.iter().map(version_params))
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

pub(crate) fn delete(dialect: Dialect, ids: &[i64]) -> Statement {
    Sql::new(dialect, "obj.delete", "DELETE FROM obj WHERE ")
        .within("id", ids)
        .build()
}

pub(crate) fn delete_versions(dialect: Dialect, revs: &[i64]) -> Statement {
    Sql::new(dialect, "ver.delete", "DELETE FROM ver WHERE ")
        .within("rev", revs)
        .build()
}

/// Makes tombstones of versions whose objects go away without any.
pub(crate) fn bury_versions(dialect: Dialect, revs: &[i64]) -> Statement {
    let nothing = || Param::from(Vec::new());
    Sql::update(dialect, "ver.bury", "ver")
        .bound(
            "op = ?, dict = 0, terms = ?, body = ? WHERE ",
            [(Operation::Delete as i64).into(), nothing(), nothing()],
        )
        .within("rev", revs)
        .build()
}

/// Of these versions those that superseded one which is still there, and is no tombstone, with its revision: (rev, prev_rev).
pub(crate) fn leading(dialect: Dialect, revs: &[i64]) -> Statement {
    Sql::new(
        dialect,
        "ver.leading",
        "SELECT v.rev, v.prev_rev FROM ver v",
    )
    .push(dialect.then_join())
    .push("ver p WHERE ")
    .within("v.rev", revs)
    .bound(
        " AND p.rev = v.prev_rev AND p.op <> ?",
        [(Operation::Delete as i64).into()],
    )
    .build()
}

/// Versions after `after` and up to `until`, in commit order: (rev, prev_rev, op, type, nsid).
pub(crate) fn log(after: i64, until: i64, limit: u32) -> Statement {
    Statement::fixed(
        "ver.log",
        "SELECT rev, prev_rev, op, type, nsid FROM ver WHERE rev > ? AND rev <= ? ORDER BY rev LIMIT ?",
        [after.into(), until.into(), limit.into()],
    )
}

/// What the log says of one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogRow {
    pub(crate) rev: i64,
    pub(crate) prev_rev: i64,
    pub(crate) is_tombstone: bool,
    /// The type.
    pub(crate) resource: i64,
    pub(crate) nsid: i64,
}

impl LogRow {
    /// Whether an object was deleted: a stream that was shown or hidden is a tombstone of nothing.
    pub(crate) fn is_deletion(&self) -> bool {
        self.is_tombstone && self.prev_rev != 0
    }
}

pub(crate) fn decode_log(row: &dyn Row) -> Result<LogRow, StoreError> {
    Ok(LogRow {
        rev: row.int(0)?,
        prev_rev: row.int(1)?,
        is_tombstone: row.int(2)? == Operation::Delete as i64,
        resource: row.int(3)?,
        nsid: row.int(4)?,
    })
}
