//! What the two policy controllers share: templates, watches on whatever kinds the policies
//! speak of, and the manners of a controller: its run, finalizer, retries, conditions, Events.

pub mod template;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

mod controller;
mod counters;
mod gates;
mod ownership;
mod paced;
mod report;
mod resolve;
mod retries;
mod room;
mod run;
mod secrets;
mod shelf;
mod states;
mod watches;

pub use controller::{Controller, ReconcileError, Shared, run, write_status};
pub use counters::{CounterValues, Counters};
pub use gates::Gates;
pub use ownership::{controlled_by, controller_of, owned_by, owners_in_words};
pub use paced::paced;
pub use report::{Reporter, Said};
pub use resolve::{
    Gvr, ResolveError, Served, allowed_versions, check_kind, display_name, resolve,
    wait_until_served,
};
pub use retries::Retries;
pub use room::{Room, Share};
pub use run::{followed, watched};
pub use secrets::SecretNamespaces;
pub use shelf::Shelf;
pub use states::{State, States, state};
pub use watches::{
    Change, Fields, Found, Interest, Interests, Kept, ObjectName, Readiness, Watch, WatchKey,
    WatchScope, Watches, concerned, triggers,
};
