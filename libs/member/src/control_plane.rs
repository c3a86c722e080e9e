//! The control plane as a way to members: it asks one itself for what it is asked for below the subresource `proxy` of the object that stands for that
//! member, as Karmada does for `clusters/NAME/proxy`. Requests carry the credentials that the control plane is asked with, and none of a member.

use std::sync::Arc;

use armadex_crds::{ControlPlaneProxy, is_subdomain};
use kube::Config;
use kube::client::ConfigExt as _;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer as _, ServiceExt as _};

use crate::connection::Endpoint;
use crate::error::ConfigError;
use crate::transport::{self, ClientMaker};

/// Where the control plane is, and how it is asked. Clones share its credentials.
#[derive(Clone)]
pub struct ControlPlane {
    server: Endpoint,
    make: ClientMaker,
}

impl ControlPlane {
    /// That of a kubeconfig, or of the service account of a pod; a token that lies in a file is read again and again, as for all else that is asked there.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        const FIELD: &str = "the control plane";
        let wrong =
            |error: kube::Error| ConfigError::invalid(FIELD, format!("is not reached: {error}"));
        let server = Endpoint::parse(FIELD, &config.cluster_url.to_string())?;
        let tls = config.rustls_client_config().map_err(wrong)?;
        let make = transport::maker_to_anywhere(config.tls_server_name.as_deref(), tls)?;
        let token = config.auth_layer().map_err(wrong)?;
        let headers = config.extra_headers_layer().map_err(wrong)?;
        let authenticated = move |windows| {
            let client = headers.layer(make(windows));
            match &token {
                Some(token) => BoxCloneSyncService::new(token.layer(client)),
                None => BoxCloneSyncService::new(client.map_err(BoxError::from)),
            }
        };
        Ok(Self {
            server,
            make: Arc::new(authenticated),
        })
    }

    /// One of a test, without credentials and without TLS.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn plain(server: &str) -> Self {
        let connection = crate::Connection::plain(server);
        let make = transport::client_maker(&connection).expect("no TLS");
        let server = connection.server;
        Self { server, make }
    }

    /// What stands for the API server of the member behind an object.
    pub(crate) fn proxy(&self, proxy: &ControlPlaneProxy) -> Result<Endpoint, ConfigError> {
        let ControlPlaneProxy {
            group,
            version,
            resource,
            name,
        } = checked(proxy)?;
        let server = &self.server;
        let url = format!("{server}/apis/{group}/{version}/{resource}/{name}/proxy");
        Endpoint::parse(FIELD, &url)
    }

    /// Makes clients with its credentials.
    pub(crate) fn make(&self) -> &ClientMaker {
        &self.make
    }
}

impl std::fmt::Debug for ControlPlane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlPlane")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

const FIELD: &str = "spec.connection.controlPlaneProxy";

/// Each part becomes one of a path, and none may lead out of it.
pub(crate) fn checked(proxy: &ControlPlaneProxy) -> Result<ControlPlaneProxy, ConfigError> {
    let ControlPlaneProxy {
        group,
        version,
        resource,
        name,
    } = proxy;
    let fields = [
        ("group", group),
        ("version", version),
        ("resource", resource),
        ("name", name),
    ];
    match fields.iter().find(|(_, text)| !is_subdomain(text)) {
        None => Ok(proxy.clone()),
        Some((field, _)) => {
            let problem = "is not a name of lower case letters, digits, '-' and '.'";
            Err(ConfigError::invalid(format!("{FIELD}.{field}"), problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(name: &str) -> ControlPlaneProxy {
        ControlPlaneProxy {
            group: "cluster.karmada.io".into(),
            version: "v1alpha1".into(),
            resource: "clusters".into(),
            name: name.into(),
        }
    }

    #[test]
    fn a_member_is_asked_below_its_object_and_nowhere_else() {
        let control_plane = ControlPlane::plain("http://karmada:5443/base/");
        let server = control_plane.proxy(&proxy("east")).expect("an endpoint");
        assert_eq!(
            server.to_string(),
            "http://karmada:5443/base/apis/cluster.karmada.io/v1alpha1/clusters/east/proxy"
        );
        for name in ["", "..", "a/b", "a?b", "a%2fb", "East", "*"] {
            let error = control_plane.proxy(&proxy(name)).expect_err(name);
            let words = "spec.connection.controlPlaneProxy.name is not a name";
            assert!(error.to_string().starts_with(words), "{error}");
        }
    }
}
