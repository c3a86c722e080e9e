//! The control plane, for whoever asks it: a client whose requests all end, the objects of one kind, and what is said of
//! requests that fail, once for each outage and in words that never are an answer's; Events; and a Lease on it, by which one of several processes does
//! the work, or by one for each of which they share it.

#[cfg(any(test, feature = "testing"))]
pub mod testing;

mod disputes;
mod lease;
mod limited;
mod lock;
mod objects;
mod outages;
mod pages;
mod recorder;
mod trouble;

pub use disputes::{Applied, Dispute};
pub use lease::load::Load;
pub use lease::replicas::{Members, Place, Replicas};
pub use lease::{Claim, Held, LeaseStanding, LeaseTerms};
pub use limited::{ANSWER_LIMIT, is_watch, limited};
pub use lock::lock;
pub use objects::{NOT_THERE_YET, Objects, watch_config};
pub use outages::Outages;
pub use pages::paged;
pub use recorder::Recorder;
pub use trouble::{Trouble, TroubleKind};
