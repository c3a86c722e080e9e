//! How many files this process may have open: each client and each connection to a member is one.
//!
//! A shell or a service manager often allows 1,024, for the sake of programs that count on small numbers, and a multiple of it to whoever asks.
//! A few hundred members and clients take as many.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Fewer are told of: two connections for each of a thousand members, a thousand clients, and the store.
const ENOUGH: u64 = 4096;

/// Asks for as many as are to be had. Nothing depends on it until there are many members, so that it cannot be had is told and no more.
pub(crate) fn allow_many() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(_) => current,
    };
    if let Some(allowed) = allowed.filter(|&allowed| allowed < ENOUGH) {
        tracing::warn!(
            allowed,
            "only {allowed} files may be open at once, which is few for a fleet: raise the hard limit (ulimit -Hn, LimitNOFILE=) to {ENOUGH}"
        );
    }
}
