//! Status: from how a reconcile ended to the conditions of the lifecycle. Pure; the time is given.
//!
//! `Created` speaks while there is no PediaCluster, `Updating` while there is one.

use armadex_crds::{
    PediaClusterLifecycle, PediaClusterLifecycleStatus, ResolvedReference,
    conditions::{
        self, ConditionStatus, LifecycleCondition as Type, LifecycleReason as Reason, NewCondition,
    },
};
use armadex_policy::State;
use jiff::Timestamp;
use kube::runtime::events::EventType;

use crate::{Problem, Stop};

/// How a reconcile ended.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// The PediaCluster was created.
    Created,
    /// The PediaCluster is as the template says; what is told of that beside it.
    UpToDate(Option<String>),
    /// The PediaCluster was deleted, because its source goes.
    Deleted,
    /// Nothing was done, or it failed.
    Stopped(Stop),
}

/// The status after this, and the transitions to tell in Events. `exists`: there was a
/// PediaCluster of the lifecycle's own when it was looked at.
pub(crate) fn status(
    lifecycle: &PediaClusterLifecycle,
    exists: bool,
    references: Vec<ResolvedReference>,
    ended: &Ended,
    now: Timestamp,
) -> (PediaClusterLifecycleStatus, Vec<(NewCondition, EventType)>) {
    let mut status = lifecycle.status.clone().unwrap_or_default();
    if matches!(ended, Ended::Stopped(Stop::Listing)) {
        return (status, Vec::new());
    }
    status.observed_generation = lifecycle.metadata.generation;
    status.references = references;
    if matches!(ended, Ended::Deleted) {
        status.connection = None;
    }
    let created = conditions::find(&status.conditions, Type::Created.as_str())
        .is_some_and(|condition| condition.status == ConditionStatus::True.as_str());
    let told = told(exists, created, ended);
    if !told
        .iter()
        .any(|condition| condition.type_ == Type::Updating.as_str())
    {
        status
            .conditions
            .retain(|condition| condition.type_ != Type::Updating.as_str());
    }
    let mut transitions = Vec::new();
    for condition in told {
        let new = NewCondition {
            observed_generation: lifecycle.metadata.generation,
            ..condition
        };
        if conditions::set(&mut status.conditions, new.clone(), now) {
            let type_ = event_type(&new);
            transitions.push((new, type_));
        }
    }
    (status, transitions)
}

fn told(exists: bool, created: bool, ended: &Ended) -> Vec<NewCondition> {
    let existed = || {
        let message = "the PediaCluster was there".to_owned();
        condition(Type::Created, true, Reason::PediaClusterExisted, message)
    };
    match ended {
        Ended::Created => {
            let message = "the PediaCluster was created".to_owned();
            vec![condition(
                Type::Created,
                true,
                Reason::PediaClusterCreated,
                message,
            )]
        }
        Ended::Deleted => {
            let message = "the source is being deleted, and the PediaCluster was".to_owned();
            vec![condition(
                Type::Created,
                false,
                Reason::SourceResourceDeleting,
                message,
            )]
        }
        Ended::UpToDate(warning) => {
            let message = "the PediaCluster is as the template says";
            let message = match warning {
                Some(warning) => format!("{message}; {warning}"),
                None => message.to_owned(),
            };
            let updated = condition(Type::Updating, true, Reason::PediaClusterUpdated, message);
            if created {
                vec![updated]
            } else {
                vec![existed(), updated]
            }
        }
        Ended::Stopped(Stop::Because(Problem {
            reason, message, ..
        })) if exists => {
            let stopped = condition(Type::Updating, false, *reason, message.clone());
            if created {
                vec![stopped]
            } else {
                vec![existed(), stopped]
            }
        }
        Ended::Stopped(Stop::Because(Problem {
            reason, message, ..
        })) => {
            vec![condition(Type::Created, false, *reason, message.clone())]
        }
        Ended::Stopped(Stop::Listing) => Vec::new(),
    }
}

/// What passes by itself in the usual course of things.
const USUAL: [Reason; 3] = [
    Reason::WaitCreationCondition,
    Reason::SourceResourceDeleting,
    Reason::PediaClusterDeleting,
];

/// Whether a lifecycle does what it says, by its conditions.
pub(crate) fn state(lifecycle: &PediaClusterLifecycle) -> Option<State> {
    let conditions = &lifecycle.status.as_ref()?.conditions;
    armadex_policy::state(conditions, &USUAL.map(Reason::as_str), &[])
}

/// What passes by itself is no warning.
fn event_type(condition: &NewCondition) -> EventType {
    let is_usual = USUAL
        .iter()
        .any(|reason| reason.as_str() == condition.reason);
    if is_usual || condition.status == ConditionStatus::True {
        EventType::Normal
    } else {
        EventType::Warning
    }
}

fn condition(type_: Type, holds: bool, reason: Reason, message: String) -> NewCondition {
    NewCondition {
        type_: type_.into(),
        status: ConditionStatus::from(holds),
        reason: reason.into(),
        message,
        observed_generation: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(reason: Reason) -> Ended {
        Ended::Stopped(Stop::because(reason, "why"))
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    fn created_speaks_before_and_updating_after_the_cluster_exists() {
        let story = [
            (
                false,
                stopped(Reason::WaitCreationCondition),
                "Created=False WaitCreationCondition",
                1,
            ),
            (
                false,
                stopped(Reason::WaitCreationCondition),
                "Created=False WaitCreationCondition",
                0,
            ),
            (false, Ended::Created, "Created=True PediaClusterCreated", 1),
            (
                true,
                Ended::UpToDate(None),
                "Created=True PediaClusterCreated, Updating=True PediaClusterUpdated",
                1,
            ),
            (
                true,
                Ended::Stopped(Stop::Listing),
                "Created=True PediaClusterCreated, Updating=True PediaClusterUpdated",
                0,
            ),
            (
                true,
                stopped(Reason::ReferenceResourceNotFound),
                "Created=True PediaClusterCreated, Updating=False ReferenceResourceNotFound",
                1,
            ),
            (
                true,
                Ended::Deleted,
                "Created=False SourceResourceDeleting",
                1,
            ),
            (
                true,
                Ended::UpToDate(None),
                "Created=True PediaClusterExisted, Updating=True PediaClusterUpdated",
                2,
            ),
            (
                false,
                stopped(Reason::PediaClusterNotOwned),
                "Created=False PediaClusterNotOwned",
                1,
            ),
        ];
        let mut lifecycle = PediaClusterLifecycle::default();
        for (exists, ended, expected, transitions) in story {
            let now = Timestamp::UNIX_EPOCH;
            let (after, told) = status(&lifecycle, exists, Vec::new(), &ended, now);
            let line: Vec<String> = after
                .conditions
                .iter()
                .map(|c| format!("{}={} {}", c.type_, c.status, c.reason))
                .collect();
            assert_eq!(
                (line.join(", ").as_str(), told.len()),
                (expected, transitions)
            );
            lifecycle.status = Some(after);
        }
    }

    #[test]
    fn waiting_in_the_usual_course_is_no_warning() {
        let table = [
            (stopped(Reason::WaitCreationCondition), EventType::Normal),
            (stopped(Reason::SourceResourceDeleting), EventType::Normal),
            (stopped(Reason::PediaClusterNotOwned), EventType::Warning),
            (Ended::Created, EventType::Normal),
        ];
        for (ended, type_) in table {
            let lifecycle = PediaClusterLifecycle::default();
            let now = Timestamp::UNIX_EPOCH;
            assert_eq!(
                status(&lifecycle, false, Vec::new(), &ended, now).1[0].1,
                type_
            );
        }
    }
}
