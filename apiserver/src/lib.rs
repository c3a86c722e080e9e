//! The API server: a Kubernetes API over what is stored, for all clusters and for each.
//!
//! A request goes through pure steps with one file each (target, attributes, negotiation, parameters, token), is authenticated and
//! authorised on the host, and is answered from [`Search`], page by page. The server reads and never
//! writes; every verb but GET is refused before anything else, but for reviews that callers post about themselves.

mod answer;
mod app;
mod caller;
mod config;
mod counters;
mod discovery;
mod printer;
mod request;
mod seldom;
mod server;
#[cfg(test)]
mod testing;
mod turns;

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use armadex_storage::Search;
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use app::App;
use caller::authn::{self, Authenticator, KubeTokens, Trust};
use caller::authz::{Authorizer, KubeReviews};
pub use config::{Config, SHUTDOWN_GRACE};
pub use counters::{CounterValues, Counters};
pub use request::target::GROUP as API_GROUP;
use server::Listener;
use server::tls::{self, Serving};
pub use server::tls::{Certificate, CertificateError, KeptPem, SelfMade};

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The serving certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

/// Serves the API until cancelled, then lets requests finish for a while.
///
/// `client` is the host: callers are authenticated and authorised there, and its
/// `kube-system/extension-apiserver-authentication` says whom to trust.
pub async fn serve(
    config: Config,
    search: Arc<dyn Search>,
    client: kube::Client,
    cancel: CancellationToken,
) -> Result<(), Error> {
    let address = config.listen;
    let listen = |source| Error::Listen { address, source };
    let socket = listener(address).map_err(listen)?;
    serve_on(socket, config, search, client, cancel).await
}

/// Connections that wait to be accepted: what a crowd of strangers opens in a second. Where there is no room the system lets a client try again
/// after one second, then after two and four.
const BACKLOG: u32 = 4096;

fn listener(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A server that is started again finds connections of the one before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Like [`serve`], on a socket that listens already; `config.listen` is not looked at.
pub async fn serve_on(
    socket: TcpListener,
    config: Config,
    search: Arc<dyn Search>,
    client: kube::Client,
    cancel: CancellationToken,
) -> Result<(), Error> {
    let (limits, connection_limits) = (config.limits(), config.connection_limits());
    let loading = Serving::load(&config.certificate);
    let Some(serving) = cancel.run_until_cancelled(loading).await else {
        return Ok(());
    };
    let serving = Arc::new(serving?);
    let tls = TlsAcceptor::from(Arc::new(tls::server_config(Arc::clone(&serving))?));
    let trust = Arc::new(ArcSwap::from_pointee(Trust::default()));
    let background = TaskTracker::new();
    background.spawn(authn::follow(
        client.clone(),
        Arc::clone(&trust),
        cancel.clone(),
    ));
    match config.certificate {
        Certificate::SelfMade(_) => {}
        Certificate::Files { certificate, key } => {
            background.spawn(tls::keep_fresh(serving, certificate, key, cancel.clone()));
        }
        Certificate::Kept(shown) => {
            background.spawn(tls::follow(serving, shown, cancel.clone()));
        }
    }
    background.close();

    let counters = config.counters;
    let tokens = KubeTokens::new(
        client.clone(),
        config.token_audiences,
        Arc::clone(&counters),
    );
    let reviews = KubeReviews::new(client, Arc::clone(&counters));
    let app = App::new(
        search,
        Authenticator::new(trust, Arc::new(tokens)),
        Authorizer::new(Arc::new(reviews)),
        counters,
        limits,
    )
    .until_stopping(config.stopping)
    .in_group(config.group);
    let listener = Listener {
        socket,
        tls,
        limits: connection_limits,
    };
    listener.serve(Arc::new(app), cancel).await;
    background.wait().await;
    Ok(())
}

#[cfg(test)]
mod tests;
