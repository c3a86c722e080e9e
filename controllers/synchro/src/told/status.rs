//! From facts to the status of a PediaCluster, in Clusterpedia's words. Pure.

mod rows;
mod said;
mod synced;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use armadex_crds::conditions::{
    self, ClusterCondition, ClusterHealthyReason, ClusterReadyReason, ClusterValidatedReason,
    ConditionStatus, DEPRECATED_CLUSTER_CONDITION, NewCondition, ResourceSyncReason,
    SynchroRunningReason,
};
use armadex_crds::{
    ClusterAudit, GroupResourcesStatus, PediaClusterStatus, ResourceAudit, ResourceStatus,
    ResourceSyncCondition, ResourceSyncStatus,
};
use std::sync::Arc;

use armadex_model::{GroupVersionResource, ResourceType};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::incoming::convert::Converted;
use crate::session::plan::Missing;
use crate::told::board::{Facts, MemberHealth, Running, Validated};
use crate::told::report::Progress;
use crate::told::status::said::{Said, said};
use crate::told::status::synced::synced;
use crate::told::tally::{BEHIND, Listing};

/// Group and resource of a row that stands for several.
const REST: &str = "*";
const AROUND: &str =
    "by the proxy of the control plane, as the API server is not reached from here: ";
const UNDISCOVERED: &str = "what is synced goes on and nothing else begins, as the member does not say what it serves now: ";
const IN_LINE: &str = "the member waits to be asked what it serves: of those that take as long, or say as much, only a few are asked at the same time";

/// Which counts of what is stored a status has. They become others all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// Those that are told already, where there are any.
    Told,
    /// As they are now.
    Now,
}

/// Makes the status that follows `previous`; of resources what is told on is in `told`.
pub(crate) fn build(
    previous: &PediaClusterStatus,
    told: &[GroupResourcesStatus],
    facts: &Facts,
    (streams, counts): (&[(Arc<ResourceType>, Progress)], Counts),
    now: Timestamp,
) -> PediaClusterStatus {
    let mut list = previous.conditions.clone();
    list.retain(|condition| condition.type_ != DEPRECATED_CLUSTER_CONDITION);
    let set = |list: &mut Vec<Condition>, type_: ClusterCondition, said: Said| {
        let new = NewCondition {
            type_: type_.into(),
            status: said.status,
            reason: said.reason,
            message: said.message,
            observed_generation: facts.generation,
        };
        conditions::set(list, new, now);
    };
    if let Some(said) = validated(&facts.validated) {
        set(&mut list, ClusterCondition::Validated, said);
    }
    set(&mut list, ClusterCondition::SynchroRunning, running(facts));
    set(
        &mut list,
        ClusterCondition::ClusterHealthy,
        healthy(&facts.health),
    );
    let ready = ready(&list);
    set(&mut list, ClusterCondition::Ready, ready);
    set(&mut list, ClusterCondition::Synced, synced(facts, streams));
    list.sort_by_key(|condition| place_of(&condition.type_));
    let Resources {
        groups,
        objects,
        behind_since,
    } = sync_resources(told, facts, (streams, counts), now);
    PediaClusterStatus {
        observed_generation: facts.generation,
        apiserver: facts.apiserver.clone(),
        version: facts.version.clone(),
        identity: facts.identity,
        conditions: list,
        sync_resources: groups,
        sharding_name: facts.sharding_name.clone(),
        synchro: facts.synchro.clone(),
        objects: match counts {
            // The rows that have no room are counted in it as well, and do not say what was told of them.
            Counts::Told => previous.objects.or(objects),
            Counts::Now => objects,
        },
        behind_since,
        audit: facts.audit.clone().map(|audit| ClusterAudit {
            message: conditions::shortened(audit.message),
            ..audit
        }),
    }
}

/// Which conditions became another.
pub(crate) fn transitions(
    before: &PediaClusterStatus,
    now: &PediaClusterStatus,
) -> Vec<ClusterCondition> {
    let said = |status: &PediaClusterStatus, type_: ClusterCondition| {
        let found = conditions::find(&status.conditions, type_.as_str())?;
        Some((found.status.clone(), found.reason.clone()))
    };
    let mut all = ClusterCondition::ALL.to_vec();
    all.retain(|type_| said(now, *type_).is_some() && said(now, *type_) != said(before, *type_));
    all
}

/// Whether the status is the last one of a synchro that ended.
pub(crate) fn says_shutdown(status: &PediaClusterStatus) -> bool {
    let running = conditions::find(
        &status.conditions,
        ClusterCondition::SynchroRunning.as_str(),
    );
    running.is_some_and(|running| running.reason == SynchroRunningReason::Shutdown.as_str())
}

/// Conditions are shown in the order in which they depend on each other; those of others come last.
fn place_of(type_: &str) -> usize {
    let known = ClusterCondition::ALL;
    known
        .iter()
        .position(|known| known.as_str() == type_)
        .unwrap_or(known.len())
}

fn validated(validated: &Validated) -> Option<Said> {
    match validated {
        Validated::Unknown => None,
        Validated::Waits(reason, message) => Some(said(ConditionStatus::Unknown, *reason, message)),
        Validated::Yes(warning) => Some(said(
            ConditionStatus::True,
            ClusterValidatedReason::Validated,
            warning,
        )),
        Validated::No(reason, message) => Some(said(ConditionStatus::False, *reason, message)),
    }
}

fn running(facts: &Facts) -> Said {
    match (&facts.running, &facts.validated) {
        (Running::Waiting, Validated::No(reason, message)) => {
            said(ConditionStatus::False, *reason, message)
        }
        (Running::Waiting, Validated::Yes(_)) => said(
            ConditionStatus::False,
            SynchroRunningReason::WaitInit,
            in_line(facts).unwrap_or("pediacluster is validated"),
        ),
        (Running::Waiting, Validated::Waits(_, message)) => said(
            ConditionStatus::False,
            SynchroRunningReason::WaitInit,
            message,
        ),
        (Running::Waiting, Validated::Unknown) => {
            said(ConditionStatus::False, SynchroRunningReason::WaitInit, "")
        }
        (Running::Failed(message), _) => said(
            ConditionStatus::False,
            SynchroRunningReason::InitialFailed,
            // Why the last attempt failed stays: one that hangs waits after each.
            match in_line(facts) {
                Some(words) => format!("{message}; now {words}"),
                None => message.clone(),
            },
        ),
        (Running::Yes, _) => said(
            ConditionStatus::True,
            match facts.around {
                None => SynchroRunningReason::Running,
                Some(_) => SynchroRunningReason::RunningByControlPlane,
            },
            beside_running(facts),
        ),
        (Running::Shutdown, _) => said(ConditionStatus::False, SynchroRunningReason::Shutdown, ""),
    }
}

/// What the streams that run do not tell.
fn beside_running(facts: &Facts) -> String {
    let around = facts.around.as_ref();
    let around = around.map(|words| format!("{AROUND}{words}"));
    let undiscovered = facts.undiscovered.as_ref();
    let undiscovered = undiscovered.map(|words| format!("{UNDISCOVERED}{words}"));
    let in_line = in_line(facts).map(str::to_owned);
    let words: Vec<_> = around
        .into_iter()
        .chain(undiscovered)
        .chain(in_line)
        .collect();
    words.join("; now ")
}

fn in_line(facts: &Facts) -> Option<&'static str> {
    facts.in_line.then_some(IN_LINE)
}

fn healthy(health: &MemberHealth) -> Said {
    match health {
        MemberHealth::Unasked => said(
            ConditionStatus::Unknown,
            ClusterHealthyReason::MonitorStop,
            "wait cluster synchro",
        ),
        MemberHealth::Healthy(message) => said(
            ConditionStatus::True,
            ClusterHealthyReason::Healthy,
            message,
        ),
        MemberHealth::NotReachable(reason, message) => {
            said(ConditionStatus::False, *reason, message)
        }
    }
}

fn ready(list: &[Condition]) -> Said {
    let needed = [
        ClusterCondition::Validated,
        ClusterCondition::SynchroRunning,
        ClusterCondition::ClusterHealthy,
    ];
    for type_ in needed {
        let message = match conditions::find(list, type_.as_str()) {
            None => format!("{type_} condition is not found"),
            Some(found) if found.status == ConditionStatus::True.as_str() => continue,
            Some(found) => format!(
                "{type_} condition is {}, reason is {}",
                found.status, found.reason
            ),
        };
        return said(
            ConditionStatus::False,
            ClusterReadyReason::NotReady,
            message,
        );
    }
    said(ConditionStatus::True, ClusterReadyReason::Ready, "")
}

/// What is told of all resources.
struct Resources {
    groups: Vec<GroupResourcesStatus>,
    objects: Option<i64>,
    behind_since: Option<Time>,
}

fn sync_resources(
    told: &[GroupResourcesStatus],
    facts: &Facts,
    (streams, counts): (&[(Arc<ResourceType>, Progress)], Counts),
    now: Timestamp,
) -> Resources {
    // From when nobody follows it any more it is told of each how old it is, however new that is.
    let least = match facts.running {
        Running::Shutdown => Duration::ZERO,
        _ => BEHIND,
    };
    let mut groups: BTreeMap<&str, BTreeMap<&str, ResourceStatus>> = BTreeMap::new();
    for (resource, progress) in streams {
        let group = groups.entry(&resource.gvr.group).or_default();
        let known = group.entry(&resource.gvr.resource);
        // Two versions while one takes the place of the other.
        let conditions = &mut known.or_insert_with(|| of_type(resource)).sync_conditions;
        let of_stream = of_stream(told, resource, (progress, counts));
        conditions.push(ResourceSyncCondition {
            behind_since: progress.tally.behind_since(now, least).map(seconds),
            ..of_stream
        });
    }
    for missing in &facts.missing {
        let group = groups.entry(&missing.group).or_default();
        group
            .entry(&missing.resource)
            .or_insert_with(|| of_missing(told, missing, now));
    }
    let groups = groups
        .into_iter()
        .map(|(group, resources)| GroupResourcesStatus {
            group: group.to_owned(),
            resources: resources.into_values().collect(),
        });
    let mut groups = Vec::from_iter(groups);
    let resources = groups.iter().flat_map(|group| &group.resources);
    // Two versions of a resource are the same objects.
    let objects = resources.clone().filter_map(|resource| {
        let conditions = resource.sync_conditions.iter();
        conditions.filter_map(|condition| condition.objects).max()
    });
    let objects = objects.reduce(i64::saturating_add);
    let conditions = resources.flat_map(|resource| &resource.sync_conditions);
    let behind = conditions.filter_map(|condition| condition.behind_since.as_ref());
    let behind_since = behind.min_by_key(|time| time.0).cloned();
    let left_out = rows::leave_out_what_does_not_fit(&mut groups);
    groups.extend(left_out.words().map(|words| of_untold(told, words, now)));
    rows::shorten_messages(&mut groups);
    Resources {
        groups,
        objects,
        behind_since,
    }
}

fn of_type(resource: &ResourceType) -> ResourceStatus {
    ResourceStatus {
        name: resource.gvr.resource.clone(),
        kind: resource.kind.clone(),
        namespaced: resource.namespaced,
        sync_conditions: Vec::new(),
    }
}

fn of_stream(
    told: &[GroupResourcesStatus],
    resource: &ResourceType,
    (progress, counts): (&Progress, Counts),
) -> ResourceSyncCondition {
    let listing = [ResourceSyncStatus::Pending, ResourceSyncStatus::Syncing];
    let (sync_version, sync_resource) = of_another_group(resource, progress);
    let initial_list_phase = progress.initial_list && listing.contains(&progress.status);
    let percent = progress.listing.and_then(Listing::percent);
    let tally = &progress.tally;
    let (objects, bytes) = (tally.objects().map(number), tally.bytes().map(number));
    let last_event_time = tally.last_event().map(seconds);
    let before = condition_of(told, resource);
    let before = before.map(|told| (told.objects, told.bytes, told.last_event_time.clone()));
    let (told_objects, told_bytes, told_time) = before.unwrap_or_default();
    let (objects, bytes, last_event_time) = match counts {
        Counts::Now => (
            objects.or(told_objects),
            bytes.or(told_bytes),
            last_event_time.or(told_time),
        ),
        Counts::Told => (
            told_objects.or(objects),
            told_bytes.or(bytes),
            told_time.or(last_event_time),
        ),
    };
    ResourceSyncCondition {
        version: chosen_version(resource, progress).to_owned(),
        sync_version,
        sync_resource,
        storage_version: resource.gvr.version.clone(),
        storage_resource: String::new(),
        status: progress.status,
        reason: progress.reason.map(String::from).unwrap_or_default(),
        message: progress.message.clone(),
        initial_list_phase,
        initial_list_percent: percent
            .filter(|_| initial_list_phase)
            .and_then(|percent| i32::try_from(percent).ok()),
        objects,
        bytes,
        last_event_time,
        behind_since: None,
        last_transition_time: Time(progress.since),
        audit: audit(told, resource, progress),
    }
}

/// The version of its group that was chosen of what the member serves: the stored one where that is converted from another group.
fn chosen_version<'a>(resource: &'a ResourceType, progress: &'a Progress) -> &'a str {
    match served(progress).filter(|served| served.group == resource.gvr.group) {
        Some(served) => &served.version,
        None => &resource.gvr.version,
    }
}

/// Version and resource of another group that are watched, as Clusterpedia tells of them; empty where none are.
fn of_another_group(resource: &ResourceType, progress: &Progress) -> (String, String) {
    match served(progress).filter(|served| served.group != resource.gvr.group) {
        Some(served) => {
            let watched = format!("{}.{}", served.resource, served.group);
            (served.version.clone(), watched)
        }
        None => Default::default(),
    }
}

/// What the member serves instead of the stored version.
fn served(progress: &Progress) -> Option<&GroupVersionResource> {
    let converted = progress.converted.as_deref();
    converted.map(Converted::served)
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A status has no parts of seconds.
fn seconds(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}

/// What was told of the resource as it is stored: what is stored in two versions may be read from the same one.
fn condition_of<'a>(
    told: &'a [GroupResourcesStatus],
    resource: &ResourceType,
) -> Option<&'a ResourceSyncCondition> {
    let (group, name) = (&resource.gvr.group, &resource.gvr.resource);
    let is_it = |condition: &&ResourceSyncCondition| {
        let stored = match condition.storage_version.as_str() {
            "" => &condition.version,
            stored => stored,
        };
        stored == resource.gvr.version
    };
    conditions_of(told, group, name).find(is_it)
}

/// The last audit, whichever process made it. When a copy was proved last is told as well after an audit that could not prove it.
fn audit(
    told: &[GroupResourcesStatus],
    resource: &ResourceType,
    progress: &Progress,
) -> Option<ResourceAudit> {
    let before = condition_of(told, resource).and_then(|condition| condition.audit.clone());
    let Some(now) = progress.audit.clone() else {
        return before;
    };
    let proved_before = before.and_then(|before| before.proved_time);
    Some(ResourceAudit {
        proved_time: now.proved_time.clone().or(proved_before),
        ..now
    })
}

fn of_missing(told: &[GroupResourcesStatus], missing: &Missing, now: Timestamp) -> ResourceStatus {
    let status = ResourceSyncStatus::Error;
    let before = since(told, (&missing.group, &missing.resource), status);
    let condition = ResourceSyncCondition {
        version: missing.version.clone(),
        reason: ResourceSyncReason::ResourceNotServed.into(),
        message: missing.why.clone(),
        ..of_nothing(status, before.unwrap_or(Time(now)))
    };
    unsynced(&missing.resource, condition)
}

/// The last row, of all that has none.
fn of_untold(told: &[GroupResourcesStatus], words: String, now: Timestamp) -> GroupResourcesStatus {
    let status = ResourceSyncStatus::Unknown;
    let before = since(told, (REST, REST), status);
    let condition = ResourceSyncCondition {
        message: words,
        ..of_nothing(status, before.unwrap_or(Time(now)))
    };
    GroupResourcesStatus {
        group: REST.to_owned(),
        resources: vec![unsynced(REST, condition)],
    }
}

fn of_nothing(status: ResourceSyncStatus, since: Time) -> ResourceSyncCondition {
    ResourceSyncCondition {
        version: String::new(),
        sync_version: String::new(),
        sync_resource: String::new(),
        storage_version: String::new(),
        storage_resource: String::new(),
        status,
        reason: String::new(),
        message: String::new(),
        initial_list_phase: false,
        initial_list_percent: None,
        objects: None,
        bytes: None,
        last_event_time: None,
        behind_since: None,
        last_transition_time: since,
        audit: None,
    }
}

fn unsynced(resource: &str, condition: ResourceSyncCondition) -> ResourceStatus {
    ResourceStatus {
        name: resource.to_owned(),
        kind: String::new(),
        namespaced: false,
        sync_conditions: vec![condition],
    }
}

/// Since when the row of a resource has this status, if it had it before.
fn since<'a>(
    told: &'a [GroupResourcesStatus],
    (group, resource): (&'a str, &'a str),
    status: ResourceSyncStatus,
) -> Option<Time> {
    conditions_of(told, group, resource)
        .find(|condition| condition.status == status)
        .map(|condition| condition.last_transition_time.clone())
}

fn conditions_of<'a>(
    told: &'a [GroupResourcesStatus],
    group: &str,
    resource: &str,
) -> impl Iterator<Item = &'a ResourceSyncCondition> {
    let groups = told.iter().filter(move |known| known.group == group);
    groups
        .flat_map(|known| &known.resources)
        .filter(move |known| known.name == resource)
        .flat_map(|known| &known.sync_conditions)
}
