//! Status: from what happened to the conditions of the policy. Pure; the time is given.

use std::{collections::BTreeSet, sync::Arc};

use armadex_control_plane::Trouble;
use armadex_crds::{
    ClusterImportPolicy, ClusterImportPolicyStatus,
    conditions::{
        self, ConditionStatus, NewCondition, PolicyCondition, PolicyValidatedReason,
        ReconcilingReason,
    },
};
use armadex_policy::{Readiness, ResolveError, State};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::runtime::events::EventType;

use crate::{
    Invalid, Plan, Problem,
    apply::Done,
    news::{Aside, Totals},
};

/// Problems that a message names, or lifecycles that went; the rest are counted.
const NAMED: usize = 3;

/// How a reconcile ended.
#[derive(Debug)]
pub(crate) enum Conclusion {
    /// A template is wrong.
    Invalid(Invalid),
    /// A resource can't be used (yet).
    Unresolved(PolicyValidatedReason, ResolveError),
    /// Source objects are not known (yet).
    NotListed(Readiness),
    /// The plan was carried out, as far as there were no problems.
    Done(Summary),
    /// The policy is being deleted, and lifecycles of it are not yet.
    Going(Remaining),
}

/// What is still to be deleted of a policy that goes.
#[derive(Debug)]
pub(crate) struct Remaining {
    /// How many there are at least.
    pub(crate) lifecycles: usize,
    /// What stands in the way.
    pub(crate) problems: Vec<Problem>,
    /// Lifecycles that are gone, and why.
    pub(crate) gone: Vec<String>,
}

/// A plan that was carried out.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    objects: usize,
    lifecycles: usize,
    problems: Vec<Problem>,
    troubled: BTreeSet<String>,
    /// What was tried and failed.
    failures: Vec<Problem>,
    /// Lifecycles that are gone, and why.
    gone: Vec<String>,
    /// Changes that were carried out.
    carried: usize,
    /// Changes that are still to be tried.
    left: usize,
    stale: Option<Trouble>,
}

impl Summary {
    /// `stale`: the source objects are those that were last known, because of this.
    pub(crate) fn new(objects: usize, plan: Plan, done: Done, stale: Option<Trouble>) -> Self {
        let Plan {
            problems,
            troubled,
            wanted,
            ..
        } = plan;
        let Done {
            failures,
            gone,
            carried,
            left,
            ..
        } = done;
        Self {
            objects,
            lifecycles: wanted,
            problems,
            troubled,
            failures,
            gone,
            carried,
            left,
            stale,
        }
    }

    /// How many there are, if that and a few problems that wait for an edit or for a name are all there is to say.
    pub(crate) fn totals(&self) -> Option<Totals> {
        let is_few = self.problems.len().max(self.troubled.len()) <= Aside::MOST;
        (is_few && self.has_settled()).then(|| Totals {
            objects: self.objects,
            lifecycles: self.lifecycles,
            aside: Arc::new(Aside {
                problems: self.problems.clone(),
                names: self.troubled.clone(),
            }),
        })
    }

    /// Whether nothing is wrong but what waits for an edit or for a name: until one of them comes, nothing but what changes is worth a look.
    pub(crate) fn has_settled(&self) -> bool {
        self.failures.is_empty() && self.left == 0 && self.stale.is_none()
    }

    /// Whether trying again may help.
    pub(crate) fn may_improve(&self) -> bool {
        self.left > 0 || self.some_may_pass()
    }

    /// Whether nothing but time was wanting.
    pub(crate) fn goes_on(&self) -> bool {
        self.carried > 0 && self.left > 0 && !self.some_may_pass()
    }

    fn some_may_pass(&self) -> bool {
        let mut all = self.problems.iter().chain(&self.failures);
        all.any(|problem| problem.may_pass)
    }
}

/// Whether a policy does what it says, by its conditions. A source object or a lifecycle that something is wrong with takes nothing from the others.
pub(crate) fn state(policy: &ClusterImportPolicy) -> Option<State> {
    let usual = [
        ReconcilingReason::WaitResourceSynced,
        ReconcilingReason::ReconcileContinues,
    ];
    let conditions = &policy.status.as_ref()?.conditions;
    let part = [ReconcilingReason::FailedReconcile.as_str()];
    armadex_policy::state(conditions, &usual.map(ReconcilingReason::as_str), &part)
}

/// The status after this conclusion, and the transitions to tell in Events.
pub(crate) fn status(
    policy: &ClusterImportPolicy,
    conclusion: &Conclusion,
    now: Timestamp,
) -> (ClusterImportPolicyStatus, Vec<(NewCondition, EventType)>) {
    let mut status = policy.status.clone().unwrap_or_default();
    status.observed_generation = policy.metadata.generation;
    let mut transitions = Vec::new();
    for (condition, type_) in told(conclusion, &status) {
        let new = NewCondition {
            observed_generation: policy.metadata.generation,
            ..condition
        };
        let is_more = names_more(conclusion, &new, &status.conditions);
        if conditions::set(&mut status.conditions, new.clone(), now) || is_more {
            transitions.push((new, type_));
        }
    }
    (status, transitions)
}

/// Whether a condition names a problem that it did not name before, under whatever reason: an Event is due for that as well.
fn names_more(conclusion: &Conclusion, new: &NewCondition, before: &[Condition]) -> bool {
    let (problems, failures): (&[Problem], &[Problem]) = match conclusion {
        Conclusion::Done(summary) => (&summary.problems, &summary.failures),
        Conclusion::Going(remaining) => (&[], &remaining.problems),
        Conclusion::Invalid(_) | Conclusion::Unresolved(..) | Conclusion::NotListed(_) => {
            return false;
        }
    };
    let Some(before) = conditions::find(before, &new.type_) else {
        return false;
    };
    // Of one that is cut off nobody knows whether it was named.
    let told = conditions::shortened(new.message.clone());
    let is_told = |problem: &&Problem| told.contains(&in_words(problem));
    let mut problems = problems.iter().take(NAMED);
    let failures = failures.iter().take(NAMED - problems.len());
    problems.any(|problem| is_told(&problem) && !before.message.contains(&in_words(problem)))
        || failures
            .filter(is_told)
            .any(|failure| !tells_of(&before.message, failure))
}

/// Whether a message tells of such a failure, of whatever lifecycle: which of them are tried, where all would fail, is chance.
fn tells_of(message: &str, failure: &Problem) -> bool {
    let name = failure.subject.rsplit(' ').next().unwrap_or_default();
    let mut others = failure.message.split(name);
    others.all(|words| message.contains(words))
}

/// What is to be told of lifecycles that are gone, in one Event for all of a look. No condition says it: they are not the policy's any more.
pub(crate) fn departures(conclusion: &Conclusion) -> Option<NewCondition> {
    let gone = match conclusion {
        Conclusion::Done(summary) => &summary.gone,
        Conclusion::Going(remaining) => &remaining.gone,
        Conclusion::Invalid(_) | Conclusion::Unresolved(..) | Conclusion::NotListed(_) => {
            return None;
        }
    };
    let words = (!gone.is_empty()).then(|| first_of(gone.len(), gone.iter().cloned()))?;
    let reason = ReconcilingReason::LifecyclesDeleted;
    Some(reconciled(true, reason, format!("deleted {words}")))
}

fn told(
    conclusion: &Conclusion,
    before: &ClusterImportPolicyStatus,
) -> Vec<(NewCondition, EventType)> {
    match conclusion {
        Conclusion::Invalid(Invalid {
            reason, message, ..
        }) => not_valid(*reason, message.clone()),
        Conclusion::Unresolved(reason, error) => not_valid(*reason, error.to_string()),
        Conclusion::NotListed(readiness) => not_listed(readiness, before),
        Conclusion::Done(summary) => vec![valid(), reconciling(summary)],
        Conclusion::Going(remaining) => vec![going(remaining)],
    }
}

fn valid() -> (NewCondition, EventType) {
    let message = "templates and resources are understood".to_owned();
    (
        validated(true, PolicyValidatedReason::Success, message),
        EventType::Normal,
    )
}

fn not_valid(reason: PolicyValidatedReason, message: String) -> Vec<(NewCondition, EventType)> {
    let kept = "the policy is not valid; its lifecycles stay as they are".to_owned();
    vec![
        (validated(false, reason, message), EventType::Warning),
        (
            reconciled(false, ReconcilingReason::PolicyNotValidated, kept),
            EventType::Normal,
        ),
    ]
}

/// A first list takes a moment; a policy that has been followed before says nothing of it.
fn not_listed(
    readiness: &Readiness,
    before: &ClusterImportPolicyStatus,
) -> Vec<(NewCondition, EventType)> {
    let followed = |condition: &&Condition| {
        condition.type_ == PolicyCondition::Reconciling.as_str()
            && condition.reason != ReconcilingReason::PolicyNotValidated.as_str()
    };
    let reconciling = match readiness {
        Readiness::Failing(trouble) => {
            let message = format!("source objects can't be listed: {trouble}");
            (
                reconciled(false, ReconcilingReason::FailedCheckResourceSync, message),
                EventType::Warning,
            )
        }
        _ if before
            .conditions
            .iter()
            .any(|condition| followed(&condition)) =>
        {
            return vec![valid()];
        }
        _ => {
            let message = "source objects are being listed".to_owned();
            (
                reconciled(false, ReconcilingReason::WaitResourceSynced, message),
                EventType::Normal,
            )
        }
    };
    vec![valid(), reconciling]
}

fn reconciling(summary: &Summary) -> (NewCondition, EventType) {
    let Summary {
        objects,
        lifecycles,
        problems,
        failures,
        left,
        stale,
        troubled: _,
        gone: _,
        carried: _,
    } = summary;
    let all = problems.len() + failures.len();
    let mut counts = format!("{lifecycles} lifecycles from {objects} source objects");
    if *left > 0 {
        counts = format!("{left} changes are left for the next look, which follows; {counts}");
    }
    if let Some(trouble) = stale {
        let message = format!(
            "source objects can't be followed: {trouble}; what was last known stays: {counts}"
        );
        let reason = ReconcilingReason::FailedCheckResourceSync;
        return (reconciled(false, reason, message), EventType::Warning);
    }
    if all == 0 && *left > 0 {
        let reason = ReconcilingReason::ReconcileContinues;
        return (reconciled(false, reason, counts), EventType::Normal);
    }
    if all == 0 {
        let reason = ReconcilingReason::ReconcileSourceResourceAndLifecycle;
        return (reconciled(true, reason, counts), EventType::Normal);
    }
    failed(all, problems.iter().chain(failures), &counts)
}

fn going(
    Remaining {
        lifecycles,
        problems,
        gone: _,
    }: &Remaining,
) -> (NewCondition, EventType) {
    let counts = format!(
        "the policy is being deleted, which waits for {lifecycles} lifecycles that are still to be"
    );
    if problems.is_empty() {
        let reason = ReconcilingReason::ReconcileContinues;
        return (reconciled(false, reason, counts), EventType::Normal);
    }
    failed(problems.len(), problems.iter(), &counts)
}

/// A few of the problems, and how many more there are.
fn failed<'p>(
    all: usize,
    problems: impl Iterator<Item = &'p Problem>,
    counts: &str,
) -> (NewCondition, EventType) {
    let named = first_of(all, problems.map(in_words));
    let message = format!("{named}; {counts}");
    (
        reconciled(false, ReconcilingReason::FailedReconcile, message),
        EventType::Warning,
    )
}

fn in_words(problem: &Problem) -> String {
    let Problem {
        subject, message, ..
    } = problem;
    format!("{subject}: {message}")
}

/// The first of so many; the rest are counted.
fn first_of(all: usize, words: impl Iterator<Item = String>) -> String {
    let named = Vec::from_iter(words.take(NAMED)).join("; ");
    match all.saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

fn validated(holds: bool, reason: PolicyValidatedReason, message: String) -> NewCondition {
    condition(PolicyCondition::Validated, holds, reason.into(), message)
}

fn reconciled(holds: bool, reason: ReconcilingReason, message: String) -> NewCondition {
    condition(PolicyCondition::Reconciling, holds, reason.into(), message)
}

fn condition(type_: PolicyCondition, holds: bool, reason: String, message: String) -> NewCondition {
    NewCondition {
        type_: type_.into(),
        status: ConditionStatus::from(holds),
        reason,
        message,
        observed_generation: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(policy: &ClusterImportPolicy, conclusion: &Conclusion) -> (Vec<String>, usize) {
        let (status, transitions) = status(policy, conclusion, Timestamp::UNIX_EPOCH);
        let line = |condition: &Condition| {
            let generation = condition.observed_generation.unwrap_or_default();
            let (type_, status) = (&condition.type_, &condition.status);
            format!(
                "{type_}={status} {} @{generation}: {}",
                condition.reason, condition.message
            )
        };
        (
            status.conditions.iter().map(line).collect(),
            transitions.len(),
        )
    }

    fn problem(subject: &str) -> Problem {
        Problem {
            subject: subject.into(),
            message: "m".into(),
            may_pass: true,
        }
    }

    fn policy() -> ClusterImportPolicy {
        let mut policy = ClusterImportPolicy::default();
        policy.metadata.generation = Some(7);
        policy
    }

    #[test]
    fn every_outcome_is_told_in_words() {
        let invalid = Invalid {
            reason: PolicyValidatedReason::InvalidPolicy,
            message: "broken".into(),
            may_pass: false,
        };
        let problems = vec![problem("a"), problem("b"), problem("c"), problem("d")];
        let valid = "Validated=True Success @7: templates and resources are understood";
        let table = [
            (
                Conclusion::Invalid(invalid),
                "Validated=False InvalaidPolicy @7: broken",
                "Reconciling=False PolicyNotValidated @7: the policy is not valid; its lifecycles stay as they are",
            ),
            (
                Conclusion::Unresolved(
                    PolicyValidatedReason::FailedNegotiateSourceResource,
                    ResolveError::NotServed("clusters.x".into()),
                ),
                "Validated=False FailedNegotiateSourceResource @7: the control plane does not serve clusters.x",
                "Reconciling=False PolicyNotValidated @7: the policy is not valid; its lifecycles stay as they are",
            ),
            (
                Conclusion::NotListed(Readiness::Failing(Trouble::unavailable("down"))),
                valid,
                "Reconciling=False FailedCheckResourceSync @7: source objects can't be listed: down",
            ),
            (
                Conclusion::NotListed(Readiness::Listing),
                valid,
                "Reconciling=False WaitResourceSynced @7: source objects are being listed",
            ),
            (
                Conclusion::Done(Summary {
                    objects: 3,
                    lifecycles: 2,
                    problems: vec![],
                    left: 0,
                    ..Summary::default()
                }),
                valid,
                "Reconciling=True ReconcileSourceResourceAndLifecycle @7: 2 lifecycles from 3 source objects",
            ),
            (
                Conclusion::Done(Summary {
                    objects: 4,
                    lifecycles: 0,
                    problems,
                    left: 0,
                    ..Summary::default()
                }),
                valid,
                "Reconciling=False FailedReconcile @7: a: m; b: m; c: m; and 1 more; 0 lifecycles from 4 source objects",
            ),
        ];
        for (conclusion, validated, reconciling) in table {
            let (lines, transitions) = told(&policy(), &conclusion);
            assert_eq!(lines, [validated, reconciling]);
            assert_eq!(transitions, 2);
        }
    }

    #[test]
    fn a_restart_says_nothing_while_it_lists() {
        let mut policy = policy();
        let done = Conclusion::Done(Summary {
            objects: 1,
            lifecycles: 1,
            problems: vec![],
            left: 0,
            ..Summary::default()
        });
        policy.status = Some(status(&policy, &done, Timestamp::UNIX_EPOCH).0);
        let (after, transitions) = status(
            &policy,
            &Conclusion::NotListed(Readiness::Listing),
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!((Some(after), transitions.len()), (policy.status, 0));
    }

    fn done(problems: &[Problem], gone: &[&str]) -> Conclusion {
        Conclusion::Done(Summary {
            problems: problems.to_vec(),
            gone: gone.iter().map(|&gone| gone.to_owned()).collect(),
            ..Summary::default()
        })
    }

    #[test]
    fn each_problem_that_a_condition_names_anew_is_an_event_and_one_that_it_named_is_none() {
        let mut policy = policy();
        let long = problem(&"x".repeat(conditions::MESSAGE_LIMIT));
        let [a, b, c, d] = ["a", "b", "c", "d"].map(problem);
        for (problems, expected) in [
            (vec![a.clone()], 2),
            (vec![a.clone()], 0),
            (vec![a.clone(), b.clone()], 1),
            (vec![b.clone()], 0),
            (vec![c.clone()], 1),
            (vec![c.clone(), a.clone(), b.clone(), d.clone()], 1),
            (vec![c.clone(), a.clone(), b.clone()], 0),
            // What is cut off is counted, as what comes after the third.
            (vec![a.clone(), long.clone()], 0),
            (vec![a, long, b], 0),
            (vec![], 1),
        ] {
            let (status, transitions) =
                status(&policy, &done(&problems, &[]), Timestamp::UNIX_EPOCH);
            assert_eq!(transitions.len(), expected, "{problems:?}");
            policy.status = Some(status);
        }
    }

    fn failure(name: &str, message: &str) -> Problem {
        Problem {
            subject: format!("PediaClusterLifecycle {name}"),
            message: format!("could not be deleted: {message}"),
            may_pass: true,
        }
    }

    #[test]
    fn what_fails_for_others_each_time_is_one_event_and_another_trouble_is_one_too() {
        let down = |name| failure(name, "the webhook a.b does not answer");
        let denied = |name| {
            let message = format!("pediaclusterlifecycles \"{name}\" is forbidden: a.b denies it");
            failure(name, &message)
        };
        let done = |failures: Vec<Problem>| {
            Conclusion::Done(Summary {
                failures,
                ..Summary::default()
            })
        };
        let going = |problems: Vec<Problem>| {
            Conclusion::Going(Remaining {
                lifecycles: 9,
                problems,
                gone: Vec::new(),
            })
        };
        for conclusion in [&done as &dyn Fn(Vec<Problem>) -> Conclusion, &going] {
            let mut policy = policy();
            for (failures, expected) in [
                (vec![down("east")], 1),
                (vec![down("north"), down("south")], 0),
                (vec![denied("west")], 1),
                (vec![denied("east"), denied("north")], 0),
                (vec![denied("east"), down("north")], 1),
            ] {
                let told = status(
                    &policy,
                    &conclusion(failures.clone()),
                    Timestamp::UNIX_EPOCH,
                );
                let is_of_it = |(new, _): &&(NewCondition, EventType)| {
                    new.type_ == PolicyCondition::Reconciling.as_str()
                };
                assert_eq!(
                    told.1.iter().filter(is_of_it).count(),
                    expected,
                    "{failures:?}"
                );
                policy.status = Some(told.0);
            }
        }
    }

    #[test]
    fn lifecycles_that_went_are_one_event_of_a_look_however_many_they_are() {
        let told = |gone: &[&str]| departures(&done(&[], gone)).map(|told| told.message);
        assert_eq!(told(&[]), None);
        assert_eq!(told(&["a: it wilts"]).unwrap(), "deleted a: it wilts");
        assert_eq!(
            told(&["a", "b", "c", "d", "e"]).unwrap(),
            "deleted a; b; c; and 2 more"
        );
    }

    #[test]
    fn what_is_not_done_yet_is_no_failure() {
        let conclusion = |problems| {
            Conclusion::Done(Summary {
                objects: 5000,
                lifecycles: 5000,
                problems,
                left: 3900,
                ..Summary::default()
            })
        };
        let left = "3900 changes are left for the next look, which follows; 5000 lifecycles from 5000 source objects";
        assert_eq!(
            told(&policy(), &conclusion(vec![])).0[1],
            format!("Reconciling=False ReconcileContinues @7: {left}")
        );
        assert_eq!(
            told(&policy(), &conclusion(vec![problem("a")])).0[1],
            format!("Reconciling=False FailedReconcile @7: a: m; {left}")
        );
        let (_, transitions) = status(&policy(), &conclusion(vec![]), Timestamp::UNIX_EPOCH);
        let mut types = transitions.iter().map(|(_, type_)| *type_);
        assert!(types.all(|type_| type_ == EventType::Normal));
    }
}
