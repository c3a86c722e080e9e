//! Real control planes on one machine: etcd, kube-apiservers, members that join and leave, and Armadex among them.
//!
//! Tests start a [`Harness`] and see kubeconfigs; the binary `armadex-e2e` does the same for people (`make demo`).

pub mod account;
pub mod aggregation;
mod apiserver;
pub mod armadex;
pub mod attached;
pub mod bodies;
pub mod chart;
pub mod churn;
pub mod cluster;
pub mod control_plane;
pub mod deploy;
pub mod document;
pub mod equality;
pub mod etcd;
pub mod folder;
mod harness;
pub mod http;
pub mod issued;
pub mod kubeconfig;
pub mod kubectl;
pub mod kubelet;
pub mod limit;
pub mod log;
pub mod pki;
pub mod process;
pub mod progress;
pub mod raw;
pub mod record;
pub mod requests;
pub mod restore;
pub mod rights;
pub mod scenario;
pub mod seats;
pub mod seed;
pub mod stand_in;
pub mod store;
pub mod table;
pub mod tools;
pub mod wait;
pub mod wire;

pub use armadex_databases::ports;
pub use cluster::Cluster;
pub use control_plane::{ClusterApi, ControlPlaneKind};
pub use folder::Folder;
pub use harness::{Harness, OWNER, Options, install_crypto};
pub use kubectl::Kubectl;
pub use record::Record;
pub use tools::Tools;
pub use wait::{wait_for, wait_until};
