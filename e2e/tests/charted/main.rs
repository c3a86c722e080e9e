//! The chart as it is used: helm installs, upgrades, rolls back and removes it in a cluster whose pods run, with another one as its control plane, as Karmada's is, and with itself.

#![allow(clippy::unwrap_used)]

mod bob;
mod desk;
mod former;
mod here;
mod life;
mod lists;
mod members;
mod modes;
mod newcomer;
mod rollback;
mod rotation;
mod searcher;
mod store;
mod traces;
