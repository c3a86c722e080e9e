//! A controller of policies: what it holds, how it runs, and what it does with every object
//! whatever becomes of it: the finalizer, the wait for what it has made before, the retries.

use std::{fmt::Debug, future::Future, sync::Arc, time::Duration};

use armadex_crds::conditions::NewCondition;
use futures::{Stream, StreamExt, stream};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    core::ClusterResourceScope,
    runtime::{
        applier,
        controller::{Action, Config, Error as ControllerError},
        events::EventType,
        finalizer::{Error as FinalizerError, Event, finalizer},
        reflector::{ObjectRef, Store},
        watcher,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::{
    Counters, Gates, Interests, Reporter, Retries, SecretNamespaces, State, Watches,
    report::{Said, status_patch},
};
use armadex_control_plane::{Objects, Outages, Trouble, TroubleKind};

/// What a reconcile could not do; it is tried again, later each time.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {trouble}")]
pub struct ReconcileError {
    /// What the request that failed was for.
    pub doing: &'static str,
    /// What happened.
    pub trouble: Trouble,
}

/// What every controller holds.
pub struct Shared {
    /// For requests.
    pub client: Client,
    /// On other people's types.
    pub watches: Watches,
    /// Which objects of this controller need which of them.
    pub interests: Arc<Interests>,
    /// For Events.
    pub reporter: Reporter,
    /// What it said last.
    pub said: Arc<Said>,
    /// Failures in a row.
    pub retries: Retries,
    /// What requests for its objects go through.
    pub gates: Gates,
    /// Failures that were told.
    pub outages: Outages,
    /// Which Secrets may be read.
    pub secrets: SecretNamespaces,
    /// What it has cost so far.
    pub counters: Arc<Counters>,
}

/// A controller of one cluster-scoped kind.
pub trait Controller: Send + Sync + Sized + 'static {
    /// What it follows.
    type Object: Resource<DynamicType = (), Scope = ClusterResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static;
    /// What it makes.
    type Made: Resource<DynamicType = ()> + Clone + Send + Sync + 'static;

    /// Keeps an object until what was made of it is gone.
    const FINALIZER: &'static str;
    /// Objects that are looked at at the same time.
    const CONCURRENCY: u16;

    /// What every controller holds.
    fn shared(&self) -> &Shared;

    /// Everything of the kind that it makes, whoever made it.
    fn made(&self) -> &Store<Self::Made>;

    /// Looks at an object.
    fn follow(
        self: Arc<Self>,
        object: Arc<Self::Object>,
    ) -> impl Future<Output = Result<Action, ReconcileError>> + Send;

    /// Takes what was made of an object away with it.
    fn clean_up(
        self: Arc<Self>,
        object: Arc<Self::Object>,
    ) -> impl Future<Output = Result<(), ReconcileError>> + Send;

    /// Whether an object does what it says, by its conditions; nothing where that is not known yet.
    fn state(object: &Self::Object) -> Option<State>;

    /// Drops all that is held for an object that is gone.
    fn forget(&self, name: &str);
}

impl Shared {
    /// Of the controller of this name.
    pub fn new(
        client: Client,
        watches: Watches,
        secrets: SecretNamespaces,
        counters: Arc<Counters>,
        name: &str,
    ) -> Self {
        Self {
            reporter: Reporter::new(client.clone(), name),
            client,
            watches,
            interests: Arc::default(),
            said: Arc::default(),
            retries: Retries::default(),
            gates: Gates::default(),
            outages: Outages::default(),
            secrets,
            counters,
        }
    }

    /// How long an object waits that is to be looked at again: for its turn, if others fail alike, else longer each time.
    pub fn again(&self, name: &str) -> Duration {
        let turn = self.gates.wait(name, rand::random());
        turn.unwrap_or_else(|| self.retries.next(name))
    }

    /// Drops all that is held for an object that goes.
    pub fn forget(&self, name: &str) {
        self.interests.remove(name);
        self.said.forget(name);
        self.retries.clear(name);
        self.gates.forget(name);
        self.outages.ends(name);
    }
}

/// Looks at every object that the queue names, until it is cancelled.
pub async fn run<C: Controller>(
    controller: Arc<C>,
    objects: Store<C::Object>,
    queue: impl Stream<Item = Result<ObjectRef<C::Object>, watcher::Error>> + Send + 'static,
    cancel: CancellationToken,
) {
    let _tells = controller.shared().counters.tell(objects.clone(), C::state);
    let gates = controller.clone();
    let free = gates.shared().gates.free();
    let queue = stream::select(queue, free.map(|name| Ok(ObjectRef::new(&name))));
    applier(
        |object, controller| Box::pin(reconcile(object, controller)),
        |object: Arc<C::Object>, _: &ReconcileError, controller: Arc<C>| {
            Action::requeue(controller.shared().again(&object.name_any()))
        },
        controller.clone(),
        objects,
        queue.take_until(cancel.cancelled_owned()),
        Config::default().concurrency(C::CONCURRENCY),
    )
    .for_each(|result| {
        if let Err(ControllerError::ObjectNotFound(object)) = &result {
            // Made by hand, gone while it was queued, or gone without its finalizer: nothing is followed for it any more.
            controller.forget(&object.name);
        }
        log(&C::Object::kind(&()), controller.shared(), result);
        std::future::ready(())
    })
    .await;
}

/// Writes the status of an object if it became another one, and an Event for each transition. It is what a look at this version of
/// the object came to, and is put onto no other one: whoever looks at what it has become says how that is.
pub async fn write_status<C: Controller, S: Serialize + Default>(
    controller: &C,
    object: &C::Object,
    before: Option<&S>,
    (after, transitions): (S, Vec<(NewCondition, EventType)>),
) -> Result<(), ReconcileError> {
    const DOING: &str = "writing its status";
    let Some(mut patch) = status_patch(before, &after) else {
        return Ok(());
    };
    patch["metadata"] = json!({"resourceVersion": object.resource_version()});
    let shared = controller.shared();
    let api: Objects<C::Object> = Objects::all(shared.client.clone());
    let (name, params) = (object.name_any(), PatchParams::default());
    let (patch, said) = (Patch::Merge(patch), &shared.said);
    let write = async {
        // A watch may tell of it before the answer does.
        said.says(&name, &after);
        api.patch_status(&name, &params, &patch).await
    };
    let written = shared.gates.ask(DOING, &name, write).await;
    written.map_err(|trouble| ReconcileError {
        doing: DOING,
        trouble,
    })?;
    for (condition, type_) in transitions {
        let about = object.object_ref(&());
        shared.reporter.publish(&about, &condition, type_).await;
    }
    Ok(())
}

async fn reconcile<C: Controller>(
    object: Arc<C::Object>,
    controller: Arc<C>,
) -> Result<Action, ReconcileError> {
    // Who does not know what was made would make it again.
    let unknown = |_| ReconcileError {
        doing: "waiting for what was made before",
        trouble: Trouble::unavailable("it is not watched any more"),
    };
    let ready = controller.made().wait_until_ready().await;
    ready.map_err(unknown)?;
    let (name, shared) = (object.name_any(), controller.shared());
    shared.counters.reconciles();
    let goes = object.meta().deletion_timestamp.is_some();
    if goes {
        // It depends on nothing any more: with each change of that it would be tried at once what waits for its back-off.
        shared.interests.remove(&name);
    }
    let action = held(object, controller.clone()).await?;
    if action == Action::await_change() {
        shared.retries.clear(&name);
    }
    if shared.outages.ends(&name) {
        let kind = C::Object::kind(&());
        info!(%kind, "what failed for objects of {kind} works again");
    }
    // Not before its finalizer is gone: one that can't be removed is tried again later each time.
    if goes {
        controller.forget(&name);
    }
    Ok(action)
}

/// Keeps the finalizer, whose requests kube makes: they go through their gates around it.
async fn held<C: Controller>(
    object: Arc<C::Object>,
    controller: Arc<C>,
) -> Result<Action, ReconcileError> {
    let gate = controller.clone();
    let (name, gates) = (object.name_any(), &gate.shared().gates);
    let api: Api<C::Object> = Api::all(gate.shared().client.clone());
    let enters = async |doing| {
        let place = gates.enter(doing, &name).await;
        place.map_err(|trouble| ReconcileError { doing, trouble })
    };
    let meta = object.meta();
    let is_new = meta.deletion_timestamp.is_none()
        && !object
            .finalizers()
            .iter()
            .any(|known| known == C::FINALIZER);
    let mut place = match is_new {
        true => Some((ADDING, enters(ADDING).await?)),
        false => None,
    };
    let done = finalizer(&api, C::FINALIZER, object, |event| async {
        match event {
            Event::Apply(object) => controller.follow(object).await,
            Event::Cleanup(object) => {
                controller.clean_up(object).await?;
                place = Some((REMOVING, enters(REMOVING).await?));
                Ok(Action::await_change())
            }
        }
    });
    let done = match done.await {
        // It went between the look at it and this.
        Err(FinalizerError::RemoveFinalizer(error)) if is_missing(&error) => {
            Ok(Action::await_change())
        }
        done => done.map_err(flatten),
    };
    if let Some((doing, place)) = place {
        let trouble = done.as_ref().err().map(|error| &error.trouble);
        gates.answered(doing, &name, place, trouble);
    }
    done
}

const ADDING: &str = "adding its finalizer";
const REMOVING: &str = "removing its finalizer";

fn is_missing(error: &kube::Error) -> bool {
    Trouble::from(error).kind == TroubleKind::Missing
}

fn flatten(error: FinalizerError<ReconcileError>) -> ReconcileError {
    let failed = |doing, error: kube::Error| ReconcileError {
        doing,
        trouble: error.into(),
    };
    match error {
        FinalizerError::ApplyFailed(error) | FinalizerError::CleanupFailed(error) => error,
        FinalizerError::AddFinalizer(error) => failed(ADDING, error),
        FinalizerError::RemoveFinalizer(error) => failed(REMOVING, error),
        FinalizerError::UnnamedObject | FinalizerError::InvalidFinalizer => ReconcileError {
            doing: "keeping its finalizer",
            trouble: Trouble::unavailable("the object can't be patched"),
        },
    }
}

/// `kind` is what the controller follows; its name is told with an object of it.
fn log<T>(
    kind: &str,
    shared: &Shared,
    result: Result<T, ControllerError<ReconcileError, watcher::Error>>,
) {
    match result {
        // A watch that fails tells of it itself, and what is not there any more is not worth a word.
        Ok(_) | Err(ControllerError::QueueError(_) | ControllerError::ObjectNotFound(_)) => {}
        Err(ControllerError::ReconcilerFailed(error, object)) => {
            shared.counters.fails();
            tell(kind, shared, &object.name, &error);
        }
        Err(ControllerError::RunnerError(error)) => {
            warn!(kind, error = %error, "objects of {kind} are not reconciled any more");
        }
    }
}

/// What fails for many objects in the same way is told of one.
fn tell(kind: &str, shared: &Shared, name: &str, error: &ReconcileError) {
    let ReconcileError { doing, trouble } = error;
    match trouble.kind {
        // The watch tells what it has become, if it has not yet.
        TroubleKind::Conflict => {
            debug!(kind, name, error = %error, "{kind} {name} became another one meanwhile, retrying");
        }
        TroubleKind::Held => debug!(kind, name, error = %error, "{kind} {name} waits"),
        class => {
            let words = format!("{doing}: {}", class.as_str());
            if shared.outages.begins(name, &words) {
                warn!(kind, name, error = %error, "{kind} {name} failed, retrying; others that fail alike are not told of");
            } else {
                debug!(kind, name, error = %error, "{kind} {name} failed, retrying");
            }
        }
    }
}
