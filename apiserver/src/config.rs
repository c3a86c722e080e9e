//! What the server has to be told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::counters::Counters;
use crate::server::tls::Certificate;

/// Where to listen, how to prove who we are, and what requests may cost.
#[derive(Debug)]
pub struct Config {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The serving certificate.
    pub certificate: Certificate,
    /// Whom a bearer token must be meant for; empty for the host's kube-apiserver.
    pub token_audiences: Vec<String>,
    /// Requests served at the same time; more are turned away with 429.
    pub max_in_flight: usize,
    /// Connections open at the same time; more wait in the listener's backlog.
    pub max_connections: usize,
    /// From a request's head to the last byte of its answer.
    pub request_timeout: Duration,
    /// How long open connections may finish what they are doing when the server stops.
    pub shutdown_grace: Duration,
    /// What the server counts; keep a clone to show it.
    pub counters: Arc<Counters>,
}

impl Config {
    /// The defaults for everything but the address and the certificate.
    #[must_use]
    pub fn new(listen: SocketAddr, certificate: Certificate) -> Self {
        Self {
            listen,
            certificate,
            token_audiences: Vec::new(),
            max_in_flight: 400,
            max_connections: 1000,
            // An aggregator cuts a request off after 60 s as well.
            request_timeout: Duration::from_secs(60),
            shutdown_grace: Duration::from_secs(20),
            counters: Arc::default(),
        }
    }
}
