//! From a PediaCluster to a verified connection with its member, and what is asked over it.
//!
//! [`validate()`] is pure: spec and Secrets in, a [`Connection`] or a message for the user out. [`Member`] is the connection at
//! work: HTTP/2, health, version, identity, discovery, raw lists and watches as streams of bytes. Nothing here decodes an object
//! of a member, and no error carries a credential.

mod connection;
mod discovery;
mod error;
mod kubeconfig;
mod lanes;
mod member;
mod pem;
#[cfg(feature = "testing")]
mod pipe;
mod proxy;
mod request;
mod sensitive;
mod stream;
mod tls;
mod transport;
mod validate;

pub use connection::{ClientCertificate, Connection, Endpoint, Proxy, Trust};
pub use discovery::{Discovery, Etags, Group, ServedResource, Version, VersionState};
pub use error::{ConfigError, MemberError};
pub use member::Member;
pub use request::{ListRequest, WatchRequest};
pub use sensitive::Sensitive;
pub use stream::ByteStream;
pub use validate::{SecretData, SecretId, SecretScope, referenced_secrets, validate};
