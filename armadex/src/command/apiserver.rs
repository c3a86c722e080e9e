//! `armadex apiserver`: serves the search API.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use armadex_apiserver::{Certificate, Config, SelfMade};
use clap::Args;

use crate::admin::AdminFlags;
use crate::control_plane::ControlPlaneFlags;
use crate::feature_gates::FeatureGateFlags;
use crate::process::Process;
use crate::store::StoreFlags;

/// Serve the search API, behind a kube-apiserver's aggregator or directly.
///
/// Callers are known by the aggregator's headers (only over a connection with its client certificate), by a client certificate of the
/// control plane, or by a token that the control plane reviews. Every request is authorised there, too.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    control_plane: ControlPlaneFlags,
    #[command(flatten)]
    store: StoreFlags,
    #[command(flatten)]
    admin: AdminFlags,
    #[command(flatten)]
    serving: ServingFlags,
    #[command(flatten)]
    _gates: FeatureGateFlags,
}

/// Where and with which certificate the API is served.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServingFlags {
    /// Address of the search API, HTTPS.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443")]
    pub(crate) listen: SocketAddr,
    /// Serving certificate, PEM, with the chain; read again when it changes. Without it one is made at every start.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// Key of the serving certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub(crate) tls_private_key_file: Option<PathBuf>,
    /// Names and addresses in the certificate that is made.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "localhost,127.0.0.1,armadex-apiserver.clusterpedia-system.svc",
        conflicts_with = "tls_cert_file"
    )]
    self_made_names: Vec<String>,
    /// Where to write the CA of the certificate that is made: the `caBundle` of the APIService.
    #[arg(long, value_name = "FILE", conflicts_with = "tls_cert_file")]
    self_made_ca: Option<PathBuf>,
}

/// Runs until a signal.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let mut process = Process::begin(&flags.control_plane, &flags.store).await?;
    start(&mut process, &flags.serving)?;
    process.run(flags.admin).await
}

/// Adds the API server.
pub(crate) fn start(process: &mut Process, flags: &ServingFlags) -> anyhow::Result<()> {
    let config = Config::new(flags.listen, certificate(flags)?);
    process.metrics.add_requests(Arc::clone(&config.counters));
    let (client, search) = (process.client.clone(), process.store.clone());
    let server = armadex_apiserver::serve(config, search, client, process.parts.cancel());
    process.parts.start("API server", server);
    Ok(())
}

fn certificate(flags: &ServingFlags) -> anyhow::Result<Certificate> {
    if let (Some(certificate), Some(key)) = (&flags.tls_cert_file, &flags.tls_private_key_file) {
        return Ok(Certificate::Files {
            certificate: certificate.clone(),
            key: key.clone(),
        });
    }
    let made = SelfMade::for_names(&flags.self_made_names)
        .context("cannot make a certificate for --self-made-names")?;
    if let Some(path) = &flags.self_made_ca {
        std::fs::write(path, made.ca_pem())
            .with_context(|| format!("cannot write --self-made-ca {}", path.display()))?;
    }
    Ok(Certificate::SelfMade(made))
}
