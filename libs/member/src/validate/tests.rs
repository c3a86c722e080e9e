//! Which credentials count, and what is said when they do not do.

use std::sync::Arc;

use armadex_crds::{Connection as Way, PediaClusterSpec, RenderedConnection};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::*;
use crate::secrets::SecretContent;

const SECRET: &str = "hunter2";

fn scope() -> SecretScope {
    SecretScope {
        default_namespace: "clusterpedia-system".into(),
        allowed_namespaces: BTreeSet::from(["karmada-cluster".to_owned()]),
        ignored: false,
    }
}

fn reference(namespace: &str, name: &str, key: &str) -> SecretKeyRef {
    SecretKeyRef {
        namespace: namespace.into(),
        name: name.into(),
        key: key.into(),
    }
}

fn secrets(entries: &[(&str, &str, &str, &[u8])]) -> SecretData {
    let mut data = SecretData::new();
    for (namespace, name, key, value) in entries {
        let id = SecretId {
            namespace: (*namespace).into(),
            name: (*name).into(),
        };
        let value = Sensitive::new(*value);
        let content: &mut SecretContent = Arc::make_mut(data.entry(id).or_default());
        content.data.insert((*key).into(), value);
    }
    data
}

fn pair() -> (Vec<u8>, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(vec!["member".to_owned()]).unwrap();
    let key = made.signing_key.serialize_pem();
    (made.cert.pem().into_bytes(), key.into_bytes())
}

fn with_token() -> PediaClusterSpec {
    PediaClusterSpec {
        apiserver: "https://member:6443".into(),
        token_data: Base64Bytes::from_bytes(format!("{SECRET}\n").as_bytes()),
        ..PediaClusterSpec::default()
    }
}

/// The connection of what a policy rendered.
fn made(spec: &PediaClusterSpec, secrets: &SecretData) -> Result<Connection, ConfigError> {
    let policy = Policy::Rendered(RenderedConnection::of(spec));
    validate(spec, &scope(), secrets, &policy, &AllowList::default())
        .map(|validated| validated.connection)
}

#[track_caller]
fn refused(spec: &PediaClusterSpec, secrets: &SecretData, words: &str) {
    let error = made(spec, secrets).unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
    assert!(!error.contains(SECRET), "{error}");
}

fn by_control_plane(spec: PediaClusterSpec) -> PediaClusterSpec {
    let proxy = ControlPlaneProxy {
        group: "cluster.karmada.io".into(),
        version: "v1alpha1".into(),
        resource: "clusters".into(),
        name: "member".into(),
    };
    PediaClusterSpec {
        connection: Some(Way {
            control_plane_proxy: Some(proxy),
            ..Way::default()
        }),
        ..spec
    }
}

#[test]
fn the_control_plane_is_asked_for_a_member_only_where_a_policy_rendered_it() {
    let none = SecretData::new();
    let with_both = by_control_plane(with_token());
    let connection = made(&with_both, &none).unwrap();
    assert!(connection.control_plane_proxy.is_some() && connection.leads_straight());
    let without_credential = PediaClusterSpec {
        token_data: Base64Bytes::default(),
        ..with_both.clone()
    };
    let connection = made(&without_credential, &none).unwrap();
    assert!(connection.control_plane_proxy.is_some() && !connection.leads_straight());
    let mut skips = without_credential.clone();
    let way = skips.connection.as_mut().expect("a way");
    way.insecure_skip_tls_verification = true;
    let policy = Policy::Rendered(RenderedConnection::of(&skips));
    let validated = validate(&skips, &scope(), &none, &policy, &AllowList::default());
    let [warning] = &validated.unwrap().warnings[..] else {
        panic!("one warning");
    };
    let words = "the control plane verifies nobody at https://member:6443: ";
    assert!(warning.starts_with(words), "{warning}");

    let rendered = Policy::Rendered(RenderedConnection::of(&with_token()));
    let others = [
        (
            Policy::Absent,
            "field may only be what a policy rendered (no policy has made",
        ),
        (
            Policy::Silent,
            "field may only be what a policy rendered (the PediaClusterLifecycle",
        ),
        (Policy::Unlisted(String::new()), "have not been listed yet"),
        (rendered, "rendered another connection"),
    ];
    for spec in [with_both, without_credential] {
        for (policy, words) in &others {
            let refused = validate(&spec, &scope(), &none, policy, &AllowList::default());
            let words = words.replace("field", "spec.connection.controlPlaneProxy");
            let error = refused.unwrap_err().to_string();
            assert!(error.contains(&words), "{error}");
        }
    }
}

#[test]
fn an_empty_ca_means_the_systems_roots() {
    let connection = made(&with_token(), &SecretData::new()).unwrap();
    assert_eq!(connection.trust, Trust::System);
    let token = connection.token.clone().unwrap();
    assert_eq!(token.expose(), SECRET.as_bytes(), "the line break is cut");
    assert!(!format!("{connection:?}").contains(SECRET));
}

#[test]
fn verification_is_off_only_in_so_many_words() {
    let way = |skip| {
        Some(Way {
            insecure_skip_tls_verification: skip,
            ..Way::default()
        })
    };
    let mut spec = with_token();
    spec.ca_data = Base64Bytes::from_bytes(&pair().0);
    spec.connection = way(false);
    let verified = made(&spec, &SecretData::new()).unwrap();
    assert!(matches!(verified.trust, Trust::Bundle(list) if list.len() == 1));
    spec.connection = way(true);
    let skipped = made(&spec, &SecretData::new()).unwrap();
    assert_eq!(skipped.trust, Trust::Anyone);
    spec.apiserver = "http://member".into();
    assert!(made(&spec, &SecretData::new()).is_ok());
    spec.connection = None;
    refused(&spec, &SecretData::new(), "is not https");
}

#[test]
fn inline_credentials_win_over_secrets_only_when_they_are_whole() {
    let from = AuthenticationFrom {
        token: Some(reference("karmada-cluster", "member1", "token")),
        ..AuthenticationFrom::default()
    };
    let (cert, key) = pair();
    let data = secrets(&[("karmada-cluster", "member1", "token", b"from-secret")]);
    let token = |spec: &PediaClusterSpec| {
        let connection = made(spec, &data).unwrap();
        connection.token.map(|token| token.expose().to_vec())
    };
    let mut spec = with_token();
    spec.authentication_from = Some(from);
    assert_eq!(token(&spec).unwrap(), SECRET.as_bytes());
    assert!(referenced_secrets(&spec, &scope()).is_empty());
    spec.token_data = Base64Bytes::default();
    assert_eq!(token(&spec).unwrap(), b"from-secret");
    spec.cert_data = Base64Bytes::from_bytes(&cert);
    assert_eq!(token(&spec).unwrap(), b"from-secret", "half a pair is none");
    spec.key_data = Base64Bytes::from_bytes(&key);
    assert_eq!(token(&spec), None, "the inline pair is whole");
}

#[test]
fn an_inline_ca_counts_beside_a_token_from_a_secret() {
    let spec = PediaClusterSpec {
        apiserver: "https://member".into(),
        ca_data: Base64Bytes::from_bytes(&pair().0),
        authentication_from: Some(AuthenticationFrom {
            token: Some(reference("", "m", "token")),
            ..AuthenticationFrom::default()
        }),
        ..PediaClusterSpec::default()
    };
    let data = secrets(&[("clusterpedia-system", "m", "token", b"t")]);
    let connection = made(&spec, &data).unwrap();
    assert!(matches!(connection.trust, Trust::Bundle(_)));
}

#[test]
fn what_is_missing_or_unreadable_is_named() {
    let none = SecretData::new();
    let mut spec = PediaClusterSpec::default();
    refused(&spec, &none, "spec.apiserver is required");
    spec.apiserver = "https://member".into();
    refused(&spec, &none, "a credential is required");
    spec.token_data = Base64Bytes::from_text(SECRET.to_owned() + "!");
    refused(&spec, &none, "spec.tokenData is not valid base64");
    spec.token_data = Base64Bytes::from_bytes(b"a\0b");
    refused(&spec, &none, "the token holds characters");
    let mut spec = with_token();
    spec.ca_data = Base64Bytes::from_bytes(SECRET.as_bytes());
    refused(&spec, &none, "the CA bundle holds no PEM certificate");
}

#[test]
fn secrets_outside_the_allowed_namespaces_are_not_read() {
    let mut spec = PediaClusterSpec {
        apiserver: "https://member".into(),
        ..PediaClusterSpec::default()
    };
    let data = secrets(&[("kube-system", "root", "token", SECRET.as_bytes())]);
    let set = |spec: &mut PediaClusterSpec, namespace| {
        spec.authentication_from = Some(AuthenticationFrom {
            token: Some(reference(namespace, "root", "token")),
            ..AuthenticationFrom::default()
        });
    };
    set(&mut spec, "kube-system");
    refused(
        &spec,
        &data,
        "secret kube-system/root: Secrets of this namespace",
    );
    assert!(referenced_secrets(&spec, &scope()).is_empty());
    set(&mut spec, "");
    refused(&spec, &data, "secret clusterpedia-system/root: not found");
    assert_eq!(referenced_secrets(&spec, &scope()).len(), 1);
    let empty = secrets(&[("clusterpedia-system", "root", "token", b" ")]);
    refused(
        &spec,
        &empty,
        "secret clusterpedia-system/root: token is empty",
    );
}

#[test]
fn what_is_no_name_of_a_secret_is_not_read() {
    let long = "?".repeat(1 << 20);
    let wrong = [
        "",
        "..",
        "a/b",
        "../secrets",
        "?limit=500",
        "?watch=true&timeoutSeconds=2000000000&n=1",
        "a%2fb",
        "A",
        long.as_str(),
    ];
    let wrong = wrong.map(|name| (name, "no Secret has such a name"));
    let ours = ("armadex-serving", "the serving certificate of Armadex");
    for (name, words) in wrong.into_iter().chain([ours]) {
        let secret = |key| Some(reference("", name, key));
        let pieces = AuthenticationFrom {
            ca: secret("ca"),
            cert: secret("cert"),
            key: secret("key"),
            token: secret("token"),
            kubeconfig: None,
        };
        let whole = AuthenticationFrom {
            kubeconfig: secret("kubeconfig"),
            ..AuthenticationFrom::default()
        };
        for from in [pieces, whole] {
            let spec = PediaClusterSpec {
                apiserver: "https://member".into(),
                authentication_from: Some(from),
                ..PediaClusterSpec::default()
            };
            assert!(referenced_secrets(&spec, &scope()).is_empty(), "{name}");
            let error = made(&spec, &SecretData::new()).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
            assert!(error.len() < 256, "{error}");
        }
    }
}

fn kubeconfig(cluster: &str, user: &str) -> PediaClusterSpec {
    let yaml = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         clusters: [{{name: k, cluster: {{server: 'https://member:6443'{cluster}}}}}]\n\
         users: [{{name: u, user: {{{user}}}}}]\n"
    );
    PediaClusterSpec {
        kubeconfig: Base64Bytes::from_bytes(yaml.as_bytes()),
        ..PediaClusterSpec::default()
    }
}

#[test]
fn a_kubeconfig_wins_over_everything_else() {
    let (cert, key) = pair();
    let encode = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
    let cluster = format!(
        ", certificate-authority-data: {}, tls-server-name: other, proxy-url: 'http://proxy:1'",
        encode(&cert)
    );
    let user = format!(
        "client-certificate-data: {}, client-key-data: {}",
        encode(&cert),
        encode(&key)
    );
    let mut spec = kubeconfig(&cluster, &user);
    spec.apiserver = "https://elsewhere".into();
    let connection = made(&spec, &SecretData::new()).unwrap();
    assert_eq!(connection.server.to_string(), "https://member:6443");
    assert_eq!(connection.server_name.as_deref(), Some("other"));
    assert!(connection.certificate.is_some() && connection.proxy.is_some());
    let _ = rustls::crypto::ring::default_provider().install_default();
    crate::Member::new(&connection).unwrap();
}

#[test]
fn a_kubeconfig_may_not_run_commands_or_read_files() {
    let user_fields = [
        ("exec: {apiVersion: v1, command: sh}", "users[].user.exec"),
        (
            "auth-provider: {name: gcp, config: {}}",
            "users[].user.auth-provider",
        ),
        ("tokenFile: /etc/passwd", "users[].user.tokenFile"),
        ("client-certificate: /a", "users[].user.client-certificate"),
        ("client-key: /a", "users[].user.client-key"),
        ("as: root", "users[].user.as"),
        ("username: a, password: hunter2", "users[].user.username"),
    ];
    for (user, field) in user_fields {
        let user = format!("token: {SECRET}, {user}");
        refused(&kubeconfig("", &user), &SecretData::new(), field);
    }
    let token = format!("token: {SECRET}");
    let file = kubeconfig(", certificate-authority: /etc/ca", &token);
    refused(
        &file,
        &SecretData::new(),
        "clusters[].cluster.certificate-authority",
    );
    let insecure = kubeconfig(", insecure-skip-tls-verify: true", &token);
    refused(&insecure, &SecretData::new(), "asks not to verify");
}

#[test]
fn a_broken_kubeconfig_is_not_quoted() {
    let broken = PediaClusterSpec {
        kubeconfig: Base64Bytes::from_bytes(b"users: [{name: u, user: {token: hunter2"),
        ..PediaClusterSpec::default()
    };
    refused(
        &broken,
        &SecretData::new(),
        "spec.kubeconfig is not a kubeconfig",
    );
    let mut no_context = kubeconfig("", "token: hunter2");
    let yaml = no_context.kubeconfig.decode().unwrap();
    let text = String::from_utf8(yaml).unwrap();
    let text = text.replace("current-context: c", "current-context: d");
    no_context.kubeconfig = Base64Bytes::from_bytes(text.as_bytes());
    refused(&no_context, &SecretData::new(), "has no context");
}

#[test]
fn a_kubeconfig_stands_for_no_more_than_it_may_have() {
    let none = SecretData::new();
    let long = "a".repeat(650 << 10);
    let with = |times: usize| {
        let aliases = vec!["*a"; times].join(", ");
        let mut spec = kubeconfig("", "token: t");
        let mut yaml = spec.kubeconfig.decode().unwrap();
        let extensions =
            format!("extensions: [{{name: x, extension: [&a '{long}', {aliases}]}}]\n");
        yaml.extend_from_slice(extensions.as_bytes());
        spec.kubeconfig = Base64Bytes::from_bytes(&yaml);
        spec
    };
    assert!(made(&with(1), &none).is_ok());
    refused(
        &with(98),
        &none,
        "spec.kubeconfig stands for more than 2 MiB",
    );
}

#[test]
fn a_connection_that_verifies_nobody_is_told() {
    let warnings = |skip: bool| {
        let spec = PediaClusterSpec {
            connection: Some(armadex_crds::Connection {
                insecure_skip_tls_verification: skip,
                ..Default::default()
            }),
            ..with_token()
        };
        let policy = Policy::Absent;
        let validated = validate(
            &spec,
            &scope(),
            &SecretData::new(),
            &policy,
            &AllowList::default(),
        )
        .unwrap();
        validated.warnings
    };
    assert_eq!(warnings(false), [""; 0]);
    assert_eq!(
        warnings(true),
        [
            "nobody is verified at https://member:6443: whoever is on the way there can take the credentials and change \
          what is synced"
        ]
    );
}

#[test]
fn a_member_is_only_where_members_may_be() {
    let policy = Policy::Rendered(RenderedConnection::of(&with_token()));
    let allowed = |entry: &str| -> AllowList {
        let entry = entry.parse().expect("an entry");
        std::iter::once(entry).collect()
    };
    let validated = |allowed: &AllowList| {
        validate(
            &with_token(),
            &scope(),
            &SecretData::new(),
            &policy,
            allowed,
        )
    };
    let (here, elsewhere) = (allowed("member"), allowed("other"));
    // What the name leads to is held to it, too.
    assert_eq!(validated(&here).unwrap().connection.allowed, here);
    let error = validated(&elsewhere).unwrap_err().to_string();
    assert_eq!(
        error,
        "the API server's URL leads to no address that members may have (--member-addresses)"
    );
}

#[test]
fn what_refers_to_secrets_is_ignored_where_none_is_read() {
    let closed = SecretScope {
        ignored: true,
        ..scope()
    };
    let of_secret = PediaClusterSpec {
        apiserver: "https://member:6443".into(),
        authentication_from: Some(AuthenticationFrom {
            token: Some(reference("", "credentials", "token")),
            ..AuthenticationFrom::default()
        }),
        ..PediaClusterSpec::default()
    };
    let data = secrets(&[("clusterpedia-system", "credentials", "token", b"t")]);
    let check = |spec: &PediaClusterSpec, scope: &SecretScope| {
        let policy = Policy::Rendered(RenderedConnection::of(spec));
        let made = validate(spec, scope, &data, &policy, &AllowList::default());
        made.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(check(&of_secret, &scope()), Ok(()));
    assert!(referenced_secrets(&of_secret, &closed).is_empty());
    let ignored = "spec.authenticationFrom is ignored: the feature gate ClusterAuthenticationFromSecret is off";
    assert_eq!(check(&of_secret, &closed), Err(ignored.to_owned()));
    let inline = PediaClusterSpec {
        authentication_from: of_secret.authentication_from.clone(),
        ..with_token()
    };
    assert_eq!(
        check(&inline, &closed),
        Ok(()),
        "they do not count beside it"
    );
}
