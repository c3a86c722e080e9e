//! Why a store is not copied.

use armadex_storage::StoreError;

/// A copy that was not made, or not to its end. Whatever is copied stays, and the same copy goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The database that is read does not answer, or is no store.
    #[error("cannot read FROM, {place}")]
    From {
        /// Where it is.
        place: String,
        /// What happened.
        #[source]
        source: StoreError,
    },
    /// The database that is written does not answer, or cannot be one.
    #[error("cannot write TO, {place}")]
    To {
        /// Where it is.
        place: String,
        /// What happened.
        #[source]
        source: StoreError,
    },
    /// Nothing is there to be read.
    #[error("FROM: there is nothing in {place}")]
    Nothing {
        /// Where that is.
        place: String,
    },
    /// A newer binary has made tables that this one does not know.
    #[error(
        "{place} was migrated by a newer binary, which keeps what this one does not know: copy with that one"
    )]
    Newer {
        /// Which of the two.
        place: String,
    },
    /// An earlier binary has made the tables of what is read, and may work with them.
    #[error(
        "FROM: {place} has the schema of an earlier release, which a copy does not change: run `armadex migrate` first, or copy with a binary of that release"
    )]
    Behind {
        /// Where it is.
        place: String,
    },
    /// An earlier binary has made tables in what is written.
    #[error(
        "TO: {place} was made by an earlier release, a store of its own or a copy that it did not finish: name a file that is not there yet, \
         or an empty database"
    )]
    Older {
        /// Where it is.
        place: String,
    },
    /// A synchro works with what is read.
    #[error(
        "FROM: a process writes to {place}: stop each `armadex synchro` and `armadex all` that does, and copy again"
    )]
    InUse {
        /// Where it is.
        place: String,
    },
    /// What is read is not what it was when the copy began.
    #[error(
        "FROM: {from} was written while it was copied, so the two halves do not fit: stop each `armadex synchro` and `armadex all` that \
         writes to it, remove TO, {to} (the file, or the database), and copy again"
    )]
    Changed {
        /// Where it is.
        from: String,
        /// The copy.
        to: String,
    },
    /// What is written has rows that are no part of this copy.
    #[error(
        "TO: {place} is a store of its own already: name a file that is not there yet, or an empty database"
    )]
    NotEmpty {
        /// Where it is.
        place: String,
    },
    /// What is written is a copy of something else.
    #[error(
        "TO: {place} is an unfinished copy of another store: copy from that one, or remove {place} (the file, or the database) and copy again"
    )]
    AnotherCopy {
        /// Where it is.
        place: String,
    },
    /// Rows of what is read are missing where they were written, or some are there that are not.
    #[error(
        "TO: {place} has {copied} rows of the table {table}, and FROM has {there}: remove {place} (the file, or the database) and copy again"
    )]
    Differs {
        /// Where it is.
        place: String,
        /// The table.
        table: &'static str,
        /// The rows of what is read.
        there: i64,
        /// The rows of the copy.
        copied: i64,
    },
    /// Two processes make the same copy.
    #[error("TO: another process copies to {place}, and goes on")]
    Overtaken {
        /// Where it is.
        place: String,
    },
}
