//! The watch on a kind of ours, as a store and a stream of what to look at.
//!
//! Of a list nothing is told until the store holds all of it, and then everything that it has or had before: whoever looked earlier would find
//! what was there before the list, and of what went unseen no list tells.

use std::{collections::BTreeSet, fmt::Debug, sync::Arc, time::Duration};

use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Resource, ResourceExt,
    core::object::HasStatus,
    runtime::{
        WatchStreamExt,
        reflector::{self, ObjectRef, Store, store::Writer},
        watcher::{self, Event},
    },
};
use serde::{Serialize, de::DeserializeOwned};

use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::{
    report::Said,
    retries::{LONGEST, WatchBackoff},
    watches::verb_of,
};
use armadex_control_plane::{ANSWER_LIMIT, Objects, Outages, Trouble, watch_config};

/// Objects of the first page of a list, where whoever made the client does not say otherwise: the status of a PediaCluster has half a kilobyte for each of its
/// kinds, a lifecycle its templates, and all of a page are held while it is decoded.
const PAGE: u32 = 100;

/// Twice as long as a try takes that is never answered: a watch that failed no sooner than that before has worked in between.
const OVER: Duration = ANSWER_LIMIT.saturating_add(LONGEST).saturating_mul(2);

/// What is told of a kind.
type Told<T> = BoxStream<'static, Result<T, watcher::Error>>;

/// What a watch on a kind takes of an object to be an object of ours.
pub trait Watched:
    Resource<DynamicType = ()> + Clone + Debug + PartialEq + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Watched for K where
    K: Resource<DynamicType = ()>
        + Clone
        + Debug
        + PartialEq
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// Objects of the cluster-scoped kind that a controller follows, each of which concerns itself alone. That a status is there which the
/// controller `said` is not told: who fails in other words each time would look again at once each time.
pub fn followed<K>(api: Objects<K>, said: Arc<Said>) -> (Store<K>, Told<ObjectRef<K>>)
where
    K: Watched + HasStatus,
    K::Status: Clone + Serialize,
{
    let level = move |known: &mut K, object: &K| {
        if let Some(status) = object.status()
            && said.has_said(&object.name_any(), status)
        {
            *known.status_mut() = Some(status.clone());
        }
    };
    let itself = |object: &K| Some(object.name_any());
    let (store, names) = kept(events(api, |_| ()), itself, level);
    let objects = names.map_ok(|name| ObjectRef::new(&name));
    (store, objects.boxed())
}

/// Objects of a cluster-scoped kind, and whom and what `concerned` names for each of them as it comes, changes or goes: for what it was before and for
/// what it is. `trim` takes out what nobody here reads: all of them are held in memory, and a change of nothing else is not told.
pub fn watched<K, T>(
    api: Objects<K>,
    trim: fn(&mut K),
    concerned: fn(&K) -> Option<T>,
) -> (Store<K>, Told<T>)
where
    K: Watched,
    T: Ord + Send + 'static,
{
    let (store, told) = kept(events(api, trim), concerned, |_, _| ());
    (store, told.boxed())
}

fn events<K: Watched>(
    api: Objects<K>,
    trim: fn(&mut K),
) -> impl Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static {
    watcher::watcher(api.into_api(), watch_config().page_size(PAGE))
        .modify(move |object| {
            object.meta_mut().managed_fields = None;
            trim(object);
        })
        .backoff(WatchBackoff::default())
        .inspect(telling(K::kind(&()).into_owned()))
}

/// Tells that a watch fails, once for each outage, and that it works again.
fn telling<K>(kind: String) -> impl FnMut(&Result<Event<K>, watcher::Error>) + Send + 'static {
    let (outages, mut failed) = (Outages::default(), None::<Instant>);
    move |event| match event {
        // It only says that a list is about to be tried.
        Ok(Event::Init) => {}
        Ok(_) => {
            if failed.take().is_some() && outages.ends(&kind) {
                info!(kind, "{kind} is watched again");
            }
        }
        Err(error) if verb_of(error).is_none() => {}
        Err(error) => {
            if failed.is_some_and(|failed| failed.elapsed() >= OVER) {
                outages.ends(&kind);
            }
            failed = Some(Instant::now());
            let trouble = Trouble::from(error);
            if outages.begins(&kind, trouble.kind.as_str()) {
                warn!(kind, error = %trouble, "the watch of {kind} failed, retrying");
            } else {
                debug!(kind, error = %trouble, "the watch of {kind} failed, retrying");
            }
        }
    }
}

/// `level` makes of what is known what it would be if nothing of it were news.
fn kept<K, T>(
    events: impl Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static,
    concerned: fn(&K) -> Option<T>,
    level: impl Fn(&mut K, &K) + Send + 'static,
) -> (
    Store<K>,
    impl Stream<Item = Result<T, watcher::Error>> + Send + 'static,
)
where
    K: Resource<DynamicType = ()> + Clone + PartialEq + Send + Sync + 'static,
    T: Ord + Send + 'static,
{
    let (store, writer) = reflector::store();
    let mut keeper = Keeper {
        store: store.clone(),
        writer,
        concerned,
        level,
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
struct Keeper<K: Resource<DynamicType = ()> + Clone + 'static, T, L> {
    store: Store<K>,
    writer: Writer<K>,
    concerned: fn(&K) -> Option<T>,
    level: L,
}

impl<K, T, L> Keeper<K, T, L>
where
    K: Resource<DynamicType = ()> + Clone + PartialEq,
    T: Ord,
    L: Fn(&mut K, &K),
{
    /// Whom the event concerns, each once.
    fn take_in(&mut self, event: &Event<K>) -> BTreeSet<T> {
        if self.is_no_news(event) {
            self.writer.apply_watcher_event(event);
            return BTreeSet::new();
        }
        let mut names = self.concerned_by(event);
        self.writer.apply_watcher_event(event);
        names.extend(self.concerned_by(event));
        names
    }

    /// Whether an object has nothing new but its version, or what was said of it here.
    fn is_no_news(&self, event: &Event<K>) -> bool {
        let Event::Apply(object) = event else {
            return false;
        };
        let known = self.store.get(&ObjectRef::from_obj(object));
        known.is_some_and(|known| {
            let mut known = K::clone(&known);
            let version = object.meta().resource_version.clone();
            known.meta_mut().resource_version = version;
            (self.level)(&mut known, object);
            known == *object
        })
    }

    /// Whom those objects concern that the event tells of, as they are known now.
    fn concerned_by(&self, event: &Event<K>) -> BTreeSet<T> {
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
    use armadex_crds::{
        ClusterImportPolicy, ClusterImportPolicyStatus,
        conditions::{self, ConditionStatus, NewCondition, PolicyCondition},
    };
    use futures::{FutureExt, channel::mpsc};
    use k8s_openapi::api::core::v1::Namespace;
    use k8s_openapi::jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use armadex_control_plane::testing::{Host, ServedType};

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
            let (store, names) = kept(receiver, of, |_, _| ());
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

    const POLICY: &str = "/apis/policy.clusterpedia.io/v1alpha1/clusterimportpolicies/karmada";

    fn host() -> Host {
        Host::new(&[ServedType::new(
            "policy.clusterpedia.io",
            "v1alpha1",
            "clusterimportpolicies",
            "ClusterImportPolicy",
        )])
    }

    /// A status that is told now.
    fn status(message: &str) -> ClusterImportPolicyStatus {
        let mut status = ClusterImportPolicyStatus::default();
        let condition = NewCondition {
            type_: PolicyCondition::Reconciling.into(),
            status: ConditionStatus::False,
            reason: "Reason".to_owned(),
            message: message.to_owned(),
            observed_generation: None,
        };
        conditions::set(&mut status.conditions, condition, Timestamp::now());
        status
    }

    #[tokio::test]
    async fn what_a_controller_said_itself_is_no_news_and_what_somebody_else_says_is() {
        let (host, said) = (host(), Arc::<Said>::default());
        let has = |status: &ClusterImportPolicyStatus| {
            let source = json!({"group": "", "resource": "secrets"});
            let spec = json!({"source": source, "references": [], "nameTemplate": "", "template": "", "creationCondition": ""});
            host.put(POLICY, json!({"spec": spec, "status": status}));
        };
        has(&status("before"));
        let (policies, mut names) =
            followed::<ClusterImportPolicy>(Objects::all(host.client()), said.clone());
        let mut says = async || {
            let told = names.next().await.expect("a watch").expect("no error");
            assert_eq!(told.name, "karmada");
            let policy = policies.get(&told).expect("it is there");
            let status = policy.status.clone().unwrap_or_default();
            status.conditions[0].message.clone()
        };
        assert_eq!(says().await, "before");
        // Of one moment: it is the same status that is said and that comes back.
        let ours = status("ours");
        said.says("karmada", &ours);
        has(&ours);
        has(&status("theirs"));
        assert_eq!(says().await, "theirs");
    }
}
