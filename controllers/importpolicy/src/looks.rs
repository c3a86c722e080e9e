//! What looks at source objects have come to. Objects of a busy fleet change all the time, and to render the names of all of them for
//! each change would be the work of a whole core: only what is another object than at the last look is rendered. Pure.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use armadex_crds::is_subdomain;
use armadex_policy::{Found, Gvr, ObjectName, SecretNamespaces, template::TemplateData};

use crate::Compiled;

/// What has come of every object at the last look, for one generation of one policy.
#[derive(Debug, Default)]
pub struct Looks {
    known: HashMap<ObjectName, Look>,
    rendered: u64,
}

#[derive(Debug)]
struct Look {
    /// A watch gives the very same value as long as the object is the same. Held weakly: it is not kept for this.
    of: Weak<Found>,
    outcome: Outcome,
}

/// What an object is looked at with.
pub(crate) struct Rules<'a> {
    pub(crate) compiled: &'a Compiled,
    /// The kind of the objects.
    pub(crate) source: &'a Gvr,
    pub(crate) secrets: &'a SecretNamespaces,
}

/// What has become of one source object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Skipped,
    Named(String),
    Failed(String),
}

impl Looks {
    /// Objects that were rendered, over all looks.
    #[must_use]
    pub const fn rendered(&self) -> u64 {
        self.rendered
    }

    /// Objects of which it is known what has come of them.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Looks at every object that is not the one of the last look. What is gone is forgotten.
    pub(crate) fn refresh(&mut self, objects: &[Arc<Found>], rules: &Rules<'_>) {
        let mut before = std::mem::take(&mut self.known);
        self.known.reserve(objects.len());
        for object in objects {
            let (name, look) = match before.remove_entry(&object.name) {
                Some((name, look)) if look.is_of(object) => (name, look),
                _ => {
                    self.rendered += 1;
                    let (of, outcome) = (Arc::downgrade(object), look_at(rules, object));
                    (object.name.clone(), Look { of, outcome })
                }
            };
            self.known.insert(name, look);
        }
    }

    /// What has come of an object.
    pub(crate) fn of(&self, object: &Found) -> &Outcome {
        let look = self.known.get(&object.name);
        look.map_or(&Outcome::Skipped, |look| &look.outcome)
    }
}

#[cfg(test)]
impl Looks {
    /// At so many objects, of which none is there any more.
    pub(crate) fn at_gone(count: usize) -> Self {
        let name = |number: usize| ObjectName {
            namespace: String::new(),
            name: number.to_string(),
        };
        let look = || Look {
            of: Weak::new(),
            outcome: Outcome::Skipped,
        };
        Self {
            known: (0..count).map(|number| (name(number), look())).collect(),
            rendered: 0,
        }
    }
}

impl Look {
    fn is_of(&self, object: &Arc<Found>) -> bool {
        std::ptr::eq(self.of.as_ptr(), Arc::as_ptr(object))
    }
}

/// An object that is being deleted counts as gone: its credentials go at any moment.
fn look_at(rules: &Rules<'_>, object: &Found) -> Outcome {
    let Rules {
        compiled,
        source,
        secrets,
    } = rules;
    // What may not be read is not asked for.
    if object.deleting || secrets.check(source, &object.name.namespace).is_err() {
        return Outcome::Skipped;
    }
    let data = TemplateData::of(object.object.expose().clone());
    if let Some(selector) = &compiled.selector {
        match selector.says_true(&data) {
            Ok(true) => {}
            Ok(false) => return Outcome::Skipped,
            Err(error) => return Outcome::Failed(format!("source.selectorTemplate: {error}")),
        }
    }
    match compiled.name.render(&data) {
        Ok(name) if is_subdomain(name.trim()) => Outcome::Named(name.trim().to_owned()),
        Ok(name) => Outcome::Failed(format!(
            "nameTemplate: {:?} can't name an object",
            name.trim()
        )),
        Err(error) => Outcome::Failed(format!("nameTemplate: {error}")),
    }
}
