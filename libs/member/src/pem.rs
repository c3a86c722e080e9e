//! Reading PEM, with errors that name the field and not its content.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::ConfigError;
use armadex_crds::Sensitive;

/// The certificates of a bundle, at least one, as DER.
pub(crate) fn certificates(field: &str, pem: &[u8]) -> Result<Vec<Vec<u8>>, ConfigError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem)
        .map(|item| item.map(|der| der.as_ref().to_vec()))
        .collect();
    match found {
        Ok(list) if !list.is_empty() => Ok(list),
        _ => Err(ConfigError::invalid(field, "holds no PEM certificate")),
    }
}

/// Checks that there is a private key.
pub(crate) fn check_key(field: &str, pem: &Sensitive) -> Result<(), ConfigError> {
    PrivateKeyDer::from_pem_slice(pem.expose())
        .map(|_| ())
        .map_err(|_| ConfigError::invalid(field, "holds no PEM private key"))
}
