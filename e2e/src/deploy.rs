//! The manifests that people apply, with what has to be filled in filled in for this machine.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Where Armadex is at home on a control plane.
pub const NAMESPACE: &str = "clusterpedia-system";
/// Where the API server keeps its certificate.
pub const SERVING_NAMESPACE: &str = "armadex-serving";

/// The shipped policy for Karmada.
pub fn policy() -> Result<String> {
    shipped("policies/karmada.yaml")
}

/// The manifests of what Armadex may do with Karmada.
const OURS: [&str; 3] = ["armadex.yaml", "registration.yaml", "karmada.yaml"];

/// What lets Karmada be asked for members, which nothing installs.
pub const BY_HAND: &str = "karmada-proxy.yaml";

/// That, for the synchro of parts that run apart.
pub fn rights_to_the_proxy() -> Result<String> {
    let ours = shipped(&format!("rbac/{BY_HAND}"))?;
    let (account, apart) = ("    name: armadex\n", "    name: armadex-synchro\n");
    ensure!(ours.contains(account), "the manifest names no account");
    Ok(ours.replace(account, apart))
}

/// What Armadex may do, and what the policy for Karmada needs besides.
pub fn rights() -> Result<String> {
    let parts = OURS.map(|name| shipped(&format!("rbac/{name}")));
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(parts.join("\n---\n"))
}

/// What policies for other platforms need besides.
pub fn rights_of_others() -> Result<String> {
    let entries = std::fs::read_dir(folder().join("rbac"))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.retain(|name| !OURS.contains(&name.as_str()) && name != BY_HAND);
    names.sort();
    let parts = names.iter().map(|name| shipped(&format!("rbac/{name}")));
    Ok(parts.collect::<Result<Vec<_>>>()?.join("\n---\n"))
}

/// The shipped registration of an Armadex at `port` of `host`, with the authority (PEM) of its certificate.
pub fn registration(host: &str, port: u16, authority: &str) -> Result<String> {
    let (body, port) = (STANDARD.encode(authority), format!("port: {port}"));
    let fields = [
        (
            "externalName: ARMADEX_HOST",
            &format!("externalName: {host}"),
        ),
        ("caBundle: CA_BUNDLE", &format!("caBundle: {body}")),
        ("port: 8443", &port),
    ];
    let mut text = shipped("apiservice.yaml")?;
    for (field, ours) in fields {
        ensure!(text.contains(field), "the manifest has no {field:?}");
        text = text.replace(field, ours);
    }
    Ok(text)
}

/// The objects of some manifests.
pub fn objects(manifests: &str) -> Result<Vec<serde_json::Value>> {
    let manifests = manifests.split("\n---\n");
    let object =
        |text: &str| serde_saphyr::from_str(text).with_context(|| format!("no object: {text}"));
    manifests.map(object).collect()
}

/// The folder of the manifests.
#[must_use]
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}

fn shipped(name: &str) -> Result<String> {
    let path = folder().join(name);
    std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Namespace;
    use kube::ResourceExt;

    use super::*;

    /// Whichever manifest comes last decides, so all of them say it.
    #[test]
    fn karmada_is_told_to_leave_our_namespaces_out_of_its_members() {
        for (manifest, name) in [
            ("rbac/armadex.yaml", NAMESPACE),
            ("apiservice.yaml", NAMESPACE),
            ("rbac/registration.yaml", SERVING_NAMESPACE),
        ] {
            let text = shipped(manifest).unwrap();
            let ours = text
                .split("\n---\n")
                .filter(|part| part.contains("\nkind: Namespace\n"))
                .map(|part| serde_saphyr::from_str::<Namespace>(part).unwrap())
                .find(|namespace| namespace.name_any() == name);
            let ours = ours.expect("the manifest makes the namespace");
            let said = ours
                .labels()
                .get("namespace.karmada.io/skip-auto-propagation");
            assert_eq!(said.map(String::as_str), Some("true"), "{manifest}");
        }
    }
}
