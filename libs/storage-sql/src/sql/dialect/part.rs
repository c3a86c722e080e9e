//! The parts of statements that every dialect has a text of its own for.

/// The indexes of `obj` that a statement may insist on: a walk along the wrong one reads the whole table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjIndex {
    /// (type, nsid, name)
    Key,
    /// (type, created, nsid)
    Created,
    /// (type, name, nsid)
    Name,
}

/// What is inserted or updated; each dialect has its own clause for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upsert {
    /// The row of an object, by id; its key stays.
    Object,
    /// A posting block, by its whole key.
    Block,
    /// A counter, by its whole key.
    Counter,
    /// A stream, by cluster and type: taken over and opened.
    Stream,
    /// A label key that is not posted, by its whole key: nothing is left to update.
    Unposted,
    /// An owner, by name.
    Owner,
    /// What is recorded of a cluster's health, by cluster.
    Health,
}

/// How a dialect writes what there are many of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Many {
    /// `VALUES (?, ?), (?, ?)`, also as a table.
    Values,
    /// One array for each column: `unnest(?, ?)`.
    Arrays,
    /// `VALUES` where rows are inserted; a table is `SELECT ?, ? UNION ALL SELECT ?, ?`.
    Selects,
}
