//! From a PediaCluster's spec and the Secrets that it names to a [`Connection`]. Pure.
//!
//! Which credentials count is Clusterpedia's rule, without its defects: an empty CA means the system's roots and never "do not
//! verify", and an inline CA also counts beside credentials from Secrets.

use std::collections::BTreeSet;

use armadex_crds::{AuthenticationFrom, Base64Bytes, PediaClusterSpec, SecretKeyRef};

use crate::binding::{Claim, Ground, Policy, Uses, bind};
use crate::connection::{ClientCertificate, Connection, Endpoint, Trust};
use crate::error::ConfigError;
use crate::secrets::{Lookup, SecretData, SecretId, SecretScope};
use crate::{kubeconfig, pem, proxy};
use armadex_crds::Sensitive;

/// A connection, and on what grounds it may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validated {
    /// The connection.
    pub connection: Connection,
    /// Why its credentials may be sent there.
    pub ground: Ground,
    /// What should be mended all the same.
    pub warnings: Vec<String>,
}

/// The Secrets whose content matters to this spec, those outside `scope` left out.
#[must_use]
pub fn referenced_secrets(spec: &PediaClusterSpec, scope: &SecretScope) -> BTreeSet<SecretId> {
    let Source::Secrets(from) = source(spec) else {
        return BTreeSet::new();
    };
    let AuthenticationFrom {
        kubeconfig,
        ca,
        cert,
        key,
        token,
    } = from;
    let references: Vec<_> = match kubeconfig {
        Some(_) => vec![kubeconfig],
        None => vec![ca, cert, key, token],
    };
    references
        .into_iter()
        .flatten()
        .filter_map(|reference| scope.resolve(reference).ok())
        .collect()
}

/// Makes a connection of what the spec says, or says which field is wrong, or why its credentials may not be sent there.
pub fn validate(
    spec: &PediaClusterSpec,
    scope: &SecretScope,
    secrets: &SecretData,
    policy: &Policy,
) -> Result<Validated, ConfigError> {
    let skip = spec
        .connection
        .as_ref()
        .is_some_and(|connection| connection.insecure_skip_tls_verification);
    let (mut connection, uses) = match source(spec) {
        Source::Kubeconfig => {
            let yaml = decode("spec.kubeconfig", &spec.kubeconfig)?;
            let read = kubeconfig::read("spec.kubeconfig", &yaml, skip)?;
            (read.connection, Uses::Nothing)
        }
        Source::Inline => (inline(spec, skip)?, Uses::Nothing),
        Source::Secrets(from) => {
            let lookup = Lookup { scope, secrets };
            let (connection, uses) = from_secrets(spec, from, &lookup, skip)?;
            (connection, uses)
        }
    };
    if let Some(way) = &spec.connection
        && !way.proxy_url.trim().is_empty()
    {
        let field = "spec.connection.proxyURL";
        connection.proxy = Some(proxy::parse(field, &way.proxy_url, &way.proxy_header)?);
    }
    if connection.server.is_plain() && !skip {
        let problem = "is not https, so nobody can be verified; \
                       set spec.connection.insecureSkipTLSVerification if that is meant";
        return Err(ConfigError::invalid("the API server's URL", problem));
    }
    let claim = Claim {
        spec,
        connection: &connection,
        uses,
    };
    let (ground, mut warnings) = bind(&claim, scope, secrets, policy)?;
    warnings.extend(unverified(&connection));
    Ok(Validated {
        connection,
        ground,
        warnings,
    })
}

/// Meant as it may be, nobody should have to read the spec to see it.
fn unverified(connection: &Connection) -> Option<String> {
    let server = &connection.server;
    (connection.trust == Trust::Anyone || server.is_plain()).then(|| {
        format!(
            "nobody is verified at {server}: whoever is on the way there can take the credentials and change what is synced"
        )
    })
}

/// Where the credentials come from.
enum Source<'a> {
    Kubeconfig,
    Inline,
    Secrets(&'a AuthenticationFrom),
}

fn source(spec: &PediaClusterSpec) -> Source<'_> {
    let inline =
        !spec.token_data.is_empty() || (!spec.cert_data.is_empty() && !spec.key_data.is_empty());
    match &spec.authentication_from {
        _ if !spec.kubeconfig.is_empty() => Source::Kubeconfig,
        Some(from) if !inline => Source::Secrets(from),
        _ => Source::Inline,
    }
}

fn inline(spec: &PediaClusterSpec, skip: bool) -> Result<Connection, ConfigError> {
    let field = |value: &Base64Bytes, name| -> Result<Option<Sensitive>, ConfigError> {
        let bytes = Sensitive::new(decode(name, value)?);
        Ok((!bytes.is_blank()).then_some(bytes))
    };
    let parts = Parts {
        token: field(&spec.token_data, "spec.tokenData")?,
        ca: field(&spec.ca_data, "spec.caData")?,
        cert: field(&spec.cert_data, "spec.certData")?,
        key: field(&spec.key_data, "spec.keyData")?,
    };
    parts.connect(spec, skip)
}

fn from_secrets(
    spec: &PediaClusterSpec,
    from: &AuthenticationFrom,
    lookup: &Lookup<'_>,
    skip: bool,
) -> Result<(Connection, Uses), ConfigError> {
    if let Some(reference) = &from.kubeconfig {
        let yaml = lookup.value(reference)?;
        let field = "spec.authenticationFrom.kubeconfig";
        let read = kubeconfig::read(field, yaml.expose(), skip)?;
        let uses = Uses::Kubeconfig {
            secret: lookup.scope.resolve(reference)?,
            verifies: read.verifies,
        };
        return Ok((read.connection, uses));
    }
    let value = |reference: &Option<SecretKeyRef>| {
        let reference = reference.as_ref();
        reference.map(|found| lookup.value(found)).transpose()
    };
    let inline_ca = || decode("spec.caData", &spec.ca_data).map(Sensitive::new);
    let ca = match value(&from.ca)? {
        Some(ca) => ca,
        None => inline_ca()?,
    };
    let parts = Parts {
        token: value(&from.token)?,
        ca: (!ca.is_blank()).then_some(ca),
        cert: value(&from.cert)?,
        key: value(&from.key)?,
    };
    let id = |reference: &SecretKeyRef| lookup.scope.resolve(reference);
    let credentials = [&from.token, &from.cert, &from.key].into_iter().flatten();
    let uses = Uses::Pieces {
        credentials: credentials.map(id).collect::<Result<_, _>>()?,
        ca: from.ca.as_ref().map(id).transpose()?,
    };
    Ok((parts.connect(spec, skip)?, uses))
}

/// The single pieces, from wherever they came.
struct Parts {
    token: Option<Sensitive>,
    ca: Option<Sensitive>,
    cert: Option<Sensitive>,
    key: Option<Sensitive>,
}

impl Parts {
    fn connect(self, spec: &PediaClusterSpec, skip: bool) -> Result<Connection, ConfigError> {
        let server = Endpoint::parse("spec.apiserver", &spec.apiserver)?;
        let certificate = match (self.cert, self.key) {
            (Some(chain), Some(key)) => Some(certificate(&chain, key)?),
            _ => None,
        };
        let token = self.token.as_ref().map(trim_token).transpose()?;
        if token.is_none() && certificate.is_none() {
            return Err(ConfigError::Missing {
                field: "a credential".to_owned(),
                hint: ": a token, or a client certificate and its key",
            });
        }
        let trust = match (skip, &self.ca) {
            (true, _) => Trust::Anyone,
            (false, None) => Trust::System,
            (false, Some(ca)) => Trust::Bundle(pem::certificates("the CA bundle", ca.expose())?),
        };
        Ok(Connection {
            server,
            trust,
            server_name: None,
            token,
            certificate,
            proxy: None,
        })
    }
}

fn certificate(chain: &Sensitive, key: Sensitive) -> Result<ClientCertificate, ConfigError> {
    pem::certificates("the client certificate", chain.expose())?;
    pem::check_key("the client certificate's key", &key)?;
    let chain = chain.expose().to_vec();
    Ok(ClientCertificate { chain, key })
}

/// A token goes into a header: without the line break that editors add, and of visible ASCII only.
fn trim_token(token: &Sensitive) -> Result<Sensitive, ConfigError> {
    let trimmed = token.expose().trim_ascii();
    if trimmed.iter().all(u8::is_ascii_graphic) {
        Ok(Sensitive::new(trimmed))
    } else {
        let problem =
            "holds characters that no token has (was it base64-encoded twice, or not at all?)";
        Err(ConfigError::invalid("the token", problem))
    }
}

fn decode(field: &str, value: &Base64Bytes) -> Result<Vec<u8>, ConfigError> {
    value
        .decode()
        .map_err(|_| ConfigError::invalid(field, "is not valid base64"))
}

#[cfg(test)]
mod tests;
