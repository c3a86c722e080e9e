//! Watches on kinds that are known only at run time, shared by everybody who needs the same and
//! stopped when nobody does.
//!
//! One watch per kind for source objects, one per object for references, so that reading a
//! Secret needs the right to that Secret alone.

mod follow;
mod interests;
mod object;
mod shared;
mod state;

pub use interests::{Interest, Interests, triggers};
pub use object::{Change, Found, ObjectName, WatchKey, WatchScope};
pub use shared::{Watch, Watches};
pub use state::Readiness;

#[cfg(test)]
mod tests;
