//! Real PostgreSQL and MariaDB servers for tests and measurements.
//!
//! A test takes an empty [`Database`], which goes with it: on one server for the whole process, or on the one that
//! `$ARMADEX_TEST_POSTGRES` or `$ARMADEX_TEST_MYSQL` name. Who wants to stop, pause or measure a server starts a [`Server`] of its own.
//!
//! Servers listen on a free port of 127.0.0.1, keep what they have in a temporary folder, and end with the process that started them, however
//! that ends. Nothing here speaks a database's protocol: its own client does.

mod address;
mod client;
mod database;
mod engine;
mod galera;
mod keeper;
mod mariadb;
mod not_run;
mod pooler;
pub mod ports;
mod postgres;
mod products;
mod programs;
mod server;
mod setup;

pub use address::Address;
pub use client::administer;
pub use database::{Beside, Database};
pub use engine::Engine;
pub use galera::Galera;
pub use not_run::{note_not_run, tell_at_the_end};
pub use pooler::{PoolMode, Pooler};
pub use server::Server;
pub use setup::{Disk, Setup};
