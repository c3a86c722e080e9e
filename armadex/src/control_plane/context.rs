//! How the control plane of a context of a kubeconfig is reached, and as whom. Takes what was read, and gives kube's configuration: kube itself ends at a `NO_PROXY` that kubectl takes. Reads the files that are named.

use anyhow::anyhow;
use http::Uri;
use kube::Config;
use kube::config::{AuthInfo, Cluster, Context, ExecAuthCluster, Kubeconfig, KubeconfigError};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::proxy;

/// That of this context, or of the current one.
pub(super) fn config(
    kubeconfig: &Kubeconfig,
    context: Option<&str>,
    environment: &proxy::Environment,
) -> anyhow::Result<Config> {
    let context = self::context(kubeconfig, context)?;
    let cluster = cluster(kubeconfig, &context.cluster)?;
    let server = cluster.server.as_deref();
    let server = server.ok_or(KubeconfigError::MissingClusterUrl)?;
    let server: Uri = server.parse().map_err(KubeconfigError::ParseClusterUrl)?;
    // With what files say that it names.
    let told = ExecAuthCluster::try_from(cluster)?;
    let proxy_url = proxy::to(&server, cluster.proxy_url.as_deref(), environment)?;
    let mut config = Config::new(server);
    if let Some(namespace) = &context.namespace {
        config.default_namespace.clone_from(namespace);
    }
    let authority = told.certificate_authority_data.as_deref();
    config.root_cert = authority.map(certificates).transpose()?;
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or_default();
    config.disable_compression = cluster.disable_compression.unwrap_or_default();
    config.tls_server_name.clone_from(&cluster.tls_server_name);
    config.auth_info = auth_info(kubeconfig, context.user.as_deref(), told);
    config.proxy_url = proxy_url;
    Ok(config)
}

fn context<'a>(
    kubeconfig: &'a Kubeconfig,
    name: Option<&str>,
) -> Result<&'a Context, KubeconfigError> {
    let name = name.or(kubeconfig.current_context.as_deref());
    let name = name.ok_or(KubeconfigError::CurrentContextNotSet)?;
    let mut contexts = kubeconfig.contexts.iter();
    let named = contexts.find(|named| named.name == name);
    let context = named.and_then(|named| named.context.as_ref());
    context.ok_or_else(|| KubeconfigError::LoadContext(name.to_owned()))
}

fn cluster<'a>(kubeconfig: &'a Kubeconfig, name: &str) -> Result<&'a Cluster, KubeconfigError> {
    let mut clusters = kubeconfig.clusters.iter();
    let named = clusters.find(|named| named.name == name);
    let cluster = named.and_then(|named| named.cluster.as_ref());
    cluster.ok_or_else(|| KubeconfigError::LoadClusterOfContext(name.to_owned()))
}

/// Of a user that is not there there is nothing, as kubectl has it.
fn auth_info(kubeconfig: &Kubeconfig, user: Option<&str>, cluster: ExecAuthCluster) -> AuthInfo {
    let mut users = kubeconfig.auth_infos.iter();
    let named = users.find(|named| Some(named.name.as_str()) == user);
    let auth_info = named.and_then(|named| named.auth_info.clone());
    let mut auth_info = auth_info.unwrap_or_default();
    if let Some(exec) = &mut auth_info.exec
        && exec.provide_cluster_info
    {
        exec.cluster = Some(cluster);
    }
    auth_info
}

fn certificates(pem: &[u8]) -> anyhow::Result<Vec<Vec<u8>>> {
    let found = CertificateDer::pem_slice_iter(pem);
    let found = found.map(|certificate| Ok(certificate?.to_vec()));
    let found: Result<_, rustls::pki_types::pem::Error> = found.collect();
    found.map_err(|error| anyhow!("certificate-authority of the cluster: {error}"))
}

#[cfg(test)]
mod tests {
    use armadex_apiserver::SelfMade;
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use kube::config::KubeConfigOptions;

    use super::*;

    fn kubeconfig() -> Kubeconfig {
        let made = SelfMade::for_names(&["localhost".to_owned()]).expect("it is made");
        let ca = BASE64_STANDARD.encode(made.ca_pem());
        let text = format!(
            "clusters:\n\
             - {{name: a, cluster: {{server: \"https://a:5443/prefix\", certificate-authority-data: {ca}, tls-server-name: b}}}}\n\
             - {{name: b, cluster: {{server: \"http://b\", insecure-skip-tls-verify: true, disable-compression: true}}}}\n\
             - {{name: c, cluster: {{}}}}\n\
             users:\n\
             - {{name: a, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: a, provideClusterInfo: true}}}}}}\n\
             - {{name: b, user: {{username: b, password: c}}}}\n\
             contexts:\n\
             - {{name: a, context: {{cluster: a, user: a, namespace: fleet}}}}\n\
             - {{name: b, context: {{cluster: b, user: b}}}}\n\
             - {{name: c, context: {{cluster: b, user: nobody}}}}\n\
             - {{name: no-server, context: {{cluster: c, user: a}}}}\n\
             - {{name: no-cluster, context: {{cluster: d, user: a}}}}\n\
             current-context: a\n"
        );
        Kubeconfig::from_yaml(&text).expect("a kubeconfig")
    }

    #[tokio::test]
    async fn all_is_as_kube_has_it() {
        let kubeconfig = kubeconfig();
        for context in [
            None,
            Some("b"),
            Some("c"),
            Some("d"),
            Some("no-server"),
            Some("no-cluster"),
        ] {
            let ours = config(&kubeconfig, context, &proxy::Environment::default());
            let options = KubeConfigOptions {
                context: context.map(str::to_owned),
                ..KubeConfigOptions::default()
            };
            let kubes = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await;
            let ours = ours.map_err(|error| error.to_string());
            let kubes = kubes.map_err(|error| error.to_string());
            // Where these tests run there may be a proxy.
            let kubes = kubes.map(|mut kubes| {
                kubes.proxy_url = None;
                kubes
            });
            assert_eq!(format!("{ours:?}"), format!("{kubes:?}"), "{context:?}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_told_by_its_field() {
        let broken = b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
        let error = certificates(broken).expect_err("it is none").to_string();
        assert!(
            error.starts_with("certificate-authority of the cluster: "),
            "{error}"
        );
    }
}
