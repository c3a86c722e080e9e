//! The part of a PediaCluster that says where its credentials go, as a fingerprint: a lifecycle records that of what it rendered,
//! a synchro compares it with what it finds. Pure.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{AuthenticationFrom, Base64Bytes, Connection, PediaClusterSpec};

/// The longest URL that is repeated for people.
const SHOWN_BYTES: usize = 512;

/// Where the credentials of a PediaCluster go, by what its policy rendered.
///
/// A fingerprint and no copy: `connection` may hold the password of a proxy, and `caData` is long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderedConnection {
    /// The PediaCluster's `apiserver`, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub apiserver: String,
    /// SHA-256 of its `apiserver`, `caData`, `authenticationFrom` and `connection`, and of what it has of `kubeconfig`, `tokenData`,
    /// `certData` and `keyData`. A synchro connects only while the PediaCluster has exactly these.
    pub digest: String,
    /// The digest of what was rendered before, as long as the PediaCluster could not be changed yet; a synchro takes either.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
}

/// What the digest is of. A field that is added must be left out where it is empty, or every digest becomes another.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Digested<'a> {
    apiserver: &'a str,
    ca_data: &'a Base64Bytes,
    authentication_from: &'a AuthenticationFrom,
    connection: &'a Connection,
    #[serde(skip_serializing_if = "Base64Bytes::is_empty")]
    kubeconfig: &'a Base64Bytes,
    #[serde(skip_serializing_if = "Base64Bytes::is_empty")]
    token_data: &'a Base64Bytes,
    #[serde(skip_serializing_if = "Base64Bytes::is_empty")]
    cert_data: &'a Base64Bytes,
    #[serde(skip_serializing_if = "Base64Bytes::is_empty")]
    key_data: &'a Base64Bytes,
}

impl RenderedConnection {
    /// The fields of a spec that the digest is of.
    pub const FIELDS: [&str; 8] = [
        "apiserver",
        "caData",
        "authenticationFrom",
        "connection",
        "kubeconfig",
        "tokenData",
        "certData",
        "keyData",
    ];

    /// Whether a PediaCluster of this digest has what was rendered, or what was rendered before and could not be changed yet.
    #[must_use]
    pub fn covers(&self, digest: &str) -> bool {
        self.digest == digest || (!self.before.is_empty() && self.before == digest)
    }

    /// That of a PediaCluster. Absent and empty are the same.
    #[must_use]
    pub fn of(spec: &PediaClusterSpec) -> Self {
        let PediaClusterSpec {
            apiserver,
            ca_data,
            authentication_from,
            connection,
            kubeconfig,
            token_data,
            cert_data,
            key_data,
            authorization_mode: _,
            sync_resources: _,
            sync_all_custom_resources: _,
            sync_resources_ref_name: _,
            sharding_name: _,
        } = spec;
        let digested = Digested {
            apiserver,
            ca_data,
            authentication_from: &authentication_from.clone().unwrap_or_default(),
            connection: &connection.clone().unwrap_or_default(),
            kubeconfig,
            token_data,
            cert_data,
            key_data,
        };
        let text = serde_json::to_vec(&digested).expect("text and maps of text are plain data");
        let is_shown = apiserver.len() <= SHOWN_BYTES && !apiserver.contains('@');
        Self {
            apiserver: if is_shown {
                apiserver.clone()
            } else {
                String::new()
            },
            digest: hex(&Sha256::digest(text)),
            before: String::new(),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in bytes {
        write!(text, "{byte:02x}").expect("text takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{ControlPlaneProxy, SecretKeyRef};

    fn spec() -> PediaClusterSpec {
        PediaClusterSpec {
            apiserver: "https://east:6443".into(),
            authentication_from: Some(AuthenticationFrom {
                token: Some(SecretKeyRef {
                    namespace: "karmada-cluster".into(),
                    name: "east".into(),
                    key: "token".into(),
                }),
                ..AuthenticationFrom::default()
            }),
            ..PediaClusterSpec::default()
        }
    }

    /// Controllers and synchros of different releases compare it.
    #[test]
    fn the_digest_of_a_connection_stays_what_it_is() {
        let of = RenderedConnection::of(&spec());
        assert_eq!(of.apiserver, "https://east:6443");
        assert_eq!(
            of.digest,
            "sha256:6b3847afa2a6cd2099dbb53f8fcd42008f42f4f642097547d1fd4f6c8ff4a771"
        );
    }

    #[test]
    fn every_field_that_decides_where_a_credential_goes_counts_and_no_other() {
        let of = |change: fn(&mut PediaClusterSpec)| {
            let mut changed = spec();
            change(&mut changed);
            RenderedConnection::of(&changed).digest
        };
        let before = of(|_| {});
        let same: [fn(&mut PediaClusterSpec); 2] = [
            |spec| spec.connection = Some(Connection::default()),
            |spec| spec.sharding_name = "a".into(),
        ];
        for change in same {
            assert_eq!(of(change), before);
        }
        let others: [fn(&mut PediaClusterSpec); 12] = [
            |spec| spec.kubeconfig = Base64Bytes::from_bytes(b"own"),
            |spec| spec.token_data = Base64Bytes::from_bytes(b"own"),
            |spec| spec.cert_data = Base64Bytes::from_bytes(b"own"),
            |spec| spec.key_data = Base64Bytes::from_bytes(b"own"),
            |spec| spec.apiserver = "https://thief:6443".into(),
            |spec| spec.ca_data = Base64Bytes::from_bytes(b"thief"),
            |spec| spec.authentication_from = None,
            |spec| {
                let from = spec.authentication_from.as_mut().unwrap();
                from.ca = from.token.clone();
            },
            |spec| {
                spec.connection = Some(Connection {
                    proxy_url: "http://thief".into(),
                    ..Connection::default()
                });
            },
            |spec| {
                spec.connection = Some(Connection {
                    proxy_header: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
                    ..Connection::default()
                });
            },
            |spec| {
                spec.connection = Some(Connection {
                    insecure_skip_tls_verification: true,
                    ..Connection::default()
                });
            },
            |spec| {
                spec.connection = Some(Connection {
                    control_plane_proxy: Some(ControlPlaneProxy::default()),
                    ..Connection::default()
                });
            },
        ];
        let found: std::collections::BTreeSet<String> = others.into_iter().map(of).collect();
        assert_eq!(found.len(), 12);
        assert!(!found.contains(&before));
    }

    #[test]
    fn the_fields_that_are_named_are_those_that_count() {
        let bytes = || Base64Bytes::from_bytes(b"own");
        let full = PediaClusterSpec {
            kubeconfig: bytes(),
            token_data: bytes(),
            cert_data: bytes(),
            key_data: bytes(),
            ca_data: bytes(),
            connection: Some(Connection {
                proxy_url: "http://proxy".into(),
                ..Connection::default()
            }),
            sharding_name: "a".into(),
            ..spec()
        };
        let of = |spec: &PediaClusterSpec| RenderedConnection::of(spec).digest;
        let mut value = serde_json::to_value(&full).unwrap();
        for field in RenderedConnection::FIELDS {
            let taken = value.as_object_mut().unwrap().remove(field);
            assert!(taken.is_some(), "{field}");
        }
        let rest: PediaClusterSpec = serde_json::from_value(value).unwrap();
        assert_eq!(of(&rest), of(&PediaClusterSpec::default()));
    }

    #[test]
    fn what_was_rendered_before_counts_while_it_is_recorded() {
        let mut rendered = RenderedConnection::of(&spec());
        assert!(rendered.covers(&rendered.digest) && !rendered.covers("a") && !rendered.covers(""));
        rendered.before = "a".into();
        assert!(rendered.covers(&rendered.digest) && rendered.covers("a"));
    }

    #[test]
    fn what_could_be_a_password_is_not_repeated() {
        let mut spec = spec();
        spec.apiserver = "https://me:hunter2@east".into();
        let text = format!("{:?}", RenderedConnection::of(&spec));
        assert!(!text.contains("hunter2"), "{text}");
    }
}
