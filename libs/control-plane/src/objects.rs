//! The objects of one kind on the control plane. A request for them that fails gives [`Trouble`] and never the error that kube makes of it, which
//! may have the whole answer in its words: whoever asks this way can't tell it as it came.

use std::{fmt::Debug, ops::RangeInclusive};

use futures::{Stream, StreamExt, TryStreamExt, stream};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{authentication::v1::TokenRequest, core::v1::ServiceAccount},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api, Client, Resource,
    api::{
        ApiResource, DeleteParams, DynamicObject, ListParams, ObjectList, PartialObjectMeta, Patch,
        PatchParams, PostParams, Preconditions, WatchEvent, WatchParams,
    },
    runtime::watcher::{Config, Event, watcher},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Applied, Trouble, TroubleKind, disputes::disputes};

/// The version to apply an object with that must not be there yet. What is there has another: the
/// first write to an etcd is at 2. An API server makes what is missing whatever version is given,
/// and answers with a conflict where the object is there, whoever its field manager is.
pub const NOT_THERE_YET: &str = "1";

/// Objects whose metadata is asked for at once: half a megabyte to one.
const PAGE: u32 = 500;

/// Seconds that a watch lasts. Those that begin together, as all of a process do, do not come back together. The most is what kube asks for by itself.
const LASTS: RangeInclusive<u32> = 240..=290;

/// Versions of an object that are tried to be deleted, one after the other: others write it meanwhile.
const VERSIONS: usize = 4;

/// How a watch is asked for.
pub fn watch_config() -> Config {
    Config::default().timeout(rand::random_range(LASTS))
}

/// The objects of one kind.
#[derive(Clone)]
pub struct Objects<K> {
    api: Api<K>,
}

impl<K: Resource<DynamicType: Default>> Objects<K> {
    /// Those of the whole cluster.
    pub fn all(client: Client) -> Self {
        Self {
            api: Api::all(client),
        }
    }

    /// Those of a namespace.
    pub fn namespaced(client: Client, namespace: &str) -> Self
    where
        K: Resource<Scope = NamespaceResourceScope>,
    {
        Self {
            api: Api::namespaced(client, namespace),
        }
    }
}

impl Objects<DynamicObject> {
    /// Those of a kind that only its name tells: of a namespace, or of none.
    pub fn of_kind(client: Client, kind: &ApiResource, namespace: Option<&str>) -> Self {
        let api = match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, kind),
            None => Api::all_with(client, kind),
        };
        Self { api }
    }
}

impl<K: Clone + DeserializeOwned + Debug> Objects<K> {
    /// The object of a name.
    pub async fn get(&self, name: &str) -> Result<K, Trouble> {
        Ok(self.api.get(name).await?)
    }

    /// The same, if there is one.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, Trouble> {
        Ok(self.api.get_opt(name).await?)
    }

    /// The metadata of the object of a name.
    pub async fn get_metadata(&self, name: &str) -> Result<PartialObjectMeta<K>, Trouble> {
        Ok(self.api.get_metadata(name).await?)
    }

    /// The same, if there is one.
    pub async fn get_metadata_opt(
        &self,
        name: &str,
    ) -> Result<Option<PartialObjectMeta<K>>, Trouble> {
        Ok(self.api.get_metadata_opt(name).await?)
    }

    /// A page of the metadata of all.
    pub async fn list_metadata(
        &self,
        params: &ListParams,
    ) -> Result<ObjectList<PartialObjectMeta<K>>, Trouble> {
        Ok(self.api.list_metadata(params).await?)
    }

    /// The metadata of all. The next page is asked for when the one before was taken.
    pub fn all_metadata(&self) -> impl Stream<Item = Result<PartialObjectMeta<K>, Trouble>> {
        pages(move |params| async move { self.list_metadata(&params).await })
    }

    /// The same of whole objects: of a kind of which there are few, and small ones.
    pub fn all_objects(&self) -> impl Stream<Item = Result<K, Trouble>> {
        pages(move |params| async move { Ok(self.api.list(&params).await?) })
    }

    /// Makes an object.
    pub async fn create(&self, object: &K) -> Result<K, Trouble>
    where
        K: Serialize,
    {
        Ok(self.api.create(&PostParams::default(), object).await?)
    }

    /// Puts an object into the place of the version that it has.
    pub async fn replace(&self, name: &str, object: &K) -> Result<K, Trouble>
    where
        K: Serialize,
    {
        let params = PostParams::default();
        Ok(self.api.replace(name, &params, object).await?)
    }

    /// Changes an object.
    pub async fn patch(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<impl Serialize + Debug>,
    ) -> Result<K, Trouble> {
        Ok(self.api.patch(name, params, patch).await?)
    }

    /// Applies an object. Unless it is forced, nothing is changed where others have set fields of it otherwise: whose they are is told then.
    pub async fn apply(
        &self,
        name: &str,
        params: &PatchParams,
        object: &(impl Serialize + Debug),
    ) -> Result<Applied<K>, Trouble> {
        match self.api.patch(name, params, &Patch::Apply(object)).await {
            Ok(object) => Ok(Applied::Done(object)),
            Err(error) => match disputes(&error) {
                none if none.is_empty() => Err(error.into()),
                disputes => Ok(Applied::Disputed(disputes)),
            },
        }
    }

    /// Changes the status of an object.
    pub async fn patch_status(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<impl Serialize + Debug>,
    ) -> Result<K, Trouble> {
        Ok(self.api.patch_status(name, params, patch).await?)
    }

    /// Deletes an object if it is still the one of this uid. Whether it was: one that is gone, or
    /// another one by now, is no more either way.
    pub async fn delete(&self, name: &str, uid: &str) -> Result<bool, Trouble> {
        match self.delete_version(name, uid, None).await {
            Err(trouble) if trouble.kind == TroubleKind::Conflict => Ok(false),
            done => done,
        }
    }

    /// Deletes an object if it is still the one of this uid, and of this version or such that it `may_go` as it has become: whoever changed it since
    /// it was looked at may have made it somebody else's. Whether it was.
    pub async fn delete_if(
        &self,
        name: &str,
        uid: &str,
        version: Option<String>,
        may_go: impl Fn(&ObjectMeta) -> bool + Send,
    ) -> Result<bool, Trouble>
    where
        K: Send,
    {
        let mut tried = self.delete_version(name, uid, version).await;
        for left in (1..VERSIONS).rev() {
            match tried {
                Err(trouble) if trouble.kind == TroubleKind::Conflict => {}
                done => return done,
            }
            let Some(present) = self.get_metadata_opt(name).await? else {
                return Ok(false);
            };
            let present = present.metadata;
            if present.uid.as_deref() != Some(uid) || !may_go(&present) {
                return Ok(false);
            }
            // What is written all the time never goes by its version; what it is by now was looked at.
            let version = present.resource_version.filter(|_| left > 1);
            tried = self.delete_version(name, uid, version).await;
        }
        tried
    }

    /// Deletes an object of this uid, and of this version if one is given; another one is a conflict.
    async fn delete_version(
        &self,
        name: &str,
        uid: &str,
        resource_version: Option<String>,
    ) -> Result<bool, Trouble> {
        let same = Preconditions {
            uid: Some(uid.to_owned()),
            resource_version,
        };
        let params = DeleteParams {
            preconditions: Some(same),
            ..DeleteParams::background()
        };
        match self.api.delete(name, &params).await.map_err(Trouble::from) {
            Ok(_) => Ok(true),
            Err(trouble) if trouble.kind == TroubleKind::Missing => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }
}

impl Objects<ServiceAccount> {
    /// A token of the account of a name. How long it is good for is the API server's to say.
    pub async fn issue_token(
        &self,
        name: &str,
        asked: &TokenRequest,
    ) -> Result<TokenRequest, Trouble> {
        let params = PostParams::default();
        Ok(self.api.create_token_request(name, &params, asked).await?)
    }
}

impl<K: Clone + DeserializeOwned + Debug> Objects<K> {
    /// What happens to the object of a name after a version, for as long as an API server lets a watch last.
    pub async fn watch_one(
        &self,
        name: &str,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<K>, Trouble>> + use<K>, Trouble> {
        let params = WatchParams::default().fields(&format!("metadata.name={name}"));
        let events = self.api.watch(&params, version).await?;
        Ok(events.map_err(Trouble::from))
    }
}

/// What is on all pages, each of which is asked for this way.
fn pages<T: Clone, A>(ask: impl Fn(ListParams) -> A) -> impl Stream<Item = Result<T, Trouble>>
where
    A: Future<Output = Result<ObjectList<T>, Trouble>>,
{
    let first = Some((ListParams::default().limit(PAGE), ask));
    let pages = stream::try_unfold(first, move |next| async move {
        let Some((params, ask)) = next else {
            return Ok::<_, Trouble>(None);
        };
        let page = ask(params.clone()).await?;
        let token = page.metadata.continue_.filter(|token| !token.is_empty());
        let next = token.map(|token| (params.continue_token(&token), ask));
        Ok(Some((page.items, next)))
    });
    let objects = pages.map_ok(|page| stream::iter(page.into_iter().map(Ok)));
    objects.try_flatten()
}

impl<K> Objects<K> {
    /// For a watcher of one's own.
    pub fn into_api(self) -> Api<K> {
        self.api
    }
}

impl<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static> Objects<K> {
    /// What happens to them, from a list of all. `trim` takes out of each what nobody reads.
    pub fn watch(
        self,
        config: Config,
        trim: fn(&mut K),
    ) -> impl Stream<Item = Result<Event<K>, Trouble>> + Send {
        watcher(self.api, config).map(move |event| match event {
            Ok(mut event) => {
                if let Event::Apply(object) | Event::InitApply(object) | Event::Delete(object) =
                    &mut event
                {
                    trim(object);
                }
                Ok(event)
            }
            Err(error) => Err(Trouble::from(&error)),
        })
    }
}
