//! Whether a credential may be sent where a PediaCluster says. Pure.
//!
//! Whoever writes a PediaCluster chooses its endpoint, its trust and its proxy, so none of these may decide where a credential goes that
//! somebody else put into a Secret. What may is what a policy rendered, or what stands in the Secret itself.
//!
//! Where a policy rendered a PediaCluster, nothing else counts, be it with credentials of whoever writes it: what everybody reads under
//! the name of that cluster would come from somewhere else.
//!
//! Nor is whoever writes it told what is in a Secret that may not be used: what is wrong with it is looked for after that.

use std::collections::BTreeSet;

use armadex_crds::{
    ConnectionFingerprint, ENDPOINTS_ANNOTATION, PediaClusterSpec, RenderedConnection,
};

use crate::connection::Endpoint;
use crate::error::ConfigError;
use crate::grant::Grant;
use crate::secrets::{SecretData, SecretId};

/// What is known of the PediaClusterLifecycle that has the name of a PediaCluster. Nobody who may only write the PediaCluster can
/// write that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Lifecycles have not been listed yet; why, if that fails.
    Unlisted(String),
    /// There is none of the name.
    Absent,
    /// There is one that has not recorded what it rendered.
    Silent,
    /// It rendered this.
    Rendered(RenderedConnection),
}

/// On what grounds a connection may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ground {
    /// Its credentials are those of whoever wrote the PediaCluster.
    Own,
    /// A policy rendered this.
    Policy(ConnectionFingerprint),
    /// The Secrets that it takes credentials from say so.
    Secrets,
}

/// Who says whether a connection may be made.
pub(crate) enum Basis {
    /// The policy that rendered it.
    Policy(Ground),
    /// Nobody but its writer, and the Secrets that it names.
    Others(Made),
}

/// Who made a PediaCluster that no policy is known to have rendered.
#[derive(Clone, Copy)]
pub(crate) enum Made {
    /// Nobody has its name but itself.
    ByHand,
    /// There is a lifecycle that has not said what it rendered.
    Silently,
}

/// Where it leads whose API server stands in a Secret. Whoever may write PediaClusters alone is not told what does.
pub(crate) const OF_KUBECONFIG: &str = "the API server of its kubeconfig";

/// What is said where no policy is known to have rendered a PediaCluster.
pub(crate) const ABSENT: &str = "no policy has made a PediaClusterLifecycle of this name";
/// The same where there is a lifecycle that has not said what it rendered.
pub(crate) const SILENT: &str = "the PediaClusterLifecycle of this name has not recorded what it rendered: do the policy controllers run, and are \
                                 the CRDs of this release installed?";

/// Before anything of a Secret is looked at. `leads_to` is what is told of where it leads.
pub(crate) fn basis(
    spec: &PediaClusterSpec,
    policy: &Policy,
    leads_to: &str,
) -> Result<Basis, ConfigError> {
    let rendered = match policy {
        Policy::Rendered(rendered) => rendered,
        Policy::Unlisted(why) => return Err(ConfigError::Unlisted { why: why.clone() }),
        Policy::Silent => return Ok(Basis::Others(Made::Silently)),
        Policy::Absent => return Ok(Basis::Others(Made::ByHand)),
    };
    let found = ConnectionFingerprint::of(spec);
    if rendered.covers(&found) {
        return Ok(Basis::Policy(Ground::Policy(found)));
    }
    Err(ConfigError::Replaced {
        endpoint: leads_to.to_owned(),
        rendered: rendered.apiserver.clone(),
    })
}

/// Which Secrets single pieces come from.
pub(crate) struct Pieces<'a> {
    /// Where they are to be sent.
    pub(crate) server: &'a Endpoint,
    /// Where token, certificate and key lie.
    pub(crate) credentials: BTreeSet<SecretId>,
    /// Who vouches for the API server.
    pub(crate) ca: Ca,
}

/// Where the CA lies, as far as the spec says it.
pub(crate) enum Ca {
    /// Nobody is verified.
    Unasked,
    /// The system's roots count.
    System,
    /// In the spec.
    Inline,
    /// In this Secret.
    Secret(SecretId),
}

const SKIPS: &str = "nobody is verified there, and only a policy may render \
                     spec.connection.insecureSkipTLSVerification";
const SKIPS_KUBECONFIG: &str = "its kubeconfig asks to verify the API server, and only a policy may \
                                render spec.connection.insecureSkipTLSVerification";
const PROXIED: &str = "its kubeconfig does not ask to verify the API server, and only a policy may render \
                       spec.connection.proxyURL then";
const INLINE_CA: &str = "only a policy may render spec.caData; put the CA into the Secret and name it in \
                         spec.authenticationFrom.ca";

/// Whether pieces may be used, by what the spec and the annotations of their Secrets say; with warnings. Nothing else of a Secret that grants
/// nothing is looked at, and a refusal is the same whether it is there or not.
pub(crate) fn check_pieces(
    pieces: &Pieces<'_>,
    secrets: &SecretData,
    made: Made,
) -> Result<Vec<String>, ConfigError> {
    let each = || pieces.credentials.iter();
    let mut warnings = Vec::new();
    each()
        .try_for_each(|secret| check_trust(pieces, secret))
        .and_then(|()| {
            each().try_for_each(|secret| check_grant(pieces, secret, secrets, &mut warnings))
        })
        .and_then(|()| each().try_for_each(|secret| check_ca(pieces, secret, secrets)))
        .map_err(|refusal| refusal.told(&pieces.server.to_string(), made))?;
    Ok(warnings)
}

/// Which Secret may not be used, and why not.
struct Refusal<'a> {
    secret: &'a SecretId,
    why: String,
}

impl Refusal<'_> {
    fn told(self, endpoint: &str, made: Made) -> ConfigError {
        let policy = match made {
            Made::Silently => SILENT,
            Made::ByHand => ABSENT,
        };
        ConfigError::Unbound {
            secret: self.secret.to_string(),
            endpoint: endpoint.to_owned(),
            why: format!("{} ({policy})", self.why),
        }
    }
}

fn refuse(secret: &SecretId, why: impl Into<String>) -> Refusal<'_> {
    let why = why.into();
    Refusal { secret, why }
}

/// Whoever is verified is who the Secret's side means: with that, a proxy learns nothing.
fn check_trust<'a>(pieces: &Pieces<'_>, secret: &'a SecretId) -> Result<(), Refusal<'a>> {
    match &pieces.ca {
        Ca::Unasked => Err(refuse(secret, SKIPS)),
        Ca::Inline => Err(refuse(secret, INLINE_CA)),
        Ca::System | Ca::Secret(_) => Ok(()),
    }
}

/// A CA of another Secret has to be granted for the endpoint too: the namespace may hold the CAs of many members, and whoever has the
/// key of one of them could pass for any other.
fn check_ca<'a>(
    pieces: &Pieces<'_>,
    secret: &'a SecretId,
    secrets: &SecretData,
) -> Result<(), Refusal<'a>> {
    let Ca::Secret(ca) = &pieces.ca else {
        return Ok(());
    };
    let is_granted = || grant_of(ca, secrets).names(pieces.server);
    if ca == secret || (ca.namespace == secret.namespace && is_granted()) {
        return Ok(());
    }
    let why = format!(
        "its CA must come from the same Secret, from one of its namespace that {ENDPOINTS_ANNOTATION} grants the \
         same, or from the system's roots, and comes from {ca}"
    );
    Err(refuse(secret, why))
}

fn check_grant<'a>(
    pieces: &Pieces<'_>,
    secret: &'a SecretId,
    secrets: &SecretData,
    warnings: &mut Vec<String>,
) -> Result<(), Refusal<'a>> {
    let grant = grant_of(secret, secrets);
    if grant.names(pieces.server) {
        warnings.extend(grant.told(secret));
        return Ok(());
    }
    let server = pieces.server;
    let why = format!(
        "whoever looks after it can allow that by naming \"{server}\" in the annotation {ENDPOINTS_ANNOTATION} of the \
         Secret"
    );
    Err(refuse(secret, why))
}

/// Whether a kubeconfig outside of our namespace may be used, if there is one; with warnings. A refusal says nothing of what is in the Secret, nor
/// whether it is there.
pub(crate) fn check_granted(
    secret: &SecretId,
    server: Option<&Endpoint>,
    secrets: &SecretData,
    made: Made,
) -> Result<Vec<String>, ConfigError> {
    let grant = grant_of(secret, secrets);
    if server.is_some_and(|server| grant.names(server)) {
        return Ok(grant.told(secret));
    }
    let why = format!(
        "whoever looks after it can allow that, if there is a kubeconfig in it, by naming its API server in the annotation \
         {ENDPOINTS_ANNOTATION} of the Secret"
    );
    Err(refuse(secret, why).told(OF_KUBECONFIG, made))
}

/// What the PediaCluster adds to a kubeconfig that it may use must not open what that has closed.
pub(crate) fn check_way(
    spec: &PediaClusterSpec,
    secret: &SecretId,
    verifies: bool,
    made: Made,
) -> Result<(), ConfigError> {
    let Some(way) = &spec.connection else {
        return Ok(());
    };
    let why = if way.insecure_skip_tls_verification && verifies {
        SKIPS_KUBECONFIG
    } else if !way.proxy_url.trim().is_empty() && !verifies {
        PROXIED
    } else {
        return Ok(());
    };
    Err(refuse(secret, why).told(OF_KUBECONFIG, made))
}

fn grant_of(secret: &SecretId, secrets: &SecretData) -> Grant {
    let content = secrets.get(secret);
    let text = content.and_then(|content| content.endpoints.as_deref());
    text.map(Grant::parse).unwrap_or_default()
}

#[cfg(test)]
mod tests;
