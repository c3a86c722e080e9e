//! A server on loopback behind a kube-apiserver: an ExternalName Service for `localhost` and an APIService with its port.

use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::{Namespace, Service};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use crate::wait::wait_until;

/// The apiserver looks at an APIService every 30 s at most.
const AVAILABLE: Duration = Duration::from_secs(60);

/// One group and version served by somebody else.
#[derive(Debug, Clone, Copy)]
pub struct ApiService {
    /// The group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The Service, whose name the server's certificate must carry.
    pub service: &'static str,
    /// The Service's namespace.
    pub namespace: &'static str,
    /// Where the server listens on loopback.
    pub port: u16,
}

impl ApiService {
    /// `<version>.<group>`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }

    /// Registers the server, whose certificate is checked against `authority` (PEM).
    pub async fn apply(&self, host: &Client, authority: &str) -> Result<()> {
        let Self {
            service, namespace, ..
        } = *self;
        let how = PatchParams::apply("armadex-e2e").force();
        let namespaces: Api<Namespace> = Api::all(host.clone());
        let wanted =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        namespaces
            .patch(namespace, &how, &Patch::Apply(&wanted))
            .await?;
        let services: Api<Service> = Api::namespaced(host.clone(), namespace);
        services
            .patch(service, &how, &Patch::Apply(&self.service_object()))
            .await?;
        let registrations: Api<APIService> = Api::all(host.clone());
        let name = self.name();
        let wanted = self.registration(authority);
        registrations
            .patch(&name, &how, &Patch::Apply(&wanted))
            .await
            .with_context(|| format!("APIService {name}"))?;
        Ok(())
    }

    /// Takes the registration away: one whose server is gone keeps every namespace from being deleted.
    pub async fn remove(&self, host: &Client) -> Result<()> {
        let registrations: Api<APIService> = Api::all(host.clone());
        registrations
            .delete(&self.name(), &DeleteParams::default())
            .await?;
        Ok(())
    }

    /// Waits until the apiserver finds the server available.
    pub async fn wait_until_available(&self, host: &Client) -> Result<()> {
        let registrations: Api<APIService> = Api::all(host.clone());
        let name = self.name();
        wait_until(
            &format!("the APIService {name} is available"),
            AVAILABLE,
            || async {
                let status = registrations.get(&name).await?.status.unwrap_or_default();
                let conditions = status.conditions.unwrap_or_default();
                let available = conditions
                    .into_iter()
                    .find(|condition| condition.type_ == "Available");
                let available = available.context("no condition yet")?;
                anyhow::ensure!(
                    available.status == "True",
                    "{}",
                    available.message.unwrap_or_default()
                );
                Ok(true)
            },
        )
        .await
    }

    fn service_object(&self) -> serde_json::Value {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": self.service, "namespace": self.namespace},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        })
    }

    fn registration(&self, authority: &str) -> serde_json::Value {
        json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": self.name()},
            "spec": {
                "group": self.group,
                "version": self.version,
                "groupPriorityMinimum": 1000,
                "versionPriority": 100,
                "caBundle": STANDARD.encode(authority),
                "service": {"name": self.service, "namespace": self.namespace, "port": self.port},
            },
        })
    }
}
