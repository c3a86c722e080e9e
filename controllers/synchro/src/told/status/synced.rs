//! Whether what is asked for has been listed to its end, which scripts wait for: `kubectl wait --for=condition=Synced`. Pure.
//!
//! It stays so while a resource is listed anew, and while the member is away. What the member does not serve is not waited for: the row of the resource says so.

use std::sync::Arc;

use armadex_crds::ResourceSyncStatus;
use armadex_crds::conditions::{ClusterSyncedReason, ConditionStatus};
use armadex_model::ResourceType;

use crate::told::board::{Facts, Running, Validated};
use crate::told::report::Progress;
use crate::told::status::said::{Said, said};
use crate::told::tally::{Listing, percent};

/// Resources that are named of those that fail.
const NAMED: usize = 5;

/// What is said of it.
pub(super) fn synced(facts: &Facts, streams: &[(Arc<ResourceType>, Progress)]) -> Said {
    // While the object does not make sense its session may go on with what was asked for before.
    let is_asked_for = matches!(facts.validated, Validated::Unknown | Validated::Yes(_));
    let waiting = match (&facts.running, facts.planned.filter(|_| is_asked_for)) {
        (Running::Yes, Some(waiting)) => waiting,
        (Running::Yes, None) => {
            let words = "it is not known yet what is to be synced";
            return unknown(ClusterSyncedReason::Starting, words);
        }
        _ => {
            let words = "nobody syncs the cluster now";
            return unknown(ClusterSyncedReason::SynchroNotRunning, words);
        }
    };
    let all = streams.len() + waiting;
    let is = |listed| move |(_, progress): &&(_, Progress)| progress.tally.is_listed() == listed;
    let listed = streams.iter().filter(is(Some(true))).count();
    let failing = failing(streams);
    let words = format!("{listed} of {all} resources are listed to their end");
    if listed == all {
        return said(ConditionStatus::True, ClusterSyncedReason::Synced, words);
    }
    let words = words + &progress_of(streams) + &waits(waiting);
    if !failing.is_empty() {
        return said(
            ConditionStatus::False,
            ClusterSyncedReason::InitialListFailed,
            format!("{words}; failing: {}", a_few(&failing)),
        );
    }
    // A store that is read again says within a moment what it has.
    if waiting == 0 && streams.iter().filter(is(Some(false))).count() == 0 {
        return unknown(ClusterSyncedReason::Starting, words);
    }
    said(
        ConditionStatus::False,
        ClusterSyncedReason::InitialList,
        words,
    )
}

fn unknown(reason: ClusterSyncedReason, words: impl Into<String>) -> Said {
    said(ConditionStatus::Unknown, reason, words)
}

/// How much is there of what the member says that it has, of all resources of which it says so or that are listed.
fn progress_of(streams: &[(Arc<ResourceType>, Progress)]) -> String {
    let (mut there, mut all) = (0_u64, 0_u64);
    for (_, progress) in streams {
        let objects = progress.tally.objects().unwrap_or_default();
        let (has, of) = match (progress.tally.is_listed(), progress.listing) {
            (Some(true), _) => (objects, objects),
            (_, Some(Listing::Of { percent, objects })) => {
                (objects.saturating_mul(percent) / 100, objects)
            }
            _ => continue,
        };
        (there, all) = (there.saturating_add(has), all.saturating_add(of));
    }
    match all {
        0 => String::new(),
        all => format!(
            ", {} % of the objects that are known of",
            percent(there, all)
        ),
    }
}

fn waits(waiting: usize) -> String {
    match waiting {
        0 => String::new(),
        waiting => format!("; {waiting} wait, as many are new"),
    }
}

/// What has not been listed and fails, by name.
fn failing(streams: &[(Arc<ResourceType>, Progress)]) -> Vec<String> {
    let fails = |progress: &Progress| {
        progress.status == ResourceSyncStatus::Error && progress.tally.is_listed() != Some(true)
    };
    let failing = streams.iter().filter(|(_, progress)| fails(progress));
    let name = |(resource, _): &(Arc<ResourceType>, _)| {
        let (group, resource) = (&resource.gvr.group, &resource.gvr.resource);
        match group.as_str() {
            "" => resource.clone(),
            group => format!("{resource}.{group}"),
        }
    };
    failing.map(name).collect()
}

fn a_few(names: &[String]) -> String {
    let (named, rest) = names.split_at(names.len().min(NAMED));
    match rest.len() {
        0 => named.join(", "),
        rest => format!("{} and {rest} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use armadex_crds::conditions::ClusterSyncedReason as Reason;
    use jiff::Timestamp;

    use super::*;
    use crate::testing::named;
    use crate::told::report::Report;
    use crate::told::tally::Rows;

    fn stream(name: &str, is: impl Fn(&Report)) -> (Arc<ResourceType>, Progress) {
        let report = Report::new(Arc::default(), Timestamp::UNIX_EPOCH);
        is(&report);
        (Arc::new(named(name)), report.shown())
    }

    fn listed(name: &str, objects: u64) -> (Arc<ResourceType>, Progress) {
        stream(name, |report| report.opened(objects, Rows::Listed))
    }

    fn listing(name: &str, listed: u64, left: Option<u64>) -> (Arc<ResourceType>, Progress) {
        stream(name, |report| {
            report.opened(0, Rows::Others);
            report.listing();
            report.list_goes_on(listed, left);
        })
    }

    #[track_caller]
    fn check(
        planned: Option<usize>,
        streams: &[(Arc<ResourceType>, Progress)],
        expected: (ConditionStatus, Reason, &str),
    ) {
        let facts = Facts {
            running: Running::Yes,
            planned,
            ..Facts::default()
        };
        let said = synced(&facts, streams);
        let found = (said.status, said.reason.as_str(), said.message.as_str());
        assert_eq!(found, (expected.0, expected.1.as_str(), expected.2));
    }

    #[test]
    fn a_cluster_is_synced_when_all_that_is_asked_for_was_listed_to_its_end() {
        let all = [listed("pods", 9), listed("nodes", 1)];
        let words = "2 of 2 resources are listed to their end";
        check(
            Some(0),
            &all,
            (ConditionStatus::True, Reason::Synced, words),
        );
        let none = "0 of 0 resources are listed to their end";
        check(Some(0), &[], (ConditionStatus::True, Reason::Synced, none));
        let asked = "it is not known yet what is to be synced";
        check(
            None,
            &all,
            (ConditionStatus::Unknown, Reason::Starting, asked),
        );
        let words = "2 of 5 resources are listed to their end, 100 % of the objects that are known of; 3 wait, as many are new";
        check(
            Some(3),
            &all,
            (ConditionStatus::False, Reason::InitialList, words),
        );
    }

    #[test]
    fn how_far_first_lists_are_is_told_over_all_resources_that_tell() {
        let streams = [
            listed("nodes", 1_000),
            listing("pods", 500, Some(500)),
            listing("events", 500, None),
        ];
        let words =
            "1 of 3 resources are listed to their end, 75 % of the objects that are known of";
        check(
            Some(0),
            &streams,
            (ConditionStatus::False, Reason::InitialList, words),
        );
        let untold = [listing("events", 500, None)];
        let words = "0 of 1 resources are listed to their end";
        check(
            Some(0),
            &untold,
            (ConditionStatus::False, Reason::InitialList, words),
        );
    }

    #[test]
    fn what_fails_before_its_first_list_is_named_and_what_fails_after_it_is_no_reason() {
        let fails = |report: &Report| report.failed("forbidden".to_owned());
        let streams = [listed("nodes", 0), stream("pods", fails)];
        let words = "1 of 2 resources are listed to their end; failing: pods";
        check(
            Some(0),
            &streams,
            (ConditionStatus::False, Reason::InitialListFailed, words),
        );
        let later = stream("pods", |report| {
            report.opened(3, Rows::Listed);
            report.failed("refused".to_owned());
        });
        let words = "1 of 1 resources are listed to their end";
        check(
            Some(0),
            &[later],
            (ConditionStatus::True, Reason::Synced, words),
        );
    }

    #[test]
    fn a_cluster_whose_streams_begin_is_looked_at_and_one_that_is_listed_anew_stays_synced() {
        let opens = [stream("pods", |_| {})];
        let words = "0 of 1 resources are listed to their end";
        check(
            Some(0),
            &opens,
            (ConditionStatus::Unknown, Reason::Starting, words),
        );
        let anew = stream("pods", |report| {
            report.opened(3, Rows::Listed);
            report.listing();
            report.list_goes_on(500, Some(500));
        });
        let words = "1 of 1 resources are listed to their end";
        check(
            Some(0),
            &[anew],
            (ConditionStatus::True, Reason::Synced, words),
        );
    }

    #[test]
    fn what_is_asked_for_by_an_object_that_makes_no_sense_is_not_known() {
        let reason = armadex_crds::conditions::ClusterValidatedReason::InvalidSyncResources;
        let facts = Facts {
            running: Running::Yes,
            planned: Some(0),
            validated: Validated::No(reason, "why".to_owned()),
            ..Facts::default()
        };
        let said = synced(&facts, &[listed("pods", 3)]);
        assert_eq!(
            (said.status, said.reason.as_str()),
            (ConditionStatus::Unknown, "Starting")
        );
    }

    #[test]
    fn nobody_knows_of_a_cluster_that_nobody_syncs() {
        let said = synced(&Facts::default(), &[listed("pods", 3)]);
        assert_eq!(
            (said.status, said.reason.as_str()),
            (ConditionStatus::Unknown, "SynchroNotRunning")
        );
    }
}
