//! From a PediaCluster to a verified connection with its member, and what is asked over it.
//!
//! [`validate()`] is pure: spec, Secrets and what a policy rendered in, a [`Connection`] or a message for the user out. [`Member`] is the connection at
//! work: HTTP/2, health, version, identity, discovery, raw lists and watches as streams of bytes. Nothing here decodes an object
//! of a member, and no error carries a credential.

mod allow_list;
mod binding;
mod connection;
mod control_plane;
mod discovery;
mod error;
mod grant;
mod heard;
mod identity;
mod kubeconfig;
mod lanes;
mod member;
mod names;
mod outline;
mod pem;
#[cfg(any(test, feature = "testing"))]
mod pipe;
mod proxy;
mod request;
mod secrets;
mod stream;
mod tls;
mod transport;
mod unpacked;
mod validate;
mod words;

pub use allow_list::{AllowList, AllowedAddress, NoAddress};
pub use armadex_crds::Sensitive;
pub use binding::{Ground, Policy};
pub use connection::{ClientCertificate, Connection, Endpoint, Proxy, Trust};
pub use control_plane::ControlPlane;
pub use discovery::{Discovery, Etags, Group, Room, ServedResource, Told, Version, VersionState};
pub use error::{ConfigError, LONGEST_WAIT, MemberError, StatusDetails};
pub use identity::Identity;
pub use member::Member;
pub use request::{ListRequest, StreamedListRequest, WatchRequest};
pub use secrets::{SecretContent, SecretData, SecretId, SecretScope};
pub use stream::{ByteStream, Came};
pub use transport::{LONGEST_WATCH, PAGES};
pub use validate::{Validated, referenced_secrets, validate};
pub use words::Words;
