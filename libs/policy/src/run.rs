//! The watch on a kind of ours, as a store and a stream of what to look at.
//!
//! Of a list nothing is told until the store holds all of it, and then everything that it has or had before: whoever looked earlier would find
//! what was there before the list, and of what went unseen no list tells.

use std::{collections::BTreeSet, fmt::Debug, sync::Arc};

use futures::{Stream, StreamExt, stream};
use kube::{
    Resource,
    runtime::{
        WatchStreamExt,
        reflector::{self, ObjectRef, Store, store::Writer},
        watcher::{self, Event},
    },
};
use serde::de::DeserializeOwned;

use crate::{Objects, retries::WatchBackoff};

/// Objects of a cluster-scoped kind, and the objects `O` that `concerned` names for each of them as it comes, changes or goes: for what it was
/// before and for what it is. `trim` takes out what nobody here reads: all of them are held in memory, and a change of nothing else is not told.
pub fn watched<K, O>(
    api: Objects<K>,
    trim: fn(&mut K),
    concerned: fn(&K) -> Option<String>,
) -> (
    Store<K>,
    impl Stream<Item = Result<ObjectRef<O>, watcher::Error>> + Send + 'static,
)
where
    K: Resource<DynamicType = ()>
        + Clone
        + Debug
        + PartialEq
        + DeserializeOwned
        + Send
        + Sync
        + 'static,
    O: Resource<DynamicType = ()> + 'static,
{
    let events = watcher::watcher(api.api, watcher::Config::default())
        .modify(move |object| {
            object.meta_mut().managed_fields = None;
            trim(object);
        })
        .backoff(WatchBackoff::default());
    let (store, names) = kept(events, concerned);
    let objects = names.map(|name| name.map(|name| ObjectRef::new(&name)));
    (store, objects)
}

fn kept<K>(
    events: impl Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static,
    concerned: fn(&K) -> Option<String>,
) -> (
    Store<K>,
    impl Stream<Item = Result<String, watcher::Error>> + Send + 'static,
)
where
    K: Resource<DynamicType = ()> + Clone + PartialEq + Send + Sync + 'static,
{
    let (store, writer) = reflector::store();
    let mut keeper = Keeper {
        store: store.clone(),
        writer,
        concerned,
    };
    let names = events.flat_map(move |event| {
        let (names, error) = match event {
            Ok(event) => (keeper.take_in(&event), None),
            Err(error) => (BTreeSet::new(), Some(error)),
        };
        stream::iter(names.into_iter().map(Ok).chain(error.map(Err)))
    });
    (store, names)
}

/// What keeps the objects, and knows whom they concern.
struct Keeper<K: Resource<DynamicType = ()> + Clone + 'static> {
    store: Store<K>,
    writer: Writer<K>,
    concerned: fn(&K) -> Option<String>,
}

impl<K: Resource<DynamicType = ()> + Clone + PartialEq> Keeper<K> {
    /// Whom the event concerns, each once.
    fn take_in(&mut self, event: &Event<K>) -> BTreeSet<String> {
        if self.is_no_news(event) {
            self.writer.apply_watcher_event(event);
            return BTreeSet::new();
        }
        let mut names = self.concerned_by(event);
        self.writer.apply_watcher_event(event);
        names.extend(self.concerned_by(event));
        names
    }

    /// Whether an object has nothing new but its version.
    fn is_no_news(&self, event: &Event<K>) -> bool {
        let Event::Apply(object) = event else {
            return false;
        };
        let known = self.store.get(&ObjectRef::from_obj(object));
        known.is_some_and(|known| {
            let mut known = K::clone(&known);
            let version = object.meta().resource_version.clone();
            known.meta_mut().resource_version = version;
            known == *object
        })
    }

    /// Whom those objects concern that the event tells of, as they are known now.
    fn concerned_by(&self, event: &Event<K>) -> BTreeSet<String> {
        let known: Vec<Arc<K>> = match event {
            Event::Init | Event::InitApply(_) => Vec::new(),
            Event::InitDone => self.store.state(),
            Event::Apply(object) | Event::Delete(object) => {
                let found = self.store.get(&ObjectRef::from_obj(object));
                found.into_iter().collect()
            }
        };
        let names = known.iter().filter_map(|object| (self.concerned)(object));
        names.collect()
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, channel::mpsc};
    use k8s_openapi::api::core::v1::Namespace;
    use kube::ResourceExt;

    use super::*;

    /// An object of a name; its label `of` is whom it concerns.
    fn object(name: &str, of: &str) -> Namespace {
        let mut object = Namespace::default();
        object.metadata.name = Some(name.to_owned());
        object.labels_mut().insert("of".to_owned(), of.to_owned());
        object
    }

    fn of(object: &Namespace) -> Option<String> {
        object.labels().get("of").cloned()
    }

    /// A watch whose events a test sends.
    struct Scripted {
        events: mpsc::UnboundedSender<Result<Event<Namespace>, watcher::Error>>,
        store: Store<Namespace>,
        names: stream::BoxStream<'static, Result<String, watcher::Error>>,
    }

    impl Scripted {
        /// Whose list of these has been read.
        fn listed(objects: &[(&str, &str)]) -> Self {
            let (events, receiver) = mpsc::unbounded();
            let (store, names) = kept(receiver, of);
            let mut scripted = Self {
                events,
                store,
                names: names.boxed(),
            };
            scripted.tell(Event::Init);
            for (name, of) in objects {
                scripted.tell(Event::InitApply(object(name, of)));
            }
            scripted.tell(Event::InitDone);
            scripted
        }

        /// Everybody who is told of it.
        fn tell(&mut self, event: Event<Namespace>) -> Vec<String> {
            self.events.unbounded_send(Ok(event)).expect("it is read");
            let mut told = Vec::new();
            while let Some(Some(name)) = self.names.next().now_or_never() {
                told.push(name.expect("no error"));
            }
            told
        }

        /// Whom the object of a name concerns by what is known of it.
        fn known(&self, name: &str) -> Option<String> {
            let found = self.store.get(&ObjectRef::new(name));
            found.as_deref().and_then(of)
        }
    }

    #[test]
    fn what_went_in_a_gap_is_told_once_the_list_is_whole() {
        let mut watch = Scripted::listed(&[("a", "one"), ("b", "two")]);
        assert!(watch.tell(Event::Init).is_empty());
        assert!(watch.tell(Event::InitApply(object("b", "two"))).is_empty());
        assert_eq!(watch.tell(Event::InitDone), ["one", "two"]);
        assert_eq!(watch.known("a"), None);
    }

    #[test]
    fn what_changed_in_a_gap_is_told_when_it_can_be_looked_up() {
        let mut watch = Scripted::listed(&[("a", "one")]);
        watch.tell(Event::Init);
        assert!(watch.tell(Event::InitApply(object("a", "two"))).is_empty());
        assert_eq!(watch.known("a").as_deref(), Some("one"));
        assert_eq!(watch.tell(Event::InitDone), ["one", "two"]);
        assert_eq!(watch.known("a").as_deref(), Some("two"));
    }

    #[test]
    fn a_list_that_breaks_off_is_not_told() {
        let mut watch = Scripted::listed(&[("a", "one")]);
        watch.tell(Event::Init);
        watch.tell(Event::InitApply(object("b", "two")));
        watch.tell(Event::Init);
        assert_eq!(watch.tell(Event::InitDone), ["one"]);
        assert_eq!((watch.known("a"), watch.known("b")), (None, None));
    }

    #[test]
    fn who_is_concerned_no_more_is_told_as_well_and_each_once() {
        let mut watch = Scripted::listed(&[("a", "one"), ("b", "one")]);
        assert_eq!(watch.tell(Event::Apply(object("a", "two"))), ["one", "two"]);
        let mut touched = object("a", "two");
        touched.metadata.resource_version = Some("9".to_owned());
        assert!(
            watch.tell(Event::Apply(touched)).is_empty(),
            "it is no news"
        );
        assert_eq!(watch.tell(Event::Delete(object("a", "two"))), ["two"]);
        assert_eq!(watch.tell(Event::Init).len(), 0);
        watch.tell(Event::InitApply(object("b", "one")));
        watch.tell(Event::InitApply(object("c", "one")));
        assert_eq!(watch.tell(Event::InitDone), ["one"]);
    }

    #[test]
    fn an_error_goes_through() {
        let mut watch = Scripted::listed(&[]);
        let error = Err(watcher::Error::NoResourceVersion);
        watch.events.unbounded_send(error).expect("it is read");
        let told = watch.names.next().now_or_never().flatten();
        assert!(told.is_some_and(|told| told.is_err()));
    }
}
