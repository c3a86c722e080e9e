//! The store in a SQL database: SQLite, PostgreSQL, or MySQL with MariaDB.
//!
//! [`open()`] gives a [`SqlStore`], which is both sides of `armadex-storage` at once. Each room does one thing:
//!
//! - `form`: what is stored of an object: packed bodies, terms as numbers. Pure.
//! - `sql`: every statement as a value, and where databases differ in its text. Pure.
//! - `backend`: the traits that run statements, and each database behind them.
//! - `catalog`: which clusters, types and streams there are, kept in memory.
//! - `write`: from batches to rows, by one task.
//! - `read`: from queries to pages.
//! - `store`: both sides, put together.
//! - `copy`: from one database to another, whichever they are.

mod aside;
mod backend;
mod catalog;
mod copy;
mod form;
mod location;
mod open;
mod options;
mod read;
mod sql;
mod store;
mod write;

pub use backend::Disk;
pub use backend::guarded::Availability;
pub use backend::schema::{PendingMigration, SchemaStanding};
pub use backend::sqlite::Compacted;
pub use copy::{Copied, CopyError, CopyStep, Pace, copy};
pub use location::{
    ClientCertificate, Draft, Engine, Host, InvalidLocation, Location, Password, Secret, Server,
    Timeouts, Tls, TlsMode, UnreadablePassword,
};
pub use open::{
    compact, migrate, open, open_as_it_is, open_replica, open_with, renew, schema_standing,
};
pub use options::{History, Options, Training};
pub use read::Tuning;
pub use store::SqlStore;
pub use store::check::CheckReport;
pub use store::mend::Mended;
pub use store::stats::{DictionaryShare, HistoryShare, Share, StoreStats};
pub use write::Portions;
pub use write::past::Past;
