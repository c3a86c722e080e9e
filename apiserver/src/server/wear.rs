//! How long a connection of HTTP/2 lasts, by what was read of it.
//!
//! h2 keeps the fields in its header table as parts of the buffers that they came in. Its table of 4 KiB, which no setting makes smaller,
//! so holds on to a hundred buffers of 16 KiB, and only the connection's end frees them. They hold no more than was read, so a connection
//! on which much was read makes room for another one: a client is told (GOAWAY) and opens it when it has its next request.

use crate::app::Standing;

/// Of a connection on which nobody has proved who they are: a thousand small requests, or two of the longest. 500 such connections hold
/// 64 MiB.
const UNPROVEN: usize = 128 << 10;
/// After which a client is told: 2,500 small requests, or 170 that bring a token of their own. A kube-apiserver may tell one client in 50
/// by chance (`--goaway-chance`). What a client sends to take an answer of 200 MiB is so much as well.
const TOLD: usize = 256 << 10;
/// What a client that was told may have sent before it knew: a burst of the longest requests. What it sends to take its last answers is
/// not counted. A user's 250 connections that do not want to know hold 128 MiB.
const KNOWN: usize = 512 << 10;

/// What was read of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wear {
    /// Bytes.
    pub(super) read: usize,
    /// Of these, what let us send more.
    pub(super) updates: usize,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// When its requests have.
    Told,
    /// At once.
    Cut,
}

impl Wear {
    /// Whether a connection ends, that has shown itself to be this. A front proxy's does not: it belongs to many users, and is trusted.
    pub(super) fn end(self, standing: impl FnOnce() -> Standing) -> Option<End> {
        if self.read <= UNPROVEN {
            return None;
        }
        match standing() {
            Standing::FrontProxy => None,
            Standing::Unproven => Some(End::Cut),
            Standing::Known if self.read.saturating_sub(self.updates) > KNOWN => Some(End::Cut),
            Standing::Known => (self.read > TOLD).then_some(End::Told),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(read: usize, updates: usize, standing: Standing, expected: Option<End>) {
        let (read, updates) = (read << 10, updates << 10);
        let end = Wear { read, updates }.end(|| standing);
        assert_eq!(end, expected, "{read} {updates} {standing:?}");
    }

    #[test]
    fn a_connection_ends_by_who_has_sent_how_much() {
        for (read, unproven, known) in [
            (128, None, None),
            (129, Some(End::Cut), None),
            (256, Some(End::Cut), None),
            (257, Some(End::Cut), Some(End::Told)),
            (512, Some(End::Cut), Some(End::Told)),
            (513, Some(End::Cut), Some(End::Cut)),
        ] {
            check(read, 0, Standing::Unproven, unproven);
            check(read, 0, Standing::Known, known);
            check(read, 0, Standing::FrontProxy, None);
        }
    }

    #[test]
    fn who_takes_a_long_answer_is_told_and_not_cut() {
        check(10_000, 9_900, Standing::Known, Some(End::Told));
        check(10_000, 9_400, Standing::Known, Some(End::Cut));
        check(10_000, 9_900, Standing::Unproven, Some(End::Cut));
    }
}
