//! Probes of a container: when each is asked, and what its answers mean.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use tokio::task::JoinHandle;

use super::node::Placed;

/// The probes of a container that runs.
#[derive(Debug)]
pub(super) struct Probes {
    startup: Option<Prober>,
    liveness: Option<Prober>,
    readiness: Option<Prober>,
}

impl Probes {
    /// Those of a container; an error for what only another kubelet asks.
    pub(super) fn of(container: &Container) -> Result<Self> {
        let prober = |probe: &Option<Probe>| {
            let prober = probe.as_ref().map(|probe| Prober::of(probe, container));
            prober.transpose()
        };
        Ok(Self {
            startup: prober(&container.startup_probe)?,
            liveness: prober(&container.liveness_probe)?,
            readiness: prober(&container.readiness_probe)?,
        })
    }

    /// Takes answers, and asks those whose time has come: the others begin when the container has started.
    pub(super) fn step(&mut self, pod: &Arc<Placed>) {
        let now = Instant::now();
        if !self.has_started() {
            if let Some(startup) = &mut self.startup {
                startup.step(pod, now);
            }
            return;
        }
        for prober in [&mut self.liveness, &mut self.readiness]
            .into_iter()
            .flatten()
        {
            prober.step(pod, now);
        }
    }

    pub(super) fn has_started(&self) -> bool {
        let passed = |prober: &Prober| prober.tally.is == Some(true);
        self.startup.as_ref().is_none_or(passed)
    }

    pub(super) fn is_ready(&self) -> bool {
        let passed = |prober: &Prober| prober.tally.is == Some(true);
        self.has_started() && self.readiness.as_ref().is_none_or(passed)
    }

    /// Whether it is to be ended for what it answers.
    pub(super) fn have_failed(&self) -> bool {
        let failed = |prober: &Option<Prober>| {
            let tally = prober.as_ref().map(|prober| &prober.tally);
            tally.is_some_and(|tally| tally.is == Some(false))
        };
        failed(&self.startup) || failed(&self.liveness)
    }
}

#[derive(Debug)]
struct Prober {
    port: u16,
    path: String,
    limit: Duration,
    period: Duration,
    next: Instant,
    asked: Option<JoinHandle<bool>>,
    tally: Tally,
}

impl Prober {
    fn of(probe: &Probe, container: &Container) -> Result<Self> {
        let get = probe.http_get.as_ref();
        let get = get.context("a probe that is no httpGet is not asked here")?;
        let seconds = |value: Option<i32>, usual: u64| {
            let seconds = value.and_then(|value| u64::try_from(value).ok());
            Duration::from_secs(seconds.unwrap_or(usual))
        };
        Ok(Self {
            port: port(get, container)?,
            path: get.path.clone().unwrap_or_else(|| "/".to_owned()),
            limit: seconds(probe.timeout_seconds, 1),
            period: seconds(probe.period_seconds, 10),
            next: Instant::now() + seconds(probe.initial_delay_seconds, 0),
            asked: None,
            tally: Tally::new(
                probe.success_threshold.unwrap_or(1),
                probe.failure_threshold.unwrap_or(3),
            ),
        })
    }

    fn step(&mut self, pod: &Arc<Placed>, now: Instant) {
        if let Some(asked) = self.asked.take_if(|asked| asked.is_finished()) {
            // It is finished: what it gives is there.
            let passed = futures::FutureExt::now_or_never(asked);
            self.tally.count(matches!(passed, Some(Ok(true))));
        }
        if self.asked.is_none() && now >= self.next {
            self.next = now + self.period;
            let (pod, port, path, limit) =
                (Arc::clone(pod), self.port, self.path.clone(), self.limit);
            self.asked = Some(tokio::spawn(async move {
                let answer = pod.network.get(port, &path, limit).await;
                answer.is_ok_and(|answer| (200..400).contains(&answer.code))
            }));
        }
    }
}

fn port(get: &HTTPGetAction, container: &Container) -> Result<u16> {
    let name = match &get.port {
        IntOrString::Int(number) => return Ok(u16::try_from(*number)?),
        IntOrString::String(name) => name,
    };
    for port in container.ports.iter().flatten() {
        if port.name.as_ref() == Some(name) {
            return Ok(u16::try_from(port.container_port)?);
        }
    }
    bail!("a probe asks the port {name}, which the container has not")
}

/// Answers in a row, and what they have made of it.
#[derive(Debug)]
struct Tally {
    enough: [i32; 2],
    row: (bool, i32),
    /// Nothing so far, or what it was found to be last.
    is: Option<bool>,
}

impl Tally {
    fn new(successes: i32, failures: i32) -> Self {
        Self {
            enough: [failures, successes],
            row: (false, 0),
            is: None,
        }
    }

    fn count(&mut self, passed: bool) {
        let so_far = if self.row.0 == passed { self.row.1 } else { 0 };
        self.row = (passed, so_far + 1);
        if self.row.1 >= self.enough[usize::from(passed)] {
            self.is = Some(passed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_when_there_are_enough_in_a_row() {
        let mut tally = Tally::new(1, 2);
        let mut is = |passed: bool| {
            tally.count(passed);
            tally.is
        };
        assert_eq!(
            [false, true, false].map(&mut is),
            [None, Some(true), Some(true)]
        );
        assert_eq!(
            [false, false, true].map(&mut is),
            [Some(false), Some(false), Some(true)]
        );
    }
}
