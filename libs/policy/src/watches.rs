//! Watches on kinds that are known only at run time, shared by everybody who needs the same and
//! stopped when nobody does.
//!
//! One watch per kind for source objects, but one per namespace that they may be read in for Secrets; for references one per namespace, of metadata, and a read of each that is named, so that
//! reading a Secret needs the right to that Secret alone and many of them take one connection.

mod answers;
mod excerpt;
mod fields;
mod follow;
mod interests;
mod namespace;
mod object;
mod packed;
mod settling;
mod shared;
mod shares;
mod state;
mod view;

pub use fields::Fields;
pub(crate) use follow::verb_of;
pub use interests::{Interest, Interests, concerned, triggers};
pub use object::{Change, Found, Kept, ObjectName, WatchKey, WatchScope};
pub use shared::{Watch, Watches};
pub use state::Readiness;

#[cfg(test)]
mod tests;
