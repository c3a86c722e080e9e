//! What looks at source objects have come to. Objects of a busy fleet change all the time, and to render the names of all of them for
//! each change would be the work of a whole core: only where a part that the templates read of is another than at the last look is an object parsed
//! and rendered. What there is no room for is rendered at each look that goes over all. Pure.

mod skipped;

use std::{
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Weak},
};

use armadex_crds::is_subdomain;
use armadex_policy::{
    Found, Gvr, ObjectName, Room, SecretNamespaces, Share, template::TemplateData,
};

use crate::Compiled;
use skipped::Skipped;

/// What has come of every object at the last look, for one generation of one policy.
#[derive(Debug, Default)]
pub struct Looks {
    known: HashMap<ObjectName, Look>,
    skipped: Skipped,
    /// Nothing was left out for want of room: what is not known was not there.
    is_whole: bool,
    share: Share,
    rendered: u64,
    walked: u64,
}

#[derive(Debug)]
struct Look {
    /// A watch gives the very same value as long as the object is the same. Held weakly: it is not kept for this.
    of: Weak<Found>,
    /// The parts of it that something is read of, as a hash.
    read: u64,
    outcome: Verdict,
}

/// What an object came to and comes to; nothing where it was or is not there.
type Turn = (Option<Verdict>, Option<Verdict>);

/// What an object is looked at with.
pub(crate) struct Rules<'a> {
    pub(crate) compiled: &'a Compiled,
    /// The kind of the objects.
    pub(crate) source: &'a Gvr,
    pub(crate) secrets: &'a SecretNamespaces,
}

impl Rules<'_> {
    /// All that an object comes to something by, as a hash.
    fn read(&self, object: &Found) -> u64 {
        let mut hasher = DefaultHasher::new();
        object.deleting.hash(&mut hasher);
        let fields = object.object.fields();
        fields.digest(&self.compiled.reads).hash(&mut hasher);
        hasher.finish()
    }
}

/// What has become of one source object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Skipped,
    Named(String),
    Failed(String),
}

impl Looks {
    /// At nothing yet, in a room that others have a share in.
    pub(crate) fn within(room: Arc<Room>) -> Self {
        Self {
            share: Share::new(room),
            ..Self::default()
        }
    }

    /// Objects that were rendered, over all looks.
    #[must_use]
    pub const fn rendered(&self) -> u64 {
        self.rendered
    }

    /// Objects that were walked over because anything may have changed, over all looks.
    #[must_use]
    pub const fn walked(&self) -> u64 {
        self.walked
    }

    /// Looks at every object that is not the one of the last look. What is gone is forgotten.
    pub(crate) fn refresh(&mut self, objects: &[Arc<Found>], rules: &Rules<'_>) {
        let mut before = std::mem::take(&mut self.known);
        let mut skipped = Vec::new();
        self.walk(objects.len());
        for object in objects {
            let key = self.skipped.key(&object.name);
            if let Some(read) = self.skipped.get(key)
                && read == rules.read(object)
            {
                skipped.push((key, read));
                continue;
            }
            let known = before.remove_entry(&object.name);
            let known = known.and_then(|(name, mut look)| {
                let holds = look.holds_for(object, rules);
                holds.then_some((name, look))
            });
            let (name, look) = known.unwrap_or_else(|| {
                self.rendered += 1;
                (object.name.clone(), Look::at(object, rules))
            });
            match look.outcome {
                Verdict::Skipped => skipped.push((key, look.read)),
                Verdict::Named(_) | Verdict::Failed(_) => drop(self.known.insert(name, look)),
            }
        }
        self.skipped.are(skipped);
    }

    /// Looks at one that may have changed, come or gone. None if what it came to is not known any more.
    pub(crate) fn turn(
        &mut self,
        name: &ObjectName,
        object: Option<&Arc<Found>>,
        rules: &Rules<'_>,
    ) -> Option<Turn> {
        let Some(object) = object else {
            let before = self.forget(name);
            return (before.is_some() || self.is_whole).then_some((before, None));
        };
        if let Some(same) = self.known_of(object, rules) {
            return Some((Some(same.clone()), Some(same)));
        }
        let before = self.forget(name);
        if before.is_none() && !self.is_whole {
            return None;
        }
        self.rendered += 1;
        let now = Look::at(object, rules);
        let after = now.outcome.clone();
        match after {
            Verdict::Skipped => self.skipped.insert(self.skipped.key(name), now.read),
            Verdict::Named(_) | Verdict::Failed(_) => drop(self.known.insert(name.clone(), now)),
        }
        Some((before, Some(after)))
    }

    /// What an object comes to, if that is known without rendering.
    fn known_of(&mut self, object: &Arc<Found>, rules: &Rules<'_>) -> Option<Verdict> {
        if let Some(look) = self.known.get_mut(&object.name) {
            return look.holds_for(object, rules).then(|| look.outcome.clone());
        }
        let read = self.skipped.get(self.skipped.key(&object.name))?;
        (read == rules.read(object)).then_some(Verdict::Skipped)
    }

    /// What an object came to.
    fn forget(&mut self, name: &ObjectName) -> Option<Verdict> {
        if let Some(look) = self.known.remove(name) {
            return Some(look.outcome);
        }
        let key = self.skipped.key(name);
        self.skipped.remove(key).then_some(Verdict::Skipped)
    }

    /// Whether what is not known was not there at the last look.
    pub(crate) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The objects that come to one of these names. All of them, if this is whole.
    pub(crate) fn named(&self, names: &BTreeSet<String>) -> Vec<ObjectName> {
        let is_one = |look: &Look| match &look.outcome {
            Verdict::Named(name) => names.contains(name),
            Verdict::Skipped | Verdict::Failed(_) => false,
        };
        let found = self.known.iter().filter(|(_, look)| is_one(look));
        found.map(|(name, _)| name.clone()).collect()
    }

    /// Whether what is known of an object is of this very one.
    pub(crate) fn is_of(&self, object: &Arc<Found>) -> bool {
        let look = self.known.get(&object.name);
        look.is_some_and(|look| look.is_of(object))
    }

    /// A plan goes over so many objects.
    pub(crate) fn walk(&mut self, objects: usize) {
        self.walked += objects as u64;
    }

    /// Forgets what there is no room for, and first what does not count: it is told sooner what that comes to.
    pub(crate) fn fit(&mut self) {
        let all = self.bytes();
        let mut left = self.share.resize(all);
        self.is_whole = left == all;
        if self.is_whole {
            return;
        }
        self.known.retain(|name, look| {
            let rest = left.checked_sub(look.bytes(name));
            left = rest.unwrap_or(left);
            rest.is_some()
        });
        self.known.shrink_to_fit();
        self.skipped.limit(left / Skipped::BYTES);
    }

    fn bytes(&self) -> usize {
        let each = self.known.iter().map(|(name, look)| look.bytes(name));
        each.sum::<usize>() + self.skipped.bytes()
    }

    /// What has come of an object.
    pub(crate) fn of(&self, object: &Found) -> &Verdict {
        let look = self.known.get(&object.name);
        look.map_or(&Verdict::Skipped, |look| &look.outcome)
    }
}

impl Look {
    /// Of a table that grows a place or so is free for each that is taken.
    const PLACE: usize = 2 * size_of::<(ObjectName, Self)>();

    fn at(object: &Arc<Found>, rules: &Rules<'_>) -> Self {
        Self {
            of: Arc::downgrade(object),
            read: rules.read(object),
            outcome: look_at(rules, object),
        }
    }

    /// Whether an object comes to the same: it is the very one, or nothing that is read of it has changed.
    fn holds_for(&mut self, object: &Arc<Found>, rules: &Rules<'_>) -> bool {
        if self.is_of(object) {
            return true;
        }
        let is_same = self.read == rules.read(object);
        if is_same {
            self.of = Arc::downgrade(object);
        }
        is_same
    }

    /// What it takes under a name.
    fn bytes(&self, name: &ObjectName) -> usize {
        let ObjectName { namespace, name } = name;
        let text = match &self.outcome {
            Verdict::Skipped => 0,
            Verdict::Named(text) | Verdict::Failed(text) => text.capacity(),
        };
        Self::PLACE + namespace.capacity() + name.capacity() + text
    }

    fn is_of(&self, object: &Arc<Found>) -> bool {
        std::ptr::eq(self.of.as_ptr(), Arc::as_ptr(object))
    }
}

/// An object that is being deleted counts as gone: its credentials go at any moment.
fn look_at(rules: &Rules<'_>, object: &Found) -> Verdict {
    let Rules {
        compiled,
        source,
        secrets,
    } = rules;
    // What may not be read is not asked for.
    if object.deleting || secrets.check_object(source, &object.name).is_err() {
        return Verdict::Skipped;
    }
    let lacks = |reads| object.object.lacks(reads).map(Verdict::Failed);
    let data = TemplateData::of(object.object.read_of(&compiled.reads));
    if let Some(selector) = &compiled.selector {
        if let Some(failed) = lacks(selector.reads()) {
            return failed;
        }
        match selector.says_true(&data) {
            Ok(true) => {}
            Ok(false) => return Verdict::Skipped,
            Err(error) => return failed("source.selectorTemplate", format_args!("{error}")),
        }
    }
    if let Some(failed) = lacks(compiled.name.reads()) {
        return failed;
    }
    match compiled.name.render(&data) {
        Ok(name) if is_subdomain(name.trim()) => Verdict::Named(name.trim().to_owned()),
        Ok(name) => failed(
            "nameTemplate",
            format_args!("{:?} can't name an object", beginning(name.trim(), TOLD)),
        ),
        Err(error) => failed("nameTemplate", format_args!("{error}")),
    }
}

/// Bytes of a name that are told. What is told is kept for each object, and the room for that is shared by all policies.
const TOLD: usize = 300;
/// Bytes of words. They quote a name, with an escape for each of its letters at the worst.
const WORDS: usize = 4 * TOLD;

fn failed(field: &str, words: std::fmt::Arguments<'_>) -> Verdict {
    let words = words.to_string();
    Verdict::Failed(format!("{field}: {}", beginning(&words, WORDS)))
}

fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use armadex_crds::ClusterImportPolicy;
    use serde_json::json;

    use super::*;
    use crate::validate;

    const OBJECTS: usize = 100;

    fn objects() -> Vec<Arc<Found>> {
        let object = |number: usize| Found {
            name: ObjectName {
                namespace: String::new(),
                name: format!("c{number}"),
            },
            deleting: false,
            object: json!({"metadata": {"name": format!("c{number}")}}).into(),
        };
        (0..OBJECTS)
            .map(|number| Arc::new(object(number)))
            .collect()
    }

    /// What is rendered of them, and what is known of them afterwards.
    fn look(looks: &mut Looks, objects: &[Arc<Found>]) -> (usize, usize) {
        let rendered = refresh(looks, objects, "");
        let is_named =
            |object: &Arc<Found>| *looks.of(object) == Verdict::Named(object.name.name.clone());
        assert!(objects.iter().all(is_named), "whatever there is room for");
        looks.fit();
        (rendered, looks.known.len())
    }

    /// What is rendered of them with this selector.
    fn refresh(looks: &mut Looks, objects: &[Arc<Found>], selector: &str) -> usize {
        let policy: ClusterImportPolicy = serde_json::from_value(json!({"metadata": {}, "spec": {
            "source": {"group": "", "resource": "clusters", "selectorTemplate": selector},
            "nameTemplate": "{{source.metadata.name}}",
            "template": "",
            "creationCondition": "true",
        }}))
        .expect("a policy");
        let rules = Rules {
            compiled: &validate(&policy.spec).expect("valid"),
            source: &Gvr {
                group: "cluster.karmada.io".into(),
                version: "v1alpha1".into(),
                resource: "clusters".into(),
            },
            secrets: &SecretNamespaces::default(),
        };
        let before = looks.rendered();
        looks.refresh(objects, &rules);
        (looks.rendered() - before) as usize
    }

    #[test]
    fn what_a_policy_does_not_select_takes_next_to_no_room_and_is_rendered_once() {
        let objects = objects();
        let mut looks = Looks::default();
        let selector = "{{eq source.metadata.name \"c7\"}}";
        assert_eq!(refresh(&mut looks, &objects, selector), OBJECTS);
        assert_eq!(refresh(&mut looks, &objects, selector), 0);
        assert_eq!((looks.known.len(), looks.skipped.bytes()), (1, 99 * 16));
        looks.fit();
        assert_eq!(refresh(&mut looks, &objects, selector), 0);
        // Of two hundred policies, with names of thirty letters.
        let one_each = 5_000 * 16 + 25 * (Look::PLACE + 60);
        assert!(200 * one_each <= crate::context::ROOM);
    }

    #[test]
    fn what_is_told_of_a_name_is_short_however_long_it_is() {
        let told = |name: &str| match failed("nameTemplate", format_args!("{name:?} is none")) {
            Verdict::Failed(words) => words,
            other => panic!("{other:?}"),
        };
        assert_eq!(told("a b"), r#"nameTemplate: "a b" is none"#);
        let long = "\u{1f600}".repeat(1 << 18);
        assert!(told(beginning(&long, TOLD)).ends_with(" is none"));
        assert!(told(&long).len() <= "nameTemplate: ".len() + WORDS);
    }

    #[test]
    fn no_more_is_kept_of_all_looks_together_than_there_is_room_for() {
        let objects = objects();
        let mut alone = Looks::default();
        assert_eq!(look(&mut alone, &objects), (OBJECTS, OBJECTS));
        let each = alone.bytes() / OBJECTS;
        let room = Room::of(150 * each);
        let [mut one, mut other, mut last] = [(); 3].map(|()| Looks::within(room.clone()));
        assert_eq!(look(&mut one, &objects), (100, 100));
        let (_, kept) = look(&mut other, &objects);
        assert!((40..60).contains(&kept), "{kept} are kept");
        assert_eq!(look(&mut last, &objects), (100, 0));
        let all: usize = [&one, &other, &last].map(Looks::bytes).iter().sum();
        assert!(all <= 150 * each, "{all} bytes");
        assert_eq!(look(&mut other, &objects), (100 - kept, kept));
        drop(one);
        assert_eq!(look(&mut last, &objects), (100, 100), "it was given back");
    }
}
