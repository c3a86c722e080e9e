//! The status as it stands on the control plane, and how another one is put there: by server-side apply, under one field manager, and only onto the
//! version of the object that is known here. What somebody else wrote meanwhile is seen before it is overwritten, and a process that was
//! replaced can leave it as it is.

mod managed;

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use armadex_control_plane::{Objects, Trouble, TroubleKind};
use armadex_crds::conditions::ClusterCondition;
use armadex_crds::{PediaCluster, PediaClusterStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{Patch, PatchParams};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};
use tracing::warn;

pub(crate) use self::managed::MANAGER;
use self::managed::{FIELDS, taken_over};
use crate::config::Shared;

/// How an API server refuses a field that the CRD does not have. It tells no code of its own: it is a 500.
const UNKNOWN_FIELD: &str = "field not declared in schema";

/// Statuses in a row that are remembered while none is answered. Of those that are sent onto one version of the object one arrives at most.
const UNANSWERED: usize = 16;

/// The status of one PediaCluster on the control plane.
pub(crate) struct Applied {
    shared: Arc<Shared>,
    api: Objects<PediaCluster>,
    name: String,
    uid: Option<String>,
    /// The object's, as far as it is known.
    version: Option<String>,
    /// What this process found or left there: a hash, since a status of many types is large.
    left: u64,
    /// The same of what was sent since and not answered, oldest first: each may have been put there all the same.
    sent: VecDeque<u64>,
    /// What was sent and not answered, and is there as was seen since.
    arrived: Option<PediaClusterStatus>,
    /// What somebody else has written since.
    foreign: Option<PediaClusterStatus>,
}

/// What came of a status that was to be put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// It is there.
    Done,
    /// The object has become another one; what it says now is known.
    Overtaken,
    /// The object is gone.
    Gone,
}

impl Applied {
    /// The status of this object.
    pub(crate) fn new(
        shared: Arc<Shared>,
        api: Objects<PediaCluster>,
        object: &PediaCluster,
    ) -> Self {
        Self {
            shared,
            api,
            name: object.name_any(),
            uid: object.uid(),
            version: object.resource_version(),
            left: hash(object.status.as_ref()),
            sent: VecDeque::new(),
            arrived: None,
            foreign: None,
        }
    }

    /// A watch told how the object is, which may be behind the answers to what was written.
    pub(crate) fn saw(&mut self, object: &PediaCluster) {
        let version = object.metadata.resource_version.as_deref();
        if is_later(version, self.version.as_deref()) {
            self.stands(object);
        }
    }

    /// What somebody else has written since this process did.
    pub(crate) fn foreign(&self) -> Option<&PediaClusterStatus> {
        self.foreign.as_ref()
    }

    /// What this process put there without being told so.
    pub(crate) fn take_arrived(&mut self) -> Option<PediaClusterStatus> {
        self.arrived.take()
    }

    /// What somebody else has written is what this process would have there.
    pub(crate) fn agrees(&mut self) {
        if let Some(status) = self.foreign.take() {
            self.left = hash(Some(&status));
        }
    }

    fn stands(&mut self, object: &PediaCluster) {
        self.version = object.resource_version();
        let found = hash(object.status.as_ref());
        (self.arrived, self.foreign) = (None, None);
        if found == self.left {
            return;
        }
        let status = object.status.clone().unwrap_or_default();
        match self.sent.iter().position(|sent| *sent == found) {
            Some(place) => {
                self.sent.drain(..=place);
                self.left = found;
                self.arrived = Some(status);
            }
            None => self.foreign = Some(status),
        }
    }

    /// Puts another one there, if the object is still the one that is known.
    pub(crate) async fn put(&mut self, status: &PediaClusterStatus) -> Result<Put, Trouble> {
        self.sends(hash(Some(status)));
        match self.write(status).await {
            Ok(object) => {
                self.left = hash(object.status.as_ref());
                self.sent.clear();
                self.stands(&object);
                Ok(Put::Done)
            }
            Err(trouble) if trouble.kind == TroubleKind::Missing => Ok(Put::Gone),
            Err(trouble) if trouble.kind == TroubleKind::Conflict => self.look_again(status).await,
            Err(trouble) => Err(trouble),
        }
    }

    fn sends(&mut self, status: u64) {
        if !self.sent.contains(&status) {
            if self.sent.len() == UNANSWERED {
                self.sent.pop_front();
            }
            self.sent.push_back(status);
        }
    }

    /// Finds out what the object has become. Where it is for another shard by now there is no status to claim, only one to let go.
    async fn look_again(&mut self, status: &PediaClusterStatus) -> Result<Put, Trouble> {
        let claims = |object: &PediaCluster| {
            let claimed = status.sharding_name.as_ref();
            claimed.is_none_or(|claimed| *claimed == object.spec.sharding_name)
        };
        match self.api.get_opt(&self.name).await? {
            Some(object) if object.uid() == self.uid && claims(&object) => {
                self.stands(&object);
                Ok(Put::Overtaken)
            }
            _ => Ok(Put::Gone),
        }
    }

    async fn write(&self, status: &PediaClusterStatus) -> Result<PediaCluster, Trouble> {
        let version = self.version.clone();
        if self.shared.old_schema.load(Ordering::Relaxed) {
            return self.merge(status, version).await;
        }
        let object = match self.apply(status, version.clone()).await {
            Err(trouble) if trouble.message.contains(UNKNOWN_FIELD) => {
                self.tell_of_schema(&trouble);
                return self.merge(status, version).await;
            }
            applied => applied?,
        };
        // What another manager holds too would stay when it is no longer applied.
        let Some(managers) = taken_over(object.managed_fields()) else {
            return Ok(object);
        };
        let object = self.manage(managers, object.resource_version()).await?;
        self.apply(status, object.resource_version()).await
    }

    async fn apply(
        &self,
        status: &PediaClusterStatus,
        version: Option<String>,
    ) -> Result<PediaCluster, Trouble> {
        let body = json!({
            "apiVersion": PediaCluster::api_version(&()),
            "kind": PediaCluster::kind(&()),
            "metadata": {"name": self.name, "resourceVersion": version},
            "status": ours(status),
        });
        let parameters = PatchParams::apply(MANAGER).force();
        let patch = Patch::Apply(body);
        self.api.patch_status(&self.name, &parameters, &patch).await
    }

    /// Says whose the fields are.
    async fn manage(
        &self,
        managers: Vec<ManagedFieldsEntry>,
        version: Option<String>,
    ) -> Result<PediaCluster, Trouble> {
        let patch = json!({"metadata": {"resourceVersion": version, "managedFields": managers}});
        let parameters = PatchParams::apply(MANAGER);
        let patch = Patch::Merge(patch);
        self.api.patch(&self.name, &parameters, &patch).await
    }

    /// What a CRD does not have is left out of a merge patch, where it is an error of an apply.
    async fn merge(
        &self,
        status: &PediaClusterStatus,
        version: Option<String>,
    ) -> Result<PediaCluster, Trouble> {
        let patch = json!({"metadata": {"resourceVersion": version}, "status": complete(status)});
        let parameters = PatchParams::apply(MANAGER);
        let patch = Patch::Merge(patch);
        self.api.patch_status(&self.name, &parameters, &patch).await
    }

    fn tell_of_schema(&self, error: &Trouble) {
        if !self.shared.old_schema.swap(true, Ordering::Relaxed) {
            warn!(error = %error, "the CRD of PediaClusters is not of this release, so parts of their status are left out: install it (armadex crds --install) and start this process anew");
        }
    }
}

/// The part of a status that is this program's: other conditions are somebody else's.
fn ours(status: &PediaClusterStatus) -> Value {
    let mut status = status.clone();
    let place = |type_: &str| {
        let known = ClusterCondition::ALL.iter();
        known
            .map(|known| known.as_str())
            .position(|known| known == type_)
    };
    status
        .conditions
        .retain(|condition| place(&condition.type_).is_some());
    status
        .conditions
        .sort_by_key(|condition| place(&condition.type_));
    json!(status)
}

fn hash(status: Option<&PediaClusterStatus>) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(status) = status {
        ours(status).to_string().hash(&mut hasher);
    }
    hasher.finish()
}

/// Whether a version is later than the one that is known.
fn is_later(version: Option<&str>, known: Option<&str>) -> bool {
    let number = |version: Option<&str>| version?.parse::<u64>().ok();
    match (number(version), number(known)) {
        (Some(version), Some(known)) => version > known,
        _ => version != known,
    }
}

/// For a merge patch that leaves nothing of an older status.
fn complete(status: &PediaClusterStatus) -> Value {
    let mut value = json!(status);
    for field in FIELDS {
        if value.get(field).is_none() {
            value[field] = Value::Null;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;

    use super::*;
    use crate::config::Config;
    use crate::testing::Stage;

    type Asked = Arc<Mutex<Vec<(String, Value)>>>;

    /// A status, and the requests by which it comes to a control plane that gives these answers in turn, the last one on and on.
    async fn put(shared: &Arc<Shared>, answers: &[(u16, Value)]) -> (Put, Vec<(String, Value)>) {
        let asked = Asked::default();
        let (answers, noted) = (answers.to_vec(), Arc::clone(&asked));
        let service = tower::service_fn(move |request: Request<Body>| {
            let (answers, asked) = (answers.clone(), Arc::clone(&noted));
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await.expect("a body");
                let content = head
                    .headers
                    .get("content-type")
                    .map(|kind| kind.to_str().expect("text").to_owned());
                let mut asked = asked.lock().expect("no panic");
                let (code, answer) = &answers[asked.len().min(answers.len() - 1)];
                asked.push((
                    content.unwrap_or_default(),
                    serde_json::from_slice(&body).unwrap_or_default(),
                ));
                let body = Body::from(answer.to_string().into_bytes());
                Ok::<_, Infallible>(
                    Response::builder()
                        .status(*code)
                        .body(body)
                        .expect("an answer"),
                )
            }
        });
        let object = serde_json::from_value(object(&json!({}))).expect("a PediaCluster");
        let api = Objects::all(Client::new(service, "default"));
        let mut applied = Applied::new(Arc::clone(shared), api, &object);
        let status = PediaClusterStatus {
            version: "v1.36.0".to_owned(),
            ..PediaClusterStatus::default()
        };
        let put = applied.put(&status).await.expect("an answer");
        (put, std::mem::take(&mut *asked.lock().expect("no panic")))
    }

    fn object(metadata: &Value) -> Value {
        let mut object = json!({"apiVersion": "cluster.clusterpedia.io/v1alpha2", "kind": "PediaCluster",
            "metadata": {"name": "m", "uid": "u", "resourceVersion": "5"}, "spec": {"syncResources": []}});
        for (field, value) in metadata.as_object().expect("fields") {
            object["metadata"][field] = value.clone();
        }
        object
    }

    async fn shared() -> Arc<Shared> {
        let stage = Stage::new().await;
        Arc::new(Shared::new(stage.breaking, "one", Config::default()))
    }

    const APPLY: &str = "application/apply-patch+yaml";
    const MERGE: &str = "application/merge-patch+json";

    #[tokio::test]
    async fn what_another_manager_wrote_is_taken_over_before_it_is_applied_again() {
        let held = json!({"managedFields": [{"apiVersion": "cluster.clusterpedia.io/v1alpha2", "manager": "clustersynchro-manager",
            "operation": "Update", "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:apiserver": {}}}}],
            "resourceVersion": "6"});
        let answers = [
            (200, object(&held)),
            (200, object(&json!({"resourceVersion": "7"}))),
        ];
        let (put, asked) = put(&shared().await, &answers).await;
        assert_eq!(put, Put::Done);
        let asked: Vec<_> = asked
            .iter()
            .map(|(kind, body)| (kind.as_str(), &body["metadata"], &body["status"]))
            .collect();
        let status = json!({"version": "v1.36.0"});
        assert_eq!(asked.len(), 3);
        assert_eq!(
            asked[0],
            (
                APPLY,
                &json!({"name": "m", "resourceVersion": "5"}),
                &status
            )
        );
        assert_eq!(
            (asked[1].0, &asked[1].1["resourceVersion"]),
            (MERGE, &json!("6"))
        );
        assert_eq!(asked[1].1["managedFields"][0]["manager"], MANAGER);
        assert_eq!(
            asked[2],
            (
                APPLY,
                &json!({"name": "m", "resourceVersion": "7"}),
                &status
            )
        );
    }

    #[tokio::test]
    async fn a_crd_that_lacks_a_field_has_the_rest() {
        let unknown = json!({"kind": "Status", "status": "Failure", "code": 500,
            "message": "failed to create typed patch object: .status.audit: field not declared in schema"});
        let shared = shared().await;
        let (done, asked) = put(&shared, &[(500, unknown), (200, object(&json!({})))]).await;
        assert_eq!((done, asked.len()), (Put::Done, 2));
        let (kind, body) = &asked[1];
        assert_eq!(
            (kind.as_str(), &body["metadata"]["resourceVersion"]),
            (MERGE, &json!("5"))
        );
        assert_eq!(
            (&body["status"]["version"], body["status"].get("audit")),
            (&json!("v1.36.0"), Some(&Value::Null))
        );
        let (_, asked) = put(&shared, &[(200, object(&json!({})))]).await;
        assert_eq!(asked[0].0, MERGE, "it is known from then on");
    }

    #[tokio::test]
    async fn a_status_is_not_put_onto_another_object_of_that_name() {
        let conflict = json!({"kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict", "message": "modified"});
        let shared = shared().await;
        let other = object(&json!({"uid": "of another"}));
        let (gone, asked) = put(&shared, &[(409, conflict.clone()), (200, other)]).await;
        assert_eq!((gone, asked.len()), (Put::Gone, 2));
        let later = object(&json!({"resourceVersion": "6"}));
        let (overtaken, _) = put(&shared, &[(409, conflict), (200, later)]).await;
        assert_eq!(overtaken, Put::Overtaken);
    }

    #[tokio::test]
    async fn an_object_that_is_gone_has_no_status_any_more() {
        let conflict = json!({"kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict", "message": "modified"});
        let missing = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "not found"});
        let shared = shared().await;
        let (before, asked) = put(&shared, &[(404, missing.clone())]).await;
        assert_eq!((before, asked.len()), (Put::Gone, 1));
        let (meanwhile, asked) = put(&shared, &[(409, conflict), (404, missing)]).await;
        assert_eq!((meanwhile, asked.len()), (Put::Gone, 2));
    }

    #[tokio::test]
    async fn what_was_sent_and_not_answered_is_not_taken_for_somebody_elses() {
        let service = tower::service_fn(async |_: Request<Body>| {
            let answer = Response::builder().status(504).body(Body::empty());
            Ok::<_, Infallible>(answer.expect("an answer"))
        });
        let parsed = |object: Value| serde_json::from_value::<PediaCluster>(object);
        let before = parsed(object(&json!({}))).expect("a PediaCluster");
        let api = Objects::all(Client::new(service, "default"));
        let mut applied = Applied::new(shared().await, api, &before);
        let status = PediaClusterStatus {
            version: "v1.36.0".to_owned(),
            ..PediaClusterStatus::default()
        };
        applied.put(&status).await.expect_err("no answer");
        for (resource_version, version, is_foreign) in
            [("6", "v1.36.0", false), ("7", "v1.99.0", true)]
        {
            let mut seen = object(&json!({"resourceVersion": resource_version}));
            seen["status"] = json!({"version": version});
            applied.saw(&parsed(seen).expect("a PediaCluster"));
            assert_eq!(applied.foreign().is_some(), is_foreign, "{version}");
            assert_eq!(applied.take_arrived().is_some(), !is_foreign, "{version}");
        }
    }

    #[test]
    fn a_watch_may_be_behind() {
        assert!(is_later(Some("10"), Some("9")));
        assert!(!is_later(Some("9"), Some("10")));
        assert!(is_later(Some("a"), Some("b")), "of which one cannot tell");
        assert!(!is_later(Some("a"), Some("a")));
    }
}
