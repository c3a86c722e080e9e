//! A controller of policies: what it holds, how it runs, and what it does with every object
//! whatever becomes of it: the finalizer, the wait for what it has made before, the retries.

use std::{fmt::Debug, future::Future, sync::Arc};

use armadex_crds::conditions::NewCondition;
use futures::{Stream, StreamExt};
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
use tracing::{debug, warn};

use crate::{
    Interests, ReconcileError, Reporter, Retries, SecretNamespaces, Trouble, TroubleKind, Watches,
    report::{Said, status_patch},
};

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
    /// Which Secrets may be read.
    pub secrets: SecretNamespaces,
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
}

impl Shared {
    /// Of the controller of this name.
    pub fn new(client: Client, watches: Watches, secrets: SecretNamespaces, name: &str) -> Self {
        Self {
            reporter: Reporter::new(client.clone(), name),
            client,
            watches,
            interests: Arc::default(),
            said: Arc::default(),
            retries: Retries::default(),
            secrets,
        }
    }

    /// Drops all that is held for an object that goes.
    pub fn forget(&self, name: &str) {
        self.interests.remove(name);
        self.said.forget(name);
        self.retries.clear(name);
    }
}

/// Looks at every object that the queue names, until the queue ends or it is cancelled.
pub async fn run<C: Controller>(
    controller: Arc<C>,
    objects: Store<C::Object>,
    queue: impl Stream<Item = Result<ObjectRef<C::Object>, watcher::Error>> + Send + 'static,
    cancel: CancellationToken,
) {
    applier(
        |object, controller| Box::pin(reconcile(object, controller)),
        |object: Arc<C::Object>, _: &ReconcileError, controller: Arc<C>| {
            Action::requeue(controller.shared().retries.next(&object.name_any()))
        },
        controller,
        objects,
        queue.take_until(cancel.cancelled_owned()),
        Config::default().concurrency(C::CONCURRENCY),
    )
    .for_each(|result| {
        log(&C::Object::kind(&()), result.map(drop));
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
    let Some(mut patch) = status_patch(before, &after) else {
        return Ok(());
    };
    patch["metadata"] = json!({"resourceVersion": object.resource_version()});
    let shared = controller.shared();
    let api: Api<C::Object> = Api::all(shared.client.clone());
    let (name, params) = (object.name_any(), PatchParams::default());
    // A watch may tell of it before the answer does.
    shared.said.says(&name, &after);
    let written = api.patch_status(&name, &params, &Patch::Merge(patch)).await;
    written.map_err(|error| ReconcileError {
        doing: "writing its status",
        trouble: error.into(),
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
    let name = object.name_any();
    let api: Api<C::Object> = Api::all(controller.shared().client.clone());
    let shared = controller.clone();
    let done = finalizer(&api, C::FINALIZER, object, |event| async {
        match event {
            Event::Apply(object) => controller.follow(object).await,
            Event::Cleanup(object) => {
                controller.clean_up(object).await?;
                Ok(Action::await_change())
            }
        }
    });
    let action = match done.await {
        // It went between the look at it and this.
        Err(FinalizerError::RemoveFinalizer(error)) if is_missing(&error) => Action::await_change(),
        done => done.map_err(flatten)?,
    };
    if action == Action::await_change() {
        shared.shared().retries.clear(&name);
    }
    Ok(action)
}

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
        FinalizerError::AddFinalizer(error) => failed("adding its finalizer", error),
        FinalizerError::RemoveFinalizer(error) => failed("removing its finalizer", error),
        FinalizerError::UnnamedObject | FinalizerError::InvalidFinalizer => ReconcileError {
            doing: "keeping its finalizer",
            trouble: Trouble::unavailable("the object can't be patched"),
        },
    }
}

/// `kind` is what the controller follows; its name is told with each object of it.
fn log(kind: &str, result: Result<(), ControllerError<ReconcileError, watcher::Error>>) {
    match result {
        // What was made by hand, or went while it was queued, is not worth a word.
        Ok(()) | Err(ControllerError::ObjectNotFound(_)) => {}
        // The watch tells what it has become, if it has not yet.
        Err(ControllerError::ReconcilerFailed(error, object))
            if error.trouble.kind == TroubleKind::Conflict =>
        {
            let name = &object.name;
            debug!(kind, name, error = %error, "{kind} {name} became another one meanwhile, retrying");
        }
        Err(ControllerError::ReconcilerFailed(error, object)) => {
            let name = &object.name;
            warn!(kind, name, error = %error, "{kind} {name} failed, retrying");
        }
        Err(ControllerError::QueueError(error)) => {
            let trouble = Trouble::from(&error);
            warn!(kind, error = %trouble, "a watch of the controller of {kind} failed, retrying");
        }
        Err(ControllerError::RunnerError(error)) => {
            warn!(kind, error = %error, "objects of {kind} are not reconciled any more");
        }
    }
}
