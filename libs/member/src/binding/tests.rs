//! Who may send which credential where: a PediaCluster, the Secrets that it names and what a policy rendered, one line each.

use std::sync::Arc;

use armadex_crds::{AuthenticationFrom, Base64Bytes, Connection as Way, SecretKeyRef};

use super::*;
use crate::allow_list::AllowList;
use crate::connection::Trust;
use crate::secrets::{SecretContent, SecretScope};
use crate::validate::{Validated, validate};
use armadex_crds::Sensitive;

const SERVER: &str = "https://east:6443";
const HOME: &str = "clusterpedia-system";
const MEMBERS: &str = "karmada-cluster";
const TOKEN: &str = "hunter2";

/// A PediaCluster, the Secrets of the control plane and its lifecycle, to be changed by a test.
struct World {
    spec: PediaClusterSpec,
    secrets: SecretData,
    policy: Policy,
}

/// `east` and `evil` are members whose Secrets hold token and CA.
fn world() -> World {
    let mut world = World {
        spec: PediaClusterSpec {
            apiserver: SERVER.into(),
            ..PediaClusterSpec::default()
        },
        secrets: SecretData::new(),
        policy: Policy::Absent,
    };
    for (namespace, name) in [(MEMBERS, "east"), (MEMBERS, "evil"), (HOME, "east")] {
        let (certificate, key) = pair();
        world = world
            .with(namespace, name, "token", TOKEN.as_bytes())
            .with(namespace, name, "ca", &certificate)
            .with(namespace, name, "crt", &certificate)
            .with(namespace, name, "key", &key);
    }
    world.uses(|from| from.token = Some(at(MEMBERS, "east", "token")))
}

fn pair() -> (Vec<u8>, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(vec!["member".to_owned()]).unwrap();
    let key = made.signing_key.serialize_pem();
    (made.cert.pem().into_bytes(), key.into_bytes())
}

fn at(namespace: &str, name: &str, key: &str) -> SecretKeyRef {
    SecretKeyRef {
        namespace: namespace.into(),
        name: name.into(),
        key: key.into(),
    }
}

fn id(namespace: &str, name: &str) -> SecretId {
    SecretId {
        namespace: namespace.into(),
        name: name.into(),
    }
}

impl World {
    fn with(mut self, namespace: &str, name: &str, key: &str, value: &[u8]) -> Self {
        let content = self.content(namespace, name);
        content.data.insert(key.into(), Sensitive::new(value));
        self
    }

    fn content(&mut self, namespace: &str, name: &str) -> &mut SecretContent {
        Arc::make_mut(self.secrets.entry(id(namespace, name)).or_default())
    }

    fn granting(mut self, namespace: &str, name: &str, endpoints: &str) -> Self {
        self.content(namespace, name).endpoints = Some(endpoints.into());
        self
    }

    fn uses(mut self, change: impl FnOnce(&mut AuthenticationFrom)) -> Self {
        change(self.spec.authentication_from.get_or_insert_default());
        self
    }

    fn over(mut self, change: impl FnOnce(&mut Way)) -> Self {
        change(self.spec.connection.get_or_insert_default());
        self
    }

    fn set(mut self, change: impl FnOnce(&mut PediaClusterSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// A policy rendered what is there now.
    fn rendered(mut self) -> Self {
        self.policy = Policy::Rendered(RenderedConnection::of(&self.spec));
        self
    }

    fn under(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    fn kubeconfig(self, namespace: &str, cluster: &str) -> Self {
        let yaml = format!(
            "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}], \
             clusters: [{{name: k, cluster: {{{cluster}}}}}], users: [{{name: u, user: {{token: {TOKEN}}}}}]}}"
        );
        self.with(namespace, "whole", "kubeconfig", yaml.as_bytes())
            .uses(|from| from.kubeconfig = Some(at(namespace, "whole", "kubeconfig")))
    }

    fn validated(&self) -> Result<Validated, ConfigError> {
        let scope = SecretScope {
            default_namespace: HOME.into(),
            allowed_namespaces: [MEMBERS.to_owned()].into(),
            ignored: false,
        };
        validate(
            &self.spec,
            &scope,
            &self.secrets,
            &self.policy,
            &AllowList::default(),
        )
    }

    #[track_caller]
    fn allowed(self, ground: &Ground) -> Validated {
        let validated = self.validated().unwrap();
        assert_eq!(validated.ground, *ground);
        validated
    }

    #[track_caller]
    fn refused(self, words: &str) {
        let error = self.validated().unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(words) && text.contains(MEMBERS) | text.contains(HOME),
            "{text}"
        );
        assert!(matches!(error, ConfigError::Unbound { .. }), "{text}");
        assert!(!text.contains(TOKEN), "{text}");
    }
}

impl World {
    #[track_caller]
    fn replaced(self, rendered: &str) {
        let error = self.validated().unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, ConfigError::Replaced { .. }), "{text}");
        assert!(text.contains(rendered) && !text.contains(TOKEN), "{text}");
    }
}

#[test]
fn without_a_policy_or_a_grant_nothing_is_sent_anywhere() {
    let error = world().validated().unwrap_err().to_string();
    assert_eq!(
        error,
        "secret karmada-cluster/east may not be used for https://east:6443: whoever looks after it can allow that by \
         naming \"https://east:6443\" in the annotation armadex.dev/endpoints of the Secret (no policy has made a \
         PediaClusterLifecycle of this name)"
    );
    world()
        .uses(|from| from.token = Some(at("", "east", "token")))
        .refused("secret clusterpedia-system/east");
}

#[test]
fn what_a_policy_rendered_goes_to_the_letter() {
    let ca = Base64Bytes::from_bytes(&pair().0);
    let rendered = || {
        world()
            .set(|spec| spec.ca_data = ca.clone())
            .over(|way| way.proxy_url = "http://proxy:1".into())
            .over(|way| way.insecure_skip_tls_verification = true)
            .rendered()
    };
    let found = ConnectionFingerprint::of(&rendered().spec);
    let made = rendered().allowed(&Ground::Policy(found));
    assert!(made.connection.proxy.is_some() && made.connection.trust == Trust::Anyone);
    let another = "rendered another connection, to https://east:6443, and nothing is asked of ";
    rendered()
        .set(|spec| spec.apiserver = "https://evil".into())
        .replaced(another);
    rendered()
        .set(|spec| spec.ca_data = Base64Bytes::from_bytes(&pair().0))
        .replaced(another);
    rendered()
        .over(|way| way.proxy_url = "http://evil:1".into())
        .replaced(another);
    rendered()
        .uses(|from| from.token = Some(at(MEMBERS, "evil", "token")))
        .replaced(another);
    world()
        .under(Policy::Silent)
        .refused("has not recorded what it rendered");
}

/// What everybody reads under the name of a cluster would come from somewhere else.
#[test]
fn nothing_takes_the_place_of_what_a_policy_rendered() {
    let rendered = || world().rendered();
    let another = "rendered another connection, to https://east:6443";
    let bytes = |text: &str| Base64Bytes::from_bytes(text.as_bytes());
    let insecure = |world: World| world.over(|way| way.insecure_skip_tls_verification = true);
    let own = "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], \
               clusters: [{name: k, cluster: {server: 'https://evil'}}], users: [{name: u, user: {token: mine}}]}";
    rendered()
        .set(|spec| spec.kubeconfig = bytes(own))
        .replaced(another);
    insecure(rendered().set(|spec| spec.token_data = bytes("mine"))).replaced(another);
    let (certificate, key) = pair();
    rendered()
        .set(|spec| spec.cert_data = Base64Bytes::from_bytes(&certificate))
        .set(|spec| spec.key_data = Base64Bytes::from_bytes(&key))
        .replaced(another);
    // Nor does what a Secret allows: it is another member's.
    rendered()
        .granting(MEMBERS, "evil", "https://evil")
        .uses(|from| from.token = Some(at(MEMBERS, "evil", "token")))
        .set(|spec| spec.apiserver = "https://evil".into())
        .replaced(another);
    rendered()
        .kubeconfig(HOME, "server: 'https://evil'")
        .replaced(another);
    // Of credentials that the policy itself renders into it the same.
    let inline = || {
        let inline = world().set(|spec| spec.token_data = bytes("rendered"));
        insecure(inline).rendered()
    };
    let found = ConnectionFingerprint::of(&inline().spec);
    inline().allowed(&Ground::Policy(found));
    inline()
        .set(|spec| spec.token_data = bytes("mine"))
        .replaced(another);
}

#[test]
fn what_was_rendered_before_goes_on_until_the_pediacluster_could_be_changed() {
    let before = ConnectionFingerprint::of(&world().spec);
    let mut changed = world().set(|spec| spec.apiserver = "https://moved".into());
    let rendered = RenderedConnection::of(&changed.spec).beside(Some(before.clone()));
    changed.policy = Policy::Rendered(rendered);
    let policy = changed.policy.clone();
    let found = ConnectionFingerprint::of(&changed.spec);
    changed.allowed(&Ground::Policy(found));
    world()
        .under(policy.clone())
        .allowed(&Ground::Policy(before));
    world()
        .set(|spec| spec.apiserver = "https://evil".into())
        .under(policy)
        .replaced("to https://moved");
}

#[test]
fn a_grant_is_for_its_endpoints_and_for_whoever_is_verified_there() {
    let granted = |endpoints: &str| world().granting(MEMBERS, "east", endpoints);
    granted("https://east:6443").allowed(&Ground::Secrets);
    granted("https://west, HTTPS://EAST:6443/").allowed(&Ground::Secrets);
    granted("https://west").refused("naming \"https://east:6443\" in the annotation");
    granted("https://east").refused("naming");
    granted(SERVER)
        .over(|way| way.insecure_skip_tls_verification = true)
        .refused("nobody is verified there");
    granted("http://east:6443")
        .set(|spec| spec.apiserver = "http://east:6443".into())
        .over(|way| way.insecure_skip_tls_verification = true)
        .refused("nobody is verified there");
    granted(SERVER)
        .set(|spec| spec.ca_data = Base64Bytes::from_bytes(&pair().0))
        .refused("only a policy may render spec.caData");
    // With a trust that the Secret's side chose, a proxy learns nothing.
    granted(SERVER)
        .over(|way| way.proxy_url = "http://anybody:1".into())
        .allowed(&Ground::Secrets);
}

#[test]
fn a_ca_vouches_where_the_credentials_side_chose_it() {
    let granted = || world().granting(MEMBERS, "east", SERVER);
    let with_ca = |world: World, namespace: &str, name: &str| {
        world.uses(|from| from.ca = Some(at(namespace, name, "ca")))
    };
    with_ca(granted(), MEMBERS, "east").allowed(&Ground::Secrets);
    // The key of this CA is in the hands of another member's owner.
    with_ca(granted(), MEMBERS, "evil").refused("comes from karmada-cluster/evil");
    with_ca(granted(), MEMBERS, "evil").refused("its CA must come from the same Secret");
    let elsewhere = granted().granting(MEMBERS, "evil", "https://evil");
    with_ca(elsewhere, MEMBERS, "evil").refused("its CA must come from");
    let vouched = granted().granting(MEMBERS, "evil", SERVER);
    with_ca(vouched, MEMBERS, "evil").allowed(&Ground::Secrets);
    let in_another_namespace = granted().granting(HOME, "east", SERVER);
    with_ca(in_another_namespace, HOME, "east").refused("comes from clusterpedia-system/east");
}

#[test]
fn every_secret_with_a_credential_needs_its_grant() {
    let certificate = |secret: &str, key: &str| {
        world()
            .granting(MEMBERS, "east", SERVER)
            .uses(|from| from.token = None)
            .uses(|from| from.cert = Some(at(MEMBERS, secret, "crt")))
            .uses(|from| from.key = Some(at(MEMBERS, key, "key")))
    };
    let made = certificate("east", "east").allowed(&Ground::Secrets);
    assert!(made.connection.certificate.is_some());
    certificate("east", "evil").refused("secret karmada-cluster/evil may not be used");
    certificate("evil", "evil").refused("secret karmada-cluster/evil may not be used");
    certificate("evil", "evil")
        .uses(|from| from.token = Some(at(MEMBERS, "east", "token")))
        .refused("secret karmada-cluster/evil may not be used");
}

#[test]
fn a_kubeconfig_in_our_own_namespace_carries_its_endpoint() {
    let safe = "server: 'https://prod'";
    let open = "server: 'https://prod', insecure-skip-tls-verify: true";
    let ours = |cluster: &str| world().kubeconfig(HOME, cluster);
    let skip = |world: World| world.over(|way| way.insecure_skip_tls_verification = true);
    let proxied = |world: World| world.over(|way| way.proxy_url = "http://anybody:1".into());
    let made = ours(safe).allowed(&Ground::Secrets);
    assert_eq!(made.connection.server.to_string(), "https://prod");
    proxied(ours(safe)).allowed(&Ground::Secrets);
    skip(ours(safe)).refused("its kubeconfig asks to verify");
    skip(ours(safe)).refused(
        "secret clusterpedia-system/whole may not be used for the API server of its kubeconfig: its",
    );
    skip(ours(open)).allowed(&Ground::Secrets);
    proxied(skip(ours(open))).refused("only a policy may render spec.connection.proxyURL then");
    skip(ours("server: 'http://prod'")).allowed(&Ground::Secrets);
    proxied(skip(ours("server: 'http://prod'"))).refused("proxyURL");
    let rendered = proxied(skip(ours(safe))).rendered();
    assert!(matches!(
        rendered.validated().unwrap().ground,
        Ground::Policy(_)
    ));
}

#[test]
fn a_kubeconfig_elsewhere_needs_a_grant_too() {
    let theirs = || world().kubeconfig(MEMBERS, "server: 'https://prod'");
    let grant = "naming its API server in the annotation armadex.dev/endpoints of the Secret";
    theirs().refused(grant);
    theirs().granting(MEMBERS, "whole", SERVER).refused(grant);
    theirs()
        .granting(MEMBERS, "whole", "https://prod:443")
        .allowed(&Ground::Secrets);
}

#[test]
fn credentials_in_the_pediacluster_are_its_writers_own() {
    let own = |world: World| {
        world
            .over(|way| way.insecure_skip_tls_verification = true)
            .under(Policy::Silent)
            .allowed(&Ground::Own)
    };
    let token = own(world().set(|spec| spec.token_data = Base64Bytes::from_bytes(b"mine")));
    assert_eq!(token.connection.token.unwrap().expose(), b"mine");
    let (certificate, key) = pair();
    let whole = own(world()
        .set(|spec| spec.cert_data = Base64Bytes::from_bytes(&certificate))
        .set(|spec| spec.key_data = Base64Bytes::from_bytes(&key)));
    assert_eq!(
        whole.connection.token, None,
        "that of the Secret stays where it is"
    );
    // Half of a pair is none, so the Secret's token would be sent.
    world()
        .set(|spec| spec.cert_data = Base64Bytes::from_bytes(&certificate))
        .refused("secret karmada-cluster/east");
}

#[test]
fn whether_a_policy_rendered_it_is_waited_for() {
    let unlisted = || Policy::Unlisted("the API server says 403".into());
    let waits = world().under(unlisted()).validated().unwrap_err();
    assert_eq!(
        waits.to_string(),
        "whether a policy rendered this connection is not known: PediaClusterLifecycles have not been listed yet: \
         the API server says 403"
    );
    // It could be in the place of what a policy rendered.
    let granted = world().granting(MEMBERS, "east", SERVER).under(unlisted());
    let own = world()
        .set(|spec| spec.token_data = Base64Bytes::from_bytes(b"mine"))
        .under(unlisted());
    for world in [granted, own] {
        let error = world.validated().unwrap_err();
        assert!(matches!(error, ConfigError::Unlisted { .. }), "{error}");
    }
}

#[test]
fn a_bad_entry_is_told_with_a_yes() {
    let problem = "entry 1 of armadex.dev/endpoints must begin with https://";
    let made = world()
        .granting(MEMBERS, "east", "http://west, https://east:6443")
        .allowed(&Ground::Secrets);
    assert_eq!(made.warnings.len(), 1);
    assert!(made.warnings[0].starts_with(&format!("secret karmada-cluster/east: {problem}")));
}

/// What is told of a PediaCluster by whoever may write it and read none of the Secrets.
#[track_caller]
fn told_alike(worlds: impl IntoIterator<Item = World>) {
    let told = worlds.into_iter().map(|world| {
        let error = world.validated().unwrap_err();
        (
            matches!(error, ConfigError::Unbound { .. }),
            error.to_string(),
        )
    });
    let told: BTreeSet<(bool, String)> = told.collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(
        told.iter().all(|(_, text)| !text.contains("prod")),
        "{told:?}"
    );
}

/// What a Secret may hold under the keys that this file's PediaClusters name: nothing, other things, and what would do.
fn contents() -> [Option<Vec<u8>>; 7] {
    let file = |cluster: &str, user: &str| {
        Some(
            format!(
                "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}], \
                 clusters: [{{name: k, cluster: {{{cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
            )
            .into_bytes(),
        )
    };
    [
        None,
        Some(b" ".to_vec()),
        Some(b"hunter2".to_vec()),
        Some(b"{\"auths\": {}}".to_vec()),
        file("server: 'https://prod'", "token: t"),
        file(
            "server: 'https://prod'",
            "exec: {apiVersion: v1, command: sh}",
        ),
        file("server: 'http://prod'", "token: t"),
    ]
}

#[test]
fn a_secret_that_grants_nothing_is_told_of_alike_whatever_it_holds() {
    let holding = |key: &str, value: Option<Vec<u8>>, grant: Option<&str>| {
        let mut world = world();
        world.secrets.clear();
        if let Some(grant) = grant {
            world = world.granting(MEMBERS, "other", grant);
        }
        match value {
            Some(value) => world.with(MEMBERS, "other", key, &value),
            None => world,
        }
    };
    let grants = [None, Some("https://west"), Some("http://west, *")];
    for key in ["token", "ca", "crt", "key", "kubeconfig"] {
        let worlds = grants
            .iter()
            .flat_map(|grant| contents().map(|value| (value, *grant)));
        told_alike(worlds.map(|(value, grant)| {
            holding(key, value, grant).uses(|from| {
                let named = Some(at(MEMBERS, "other", key));
                match key {
                    "kubeconfig" => from.kubeconfig = named,
                    "token" => from.token = named,
                    "ca" => from.ca = named,
                    "crt" => {
                        (from.token, from.cert, from.key) =
                            (None, named, Some(at(MEMBERS, "other", "k")));
                    }
                    _ => {
                        (from.token, from.cert, from.key) =
                            (None, Some(at(MEMBERS, "other", "c")), named);
                    }
                }
            })
        }));
    }
    // Nor does it tell more of what nobody could be connected with.
    for value in contents() {
        let world = holding("ca", value, None).uses(|from| {
            (from.token, from.ca) = (None, Some(at(MEMBERS, "other", "ca")));
        });
        let error = world.validated().unwrap_err().to_string();
        assert!(error.starts_with("a credential is required"), "{error}");
    }
    // Under a name that a policy has rendered, and before that is known, the same.
    let rendered = || Policy::Rendered(RenderedConnection::of(&world().spec));
    for policy in [rendered, || Policy::Unlisted(String::new())] {
        told_alike(contents().map(|value| {
            holding("kubeconfig", value, None)
                .uses(|from| from.kubeconfig = Some(at(MEMBERS, "other", "kubeconfig")))
                .under(policy())
        }));
    }
}

/// Of our own namespace a kubeconfig may be used, and whoever names it is told what is wrong with it. What else lies there is nobody's concern.
#[test]
fn of_our_own_namespace_nothing_is_told_but_what_is_wrong_with_a_kubeconfig() {
    let ours = |value: Option<Vec<u8>>| {
        let world = world().uses(|from| from.kubeconfig = Some(at("", "other", "kubeconfig")));
        match value {
            Some(value) => world.with(HOME, "other", "kubeconfig", &value),
            None => world,
        }
    };
    let [none, blank, other, json, good, exec, plain] = contents().map(ours);
    told_alike([none, blank, other, json]);
    good.allowed(&Ground::Secrets);
    for (world, words) in [(exec, "users[].user.exec"), (plain, "is not https")] {
        let error = world.validated().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn whoever_may_use_a_secret_is_told_what_is_wrong_with_it() {
    let granted = |world: World| world.granting(MEMBERS, "whole", "https://prod");
    let exec = String::from_utf8(contents()[5].clone().unwrap()).unwrap();
    let theirs = granted(world().kubeconfig(MEMBERS, "server: 'https://prod'"));
    let theirs = theirs.with(MEMBERS, "whole", "kubeconfig", exec.as_bytes());
    let error = theirs.validated().unwrap_err().to_string();
    assert!(error.contains("users[].user.exec"), "{error}");
    let blank = world().granting(MEMBERS, "east", SERVER);
    let blank = blank.with(MEMBERS, "east", "token", b" ");
    let error = blank.validated().unwrap_err().to_string();
    assert_eq!(error, "secret karmada-cluster/east: token is empty");
    let rendered = world().kubeconfig(MEMBERS, "server: ''").rendered();
    let error = rendered.validated().unwrap_err().to_string();
    assert!(
        error.contains("clusters[].cluster.server is required"),
        "{error}"
    );
}
