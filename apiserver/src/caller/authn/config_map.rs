//! What is read from the data of `kube-system/extension-apiserver-authentication`.

use std::collections::BTreeMap;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::certificate::Anchor;

/// A configuration that cannot be used; the former one stays.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InvalidTrust {
    /// Not a PEM bundle of certificates.
    #[error("{key} is not a bundle of certificates")]
    Certificates {
        /// The key of the ConfigMap.
        key: &'static str,
    },
    /// Not a JSON list of texts.
    #[error("{key} is not a list of names")]
    Names {
        /// The key of the ConfigMap.
        key: &'static str,
        #[source]
        source: serde_json::Error,
    },
}

/// The certificates of a PEM bundle as anchors; none if the key is absent or empty.
pub(super) fn anchors(
    data: &BTreeMap<String, String>,
    key: &'static str,
) -> Result<Vec<Anchor>, InvalidTrust> {
    let pem = data.get(key).map_or("", String::as_str);
    let mut anchors = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let anchor = certificate.ok().and_then(|ca| Anchor::of(&ca));
        anchors.push(anchor.ok_or(InvalidTrust::Certificates { key })?);
    }
    if anchors.is_empty() && !pem.trim().is_empty() {
        return Err(InvalidTrust::Certificates { key });
    }
    Ok(anchors)
}

/// A JSON list of texts; empty if the key is absent or empty.
pub(super) fn names(
    data: &BTreeMap<String, String>,
    key: &'static str,
) -> Result<Vec<String>, InvalidTrust> {
    match data.get(key).map(String::as_str) {
        None | Some("") => Ok(Vec::new()),
        Some(json) => {
            serde_json::from_str(json).map_err(|source| InvalidTrust::Names { key, source })
        }
    }
}
