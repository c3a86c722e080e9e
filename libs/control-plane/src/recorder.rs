//! Events whose words are those that were said. kube's own recorder counts one up for six minutes where reason and action are the same and leaves the words of the first
//! there: of a second trouble under one reason it would say the first. Here it counts up what says the same, and what says something else is an Event of its own.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, Recorder as Series, Reporter};
use tokio::time::{Duration, Instant};

use crate::lock;

/// As long as kube's recorder counts an Event up.
const COUNTED: Duration = Duration::from_secs(6 * 60);
/// Of so many things it is known that they were said, some 500 bytes each: of more each time is an Event of its own.
const KNOWN: usize = 1000;

/// Writes Events (events.k8s.io/v1) in the name of a controller; clones know of each other's.
#[derive(Clone)]
pub struct Recorder {
    client: Client,
    reporter: Reporter,
    said: Arc<Mutex<HashMap<u64, (Series, Instant)>>>,
}

impl Recorder {
    /// In the name of this reporter.
    #[must_use]
    pub fn new(client: Client, reporter: Reporter) -> Self {
        Self {
            client,
            reporter,
            said: Arc::default(),
        }
    }

    /// Says it of an object.
    pub async fn publish(&self, event: &Event, about: &ObjectReference) -> kube::Result<()> {
        let series = self.series(event, about, Instant::now());
        series.publish(event, about).await
    }

    /// What has said the same of it before, if that was not long ago.
    fn series(&self, event: &Event, about: &ObjectReference, now: Instant) -> Series {
        let mut said = lock(&self.said);
        said.retain(|_, (_, at)| now.duration_since(*at) < COUNTED);
        let fresh = || Series::new(self.client.clone(), self.reporter.clone());
        let key = key(event, about);
        if said.len() >= KNOWN && !said.contains_key(&key) {
            return fresh();
        }
        let (series, at) = said.entry(key).or_insert_with(|| (fresh(), now));
        *at = now;
        series.clone()
    }
}

/// Of all that tells one from another.
fn key(event: &Event, about: &ObjectReference) -> u64 {
    let Event {
        type_,
        reason,
        note,
        action,
        secondary: _,
    } = event;
    let mut hasher = DefaultHasher::new();
    (type_, reason, note, action).hash(&mut hasher);
    (&about.kind, &about.namespace, &about.name, &about.uid).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use http::{Method, Request, Response};
    use kube::client::Body;
    use kube::runtime::events::EventType;

    use super::*;

    fn event(note: &str) -> Event {
        Event {
            type_: EventType::Warning,
            reason: "Failed".to_owned(),
            note: Some(note.to_owned()),
            action: "Reconciling".to_owned(),
            secondary: None,
        }
    }

    /// On a control plane that takes what it is sent, and how that was.
    fn recorder() -> (Recorder, Arc<Mutex<Vec<Method>>>) {
        let asked = Arc::<Mutex<Vec<Method>>>::default();
        let told = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            let (head, sent) = request.into_parts();
            lock(&told).push(head.method);
            async { Ok::<_, kube::Error>(Response::new(sent)) }
        });
        let reporter = Reporter {
            controller: "test".to_owned(),
            instance: None,
        };
        (
            Recorder::new(Client::new(service, "default"), reporter),
            asked,
        )
    }

    #[tokio::test]
    async fn what_is_said_again_is_counted_up_and_another_thing_is_another_event() {
        let (recorder, asked) = recorder();
        let about = ObjectReference::default();
        for note in ["one", "one", "two", "one"] {
            let said = recorder.publish(&event(note), &about).await;
            said.expect("it is taken");
        }
        let expected = [Method::POST, Method::PATCH, Method::POST, Method::PATCH];
        assert_eq!(*lock(&asked), expected);
    }

    #[tokio::test]
    async fn so_much_is_known_and_no_more_and_not_for_ever() {
        let (recorder, _) = recorder();
        let (about, begun) = (ObjectReference::default(), Instant::now());
        for number in 0..KNOWN + 10 {
            recorder.series(&event(&number.to_string()), &about, begun);
        }
        assert_eq!(lock(&recorder.said).len(), KNOWN);
        recorder.series(&event("later"), &about, begun + COUNTED);
        assert_eq!(lock(&recorder.said).len(), 1);
    }
}
