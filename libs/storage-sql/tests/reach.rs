//! How a server is reached: only one that proves who it is, unless something else is said, and with the password as its file has it now.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use armadex_databases::{Database, Engine, Server, Setup, administer};
use armadex_storage::{Search as _, StoreError};
use armadex_storage_sql::{Location, Password, Secret, SqlStore};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Longer than a server takes to be there again, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A certificate authority, and the certificates that it made for `localhost` and for the user `indexer`.
struct Authority {
    root: String,
    server: Certified,
    user: Certified,
}

/// A certificate and its key.
struct Certified {
    certificate: String,
    key: String,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut root = CertificateParams::default();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root_pem = root.self_signed(&key).expect("a root").pem();
        let issuer = Issuer::new(root, key);
        let server = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let mut user = CertificateParams::default();
        user.distinguished_name.push(DnType::CommonName, "indexer");
        Self {
            root: root_pem,
            server: Certified::new(&server, &issuer),
            user: Certified::new(&user, &issuer),
        }
    }
}

impl Certified {
    fn new(of: &CertificateParams, issuer: &Issuer<'_, KeyPair>) -> Self {
        let key = KeyPair::generate().expect("a key");
        let certificate = of.signed_by(&key, issuer).expect("a certificate");
        Self {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// Puts them into files of this name.
    fn store(&self, folder: &Path, name: &str) -> [PathBuf; 2] {
        [(".crt", &self.certificate), (".key", &self.key)].map(|(end, text)| {
            let path = folder.join(format!("{name}{end}"));
            std::fs::write(&path, text).expect("written");
            path
        })
    }
}

/// A server that has this authority's certificate, and more.
fn certified(
    engine: Engine,
    authority: &Authority,
    settings: &[(&str, &str)],
    files: &[(&str, &str)],
) -> Server {
    let settings = settings.iter().map(|(name, value)| {
        let (name, value) = (*name, *value);
        (name.to_owned(), value.to_owned())
    });
    let own = [
        ("server.crt", &*authority.server.certificate),
        ("server.key", &*authority.server.key),
    ];
    let files = own.iter().chain(files);
    let setup = Setup {
        settings: settings.collect(),
        files: files
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect(),
        ..Setup::default()
    };
    Server::start(engine, &setup).expect("a server")
}

const OF_POSTGRESQL: [(&str, &str); 3] = [
    ("ssl", "on"),
    ("ssl_cert_file", "{folder}/server.crt"),
    ("ssl_key_file", "{folder}/server.key"),
];

const OF_MARIADB: [(&str, &str); 2] = [
    ("ssl_cert", "{folder}/server.crt"),
    ("ssl_key", "{folder}/server.key"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_has_to_prove_who_it_is() {
    proves_itself(Engine::Postgres, &OF_POSTGRESQL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mariadb_has_to_prove_who_it_is() {
    proves_itself(Engine::Mysql, &OF_MARIADB).await;
}

async fn proves_itself(engine: Engine, settings: &[(&str, &str)]) {
    if Database::for_test(engine).expect("no trouble").is_none() {
        return;
    }
    let authority = Authority::new();
    let place = tempfile::tempdir().expect("a folder");
    let root = place.path().join("root.crt");
    std::fs::write(&root, &authority.root).expect("written");
    let other = place.path().join("other.crt");
    std::fs::write(&other, Authority::new().root).expect("written");
    let server = certified(engine, &authority, settings, &[]);
    let url = server.create("fleet").expect("a database");
    let opens = async |host: &str, mode: &str, root: Option<&Path>| {
        let mut url = url.replace("127.0.0.1", host);
        url.push_str(&format!("?sslmode={mode}&connect_timeout=5s"));
        if let Some(root) = root {
            url.push_str(&format!("&sslrootcert={}", root.display()));
        }
        opened(&url.parse().expect("a URL")).await
    };
    for (host, mode, trusted, is_right) in [
        ("localhost", "verify-full", Some(&*root), true),
        ("127.0.0.1", "verify-full", Some(&*root), false),
        ("localhost", "verify-full", Some(&*other), false),
        ("localhost", "verify-full", None, false),
        ("localhost", "require", Some(&*root), true),
        ("localhost", "require", Some(&*other), false),
        ("127.0.0.1", "require", None, true),
    ] {
        let done = opens(host, mode, trusted).await;
        assert_eq!(done.is_ok(), is_right, "{mode} of {host}: {done:?}");
    }
}

/// As the manual says it: on this machine nothing is encrypted unless it is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_of_mariadb_who_has_to_encrypt_is_let_in_where_that_is_said() {
    if Database::for_test(Engine::Mysql)
        .expect("no trouble")
        .is_none()
    {
        return;
    }
    let server = certified(Engine::Mysql, &Authority::new(), &OF_MARIADB, &[]);
    server.create("fleet").expect("a database");
    for statement in [
        "CREATE USER indexer@'%' IDENTIFIED BY 'one' REQUIRE SSL",
        "GRANT ALL ON fleet.* TO indexer@'%'",
    ] {
        administer(server.address(), statement).expect("done");
    }
    let url = format!(
        "mysql://indexer:one@127.0.0.1:{}/fleet",
        server.address().port()
    );
    let refused = opened(&url.parse().expect("a URL")).await;
    let refused = refused.expect_err("it is not encrypted");
    assert!(format!("{refused:?}").contains("1045"), "{refused:?}");
    let encrypted = format!("{url}?ssl-mode=require");
    let done = opened(&encrypted.parse().expect("a URL")).await;
    done.expect("it is");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_a_certificate_needs_no_password_on_postgresql() {
    let rules =
        "hostssl fleet indexer 127.0.0.1/32 cert\nhost all all 127.0.0.1/32 scram-sha-256\n";
    let mut settings = OF_POSTGRESQL.to_vec();
    settings.extend([
        ("ssl_ca_file", "{folder}/root.crt"),
        ("hba_file", "{folder}/rules"),
    ]);
    let made = "CREATE ROLE indexer LOGIN";
    let owns = "ALTER DATABASE fleet OWNER TO indexer";
    let names = ["sslrootcert", "sslcert", "sslkey"];
    proves_who_asks(Engine::Postgres, &settings, rules, [made, owns], names).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_a_certificate_needs_no_password_on_mariadb() {
    let mut settings = OF_MARIADB.to_vec();
    settings.push(("ssl_ca", "{folder}/root.crt"));
    let made = "CREATE USER indexer@'%' REQUIRE X509";
    let owns = "GRANT ALL ON fleet.* TO indexer@'%'";
    let names = ["ssl-ca", "ssl-cert", "ssl-key"];
    proves_who_asks(Engine::Mysql, &settings, "", [made, owns], names).await;
}

async fn proves_who_asks(
    engine: Engine,
    settings: &[(&str, &str)],
    rules: &str,
    statements: [&str; 2],
    [root, certificate, key]: [&str; 3],
) {
    if Database::for_test(engine).expect("no trouble").is_none() {
        return;
    }
    let (authority, others) = (Authority::new(), Authority::new());
    let files = [("root.crt", &*authority.root), ("rules", rules)];
    let server = certified(engine, &authority, settings, &files);
    let url = server.create("fleet").expect("a database");
    for statement in statements {
        administer(server.address(), statement).expect("done");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let trusted = folder.path().join("root.crt");
    std::fs::write(&trusted, &authority.root).expect("written");
    let own = authority.user.store(folder.path(), "own");
    let foreign = others.user.store(folder.path(), "foreign");
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (_, place) = rest.split_once('@').expect("a user");
    let place = place.replace("127.0.0.1", "localhost");
    let url = format!(
        "{scheme}://indexer@{place}?{root}={}&connect_timeout=5s",
        trusted.display()
    );
    for (proof, is_right) in [(Some(&own), true), (None, false), (Some(&foreign), false)] {
        let proof = proof.map(|[shown, kept]| {
            let (shown, kept) = (shown.display(), kept.display());
            format!("&{certificate}={shown}&{key}={kept}")
        });
        let url = format!("{url}{}", proof.unwrap_or_default());
        let done = opened(&url.parse().expect("a URL")).await;
        assert_eq!(done.is_ok(), is_right, "{url}: {done:?}");
    }
}

async fn opened(location: &Location) -> Result<(), StoreError> {
    let store = armadex_storage_sql::open(location).await?;
    store.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_changes_in_its_file_is_followed_on_postgresql() {
    let made = "CREATE ROLE indexer LOGIN PASSWORD 'one'";
    let owns = "ALTER DATABASE fleet OWNER TO indexer";
    let change = "ALTER ROLE indexer PASSWORD 'two'";
    follows_its_password(Engine::Postgres, [made, owns, change]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_changes_in_its_file_is_followed_on_mariadb() {
    let made = "CREATE USER indexer@'127.0.0.1' IDENTIFIED BY 'one'";
    let owns = "GRANT ALL ON fleet.* TO indexer@'127.0.0.1'";
    let change = "SET PASSWORD FOR indexer@'127.0.0.1' = PASSWORD('two')";
    follows_its_password(Engine::Mysql, [made, owns, change]).await;
}

async fn follows_its_password(engine: Engine, [made, owns, change]: [&str; 3]) {
    if Database::for_test(engine).expect("no trouble").is_none() {
        return;
    }
    let mut server = Server::start(engine, &Setup::default()).expect("a server");
    let url = server.create("fleet").expect("a database");
    for statement in [made, owns] {
        administer(server.address(), statement).expect("done");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("password");
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (_, place) = rest.split_once('@').expect("a user");
    let location: Location = format!("{scheme}://indexer@{place}")
        .parse()
        .expect("a URL");
    let wrong = Password::Given(Secret::new("two"));
    let refused = opened(&location.clone().with_password(wrong)).await;
    let refused = refused.expect_err("another password").to_string();
    assert!(!refused.contains("two"), "{refused}");
    std::fs::write(&file, "one\n").expect("written");
    let location = location.with_password(Password::File(file.clone()));
    let store = armadex_storage_sql::open(&location).await.expect("a store");
    administer(server.address(), change).expect("changed");
    std::fs::write(&file, "two\n").expect("written");
    // No connection outlives its server.
    server.stop().expect("stopped");
    server.start_again().expect("started");
    wait_for_answer(&store).await;
    store.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_of_postgresql_that_may_only_connect_is_told_what_it_lacks() {
    let made = "CREATE ROLE indexer LOGIN PASSWORD 'one'";
    let shown = "GRANT CONNECT ON DATABASE fleet TO indexer";
    is_told_what_it_lacks(Engine::Postgres, [made, shown], "permission denied").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_of_mariadb_that_may_only_read_is_told_what_it_lacks() {
    let made = "CREATE USER indexer@'127.0.0.1' IDENTIFIED BY 'one'";
    let shown = "GRANT SELECT ON fleet.* TO indexer@'127.0.0.1'";
    is_told_what_it_lacks(Engine::Mysql, [made, shown], "command denied").await;
}

async fn is_told_what_it_lacks(engine: Engine, [made, shown]: [&str; 2], said: &str) {
    let server = Server::for_test(engine, &Setup::default()).expect("no trouble");
    let Some(server) = server else { return };
    let url = server.create("fleet").expect("a database");
    for statement in [made, shown] {
        administer(server.address(), statement).expect("done");
    }
    let own: Location = url.parse().expect("a URL");
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (_, place) = rest.split_once('@').expect("a user");
    let location = format!("{scheme}://indexer@{place}").parse::<Location>();
    let password = Password::Given(Secret::new("one"));
    let location = location.expect("a URL").with_password(password);
    let check = async || {
        let refused = opened(&location).await.expect_err("no rights");
        let words = refused.to_string();
        let StoreError::Denied { source, .. } = refused else {
            panic!("{words}")
        };
        for word in ["indexer@", "/fleet: ", "GRANT", "armadex migrate"] {
            assert!(words.contains(word), "{words}");
        }
        // Which right it is whoever opens a store reads, and not who reads a status.
        assert!(
            source.to_string().contains(said) && !words.contains(said),
            "{source}"
        );
    };
    check().await;
    // Neither may it read or write what somebody else has made.
    opened(&own).await.expect("a store");
    check().await;
}

async fn wait_for_answer(store: &SqlStore) {
    let end = Instant::now() + LIMIT;
    while let Err(error) = store.catalog().await {
        assert!(error.is_transient() && Instant::now() < end, "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
