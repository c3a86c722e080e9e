//! The words of all conditions, as users see them in columns and `kubectl wait`, and the one way
//! to set a condition.
//!
//! Types and reasons are API: those of Clusterpedia are spelled as it spells them, mistakes
//! included, because scripts wait for them. Those that are ours are grouped under "ours".

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// The longest message that is kept, in bytes as JSON writes it; the API allows 32768 characters, a screen far less.
pub const MESSAGE_LIMIT: usize = 1024;
/// What tells that a message was cut.
const CUT: &str = "...";

/// A closed set of words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident $(= $text:literal)?,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// Every word of the set.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word as users see it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => words!(@text $variant $($text)?),)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> String {
                word.as_str().to_owned()
            }
        }
    };
    (@text $variant:ident) => { stringify!($variant) };
    (@text $variant:ident $text:literal) => { $text };
}

words! {
    /// Status of a condition.
    ConditionStatus {
        /// It is so.
        True,
        /// It is not so.
        False,
        /// Nobody knows.
        Unknown,
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

words! {
    /// Condition types of a PediaCluster.
    ClusterCondition {
        /// The spec makes sense.
        Validated,
        /// Something syncs it.
        SynchroRunning,
        /// The member answers its health probe.
        ClusterHealthy,
        /// All of the above.
        Ready,
        /// Ours: what is asked for has been listed to its end, so what is not found is not there.
        Synced,
    }
}

/// A condition type of old releases; removed from every status that is written.
pub const DEPRECATED_CLUSTER_CONDITION: &str = "ClusterSynchroInitialized";

words! {
    /// Reasons of `Validated` on a PediaCluster.
    ClusterValidatedReason {
        /// The spec makes sense.
        Validated,
        /// No connection can be made from the spec.
        InvalidConfig,
        /// `syncResources`, or the list that is referred to, can't be used.
        InvalidSyncResources,
        /// Ours: a credential of a Secret may not be sent where the spec says.
        CredentialNotBound,
        /// Ours: it is not known yet whether a policy rendered the connection.
        WaitLifecycles,
        /// Ours: the list that is referred to is not known yet.
        WaitSyncResources,
    }
}

words! {
    /// Reasons of `SynchroRunning`; while a spec is invalid it carries the reason of `Validated`.
    SynchroRunningReason {
        /// Valid, not started yet.
        WaitInit,
        /// It could not be started.
        InitialFailed,
        /// Made, not started yet.
        Pending,
        /// It runs.
        Running,
        /// Ours: it runs, by the proxy of the control plane; the message says why not straight.
        RunningByControlPlane,
        /// It was stopped.
        Shutdown,
    }
}

words! {
    /// Reasons of `ClusterHealthy`.
    ClusterHealthyReason {
        /// Nobody probes.
        MonitorStop,
        /// The probe was answered well.
        Healthy,
        /// The probe failed.
        NotReachable,
        /// The probe was answered, but not well.
        Unhealthy,
        /// Ours: its API server is not reached, and the control plane is asked for as many others as may be.
        TooManyByControlPlane,
    }
}

words! {
    /// Reasons of `Ready`.
    ClusterReadyReason {
        /// Validated, running and healthy.
        Ready,
        /// One of these is missing; the message says which.
        NotReady,
    }
}

words! {
    /// Reasons of `Synced`, which is ours.
    ClusterSyncedReason {
        /// Every resource that is synced has been listed to its end.
        Synced,
        /// Some have not; the message says how far they are.
        InitialList,
        /// Some have not, and fail; the message names them.
        InitialListFailed,
        /// What is stored is being looked at.
        Starting,
        /// Nobody syncs the cluster.
        SynchroNotRunning,
    }
}

words! {
    /// Reasons of a resource's sync condition; often there is none.
    ResourceSyncReason {
        /// Chosen, not made yet.
        SynchroCreating,
        /// It could not be made.
        SynchroCreateFailed,
        /// The list or the watch failed, or the credential may not do it; the message has the member's words.
        ResourceWatchFailed,
        /// Stopped while the cluster is not healthy.
        Pause,
        /// Stopped while the store fails. The spelling is Clusterpedia's.
        StorageException = "StorageExpection",
        /// No longer in the spec.
        SynchroRemoved,
        /// Rows of a removed resource could not be deleted.
        CleanResourceFailed,
        /// In the status, but nobody looks after it.
        ResourceSynchroNotFound,
        /// Ours: the member does not serve it.
        ResourceNotServed,
        /// Ours: it goes on, but an object was left out; the message names it.
        ObjectSkipped,
        /// Ours: the cluster has as many objects in the store as it may; the message says how many.
        TooManyObjects,
    }
}

words! {
    /// Condition types of a ClusterImportPolicy.
    PolicyCondition {
        /// Templates and resources are understood.
        Validated,
        /// Source objects are turned into lifecycles.
        Reconciling,
    }
}

words! {
    /// Reasons of `Validated` on a ClusterImportPolicy.
    PolicyValidatedReason {
        /// All is understood.
        Success,
        /// `nameTemplate` is wrong.
        FailedParseLifecycleName,
        /// `source.selectorTemplate` is wrong.
        FailedParseSourceSelector,
        /// Another template is wrong. The spelling is Clusterpedia's.
        InvalidPolicy = "InvalaidPolicy",
        /// The source's API is not there, or not in a version that may be used.
        FailedNegotiateSourceResource,
        /// The same of a reference.
        FailedNegotiateReferenceResource,
    }
}

words! {
    /// Reasons of `Reconciling`.
    ReconcilingReason {
        /// Source objects can't be read; the message says why.
        FailedCheckResourceSync,
        /// Source objects are being listed for the first time.
        WaitResourceSynced,
        /// Some source objects could not be turned into lifecycles.
        FailedReconcile,
        /// All is as the policy says.
        ReconcileSourceResourceAndLifecycle,
        /// Ours: nothing failed, and not all changes are made yet; the message says how many are left.
        ReconcileContinues,
        /// Ours: not tried, because the policy is not valid.
        PolicyNotValidated,
        /// Ours, of Events alone: lifecycles were deleted; the message says which, and what has become of their source objects.
        LifecyclesDeleted,
    }
}

words! {
    /// Condition types of a PediaClusterLifecycle.
    LifecycleCondition {
        /// The PediaCluster exists.
        Created,
        /// The PediaCluster is kept as the template says.
        Updating,
    }
}

words! {
    /// Reasons of `Created` and `Updating`.
    LifecycleReason {
        /// The PediaCluster was there.
        PediaClusterExisted,
        /// No ClusterImportPolicy controls the lifecycle.
        OrphanLifecycle,
        /// Source or references are being listed, or can't be read.
        WaitDependentResourceSynced,
        /// The source object is gone.
        SourceResourceNotFound,
        /// Namespace or name of a reference could not be rendered, or is empty.
        FailedReferenceResourceParse,
        /// A referenced object does not exist.
        ReferenceResourceNotFound,
        /// The creation condition does not say `true`.
        WaitCreationCondition,
        /// The template does not render to a PediaCluster.
        FailedResolveAndDecodePediaCluster,
        /// The PediaCluster can't be owned.
        FailedSetOwner,
        /// The PediaCluster could not be created.
        CreationFailure,
        /// The PediaCluster was created.
        PediaClusterCreated,
        /// The PediaCluster is as the template says.
        PediaClusterUpdated,
        /// The PediaCluster could not be changed.
        FailedPatchPediaCluster,
        /// Ours: the source object is being deleted, and the PediaCluster with it.
        SourceResourceDeleting,
        /// Ours: the creation condition can't be rendered.
        FailedCreationCondition,
        /// Ours: a PediaCluster of that name belongs to somebody else.
        PediaClusterNotOwned,
        /// Ours: an earlier PediaCluster of that name is still being deleted.
        PediaClusterDeleting,
        /// Ours: the PediaCluster could not be deleted.
        DeletionFailure,
    }
}

/// A condition to be set: everything but the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCondition {
    /// Type.
    pub type_: String,
    /// Status.
    pub status: ConditionStatus,
    /// Why, in one word.
    pub reason: String,
    /// Why, in words.
    pub message: String,
    /// Generation of the object that was looked at.
    pub observed_generation: Option<i64>,
}

/// The condition of a type, if there is one.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Puts a condition into the list. The time of transition moves only when the status does.
///
/// Returns whether status or reason became another: that is when an Event is due.
pub fn set(conditions: &mut Vec<Condition>, new: NewCondition, now: Timestamp) -> bool {
    let NewCondition {
        type_,
        status,
        reason,
        message,
        observed_generation,
    } = new;
    let mut next = Condition {
        type_,
        status: status.into(),
        reason,
        message: shortened(message),
        observed_generation,
        last_transition_time: Time(now),
    };
    let Some(known) = conditions
        .iter_mut()
        .find(|known| known.type_ == next.type_)
    else {
        conditions.push(next);
        return true;
    };
    if known.status == next.status {
        next.last_transition_time = known.last_transition_time.clone();
    }
    let transition = known.status != next.status || known.reason != next.reason;
    *known = next;
    transition
}

/// A message that is not longer than one should be.
#[must_use]
pub fn shortened(message: String) -> String {
    shortened_to(MESSAGE_LIMIT, message)
}

/// The same of so many bytes, with the word that it was cut.
#[must_use]
pub fn shortened_to(most: usize, mut message: String) -> String {
    if written(&message) <= most {
        return message;
    }
    let (mut room, mut end) = (most.saturating_sub(CUT.len()), 0);
    for character in message.chars() {
        let Some(left) = room.checked_sub(written_character(character)) else {
            break;
        };
        (room, end) = (left, end + character.len_utf8());
    }
    message.truncate(end);
    message + CUT
}

/// Bytes that a text takes in JSON, without its quotes.
#[must_use]
pub fn written(text: &str) -> usize {
    text.chars().map(written_character).sum()
}

const fn written_character(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        // `\u001b`.
        '\0'..'\u{20}' => 6,
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(status: ConditionStatus, reason: &str) -> NewCondition {
        NewCondition {
            type_: ClusterCondition::Ready.into(),
            status,
            reason: reason.into(),
            message: String::new(),
            observed_generation: Some(1),
        }
    }

    #[test]
    fn time_moves_with_the_status_and_events_with_status_or_reason() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut conditions = Vec::new();
        let steps = [
            (ConditionStatus::False, "NotReady", 1, true, 1),
            (ConditionStatus::False, "NotReady", 2, false, 1),
            (ConditionStatus::False, "Other", 3, true, 1),
            (ConditionStatus::True, "Ready", 4, true, 4),
        ];
        for (status, reason, now, transition, since) in steps {
            assert_eq!(
                set(&mut conditions, ready(status, reason), at(now)),
                transition
            );
            assert_eq!(conditions[0].last_transition_time.0, at(since));
        }
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let mut conditions = Vec::new();
        let message = "ä".repeat(MESSAGE_LIMIT);
        let new = NewCondition {
            message,
            ..ready(ConditionStatus::True, "Ready")
        };
        set(&mut conditions, new, Timestamp::UNIX_EPOCH);
        let want = "ä".repeat((MESSAGE_LIMIT - CUT.len()) / 2) + CUT;
        assert_eq!(conditions[0].message, want);
    }

    #[test]
    fn a_message_takes_no_more_bytes_in_json_than_it_may() {
        let texts = [
            "plain",
            "\"\\\n\r\t\u{8}\u{c}",
            "\0\u{1b}\u{1f}\u{7f}",
            "ä€😀",
            "",
        ];
        let texts = texts.map(|text| text.repeat(50));
        for text in texts.iter().chain([&texts.concat()]) {
            let quoted = |text: &str| serde_json::to_string(text).unwrap().len() - 2;
            assert_eq!(written(text), quoted(text), "{text:?}");
            for most in CUT.len()..100 {
                let cut = shortened_to(most, text.clone());
                assert!(quoted(&cut) <= most, "{cut:?} of {most}");
                let kept = cut.strip_suffix(CUT).unwrap_or(&cut);
                assert!(text.starts_with(kept) && quoted(&cut) + 6 > most.min(quoted(text)));
            }
            assert_eq!(shortened_to(quoted(text), text.clone()), *text);
        }
    }

    #[test]
    fn spelling_is_what_scripts_wait_for() {
        assert_eq!(
            ResourceSyncReason::StorageException.as_str(),
            "StorageExpection"
        );
        assert_eq!(
            PolicyValidatedReason::InvalidPolicy.as_str(),
            "InvalaidPolicy"
        );
        assert_eq!(
            LifecycleReason::WaitCreationCondition.as_str(),
            "WaitCreationCondition"
        );
    }
}
