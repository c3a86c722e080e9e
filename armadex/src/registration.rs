//! What the API server keeps on its control plane: its serving certificate, and its registration there.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::ensure;
use armadex_apiserver::{Certificate, KeptPem};
use armadex_control_plane::Outages;
use armadex_crds::{is_serving_secret, is_subdomain};
use armadex_registration::{FormerTerms, Kept, Reached, RegistrationTerms, SecretTerms, Standing};
use clap::Args;
use kube::Client;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::warn;

use crate::credentials::namespace;
use crate::process::Process;
use crate::service::Parts;

/// The Service of an API server that is registered by the name of its host.
const SERVICE: &str = "armadex-apiserver";
/// Between two looks at a file.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// The port of a Service for which none is told.
const HTTPS: u16 = 443;

/// Whether it is registered, and who keeps its certificate.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Registration on the control plane")]
pub(crate) struct RegistrationFlags {
    /// Secret on the control plane, in --serving-namespace, that keeps the serving certificate, for --self-made-names: made where there is none, renewed when two
    /// thirds of its time are over, and the same for all API servers that name it. It is called `armadex-serving`, or that and a dash and more: under such a
    /// name no policy and no PediaCluster reads it.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["tls_cert_file", "self_made_ca"], value_parser = serving_secret)]
    serving_secret: Option<String>,
    /// Namespace of that Secret: `armadex-serving`, if `armadex install` was not told otherwise, where the API server alone has a right. Without it the Secret lies in `--namespace`, where
    /// the synchro and the policy controllers may read all Secrets. One that was kept there before is deleted when its CA is trusted no longer, a day after the last process that showed it.
    /// Another namespace is another CA: where this process does not register itself, start one more API server with this, to which nobody is sent yet, and put the new ca.crt into the `caBundle`
    /// beside the former before the others follow.
    #[arg(long, value_name = "NAME", requires = "serving_secret", value_parser = namespace)]
    serving_namespace: Option<String>,
    /// Keep this API server registered: the control plane, which is another cluster, reaches it by this host. Makes the Service `armadex-apiserver` of the
    /// type ExternalName in `--namespace` there and the APIService `v1beta1.clusterpedia.io` (or of --api-group), with the CA of --serving-secret as its `caBundle`, and puts both
    /// right within a minute when they are changed. Without a port that of --listen is meant.
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with = "register_service")]
    register: Option<Address>,
    /// The same where the control plane is the cluster that this API server runs in: by a Service in `--namespace` that is there already. Without a
    /// port 443 is meant. Of an APIService that somebody else has made for this Service, as helm does, the `caBundle` alone is kept.
    #[arg(long, value_name = "SERVICE[:PORT]")]
    register_service: Option<Address>,
    /// The CAs by which the control plane verifies a certificate in files, PEM; read again when it changes. Without it somebody else writes the `caBundle`
    /// of the APIService, as cert-manager does.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    register_ca_file: Option<PathBuf>,
    /// Take the registration over from whoever has it, Clusterpedia or an Armadex in another namespace: without this it is left alone. Once: what
    /// somebody takes from this process afterwards is left to them, and told, for of two that both say so each would take it from the other.
    #[arg(long)]
    register_take_over: bool,
}

fn serving_secret(name: &str) -> Result<String, String> {
    let fits = is_subdomain(name) && is_serving_secret(name);
    let refusal = || {
        "call it armadex-serving, or armadex-serving-NAME: no policy and no PediaCluster may read Secrets of these names".to_owned()
    };
    fits.then(|| name.to_owned()).ok_or_else(refusal)
}

/// A host or a Service, and maybe a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Address {
    name: String,
    port: Option<u16>,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => {
                let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
                    format!("{port:?} is no port: write a number from 1 to 65535 after the colon")
                })?;
                (name, Some(port))
            }
            None => (text, None),
        };
        let fits =
            |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "-.".contains(sign);
        let is_name = !name.is_empty() && name.len() <= 253 && name.chars().all(fits);
        if !is_name {
            return Err(format!(
                "{name:?} is no name of a host: a Service leads to DNS names in lower case, and to no address in brackets"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            port,
        })
    }
}

/// What is known of the API server.
pub(crate) struct Own<'a> {
    /// The group that it serves.
    pub(crate) group: &'a str,
    /// What it has on the control plane lies there.
    pub(crate) namespace: &'a str,
    /// What its certificate is to be for besides the Service.
    pub(crate) names: &'a [String],
    /// Where the API is served.
    pub(crate) listen: SocketAddr,
    /// Its certificate, if that comes from files.
    pub(crate) certificate: Option<&'a Path>,
}

/// Starts what keeps the certificate and the registration, as far as the flags say so. Gives the certificate, if it is kept.
pub(crate) fn start(
    process: &mut Process,
    flags: &RegistrationFlags,
    own: &Own<'_>,
) -> anyhow::Result<Option<Certificate>> {
    let registered = registered(flags, own.listen.port());
    ensure!(
        registered.is_none() || flags.serving_secret.is_some() || own.certificate.is_some(),
        "--register and --register-service need a certificate that outlives a start: add --serving-secret NAME, or --tls-cert-file and --tls-private-key-file"
    );
    let is_local =
        |name: &str| name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    if let Some((_, port, Reached::Host(host))) = &registered {
        ensure!(
            *port != 0 && (is_local(host) || !own.listen.ip().is_loopback()),
            "--register {host} would have the control plane ask at a port that nobody reaches: --listen is {}, say 0.0.0.0:8443 for example",
            own.listen
        );
    }
    let service = registered.as_ref().map_or(SERVICE, |(service, ..)| service);
    let kept = secret(flags, own, service).map(|terms| keep(process, terms));
    show_expiry(process, kept.as_ref(), own.certificate);
    if let Some((service, port, reached)) = registered {
        if let (Some(kept), Some(terms)) = (&kept, former(flags, own)) {
            retire(process, terms, kept.ca.clone());
        }
        let terms = RegistrationTerms {
            group: own.group.to_owned(),
            namespace: own.namespace.to_owned(),
            service,
            port,
            reached,
            trusted: match (&kept, &flags.register_ca_file) {
                (Some(kept), _) => Some(kept.ca.clone()),
                (None, Some(path)) => {
                    let path = path.clone();
                    Some(follow(&mut process.parts, "--register-ca-file", path))
                }
                (None, None) => None,
            },
            takes_over: flags.register_take_over,
        };
        register(process, terms);
    }
    Ok(kept.map(|kept| Certificate::Kept(kept.pem)))
}

/// The Secret of the certificate, if it is kept in one.
fn secret(flags: &RegistrationFlags, own: &Own<'_>, service: &str) -> Option<SecretTerms> {
    let namespace = flags.serving_namespace.as_deref().unwrap_or(own.namespace);
    let by_service = format!("{service}.{}.svc", own.namespace);
    flags.serving_secret.clone().map(|name| SecretTerms {
        namespace: namespace.to_owned(),
        name,
        names: own.names.iter().cloned().chain([by_service]).collect(),
    })
}

/// The one that an earlier release kept it in, if it is another one now.
fn former(flags: &RegistrationFlags, own: &Own<'_>) -> Option<FormerTerms> {
    let present = flags.serving_namespace.as_deref()?;
    let name = flags.serving_secret.clone()?;
    (present != own.namespace).then(|| FormerTerms {
        namespace: own.namespace.to_owned(),
        name,
        group: own.group.to_owned(),
    })
}

/// Until when the certificate is good, be it kept or in files.
fn show_expiry(process: &mut Process, kept: Option<&Shown>, file: Option<&Path>) {
    let certificate = match (kept, file) {
        (Some(kept), _) => kept.certificate.clone(),
        (None, Some(path)) => follow(&mut process.parts, "--tls-cert-file", path.to_owned()),
        (None, None) => return,
    };
    process.metrics.add_certificate(certificate);
}

/// Service, port, and how it is reached.
fn registered(flags: &RegistrationFlags, listen: u16) -> Option<(String, u16, Reached)> {
    let by_host = flags.register.as_ref().map(|Address { name, port }| {
        let reached = Reached::Host(name.clone());
        (SERVICE.to_owned(), port.unwrap_or(listen), reached)
    });
    let by_service = flags.register_service.as_ref();
    by_host.or_else(|| {
        by_service
            .map(|Address { name, port }| (name.clone(), port.unwrap_or(HTTPS), Reached::Service))
    })
}

/// Starts whoever keeps the certificate.
fn keep(process: &mut Process, terms: SecretTerms) -> Shown {
    let (shows, shown) = watch::channel(None);
    let seen = shown.clone();
    process.checks.add("serving-certificate", move || {
        let is_there = seen.borrow().is_some();
        let words = || "there is none yet, the log says more".to_owned();
        async move { is_there.then_some(()).ok_or_else(words) }
    });
    let (client, cancel) = (client(process), process.parts.last());
    process.parts.start("serving certificate", async move {
        armadex_registration::keep(client, terms, shows, cancel).await;
        anyhow::Ok(())
    });
    Shown::of(&mut process.parts, shown)
}

/// Starts whoever takes away what an earlier release kept it in.
fn retire(process: &mut Process, terms: FormerTerms, ca: watch::Receiver<Option<String>>) {
    let (client, cancel) = (client(process), process.parts.cancel());
    process
        .parts
        .start("former serving certificate", async move {
            armadex_registration::retire(client, terms, ca, cancel.clone()).await;
            cancel.cancelled().await;
            anyhow::Ok(())
        });
}

/// A certificate that is kept, by what is made of it.
struct Shown {
    pem: watch::Receiver<Option<KeptPem>>,
    ca: watch::Receiver<Option<String>>,
    certificate: watch::Receiver<Option<String>>,
}

impl Shown {
    fn of(parts: &mut Parts, mut kept: watch::Receiver<Option<Kept>>) -> Self {
        let ((shows, pem), (trusts, ca)) = (watch::channel(None), watch::channel(None));
        let (tells, certificate) = watch::channel(None);
        let cancel = parts.last();
        parts.start("serving certificate to show", async move {
            while let Some(Ok(())) = cancel.run_until_cancelled(kept.changed()).await {
                let Some(kept) = kept.borrow_and_update().clone() else {
                    continue;
                };
                // Whom to trust comes first.
                trusts.send_replace(Some(kept.ca));
                tells.send_replace(Some(kept.certificate.clone()));
                shows.send_replace(Some(KeptPem {
                    certificate: kept.certificate,
                    key: kept.key.expose().clone(),
                }));
            }
            cancel.cancelled().await;
            anyhow::Ok(())
        });
        Self {
            pem,
            ca,
            certificate,
        }
    }
}

/// The certificates of the file of a flag, read again and again: a kubelet brings a renewed Secret within a minute.
fn follow(parts: &mut Parts, flag: &'static str, path: PathBuf) -> watch::Receiver<Option<String>> {
    let (tells, told) = watch::channel(None);
    let cancel = parts.cancel();
    parts.start(flag, async move {
        let mut outages = Outages::default();
        loop {
            match tokio::fs::read_to_string(&path).await {
                Ok(text) if text.contains("-----BEGIN CERTIFICATE-----") => {
                    outages = Outages::default();
                    tells.send_if_modified(|told| {
                        let is_new = told.as_ref() != Some(&text);
                        *told = Some(text);
                        is_new
                    });
                }
                Ok(_) => tell(&outages, flag, &path, "it has no certificate in PEM"),
                Err(error) => tell(&outages, flag, &path, &error.to_string()),
            }
            if cancel
                .run_until_cancelled(sleep(LOOK_AGAIN))
                .await
                .is_none()
            {
                return anyhow::Ok(());
            }
        }
    });
    told
}

fn tell(outages: &Outages, flag: &str, path: &Path, words: &str) {
    if outages.begins("file", words) {
        warn!(path = %path.display(), error = words, "{flag} cannot be read, retrying; what was read before counts");
    }
}

/// A pod that is to go does not register itself any more: its release may be on its way out.
fn register(process: &mut Process, terms: RegistrationTerms) {
    let (says, standing) = watch::channel(Standing::Unknown);
    process.metrics.add_registration(standing.clone());
    process.checks.add("registration", move || {
        let outcome = match &*standing.borrow() {
            // Requests go where they went, and a pod that is not ready gets none.
            Standing::Registered | Standing::Disturbed(_) => Ok(()),
            Standing::Unknown => Err("it was not looked at yet".to_owned()),
            Standing::Failing(words) => Err(words.clone()),
        };
        async move { outcome }
    });
    let (client, cancel) = (client(process), process.parts.cancel());
    process.parts.start("registration", async move {
        armadex_registration::register(client, terms, says, cancel).await;
        anyhow::Ok(())
    });
}

fn client(process: &Process) -> Client {
    process.background_client.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_or_service_may_have_a_port() {
        let parsed = |text: &str| text.parse::<Address>();
        let address = |name: &str, port| Address {
            name: name.to_owned(),
            port,
        };
        assert_eq!(
            parsed("armadex.example"),
            Ok(address("armadex.example", None))
        );
        assert_eq!(parsed("10.0.0.1:8443"), Ok(address("10.0.0.1", Some(8443))));
        for wrong in [
            "",
            ":443",
            "host:",
            "host:0",
            "host:70000",
            "https://host",
            "[::1]:443",
            "Host",
            "a_b",
        ] {
            parsed(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn the_secret_lies_where_it_is_said_and_what_was_kept_before_in_the_own_namespace() {
        let own = Own {
            group: "clusterpedia.io",
            namespace: "fleet",
            names: &[],
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            certificate: None,
        };
        let places = |serving_namespace: Option<&str>| {
            let flags = RegistrationFlags {
                serving_secret: Some("armadex-serving".to_owned()),
                serving_namespace: serving_namespace.map(str::to_owned),
                register: None,
                register_service: None,
                register_ca_file: None,
                register_take_over: false,
            };
            let terms = secret(&flags, &own, SERVICE).expect("a Secret");
            assert_eq!(terms.names, ["armadex-apiserver.fleet.svc"]);
            let former = former(&flags, &own).map(|former| former.namespace);
            (terms.namespace, former)
        };
        let place =
            |present: &str, former: Option<&str>| (present.to_owned(), former.map(str::to_owned));
        assert_eq!(places(None), place("fleet", None));
        assert_eq!(places(Some("fleet")), place("fleet", None));
        assert_eq!(places(Some("apart")), place("apart", Some("fleet")));
    }

    #[test]
    fn a_host_is_reached_by_a_service_of_ours_and_a_service_by_itself() {
        let flags = |register: Option<&str>, register_service: Option<&str>| RegistrationFlags {
            serving_secret: None,
            serving_namespace: None,
            register: register.map(|text| text.parse().expect("an address")),
            register_ca_file: None,
            register_take_over: false,
            register_service: register_service.map(|text| text.parse().expect("an address")),
        };
        let of = |flags| registered(&flags, 8443);
        let host = |port| {
            let reached = Reached::Host("h.example".to_owned());
            Some((SERVICE.to_owned(), port, reached))
        };
        assert_eq!(of(flags(None, None)), None);
        assert_eq!(of(flags(Some("h.example"), None)), host(8443));
        assert_eq!(of(flags(Some("h.example:443"), None)), host(443));
        let by = |port| Some(("mine".to_owned(), port, Reached::Service));
        assert_eq!(of(flags(None, Some("mine"))), by(443));
        assert_eq!(of(flags(None, Some("mine:8443"))), by(8443));
    }
}
