//! The network of one pod: an address, and ports that nobody else's are in the way of.
//!
//! It is a network namespace of the kernel in which there is nothing but loopback, with the pod's address on it. What goes in and out is carried by this process, for a
//! socket belongs to the namespace that it was made in, whoever uses it then: so nothing of this machine's own network changes, and all of it is gone with the process.
//! Inside, 127.0.0.1 is the pod's own, but for the ports on which this machine has what pods are to reach.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::raw::{self, Answer};
use crate::wire;

/// Prepares the network that it is in, says so, and stays until it has nothing more to read.
const MAKER: &str = "ip link set lo up; ip address add \"$1/32\" dev lo; echo made; read -r _ || :";
/// That takes milliseconds, on a busy machine some hundred of them.
const MAKE: Duration = Duration::from_secs(60);
/// A connection on loopback is there at once, or refused.
const CONNECT: Duration = Duration::from_secs(2);

/// It lasts as long as this, and as the processes in it.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) address: Ipv4Addr,
    namespace: Arc<File>,
    /// What carries connections out of it.
    ways: Vec<AbortOnDropHandle<()>>,
}

impl Network {
    /// A new one, in which these ports of 127.0.0.1 are those of this machine.
    pub(super) async fn create(address: Ipv4Addr, reachable: &[u16]) -> Result<Self> {
        let made = timeout(MAKE, made(address)).await;
        let mut network = Self {
            address,
            namespace: Arc::new(made.context("a network is not made in time")??),
            ways: Vec::new(),
        };
        for &port in reachable {
            let way = network.way_out(port).await?;
            network.ways.push(way);
        }
        Ok(network)
    }

    /// Does something in it.
    pub(super) async fn within<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let namespace = Arc::clone(&self.namespace);
        let (tell, told) = oneshot::channel();
        // Of its own: a thread that is somewhere else must not serve anybody after that.
        std::thread::spawn(move || {
            let kind = Some(LinkNameSpaceType::Network);
            let entered = move_into_link_name_space(namespace.as_fd(), kind);
            let entered = entered.context("the network of a pod cannot be entered");
            // Who asked may have gone away.
            let _ = tell.send(entered.and_then(|()| work()));
        });
        told.await.context("the work in a network broke off")?
    }

    /// A connection to the pod.
    pub(super) async fn connect(&self, port: u16) -> Result<tokio::net::TcpStream> {
        let address = SocketAddr::from((self.address, port));
        let stream = self.within(move || {
            let stream = TcpStream::connect_timeout(&address, CONNECT)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        });
        Ok(tokio::net::TcpStream::from_std(stream.await?)?)
    }

    /// What the pod answers, within this time.
    pub(super) async fn get(&self, port: u16, path: &str, limit: Duration) -> Result<Answer> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {}:{port}\r\nconnection: close\r\n\r\n",
            self.address
        );
        let asked = async {
            let mut stream = self.connect(port).await?;
            stream.write_all(request.as_bytes()).await?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            raw::parse(&String::from_utf8_lossy(&answer)).context("it answers nothing")
        };
        let asked = timeout(limit, asked).await;
        asked.context("it does not answer")?
    }

    async fn way_out(&self, port: u16) -> Result<AbortOnDropHandle<()>> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = self.within(move || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener = tokio::net::TcpListener::from_std(listener.await?)?;
        let task = tokio::spawn(wire::serve(listener, address));
        Ok(AbortOnDropHandle::new(task))
    }
}

/// The namespace of a process that makes it and ends then: it never has a name, so that nothing of it is left whoever is killed meanwhile.
async fn made(address: Ipv4Addr) -> Result<File> {
    let mut maker = Command::new("unshare")
        .args(["--net", "sh", "-euc", MAKER, "sh", &address.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let number = maker.id().context("a network that nobody makes")?;
    let said = maker.stdout.take().context("standard output was piped")?;
    BufReader::new(said).read_line(&mut String::new()).await?;
    let opened = File::open(format!("/proc/{number}/ns/net"));
    let output = maker.wait_with_output().await?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "a network: {}", complaint.trim());
    Ok(opened?)
}
