//! The hosts of a server that a store is on, in the order in which they are asked, and how long one of them may be behind another.
//!
//! One that turns out to be behind what was read before is left: the next one is asked first from then on, and what was connected before that is
//! not used again, so that all connections of a process come to be with the same server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::location::{Host, Server};

/// How long servers that follow each other are waited for, each time a little longer: half a second in all. They are some milliseconds apart, unless
/// one is in trouble.
const CATCH_UP: [Duration; 5] = [
    Duration::from_millis(10),
    Duration::from_millis(30),
    Duration::from_millis(60),
    Duration::from_millis(120),
    Duration::from_millis(280),
];

/// A name may stand for another server than it did when a connection was opened: a new one shows that at once.
const ONCE_MORE: [Duration; 1] = [Duration::ZERO];

/// What is asked of the one that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// That it lets us write.
    Writes,
    /// To answer: each has what the others have, a little earlier or later.
    Answers,
}

/// Shared by all connections of a process.
#[derive(Debug)]
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    asked: Asked,
    /// How often one was left; that says as well which one comes first.
    left: AtomicUsize,
}

impl Hosts {
    /// One of these has to let us write.
    pub(crate) fn of_primary(server: &Server) -> Self {
        Self::of(server, Asked::Writes)
    }

    /// Of these each will do.
    pub(crate) fn of_replicas(server: &Server) -> Self {
        Self::of(server, Asked::Answers)
    }

    fn of(server: &Server, asked: Asked) -> Self {
        Self {
            hosts: server.hosts.clone(),
            asked,
            left: AtomicUsize::new(0),
        }
    }

    /// In the order in which they are tried.
    pub(crate) fn in_turn(&self) -> impl Iterator<Item = &Host> {
        let first = self.era().checked_rem(self.hosts.len());
        let (behind, ahead) = self.hosts.split_at(first.unwrap_or(0));
        ahead.iter().chain(behind)
    }

    /// Whether one that answers has to be asked whether it takes writes: of several it may be another one.
    pub(crate) fn is_choice(&self) -> bool {
        self.asked == Asked::Writes && self.hosts.len() > 1
    }

    /// Between two times that one was left.
    pub(crate) fn era(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    /// Leaves the one that was used in an era: once, however many find that it is behind. One name of several replicas is not left: each connection may be with
    /// another of them, and those that are with one that is ahead are good.
    pub(crate) fn leave(&self, era: usize) {
        if self.asked == Asked::Answers && self.hosts.len() < 2 {
            return;
        }
        let next = era.wrapping_add(1);
        let left = self
            .left
            .compare_exchange(era, next, Ordering::Relaxed, Ordering::Relaxed);
        if left.is_ok() {
            tracing::debug!(
                "the server that answered is behind what was read before, and is left for the next one"
            );
        }
    }

    /// How long to wait, each time, before one that is behind is looked at over another connection; after that it is believed.
    pub(crate) fn patience(&self) -> &'static [Duration] {
        match self.asked {
            Asked::Writes if self.hosts.len() < 2 => &ONCE_MORE,
            Asked::Writes | Asked::Answers => &CATCH_UP,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Location;

    fn server(hosts: &str) -> Server {
        let url = format!("mysql://u@{hosts}/d?ssl-mode=disable");
        match url.parse().expect("a URL") {
            Location::Server(server) => *server,
            Location::Sqlite(_) => unreachable!("a server"),
        }
    }

    fn ports(hosts: &Hosts) -> Vec<u16> {
        let port = |host: &Host| match host {
            Host::Tcp(_, port) | Host::Socket(_, port) => *port,
        };
        hosts.in_turn().map(port).collect()
    }

    #[test]
    fn one_that_is_behind_is_left_once_however_many_find_that() {
        let hosts = Hosts::of_primary(&server("h:1,h:2,h:3"));
        assert_eq!(ports(&hosts), [1, 2, 3]);
        let era = hosts.era();
        hosts.leave(era);
        hosts.leave(era);
        assert_eq!(ports(&hosts), [2, 3, 1]);
        for _ in 0..2 {
            hosts.leave(hosts.era());
        }
        assert_eq!(ports(&hosts), [1, 2, 3]);
        assert_ne!(hosts.era(), era);
    }

    #[test]
    fn one_name_of_several_replicas_is_not_left_for_one_of_them() {
        let hosts = Hosts::of_replicas(&server("h:1"));
        let era = hosts.era();
        hosts.leave(era);
        assert_eq!(hosts.era(), era);
        let primary = Hosts::of_primary(&server("h:1"));
        primary.leave(primary.era());
        assert_ne!(primary.era(), era);
    }

    #[test]
    fn where_there_may_be_several_servers_one_is_waited_for() {
        let primary = |hosts| Hosts::of_primary(&server(hosts));
        let replicas = |hosts| Hosts::of_replicas(&server(hosts));
        assert_eq!(primary("h:1").patience(), ONCE_MORE);
        assert_eq!(primary("h:1,h:2").patience(), CATCH_UP);
        assert_eq!(replicas("h:1").patience(), CATCH_UP);
        assert!(primary("h:1,h:2").is_choice());
        assert!(!primary("h:1").is_choice() && !replicas("h:1,h:2").is_choice());
    }
}
