//! Connecting with the first of a server's hosts that will do. Of none anything is known yet: it may say nothing, and it may be no database. Takes how to connect with
//! one, gives what came of that.

use std::io::{self, ErrorKind};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use armadex_storage::StoreError;
use futures::FutureExt as _;
use tokio::time::timeout;

use super::error::{Class, broken, classified};
use super::hosts::Hosts;
use crate::location::{Host, Server};

/// The first of the hosts that lets us write, or of replicas the next one that answers; each within the limit. The last one's error where none does, of the class
/// that its database knows it to be.
pub(super) async fn first_of<'a, T, F>(
    server: &Server,
    hosts: &'a Hosts,
    class: fn(&sqlx::Error) -> Class,
    connect: impl Fn(&'a Host) -> F,
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, sqlx::Error>>,
{
    let mut last = None;
    for host in hosts.in_turn() {
        match attempt(server.timeouts.connect, connect(host)).await {
            Ok(connected) => return Ok(connected),
            Err(err) => last = Some(err),
        }
    }
    let Some(err) = last else {
        return Err(broken(format!("{server} names no host")));
    };
    let class = match (class(&err), &err) {
        (Class::Full, _) => Class::Full,
        // While a server restarts, or its password is changed, it refuses much; none of that is a reason to end.
        (_, sqlx::Error::Database(_)) => Class::Passing,
        (other, _) => other,
    };
    Err(classified(&format!("connecting with {server}"), err, class))
}

/// Connects within a limit. The drivers read what a server says first without looking how much of it there is, and panic where it is too little: that is
/// caught, for other tasks go on and a proxy that answered so may know better a moment later. What was made of the connection is dropped with the attempt.
async fn attempt<T>(
    limit: Duration,
    connecting: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    match timeout(limit, AssertUnwindSafe(connecting).catch_unwind()).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(sqlx::Error::Protocol(
            "what answered does not speak as the database does".to_owned(),
        )),
        Err(_) => Err(sqlx::Error::Io(ErrorKind::TimedOut.into())),
    }
}

/// Of several hosts one has to be a primary.
pub(super) fn takes_no_writes(host: &Host) -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(
        ErrorKind::ReadOnlyFilesystem,
        format!(
            "{host} answers and takes no writes, as a replica does: one of the hosts in the store's URL has to take them"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::*;
    use crate::{Location, open};

    /// What comes of a server that says this to whoever connects, and then nothing.
    async fn told_by(scheme: &str, says: &'static [u8]) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let answering = tokio::spawn(async move {
            let mut clients = Vec::new();
            while let Ok((mut client, _)) = listener.accept().await {
                // Who has gone already needs no answer.
                let _ = client.write_all(says).await;
                clients.push(client);
            }
        });
        let url = format!("{scheme}://user@127.0.0.1:{port}/fleet?connect_timeout=5s");
        let location: Location = url.parse().expect("a URL");
        let refused = open(&location).await.map(drop).expect_err("no database");
        assert!(refused.is_transient(), "{scheme}: {refused:?}");
        answering.abort();
    }

    #[test]
    fn a_host_that_takes_no_writes_is_named() {
        let host = Host::Tcp("replica.example.com".to_owned(), 5432);
        let words = takes_no_writes(&host).to_string();
        assert!(
            words.contains("replica.example.com:5432 answers"),
            "{words}"
        );
    }

    #[tokio::test]
    async fn a_server_that_says_half_of_a_greeting_ends_nobody() {
        told_by("mysql", &[3, 0, 0, 0, 0x0a, 0x31, 0]).await;
        told_by("postgres", &[0x52, 0, 0, 0, 4]).await;
    }
}
