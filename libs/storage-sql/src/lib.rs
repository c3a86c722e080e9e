//! The store in a SQL database: SQLite today, laid out for PostgreSQL and MySQL.
//!
//! [`open`] gives a [`SqlStore`], which is both sides of `armadex-storage` at once. Inside, values become statements in pure modules
//! (`sql`, `plan`, `diff`, `prepare`, `term`, `allocate`), and a few modules run them (`write`, `read`, `clusters`, `purge`, `check`) on
//! the traits of `connection`, which each database implements in a module of its own (`sqlite`).

mod allocate;
mod bodies;
mod check;
mod clusters;
mod codec;
mod connection;
mod dialect;
mod diff;
mod error;
mod index;
mod location;
mod namespaces;
mod numbers;
mod plan;
mod prepare;
mod purge;
mod read;
mod secrets;
mod snapshot;
mod sql;
mod sqlite;
mod statement;
mod store;
mod streams;
mod term;
mod version;
mod write;
mod writer;

pub use check::CheckReport;
pub use location::{InvalidLocation, Location, migrate, open, open_with};
pub use store::{Options, SqlStore};
