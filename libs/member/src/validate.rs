//! From a PediaCluster's spec and the Secrets that it names to a [`Connection`]. Pure.
//!
//! Which credentials count is Clusterpedia's rule, without its defects: an empty CA means the system's roots and never "do not
//! verify", and an inline CA also counts beside credentials from Secrets.

use std::collections::BTreeSet;

use armadex_crds::{
    AuthenticationFrom, Base64Bytes, ControlPlaneProxy, PediaClusterSpec, SecretKeyRef,
};

use crate::allow_list::AllowList;
use crate::binding::{self, Basis, Ca, Ground, OF_KUBECONFIG, Pieces, Policy};
use crate::connection::{ClientCertificate, Connection, Endpoint, Proxy, Trust};
use crate::error::ConfigError;
use crate::secrets::{Lookup, SecretData, SecretId, SecretScope};
use crate::{control_plane, kubeconfig, pem, proxy};
use armadex_crds::Sensitive;

const APISERVER: &str = "spec.apiserver";
const CONTROL_PLANE_PROXY: &str = "spec.connection.controlPlaneProxy";

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
    if scope.ignored {
        return BTreeSet::new();
    }
    // Beside a kubeconfig nothing else counts.
    let counting = if from.kubeconfig.is_some() {
        1
    } else {
        usize::MAX
    };
    let references = from.named().take(counting);
    references
        .filter_map(|reference| scope.resolve(reference).ok())
        .collect()
}

/// Makes a connection of what the spec says, or says which field is wrong, or why its credentials may not be sent there, or that nobody may be there.
pub fn validate(
    spec: &PediaClusterSpec,
    scope: &SecretScope,
    secrets: &SecretData,
    policy: &Policy,
    allowed: &AllowList,
) -> Result<Validated, ConfigError> {
    let (proxy, control_plane_proxy) = (proxy_of(spec)?, control_plane_proxy_of(spec, policy)?);
    let asked = Asked {
        spec,
        skip: skips(spec),
        lookup: Lookup { scope, secrets },
        policy,
    };
    let mut validated = match source(spec) {
        Source::Kubeconfig => asked.own_kubeconfig(),
        Source::Inline => asked.inline(),
        Source::Secrets(_) if scope.ignored => asked.without_secrets(),
        Source::Secrets(AuthenticationFrom {
            kubeconfig: Some(reference),
            ..
        }) => asked.kubeconfig(reference),
        Source::Secrets(from) => asked.pieces(from),
    }?;
    let connection = &mut validated.connection;
    connection.proxy = proxy.or(connection.proxy.take());
    let proxy = connection.proxy.as_ref();
    let proxy = proxy.map(|proxy| proxy.url.host().unwrap_or_default());
    allowed.check(connection.server.host(), proxy)?;
    connection.allowed = allowed.clone();
    connection.control_plane_proxy = control_plane_proxy;
    validated.warnings.extend(unverified(&validated.connection));
    Ok(validated)
}

fn skips(spec: &PediaClusterSpec) -> bool {
    let way = spec.connection.as_ref();
    way.is_some_and(|way| way.insecure_skip_tls_verification)
}

fn proxy_of(spec: &PediaClusterSpec) -> Result<Option<Proxy>, ConfigError> {
    let way = spec.connection.as_ref();
    let proxied = way.filter(|way| !way.proxy_url.trim().is_empty());
    let field = "spec.connection.proxyURL";
    proxied
        .map(|way| proxy::parse(field, &way.proxy_url, &way.proxy_header))
        .transpose()
}

/// The synchro asks the control plane for it with rights of its own, which are to all objects of a kind: whoever may only write PediaClusters
/// does not choose one of them.
fn control_plane_proxy_of(
    spec: &PediaClusterSpec,
    policy: &Policy,
) -> Result<Option<ControlPlaneProxy>, ConfigError> {
    let way = spec.connection.as_ref();
    let Some(proxy) = way.and_then(|way| way.control_plane_proxy.as_ref()) else {
        return Ok(None);
    };
    let why = match policy {
        // If it was this one, which is compared with all of the connection.
        Policy::Rendered(_) => return control_plane::checked(proxy).map(Some),
        Policy::Unlisted(why) => return Err(ConfigError::Unlisted { why: why.clone() }),
        Policy::Silent => binding::SILENT,
        Policy::Absent => binding::ABSENT,
    };
    Err(ConfigError::Unrendered {
        field: CONTROL_PLANE_PROXY,
        why,
    })
}

fn check_plain(server: &Endpoint, skip: bool) -> Result<(), ConfigError> {
    if server.is_plain() && !skip {
        let problem = "is not https, so nobody can be verified; \
                       set spec.connection.insecureSkipTLSVerification if that is meant";
        return Err(ConfigError::invalid("the API server's URL", problem));
    }
    Ok(())
}

/// Meant as it may be, nobody should have to read the spec to see it. The control plane skips what the object that stands for the member skips.
fn unverified(connection: &Connection) -> Option<String> {
    let server = &connection.server;
    if connection.trust != Trust::Anyone && !server.is_plain() {
        return None;
    }
    let who = match connection.leads_straight() {
        true => "nobody is verified",
        false => "the control plane verifies nobody",
    };
    Some(format!(
        "{who} at {server}: whoever is on the way there can take the credentials and change what is synced"
    ))
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

/// What is asked for, and what that may be made of. Where Secrets are named, what is told before it is known that they may be used depends on
/// the spec alone: whoever writes it may not be somebody who may read them.
struct Asked<'a> {
    spec: &'a PediaClusterSpec,
    skip: bool,
    lookup: Lookup<'a>,
    policy: &'a Policy,
}

impl Asked<'_> {
    fn own_kubeconfig(&self) -> Result<Validated, ConfigError> {
        let field = "spec.kubeconfig";
        let yaml = decode(field, &self.spec.kubeconfig)?;
        let read = kubeconfig::open(field, &yaml)?.read(self.skip)?;
        self.own(read.connection)
    }

    fn inline(&self) -> Result<Validated, ConfigError> {
        self.own(inline(self.spec, self.skip)?)
    }

    /// Where no Secret is read. What refers to one has no whole credential beside it, which a way by the control plane does not need.
    fn without_secrets(&self) -> Result<Validated, ConfigError> {
        let way = self.spec.connection.as_ref();
        if way.is_none_or(|way| way.control_plane_proxy.is_none()) {
            return Err(ConfigError::SecretsIgnored);
        }
        let mut validated = self.inline()?;
        let ignored = ConfigError::SecretsIgnored.to_string();
        validated.warnings.push(ignored);
        Ok(validated)
    }

    /// Of whoever wrote it.
    fn own(&self, connection: Connection) -> Result<Validated, ConfigError> {
        check_plain(&connection.server, self.skip)?;
        let leads_to = connection.server.to_string();
        let ground = match binding::basis(self.spec, self.policy, &leads_to)? {
            Basis::Policy(ground) => ground,
            Basis::Others(_) => Ground::Own,
        };
        Ok(Validated {
            connection,
            ground,
            warnings: Vec::new(),
        })
    }

    /// Of a Secret that holds a whole kubeconfig.
    fn kubeconfig(&self, reference: &SecretKeyRef) -> Result<Validated, ConfigError> {
        const FIELD: &str = "spec.authenticationFrom.kubeconfig";
        let secret = self.lookup.id(reference)?;
        let basis = binding::basis(self.spec, self.policy, OF_KUBECONFIG)?;
        let value = self.lookup.value(reference);
        let opened = value.and_then(|yaml| kubeconfig::open(FIELD, yaml.expose()));
        let (opened, warnings) = match &basis {
            Basis::Policy(_) => (opened?, Vec::new()),
            // Its place is its ground, and whatever else lies there is no kubeconfig.
            Basis::Others(_) if self.lookup.is_ours(&secret) => {
                let opened = opened.map_err(|_| secret.lacks_kubeconfig(&reference.key))?;
                (opened, Vec::new())
            }
            Basis::Others(made) => {
                let server = opened.as_ref().ok().map(|opened| &opened.server);
                let secrets = self.lookup.secrets;
                let warnings = binding::check_granted(&secret, server, secrets, *made)?;
                (opened?, warnings)
            }
        };
        check_plain(&opened.server, self.skip)?;
        let read = opened.read(self.skip)?;
        let ground = match basis {
            Basis::Policy(ground) => ground,
            Basis::Others(made) => {
                binding::check_way(self.spec, &secret, read.verifies, made)?;
                Ground::Secrets
            }
        };
        Ok(Validated {
            connection: read.connection,
            ground,
            warnings,
        })
    }

    /// Of single pieces that Secrets hold.
    fn pieces(&self, from: &AuthenticationFrom) -> Result<Validated, ConfigError> {
        let server = Endpoint::parse(APISERVER, &self.spec.apiserver)?;
        check_plain(&server, self.skip)?;
        if from.token.is_none() && (from.cert.is_none() || from.key.is_none()) {
            return Err(no_credential());
        }
        let id = |reference| self.lookup.id(reference);
        let credentials = [&from.token, &from.cert, &from.key].into_iter().flatten();
        let inline_ca = match &from.ca {
            Some(_) => Sensitive::default(),
            None => Sensitive::new(decode("spec.caData", &self.spec.ca_data)?),
        };
        let pieces = Pieces {
            server: &server,
            credentials: credentials.map(id).collect::<Result<_, _>>()?,
            ca: match &from.ca {
                _ if self.skip => Ca::Unasked,
                Some(reference) => Ca::Secret(id(reference)?),
                None if inline_ca.is_blank() => Ca::System,
                None => Ca::Inline,
            },
        };
        let (ground, warnings) = match binding::basis(self.spec, self.policy, &server.to_string())?
        {
            Basis::Policy(ground) => (ground, Vec::new()),
            Basis::Others(made) => {
                let warnings = binding::check_pieces(&pieces, self.lookup.secrets, made)?;
                (Ground::Secrets, warnings)
            }
        };
        Ok(Validated {
            connection: self.parts(from, inline_ca)?.connect(self.spec, self.skip)?,
            ground,
            warnings,
        })
    }

    fn parts(&self, from: &AuthenticationFrom, inline_ca: Sensitive) -> Result<Parts, ConfigError> {
        let value = |reference: &Option<SecretKeyRef>| {
            let reference = reference.as_ref();
            reference.map(|found| self.lookup.value(found)).transpose()
        };
        let ca = value(&from.ca)?.unwrap_or(inline_ca);
        Ok(Parts {
            token: value(&from.token)?,
            ca: (!ca.is_blank()).then_some(ca),
            cert: value(&from.cert)?,
            key: value(&from.key)?,
        })
    }
}

fn no_credential() -> ConfigError {
    ConfigError::Missing {
        field: "a credential".to_owned(),
        hint: ": a token, or a client certificate and its key",
    }
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
        let server = Endpoint::parse(APISERVER, &spec.apiserver)?;
        let certificate = match (self.cert, self.key) {
            (Some(chain), Some(key)) => Some(certificate(&chain, key)?),
            _ => None,
        };
        let token = self.token.as_ref().map(trim_token).transpose()?;
        let way = spec.connection.as_ref();
        let leads_elsewhere = way.is_some_and(|way| way.control_plane_proxy.is_some());
        if token.is_none() && certificate.is_none() && !leads_elsewhere {
            return Err(no_credential());
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
            allowed: AllowList::default(),
            control_plane_proxy: None,
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
