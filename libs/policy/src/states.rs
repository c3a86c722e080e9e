//! How many of the objects that a controller follows do what they say, and how many something stands in the way of: read off what is known of them when
//! somebody asks, so that nothing is counted twice or left behind.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use armadex_control_plane::lock;
use armadex_crds::conditions::ConditionStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, runtime::reflector::Store};

/// How many there are of each. One that nothing was said of yet is neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States {
    /// What they say is so, or waits for nothing but its time.
    pub working: u64,
    /// Something stands in the way of some of what they are about.
    pub partly: u64,
    /// Something stands in the way.
    pub failing: u64,
}

/// How one of them is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// What it says is so, or waits for nothing but its time.
    Works,
    /// Something stands in the way of some of what it is about.
    WorksPartly,
    /// Something stands in the way.
    Fails,
}

/// What conditions say: each is true, or is not yet for one of the reasons that are `usual`; it is not for one that is of a `part` alone; or else. Nothing where there are
/// none.
#[must_use]
pub fn state(conditions: &[Condition], usual: &[&str], part: &[&str]) -> Option<State> {
    let is_well = |condition: &&Condition| {
        condition.status == ConditionStatus::True.as_str()
            || usual.contains(&condition.reason.as_str())
    };
    let mut wrong = conditions
        .iter()
        .filter(|condition| !is_well(condition))
        .peekable();
    let is_right = wrong.peek().is_none();
    let is_part = wrong.all(|condition| part.contains(&condition.reason.as_str()));
    (!conditions.is_empty()).then_some(match (is_right, is_part) {
        (true, _) => State::Works,
        (false, true) => State::WorksPartly,
        (false, false) => State::Fails,
    })
}

type Tell = Box<dyn Fn() -> States + Send>;

/// Whoever can be asked, if somebody follows objects now.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Option<Tell>>>);

/// Tells how they are for as long as it lives.
#[must_use]
pub(crate) struct TellsStates(Told);

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now().fmt(f)
    }
}

impl Told {
    /// How they are now; none are where nobody follows them.
    pub(crate) fn now(&self) -> States {
        lock(&self.0)
            .as_ref()
            .map(|tell| tell())
            .unwrap_or_default()
    }

    /// Of these objects from now on. `state` says how one is; nothing where that is not known.
    pub(crate) fn tell<K>(&self, objects: Store<K>, state: fn(&K) -> Option<State>) -> TellsStates
    where
        K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
    {
        let count = move || {
            let mut states = States::default();
            for object in objects.state() {
                match state(&object) {
                    Some(State::Works) => states.working += 1,
                    Some(State::WorksPartly) => states.partly += 1,
                    Some(State::Fails) => states.failing += 1,
                    None => {}
                }
            }
            states
        };
        *lock(&self.0) = Some(Box::new(count));
        TellsStates(self.clone())
    }
}

impl Drop for TellsStates {
    fn drop(&mut self) {
        // What it holds goes when nothing is locked.
        let told = lock(&self.0.0).take();
        drop(told);
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Namespace;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;
    use kube::runtime::{reflector, watcher::Event};

    use super::*;

    #[test]
    fn what_is_wrong_with_some_is_not_what_is_wrong_with_all() {
        let condition = |(status, reason): &(&str, &str)| Condition {
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
            message: String::new(),
            observed_generation: None,
            reason: (*reason).to_owned(),
            status: (*status).to_owned(),
            type_: "T".to_owned(),
        };
        for (conditions, expected) in [
            (&[][..], None),
            (&[("True", "A")], Some(State::Works)),
            (&[("True", "A"), ("False", "Waits")], Some(State::Works)),
            (
                &[("True", "A"), ("False", "Some")],
                Some(State::WorksPartly),
            ),
            (&[("False", "B"), ("False", "Some")], Some(State::Fails)),
            (&[("Unknown", "B")], Some(State::Fails)),
        ] {
            let conditions: Vec<Condition> = conditions.iter().map(condition).collect();
            let found = state(&conditions, &["Waits"], &["Some"]);
            assert_eq!(found, expected, "{conditions:?}");
        }
    }

    #[test]
    fn objects_are_counted_as_they_are_known_and_no_more_when_nobody_follows_them() {
        let (store, mut writer) = reflector::store();
        let told = Told::default();
        let tells = told.tell(store, |object: &Namespace| {
            let labels = object.metadata.labels.as_ref()?;
            let works = labels.contains_key("works");
            Some(if works { State::Works } else { State::Fails })
        });
        let object = |name: &str, label: Option<&str>| {
            let mut object = Namespace::default();
            object.metadata.name = Some(name.to_owned());
            let label = label.map(|label| [(label.to_owned(), String::new())].into());
            object.metadata.labels = label;
            object
        };
        let mut counted = |event: Event<Namespace>| {
            writer.apply_watcher_event(&event);
            let States {
                working,
                partly,
                failing,
            } = told.now();
            assert_eq!(partly, 0);
            (working, failing)
        };
        assert_eq!(counted(Event::Apply(object("a", None))), (0, 0));
        assert_eq!(counted(Event::Apply(object("a", Some("works")))), (1, 0));
        assert_eq!(counted(Event::Apply(object("b", Some("fails")))), (1, 1));
        assert_eq!(counted(Event::Apply(object("b", Some("works")))), (2, 0));
        assert_eq!(counted(Event::Delete(object("a", None))), (1, 0));
        drop(tells);
        assert_eq!(told.now(), States::default());
    }
}
