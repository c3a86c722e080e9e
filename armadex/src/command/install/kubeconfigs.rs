//! What is issued: a kubeconfig for each account, and the Secret that it lies in with its token. Pure.

use std::str::FromStr;
use std::time::Duration;

use armadex_crds::is_subdomain;
use armadex_registration::MANAGED_BY;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use super::decision::{is_ours, labelled, owner};
use super::holders::ACCOUNT;
use crate::credentials::namespace;

/// The keys of such a Secret.
pub(super) const KUBECONFIG: &str = "kubeconfig";
pub(super) const TOKEN: &str = "token";
/// How helm says that an object is of a release: the value of the label, and both annotations.
const HELM: &str = "Helm";
const RELEASE: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";

/// A Secret, as `--kubeconfig-secret` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretName {
    /// If it is said.
    pub(super) namespace: Option<String>,
    pub(super) name: String,
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

/// The Secret, of this release of helm if there is one.
pub(super) fn secret(
    place: (&str, &str),
    release: Option<&str>,
    kubeconfig: &str,
    token: &str,
) -> Value {
    let (namespace, name) = place;
    let mut secret = labelled(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": {KUBECONFIG: STANDARD.encode(kubeconfig), TOKEN: STANDARD.encode(token)},
    }));
    if let Some(release) = release {
        secret["metadata"]["labels"][MANAGED_BY] = json!(HELM);
        secret["metadata"]["annotations"] = json!({RELEASE: release, RELEASE_NAMESPACE: namespace});
    }
    secret
}

/// Whose a Secret is that is there, if it is neither one of `armadex install` nor of this release. What renders a chart without helm says no release.
pub(super) fn other_owner(found: &ObjectMeta, release: Option<&str>) -> Option<String> {
    let is_helms = found
        .labels
        .as_ref()
        .is_some_and(|labels| labels.get(MANAGED_BY).map(String::as_str) == Some(HELM));
    let said = found.annotations.as_ref();
    let said = said.and_then(|said| said.get(RELEASE)).map(String::as_str);
    match release {
        _ if is_ours(found) => None,
        Some(release) if is_helms && said.is_none_or(|said| said == release) => None,
        _ if is_helms => Some(format!("the release {} of helm", said.unwrap_or_default())),
        _ => Some(owner(found)),
    }
}

#[cfg(test)]
mod tests {
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

    fn metadata(value: Value) -> ObjectMeta {
        serde_json::from_value(value).expect("metadata")
    }

    #[test]
    fn a_secret_of_somebody_else_is_theirs() {
        let whose = |value: Value, release| other_owner(&metadata(value), release);
        let helms = json!({"labels": {MANAGED_BY: HELM}});
        let release = |name| json!({"labels": {MANAGED_BY: HELM}, "annotations": {RELEASE: name}});
        let by_hand = json!({"managedFields": [{"manager": "kubectl-create"}]});
        let ours = secret(("fleet", "a"), None, "", "")["metadata"].take();
        assert_eq!(whose(ours, Some("armadex")), None);
        assert_eq!(whose(helms.clone(), Some("armadex")), None);
        assert_eq!(whose(release("armadex"), Some("armadex")), None);
        let other = Some("the release other of helm".to_owned());
        assert_eq!(whose(release("other"), Some("armadex")), other);
        assert_eq!(whose(release("other"), None), other);
        for release in [None, Some("armadex")] {
            let theirs = whose(by_hand.clone(), release);
            assert_eq!(theirs, Some("kubectl-create".to_owned()));
        }
    }

    /// helm takes nothing in that lacks one of these.
    #[test]
    fn a_secret_of_a_release_says_so_as_helm_does() {
        let made = secret(("fleet", "a"), Some("armadex"), "k", "t");
        let metadata = metadata(made["metadata"].clone());
        assert_eq!(metadata.labels.expect("labels")[MANAGED_BY], HELM);
        let annotations = metadata.annotations.expect("annotations");
        assert_eq!(annotations[RELEASE], "armadex");
        assert_eq!(annotations[RELEASE_NAMESPACE], "fleet");
        assert_eq!(made["data"], json!({"kubeconfig": "aw==", "token": "dA=="}));
    }
}
