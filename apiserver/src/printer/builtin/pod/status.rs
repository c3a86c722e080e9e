//! A pod's status, ready count and restarts, from the states of its containers.
//!
//! An init container that is always restarted is a sidecar: it counts among those that should be ready. Until the others have
//! finished, the pod is what the first unfinished one is; after that it is what its containers are, the first of them last, so
//! that its state wins.

use std::collections::HashMap;

use jiff::Timestamp;

use super::super::super::object::{StatusCondition, is_true};
use super::parts::{ContainerStatus, Pod, Terminated};

/// What is shown of a pod's containers.
pub(super) struct Summary {
    pub(super) ready: usize,
    pub(super) total: usize,
    pub(super) reason: String,
    pub(super) restarts: i64,
    pub(super) last_restart: Option<Timestamp>,
}

/// How often containers were restarted, and when one last was.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &ContainerStatus<'_>) {
        self.count = self.count.saturating_add(container.restart_count);
        let ended = container.last_state.terminated.as_ref();
        self.last = self
            .last
            .max(ended.and_then(|ended| ended.finished_at.time()));
    }
}

/// What the init containers say.
#[derive(Default)]
struct Initialisation {
    /// Set while one of them has not finished.
    pending: Option<String>,
    ready_sidecars: usize,
    all: Restarts,
    sidecars: Restarts,
}

impl Summary {
    pub(super) fn of(pod: &Pod<'_>) -> Self {
        let sidecars = pod
            .spec
            .init_containers
            .iter()
            .filter(|one| one.restart_policy == *"Always");
        let total = pod.spec.containers.len() + sidecars.count();
        let init = Initialisation::of(pod);
        let initialised = is_true(&pod.status.conditions, "Initialized");
        let mut summary = Self {
            ready: init.ready_sidecars,
            total,
            reason: pod.reason(),
            restarts: init.all.count,
            last_restart: init.all.last,
        };
        let waiting = init.pending.is_some() && !initialised;
        if let Some(pending) = init.pending {
            summary.reason = pending;
        }
        if !waiting {
            summary.take_containers(pod, init.sidecars);
        }
        summary.take_deletion(pod);
        summary
    }

    fn take_containers(&mut self, pod: &Pod<'_>, mut restarts: Restarts) {
        let mut running = false;
        let mut failure = None;
        for container in pod.status.container_statuses.iter().rev() {
            restarts.add(container);
            let state = &container.state;
            let waiting = state.waiting.as_ref().filter(|one| !one.reason.is_empty());
            if let Some(waiting) = waiting {
                self.reason = waiting.reason.as_str().to_owned();
            } else if let Some(ended) = &state.terminated {
                self.reason = ended.text();
                if ended.exit_code != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if container.ready && state.running.is_some() {
                running = true;
                self.ready += 1;
            }
        }
        self.restarts = restarts.count;
        self.last_restart = restarts.last;
        if self.reason == "Completed" {
            self.take_completion(pod, running, failure);
        }
    }

    /// One container has completed; the others may still run, or may have failed.
    fn take_completion(&mut self, pod: &Pod<'_>, running: bool, failure: Option<String>) {
        let mut conditions = pod.status.conditions.iter();
        let ready = conditions.any(|one| one.kind == *"Ready" && one.status == *"True");
        if running && ready {
            "Running".clone_into(&mut self.reason);
        } else if let Some(failure) = failure {
            self.reason = failure;
        } else if running {
            "NotReady".clone_into(&mut self.reason);
        }
    }

    fn take_deletion(&mut self, pod: &Pod<'_>) {
        if pod.metadata.deletion_timestamp.is_empty() {
            return;
        }
        let finished = ["Succeeded", "Failed"].contains(&pod.status.phase.as_str());
        if pod.status.reason == *"NodeLost" {
            "Unknown".clone_into(&mut self.reason);
        } else if !finished {
            "Terminating".clone_into(&mut self.reason);
        }
    }
}

impl Initialisation {
    fn of(pod: &Pod<'_>) -> Self {
        let mut found = Self::default();
        let sidecars = Sidecars::of(pod);
        for (index, container) in pod.status.init_container_statuses.iter().enumerate() {
            let sidecar = sidecars.has(container);
            found.all.add(container);
            if sidecar {
                found.sidecars.add(container);
            }
            let ended = container.state.terminated.as_ref();
            if ended.is_some_and(|ended| ended.exit_code == 0) {
                continue;
            }
            if sidecar && container.started == Some(true) {
                found.ready_sidecars += usize::from(container.ready);
                continue;
            }
            found.pending = Some(pod.pending(index, container));
            break;
        }
        found
    }
}

/// Which init containers are always restarted, by name. Where a name occurs twice, the later one counts.
struct Sidecars<'p>(HashMap<&'p str, bool>);

impl<'p> Sidecars<'p> {
    fn of(pod: &'p Pod<'_>) -> Self {
        let specs = pod.spec.init_containers.iter();
        let named = specs.map(|one| (one.name.as_str(), one.restart_policy == *"Always"));
        Self(named.collect())
    }

    fn has(&self, container: &ContainerStatus<'_>) -> bool {
        let known = self.0.get(container.name.as_str());
        known.copied().unwrap_or_default()
    }
}

impl Pod<'_> {
    /// The status before any container has a say.
    fn reason(&self) -> String {
        let gated = |one: &StatusCondition<'_>| {
            one.kind == *"PodScheduled" && one.reason == *"SchedulingGated"
        };
        if self.status.conditions.iter().any(gated) {
            return "SchedulingGated".to_owned();
        }
        let reason = if self.status.reason.is_empty() {
            &self.status.phase
        } else {
            &self.status.reason
        };
        reason.as_str().to_owned()
    }

    /// What the first unfinished init container is doing.
    fn pending(&self, index: usize, container: &ContainerStatus<'_>) -> String {
        let state = &container.state;
        if let Some(ended) = &state.terminated {
            return format!("Init:{}", ended.text());
        }
        match &state.waiting {
            Some(waiting) if !waiting.reason.is_empty() && waiting.reason != *"PodInitializing" => {
                format!("Init:{}", waiting.reason.as_str())
            }
            _ => format!("Init:{index}/{}", self.spec.init_containers.len()),
        }
    }
}

impl Terminated<'_> {
    fn text(&self) -> String {
        if !self.reason.is_empty() {
            self.reason.as_str().to_owned()
        } else if self.signal != 0 {
            format!("Signal:{}", self.signal)
        } else {
            format!("ExitCode:{}", self.exit_code)
        }
    }
}
