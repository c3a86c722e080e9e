//! How a controller tells: a status patch that says everything, and an Event per transition.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard},
};

use armadex_crds::conditions::NewCondition;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{Event, EventType},
};
use serde::Serialize;
use serde_json::{Value, json};
use tracing::debug;

use armadex_control_plane::{Recorder, Trouble, lock};

/// The status that a controller said of each object last: that it is there is no news to it.
#[derive(Debug, Default)]
pub struct Said(Mutex<HashMap<String, u64>>);

impl Said {
    /// It is about to say this of an object.
    pub(crate) fn says(&self, name: &str, status: &impl Serialize) {
        self.lock().insert(name.to_owned(), hash(status));
    }

    /// Whether it said this of it last, and nobody anything since.
    pub(crate) fn has_said(&self, name: &str, status: &impl Serialize) -> bool {
        self.lock().get(name) == Some(&hash(status))
    }

    pub(crate) fn forget(&self, name: &str) {
        self.lock().remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        lock(&self.0)
    }
}

/// Of what is sent: a time has fewer digits there.
fn hash(status: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    let text = serde_json::to_string(status).unwrap_or_default();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The longest note that an API server takes in an Event, in bytes.
const NOTE_LIMIT: usize = 1024;

/// Writes Events (events.k8s.io/v1) in the name of a controller.
#[derive(Clone)]
pub struct Reporter {
    recorder: Recorder,
}

impl Reporter {
    /// In the name of this controller.
    pub fn new(client: Client, controller: &str) -> Self {
        Self {
            recorder: Recorder::new(client, controller.into()),
        }
    }

    /// Says that a condition of an object became another one.
    ///
    /// An Event that can't be written is not worth a retry: the condition says the same, or the log.
    pub async fn publish(
        &self,
        about: &ObjectReference,
        condition: &NewCondition,
        type_: EventType,
    ) {
        let event = Event {
            type_,
            reason: condition.reason.clone(),
            note: Some(note(&condition.message)),
            action: condition.type_.clone(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, about).await {
            debug!(error = %Trouble::from(&error), reason = condition.reason, "event not written");
        }
    }
}

fn note(message: &str) -> String {
    let end = (0..=NOTE_LIMIT.min(message.len()))
        .rev()
        .find(|end| message.is_char_boundary(*end));
    message[..end.unwrap_or_default()].to_owned()
}

/// A merge patch from one status to another; nothing if they are the same.
pub(crate) fn status_patch<S: Serialize + Default>(before: Option<&S>, after: &S) -> Option<Value> {
    let absent = S::default();
    let before = serde_json::to_value(before.unwrap_or(&absent)).unwrap_or_default();
    let mut after = serde_json::to_value(after).unwrap_or_default();
    if before == after {
        return None;
    }
    take_away(&before, &mut after);
    Some(json!({"status": after}))
}

/// A merge patch leaves what it does not name; what is gone is named.
fn take_away(before: &Value, after: &mut Value) {
    if let (Value::Object(before), Value::Object(after)) = (before, after) {
        for (name, before) in before {
            take_away(before, after.entry(name).or_insert(Value::Null));
        }
    }
}

#[cfg(test)]
mod tests {
    use armadex_crds::{PediaClusterLifecycleStatus, ResolvedReference};

    use super::*;

    #[test]
    fn a_patch_takes_away_what_is_gone_and_is_none_when_nothing_changed() {
        let reference = ResolvedReference {
            name: "a".into(),
            ..Default::default()
        };
        let full = PediaClusterLifecycleStatus {
            observed_generation: Some(1),
            references: vec![reference],
            ..Default::default()
        };
        let less = PediaClusterLifecycleStatus {
            observed_generation: Some(2),
            ..Default::default()
        };
        assert_eq!(status_patch(Some(&full), &full), None);
        assert_eq!(
            status_patch(None, &PediaClusterLifecycleStatus::default()),
            None
        );
        assert_eq!(
            status_patch(Some(&full), &less),
            Some(json!({"status": {"observedGeneration": 2, "references": null}}))
        );
    }

    #[test]
    fn what_is_gone_from_within_a_field_is_taken_away_too() {
        let status = |before: &str| {
            let rendered = armadex_crds::RenderedConnection {
                before: before.into(),
                ..Default::default()
            };
            PediaClusterLifecycleStatus {
                connection: Some(rendered),
                ..Default::default()
            }
        };
        assert_eq!(
            status_patch(Some(&status("a")), &status("")),
            Some(json!({"status": {"connection": {"digest": "", "before": null}}}))
        );
    }

    #[test]
    fn notes_are_cut_to_what_an_event_takes() {
        assert_eq!(note("short"), "short");
        assert_eq!(note(&"ä".repeat(NOTE_LIMIT)).len(), NOTE_LIMIT);
    }
}
