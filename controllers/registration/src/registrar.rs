//! Keeps the APIService, and the Service that it names, as the control plane needs them to send requests here.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

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
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::bundle::{Bundle, Wanted};
use crate::counts::{ANNOTATION, Counts};
use crate::looks::{Looks, answered};

/// Whose fields they are.
pub const FIELD_MANAGER: &str = "armadex-registration";
/// The label that says who looks after an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The label that says what it is of.
pub const NAME: &str = "app.kubernetes.io/name";
/// The value of both.
pub const OURS: &str = "armadex";

const VERSION: &str = "v1beta1";
/// How long two who each put the other's host right again are told so: longer than each takes to look again.
const CONTESTED: Duration = Duration::from_secs(180);
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
    /// The API group that is sent here.
    pub group: String,
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
    /// Whether an APIService that leads to somebody else is made to lead here: once, for of two that do so again and again each takes the other's.
    pub takes_over: bool,
}

/// Whether the API server has come to be registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// Nothing was looked at yet.
    #[default]
    Unknown,
    /// It has, and as far as is known it still is.
    Registered,
    /// It has, and the last look at it failed, or found it somebody else's, or another one puts it right for itself again and again. Requests go where they went.
    Disturbed(String),
    /// It has not, and why.
    Failing(String),
}

/// Keeps it until cancelled, and says how it is.
///
/// An APIService that leads to another Service, of Clusterpedia or of an Armadex in another namespace, is left alone unless the terms say otherwise. One that
/// somebody else has made for a Service of theirs, as helm does, stays theirs but for whom to trust: of fields that two say, helm refuses to change any. What is as it
/// should be is not written.
pub async fn register(
    client: Client,
    mut terms: RegistrationTerms,
    standing: watch::Sender<Standing>,
    cancel: CancellationToken,
) {
    let mut registrar = Registrar::new(client, &terms);
    let name = api_service(&terms.group);
    let mut looks = Looks::at(format!("the registration {name}"));
    loop {
        let Some(trusted) = cancel.run_until_cancelled(ca(&mut terms.trusted)).await else {
            return;
        };
        let look = looks.look(registrar.register(trusted.as_deref()));
        let Some((looked, wait)) = cancel.run_until_cancelled(look).await else {
            return;
        };
        match looked {
            Ok(was_right) => {
                if !was_right {
                    info!("the registration {name} was made or put right");
                }
                standing.send_replace(Standing::Registered);
            }
            // Another replica was faster, and has done what was to be done.
            Err(trouble) if trouble.kind == TroubleKind::Conflict => {}
            Err(trouble) => {
                standing.send_modify(|standing| *standing = standing.after(trouble.message));
            }
        }
        tokio::select! {
            () = cancel.cancelled() => return,
            () = sleep(wait) => {}
            () = changed(&mut terms.trusted) => {}
        }
    }
}

impl Standing {
    fn after(&self, trouble: String) -> Self {
        match self {
            Self::Unknown | Self::Failing(_) => Self::Failing(trouble),
            Self::Registered | Self::Disturbed(_) => Self::Disturbed(trouble),
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

/// The name of the APIService by which a control plane sends a group here.
pub fn api_service(group: &str) -> String {
    format!("{VERSION}.{group}")
}

struct Registrar {
    group: String,
    /// The name of the APIService.
    name: String,
    api_services: Objects<APIService>,
    services: Objects<Service>,
    service: String,
    namespace: String,
    port: u16,
    reached: Reached,
    /// Until it has come to be registered: what somebody leads elsewhere after that stays there.
    takes_over: bool,
    /// Whether it has come to be registered.
    is_registered: bool,
    /// Which other host an Armadex has made it name since then, and when that was last seen.
    contested: Option<(String, Instant)>,
    bundle: Bundle,
}

impl Registrar {
    fn new(client: Client, terms: &RegistrationTerms) -> Self {
        Self {
            group: terms.group.clone(),
            name: api_service(&terms.group),
            api_services: Objects::all(client.clone()),
            services: Objects::namespaced(client, &terms.namespace),
            service: terms.service.clone(),
            namespace: terms.namespace.clone(),
            port: terms.port,
            reached: terms.reached.clone(),
            takes_over: terms.takes_over,
            is_registered: false,
            contested: None,
            bundle: Bundle::default(),
        }
    }

    /// Looks at both, and makes them what they should be. Whether they were.
    async fn register(&mut self, ours: Option<&str>) -> Result<bool, Trouble> {
        let was_right = self.look(ours).await?;
        self.takes_over = false;
        self.is_registered = true;
        self.expect_uncontested()?;
        Ok(was_right)
    }

    /// What another Armadex leads elsewhere is put right all the same: which of both is to end is somebody's to say, and until then a pod of before may have its say beside its successor.
    fn expect_uncontested(&self) -> Result<(), Trouble> {
        let Some((theirs, seen)) = &self.contested else {
            return Ok(());
        };
        let Reached::Host(ours) = &self.reached else {
            return Ok(());
        };
        if seen.elapsed() >= CONTESTED {
            return Ok(());
        }
        let (namespace, name) = (&self.namespace, &self.service);
        Err(Trouble {
            kind: TroubleKind::Invalid,
            message: format!(
                "two Armadexes lead the Service {namespace}/{name} to themselves by turns, this one to {ours} and another one to {theirs}, and each has some of the requests: \
                 end the one that is not needed"
            ),
        })
    }

    async fn look(&mut self, ours: Option<&str>) -> Result<bool, Trouble> {
        let found = answered(self.api_services.get_opt(&self.name)).await?;
        let leads_here = found.as_ref().is_some_and(|found| self.leads_here(found));
        if let Some(found) = &found
            && !leads_here
            && !self.takes_over
        {
            self.expect_ours(found)?;
        }
        // What is trusted for another's Service is not trusted for ours.
        let there = found.as_ref().filter(|_| leads_here);
        let there = there.map(bundle).unwrap_or_default();
        let noted = found.as_ref().filter(|_| leads_here).and_then(noted);
        let counted = Counts::read(noted.unwrap_or_default());
        let wanted = ours.map(|ours| self.bundle.wanted(ours, &there, &counted, Instant::now()));
        let trust = wanted.as_ref();
        let is_theirs =
            |found: &&APIService| leads_here && !owns(&found.metadata, "/f:spec/f:service/f:name");
        if let (Reached::Service, Some(theirs)) = (&self.reached, found.as_ref().filter(is_theirs))
        {
            let Some(trust) = trust else {
                return Ok(true);
            };
            let is_right = trusts(theirs, trust);
            if !is_right {
                self.apply(self.trusting(theirs, trust)).await?;
            }
            return Ok(is_right);
        }
        let service_was_right = match &self.reached {
            Reached::Host(host) => self.keep_service(&host.clone()).await?,
            Reached::Service => true,
        };
        let version = found.as_ref().and_then(ResourceExt::resource_version);
        let mut wanted = self.api_service(version, trust);
        wanted.metadata.annotations = trust.and_then(|trust| notes(found.as_ref(), trust));
        let is_right = found.is_some_and(|found| is_as(&found, &wanted));
        if !is_right {
            self.apply(wanted).await?;
        }
        Ok(service_was_right && is_right)
    }

    async fn apply(&mut self, wanted: impl Serialize + Debug) -> Result<(), Trouble> {
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let wanted = Patch::Apply(wanted);
        answered(self.api_services.patch(&self.name, &params, &wanted)).await?;
        self.bundle.written();
        Ok(())
    }

    fn leads_here(&self, found: &APIService) -> bool {
        leads_to(found) == Some((self.namespace.as_str(), self.service.as_str()))
    }

    /// One that does not lead here is ours if this Armadex registered it under another name, or if somebody has changed where it led.
    fn expect_ours(&self, found: &APIService) -> Result<(), Trouble> {
        let is_of_an_armadex = owns(&found.metadata, "/f:spec/f:service/f:name");
        let Some((namespace, name)) = leads_to(found) else {
            return Err(self.taken("is served by the control plane itself: delete it"));
        };
        if !is_of_an_armadex {
            return Err(self.taken(&format!(
                "leads to the Service {namespace}/{name}, as Clusterpedia's does: delete it, or say --register-take-over, which takes it over once"
            )));
        }
        let was_said_so = owns(&found.metadata, "/f:spec/f:service/f:namespace");
        if was_said_so && namespace != self.namespace {
            return Err(self.taken(&format!(
                "leads to the Armadex in {namespace}: end that one and run `armadex uninstall --namespace {namespace}`, or say --register-take-over, which takes it over once"
            )));
        }
        Ok(())
    }

    async fn keep_service(&mut self, host: &str) -> Result<bool, Trouble> {
        let found = answered(self.services.get_opt(&self.service)).await?;
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
        let wanted = self.external_name(version, host);
        let other = found.as_ref().and_then(said_host);
        if let Some(other) = other.filter(|other| self.is_registered && *other != host) {
            self.contested = Some((other.to_owned(), Instant::now()));
        }
        let is_right = found.is_some_and(|found| is_named_so(&found, &wanted));
        if !is_right {
            let wanted = Patch::Apply(wanted);
            answered(self.services.patch(&self.service, &params, &wanted)).await?;
        }
        Ok(is_right)
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

    fn api_service(&self, version: Option<String>, trust: Option<&Wanted>) -> APIService {
        APIService {
            metadata: metadata(&self.name, version),
            spec: Some(APIServiceSpec {
                group: Some(self.group.clone()),
                version: Some(VERSION.to_owned()),
                group_priority_minimum: GROUP_PRIORITY,
                version_priority: VERSION_PRIORITY,
                ca_bundle: trust.map(|trust| ByteString(trust.ca.as_bytes().to_vec())),
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

    /// Whom to trust, and nothing else of an APIService that was read.
    fn trusting(&self, found: &APIService, trust: &Wanted) -> Value {
        let ca = ByteString(trust.ca.as_bytes().to_vec());
        let mut metadata = json!({"name": self.name, "resourceVersion": found.resource_version()});
        if let Some(notes) = notes(Some(found), trust) {
            metadata["annotations"] = json!(notes);
        }
        json!({
            "apiVersion": APIService::API_VERSION,
            "kind": APIService::KIND,
            "metadata": metadata,
            "spec": {"caBundle": ca, "insecureSkipTLSVerify": false},
        })
    }

    fn taken(&self, words: &str) -> Trouble {
        let name = &self.name;
        Trouble {
            kind: TroubleKind::Invalid,
            message: format!(
                "the APIService {name} is there already and {words}, when this API server is to take its place"
            ),
        }
    }
}

/// Namespace and name of the Service.
fn leads_to(found: &APIService) -> Option<(&str, &str)> {
    let service = found.spec.as_ref()?.service.as_ref()?;
    Some((service.namespace.as_deref()?, service.name.as_deref()?))
}

/// Whom it says to trust, as PEM.
pub(crate) fn bundle(found: &APIService) -> String {
    let bundle = found.spec.as_ref().and_then(|spec| spec.ca_bundle.as_ref());
    bundle.map_or(String::new(), |bundle| {
        String::from_utf8_lossy(&bundle.0).into_owned()
    })
}

/// For how long CAs of others have been seen.
fn noted(found: &APIService) -> Option<&str> {
    found.annotations().get(ANNOTATION).map(String::as_str)
}

/// The annotation that is to be there. One that says nothing any more stays, empty: that somebody else has set it too takes nothing from that.
fn notes(found: Option<&APIService>, trust: &Wanted) -> Option<BTreeMap<String, String>> {
    let text = trust.counts.written();
    let is_needed = !text.is_empty() || found.and_then(noted).is_some();
    is_needed.then(|| BTreeMap::from([(ANNOTATION.to_owned(), text)]))
}

fn trusts(found: &APIService, trust: &Wanted) -> bool {
    let is_verified = found
        .spec
        .as_ref()
        .is_some_and(|spec| spec.insecure_skip_tls_verify != Some(true));
    is_verified && bundle(found) == trust.ca && is_noted(found, notes(Some(found), trust).as_ref())
}

/// Whether nothing would change. Whom to trust is somebody else's to say where it is not said.
fn is_as(found: &APIService, wanted: &APIService) -> bool {
    let spec = |object: &APIService| {
        let mut spec = object.spec.clone()?;
        spec.insecure_skip_tls_verify = spec.insecure_skip_tls_verify.filter(|skips| *skips);
        let says_whom = wanted
            .spec
            .as_ref()
            .is_some_and(|wanted| wanted.ca_bundle.is_some());
        spec.ca_bundle = spec.ca_bundle.filter(|_| says_whom);
        Some(spec)
    };
    spec(found) == spec(wanted)
        && has_labels(&found.metadata, &wanted.metadata)
        && is_noted(found, wanted.metadata.annotations.as_ref())
}

fn is_noted(found: &APIService, wanted: Option<&BTreeMap<String, String>>) -> bool {
    let mut wanted = wanted.into_iter().flatten();
    wanted.all(|(name, value)| found.annotations().get(name) == Some(value))
}

fn is_named_so(found: &Service, wanted: &Service) -> bool {
    let said = |service: &Service| {
        let spec = service.spec.as_ref()?;
        Some((spec.type_.clone(), spec.external_name.clone()))
    };
    said(found) == said(wanted) && has_labels(&found.metadata, &wanted.metadata)
}

/// The host that a process like this one has made it name.
fn said_host(found: &Service) -> Option<&str> {
    let host = found.spec.as_ref()?.external_name.as_deref();
    host.filter(|_| owns(&found.metadata, "/f:spec/f:externalName"))
}

fn has_labels(found: &ObjectMeta, wanted: &ObjectMeta) -> bool {
    let there = found.labels.clone().unwrap_or_default();
    let mut wanted = wanted.labels.iter().flatten();
    wanted.all(|(name, value)| there.get(name) == Some(value))
}

/// Of the version that was read, or of one that is not there yet: what somebody else does meanwhile is looked at first.
fn metadata(name: &str, version: Option<String>) -> ObjectMeta {
    let labels = [MANAGED_BY, NAME].map(|label| (label.to_owned(), OURS.to_owned()));
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

#[cfg(test)]
mod tests {
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

    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";

    fn ca(name: &str) -> String {
        format!("{BEGIN}\n{name}\n{END}\n")
    }

    fn run(host: &Host, reached: Reached) -> Running {
        run_that(host, reached, false)
    }

    fn run_that(host: &Host, reached: Reached, takes_over: bool) -> Running {
        run_until(host, reached, takes_over, CancellationToken::new())
    }

    fn run_until(
        host: &Host,
        reached: Reached,
        takes_over: bool,
        cancel: CancellationToken,
    ) -> Running {
        let (trusted, told) = watch::channel(Some(ca("first")));
        let terms = RegistrationTerms {
            group: "clusterpedia.io".to_owned(),
            namespace: "own".to_owned(),
            service: "armadex-apiserver".to_owned(),
            port: 8443,
            reached,
            trusted: Some(told),
            takes_over,
        };
        let (says, standing) = watch::channel(Standing::Unknown);
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

    /// The names of the CAs that are trusted.
    fn trusted(host: &Host) -> Vec<String> {
        let found = host.get(PATH).map(serde_json::from_value::<APIService>);
        let text = found.map_or(String::new(), |found| {
            bundle(&found.expect("an APIService"))
        });
        let names = text.lines().filter(|line| !line.starts_with('-'));
        names.map(str::to_owned).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn both_are_made_and_put_right_when_they_drift() {
        let host = host();
        let running = run(&host, by_host());
        until(&host, |host| host.get(PATH).is_some()).await;
        let mut made = host.get(PATH).expect("an APIService")["spec"].clone();
        made.as_object_mut().expect("a spec").remove("caBundle");
        assert_eq!(
            made,
            json!({"group": "clusterpedia.io", "version": "v1beta1", "groupPriorityMinimum": 1000,
                "versionPriority": 100, "insecureSkipTLSVerify": false,
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
        until(&host, |host| trusted(host) == ["first"]).await;
        until(&host, |host| {
            host.get(SERVICE).expect("a Service")["spec"] == wanted
        })
        .await;
        host.remove(PATH);
        until(&host, |host| host.get(PATH).is_some()).await;
    }

    /// As two releases of one home whose pods share a kubeconfig.
    #[tokio::test(start_paused = true)]
    async fn two_that_lead_the_service_to_themselves_by_turns_say_so_until_one_has_ended() {
        let host = host();
        let mut running = run(&host, by_host());
        let is_registered = |standing: &Standing| *standing == Standing::Registered;
        let registered = timeout(LIMIT, running.standing.wait_for(is_registered)).await;
        drop(registered.expect("in time").expect("it runs"));
        let theirs = json!({"manager": FIELD_MANAGER, "operation": "Apply", "fieldsType": "FieldsV1",
            "apiVersion": "v1", "fieldsV1": {"f:spec": {"f:externalName": {}}}});
        let mut service = host.get(SERVICE).expect("a Service");
        let ours = service["spec"].clone();
        service["spec"]["externalName"] = json!("next.example");
        service["metadata"]["managedFields"] = json!([theirs]);
        host.put(SERVICE, service);
        let is_disturbed = |standing: &Standing| matches!(standing, Standing::Disturbed(_));
        let disturbed = timeout(LIMIT, running.standing.wait_for(is_disturbed)).await;
        let told = format!("{:?}", *disturbed.expect("in time").expect("it runs"));
        assert!(
            told.contains("to armadex.example and another one to next.example"),
            "{told}"
        );
        assert_eq!(host.get(SERVICE).expect("a Service")["spec"], ours);
        let told_at = Instant::now();
        let registered = timeout(LIMIT, running.standing.wait_for(is_registered)).await;
        drop(registered.expect("in time").expect("it runs"));
        assert!(
            told_at.elapsed() >= Duration::from_secs(100),
            "{:?}",
            told_at.elapsed()
        );
    }

    fn registered_elsewhere(host: &Host) {
        let owned = json!({"f:spec": {"f:service": {"f:name": {}, "f:namespace": {}}}});
        let entry = json!({"manager": FIELD_MANAGER, "operation": "Apply", "fieldsType": "FieldsV1",
            "apiVersion": "apiregistration.k8s.io/v1", "fieldsV1": owned});
        host.put(
            PATH,
            json!({"metadata": {"managedFields": [entry]}, "spec": {"group": "clusterpedia.io", "version": "v1beta1",
            "groupPriorityMinimum": 1000, "versionPriority": 100,
            "service": {"namespace": "other", "name": "armadex-apiserver", "port": 443}}}),
        );
    }

    /// A trial beside the one that is used would have its requests otherwise.
    #[tokio::test(start_paused = true)]
    async fn an_armadex_elsewhere_stays_registered_unless_it_is_told_otherwise() {
        let host = host();
        registered_elsewhere(&host);
        let before = host.get(PATH);
        let mut running = run(&host, Reached::Service);
        let fails = |standing: &Standing| matches!(standing, Standing::Failing(_));
        let told = timeout(LIMIT, running.standing.wait_for(fails)).await;
        let told = format!("{:?}", *told.expect("in time").expect("it runs"));
        assert!(
            told.contains("the Armadex in other") && told.contains("--register-take-over"),
            "{told}"
        );
        assert_eq!(host.get(PATH), before);
        run_that(&host, Reached::Service, true);
        until(&host, |host| {
            host.get(PATH).expect("an APIService")["spec"]["service"]["namespace"] == "own"
        })
        .await;
    }

    /// A value of a chart stays set: of two that take over without end each would have what the other one needs.
    #[tokio::test(start_paused = true)]
    async fn what_was_taken_over_once_is_left_to_whoever_takes_it_back() {
        let host = host();
        registered_elsewhere(&host);
        let mut running = run_that(&host, Reached::Service, true);
        let is_registered = |standing: &Standing| *standing == Standing::Registered;
        let registered = timeout(LIMIT, running.standing.wait_for(is_registered)).await;
        drop(registered.expect("in time").expect("it runs"));
        registered_elsewhere(&host);
        let taken_back = host.get(PATH);
        let is_disturbed = |standing: &Standing| matches!(standing, Standing::Disturbed(_));
        let disturbed = timeout(LIMIT, running.standing.wait_for(is_disturbed)).await;
        let told = format!("{:?}", *disturbed.expect("in time").expect("it runs"));
        assert!(told.contains("which takes it over once"), "{told}");
        assert_eq!(host.get(PATH), taken_back);
    }

    #[tokio::test(start_paused = true)]
    async fn what_becomes_of_a_registration_is_told() {
        let host = host();
        let mut running = run(&host, Reached::Service);
        let is = |wanted: Standing| move |standing: &Standing| *standing == wanted;
        let registered = running.standing.wait_for(is(Standing::Registered));
        timeout(LIMIT, registered)
            .await
            .expect("in time")
            .expect("it runs");
        registered_elsewhere(&host);
        let is_disturbed = |standing: &Standing| matches!(standing, Standing::Disturbed(_));
        let disturbed = running.standing.wait_for(is_disturbed);
        timeout(LIMIT, disturbed)
            .await
            .expect("in time")
            .expect("it runs");
        host.remove(PATH);
        let registered = running.standing.wait_for(is(Standing::Registered));
        timeout(LIMIT, registered)
            .await
            .expect("in time")
            .expect("it runs");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_as_it_should_be_is_not_written() {
        let host = host();
        let _running = run(&host, by_host());
        until(&host, |host| host.get(PATH).is_some()).await;
        let looked = |host: &Host| host.asked("get", "apiservices");
        sleep(Duration::from_secs(3600)).await;
        assert!(looked(&host) > 40, "{}", looked(&host));
        for resource in ["apiservices", "services"] {
            assert_eq!(host.asked("patch", resource), 1, "{resource}");
        }
    }

    /// One that leads here and trusts these, made by somebody else or not.
    fn leading_here(theirs: bool, cas: &[String]) -> Value {
        let mut there = json!({"spec": {"group": "clusterpedia.io", "version": "v1beta1",
            "groupPriorityMinimum": 1000, "versionPriority": 100,
            "caBundle": ByteString(cas.concat().into_bytes()),
            "service": {"namespace": "own", "name": "armadex-apiserver", "port": 8443}}});
        if !theirs {
            there["metadata"]["managedFields"] = json!([{"manager": FIELD_MANAGER, "operation": "Apply",
                "apiVersion": "apiregistration.k8s.io/v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:service": {"f:name": {}, "f:namespace": {}}}}}]);
        }
        there
    }

    /// As while one of them is replaced by one whose certificate comes from elsewhere.
    #[tokio::test(start_paused = true)]
    async fn replicas_with_other_cas_stay_trusted_beside_each_other() {
        let host = host();
        host.put(PATH, leading_here(true, &[]));
        let (one, two) = (run(&host, Reached::Service), run(&host, Reached::Service));
        until(&host, |host| trusted(host) == ["first"]).await;
        two.trusted.send_replace(Some(ca("second")));
        until(&host, |host| trusted(host).len() == 2).await;
        let writes = host.asked("patch", "apiservices");
        sleep(Duration::from_secs(3000)).await;
        assert_eq!(host.asked("patch", "apiservices"), writes);
        sleep(Duration::from_secs(3 * 24 * 3600)).await;
        assert_eq!(trusted(&host), ["second", "first"]);
        let counted = host.asked("patch", "apiservices") - writes;
        assert!((2..=60).contains(&counted), "{counted}");
        drop(one);
    }

    /// As where pods come and go with the load: none of them sees a day pass.
    #[tokio::test(start_paused = true)]
    async fn a_ca_that_nobody_says_goes_though_each_process_lives_for_hours() {
        for theirs in [false, true] {
            let host = host();
            host.put(PATH, leading_here(theirs, &[ca("first"), ca("former")]));
            for _ in 0..12 {
                assert_eq!(trusted(&host).len(), 2);
                let cancel = CancellationToken::new();
                let running = run_until(&host, Reached::Service, false, cancel.clone());
                sleep(Duration::from_secs(3 * 3600)).await;
                cancel.cancel();
                drop(running);
                if trusted(&host) == ["first"] {
                    break;
                }
            }
            assert_eq!(trusted(&host), ["first"]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn another_ca_is_told_at_once() {
        let host = host();
        let running = run(&host, Reached::Service);
        until(&host, |host| trusted(host) == ["first"]).await;
        let begun = tokio::time::Instant::now();
        running.trusted.send_replace(Some(ca("second")));
        until(&host, |host| trusted(host) == ["second", "first"]).await;
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
        until(&host, |host| trusted(host) == ["first"]).await;
        let mut upgraded = host.get(PATH).expect("an APIService");
        assert_eq!(
            upgraded["metadata"]["labels"],
            theirs(443)["metadata"]["labels"]
        );
        assert_eq!(upgraded["spec"]["service"], theirs(443)["spec"]["service"]);
        upgraded["spec"]["service"]["port"] = json!(6443);
        host.put(PATH, upgraded);
        running.trusted.send_replace(Some(ca("second")));
        until(&host, |host| trusted(host) == ["second", "first"]).await;
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
        until(&host, |host| trusted(host) == ["first"]).await;
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
        assert!(trusted(&host).is_empty());
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
