//! Who is believed to be whom, with real certificates.

use std::collections::BTreeMap;
use std::time::Duration;

use http::HeaderValue;

use super::*;
use crate::testing::{Authority, FixedTokens};

struct Host {
    front_proxy: Authority,
    clients: Authority,
}

impl Host {
    fn new() -> Self {
        Self {
            front_proxy: Authority::new("front-proxy-ca"),
            clients: Authority::new("client-ca"),
        }
    }

    fn data(&self) -> BTreeMap<String, String> {
        crate::testing::extension_authentication(&self.front_proxy, &self.clients)
    }

    fn authenticator(&self) -> Authenticator {
        authenticator(&self.data())
    }
}

fn authenticator(data: &BTreeMap<String, String>) -> Authenticator {
    let trust = Trust::from_data(data).expect("a configuration");
    let tokens = FixedTokens::new([("right", "token-user")]);
    Authenticator::new(Arc::new(ArcSwap::from_pointee(trust)), Arc::new(tokens))
}

fn stranger() -> Asker {
    Asker::stranger([127, 0, 0, 1].into(), 0)
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, HeaderValue::from_str(value).expect("a value"));
    }
    headers
}

const SPOKEN_FOR: &[(&str, &str)] = &[
    ("x-remote-user", "alice"),
    ("x-remote-group", "dev"),
    ("x-remote-group", "ops"),
    ("x-remote-uid", "u-1"),
    ("x-remote-extra-acme.com%2fproject", "p1"),
    ("x-remote-extra-scopes", "a"),
    ("x-remote-extra-scopes", "b"),
];

/// `user[groups]`, or the code of the refusal.
async fn caller(host: &Authenticator, peer: &Peer, pairs: &[(&'static str, &str)]) -> String {
    caller_after(0, host, peer, pairs).await
}

/// The same so many seconds from now.
async fn caller_after(
    seconds: u64,
    host: &Authenticator,
    peer: &Peer,
    pairs: &[(&'static str, &str)],
) -> String {
    let at = Duration::from_secs(UnixTime::now().as_secs() + seconds);
    let at = UnixTime::since_unix_epoch(at);
    match host
        .authenticate(peer, &headers(pairs), at, &stranger())
        .await
    {
        Ok(identity) => format!("{}[{}]", identity.user, identity.groups.join(",")),
        Err(error) => error.code.as_str().to_owned(),
    }
}

#[tokio::test]
async fn a_front_proxy_is_believed() {
    let host = Host::new();
    let peer = host.front_proxy.peer("front-proxy-client", &[]);
    let identity = host
        .authenticator()
        .authenticate(&peer, &headers(SPOKEN_FOR), UnixTime::now(), &stranger())
        .await
        .expect("a caller");
    assert_eq!(identity.user, "alice");
    assert_eq!(identity.uid, "u-1");
    assert_eq!(identity.groups, ["dev", "ops", "system:authenticated"]);
    assert_eq!(identity.extra["acme.com/project"], ["p1"]);
    assert_eq!(identity.extra["scopes"], ["a", "b"]);
}

#[tokio::test]
async fn the_headers_of_anybody_else_are_as_if_they_were_not_there() {
    let host = Host::new();
    let authenticator = host.authenticator();
    let spoofed = &[
        ("x-remote-user", "system:admin"),
        ("x-remote-group", "system:masters"),
    ][..];
    // No certificate; the right CA and the wrong name; the right name and the wrong CA; a CA that nobody knows.
    assert_eq!(
        caller(&authenticator, &Peer::default(), spoofed).await,
        "401"
    );
    let wrong_name = host.front_proxy.peer("somebody", &[]);
    assert_eq!(caller(&authenticator, &wrong_name, spoofed).await, "401");
    let client = host.clients.peer("front-proxy-client", &["dev"]);
    assert_eq!(
        caller(&authenticator, &client, spoofed).await,
        "front-proxy-client[dev,system:authenticated]"
    );
    let stranger = Authority::new("front-proxy-ca").peer("front-proxy-client", &[]);
    assert_eq!(caller(&authenticator, &stranger, spoofed).await, "401");
}

#[tokio::test]
async fn a_certificate_of_the_front_proxy_ca_is_no_user() {
    let host = Host::new();
    let peer = host
        .front_proxy
        .peer("front-proxy-client", &["system:masters"]);
    assert_eq!(caller(&host.authenticator(), &peer, &[]).await, "401");
}

#[tokio::test]
async fn a_client_certificate_names_its_user_and_groups() {
    let host = Host::new();
    let peer = host.clients.peer("bob", &["dev", "ops"]);
    assert_eq!(
        caller(&host.authenticator(), &peer, &[]).await,
        "bob[dev,ops,system:authenticated]"
    );
    let nameless = host.clients.peer("", &["dev"]);
    assert_eq!(caller(&host.authenticator(), &nameless, &[]).await, "401");
}

/// Of a bundle in which the CAs of a rotation stand together the key of the former one may lie anywhere.
#[tokio::test]
async fn what_a_ca_says_ends_with_its_own_certificate() {
    const HOUR: Duration = Duration::from_secs(3600);
    let host = Host {
        front_proxy: Authority::valid_for("front-proxy-ca", HOUR),
        clients: Authority::valid_for("client-ca", HOUR),
    };
    let mut data = host.data();
    let later = Authority::new("later-client-ca");
    let bundle = data.get_mut("client-ca-file").expect("a bundle");
    bundle.push_str(later.pem());
    let authenticator = authenticator(&data);
    let (former, present) = (host.clients.peer("eve", &[]), later.peer("bob", &[]));
    let proxy = host.front_proxy.peer("front-proxy-client", &[]);
    for (seconds, eve, bob, alice) in [
        (
            0,
            "eve[system:authenticated]",
            "bob[system:authenticated]",
            "alice[dev,ops,system:authenticated]",
        ),
        (7200, "401", "bob[system:authenticated]", "401"),
    ] {
        let by = async |peer, pairs| caller_after(seconds, &authenticator, peer, pairs).await;
        assert_eq!(by(&former, &[]).await, eve);
        assert_eq!(by(&present, &[]).await, bob);
        assert_eq!(by(&proxy, SPOKEN_FOR).await, alice);
    }
}

#[tokio::test]
async fn the_leaf_ends_as_well() {
    let host = Host::new();
    let peer = host
        .clients
        .peer_valid_for("bob", Duration::from_secs(3600));
    let authenticator = host.authenticator();
    assert_eq!(
        caller(&authenticator, &peer, &[]).await,
        "bob[system:authenticated]"
    );
    assert_eq!(caller_after(3700, &authenticator, &peer, &[]).await, "401");
}

#[tokio::test]
async fn a_serving_certificate_makes_no_client() {
    let host = Host::new();
    let peer = host.clients.serving_peer("bob");
    assert_eq!(caller(&host.authenticator(), &peer, &[]).await, "401");
}

#[tokio::test]
async fn a_bearer_token_is_reviewed() {
    let host = Host::new();
    let authenticator = host.authenticator();
    let nobody = Peer::default();
    for (value, expected) in [
        ("Bearer right", "token-user[system:authenticated]"),
        ("bearer  right ", "token-user[system:authenticated]"),
        ("Bearer wrong", "401"),
        ("Bearer ", "401"),
        ("Basic right", "401"),
        ("right", "401"),
    ] {
        let headers = &[("authorization", value)][..];
        assert_eq!(
            caller(&authenticator, &nobody, headers).await,
            expected,
            "{value}"
        );
    }
    let stranger = Authority::new("any").peer("eve", &["system:masters"]);
    assert_eq!(
        caller(
            &authenticator,
            &stranger,
            &[("authorization", "Bearer right")]
        )
        .await,
        "token-user[system:authenticated]"
    );
    let long = format!("Bearer {}", "x".repeat(MAX_TOKEN + 1));
    assert_eq!(
        caller(&authenticator, &nobody, &[("authorization", &long)]).await,
        "401"
    );
}

#[tokio::test]
async fn an_unanswered_review_decides_nothing() {
    let host = Host::new();
    let headers = &[("authorization", "Bearer unanswered")][..];
    assert_eq!(
        caller(&host.authenticator(), &Peer::default(), headers).await,
        "503"
    );
}

#[tokio::test]
async fn an_empty_list_of_names_allows_any_under_the_ca() {
    let host = Host::new();
    let mut data = host.data();
    data.insert("requestheader-allowed-names".into(), "[]".into());
    let peer = host.front_proxy.peer("whoever", &[]);
    let found = caller(&authenticator(&data), &peer, SPOKEN_FOR).await;
    assert_eq!(found, "alice[dev,ops,system:authenticated]");
}

#[tokio::test]
async fn the_anonymous_stay_anonymous_behind_a_front_proxy() {
    let host = Host::new();
    let peer = host.front_proxy.peer("front-proxy-client", &[]);
    let pairs = &[
        ("x-remote-user", "system:anonymous"),
        ("x-remote-group", "system:unauthenticated"),
    ][..];
    let found = caller(&host.authenticator(), &peer, pairs).await;
    assert_eq!(found, "system:anonymous[system:unauthenticated]");
}

#[tokio::test]
async fn nothing_is_trusted_before_the_configuration_is_read() {
    let host = Host::new();
    let trust = Arc::new(ArcSwap::from_pointee(Trust::default()));
    let early = Authenticator::new(Arc::clone(&trust), Arc::new(FixedTokens::new([])));
    let peer = host.front_proxy.peer("front-proxy-client", &[]);
    assert!(!early.is_ready());
    assert_eq!(caller(&early, &peer, SPOKEN_FOR).await, "401");
    trust.store(Arc::new(
        Trust::from_data(&host.data()).expect("a configuration"),
    ));
    assert!(early.is_ready());
    assert_eq!(
        caller(&early, &peer, SPOKEN_FOR).await,
        "alice[dev,ops,system:authenticated]"
    );
}

#[test]
fn a_broken_configuration_is_refused() {
    for (key, value) in [
        ("client-ca-file", "no certificate"),
        (
            "requestheader-client-ca-file",
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----",
        ),
    ] {
        let data = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        assert!(Trust::from_data(&data).is_err(), "{key}");
    }
    let mut data = Host::new().data();
    data.insert(
        "requestheader-allowed-names".into(),
        "front-proxy-client".into(),
    );
    assert!(Trust::from_data(&data).is_err());
}
