//! What a client of HTTP/2 is told that it may send.

use super::*;

const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
/// Whether the server is there.
const QUESTION: [u8; 17] = [0, 0, 8, PING, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
/// Every connection begins with this window.
const FIRST_WINDOW: u32 = (64 << 10) - 1;

type Stream = tokio_rustls::client::TlsStream<TcpStream>;

/// What stands in a frame's head, and what follows it.
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

async fn read(stream: &mut Stream) -> Frame {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.expect("a frame");
    let [a, b, c, kind, flags, number @ ..] = head;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    stream.read_exact(&mut payload).await.expect("all of it");
    Frame {
        kind,
        flags,
        stream: u32::from_be_bytes(number),
        payload,
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("four bytes"))
}

/// Requests at the same time, and bytes of one and of all that are sent before the server reads them.
async fn told(stream: &mut Stream) -> [u32; 3] {
    let mut beginning = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    beginning.extend([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]);
    beginning.extend([0, 0, 0, SETTINGS, ACK, 0, 0, 0, 0]);
    beginning.extend(QUESTION);
    stream.write_all(&beginning).await.expect("taken");
    let mut answered = 0;
    let [mut streams, mut of_one, mut of_all] = [u32::MAX, FIRST_WINDOW, FIRST_WINDOW];
    loop {
        let frame = read(stream).await;
        match (frame.kind, frame.flags, frame.stream) {
            (SETTINGS, 0, 0) => {
                for setting in frame.payload.chunks(6) {
                    match setting[1] {
                        3 => streams = number(&setting[2..]),
                        4 => of_one = number(&setting[2..]),
                        _ => {}
                    }
                }
            }
            (WINDOW_UPDATE, _, 0) => of_all += number(&frame.payload),
            // The first is answered before windows are told of, and the second after that.
            (PING, ACK, 0) if answered == 1 => return [streams, of_one, of_all],
            (PING, ACK, 0) => {
                answered += 1;
                stream.write_all(&QUESTION).await.expect("taken");
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn only_a_front_proxy_may_send_a_thousand_requests_and_all_of_their_bodies() {
    let server = Running::start(1).await;
    let proxy = server.front_proxy.client("front-proxy-client", &[]);
    let user = server.clients.client("bob", &[]);
    for (identity, streams, of_all) in [
        (None, 100, FIRST_WINDOW),
        (Some(user), 100, FIRST_WINDOW),
        (Some(proxy), 1000, 1000 * (16 << 10)),
    ] {
        let identity = identity.map(|(certificate, key)| (vec![certificate], key));
        let mut stream = server.connect(H2, identity).await;
        assert_eq!(told(&mut stream).await, [streams, 16 << 10, of_all]);
    }
    server.stop().await;
}
