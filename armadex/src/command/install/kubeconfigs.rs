//! What is issued: a kubeconfig for each account, and the Secret that it lies in with its token. Pure.

use std::str::FromStr;
use std::time::Duration;

use armadex_crds::is_subdomain;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::decision::labelled;
use super::holders::{ACCOUNT, Holders};
use super::manifests::Manifest;
use crate::credentials::namespace;

/// The keys of such a Secret.
pub(super) const KUBECONFIG: &str = "kubeconfig";
pub(super) const TOKEN: &str = "token";

/// A Secret, as `--kubeconfig-secret` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretName {
    /// If it is said.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl FromStr for SecretName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, name) = match text.split_once('/') {
            Some((place, name)) => (Some(namespace(place)?), name),
            None => (None, text),
        };
        if !is_subdomain(name) {
            return Err("a Secret is named NAME or NAMESPACE/NAME".to_owned());
        }
        Ok(Self {
            namespace: place,
            name: name.to_owned(),
        })
    }
}

/// What `--token-lifetime` takes. No API server grants less than ten minutes, and whoever wants more than ten years wants no end.
pub(super) fn lifetime(text: &str) -> Result<Duration, String> {
    let minutes = match (text.strip_suffix('h'), text.strip_suffix('m')) {
        (Some(hours), _) => hours
            .parse()
            .ok()
            .map(|hours: u64| hours.saturating_mul(60)),
        (_, Some(minutes)) => minutes.parse().ok(),
        (None, None) => None,
    };
    match minutes {
        Some(minutes @ 10..=5_256_000) => Ok(Duration::from_secs(minutes * 60)),
        _ => Err("expected hours or minutes, as 168h or 30m: from 10m to 87600h".to_owned()),
    }
}

/// The Secret of an account: that of a part is called after the part.
pub(super) fn secret_of(name: &str, account: &str) -> String {
    let part = account.strip_prefix(ACCOUNT).unwrap_or_default();
    format!("{name}{part}")
}

/// The kubeconfig of an account, by which the control plane is reached as by this `cluster` of another one. Its token lies beside it.
pub(super) fn kubeconfig(cluster: &Map<String, Value>, account: &str) -> String {
    const CLUSTER: &str = "control-plane";
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER, "cluster": cluster}],
        "users": [{"name": account, "user": {"tokenFile": TOKEN}}],
        "contexts": [{"name": account, "context": {"cluster": CLUSTER, "user": account}}],
        "current-context": account,
    });
    serde_saphyr::to_string(&document).expect("a kubeconfig is plain data")
}

/// All Secrets that may lie under a name: that of the one account, and those of the parts.
pub(crate) fn secrets_of(namespace: &str, name: &str) -> Vec<Manifest> {
    let accounts = [Holders::One, Holders::Apart].map(|holders| holders.accounts());
    let accounts = accounts.into_iter().flatten();
    accounts
        .map(|account| Manifest::secret(namespace, &secret_of(name, account)))
        .collect()
}

/// The Secret, in this namespace and of this name.
pub(super) fn secret((namespace, name): (&str, &str), kubeconfig: &str, token: &str) -> Value {
    labelled(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": {KUBECONFIG: STANDARD.encode(kubeconfig), TOKEN: STANDARD.encode(token)},
    }))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::super::decision::is_ours;
    use super::*;

    #[test]
    fn a_secret_is_named_with_its_namespace_or_without() {
        let parse = |text: &str| text.parse::<SecretName>();
        let named = |namespace: Option<&str>| SecretName {
            namespace: namespace.map(str::to_owned),
            name: "a".to_owned(),
        };
        assert_eq!(parse("a"), Ok(named(None)));
        assert_eq!(parse("fleet/a"), Ok(named(Some("fleet"))));
        for wrong in ["", "/a", "fleet/", "a/b/c", "A", "fl.eet/a"] {
            parse(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn a_lifetime_is_hours_or_minutes_that_an_api_server_may_grant() {
        assert_eq!(lifetime("168h"), Ok(Duration::from_secs(604_800)));
        assert_eq!(lifetime("10m"), Ok(Duration::from_secs(600)));
        for wrong in [
            "9m",
            "0h",
            "168",
            "1d",
            "-1h",
            "87601h",
            "99999999999999999999h",
            "h",
        ] {
            lifetime(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn each_part_has_a_secret_that_is_called_after_it() {
        assert_eq!(secret_of("karmada", "armadex"), "karmada");
        assert_eq!(secret_of("karmada", "armadex-synchro"), "karmada-synchro");
    }

    /// helm would take one in, or refuse to make it, that says that it is of a release.
    #[test]
    fn a_secret_is_ours_and_of_no_release() {
        let made = secret(("fleet", "a"), "k", "t");
        let metadata: ObjectMeta =
            serde_json::from_value(made["metadata"].clone()).expect("metadata");
        assert!(is_ours(&metadata));
        assert_eq!(metadata.annotations, None);
        assert_eq!(made["data"], json!({"kubeconfig": "aw==", "token": "dA=="}));
    }

    #[test]
    fn whatever_may_lie_under_a_name_is_found_again() {
        let secrets = secrets_of("fleet", "a").into_iter();
        let secrets: Vec<String> = secrets
            .map(|secret| secret.line("deleted", false))
            .collect();
        let expected = ["a", "a-apiserver", "a-synchro", "a-controllers"]
            .map(|name| format!("secret/{name} deleted in fleet"));
        assert_eq!(secrets, expected);
    }
}
