//! What a store promises, without saying how: the write side ([`Sink`]) that a synchro holds, the read side ([`Search`]) that an
//! API server holds, the plain values that cross them, and the class of every error.
//!
//! The two traits are apart so that an API server cannot write and a synchro does not search.

#[cfg(feature = "conformance")]
pub mod conformance;

mod change;
mod error;
mod search;
mod shared_map;
mod sink;

pub use change::{
    Batch, Change, ClusterId, MemberPosition, Object, Phase, Rules, Tenure, TypeId, Written,
};
pub use error::{Outage, StoreError};
pub use search::{Catalog, ClusterEntry, Found, Head, Page, PageBudget, Search};
pub use shared_map::SharedMap;
pub use sink::{Health, Heard, Holder, Joined, Purged, Sink, StoredVersion, Stream, StreamState};
