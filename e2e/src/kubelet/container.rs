//! One container of a pod: when it is started, its process, and how it ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::{Timestamp, Unit};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;

use super::node::{Node, Placed};
use super::probe::Probes;
use super::sandbox::Parts;
use super::{environment, sandbox, volumes};
use crate::process::Exit;
use crate::record::Record;

/// What a container waits for may be there a moment later.
const AGAIN: Duration = Duration::from_secs(1);
/// The wait before the second restart, which doubles with each; before the first there is none.
const BACK_OFF: Duration = Duration::from_secs(10);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);
/// As many times as it takes to get there.
const DOUBLED: u32 = 5;

/// A container and what has become of it so far.
#[derive(Debug)]
pub(super) struct Contained {
    pub(super) spec: Container,
    pub(super) state: State,
    pub(super) restarts: u32,
    pub(super) last: Option<Ended>,
    due: Instant,
    /// How long it has to end.
    grace: Duration,
}

#[derive(Debug)]
pub(super) enum State {
    Waiting {
        reason: &'static str,
        message: String,
    },
    Running(Box<Running>),
    Ended(Ended),
}

/// A container that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) since: Timestamp,
    pub(super) probes: Probes,
    record: Record,
    exit: Option<Exit>,
    /// Since when it is to end, if it is, and how long it has.
    ending: Option<(Instant, Duration)>,
}

/// How one ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) code: i32,
    pub(super) began: Timestamp,
    pub(super) ended: Timestamp,
}

impl Contained {
    pub(super) fn new(spec: Container, grace: Duration) -> Self {
        Self {
            spec,
            state: State::Waiting {
                reason: "ContainerCreating",
                message: String::new(),
            },
            restarts: 0,
            last: None,
            due: Instant::now(),
            grace,
        }
    }

    /// Sees whether it has ended, and asks its probes.
    pub(super) fn look(&mut self, placed: &Arc<Placed>) {
        let State::Running(running) = &mut self.state else {
            return;
        };
        if let Some(exit) = running.exit.take_if(|exit| exit.is_finished()) {
            placed
                .processes()
                .retain(|record| *record != running.record);
            running.record.forget();
            self.state = State::Ended(Ended {
                code: code(exit),
                began: running.since,
                ended: now(),
            });
            return;
        }
        running.probes.step(placed);
        if running.probes.have_failed() && running.ending.is_none() {
            running.end(self.grace);
        }
        running.press();
    }

    /// Starts it where its time has come.
    pub(super) async fn begin(&mut self, node: &Node, pod: &Pod, placed: &Arc<Placed>) {
        let is_due = matches!(self.state, State::Waiting { .. }) && Instant::now() >= self.due;
        if !is_due {
            return;
        }
        self.state = match self.started(node, pod, placed).await {
            Ok(running) => State::Running(Box::new(running)),
            Err(error) => {
                self.due = Instant::now() + AGAIN;
                State::Waiting {
                    reason: "CreateContainerConfigError",
                    message: format!("{error:#}"),
                }
            }
        };
    }

    async fn started(&self, node: &Node, pod: &Pod, placed: &Arc<Placed>) -> Result<Running> {
        let image = self.spec.image.as_deref().unwrap_or_default();
        let program = node.images.get(image);
        let program = program.with_context(|| format!("there is no image {image}"))?;
        let place = node.folder.pods().join(pod.uid().context("no uid")?);
        let root = place.join(&self.spec.name);
        std::fs::create_dir_all(&root)?;
        let volumes = volumes::prepare(node, pod, placed).await?;
        let parts = Parts {
            program,
            root: &root,
            volumes: &volumes,
            environment: environment::of(node, pod, placed, &self.spec).await?,
        };
        let program = sandbox::program(pod, placed, &self.spec, parts)?;
        let probes = Probes::of(&self.spec)?;
        let folder = node.folder.clone();
        let started = placed
            .network
            .within(move || program.start_followed(&folder));
        let (record, exit) = started.await?;
        placed.processes().push(record.clone());
        Ok(Running {
            since: now(),
            probes,
            record,
            exit: Some(exit),
            ending: None,
        })
    }

    /// Has it started anew, later with each time.
    pub(super) fn start_again(&mut self) {
        if let State::Ended(ended) = &self.state {
            self.last = Some(ended.clone());
            self.due = Instant::now() + back_off(self.restarts);
            self.restarts += 1;
            self.state = State::Waiting {
                reason: "CrashLoopBackOff",
                message: String::new(),
            };
        }
    }

    /// Asks it to end within this time, if it runs.
    pub(super) fn end(&mut self, grace: Duration) {
        if let State::Running(running) = &mut self.state
            && running.ending.is_none()
        {
            running.end(grace);
        }
    }

    pub(super) fn runs(&self) -> bool {
        matches!(self.state, State::Running(_))
    }

    /// Its code, once it has ended.
    pub(super) fn code(&self) -> Option<i32> {
        match &self.state {
            State::Ended(ended) => Some(ended.code),
            State::Waiting { .. } | State::Running(_) => None,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(&self.state, State::Running(running) if running.probes.is_ready())
    }
}

impl Running {
    fn end(&mut self, grace: Duration) {
        self.record.start_stop();
        self.ending = Some((Instant::now(), grace));
    }

    /// Ends it at once where it took longer than it has.
    fn press(&self) {
        if self
            .ending
            .is_some_and(|(since, grace)| since.elapsed() > grace)
        {
            self.record.start_kill();
        }
    }
}

/// By a signal it is what a shell would say.
fn code(exit: Exit) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    let status = exit.join().ok().and_then(Result::ok);
    let code =
        status.and_then(|status| status.code().or(status.signal().map(|number| 128 + number)));
    code.unwrap_or(255)
}

/// As the API has times.
pub(super) fn now() -> Timestamp {
    let now = Timestamp::now();
    now.round(Unit::Second).unwrap_or(now)
}

fn back_off(restarts: u32) -> Duration {
    match restarts {
        0 => Duration::ZERO,
        more => (BACK_OFF * 2_u32.pow((more - 1).min(DOUBLED))).min(LONGEST_BACK_OFF),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_restart_is_waited_for_longer_up_to_five_minutes() {
        let seconds = [0, 1, 2, 3, 6, 7, 60].map(|restarts| back_off(restarts).as_secs());
        assert_eq!(seconds, [0, 10, 20, 40, 300, 300, 300]);
    }
}
