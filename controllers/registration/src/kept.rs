//! What lies in the Secret. Pure.

use std::collections::BTreeMap;

use armadex_crds::Sensitive;
use k8s_openapi::ByteString;

/// The keys of the Secret: those of `kubernetes.io/tls`, and as cert-manager has it the CA beside them.
const CA: &str = "ca.crt";
const CA_KEY: &str = "ca.key";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// A serving certificate and who made it, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The CAs to trust, the one that signs first: the `caBundle` of an APIService.
    pub ca: String,
    /// The serving certificate.
    pub certificate: String,
    /// Its key.
    pub key: Sensitive<String>,
    /// The key of the first CA.
    pub(crate) ca_key: Sensitive<String>,
}

/// What the data of a Secret are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// None yet: it was made so that it can be filled.
    Nothing,
    /// Ours.
    Ours(Kept),
    /// Something else, of which this key is missing or is no text: whoever put it there may need it.
    Foreign(&'static str),
}

impl Found {
    pub(crate) fn of(data: &BTreeMap<String, ByteString>) -> Self {
        let text = |key: &'static str| {
            let bytes = data.get(key).map(|value| value.0.clone());
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            text.filter(|text| !text.is_empty()).ok_or(key)
        };
        let ours = || {
            Ok(Kept {
                ca: text(CA)?,
                ca_key: text(CA_KEY)?.into(),
                certificate: text(CERTIFICATE)?,
                key: text(KEY)?.into(),
            })
        };
        // One of the type kubernetes.io/tls has its two keys from the beginning, be they empty.
        if data.values().all(|value| value.0.is_empty()) {
            return Self::Nothing;
        }
        match ours() {
            Ok(kept) => Self::Ours(kept),
            Err(key) => Self::Foreign(key),
        }
    }
}

impl Kept {
    /// The data of the Secret.
    pub(crate) fn data(&self) -> BTreeMap<String, ByteString> {
        let Self {
            ca,
            certificate,
            key,
            ca_key,
        } = self;
        let data = [
            (CA, ca),
            (CA_KEY, ca_key.expose()),
            (CERTIFICATE, certificate),
            (KEY, key.expose()),
        ];
        let data = data.map(|(key, text)| (key.to_owned(), ByteString(text.clone().into_bytes())));
        BTreeMap::from(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Kept {
        Kept {
            ca: "ca".to_owned(),
            certificate: "leaf".to_owned(),
            key: "secret one".to_owned().into(),
            ca_key: "secret two".to_owned().into(),
        }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        assert_eq!(Found::of(&kept().data()), Found::Ours(kept()));
        assert_eq!(Found::of(&BTreeMap::new()), Found::Nothing);
        let empty = [CERTIFICATE, KEY].map(|key| (key.to_owned(), ByteString(Vec::new())));
        assert_eq!(Found::of(&BTreeMap::from(empty)), Found::Nothing);
    }

    #[test]
    fn what_somebody_else_put_there_is_not_taken_for_ours() {
        let mut data = kept().data();
        data.remove(CA_KEY);
        assert_eq!(Found::of(&data), Found::Foreign(CA_KEY));
    }

    #[test]
    fn no_key_is_printed() {
        let printed = format!("{:?}", kept());
        assert!(
            printed.contains("leaf") && !printed.contains("secret"),
            "{printed}"
        );
    }
}
