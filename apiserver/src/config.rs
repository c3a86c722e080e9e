//! What the server has to be told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::{Limits, PoolSizes};
use crate::counters::Counters;
use crate::request::target::GROUP;
use crate::server::tls::Certificate;
use crate::server::{ConnectionLimits, IdleLimits, SlotLimits};

/// How long open connections may finish what they are doing when the server stops.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(15);

/// Unfinished heads of requests: 32 long ones of HTTP/1.1 or 16 of HTTP/2, which a client sends within milliseconds.
const HEADS: usize = 4 << 20;

/// Three reviews of tokens by a host that is as slow as it may be.
const UNPROVEN: Duration = Duration::from_secs(30);

/// Where to listen, how to prove who we are, and what requests may cost.
#[derive(Debug)]
pub struct Config {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The serving certificate.
    pub certificate: Certificate,
    /// The API group that is served: Clusterpedia's, or another one beside a Clusterpedia that is used.
    pub group: String,
    /// Whom a bearer token must be meant for; empty for the host's kube-apiserver.
    pub token_audiences: Vec<String>,
    /// Short requests served at the same time; more are turned away with 429.
    pub max_in_flight: usize,
    /// Lists served at the same time; more are turned away with 429.
    pub max_lists_in_flight: usize,
    /// Short requests of one user served at the same time. A user has the same part of the lists.
    pub max_in_flight_per_user: usize,
    /// Searches that the store has connections for: so many are made at the same time, half of them for one user.
    pub searches: usize,
    /// Bytes that are held for clients at the same time: rows that were read and answers that were not taken yet. A connection or a
    /// user may hold a quarter.
    pub max_held_bytes: usize,
    /// Connections open at the same time, a quarter of them for one user. When there is no room for another, one that is of less use is
    /// closed.
    pub max_connections: usize,
    /// Of these, kept for front proxies.
    pub reserved_connections: usize,
    /// Connections of one address on which nobody has proved who they are.
    pub max_unproven_connections_per_address: usize,
    /// How long a connection is kept without a request.
    pub idle_timeout: Duration,
    /// How long an answer is kept of which its client takes nothing.
    pub stall_timeout: Duration,
    /// From a request's head until its answer has been made; what has been made may be taken for [`Self::stall_timeout`] longer.
    pub request_timeout: Duration,
    /// How long open connections may finish what they are doing when the server stops.
    pub shutdown_grace: Duration,
    /// Cancelled when the server is about to stop: `/readyz` says so from then on, and all else is served as before.
    pub stopping: CancellationToken,
    /// What the server counts; keep a clone to show it.
    pub counters: Arc<Counters>,
}

impl Config {
    /// What requests may cost.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            in_flight: PoolSizes {
                short: self.max_in_flight,
                lists: self.max_lists_in_flight,
                short_per_user: self.max_in_flight_per_user,
            },
            bytes: self.max_held_bytes,
            time: self.request_timeout,
            searches: self.searches,
        }
    }

    /// What connections may cost.
    pub(crate) fn connection_limits(&self) -> ConnectionLimits {
        ConnectionLimits {
            slots: SlotLimits {
                all: self.max_connections,
                reserved: self.reserved_connections,
                unproven_per_address: self.max_unproven_connections_per_address,
                heads: HEADS,
            },
            idle: IdleLimits {
                idle: self.idle_timeout,
                unproven: UNPROVEN,
            },
            stall: self.stall_timeout,
            answer: self.request_timeout,
            grace: self.shutdown_grace,
        }
    }

    /// The defaults for everything but the address and the certificate.
    #[must_use]
    pub fn new(listen: SocketAddr, certificate: Certificate) -> Self {
        Self {
            listen,
            certificate,
            group: GROUP.to_owned(),
            token_audiences: Vec::new(),
            max_in_flight: 400,
            max_lists_in_flight: 100,
            max_in_flight_per_user: 100,
            searches: 4,
            // 14 pages with room for what is made of them, 3 of them for one user, and the last 3 for users who have none.
            max_held_bytes: 32 << 20,
            max_connections: 1000,
            // An aggregator has a few; a control plane has one to five.
            reserved_connections: 50,
            max_unproven_connections_per_address: 100,
            // As a kube-apiserver, whose clients are used to it.
            idle_timeout: Duration::from_secs(90),
            stall_timeout: Duration::from_secs(30),
            // An aggregator cuts a request off after 60 s as well.
            request_timeout: Duration::from_secs(60),
            shutdown_grace: SHUTDOWN_GRACE,
            stopping: CancellationToken::new(),
            counters: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tls::SelfMade;

    /// Each number has one meaning, so that one that is taken for another is seen.
    fn config() -> Config {
        let made = SelfMade::for_names(&["localhost".to_owned()]).expect("a certificate");
        let address = "127.0.0.1:0".parse().expect("an address");
        Config {
            max_in_flight: 1,
            max_lists_in_flight: 2,
            max_in_flight_per_user: 3,
            max_held_bytes: 4,
            request_timeout: Duration::from_secs(5),
            max_connections: 6,
            reserved_connections: 7,
            max_unproven_connections_per_address: 8,
            idle_timeout: Duration::from_secs(9),
            stall_timeout: Duration::from_secs(10),
            shutdown_grace: Duration::from_secs(11),
            searches: 12,
            ..Config::new(address, Certificate::SelfMade(made))
        }
    }

    #[test]
    fn every_number_limits_what_it_is_said_to() {
        let Limits {
            in_flight:
                PoolSizes {
                    short,
                    lists,
                    short_per_user,
                },
            bytes,
            time,
            searches,
        } = config().limits();
        assert_eq!(
            (
                short,
                lists,
                short_per_user,
                bytes,
                time.as_secs(),
                searches
            ),
            (1, 2, 3, 4, 5, 12)
        );
        let ConnectionLimits {
            slots:
                SlotLimits {
                    all,
                    reserved,
                    unproven_per_address,
                    heads,
                },
            idle: IdleLimits { idle, unproven },
            stall,
            answer,
            grace,
        } = config().connection_limits();
        assert_eq!((all, reserved, unproven_per_address), (6, 7, 8));
        assert_eq!(heads, 4 << 20);
        let seconds = [idle, unproven, stall, answer, grace].map(|time| time.as_secs());
        assert_eq!(seconds, [9, 30, 10, 5, 11]);
    }
}
