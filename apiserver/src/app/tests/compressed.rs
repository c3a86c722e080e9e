//! `Accept-Encoding: gzip`: what is compressed, and what it is when it is read again.

use std::io::Read as _;

use flate2::read::GzDecoder;

use super::*;

const PODS: &str = "resources/api/v1/pods";
const LARGE: &str = "resources/clusters/m1/api/v1/namespaces/x/pods/large";
const SMALL: &str = "resources/clusters/m1/api/v1/namespaces/x/pods/p0000";

/// Two pages of small pods, and one that is large.
fn contents() -> Contents {
    let contents = Contents::new().cluster("m1", "v1.36.1", "");
    let large = json!({"spec": {"text": "x".repeat(200 << 10)}});
    let contents = contents.object("m1", &pods(), "x", "large", large);
    (0..600).fold(contents, |contents, number| {
        let name = format!("p{number:04}");
        contents.object(
            "m1",
            &pods(),
            "x",
            &name,
            json!({"spec": {"nodeName": "n"}}),
        )
    })
}

async fn ask(server: &Server, path: &str, accept: &str, encoding: &str) -> Answer {
    let headers = [
        ("authorization", "Bearer alice"),
        ("accept", accept),
        ("accept-encoding", encoding),
    ];
    server.ask("GET", &format!("{BASE}/{path}"), &headers).await
}

/// Asks with and without; whether the former was compressed. It says the same.
async fn is_compressed(server: &Server, path: &str, accept: &str) -> bool {
    let plain = ask(server, path, accept, "identity").await;
    let answer = ask(server, path, accept, "gzip").await;
    assert_eq!(plain.header("content-encoding"), [""; 0]);
    assert_eq!((plain.code, answer.code), (200, 200), "{path}");
    let encoding = answer.header("content-encoding");
    let vary = answer.header("vary").concat();
    let body = answer.body.as_deref().expect("a complete body");
    assert_eq!(vary, "Accept, Accept-Encoding", "{path} {accept}");
    if encoding.is_empty() {
        assert!(body == plain.text().as_bytes(), "{path} {accept}");
        return false;
    }
    assert_eq!(encoding, ["gzip"]);
    let mut read = Vec::new();
    GzDecoder::new(body).read_to_end(&mut read).expect("gzip");
    assert!(read == plain.text().as_bytes(), "{path} {accept}");
    assert!(body.len() < plain.text().len() / 2, "{path} {accept}");
    true
}

#[tokio::test]
async fn what_is_long_is_compressed_in_every_form() {
    let server = Server::open(contents()).await;
    for accept in ["application/json", "application/yaml", TABLE] {
        assert!(is_compressed(&server, PODS, accept).await, "{accept}");
    }
    for path in [LARGE.to_owned(), format!("{LARGE}?pretty=true")] {
        assert!(is_compressed(&server, &path, "application/json").await);
    }
    for path in [
        SMALL,
        "resources/api/v1",
        "resources/api/v1/pods?limit=3&names=p0001",
    ] {
        assert!(!is_compressed(&server, path, "application/json").await);
    }
    server.app.close().await;
    assert_eq!(server.app.counters().read().held_bytes, 0);
}

#[tokio::test]
async fn a_list_that_breaks_off_does_not_end_as_gzip_does() {
    let server = Server::open(contents()).await;
    server.store.failing_page.store(2, Ordering::Relaxed);
    let answer = ask(&server, PODS, "application/json", "gzip").await;
    assert_eq!((answer.code, answer.body.is_none()), (200, true));
}

/// Each holds what compresses it until its end: all of them would wait for room for their next pages, of which none was left.
#[tokio::test(start_paused = true)]
async fn compressed_lists_never_wait_for_each_other() {
    for (mib, lists) in [(8, 1), (10, 1), (32, 1), (32, 20)] {
        let limits = Limits {
            in_flight: PoolSizes {
                short: 100,
                lists: 100,
                short_per_user: 100,
            },
            bytes: mib << 20,
            time: Duration::from_secs(60),
            searches: 4,
        };
        let server = Server::with_limits(contents(), ["everybody may do everything"], limits);
        let server = server.await;
        let asked = (0..lists).map(|_| ask(&server, PODS, "application/json", "gzip"));
        let answers = futures::future::join_all(asked).await;
        let whole = answers.iter().filter(|answer| answer.body.is_some());
        assert_eq!(whole.count(), lists, "{mib} MiB");
        if let [answer] = answers.as_slice() {
            let is_compressed = !answer.header("content-encoding").is_empty();
            assert_eq!(is_compressed, mib > 10, "{mib} MiB");
        }
    }
}

#[tokio::test]
async fn secrets_are_never_compressed() {
    let secrets = resource("", "v1", "secrets", "Secret", true);
    let text = json!({"data": {"text": "x".repeat(200 << 10)}});
    let contents = Contents::new().cluster("m1", "v1.36.1", "");
    let server = Server::open(contents.object("m1", &secrets, "x", "s", text)).await;
    for path in [
        "resources/api/v1/secrets",
        "clusters/m1/proxy/api/v1/namespaces/x/secrets/s",
    ] {
        for accept in [
            "application/json",
            "application/yaml",
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,*/*",
        ] {
            assert!(!is_compressed(&server, path, accept).await, "{path}");
        }
    }
}

/// A document of 128 KiB and more: that of many types.
fn many_types() -> Contents {
    let contents = Contents::new().cluster("m1", "v1.36.1", "");
    (0..1500).fold(contents, |contents, number| {
        let name = format!("things{number:04}");
        contents.synced("m1", &resource("example.com", "v1", &name, &name, true))
    })
}

#[tokio::test]
async fn a_document_is_known_in_whatever_bytes_it_came() {
    let server = Server::open(many_types()).await;
    let path = format!("{BASE}/resources/apis/example.com/v1");
    let ask = async |headers: &[(&str, &str)]| {
        let headers = [&[("authorization", "Bearer alice")], headers].concat();
        server.ask("GET", &path, &headers).await
    };
    let plain = ask(&[]).await.header("etag").concat();
    let compressed = ask(&[("accept-encoding", "gzip")]).await;
    assert_eq!(compressed.header("content-encoding"), ["gzip"]);
    let weak = format!("W/{plain}");
    assert_eq!(compressed.header("etag"), [weak.as_str()]);
    for (named, code) in [
        (&[plain.as_str()][..], 304),
        (&[weak.as_str()], 304),
        (&["*"], 304),
        (&["\"a\"", &weak], 304),
        (&["\"a\""], 200),
        (&["W/\"a\", \"b\""], 200),
    ] {
        let headers: Vec<_> = named.iter().map(|one| ("if-none-match", *one)).collect();
        let answer = ask(&headers).await;
        assert_eq!(answer.code, code, "{named:?}");
        assert_eq!(answer.header("vary"), ["Accept, Accept-Encoding"]);
    }
}
