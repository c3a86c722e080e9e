//! The chart as it is used: helm installs, upgrades, rolls back and removes it in a cluster whose pods run, and its control plane is another one, as Karmada's is.

#![allow(clippy::unwrap_used)]

mod bob;
mod desk;
mod life;
mod lists;
mod newcomer;
mod searcher;
mod traces;
