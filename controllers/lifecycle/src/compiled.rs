//! Compiled templates, kept for the next look. All lifecycles of a policy have the same, and each is looked at whenever its source changes:
//! what is known of a text, that it is not valid included, is not found out again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use armadex_control_plane::lock;
use armadex_crds::PediaClusterLifecycleSpec;
use armadex_policy::{Shelf, template::KEPT_LIMIT};
use serde_json::json;

use crate::{Compiled, Problem, validate};

pub(crate) type Compilation = Result<Arc<Compiled>, Problem>;

/// What is known of templates.
#[derive(Debug)]
pub(crate) struct Compilations {
    known: Mutex<Known>,
    /// One text is compiled at a time: those who want the same find it done, and a thousand different ones take one core.
    compiling: Mutex<()>,
}

/// By the text, which all lifecycles that have it share.
#[derive(Debug)]
struct Known {
    shelf: Shelf<Arc<str>, Compilation>,
    /// The text of each lifecycle, by its name.
    texts: HashMap<String, Arc<str>>,
    /// How many lifecycles have a text. What none has any more is kept no more.
    users: HashMap<Arc<str>, usize>,
}

impl Default for Compilations {
    fn default() -> Self {
        let known = Known {
            shelf: Shelf::with_room(KEPT_LIMIT),
            texts: HashMap::new(),
            users: HashMap::new(),
        };
        Self {
            known: Mutex::new(known),
            compiling: Mutex::default(),
        }
    }
}

impl Compilations {
    /// The templates of a lifecycle, or why they are not valid. Takes its time.
    pub(crate) fn of(&self, name: &str, spec: &PediaClusterLifecycleSpec) -> Compilation {
        let text = lock(&self.known).uses(name, &text_of(spec));
        let find = || lock(&self.known).shelf.get(&text);
        if let Some(known) = find() {
            return known;
        }
        let _one_at_a_time = lock(&self.compiling);
        if let Some(known) = find() {
            return known;
        }
        let outcome = validate(spec).map(Arc::new);
        lock(&self.known).keep(&text, outcome.clone());
        outcome
    }

    /// A lifecycle goes.
    pub(crate) fn forget(&self, name: &str) {
        lock(&self.known).forget(name);
    }
}

impl Known {
    /// The text that a lifecycle has from now on.
    fn uses(&mut self, name: &str, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(name)
            && **known == *text
        {
            return known.clone();
        }
        self.forget(name);
        let known = self.users.get_key_value(text);
        let text = known.map_or_else(|| text.into(), |(text, _)| text.clone());
        *self.users.entry(text.clone()).or_default() += 1;
        self.texts.insert(name.to_owned(), text.clone());
        text
    }

    /// Unless it may be found otherwise the next time, or nobody has the text any more.
    fn keep(&mut self, text: &Arc<str>, outcome: Compilation) {
        let may_pass = outcome.as_ref().is_err_and(|problem| problem.may_pass);
        if !may_pass && self.users.contains_key(text) {
            let users = |text: &Arc<str>| self.users.get(text).copied().unwrap_or_default();
            self.shelf.put(text.clone(), outcome, text.len(), users);
        }
    }

    fn forget(&mut self, name: &str) {
        let Some(text) = self.texts.remove(name) else {
            return;
        };
        if let Some(users) = self.users.get_mut(&text) {
            *users -= 1;
            if *users == 0 {
                self.users.remove(&text);
                self.shelf.remove(&text);
            }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

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
    fn lifecycles_with_the_same_templates_have_them_compiled_once_and_while_they_are_there() {
        let compilations = Compilations::default();
        let of = |name: &str, template: &str| compilations.of(name, &spec(name, template));
        let one = of("a", "{{source.a}}").unwrap();
        let same = of("b", "{{source.a}}").unwrap();
        assert!(Arc::ptr_eq(&one, &same));
        let other = of("a", "{{source.b}}").unwrap();
        assert!(!Arc::ptr_eq(&one, &other));
        let still = of("b", "{{source.a}}").unwrap();
        assert!(Arc::ptr_eq(&one, &still), "b has it yet");
        compilations.forget("b");
        let anew = of("c", "{{source.a}}").unwrap();
        assert!(!Arc::ptr_eq(&one, &anew), "nobody had it any more");
        for _ in 0..2 {
            let wrong = of("a", "{{nope}}").unwrap_err();
            let message = wrong.message;
            assert!(message.contains("nope is unknown"), "{message}");
        }
        let known = lock(&compilations.known);
        let text = text_of(&spec("a", "{{nope}}"));
        let kept = known.shelf.get(text.as_str());
        assert!(kept.is_some(), "that it is not valid is kept");
        assert_eq!((known.texts.len(), known.users.len()), (2, 2));
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
        let text = lock(&compilations.known).uses("a", &text_of(&spec));
        lock(&compilations.known).keep(&text, Err(no_thread));
        assert!(compilations.of("a", &spec).is_ok());
    }

    /// A lifecycle of the shipped policy that has the most to compile.
    fn longest_shipped() -> PediaClusterLifecycleSpec {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/policies");
        let files = std::fs::read_dir(folder).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let policies = files.filter(|path| path.extension().is_some_and(|end| end == "yaml"));
        let specs = policies.map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let mut spec = serde_saphyr::from_str::<Value>(&text).unwrap()["spec"].take();
            let source = json!({"version": "v1", "name": "member1"});
            spec["source"]
                .as_object_mut()
                .unwrap()
                .extend(source.as_object().unwrap().clone());
            let references = spec["references"].as_array().cloned();
            let mut references = references.unwrap_or_default();
            for reference in &mut references {
                reference["version"] = json!("v1");
            }
            spec["references"] = json!(references);
            serde_json::from_value::<PediaClusterLifecycleSpec>(spec).unwrap()
        });
        specs.max_by_key(|spec| text_of(spec).len()).unwrap()
    }

    #[test]
    fn those_of_two_hundred_policies_are_found_again_whoever_comes_in_turn() {
        let compilations = Compilations::default();
        let shipped = longest_shipped();
        let policies = |number: usize| {
            let mut spec = shipped.clone();
            spec.template = format!("# {number:03}\n{}", shipped.template).into();
            compilations.of(&format!("c{number}"), &spec)
        };
        let first: Vec<_> = (0..200).map(|number| policies(number).unwrap()).collect();
        let long = "x".repeat(60 * 1024);
        compilations.of("long", &spec("long", &long)).unwrap();
        let is_found = |(number, compiled)| Arc::ptr_eq(compiled, &policies(number).unwrap());
        assert!(first.iter().enumerate().all(is_found));
    }
}
