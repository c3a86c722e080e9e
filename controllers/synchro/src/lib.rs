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

mod audit;
mod config;
mod credentials;
mod fleet;
mod incoming;
mod lock;
mod named;
mod parts;
mod session;
mod stream;
#[cfg(test)]
mod testing;
mod told;
mod tree;
mod types;

pub use armadex_member::{AllowList, AllowedAddress, ControlPlane};
pub use config::Config;
pub use fleet::lease_name::lease_name;
pub use fleet::run::{Error, run};
pub use incoming::prune::{Rules as PruneRules, Skipped, Unpruned, prune, rules_version};
pub use session::plan::{Gates, MemberRights, member_rights_of};
pub use told::metrics::{ClusterMetrics, Counter, Metrics};
