//! Compiled templates, kept for the next look. All lifecycles of a policy have the same, and each is looked at whenever its source changes:
//! what is known of a text, that it is not valid included, is not found out again.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use armadex_crds::PediaClusterLifecycleSpec;
use armadex_policy::template::KEPT_LIMIT;
use serde_json::json;

use crate::{Compiled, Problem, validate};

pub(crate) type Compilation = Result<Arc<Compiled>, Problem>;

/// What is known of templates.
#[derive(Debug, Default)]
pub(crate) struct Compilations {
    kept: Mutex<Kept>,
    /// One text is compiled at a time: those who want the same find it done, and a thousand different ones take one core.
    compiling: Mutex<()>,
}

/// By their text, the one that was wanted last at the end.
#[derive(Debug, Default)]
struct Kept {
    outcomes: VecDeque<(String, Compilation)>,
    bytes: usize,
}

impl Compilations {
    /// The templates of a lifecycle, or why they are not valid. Takes its time.
    pub(crate) fn of(&self, spec: &PediaClusterLifecycleSpec) -> Compilation {
        let text = text_of(spec);
        if let Some(known) = lock(&self.kept).find(&text) {
            return known;
        }
        let _one_at_a_time = lock(&self.compiling);
        if let Some(known) = lock(&self.kept).find(&text) {
            return known;
        }
        let outcome = validate(spec).map(Arc::new);
        lock(&self.kept).keep(text, outcome.clone());
        outcome
    }
}

impl Kept {
    fn find(&mut self, text: &str) -> Option<Compilation> {
        let place = self.outcomes.iter().rposition(|(of, _)| of == text)?;
        let found = self.outcomes.remove(place)?;
        let outcome = found.1.clone();
        self.outcomes.push_back(found);
        Some(outcome)
    }

    fn keep(&mut self, text: String, outcome: Compilation) {
        let may_pass = outcome.as_ref().is_err_and(|problem| problem.may_pass);
        if may_pass || text.len() > KEPT_LIMIT {
            return;
        }
        self.bytes += text.len();
        self.outcomes.push_back((text, outcome));
        while self.bytes > KEPT_LIMIT
            && let Some((oldest, _)) = self.outcomes.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }
}

/// All that is compiled, and nothing of the source object.
fn text_of(spec: &PediaClusterLifecycleSpec) -> String {
    let PediaClusterLifecycleSpec {
        source: _,
        references,
        template,
        creation_condition,
        template_engine,
    } = spec;
    json!([template_engine, references, template, creation_condition]).to_string()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn spec(name: &str, template: &str) -> PediaClusterLifecycleSpec {
        serde_json::from_value(json!({
            "source": {"group": "", "version": "v1", "resource": "configmaps", "name": name},
            "references": [],
            "template": template,
            "creationCondition": "true",
        }))
        .unwrap()
    }

    #[test]
    fn lifecycles_with_the_same_templates_have_them_compiled_once() {
        let compilations = Compilations::default();
        let one = compilations.of(&spec("a", "{{source.a}}")).unwrap();
        let same = compilations.of(&spec("b", "{{source.a}}")).unwrap();
        assert!(Arc::ptr_eq(&one, &same));
        let other = compilations.of(&spec("a", "{{source.b}}")).unwrap();
        assert!(!Arc::ptr_eq(&one, &other));
        for _ in 0..2 {
            let wrong = compilations.of(&spec("a", "{{nope}}")).unwrap_err();
            assert!(
                wrong.message.contains("nope is unknown"),
                "{}",
                wrong.message
            );
        }
        assert_eq!(
            lock(&compilations.kept).outcomes.len(),
            3,
            "that it is not valid is kept"
        );
    }

    #[test]
    fn that_there_was_no_thread_for_it_is_not_kept() {
        let compilations = Compilations::default();
        let spec = spec("a", "{{source.a}}");
        let no_thread = Problem {
            reason: armadex_crds::conditions::LifecycleReason::FailedCreationCondition,
            message: "creationCondition: there is no thread for the parser now".into(),
            may_pass: true,
        };
        lock(&compilations.kept).keep(text_of(&spec), Err(no_thread));
        assert!(compilations.of(&spec).is_ok());
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let compilations = Compilations::default();
        let long = "x".repeat(60 * 1024);
        let first = compilations.of(&spec("a", &long)).unwrap();
        for number in 0..20 {
            let text = format!("{number}{long}");
            compilations.of(&spec("a", &text)).unwrap();
            compilations.of(&spec("a", "often wanted")).unwrap();
        }
        let kept = lock(&compilations.kept);
        let bytes: usize = kept.outcomes.iter().map(|(text, _)| text.len()).sum();
        assert_eq!(kept.bytes, bytes);
        assert!(bytes <= KEPT_LIMIT && bytes > KEPT_LIMIT / 2, "{bytes}");
        assert!(
            kept.outcomes
                .iter()
                .any(|(text, _)| text.contains("often wanted"))
        );
        drop(kept);
        let again = compilations.of(&spec("a", &long)).unwrap();
        assert!(!Arc::ptr_eq(&first, &again), "it made room");
    }
}
