//! The stand-in for Karmada: its Cluster API as a CRD, or aggregated as the real one, and what `karmadactl` and the cluster controllers do with it.
//!
//! It is used where Karmada's programs are not to be had, and is called by its name in every output.

mod aggregated;
mod cluster;
mod control;
mod credentials;
mod host;
mod join;
mod unjoin;

pub use aggregated::Aggregated;
pub use cluster::{Cluster, ClusterSpec, ClusterStatus, SecretReference, Taint};
pub use control::run;
pub use credentials::rotate;
pub use host::{NAMESPACE, install};
pub use join::{join, register};
pub use unjoin::unjoin;
pub(crate) use unjoin::wait_until_clean;
