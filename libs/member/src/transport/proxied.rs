//! Forward proxies that work: what each is told on the way, and what the member behind it is not.

use armadex_crds::Sensitive;
use http::HeaderName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::believed::{answer, head, server};
use super::*;
use crate::connection::Trust;
use crate::member::Member;

/// `me:p@ss`, as a header has it.
const LOGIN: &str = "proxy-authorization: Basic bWU6cEBzcw==";

/// A member of which the proxy alone knows where it is, and where the proxy is to listen.
async fn behind(scheme: &str, trust: Trust) -> (Member, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let url = format!("{scheme}://{address}").parse().expect("a URL");
    let member = Member::new(&Connection {
        trust,
        token: Some(Sensitive::new("the-token")),
        proxy: Some(Proxy {
            url,
            credentials: Some(("me".to_owned(), Sensitive::new("p@ss"))),
            headers: ["a", "b"]
                .map(|value| (HeaderName::from_static("x-team"), Sensitive::new(value)))
                .into(),
        }),
        ..Connection::plain("http://member.example:6443")
    });
    (member.expect("a member"), listener)
}

async fn accepted(listener: &TcpListener) -> TcpStream {
    listener.accept().await.expect("a connection").0
}

/// Makes a tunnel and is the member at its other end. Gives what the one was told, and the other.
async fn tunnels(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> [Vec<String>; 2] {
    let asked = head(&mut stream).await;
    let made = b"HTTP/1.1 200 OK\r\n\r\n";
    stream.write_all(made).await.expect("a reader");
    [asked, answer(&mut stream).await]
}

fn are_told_what_is_for_each(told: &[Vec<String>; 2]) {
    let [proxy, member] = told.each_ref().map(|lines| {
        let lines = lines.iter().map(|line| line.to_ascii_lowercase());
        Vec::from_iter(lines)
    });
    assert_eq!(proxy[0], "connect member.example:6443 http/1.1");
    for header in ["x-team: a", "x-team: b", &LOGIN.to_ascii_lowercase()] {
        assert!(proxy.iter().any(|line| line == header), "{proxy:?}");
    }
    assert!(told[0].iter().any(|line| line.ends_with("bWU6cEBzcw==")));
    assert_eq!(member[0], "get /readyz http/1.1");
    let is_the_proxys = |line: &String| line.starts_with("x-team") || line.starts_with("proxy-");
    assert!(!member.iter().any(is_the_proxys), "{member:?}");
    let token = "authorization: bearer the-token";
    assert!(member.iter().any(|line| line == token), "{member:?}");
    assert!(!proxy.iter().any(|line| line == token), "{proxy:?}");
}

#[tokio::test]
async fn a_proxy_is_asked_for_a_tunnel_with_its_headers_and_its_password() {
    let (member, listener) = behind("http", Trust::Anyone).await;
    let proxy = async { tunnels(accepted(&listener).await).await };
    let (probed, told) = tokio::join!(member.probe(None), proxy);
    probed.expect("an answer");
    are_told_what_is_for_each(&told);
}

#[tokio::test]
async fn a_proxy_that_is_reached_by_tls_is_asked_for_the_same() {
    let (own, trust) = server();
    let (member, listener) = behind("https", trust).await;
    let proxy = async {
        let stream = own.accept(accepted(&listener).await).await;
        tunnels(stream.expect("it is believed")).await
    };
    let (probed, told) = tokio::join!(member.probe(None), proxy);
    probed.expect("an answer");
    are_told_what_is_for_each(&told);
}

/// RFC 1928, with the user and the password of RFC 1929.
#[tokio::test]
async fn a_socks_proxy_is_told_who_asks_and_for_which_host() {
    let (member, listener) = behind("socks5", Trust::Anyone).await;
    let proxy = async {
        let mut stream = accepted(&listener).await;
        let offered = part(&mut stream).await;
        assert!(offered.contains(&2), "a user and a password: {offered:?}");
        stream.write_all(&[5, 2]).await.expect("a reader");
        assert_eq!(login(&mut stream).await, ["me", "p@ss"]);
        stream.write_all(&[1, 0]).await.expect("a reader");
        let mut asked = [0; 4];
        stream.read_exact(&mut asked).await.expect("a request");
        assert_eq!(asked, [5, 1, 0, 3], "to connect to a name");
        assert_eq!(counted(&mut stream).await, b"member.example");
        assert_eq!(stream.read_u16().await.expect("a port"), 6443);
        let made = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        stream.write_all(&made).await.expect("a reader");
        answer(&mut stream).await
    };
    let (probed, told) = tokio::join!(member.probe(None), proxy);
    probed.expect("an answer");
    assert_eq!(told[0], "GET /readyz HTTP/1.1");
}

/// A version and what follows it.
async fn part(stream: &mut TcpStream) -> Vec<u8> {
    stream.read_u8().await.expect("a version");
    counted(stream).await
}

async fn login(stream: &mut TcpStream) -> [String; 2] {
    let user = part(stream).await;
    let password = counted(stream).await;
    [user, password].map(|text| String::from_utf8(text).expect("a text"))
}

/// As many bytes as the first says.
async fn counted(stream: &mut TcpStream) -> Vec<u8> {
    let length = stream.read_u8().await.expect("a length");
    let mut bytes = vec![0; length.into()];
    stream.read_exact(&mut bytes).await.expect("as many");
    bytes
}
