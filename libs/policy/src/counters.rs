//! What a policy controller counts, from the start of its process: what a change costs is read off these.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use kube::{Resource, runtime::reflector::Store};

use crate::states::{State, States, TellsStates, Told};

/// Of one controller.
#[derive(Debug, Default)]
pub struct Counters {
    reconciles: AtomicU64,
    plans: AtomicU64,
    failures: AtomicU64,
    walked: AtomicU64,
    rendered: AtomicU64,
    parsed: AtomicU64,
    told: Told,
}

/// What was counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    /// Looks at an object, for whatever reason.
    pub reconciles: u64,
    /// Of these, the ones that came to a plan: what had changed might have come to something else.
    pub plans: u64,
    /// Looks that failed and are tried again.
    pub failures: u64,
    /// Source objects that plans went over.
    pub walked: u64,
    /// Source objects whose templates were rendered.
    pub rendered: u64,
    /// Source objects whose text was parsed.
    pub parsed: u64,
    /// How the objects are that it follows now.
    pub states: States,
}

impl Counters {
    /// A look begins.
    pub(crate) fn reconciles(&self) {
        self.reconciles.fetch_add(1, Relaxed);
    }

    /// A look failed.
    pub(crate) fn fails(&self) {
        self.failures.fetch_add(1, Relaxed);
    }

    /// A plan is made.
    pub fn plans(&self) {
        self.plans.fetch_add(1, Relaxed);
    }

    /// A look went over so many source objects, and parsed so many and rendered their templates.
    pub fn looks_at(&self, walked: u64, rendered: u64) {
        self.walked.fetch_add(walked, Relaxed);
        self.rendered.fetch_add(rendered, Relaxed);
        self.parsed.fetch_add(rendered, Relaxed);
    }

    /// A source object was parsed.
    pub fn parses(&self) {
        self.parsed.fetch_add(1, Relaxed);
    }

    /// Says of these objects how they are, while what it gives lives.
    pub(crate) fn tell<K>(&self, objects: Store<K>, state: fn(&K) -> Option<State>) -> TellsStates
    where
        K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
    {
        self.told.tell(objects, state)
    }

    /// All numbers. They are not of one moment.
    #[must_use]
    pub fn values(&self) -> CounterValues {
        CounterValues {
            reconciles: self.reconciles.load(Relaxed),
            plans: self.plans.load(Relaxed),
            failures: self.failures.load(Relaxed),
            walked: self.walked.load(Relaxed),
            rendered: self.rendered.load(Relaxed),
            parsed: self.parsed.load(Relaxed),
            states: self.told.now(),
        }
    }
}
