//! Free ports on loopback.
//!
//! They are chosen below the range from which the kernel serves outgoing connections, so that a port which was free at the
//! first start of a server is still free when it is restarted. No process hands one out twice; two that run beside each other
//! know nothing of each other, so the demo's program has a range of its own.

use std::collections::HashSet;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use anyhow::{Result, bail};
use rand::Rng;

/// Linux hands out 32768 and up for outgoing connections; registered services cluster below 20000.
const OF_TESTS: Range<u16> = 20_000..28_000;
const OF_DEMOS: Range<u16> = 28_000..32_000;
/// Far more than ever fail on a machine with a hundred listeners in the range.
const ATTEMPTS: usize = 200;

/// Ports that this process has chosen: a server takes its port a moment after it was chosen.
static CHOSEN: LazyLock<Mutex<HashSet<u16>>> = LazyLock::new(Mutex::default);

/// What this process chooses from.
static RANGE: OnceLock<Range<u16>> = OnceLock::new();

/// Lets this process choose where no test does. Nothing has been chosen before.
pub fn leave_those_of_tests() {
    RANGE.set(OF_DEMOS).expect("the first to choose");
}

/// A port on 127.0.0.1 on which nothing listens and which was not handed out before.
pub fn free_port() -> Result<u16> {
    let mut chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut random, range) = (rand::rng(), RANGE.get_or_init(|| OF_TESTS));
    for _ in 0..ATTEMPTS {
        let port = random.random_range(range.clone());
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() && chosen.insert(port) {
            return Ok(port);
        }
    }
    bail!(
        "no free port on 127.0.0.1 between {} and {}",
        range.start,
        range.end
    )
}
