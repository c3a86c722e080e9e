//! What a few changes come to, without going over all objects and all lifecycles: a plan of the part of them that the changes concern. Pure.
//!
//! It stands on the look before, after which nothing was left to do and each object that counts had the lifecycle of its name, but for a few with problems
//! that have nothing to do with what changed and stay. Whatever else is found is unclear, and for a plan of everything.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use armadex_crds::PediaClusterLifecycle;
use armadex_policy::{Found, ObjectName};

use crate::{
    Plan,
    looks::{Looks, Verdict},
    news::{Since, Totals},
    plan::{Facts, decide},
};

/// Where objects and lifecycles are found by name.
pub(crate) trait Known {
    /// A source object.
    fn object(&self, name: &ObjectName) -> Option<Arc<Found>>;
    /// A lifecycle, whosever it is.
    fn lifecycle(&self, name: &str) -> Option<Arc<PediaClusterLifecycle>>;
}

/// What changes come to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// What everything came to at the last look; and how many there were.
    Same(Option<Totals>),
    /// This is to be done.
    Plan(Part),
    /// Nobody knows without looking at everything.
    Unclear,
}

/// A plan of a part, whose totals are those of all.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) plan: Plan,
    pub(crate) objects: usize,
    /// Those that were looked at.
    pub(crate) lifecycles: Vec<Arc<PediaClusterLifecycle>>,
}

/// Makes it. `facts` are those of the policy, with no objects and no lifecycles.
pub(crate) fn part(
    facts: &Facts<'_>,
    since: &Since,
    known: &impl Known,
    looks: &mut Looks,
) -> Outcome {
    let Some(turned) = Turned::of(facts, since, known, looks) else {
        return Outcome::Unclear;
    };
    if turned.is_same && since.changed.lifecycles.is_empty() {
        return Outcome::Same(since.totals.clone());
    }
    let Some(totals) = &since.totals else {
        return Outcome::Unclear;
    };
    turned
        .plan(facts, totals, known, looks)
        .map_or(Outcome::Unclear, Outcome::Plan)
}

/// What has become of the objects that changed.
#[derive(Default)]
struct Turned {
    /// All of them come to what they came to.
    is_same: bool,
    /// Something could not be rendered, before or now: what it has stays, whatever that is.
    has_failed: bool,
    /// Those that are there.
    objects: BTreeMap<ObjectName, Arc<Found>>,
    /// Names that are concerned.
    names: BTreeSet<String>,
    /// Those of them that there were lifecycles for.
    before: HashSet<String>,
    /// Objects that came, and that went.
    came: usize,
    went: usize,
}

impl Turned {
    /// None if it is not known what one of them came to.
    fn of(facts: &Facts<'_>, since: &Since, known: &impl Known, looks: &mut Looks) -> Option<Self> {
        let rules = facts.rules();
        let mut turned = Self {
            is_same: true,
            names: since.changed.lifecycles.iter().cloned().collect(),
            ..Self::default()
        };
        for name in &since.changed.sources {
            let object = known.object(name);
            let (before, now) = looks.turn(name, object.as_ref(), &rules)?;
            turned.is_same &= before == now;
            turned.came += usize::from(before.is_none() && now.is_some());
            turned.went += usize::from(before.is_some() && now.is_none());
            for (verdict, is_before) in [(before, true), (now, false)] {
                match verdict {
                    None | Some(Verdict::Skipped) => {}
                    Some(Verdict::Failed(_)) => turned.has_failed = true,
                    Some(Verdict::Named(name)) => {
                        if is_before {
                            turned.before.insert(name.clone());
                        }
                        turned.names.insert(name);
                    }
                }
            }
            turned
                .objects
                .extend(object.map(|object| (ObjectName::clone(name), object)));
        }
        Some(turned)
    }

    fn plan(
        mut self,
        facts: &Facts<'_>,
        totals: &Totals,
        known: &impl Known,
        looks: &mut Looks,
    ) -> Option<Part> {
        if self.has_failed || !looks.is_whole() {
            return None;
        }
        if !self.names.is_disjoint(&totals.aside.names) {
            return None;
        }
        self.add_others(known, looks)?;
        let names = self.names.iter();
        let lifecycles: Vec<_> = names.filter_map(|name| known.lifecycle(name)).collect();
        let objects: Vec<_> = std::mem::take(&mut self.objects).into_values().collect();
        looks.walk(objects.len());
        let facts = Facts {
            objects: &objects,
            lifecycles: &lifecycles,
            ..*facts
        };
        let mut plan = decide(&facts, looks);
        looks.fit();
        if !plan.problems.is_empty() {
            return None;
        }
        let others = totals.lifecycles.checked_sub(self.before.len())?;
        plan.wanted += others;
        plan.problems.clone_from(&totals.aside.problems);
        plan.troubled.clone_from(&totals.aside.names);
        let objects = (totals.objects + self.came).checked_sub(self.went)?;
        Some(Part {
            plan,
            objects,
            lifecycles,
        })
    }

    /// Objects that did not change and come to a name that is concerned. Lifecycles do not say who they are: what a watch has told of one may be older than
    /// what this policy has made of it. None if one of them has changed and nobody has told of it yet.
    fn add_others(&mut self, known: &impl Known, looks: &Looks) -> Option<()> {
        for name in looks.named(&self.names) {
            if self.objects.contains_key(&name) {
                continue;
            }
            let object = known.object(&name).filter(|object| looks.is_of(object))?;
            if let Verdict::Named(to) = looks.of(&object) {
                self.before.insert(to.clone());
            }
            self.objects.insert(name, object);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
