//! Servers that show a certificate which they signed themselves, and who believes them.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::connection::Trust;
use crate::error::MemberError;
use crate::member::Member;

/// One of 127.0.0.1, and whom to trust for it.
pub(super) fn server() -> (TlsAcceptor, Trust) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = generate_simple_self_signed(vec!["127.0.0.1".to_owned()]);
    let CertifiedKey { cert, signing_key } = made.expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key.into())
        .expect("a configuration");
    let trust = Trust::Bundle(vec![cert.der().to_vec()]);
    (TlsAcceptor::from(Arc::new(config)), trust)
}

/// A request without a body, line by line.
pub(super) async fn head(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Vec<String> {
    // No byte beyond the head is read: whoever waits for an answer sends none.
    let mut lines = BufReader::new(stream).lines();
    let mut head = Vec::new();
    while let Ok(Some(line)) = lines.next_line().await
        && !line.is_empty()
    {
        head.push(line);
    }
    head
}

/// Answers one health check. Gives how it was asked for.
pub(super) async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Vec<String> {
    let asked = head(stream).await;
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    stream.write_all(answer).await.expect("a reader");
    asked
}

/// What a member at this address, which is asked in this way, says of its health.
async fn asked(trust: Trust, own: &TlsAcceptor) -> Result<(), MemberError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let member = Member::new(&Connection {
        trust,
        ..Connection::plain(&format!("https://{address}"))
    });
    let member = member.expect("a member");
    let serves = async {
        let (socket, _): (TcpStream, _) = listener.accept().await.expect("a connection");
        // Who does not believe it ends the handshake.
        if let Ok(mut stream) = own.accept(socket).await {
            answer(&mut stream).await;
        }
    };
    tokio::join!(member.probe(None), serves).0
}

#[tokio::test]
async fn who_is_to_believe_anybody_believes_a_certificate_that_nobody_else_does() {
    let (own, itself) = server();
    let (_, other) = server();
    asked(Trust::Anyone, &own).await.expect("anybody is");
    asked(itself, &own).await.expect("it is trusted");
    let told = asked(other, &own).await.expect_err("it is not trusted");
    assert!(matches!(told, MemberError::Untrusted { .. }), "{told:?}");
}
