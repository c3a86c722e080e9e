//! Whether a credential may be sent where a PediaCluster says. Pure.
//!
//! Whoever writes a PediaCluster chooses its endpoint, its trust and its proxy, so none of these may decide where a credential goes that
//! somebody else put into a Secret. What may is what a policy rendered, or what stands in the Secret itself.
//!
//! Where a policy rendered a PediaCluster, nothing else counts, be it with credentials of whoever writes it: what everybody reads under
//! the name of that cluster would come from somewhere else.

use std::collections::BTreeSet;

use armadex_crds::{ENDPOINTS_ANNOTATION, PediaClusterSpec, RenderedConnection};

use crate::connection::{Connection, Trust};
use crate::error::ConfigError;
use crate::grant::Grant;
use crate::secrets::{SecretData, SecretId, SecretScope};

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
    /// A policy rendered it.
    Policy {
        /// Of what it rendered.
        digest: String,
    },
    /// The Secrets that it takes credentials from say so.
    Secrets,
}

/// What a PediaCluster asks of Secrets.
pub(crate) struct Claim<'a> {
    pub(crate) spec: &'a PediaClusterSpec,
    /// As it would be made.
    pub(crate) connection: &'a Connection,
    pub(crate) uses: Uses,
}

/// Which Secrets it uses, and for what.
pub(crate) enum Uses {
    /// None: its credentials stand in it.
    Nothing,
    /// A kubeconfig, which has an endpoint and a trust of its own.
    Kubeconfig {
        secret: SecretId,
        /// Whether it asks to verify the API server.
        verifies: bool,
    },
    /// Single pieces.
    Pieces {
        /// Where token, certificate and key lie.
        credentials: BTreeSet<SecretId>,
        /// Where the CA lies; `None` if it is in the spec, or there is none.
        ca: Option<SecretId>,
    },
}

const SKIPS: &str = "nobody is verified there, and only a policy may render \
                     spec.connection.insecureSkipTLSVerification";
const SKIPS_KUBECONFIG: &str = "its kubeconfig asks to verify the API server, and only a policy may \
                                render spec.connection.insecureSkipTLSVerification";
const PROXIED: &str = "its kubeconfig does not ask to verify the API server, and only a policy may render \
                       spec.connection.proxyURL then";
const INLINE_CA: &str = "only a policy may render spec.caData; put the CA into the Secret and name it in \
                         spec.authenticationFrom.ca";

/// Decides, and gives warnings with a yes.
pub(crate) fn bind(
    claim: &Claim<'_>,
    scope: &SecretScope,
    secrets: &SecretData,
    policy: &Policy,
) -> Result<(Ground, Vec<String>), ConfigError> {
    let made = match policy {
        Policy::Rendered(rendered) => return follow(claim, rendered),
        Policy::Unlisted(why) => return Err(ConfigError::Unlisted { why: why.clone() }),
        Policy::Silent => Made::Silently,
        Policy::Absent => Made::ByHand,
    };
    let mut warnings = Vec::new();
    let checked = match &claim.uses {
        Uses::Nothing => return Ok((Ground::Own, warnings)),
        Uses::Kubeconfig { secret, verifies } => match check_kubeconfig(claim, secret, *verifies) {
            Ok(()) if secret.namespace == scope.default_namespace => Ok(()),
            Ok(()) => check_grant(claim, secret, secrets, &mut warnings),
            refused => refused,
        },
        Uses::Pieces { credentials, ca } => credentials.iter().try_for_each(|secret| {
            check_trust(claim, secret, ca.as_ref(), secrets)?;
            check_grant(claim, secret, secrets, &mut warnings)
        }),
    };
    match checked {
        Ok(()) => Ok((Ground::Secrets, warnings)),
        Err(refusal) => Err(refusal.told(claim, made)),
    }
}

fn follow(
    claim: &Claim<'_>,
    rendered: &RenderedConnection,
) -> Result<(Ground, Vec<String>), ConfigError> {
    let digest = RenderedConnection::of(claim.spec).digest;
    if rendered.covers(&digest) {
        return Ok((Ground::Policy { digest }, Vec::new()));
    }
    Err(ConfigError::Replaced {
        endpoint: claim.connection.server.to_string(),
        rendered: rendered.apiserver.clone(),
    })
}

/// Who made a PediaCluster that no policy is known to have rendered.
#[derive(Clone, Copy)]
enum Made {
    /// Nobody has its name but itself.
    ByHand,
    /// There is a lifecycle that has not said what it rendered.
    Silently,
}

/// Which Secret may not be used, and why not.
struct Refusal<'a> {
    secret: &'a SecretId,
    why: String,
}

impl Refusal<'_> {
    fn told(self, claim: &Claim<'_>, made: Made) -> ConfigError {
        let policy = match made {
            Made::Silently => {
                "the PediaClusterLifecycle of this name has not recorded what it rendered: do the policy controllers run, \
                 and are the CRDs of this release installed?"
            }
            Made::ByHand => "no policy has made a PediaClusterLifecycle of this name",
        };
        ConfigError::Unbound {
            secret: self.secret.to_string(),
            endpoint: claim.connection.server.to_string(),
            why: format!("{} ({policy})", self.why),
        }
    }
}

fn refuse(secret: &SecretId, why: impl Into<String>) -> Refusal<'_> {
    let why = why.into();
    Refusal { secret, why }
}

/// What the PediaCluster adds to a kubeconfig must not open what that has closed.
fn check_kubeconfig<'a>(
    claim: &Claim<'_>,
    secret: &'a SecretId,
    verifies: bool,
) -> Result<(), Refusal<'a>> {
    let Some(way) = &claim.spec.connection else {
        return Ok(());
    };
    if way.insecure_skip_tls_verification && verifies {
        return Err(refuse(secret, SKIPS_KUBECONFIG));
    }
    if !way.proxy_url.trim().is_empty() && !verifies {
        return Err(refuse(secret, PROXIED));
    }
    Ok(())
}

/// Whoever is verified is who the Secret's side means: with that, a proxy learns nothing.
///
/// A CA of another Secret has to be granted for the endpoint too: the namespace may hold the CAs of many members, and whoever has the
/// key of one of them could pass for any other.
fn check_trust<'a>(
    claim: &Claim<'_>,
    secret: &'a SecretId,
    ca: Option<&SecretId>,
    secrets: &SecretData,
) -> Result<(), Refusal<'a>> {
    let ca = match (&claim.connection.trust, ca) {
        (Trust::Anyone, _) => return Err(refuse(secret, SKIPS)),
        (Trust::System, _) => return Ok(()),
        (Trust::Bundle(_), None) => return Err(refuse(secret, INLINE_CA)),
        (Trust::Bundle(_), Some(ca)) => ca,
    };
    let is_granted = || grant_of(ca, secrets).names(&claim.connection.server);
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
    claim: &Claim<'_>,
    secret: &'a SecretId,
    secrets: &SecretData,
    warnings: &mut Vec<String>,
) -> Result<(), Refusal<'a>> {
    let (grant, server) = (grant_of(secret, secrets), &claim.connection.server);
    if grant.names(server) {
        let told = |problem| format!("secret {secret}: {problem}");
        warnings.extend(grant.problems.into_iter().map(told));
        return Ok(());
    }
    let why = if grant == Grant::default() {
        format!(
            "whoever looks after it can allow that by the annotation {ENDPOINTS_ANNOTATION}: \"{server}\" on the Secret"
        )
    } else {
        format!(
            "whoever looks after it can allow that by adding \",{server}\" to the annotation {ENDPOINTS_ANNOTATION} \
             of the Secret"
        )
    };
    let whole: Vec<String> = std::iter::once(why).chain(grant.problems).collect();
    Err(refuse(secret, whole.join("; ")))
}

fn grant_of(secret: &SecretId, secrets: &SecretData) -> Grant {
    let content = secrets.get(secret);
    let text = content.and_then(|content| content.endpoints.as_deref());
    text.map(Grant::parse).unwrap_or_default()
}

#[cfg(test)]
mod tests;
