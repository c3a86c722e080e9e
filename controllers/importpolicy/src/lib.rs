//! From ClusterImportPolicies to PediaClusterLifecycles: one for every source object that a
//! policy selects, kept as the policy says, gone when the source object goes.
//!
//! A reconcile is fetch, validate, plan, apply, status; [`validate()`] and [`plan()`] take values and
//! give values. Nothing is ever deleted because of an error.

mod apply;
mod context;
mod controller;
mod leaving;
mod looks;
mod news;
mod part;
mod plan;
mod reconcile;
mod sources;
mod status;
mod validate;

pub use controller::run;
pub use leaving::Leaving;
pub use looks::Looks;
pub use plan::{Facts, Plan, Problem, plan};
pub use validate::{Compiled, Invalid, refused_source, validate, validate_namespaces};
