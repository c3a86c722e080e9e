//! Keeps the APIService, and the Service that it names, as the control plane needs them to send requests here.

use std::fmt::Debug;

use armadex_control_plane::{NOT_THERE_YET, Objects, Trouble, TroubleKind};
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::{
    APIService, APIServiceSpec, ServiceReference,
};
use k8s_openapi::{ByteString, Resource};
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::looks::Looks;

/// Whose fields they are.
pub const FIELD_MANAGER: &str = "armadex-registration";

const API_SERVICE: &str = "v1beta1.clusterpedia.io";
const GROUP: &str = "clusterpedia.io";
const VERSION: &str = "v1beta1";
/// As Clusterpedia's own.
const GROUP_PRIORITY: i32 = 1000;
const VERSION_PRIORITY: i32 = 100;

/// How the control plane reaches this API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// By this host, which the Service is made to name.
    Host(String),
    /// By a Service that is there already.
    Service,
}

/// What is registered.
#[derive(Clone, Debug)]
pub struct RegistrationTerms {
    /// The Service's namespace.
    pub namespace: String,
    /// Its name.
    pub service: String,
    /// Its port.
    pub port: u16,
    /// Whether it is made.
    pub reached: Reached,
    /// The CAs that the control plane is to trust, as PEM; `None`: that is somebody else's to say, of cert-manager for example.
    pub trusted: Option<watch::Receiver<Option<String>>>,
}

/// Whether the API server has come to be registered. What fails afterwards is for the log: it goes on being registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Nothing was looked at yet.
    #[default]
    Unknown,
    /// It has.
    Registered,
    /// It has not, and why.
    Failing(String),
}

/// Keeps it until cancelled, and says how it is.
///
/// An APIService that somebody else has registered for another Service, Clusterpedia for example, is left alone: to take over is whose who deletes it. One that
/// somebody else has made for a Service of theirs, as helm does, stays theirs but for whom to trust: of fields that two say, helm refuses to change any.
pub async fn register(
    client: Client,
    mut terms: RegistrationTerms,
    standing: watch::Sender<Standing>,
    cancel: CancellationToken,
) {
    let registrar = Registrar::new(client, &terms);
    let mut looks = Looks::at(format!("the registration {API_SERVICE}"));
    loop {
        let Some(trusted) = cancel.run_until_cancelled(ca(&mut terms.trusted)).await else {
            return;
        };
        let look = looks.look(registrar.look(trusted.as_deref()));
        let Some((looked, wait)) = cancel.run_until_cancelled(look).await else {
            return;
        };
        match looked {
            Ok(was_right) => {
                if !was_right {
                    info!("the registration {API_SERVICE} was made or put right");
                }
                standing.send_replace(Standing::Registered);
            }
            Err(trouble) => {
                standing.send_if_modified(|standing| {
                    let fails = *standing != Standing::Registered;
                    if fails {
                        *standing = Standing::Failing(trouble.message);
                    }
                    fails
                });
            }
        }
        tokio::select! {
            () = cancel.cancelled() => return,
            () = sleep(wait) => {}
            () = changed(&mut terms.trusted) => {}
        }
    }
}

/// Whom to trust, as soon as that is known.
async fn ca(trusted: &mut Option<watch::Receiver<Option<String>>>) -> Option<String> {
    let trusted = trusted.as_mut()?;
    let told = trusted.wait_for(Option::is_some).await;
    let ca = told.ok().and_then(|ca| ca.clone());
    match ca {
        Some(ca) => Some(ca),
        // Whoever told it has ended, as the process does.
        None => std::future::pending().await,
    }
}

async fn changed(trusted: &mut Option<watch::Receiver<Option<String>>>) {
    let told = match trusted {
        Some(trusted) => trusted.changed().await.is_ok(),
        None => false,
    };
    if !told {
        std::future::pending::<()>().await;
    }
}

struct Registrar {
    api_services: Objects<APIService>,
    services: Objects<Service>,
    service: String,
    namespace: String,
    port: u16,
    reached: Reached,
}

impl Registrar {
    fn new(client: Client, terms: &RegistrationTerms) -> Self {
        Self {
            api_services: Objects::all(client.clone()),
            services: Objects::namespaced(client, &terms.namespace),
            service: terms.service.clone(),
            namespace: terms.namespace.clone(),
            port: terms.port,
            reached: terms.reached.clone(),
        }
    }

    /// Looks at both, and makes them what they should be. Whether they were.
    async fn look(&self, ca: Option<&str>) -> Result<bool, Trouble> {
        let found = self.api_services.get_opt(API_SERVICE).await?;
        let theirs = |found: &&APIService| !owns(&found.metadata, "/f:spec/f:service/f:name");
        let theirs = found.as_ref().filter(theirs);
        if let Some(other) = theirs.and_then(|theirs| self.other(theirs)) {
            return Err(taken(&other));
        }
        if let (Reached::Service, Some(theirs)) = (&self.reached, theirs) {
            let applied = self.apply(trusting(theirs, ca)).await?;
            return Ok(theirs.spec == applied.spec);
        }
        let service_was_right = match &self.reached {
            Reached::Host(host) => self.keep_service(host).await?,
            Reached::Service => true,
        };
        let version = found.as_ref().and_then(ResourceExt::resource_version);
        let applied = self.apply(self.api_service(version, ca)).await?;
        Ok(service_was_right && found.is_some_and(|found| found.spec == applied.spec))
    }

    async fn apply(&self, wanted: impl Serialize + Debug) -> Result<APIService, Trouble> {
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let wanted = Patch::Apply(wanted);
        self.api_services.patch(API_SERVICE, &params, &wanted).await
    }

    /// The Service that an APIService names, if it is another one.
    fn other(&self, found: &APIService) -> Option<String> {
        let service = found.spec.as_ref()?.service.as_ref();
        let (namespace, name) = service.map_or((None, None), |service| {
            (service.namespace.as_deref(), service.name.as_deref())
        });
        let is_same =
            namespace == Some(self.namespace.as_str()) && name == Some(self.service.as_str());
        let words = || match (namespace, name) {
            (Some(namespace), Some(name)) => format!("leads to the Service {namespace}/{name}"),
            _ => "is served by the control plane itself".to_owned(),
        };
        (!is_same).then(words)
    }

    async fn keep_service(&self, host: &str) -> Result<bool, Trouble> {
        let found = self.services.get_opt(&self.service).await?;
        let is_selecting = |service: &Service| {
            let spec = service.spec.as_ref();
            spec.is_some_and(|spec| spec.type_.as_deref() != Some("ExternalName"))
        };
        if found.as_ref().is_some_and(is_selecting) {
            let (namespace, name) = (&self.namespace, &self.service);
            return Err(Trouble {
                kind: TroubleKind::Invalid,
                message: format!(
                    "the Service {namespace}/{name} is there already and leads to pods of this cluster: delete it, or use --register-service"
                ),
            });
        }
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let version = found.as_ref().and_then(ResourceExt::resource_version);
        let wanted = Patch::Apply(self.external_name(version, host));
        let applied = self.services.patch(&self.service, &params, &wanted);
        let applied = applied.await?;
        Ok(found.is_some_and(|found| found.spec == applied.spec))
    }

    fn external_name(&self, version: Option<String>, host: &str) -> Service {
        Service {
            metadata: metadata(&self.service, version),
            spec: Some(ServiceSpec {
                type_: Some("ExternalName".to_owned()),
                external_name: Some(host.to_owned()),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        }
    }

    fn api_service(&self, version: Option<String>, ca: Option<&str>) -> APIService {
        APIService {
            metadata: metadata(API_SERVICE, version),
            spec: Some(APIServiceSpec {
                group: Some(GROUP.to_owned()),
                version: Some(VERSION.to_owned()),
                group_priority_minimum: GROUP_PRIORITY,
                version_priority: VERSION_PRIORITY,
                ca_bundle: ca.map(|pem| ByteString(pem.as_bytes().to_vec())),
                // With a CA beside it the field is refused.
                insecure_skip_tls_verify: Some(false),
                service: Some(ServiceReference {
                    namespace: Some(self.namespace.clone()),
                    name: Some(self.service.clone()),
                    port: Some(self.port.into()),
                }),
            }),
            status: None,
        }
    }
}

/// Whom to trust, and nothing else of an APIService that was read.
fn trusting(found: &APIService, ca: Option<&str>) -> Value {
    let trust = ca.map(|pem| json!({"caBundle": ByteString(pem.as_bytes().to_vec()), "insecureSkipTLSVerify": false}));
    json!({
        "apiVersion": APIService::API_VERSION,
        "kind": APIService::KIND,
        "metadata": {"name": API_SERVICE, "resourceVersion": found.resource_version()},
        "spec": trust.unwrap_or_else(|| json!({})),
    })
}

/// Of the version that was read, or of one that is not there yet: what somebody else does meanwhile is looked at first.
fn metadata(name: &str, version: Option<String>) -> ObjectMeta {
    let label = |key: &str, value: &str| (format!("app.kubernetes.io/{key}"), value.to_owned());
    let labels = [label("managed-by", "armadex"), label("name", "armadex")];
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(labels.into_iter().collect()),
        resource_version: Some(version.unwrap_or_else(|| NOT_THERE_YET.to_owned())),
        ..ObjectMeta::default()
    }
}

/// Whether it was a process like this one that said so last of a field.
fn owns(metadata: &ObjectMeta, field: &str) -> bool {
    let mut managers = metadata.managed_fields.iter().flatten();
    managers.any(|managed| {
        let fields = managed.fields_v1.as_ref();
        managed.manager.as_deref() == Some(FIELD_MANAGER)
            && fields.is_some_and(|fields| fields.0.pointer(field).is_some())
    })
}

fn taken(other: &str) -> Trouble {
    Trouble {
        kind: TroubleKind::Invalid,
        message: format!(
            "the APIService {API_SERVICE} is there already and {other}, as Clusterpedia's does: delete it when this API server is to take its place"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use armadex_control_plane::testing::{Host, ServedType};
    use tokio::time::timeout;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(600);
    const PATH: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.clusterpedia.io";
    const SERVICE: &str = "/api/v1/namespaces/own/services/armadex-apiserver";

    fn host() -> Host {
        let group = "apiregistration.k8s.io";
        Host::new(&[
            ServedType::new(group, "v1", "apiservices", "APIService"),
            ServedType::new("", "v1", "services", "Service").namespaced(),
        ])
    }

    struct Running {
        trusted: watch::Sender<Option<String>>,
        standing: watch::Receiver<Standing>,
    }

    fn run(host: &Host, reached: Reached) -> Running {
        let (trusted, told) = watch::channel(Some("first".to_owned()));
        let terms = RegistrationTerms {
            namespace: "own".to_owned(),
            service: "armadex-apiserver".to_owned(),
            port: 8443,
            reached,
            trusted: Some(told),
        };
        let (says, standing) = watch::channel(Standing::Unknown);
        let cancel = CancellationToken::new();
        tokio::spawn(register(host.client(), terms, says, cancel));
        Running { trusted, standing }
    }

    async fn until(host: &Host, holds: impl Fn(&Host) -> bool) {
        if timeout(LIMIT, host.until(holds)).await.is_err() {
            panic!("{:#?} {:#?}", host.get(PATH), host.get(SERVICE));
        }
    }

    fn by_host() -> Reached {
        Reached::Host("armadex.example".to_owned())
    }

    fn bundle(host: &Host) -> Value {
        host.get(PATH)
            .map_or(Value::Null, |found| found["spec"]["caBundle"].clone())
    }

    #[tokio::test(start_paused = true)]
    async fn both_are_made_and_put_right_when_they_drift() {
        let host = host();
        let running = run(&host, by_host());
        until(&host, |host| host.get(PATH).is_some()).await;
        let made = host.get(PATH).expect("an APIService")["spec"].clone();
        assert_eq!(
            made,
            json!({"group": "clusterpedia.io", "version": "v1beta1", "groupPriorityMinimum": 1000,
                "versionPriority": 100, "caBundle": "Zmlyc3Q=", "insecureSkipTLSVerify": false,
                "service": {"namespace": "own", "name": "armadex-apiserver", "port": 8443}})
        );
        let service = || host.get(SERVICE).expect("a Service")["spec"].clone();
        let wanted = json!({"type": "ExternalName", "externalName": "armadex.example"});
        assert_eq!(service(), wanted);
        let mut standing = running.standing.clone();
        let registered = standing.wait_for(|standing| *standing == Standing::Registered);
        timeout(LIMIT, registered)
            .await
            .expect("in time")
            .expect("it runs");
        for (path, field) in [(PATH, "caBundle"), (SERVICE, "externalName")] {
            let mut drifted = host.get(path).expect("it is there");
            drifted["spec"][field] = json!("b3RoZXI=");
            host.put(path, drifted);
        }
        until(&host, |host| bundle(host) == "Zmlyc3Q=").await;
        until(&host, |host| {
            host.get(SERVICE).expect("a Service")["spec"] == wanted
        })
        .await;
        host.remove(PATH);
        until(&host, |host| host.get(PATH).is_some()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn another_ca_is_told_at_once() {
        let host = host();
        let running = run(&host, Reached::Service);
        until(&host, |host| bundle(host) == "Zmlyc3Q=").await;
        let begun = tokio::time::Instant::now();
        running.trusted.send_replace(Some("second".to_owned()));
        until(&host, |host| bundle(host) == "c2Vjb25k").await;
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(host.get(SERVICE), None, "it is somebody else's");
    }

    /// As a chart that is upgraded: helm refuses to change a field that this process says, too.
    #[tokio::test(start_paused = true)]
    async fn what_somebody_else_made_for_a_service_of_theirs_is_told_whom_to_trust_and_nothing_else()
     {
        let host = host();
        let theirs = |port: u16| {
            json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}},
                "spec": {"group": "clusterpedia.io", "version": "v1beta1", "groupPriorityMinimum": 1000,
                "versionPriority": 100,
                "service": {"namespace": "own", "name": "armadex-apiserver", "port": port}}})
        };
        host.put(PATH, theirs(443));
        let running = run(&host, Reached::Service);
        until(&host, |host| bundle(host) == "Zmlyc3Q=").await;
        let mut upgraded = host.get(PATH).expect("an APIService");
        assert_eq!(
            upgraded["metadata"]["labels"],
            theirs(443)["metadata"]["labels"]
        );
        assert_eq!(upgraded["spec"]["service"], theirs(443)["spec"]["service"]);
        upgraded["spec"]["service"]["port"] = json!(6443);
        host.put(PATH, upgraded);
        running.trusted.send_replace(Some("second".to_owned()));
        until(&host, |host| bundle(host) == "c2Vjb25k").await;
        let after = host.get(PATH).expect("an APIService");
        assert_eq!(after["spec"]["service"], theirs(6443)["spec"]["service"]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_somebody_else_registered_is_left_alone_until_it_is_gone() {
        let host = host();
        let theirs = json!({"spec": {"group": "clusterpedia.io", "version": "v1beta1",
            "groupPriorityMinimum": 1000, "versionPriority": 100,
            "service": {"namespace": "clusterpedia-system", "name": "clusterpedia-apiserver"}}});
        host.put(PATH, theirs);
        let before = host.get(PATH);
        let mut running = run(&host, by_host());
        let fails = |standing: &Standing| matches!(standing, Standing::Failing(_));
        let told = timeout(LIMIT, running.standing.wait_for(fails)).await;
        let told = format!("{:?}", *told.expect("in time").expect("it runs"));
        assert!(
            told.contains("clusterpedia-system/clusterpedia-apiserver"),
            "{told}"
        );
        assert_eq!((host.get(PATH), host.get(SERVICE)), (before, None));
        host.remove(PATH);
        until(&host, |host| bundle(host) == "Zmlyc3Q=").await;
    }

    /// An API server keeps entries of those who have applied an object, for what they share with others.
    #[test]
    fn who_said_last_where_it_leads_decides_whose_it_is() {
        let metadata = |ours: Value, theirs: Value| -> ObjectMeta {
            let of = |manager: &str, fields: Value| {
                json!({"manager": manager, "operation": "Apply",
                "apiVersion": "apiregistration.k8s.io/v1", "fieldsType": "FieldsV1", "fieldsV1": fields})
            };
            let managers = json!([of(FIELD_MANAGER, ours), of("helm", theirs)]);
            serde_json::from_value(json!({"managedFields": managers})).expect("metadata")
        };
        let service = || json!({"f:spec": {"f:group": {}, "f:service": {"f:name": {}}}});
        let shared = || json!({"f:spec": {"f:group": {}}});
        let leads = |metadata| owns(&metadata, "/f:spec/f:service/f:name");
        assert!(leads(metadata(service(), shared())));
        assert!(leads(metadata(service(), service())));
        assert!(!leads(metadata(shared(), service())), "somebody took over");
        assert!(!leads(ObjectMeta::default()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_somebody_registers_while_it_is_looked_at_is_not_overwritten() {
        let host = host();
        host.ahead("patch", "apiservices", |host| {
            host.put(
                PATH,
                json!({"spec": {"group": "clusterpedia.io", "version": "v1beta1",
                "service": {"namespace": "theirs", "name": "clusterpedia-apiserver"}}}),
            );
        });
        let mut running = run(&host, Reached::Service);
        let fails = |standing: &Standing| matches!(standing, Standing::Failing(words) if words.contains("theirs"));
        let told = timeout(LIMIT, running.standing.wait_for(fails)).await;
        told.expect("in time").expect("it runs");
        assert_eq!(bundle(&host), Value::Null);
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_leads_to_pods_is_not_made_another_one() {
        let host = host();
        host.put(
            SERVICE,
            json!({"spec": {"type": "ClusterIP", "selector": {"a": "b"}}}),
        );
        let before = host.get(SERVICE);
        let mut running = run(&host, by_host());
        let fails = |standing: &Standing| matches!(standing, Standing::Failing(_));
        let told = timeout(LIMIT, running.standing.wait_for(fails)).await;
        let told = format!("{:?}", *told.expect("in time").expect("it runs"));
        assert!(told.contains("--register-service"), "{told}");
        assert_eq!((host.get(SERVICE), host.get(PATH)), (before, None));
    }
}
