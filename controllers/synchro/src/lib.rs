//! Keeps a copy of the chosen resources of every member, in one direction and without holding objects:
//!
//! ```text
//! member's bytes -> lines/items -> event -> prune -> batch -> store
//! ```
//!
//! [`run()`] watches PediaClusters. Each has a task tree of its own (`tree`): it follows the credentials and what its policy rendered,
//! keeps the status and, while the spec is valid, a `session` with the member, which runs one `stream` per type. What a stream does next is decided by the
//! pure `step`; what is synced by the pure `plan`; what users read by the pure `status`. Beside the streams an `audit` compares what they have
//! stored with the member.

mod applied;
mod audit;
mod backoff;
mod batch;
mod board;
mod budget;
mod config;
mod discoveries;
mod event;
mod finalizer;
mod fleet;
mod grounds;
mod heartbeat;
mod items;
mod janitor;
mod keeper;
mod last_words;
mod lease;
mod lifecycles;
mod lines;
mod lock;
mod metrics;
mod outages;
mod owner;
mod pace;
mod place;
mod plan;
mod prune;
mod reaching;
mod report;
mod run;
mod said;
mod secrets;
mod session;
mod status;
mod step;
mod strays;
mod stream;
#[cfg(test)]
mod testing;
mod tree;
mod turns;
mod types;
mod unfinished;
mod unwanted;
mod writer;

pub use config::Config;
pub use lease::LeaseTerms;
pub use metrics::{ClusterMetrics, Counter, Metrics};
pub use plan::Gates;
pub use prune::{Rules as PruneRules, Skipped, prune, rules_version};
pub use run::{Error, run};
