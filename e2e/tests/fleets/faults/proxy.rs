//! Members behind forward proxies: one that is away, and one that lets nobody through who does not say who they are, by a password and by a header of its own.

use anyhow::{Context, Result, ensure};
use armadex_e2e::equality::Kind;
use armadex_e2e::ports::free_port;
use armadex_e2e::scenario::{wait_for_condition, wait_for_rows_of};
use armadex_e2e::{Harness, seed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::{Way, make_pedia_cluster, reader_token, remove_pedia_cluster};

/// What a proxy is told beside a password.
pub(super) const TEAM: &str = "blue";

/// Of a head: more is no request of ours.
const LINES: usize = 100;

pub(super) async fn what_proxies_do_is_told(fleet: &Harness) -> Result<()> {
    one_that_is_away_is_told_without_its_password(fleet).await?;
    a_member_comes_through_one_that_is_told_who_asks(fleet).await
}

/// Whoever reads a log is told neither; when Armadex ends, its log is read for them.
async fn one_that_is_away_is_told_without_its_password(fleet: &Harness) -> Result<()> {
    let member = fleet.member("member1")?;
    let proxy = format!("http://me:{}@127.0.0.1:{}", seed::SECRET, free_port()?);
    let way = Way {
        url: &member.url(),
        authority: &member.pki().read("ca.crt")?,
        token: "none",
        proxy: &proxy,
    };
    make_pedia_cluster(fleet, "behind", &way).await?;
    let health = wait_for_condition(fleet, "pediacluster/behind", "ClusterHealthy", "False");
    let (reason, message) = health.await?;
    ensure!(
        reason == "NotReachable" && !message.contains(seed::SECRET),
        "{reason}: {message}"
    );
    remove_pedia_cluster(fleet, "behind").await
}

/// By a password and by a header of its own. While the password is another one it is told that the proxy is in the way.
async fn a_member_comes_through_one_that_is_told_who_asks(fleet: &Harness) -> Result<()> {
    let login = format!("me:{}", seed::SECRET);
    let proxy = Proxy::start(&login, &format!("X-Team: {TEAM}")).await?;
    let (port, member) = (proxy.port(), fleet.member("member1")?);
    let (authority, token) = (member.pki().read("ca.crt")?, reader_token(fleet).await?);
    let way = async |user: &str| {
        let way = Way {
            url: &member.url(),
            authority: &authority,
            token: &token,
            proxy: &format!("http://{user}@127.0.0.1:{port}"),
        };
        make_pedia_cluster(fleet, "through", &way).await
    };
    way("somebody:else").await?;
    let object = "pediacluster/through";
    let (reason, message) = wait_for_condition(fleet, object, "ClusterHealthy", "False").await?;
    ensure!(
        reason == "NotReachable" && message.contains("proxy"),
        "{reason}: {message}"
    );
    way(&login).await?;
    wait_for_rows_of(fleet, Kind::PODS, &["member1", "through"]).await?;
    remove_pedia_cluster(fleet, "through").await
}

/// It ends when this is dropped, and all that goes through it.
struct Proxy {
    port: u16,
    _task: AbortOnDropHandle<()>,
}

impl Proxy {
    /// One that wants this user with this password, and this header.
    async fn start(login: &str, header: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let login = format!("proxy-authorization: Basic {}", STANDARD.encode(login));
        let wanted = [login, header.to_owned()].map(|line| line.to_ascii_lowercase());
        let port = listener.local_addr()?.port();
        let task = tokio::spawn(serve(listener, wanted));
        let _task = AbortOnDropHandle::new(task);
        Ok(Self { port, _task })
    }

    fn port(&self) -> u16 {
        self.port
    }
}

async fn serve(listener: TcpListener, wanted: [String; 2]) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((client, _)) = accepted {
                connections.spawn(carry(client, wanted.clone()));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// What breaks is seen by both ends.
async fn carry(client: TcpStream, wanted: [String; 2]) -> Result<()> {
    let mut client = BufReader::new(client);
    let head = head(&mut client).await?;
    let target = head.first().and_then(|line| line.strip_prefix("connect "));
    let target = target.and_then(|line| line.split(' ').next());
    if !wanted.iter().all(|line| head.contains(line)) {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
        return Ok(client.write_all(refusal).await?);
    }
    let mut server = TcpStream::connect(target.context("no CONNECT")?).await?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// In small letters, line by line.
async fn head(client: &mut BufReader<TcpStream>) -> Result<Vec<String>> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        client.read_line(&mut line).await?;
        ensure!(line.ends_with("\r\n") && head.len() < LINES, "no head");
        match line.trim_end() {
            "" => return Ok(head),
            line => head.push(line.to_ascii_lowercase()),
        }
    }
}
