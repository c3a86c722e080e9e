//! What a PediaCluster may be connected with: its Secrets, what its policy rendered, and on which grounds it may have them.

pub(crate) mod grounds;
pub(crate) mod lifecycles;
pub(crate) mod secrets;
