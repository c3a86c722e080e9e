//! What one rendering may take: steps, which bound its time, and bytes, which bound its memory.
//! Both are spent by whatever a template can repeat or make longer, of what one rendering has and of what all over the same values have together. Beside them it is
//! noted what a rendering leaves out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use armadex_control_plane::lock;
use serde_json::Value;

use super::{
    labels::{Labels, Noted},
    rules::{STEP_LIMIT, STEPS_LIMIT, TemplateError, WORK_LIMIT, WORKS_LIMIT},
    turns::{FREE, TURNS, Turn, Turns},
};

/// What is left for one rendering, or for all of an object.
#[derive(Debug)]
pub(super) struct Budget {
    steps: AtomicUsize,
    bytes: AtomicUsize,
    /// What is spent is spent of this as well.
    all: Option<Arc<Budget>>,
    /// Steps that the longest path so far takes.
    longest_path: AtomicUsize,
    /// What is noted of labels, of all renderings together.
    labels: Mutex<Noted>,
    /// Taken by the first one that holds much, and given back when the rendering is over.
    turn: OnceLock<Turn>,
}

/// Of all renderings of the process.
static ALL_TURNS: LazyLock<Arc<Turns>> = LazyLock::new(|| Turns::of(TURNS));

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exceeded {
    Steps,
    Bytes,
}

impl Budget {
    /// For all renderings over the same values.
    pub(super) fn of_all() -> Self {
        Self::new(STEPS_LIMIT, WORKS_LIMIT, None)
    }

    /// For one of them.
    pub(super) fn of_one(all: &Arc<Self>) -> Self {
        Self::new(STEP_LIMIT, WORK_LIMIT, Some(Arc::clone(all)))
    }

    fn new(steps: usize, bytes: usize, all: Option<Arc<Self>>) -> Self {
        Self {
            steps: AtomicUsize::new(steps),
            bytes: AtomicUsize::new(bytes),
            all,
            longest_path: AtomicUsize::new(0),
            labels: Mutex::default(),
            turn: OnceLock::new(),
        }
    }

    pub(super) fn spend_steps(&self, steps: usize) -> Result<(), Exceeded> {
        spend(&self.steps, steps).ok_or(Exceeded::Steps)?;
        let all = self.all.as_ref();
        all.map_or(Ok(()), |all| all.spend_steps(steps))
    }

    pub(super) fn spend_bytes(&self, bytes: usize) -> Result<(), Exceeded> {
        spend(&self.bytes, bytes).ok_or(Exceeded::Bytes)?;
        let Some(all) = &self.all else {
            return Ok(());
        };
        all.spend_bytes(bytes)?;
        if self.bytes.load(Ordering::Relaxed) < WORK_LIMIT - FREE {
            self.turn.get_or_init(|| ALL_TURNS.take());
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn bytes_left(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A path of so many steps leads to where the rendering is.
    pub(super) fn came_to(&self, steps: usize) {
        self.longest_path.fetch_max(steps, Ordering::Relaxed);
    }

    pub(super) fn longest_path(&self) -> usize {
        self.longest_path.load(Ordering::Relaxed)
    }

    /// Notes what a call left out.
    pub(super) fn note(&self, labels: &Labels) {
        match &self.all {
            Some(all) => all.note(labels),
            None => lock(&self.labels).note(labels),
        }
    }

    /// What is told of labels that found no room in these.
    pub(super) fn warning(&self, rendered: &BTreeMap<String, String>) -> Option<String> {
        lock(&self.labels).warning(rendered)
    }

    /// Spends what a value takes. Looks no further into it than there is budget for.
    pub(super) fn spend_value(&self, value: &Value) -> Result<(), Exceeded> {
        let own = size_of::<Value>();
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.spend_bytes(own),
            Value::String(text) => self.spend_bytes(own + text.len()),
            Value::Array(items) => {
                self.spend_bytes(own)?;
                items.iter().try_for_each(|item| self.spend_value(item))
            }
            Value::Object(fields) => {
                self.spend_bytes(own)?;
                fields.iter().try_for_each(|(name, field)| {
                    self.spend_bytes(name.len())?;
                    self.spend_value(field)
                })
            }
        }
    }

    /// The limit that was reached, if one was.
    pub(super) fn exceeded(&self) -> Option<TemplateError> {
        if self.steps.load(Ordering::Relaxed) == 0 {
            Some(TemplateError::TooManySteps)
        } else if self.bytes.load(Ordering::Relaxed) == 0 {
            Some(TemplateError::TooMuchWork)
        } else {
            let all = self.all.as_ref()?;
            all.exceeded().map(|_| TemplateError::TooMuchTogether)
        }
    }
}

/// Takes from what is left; what is not enough is gone for good.
fn spend(left: &AtomicUsize, amount: usize) -> Option<()> {
    let rest = left.load(Ordering::Relaxed).saturating_sub(amount);
    left.store(rest, Ordering::Relaxed);
    (rest > 0).then_some(())
}
