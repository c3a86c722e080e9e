//! What is said of a pod in its status.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::container::{Contained, State};
use super::node::Placed;

/// Since when each condition is as it is.
pub(super) type Since = BTreeMap<&'static str, (bool, Timestamp)>;

/// What is known of a pod.
pub(super) struct Known<'a> {
    pub(super) placed: &'a Placed,
    pub(super) began: Timestamp,
    pub(super) now: Timestamp,
    pub(super) initial: &'a [Contained],
    pub(super) containers: &'a [Contained],
    /// Whether what ended stays so.
    pub(super) is_over: bool,
}

/// The status; what has changed in it is as old as `now`.
pub(super) fn of(known: &Known<'_>, since: &mut Since) -> Value {
    let is_initialized = known.initial.iter().all(|one| one.code() == Some(0));
    let is_ready = is_initialized && known.containers.iter().all(Contained::is_ready);
    let conditions = [
        ("PodScheduled", true),
        ("PodReadyToStartContainers", !known.is_over),
        ("Initialized", is_initialized),
        ("ContainersReady", is_ready),
        ("Ready", is_ready),
    ];
    let conditions = conditions.map(|(kind, is)| {
        let found = since.entry(kind).or_insert((is, known.now));
        if found.0 != is {
            *found = (is, known.now);
        }
        let status = if is { "True" } else { "False" };
        json!({"type": kind, "status": status, "lastTransitionTime": found.1.to_string()})
    });
    let address = known.placed.network.address.to_string();
    let all = |some: &[Contained]| some.iter().map(of_container).collect::<Vec<_>>();
    json!({
        "phase": phase(known),
        "conditions": conditions,
        "startTime": known.began.to_string(),
        "hostIP": "127.0.0.1",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "initContainerStatuses": all(known.initial),
        "containerStatuses": all(known.containers),
    })
}

fn phase(known: &Known<'_>) -> &'static str {
    let codes = known.containers.iter().map(Contained::code);
    let codes: Option<Vec<i32>> = codes.collect();
    let has_failed = known
        .initial
        .iter()
        .any(|one| one.code().is_some_and(|code| code != 0));
    let has_begun =
        |one: &Contained| one.last.is_some() || !matches!(one.state, State::Waiting { .. });
    match codes {
        _ if known.is_over && has_failed => "Failed",
        Some(codes) if known.is_over && codes.iter().all(|&code| code == 0) => "Succeeded",
        Some(_) if known.is_over => "Failed",
        _ if known.containers.iter().any(has_begun) => "Running",
        _ => "Pending",
    }
}

fn of_container(one: &Contained) -> Value {
    let image = one.spec.image.clone().unwrap_or_default();
    let has_started = matches!(&one.state, State::Running(running) if running.probes.has_started());
    let last = one.last.clone().map(State::Ended);
    json!({
        "name": one.spec.name,
        "image": image,
        "imageID": image,
        "restartCount": one.restarts,
        "started": has_started,
        "ready": one.is_ready() || one.code() == Some(0),
        "state": of_state(&one.state),
        "lastState": last.map_or_else(|| json!({}), |state| of_state(&state)),
    })
}

fn of_state(state: &State) -> Value {
    match state {
        State::Waiting { reason, message } => {
            json!({"waiting": {"reason": reason, "message": message}})
        }
        State::Running(running) => json!({"running": {"startedAt": running.since.to_string()}}),
        State::Ended(ended) => json!({"terminated": {
            "exitCode": ended.code,
            "reason": if ended.code == 0 { "Completed" } else { "Error" },
            "startedAt": ended.began.to_string(),
            "finishedAt": ended.ended.to_string(),
        }}),
    }
}
