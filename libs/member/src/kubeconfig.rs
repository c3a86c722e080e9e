//! From a kubeconfig to a connection, without running or reading anything that it names.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kube::config::{AuthInfo, Cluster, Context, Kubeconfig as File};

use crate::allow_list::AllowList;
use crate::connection::{ClientCertificate, Connection, Endpoint, Trust};
use crate::error::ConfigError;
use crate::{pem, proxy};
use armadex_crds::{Misread, Sensitive, read_yaml_documents};

/// A Secret may hold 1 MiB at most, so a larger one is no kubeconfig that somebody means.
const MAX_BYTES: usize = 1 << 20;
const COMMAND: &str = "it would run a command on this host";
const FILE: &str = "it would read a file of this host; put the data into the kubeconfig";

/// What a kubeconfig says.
pub(crate) struct Kubeconfig {
    pub(crate) connection: Connection,
    /// Whether it asks by itself to verify the API server.
    pub(crate) verifies: bool,
}

/// A file that says where its current context leads; nothing else of it is checked.
pub(crate) struct Opened<'a> {
    field: &'a str,
    file: File,
    /// The API server.
    pub(crate) server: Endpoint,
}

/// Opens the kubeconfig in `field`.
pub(crate) fn open<'a>(field: &'a str, yaml: &[u8]) -> Result<Opened<'a>, ConfigError> {
    let file = parse(field, yaml)?;
    let cluster = cluster(field, &file)?;
    let server = cluster.server.as_deref().unwrap_or_default();
    let server = Endpoint::parse(&format!("{field}: clusters[].cluster.server"), server)?;
    Ok(Opened {
        field,
        file,
        server,
    })
}

impl Opened<'_> {
    /// Reads its current context. `skip_verification` is what the PediaCluster itself says.
    pub(crate) fn read(self, skip_verification: bool) -> Result<Kubeconfig, ConfigError> {
        let Self {
            field,
            file,
            server,
        } = self;
        let (cluster, user) = (cluster(field, &file)?, user(field, &file)?);
        check_cluster(field, cluster, skip_verification)?;
        check_user(field, user)?;
        let verifies = cluster.insecure_skip_tls_verify != Some(true) && !server.is_plain();
        let connection = Connection {
            server,
            trust: trust(field, cluster, skip_verification)?,
            server_name: cluster.tls_server_name.clone(),
            token: token(user),
            certificate: certificate(field, user)?,
            proxy: proxy_of(field, cluster)?,
            allowed: AllowList::default(),
            control_plane_proxy: None,
        };
        Ok(Kubeconfig {
            connection,
            verifies,
        })
    }
}

/// The parser's own words are left out: they quote what they read.
fn parse(field: &str, yaml: &[u8]) -> Result<File, ConfigError> {
    if yaml.len() > MAX_BYTES {
        return Err(ConfigError::invalid(field, "is larger than 1 MiB"));
    }
    let is_none = || ConfigError::invalid(field, "is not a kubeconfig");
    let text = std::str::from_utf8(yaml).map_err(|_| is_none())?;
    let documents = read_yaml_documents::<File>(text).map_err(|error| match error {
        Misread::Other { .. } => is_none(),
        Misread::TooMuch => ConfigError::invalid(field, error.to_string()),
    })?;
    let merged = documents.into_iter().try_fold(File::default(), File::merge);
    merged.map_err(|_| is_none())
}

fn lacks(field: &str, what: &str) -> ConfigError {
    ConfigError::invalid(field, format!("has no {what}"))
}

fn context<'a>(field: &str, file: &'a File) -> Result<&'a Context, ConfigError> {
    let name = file.current_context.as_deref().unwrap_or_default();
    file.contexts
        .iter()
        .find(|entry| entry.name == name)
        .and_then(|entry| entry.context.as_ref())
        .ok_or_else(|| lacks(field, "context of the name that current-context says"))
}

fn cluster<'a>(field: &str, file: &'a File) -> Result<&'a Cluster, ConfigError> {
    let context = context(field, file)?;
    file.clusters
        .iter()
        .find(|entry| entry.name == context.cluster)
        .and_then(|entry| entry.cluster.as_ref())
        .ok_or_else(|| lacks(field, "cluster of the name that its current context says"))
}

fn user<'a>(field: &str, file: &'a File) -> Result<&'a AuthInfo, ConfigError> {
    let context = context(field, file)?;
    file.auth_infos
        .iter()
        .find(|entry| Some(&entry.name) == context.user.as_ref())
        .and_then(|entry| entry.auth_info.as_ref())
        .ok_or_else(|| lacks(field, "user of the name that its current context says"))
}

fn check_cluster(field: &str, cluster: &Cluster, skip: bool) -> Result<(), ConfigError> {
    if cluster.certificate_authority.is_some() {
        return Err(forbidden(
            field,
            "clusters[].cluster.certificate-authority",
            FILE,
        ));
    }
    if cluster.insecure_skip_tls_verify == Some(true) && !skip {
        let problem = "asks not to verify the API server's certificate; \
                       set spec.connection.insecureSkipTLSVerification if that is meant";
        return Err(ConfigError::invalid(field, problem));
    }
    Ok(())
}

fn check_user(field: &str, user: &AuthInfo) -> Result<(), ConfigError> {
    const IDENTITY: &str = "use a token or a client certificate of the identity that is meant";
    let refused = [
        (user.exec.is_some(), "exec", COMMAND),
        (user.auth_provider.is_some(), "auth-provider", COMMAND),
        (user.token_file.is_some(), "tokenFile", FILE),
        (
            user.client_certificate.is_some(),
            "client-certificate",
            FILE,
        ),
        (user.client_key.is_some(), "client-key", FILE),
        (user.impersonate.is_some(), "as", IDENTITY),
        (user.impersonate_uid.is_some(), "as-uid", IDENTITY),
        (user.impersonate_groups.is_some(), "as-groups", IDENTITY),
        (
            user.impersonate_user_extra.is_some(),
            "as-user-extra",
            IDENTITY,
        ),
        (user.username.is_some(), "username", IDENTITY),
        (user.password.is_some(), "password", IDENTITY),
    ];
    match refused.iter().find(|(present, ..)| *present) {
        Some((_, name, why)) => Err(forbidden(field, &format!("users[].user.{name}"), why)),
        None => Ok(()),
    }
}

fn forbidden(field: &str, name: &str, why: &'static str) -> ConfigError {
    ConfigError::Forbidden {
        field: format!("{field}: {name}"),
        why,
    }
}

fn trust(field: &str, cluster: &Cluster, skip: bool) -> Result<Trust, ConfigError> {
    if skip {
        return Ok(Trust::Anyone);
    }
    let name = format!("{field}: clusters[].cluster.certificate-authority-data");
    match non_blank(cluster.certificate_authority_data.as_deref()) {
        None => Ok(Trust::System),
        Some(data) => Ok(Trust::Bundle(pem::certificates(
            &name,
            &decode(&name, data)?,
        )?)),
    }
}

fn token(user: &AuthInfo) -> Option<Sensitive> {
    use secrecy::ExposeSecret;
    let token = user.token.as_ref()?.expose_secret();
    non_blank(Some(token)).map(Sensitive::new)
}

fn certificate(field: &str, user: &AuthInfo) -> Result<Option<ClientCertificate>, ConfigError> {
    use secrecy::ExposeSecret;
    let chain_field = format!("{field}: users[].user.client-certificate-data");
    let key_field = format!("{field}: users[].user.client-key-data");
    let chain = non_blank(user.client_certificate_data.as_deref());
    let key = non_blank(
        user.client_key_data
            .as_ref()
            .map(ExposeSecret::expose_secret),
    );
    match (chain, key) {
        (None, None) => Ok(None),
        (Some(_), None) => Err(ConfigError::missing(&key_field)),
        (None, Some(_)) => Err(ConfigError::missing(&chain_field)),
        (Some(chain), Some(key)) => {
            let chain = decode(&chain_field, chain)?;
            let key = Sensitive::new(decode(&key_field, key)?);
            pem::certificates(&chain_field, &chain)?;
            pem::check_key(&key_field, &key)?;
            Ok(Some(ClientCertificate { chain, key }))
        }
    }
}

fn proxy_of(
    field: &str,
    cluster: &Cluster,
) -> Result<Option<crate::connection::Proxy>, ConfigError> {
    let name = format!("{field}: clusters[].cluster.proxy-url");
    non_blank(cluster.proxy_url.as_deref())
        .map(|url| proxy::parse(&name, url, &Default::default()))
        .transpose()
}

fn decode(field: &str, text: &str) -> Result<Vec<u8>, ConfigError> {
    BASE64_STANDARD
        .decode(text)
        .map_err(|_| ConfigError::invalid(field, "is not valid base64"))
}

fn non_blank(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}
