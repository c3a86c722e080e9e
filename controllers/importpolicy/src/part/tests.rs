//! Whatever changes, and however late watches tell of it, a part comes to what all comes to.

use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;

use armadex_crds::ClusterImportPolicy;
use armadex_policy::{Gvr, SecretNamespaces};
use kube::ResourceExt;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use super::*;
use crate::Leaving;
use crate::Problem;
use crate::news::{Aside, Changed};
use crate::plan::is_ours;
use crate::{Compiled, validate};
use armadex_policy::Room;

/// What a watch tells, in the order in which it happened; nothing for what is gone.
enum Event {
    Source(ObjectName, Option<Arc<Found>>),
    Lifecycle(String, Option<Arc<PediaClusterLifecycle>>),
}

/// A control plane, and what a policy has been told of it.
struct World {
    policy: ClusterImportPolicy,
    compiled: Compiled,
    source: Gvr,
    secrets: SecretNamespaces,
    /// What is there.
    lifecycles: BTreeMap<String, Arc<PediaClusterLifecycle>>,
    /// What watches have told of.
    seen: BTreeMap<String, Arc<PediaClusterLifecycle>>,
    objects: BTreeMap<ObjectName, Arc<Found>>,
    /// What they have not told yet: sources and lifecycles are watched each for themselves.
    untold: [VecDeque<Event>; 2],
    /// What they have told since the last look.
    changed: Changed,
    /// Lifecycles of others that changed.
    of_others: BTreeSet<String>,
    version: u32,
}

impl Known for World {
    fn object(&self, name: &ObjectName) -> Option<Arc<Found>> {
        self.objects.get(name).cloned()
    }

    fn lifecycle(&self, name: &str) -> Option<Arc<PediaClusterLifecycle>> {
        self.seen.get(name).cloned()
    }
}

/// What is to be done, by name.
#[derive(Debug, Default, PartialEq, Eq)]
struct ToDo {
    create: BTreeMap<String, ObjectName>,
    update: BTreeMap<String, ObjectName>,
    delete: BTreeSet<String>,
    wanted: usize,
    problems: BTreeSet<String>,
}

impl ToDo {
    fn of(plan: &Plan) -> Self {
        let named = |lifecycles: &[PediaClusterLifecycle]| {
            let each = lifecycles.iter();
            let each = each.map(|one| (one.name_any(), ObjectName::from(&one.spec.source)));
            each.collect()
        };
        Self {
            create: named(&plan.create),
            update: named(&plan.update),
            delete: plan.delete.iter().map(|one| one.name.clone()).collect(),
            wanted: plan.wanted,
            problems: in_words(&plan.problems),
        }
    }

    /// What is to be done with a lifecycle.
    fn with(&self, name: &str) -> [Option<&ObjectName>; 3] {
        let delete = self.delete.contains(name).then_some(&*GONE);
        [self.create.get(name), self.update.get(name), delete]
    }

    fn names(&self) -> BTreeSet<&String> {
        let made = self.create.keys().chain(self.update.keys());
        made.chain(&self.delete).collect()
    }

    /// A part does what a plan of everything does, but for what was done and has not come back yet: that the latter does again.
    fn is_enough_for(&self, everything: &Self, untold: &BTreeSet<String>) -> bool {
        let of_part = |name: &&String| self.with(name) == everything.with(name);
        let of_all = |name: &&String| untold.contains(*name) || self.names().contains(*name);
        self.wanted == everything.wanted
            && (self.problems == everything.problems || !untold.is_empty())
            && self.names().iter().all(of_part)
            && everything.names().iter().all(of_all)
    }
}

fn in_words(problems: &[Problem]) -> BTreeSet<String> {
    let words = |problem: &Problem| format!("{}: {}", problem.subject, problem.message);
    problems.iter().map(words).collect()
}

/// Stands for being gone.
static GONE: LazyLock<ObjectName> = LazyLock::new(|| object_name(0));

/// Of two namespaces, so that one name may be wanted from either.
fn object_name(number: u32) -> ObjectName {
    ObjectName {
        namespace: format!("ns{}", number % 2),
        name: format!("o{}", number / 2),
    }
}

impl World {
    fn new() -> Self {
        let policy: ClusterImportPolicy = serde_json::from_value(json!({
            "metadata": {"name": "p", "uid": "policy"},
            "spec": {
                "source": {"group": "g", "resource": "clusters",
                    "selectorTemplate": "{{eq source.counts true}}"},
                "references": [],
                "nameTemplate": "{{source.called}}",
                "template": "spec: {syncResources: []}",
                "creationCondition": "true",
            },
        }))
        .expect("a policy");
        Self {
            compiled: validate(&policy.spec).expect("valid"),
            policy,
            source: Gvr {
                group: "g".to_owned(),
                version: "v1".to_owned(),
                resource: "clusters".to_owned(),
            },
            secrets: SecretNamespaces::default(),
            lifecycles: BTreeMap::new(),
            seen: BTreeMap::new(),
            objects: BTreeMap::new(),
            untold: [VecDeque::new(), VecDeque::new()],
            changed: Changed::default(),
            of_others: BTreeSet::new(),
            version: 1,
        }
    }

    fn facts<'a>(
        &'a self,
        objects: &'a [Arc<Found>],
        lifecycles: &'a [Arc<PediaClusterLifecycle>],
    ) -> Facts<'a> {
        Facts {
            policy: &self.policy,
            compiled: &self.compiled,
            source: &self.source,
            versions: &[],
            objects,
            lifecycles,
            secrets: &self.secrets,
        }
    }

    /// What all that was told comes to.
    fn everything(&self, looks: &mut Looks) -> Plan {
        let objects: Vec<_> = self.objects.values().cloned().collect();
        let lifecycles: Vec<_> = self.seen.values().cloned().collect();
        crate::plan(&self.facts(&objects, &lifecycles), looks)
    }

    fn set_object(&mut self, name: ObjectName, object: Option<Value>) {
        let found = object.map(|object| {
            Arc::new(Found {
                name: name.clone(),
                deleting: object["deleting"] == true,
                object: object.into(),
            })
        });
        self.untold[0].push_back(Event::Source(name, found));
    }

    fn set_lifecycle(&mut self, name: &str, lifecycle: Option<PediaClusterLifecycle>) {
        self.version += 1;
        let version = self.version.to_string();
        let lifecycle = lifecycle.map(|mut lifecycle| {
            lifecycle.metadata.resource_version = Some(version);
            Arc::new(lifecycle)
        });
        match lifecycle.clone() {
            Some(lifecycle) => drop(self.lifecycles.insert(name.to_owned(), lifecycle)),
            None if self.lifecycles.remove(name).is_none() => return,
            None => {}
        }
        self.untold[1].push_back(Event::Lifecycle(name.to_owned(), lifecycle));
    }

    /// Changes one that is there.
    fn edit(&mut self, name: &str, edit: impl FnOnce(&mut PediaClusterLifecycle)) {
        if let Some(known) = self.lifecycles.get(name) {
            let mut edited = PediaClusterLifecycle::clone(known);
            edit(&mut edited);
            self.set_lifecycle(name, Some(edited));
        }
    }

    /// Something that platforms and people do.
    fn happens(&mut self, chance: &mut StdRng) {
        let object = object_name(chance.random_range(0..12));
        let lifecycle = format!("l{}", chance.random_range(0..6));
        match chance.random_range(0..14) {
            0..=6 => {
                let called = match chance.random_range(0..30) {
                    0 => "No Name".to_owned(),
                    1..=2 => lifecycle,
                    // Two of different namespaces have one name, mostly one after the other.
                    _ => object.name.replace('o', "l"),
                };
                let object_now = json!({"called": called, "counts": chance.random_bool(0.6),
                    "deleting": chance.random_bool(0.1), "beat": chance.random::<u32>()});
                self.set_object(object, Some(object_now));
            }
            7..=9 => self.set_object(object, None),
            10 => self.set_lifecycle(&lifecycle, None),
            11 => self.edit(&lifecycle, |edited| {
                edited.spec.template = "edited".into();
            }),
            12 => self.edit(&lifecycle, |moved| {
                moved.spec.source.namespace = object.namespace;
                moved.spec.source.name = object.name;
            }),
            _ => self.edit(&lifecycle, |given| given.metadata.owner_references = None),
        }
    }

    /// Some of what happened is told.
    fn tell(&mut self, chance: &mut StdRng) {
        for watch in 0..2 {
            for _ in 0..chance.random_range(0..4) {
                match self.untold[watch].pop_front() {
                    Some(Event::Source(name, Some(found))) => {
                        self.objects.insert(name.clone(), found);
                        self.changed.sources.insert(Arc::new(name));
                    }
                    Some(Event::Source(name, None)) => {
                        self.objects.remove(&name);
                        self.changed.sources.insert(Arc::new(name));
                    }
                    Some(Event::Lifecycle(name, now)) => self.tell_lifecycle(&name, now),
                    None => {}
                }
            }
        }
    }

    fn tell_lifecycle(&mut self, name: &str, now: Option<Arc<PediaClusterLifecycle>>) {
        let before = match now.clone() {
            Some(now) => self.seen.insert(name.to_owned(), now),
            None => self.seen.remove(name),
        };
        for told in before.into_iter().chain(now) {
            if is_ours(&self.policy, &told) {
                let source = ObjectName::from(&told.spec.source);
                self.changed.sources.insert(Arc::new(source));
                self.changed.lifecycles.insert(name.to_owned());
            } else {
                self.of_others.insert(name.to_owned());
            }
        }
    }

    /// The lifecycles of which something has not been told.
    fn untold(&self) -> BTreeSet<String> {
        let name = |event: &Event| match event {
            Event::Lifecycle(name, _) => Some(name.clone()),
            Event::Source(..) => None,
        };
        self.untold[1].iter().filter_map(name).collect()
    }

    /// What changed since a look that has settled. For a name of somebody else that may be free everything is looked at, at a time of its own.
    fn since(&mut self, settled: Option<Option<Totals>>) -> Option<Since> {
        let changed = std::mem::take(&mut self.changed);
        let of_others = std::mem::take(&mut self.of_others);
        let totals = settled?;
        let aside = totals.as_ref().map(|totals| &totals.aside.names);
        if aside.is_some_and(|names| !names.is_disjoint(&of_others)) {
            return None;
        }
        Some(Since {
            changed,
            totals,
            again_at: None,
        })
    }

    /// As an API server takes it; whether all of it was taken.
    fn carry_out(&mut self, plan: &Plan) -> bool {
        let mut is_done = true;
        for Leaving { name, uid, .. } in &plan.delete {
            let present = self.lifecycles.get(name);
            if present.is_some_and(|present| present.uid().as_ref() == Some(uid)) {
                self.set_lifecycle(name, None);
            }
        }
        for made in &plan.create {
            let name = made.name_any();
            if self.lifecycles.contains_key(&name) {
                is_done = false;
                continue;
            }
            let mut made = made.clone();
            made.metadata.uid = Some(format!("lifecycle-{}", self.version));
            self.set_lifecycle(&name, Some(made));
        }
        for changed in &plan.update {
            let name = changed.name_any();
            let present = self.lifecycles.get(&name);
            let is_it = present.is_some_and(|present| {
                present.metadata.resource_version == changed.metadata.resource_version
            });
            match is_it {
                true => self.set_lifecycle(&name, Some(changed.clone())),
                false => is_done = false,
            }
        }
        is_done
    }
}

/// All that there is once a plan has been carried out.
fn totals_of(plan: Plan, objects: usize) -> Totals {
    let aside = Aside {
        problems: plan.problems,
        names: plan.troubled,
    };
    Totals {
        objects,
        lifecycles: plan.wanted,
        aside: Arc::new(aside),
    }
}

/// How often a part was enough, of how many looks.
fn looks_of(seed: u64) -> (usize, usize) {
    let chance = &mut StdRng::seed_from_u64(seed);
    // In some there is no room for what came of all objects.
    let room = if seed.is_multiple_of(5) { 700 } else { 1 << 20 };
    let (mut world, mut looks) = (World::new(), Looks::within(Room::of(room)));
    // None: something was left to do.
    let mut settled: Option<Option<Totals>> = None;
    let (mut parts, steps) = (0, 80);
    for step in 0..steps {
        let at = format!("seed {seed} step {step}");
        for _ in 0..chance.random_range(0..3) {
            world.happens(chance);
        }
        world.tell(chance);
        let since = world.since(settled.take());
        let expected = world.everything(&mut Looks::default());
        let to_do = ToDo::of(&expected);
        let outcome = since.as_ref().map_or(Outcome::Unclear, |since| {
            part(&world.facts(&[], &[]), since, &world, &mut looks)
        });
        let (plan, objects) = match outcome {
            Outcome::Unclear => (world.everything(&mut looks), world.objects.len()),
            Outcome::Same(totals) => {
                parts += 1;
                if let Some(totals) = &totals {
                    let part = ToDo {
                        wanted: totals.lifecycles,
                        problems: in_words(&totals.aside.problems),
                        ..ToDo::default()
                    };
                    assert!(
                        part.is_enough_for(&to_do, &world.untold()),
                        "{at}: {to_do:?}"
                    );
                    assert_eq!(totals.objects, world.objects.len(), "{at}");
                }
                settled = Some(totals);
                continue;
            }
            Outcome::Plan(part) => {
                parts += 1;
                let of_part = ToDo::of(&part.plan);
                let untold = world.untold();
                assert!(
                    of_part.is_enough_for(&to_do, &untold),
                    "{at}: {of_part:?} {to_do:?} {untold:?}"
                );
                (part.plan, part.objects)
            }
        };
        assert_eq!(objects, world.objects.len(), "{at}");
        let is_done = world.carry_out(&plan);
        settled = is_done.then(|| Some(totals_of(plan, objects)));
    }
    (parts, steps)
}

#[test]
fn whatever_changes_a_part_comes_to_what_all_comes_to() {
    let (mut parts, mut steps) = (0, 0);
    for seed in 0..200 {
        let (of, in_all) = looks_of(seed);
        (parts, steps) = (parts + of, steps + in_all);
    }
    assert!(parts * 5 > steps, "{parts} of {steps} were parts");
}
