//! The part of a PediaCluster that says where its credentials go, as a fingerprint: a lifecycle records that of what it rendered,
//! a synchro compares it with what it finds. Pure.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{AuthenticationFrom, Base64Bytes, Connection, ControlPlaneProxy, PediaClusterSpec};

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
    /// SHA-256 of its `apiserver`, `caData`, `authenticationFrom` and `connection` without `controlPlaneProxy`, and of what it has of `kubeconfig`,
    /// `tokenData`, `certData` and `keyData`. A synchro connects only while the PediaCluster has exactly these.
    pub digest: String,
    /// Its `connection.controlPlaneProxy`: a synchro takes no other one. It is not in the digest, as a release that does not know it computes that
    /// without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_proxy: Option<Box<ControlPlaneProxy>>,
    /// The digest of what was rendered before, as long as the PediaCluster could not be changed yet; a synchro takes either.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub before: String,
    /// The `connection.controlPlaneProxy` of what was rendered before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_control_plane_proxy: Option<Box<ControlPlaneProxy>>,
}

/// What of a PediaCluster is compared with what was rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionFingerprint {
    /// See [`RenderedConnection::digest`].
    pub digest: String,
    /// See [`RenderedConnection::control_plane_proxy`].
    pub control_plane_proxy: Option<Box<ControlPlaneProxy>>,
}

/// What the digest is of. A field that is added must be left out where it is empty, or every digest becomes another. Where it is not empty, a synchro of a
/// release that does not know it finds another digest and pauses the cluster: what that one can do without is recorded beside the digest.
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

    /// Whether a PediaCluster of this fingerprint has what was rendered, or what was rendered before and could not be changed yet.
    #[must_use]
    pub fn covers(&self, found: &ConnectionFingerprint) -> bool {
        self.now().allows(found) || self.earlier().is_some_and(|earlier| earlier.allows(found))
    }

    /// Of what was rendered.
    #[must_use]
    pub fn now(&self) -> ConnectionFingerprint {
        ConnectionFingerprint {
            digest: self.digest.clone(),
            control_plane_proxy: self.control_plane_proxy.clone(),
        }
    }

    /// Of what was rendered before, while that is recorded.
    #[must_use]
    pub fn earlier(&self) -> Option<ConnectionFingerprint> {
        let earlier = ConnectionFingerprint {
            digest: self.before.clone(),
            control_plane_proxy: self.before_control_plane_proxy.clone(),
        };
        (!earlier.digest.is_empty()).then_some(earlier)
    }

    /// Records that the PediaCluster may still have this, or that it has what is rendered.
    #[must_use]
    pub fn beside(mut self, earlier: Option<ConnectionFingerprint>) -> Self {
        let (before, proxy) = match earlier {
            Some(earlier) => (earlier.digest, earlier.control_plane_proxy),
            None => (String::new(), None),
        };
        self.before = before;
        self.before_control_plane_proxy = proxy;
        self
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
        let mut connection = connection.clone().unwrap_or_default();
        let control_plane_proxy = connection.control_plane_proxy.take().map(Box::new);
        let digested = Digested {
            apiserver,
            ca_data,
            authentication_from: &authentication_from.clone().unwrap_or_default(),
            connection: &connection,
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
            control_plane_proxy,
            before: String::new(),
            before_control_plane_proxy: None,
        }
    }
}

impl ConnectionFingerprint {
    /// That of a PediaCluster.
    #[must_use]
    pub fn of(spec: &PediaClusterSpec) -> Self {
        RenderedConnection::of(spec).now()
    }

    /// Whether a PediaCluster may have this where that was rendered. One without the way by the control plane leads nowhere else: a lifecycle controller of a
    /// release that does not know it takes it out.
    #[must_use]
    pub fn allows(&self, found: &Self) -> bool {
        let proxy = &found.control_plane_proxy;
        self.digest == found.digest && (proxy.is_none() || *proxy == self.control_plane_proxy)
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

    fn by_control_plane(mut spec: PediaClusterSpec, name: &str) -> PediaClusterSpec {
        let connection = spec.connection.get_or_insert_default();
        connection.control_plane_proxy = Some(ControlPlaneProxy {
            group: "cluster.karmada.io".into(),
            version: "v1alpha1".into(),
            resource: "clusters".into(),
            name: name.into(),
        });
        spec
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
        let same: [fn(&mut PediaClusterSpec); 3] = [
            |spec| spec.connection = Some(Connection::default()),
            // That is compared beside it.
            |spec| *spec = by_control_plane(spec.clone(), "east"),
            |spec| spec.sharding_name = "a".into(),
        ];
        for change in same {
            assert_eq!(of(change), before);
        }
        let others: [fn(&mut PediaClusterSpec); 11] = [
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
        ];
        let found: std::collections::BTreeSet<String> = others.into_iter().map(of).collect();
        assert_eq!(found.len(), 11);
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
        let found = |digest: &str| ConnectionFingerprint {
            digest: digest.into(),
            control_plane_proxy: None,
        };
        let rendered = RenderedConnection::of(&spec());
        assert!(rendered.covers(&rendered.now()));
        assert!(!rendered.covers(&found("a")) && !rendered.covers(&found("")));
        let rendered = rendered.beside(Some(found("a")));
        assert!(rendered.covers(&rendered.now()) && rendered.covers(&found("a")));
        let rendered = rendered.beside(None);
        assert!(!rendered.covers(&found("a")) && !rendered.covers(&found("")));
    }

    /// A release that does not know the way reads neither the field of a PediaCluster nor what is recorded of it.
    #[test]
    fn a_release_that_does_not_know_the_way_by_the_control_plane_finds_the_digest_that_it_computes()
    {
        let mut rendered = spec();
        rendered.connection = Some(Connection {
            proxy_url: "http://proxy:3128".into(),
            ..Connection::default()
        });
        let rendered = RenderedConnection::of(&by_control_plane(rendered, "east"));
        // Of `{"apiserver":...,"connection":{"proxyURL":"http://proxy:3128"}}`, as that release writes it.
        let known = "sha256:48b7eb64cc84c0aa829ea8a65ec1e83c44437bc3d85d71a711a84e4abd4847a3";
        assert_eq!(rendered.digest, known);
        // And what it has recorded is taken, as long as nobody adds the way to it.
        let recorded = format!(r#"{{"apiserver":"https://east:6443","digest":"{known}"}}"#);
        let recorded: RenderedConnection = serde_json::from_str(&recorded).unwrap();
        assert!(!recorded.covers(&rendered.now()));
        let without = ConnectionFingerprint {
            control_plane_proxy: None,
            ..rendered.now()
        };
        assert!(recorded.covers(&without));
        // Its controller takes the way out of what this one rendered.
        assert!(rendered.covers(&without));
    }

    #[test]
    fn whoever_writes_a_pediacluster_neither_opens_the_way_by_the_control_plane_nor_leads_it_elsewhere()
     {
        let found = |name: &str| ConnectionFingerprint::of(&by_control_plane(spec(), name));
        let plain = RenderedConnection::of(&spec());
        assert!(!plain.covers(&found("east")));
        let rendered = RenderedConnection::of(&by_control_plane(spec(), "east"));
        assert!(rendered.covers(&found("east")) && !rendered.covers(&found("west")));
        let changes: [fn(&mut ControlPlaneProxy); 3] = [
            |proxy| proxy.group = "cluster.example.com".into(),
            |proxy| proxy.version = "v1".into(),
            |proxy| proxy.resource = "others".into(),
        ];
        for change in changes {
            let mut found = found("east");
            change(found.control_plane_proxy.as_mut().unwrap());
            assert!(!rendered.covers(&found), "{found:?}");
        }
        // While a change waits, each digest goes with its own way.
        let moved = PediaClusterSpec {
            apiserver: "https://moved:6443".into(),
            ..spec()
        };
        let moved = RenderedConnection::of(&moved).beside(Some(rendered.now()));
        assert!(moved.covers(&moved.now()) && moved.covers(&found("east")));
        let mixed = ConnectionFingerprint {
            control_plane_proxy: rendered.control_plane_proxy.clone(),
            ..moved.now()
        };
        assert!(!moved.covers(&mixed) && !moved.covers(&found("west")));
    }

    #[test]
    fn what_could_be_a_password_is_not_repeated() {
        let mut spec = spec();
        spec.apiserver = "https://me:hunter2@east".into();
        let text = format!("{:?}", RenderedConnection::of(&spec));
        assert!(!text.contains("hunter2"), "{text}");
    }
}
