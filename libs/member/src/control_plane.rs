//! The control plane as a way to members: it asks one itself for what it is asked for below the subresource `proxy` of the object that stands for that
//! member, as Karmada does for `clusters/NAME/proxy`. Requests carry the credentials that the control plane is asked with, and none of a member.

use std::collections::BTreeMap;
use std::sync::Arc;

use armadex_crds::{ControlPlaneProxy, is_subdomain};
use kube::Config;
use kube::client::ConfigExt as _;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer as _, ServiceExt as _};

use crate::connection::Endpoint;
use crate::error::ConfigError;
use crate::proxy;
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
        let proxy = config.proxy_url.as_ref().map(ToString::to_string);
        let proxy =
            proxy.map(|url| proxy::parse("the proxy of the control plane", &url, &BTreeMap::new()));
        let server_name = config.tls_server_name.as_deref();
        let make = transport::maker_to_anywhere(server_name, tls, proxy.transpose()?.as_ref())?;
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
    use http_body_util::Empty;
    use tokio::io::{AsyncBufReadExt as _, BufReader};
    use tokio::net::TcpListener;

    use super::*;

    fn proxy(name: &str) -> ControlPlaneProxy {
        ControlPlaneProxy {
            group: "cluster.karmada.io".into(),
            version: "v1alpha1".into(),
            resource: "clusters".into(),
            name: name.into(),
        }
    }

    /// It answers whatever it is asked to connect to.
    #[tokio::test]
    async fn it_is_asked_by_the_proxy_of_its_kubeconfig() {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = tokio::spawn(async move {
            let (socket, _) = listener.accept().await.expect("a connection");
            let mut lines = BufReader::new(socket).lines();
            let mut head = Vec::new();
            while let Some(line) = lines.next_line().await.expect("text") {
                if line.is_empty() {
                    break;
                }
                head.push(line);
            }
            head
        });
        let mut config = Config::new("https://karmada.example.com:5443".parse().expect("a URL"));
        config.proxy_url = Some(
            format!("http://me:p%40ss@{address}")
                .parse()
                .expect("a URL"),
        );
        let control_plane = ControlPlane::new(&config).expect("a way");
        let client = (control_plane.make())(transport::LIST_WINDOWS);
        let request = http::Request::get("https://karmada.example.com:5443/version");
        let request = request.body(Empty::new()).expect("a request");
        client
            .oneshot(request)
            .await
            .map(drop)
            .expect_err("it connects nobody");
        let head = asked.await.expect("no panic");
        assert_eq!(head[0], "CONNECT karmada.example.com:5443 HTTP/1.1");
        // me:p@ss
        let login = "proxy-authorization: Basic bWU6cEBzcw==";
        assert!(
            head.iter().any(|line| line.eq_ignore_ascii_case(login)),
            "{head:?}"
        );
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
