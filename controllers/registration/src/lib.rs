//! What the API server has on its control plane: a serving certificate that all of its replicas share, kept in a Secret, and the APIService by
//! which the control plane's own API server sends it requests.
//!
//! Both are looked at once a minute by each replica, and put right where they are not what they should be. Nothing of that is coordinated: whoever
//! writes says which version it read, so of two one is refused and looks again.

mod authority;
mod bundle;
mod certificates;
mod counts;
mod error;
mod former;
mod keeper;
mod kept;
mod looks;
mod registrar;

pub use certificates::expires_at;
pub use error::Error as CertificateError;
pub use former::{FormerTerms, retire};
pub use keeper::{SecretTerms, keep};
pub use kept::Kept;
pub use registrar::{
    FIELD_MANAGER, MANAGED_BY, NAME, OURS, Reached, RegistrationTerms, Standing, api_service,
    register,
};
