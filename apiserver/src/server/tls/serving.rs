//! The certificate that the server shows, and how it is kept fresh.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::error::CertificateError;
use super::self_made::SelfMade;
use crate::answer::status::chain;

/// How often files are looked at. A kubelet takes up to a minute to bring a renewed Secret, so this adds little.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Where the serving certificate comes from.
#[derive(Debug)]
pub enum Certificate {
    /// PEM files, read again when they change.
    Files {
        /// The chain, leaf first.
        certificate: PathBuf,
        /// The private key of the leaf.
        key: PathBuf,
    },
    /// One that was made in this process.
    SelfMade(SelfMade),
    /// One that somebody keeps, and shows here: nobody is served before there is one.
    Kept(watch::Receiver<Option<KeptPem>>),
}

/// A certificate that somebody keeps, as PEM.
#[derive(Clone)]
pub struct KeptPem {
    /// The chain, leaf first.
    pub certificate: String,
    /// The private key of the leaf.
    pub key: String,
}

/// No key is ever printed.
impl std::fmt::Debug for KeptPem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptPem")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

impl KeptPem {
    fn certified(&self) -> Result<CertifiedKey, CertificateError> {
        certified(self.certificate.as_bytes(), self.key.as_bytes())
    }
}

/// Shows the present certificate to every client.
#[derive(Debug)]
pub(crate) struct Serving(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Serving {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.present())
    }
}

impl Serving {
    /// The certificate that is shown now.
    pub(super) fn present(&self) -> Arc<CertifiedKey> {
        self.0.load_full()
    }

    /// Reads the certificate for the first time. That takes as long as it takes whoever keeps it to show it.
    pub(crate) async fn load(certificate: &Certificate) -> Result<Self, CertificateError> {
        let key = match certificate {
            Certificate::Files { certificate, key } => {
                let pem = Pem::read(certificate, key).await?;
                certified(&pem.certificate, &pem.key)?
            }
            Certificate::SelfMade(made) => {
                let (certificate, key) = made.pem();
                certified(certificate, key)?
            }
            Certificate::Kept(shown) => usable(shown.clone()).await?,
        };
        Ok(Self(ArcSwap::from_pointee(key)))
    }
}

/// Reads the files again whenever they have changed, until cancelled. A pair that cannot be used is told once, and the former
/// one stays.
pub(crate) async fn keep_fresh(
    serving: Arc<Serving>,
    certificate: PathBuf,
    key: PathBuf,
    cancel: CancellationToken,
) {
    let mut last = None;
    let mut ticks = tokio::time::interval(LOOK_AGAIN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while cancel.run_until_cancelled(ticks.tick()).await.is_some() {
        let Ok(pem) = Pem::read(&certificate, &key).await else {
            // Gone for a moment while it is being replaced.
            continue;
        };
        if last.as_ref() == Some(&pem) {
            continue;
        }
        match certified(&pem.certificate, &pem.key) {
            // As it was when the server started: a key goes with one certificate.
            Ok(new) if new.cert == serving.present().cert => {}
            Ok(new) => {
                serving.0.store(Arc::new(new));
                tracing::info!("read the renewed serving certificate");
            }
            Err(error) => tracing::error!(
                error = %chain(&error),
                "the renewed serving certificate cannot be used, the former one stays"
            ),
        }
        last = Some(pem);
    }
}

/// The first that can be used; one that cannot is told.
async fn usable(
    mut shown: watch::Receiver<Option<KeptPem>>,
) -> Result<CertifiedKey, CertificateError> {
    loop {
        let kept = shown.borrow_and_update().clone();
        match kept.as_ref().map(KeptPem::certified) {
            Some(Ok(usable)) => return Ok(usable),
            Some(Err(error)) => tracing::error!(
                error = %chain(&error),
                "the serving certificate cannot be used, another one is waited for"
            ),
            None => {}
        }
        let changed = shown.changed().await;
        changed.map_err(|_| CertificateError::NotShown)?;
    }
}

/// Takes over each certificate that whoever keeps it shows, until cancelled. One that cannot be used is told, and the former one stays.
pub(crate) async fn follow(
    serving: Arc<Serving>,
    mut shown: watch::Receiver<Option<KeptPem>>,
    cancel: CancellationToken,
) {
    while let Some(Ok(())) = cancel.run_until_cancelled(shown.changed()).await {
        let kept = shown.borrow_and_update().clone();
        match kept.as_ref().map(KeptPem::certified).transpose() {
            // That of the beginning.
            Ok(Some(new)) if new.cert == serving.present().cert => {}
            Ok(Some(new)) => {
                serving.0.store(Arc::new(new));
                tracing::info!("took over the renewed serving certificate");
            }
            Ok(None) => {}
            Err(error) => tracing::error!(
                error = %chain(&error),
                "the renewed serving certificate cannot be used, the former one stays"
            ),
        }
    }
}

#[derive(PartialEq, Eq)]
struct Pem {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pem {
    async fn read(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        Ok(Self {
            certificate: read(certificate).await?,
            key: read(key).await?,
        })
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    let file = |source| CertificateError::File {
        path: path.to_owned(),
        source,
    };
    tokio::fs::read(path).await.map_err(file)
}

fn certified(certificate: &[u8], key: &[u8]) -> Result<CertifiedKey, CertificateError> {
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(key)?;
    Ok(CertifiedKey::from_der(
        chain,
        key,
        &ring::default_provider(),
    )?)
}
