//! From a connection to a TLS configuration, through kube's own reading of credentials.

use std::sync::OnceLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kube::client::ConfigExt;
use kube::config::AuthInfo;
use rustls::client::Resumption;

use crate::connection::{Connection, Trust};
use crate::error::ConfigError;

/// Eight tickets of the one server that a configuration is for. The library's own number takes 16 KB for every member.
const SESSIONS: usize = 8;

/// A configuration that trusts the system's roots: they are read once, and there once, however many members are believed by them.
static OF_SYSTEM: OnceLock<rustls::ClientConfig> = OnceLock::new();

/// The TLS configuration of `connection`; the system's roots are read only if nothing else is trusted.
pub(crate) fn client_config(connection: &Connection) -> Result<rustls::ClientConfig, ConfigError> {
    let own = own_config(connection)?;
    let mut config = match connection.trust {
        Trust::System => {
            let mut config = of_system()?.clone();
            config.client_auth_cert_resolver = own.client_auth_cert_resolver;
            config
        }
        Trust::Bundle(_) | Trust::Anyone => own,
    };
    config.resumption = Resumption::in_memory_sessions(SESSIONS);
    Ok(config)
}

fn of_system() -> Result<&'static rustls::ClientConfig, ConfigError> {
    if let Some(config) = OF_SYSTEM.get() {
        return Ok(config);
    }
    let config = kube::Config::new(http::Uri::from_static("https://localhost"));
    let config = made(&config)?;
    Ok(OF_SYSTEM.get_or_init(|| config))
}

/// With its own credential, and what it trusts itself.
fn own_config(connection: &Connection) -> Result<rustls::ClientConfig, ConfigError> {
    let server = connection
        .server
        .join("/")
        .map_err(|_| ConfigError::invalid("the API server's URL", "is not a URL"))?;
    let mut config = kube::Config::new(server);
    config.auth_info = auth_info(connection);
    config.accept_invalid_certs = connection.trust == Trust::Anyone;
    config.root_cert = match &connection.trust {
        Trust::Bundle(certificates) => Some(certificates.clone()),
        // Without a list the system's would be read, which a bare container does not have, and which are elsewhere for whoever trusts them.
        Trust::Anyone | Trust::System => Some(Vec::new()),
    };
    made(&config)
}

fn made(config: &kube::Config) -> Result<rustls::ClientConfig, ConfigError> {
    let made = config.rustls_client_config();
    made.map_err(|error| ConfigError::invalid("the TLS configuration", format!("fails: {error}")))
}

/// The same for the https proxy before the member: who we are is for the member alone, whatever the proxy asks for.
pub(crate) fn proxy_config(connection: &Connection) -> Result<rustls::ClientConfig, ConfigError> {
    client_config(&Connection {
        certificate: None,
        ..connection.clone()
    })
}

fn auth_info(connection: &Connection) -> AuthInfo {
    let Some(certificate) = &connection.certificate else {
        return AuthInfo::default();
    };
    AuthInfo {
        client_certificate_data: Some(BASE64_STANDARD.encode(&certificate.chain)),
        client_key_data: Some(BASE64_STANDARD.encode(certificate.key.expose()).into()),
        ..AuthInfo::default()
    }
}

#[cfg(test)]
mod tests {
    use armadex_crds::Sensitive;
    use rcgen::{CertifiedKey, generate_simple_self_signed};

    use super::*;
    use crate::connection::ClientCertificate;

    #[test]
    fn a_client_certificate_is_for_the_member_and_not_for_a_proxy() {
        let made = generate_simple_self_signed(vec!["armadex".to_owned()]);
        let CertifiedKey { cert, signing_key } = made.expect("a certificate");
        let connection = Connection {
            certificate: Some(ClientCertificate {
                chain: cert.pem().into(),
                key: Sensitive::new(signing_key.serialize_pem()),
            }),
            ..Connection::plain("https://member")
        };
        let offers = |config: Result<rustls::ClientConfig, ConfigError>| {
            let config = config.expect("a configuration");
            config.client_auth_cert_resolver.has_certs()
        };
        for trust in [Trust::System, Trust::Anyone] {
            let connection = Connection {
                trust,
                ..connection.clone()
            };
            assert!(offers(client_config(&connection)));
            assert!(!offers(proxy_config(&connection)));
        }
    }
}
