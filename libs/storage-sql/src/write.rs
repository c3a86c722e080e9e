//! Writing: one task, one transaction at a time, from batches to rows.
//!
//! SQLite has one writer, and nobody waits for a row. Where several processes write, two transactions that lock the same rows in different orders
//! would wait for each other, so that the database ends one of them, which is then done anew. Batches, which are nearly all that is written,
//! therefore lock in one order, whatever is in them: `LOCK_ORDER`, the head late, because every writer waits for it. Where owners ask for something that goes by who they are, what comes first is the
//! tenure of this process, which another process of the same owner alone wants; then come the clusters whose owners have to stay
//! until what they ask for is done, all at once and in the order of their numbers. Those are few, but they stay locked while all batches of the
//! transaction are staged, and whoever takes one of them over meanwhile waits for that.
//!
//! Streams come late as well, where this process has had the answer to the last commit of each. Of one of which it has not, that commit may be under way: such a
//! stream is held before anything of it is read (`LOCK_ORDER_OF_UNKNOWN`). Nobody else wants it, but whoever takes it over. So are those of a transaction that was
//! undone: whoever takes over the streams of a cluster, one transaction after the other, would undo it each time.
//!
//! A purge goes alone and in another order. It begins with the lease, for which no other process purges meanwhile. One step takes what is past, which nobody
//! writes any more, and ends with the head: `PRUNE_ORDER`. Another takes what has left, `PURGE_ORDER`: it
//! holds the streams that it takes rows from. They are closed: while they are held no batch of theirs begins, and one that had begun finds itself
//! refused, so whatever else is locked of them is wanted by nobody else. Nor are clusters that have left, whose streams have no writers any more. The head
//! is what it comes to last.
//!
//! What may be in the way all the same, and is done anew: a purge that finds types which none has any more, one that sweeps a namespace into which another
//! type comes, a batch that shows streams again which were kept, one that holds streams while somebody takes them over, one that is done together with clusters
//! that join or leave, or with streams that are opened or closed, which are locked behind its own rows, one that makes namespaces in other clusters than are held,
//! and a change of the catalogue, which stamps rows behind the head.

pub(crate) mod admit;
mod beside;
pub(crate) mod catalog_change;
pub(crate) mod cluster_labels;
pub(crate) mod clusters;
pub(crate) mod counters;
pub(crate) mod dictionaries;
pub(crate) mod diff;
pub(crate) mod health;
mod heard;
pub(crate) mod history;
pub(crate) mod index;
pub(crate) mod joining;
pub(crate) mod label_keys;
pub(crate) mod lease;
pub(crate) mod left_off;
pub(crate) mod mend;
pub(crate) mod numbers;
pub(crate) mod owners;
pub(crate) mod past;
pub(crate) mod places;
mod portions;
pub(crate) mod prepare;
pub(crate) mod publish;
pub(crate) mod purge;
pub(crate) mod queue;
pub(crate) mod session;
pub(crate) mod shown;
pub(crate) mod stage;
pub(crate) mod tenures;
pub(crate) mod terms;
pub(crate) mod types;
pub(crate) mod unanswered;
pub(crate) mod unposting;
pub(crate) mod versions;
pub(crate) mod work;
pub(crate) mod writer;

pub use portions::Portions;

/// The tables in which batches lock rows, and what is said of clusters' health in their transaction, in this order. The tenure where their owner asks for more
/// in it; of clusters first those whose owner is held.
#[cfg(test)]
const LOCK_ORDER: [&str; 11] = [
    "tenure",
    "cluster",
    "allocation",
    "post",
    "counter",
    "ns",
    "stream",
    "health",
    "head",
    "obj",
    "ver",
];

/// The same where it is not known of a stream where it was left: the first batch after it was opened, and each after a commit that was not answered.
#[cfg(test)]
const LOCK_ORDER_OF_UNKNOWN: [&str; 11] = [
    "tenure",
    "cluster",
    "stream",
    "allocation",
    "post",
    "counter",
    "ns",
    "health",
    "head",
    "obj",
    "ver",
];

/// The tables in which a step of a purge locks rows of what is past, in this order.
#[cfg(test)]
const PRUNE_ORDER: [&str; 7] = ["lease", "history", "milestone", "type", "ns", "ver", "head"];

/// The tables in which a step of a purge notes what is past and locks rows of closed streams and of clusters that have left, in this order; it looks last for
/// clusters whose time is over, of which it closes the streams, and for types that none has.
#[cfg(test)]
const PURGE_ORDER: [&str; 16] = [
    "lease",
    "milestone",
    "stream",
    "obj",
    "ver",
    "post",
    "counter",
    "ns",
    "gone",
    "cluster",
    "health",
    "allocation",
    "type",
    "unposted",
    "dict",
    "head",
];
