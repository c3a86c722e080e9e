//! The watch on a kind of ours, as a store and a stream of what to look at.

use std::fmt::Debug;

use futures::{Stream, StreamExt};
use kube::{
    Api, Resource, ResourceExt,
    runtime::{
        WatchStreamExt, reflector,
        reflector::{ObjectRef, Store},
        watcher,
    },
};
use serde::de::DeserializeOwned;

use crate::retries::WatchBackoff;

/// Objects of a cluster-scoped kind, and each of them as it changes or goes. `trim` takes out what nobody here reads: all of them are
/// held in memory.
pub fn watched<K>(
    api: Api<K>,
    trim: fn(&mut K),
) -> (
    Store<K>,
    impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (store, writer) = reflector::store();
    let events = watcher::watcher(api, watcher::Config::default())
        .modify(move |object| {
            object.managed_fields_mut().clear();
            trim(object);
        })
        .backoff(WatchBackoff::default());
    (store, reflector(writer, events).touched_objects())
}

/// Every object of the stream as the object of a kind `K` of the same name.
pub fn named<K, O>(
    objects: impl Stream<Item = Result<O, watcher::Error>> + Send + 'static,
) -> impl Stream<Item = Result<ObjectRef<K>, watcher::Error>> + Send + 'static
where
    K: Resource<DynamicType = ()> + 'static,
    O: ResourceExt + Send + 'static,
{
    objects.map(|object| object.map(|object| ObjectRef::new(&object.name_any())))
}
