//! From PediaClusterLifecycles to PediaClusters: made when the creation condition holds, kept as
//! the template says, gone when the source object goes.
//!
//! A reconcile is fetch, validate, plan, record, apply, status; [`validate()`] and [`plan()`] take values and
//! give values. A PediaCluster that the lifecycle does not own is never touched, and nothing is
//! deleted because of an error.

mod added;
mod apply;
mod cluster;
mod compiled;
mod context;
mod controller;
mod looks;
mod named;
mod plan;
mod reconcile;
mod record;
mod references;
mod status;
mod validate;

pub use cluster::decode;
pub use controller::run;
pub use plan::{Facts, Planned, Step, plan};
pub use references::{Lookup, name_in, namespace_in};
pub use validate::{Compiled, validate};

use armadex_crds::conditions::LifecycleReason;

/// Why a lifecycle can't go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Something is being listed for the first time; that takes a moment and is not told.
    Listing,
    /// This; it is told.
    Because(Problem),
}

/// What stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// In one word.
    pub reason: LifecycleReason,
    /// In words.
    pub message: String,
    /// It may not be so the next time, though nothing changed that is watched.
    pub may_pass: bool,
}

impl Stop {
    /// Whether looking again may help.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Because(problem) if problem.may_pass)
    }

    pub(crate) fn because(reason: LifecycleReason, message: impl Into<String>) -> Self {
        Self::Because(Problem {
            reason,
            message: message.into(),
            may_pass: false,
        })
    }
}
