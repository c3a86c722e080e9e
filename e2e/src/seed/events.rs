//! Events of a member's pods, one by one: a kubelet makes three for each pod that it starts.

use serde_json::json;

use super::metadata::Random;

/// What is told of each pod: the reason, and the message.
const TOLD: [(&str, &str); 3] = [
    (
        "Pulled",
        "Container image \"registry.example/web:v1.7.0\" already present on machine",
    ),
    ("Created", "Created container: web"),
    ("Started", "Started container web"),
];
/// Namespaces of a cluster.
const NAMESPACES: usize = 20;
const NODES: usize = 50;

/// The Events of one member, counted from 0: each number means the same Event for ever.
#[derive(Debug, Clone)]
pub struct Events {
    member: String,
    /// Ends the names of its pods, which no other member's have.
    suffix: String,
}

impl Events {
    /// Those of a member of this name.
    #[must_use]
    pub fn of(member: &str) -> Self {
        Self {
            member: member.to_owned(),
            suffix: Random::new(member, 0).suffix(5),
        }
    }

    /// Its namespace.
    #[must_use]
    pub fn namespace(&self, number: usize) -> String {
        format!("team-{}", pod_of(number) % NAMESPACES)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self, number: usize) -> String {
        format!("{}.{number:016x}", self.pod_name(number))
    }

    /// As JSON, with a version.
    #[must_use]
    pub fn json(&self, number: usize) -> Vec<u8> {
        let pod = pod_of(number);
        let (reason, message) = TOLD[number % TOLD.len()];
        let node = format!("node-{}", pod % NODES);
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "namespace": self.namespace(number),
                "name": self.name(number),
                "uid": self.uid("event", number),
                "resourceVersion": (1_000_000 + number).to_string(),
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": self.namespace(number),
                "name": self.pod_name(number),
                "uid": self.uid("pod", pod),
                "resourceVersion": (500_000 + 7 * pod).to_string(),
                "fieldPath": "spec.containers{web}",
            },
            "reason": reason,
            "message": message,
            "source": {"component": "kubelet", "host": node},
            "reportingComponent": "kubelet",
            "reportingInstance": node,
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:00:00Z",
            "count": 1,
            "type": "Normal",
        });
        event.to_string().into_bytes()
    }

    fn pod_name(&self, number: usize) -> String {
        format!("web-{:05x}-{}", pod_of(number), self.suffix)
    }

    fn uid(&self, kind: &str, number: usize) -> String {
        Random::new(&format!("{kind} of {}", self.member), number as u64).uid()
    }
}

/// The pod that this Event is of.
fn pod_of(number: usize) -> usize {
    number / TOLD.len()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn each_event_is_told_from_all_others_and_three_are_of_one_pod() {
        let events = ["member1", "member2"].map(Events::of);
        let made: Vec<Value> = events
            .iter()
            .flat_map(|events| (0..300).map(|number| events.json(number)))
            .map(|event| serde_json::from_slice(&event).expect("JSON"))
            .collect();
        let distinct = |pointer: &str| {
            let values = made.iter().map(|event| event.pointer(pointer).expect("it"));
            values.map(Value::to_string).collect::<HashSet<_>>().len()
        };
        assert_eq!(distinct("/metadata/uid"), 600);
        assert_eq!(distinct("/metadata/name"), 600);
        assert_eq!(distinct("/involvedObject/uid"), 200);
        assert_eq!(distinct("/involvedObject/name"), 200);
    }
}
