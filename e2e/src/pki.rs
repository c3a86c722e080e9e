//! Keys and certificates of one cluster.
//!
//! Each cluster has authorities of its own: a credential of one must never open another, or a test could pass for the
//! wrong reason. Takes a folder; gives PEM files in it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// Names under which every server here is reached: the aggregator checks `<service>.<namespace>.svc`.
const LOCAL_NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// The files of one cluster.
#[derive(Debug, Clone)]
pub struct Pki {
    folder: PathBuf,
}

impl Pki {
    /// The files below `folder`, made or not.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The path of one file: `ca.crt`, `server.key`, ...
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The content of one file.
    pub fn read(&self, name: &str) -> Result<String> {
        let path = self.file(name);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Makes the authorities, the apiserver's certificate, an administrator, the front proxy and the key that signs
    /// ServiceAccount tokens. Files that are there already stay: a cluster that is started again keeps its keys.
    pub fn create(&self) -> Result<()> {
        if self.file("ca.crt").exists() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder)?;
        self.create_authority("front-proxy-ca")?;
        self.issue(
            "front-proxy-ca",
            "front-proxy-client",
            &Subject::client("front-proxy-client", None),
        )?;
        let account_key = KeyPair::generate()?;
        self.write("service-account.key", &account_key.serialize_pem())?;
        self.write("service-account.pub", &account_key.public_key_pem())?;
        self.create_authority("ca")?;
        self.issue(
            "ca",
            "server",
            &Subject::server("kube-apiserver", &["kubernetes.default.svc"]),
        )?;
        self.issue(
            "ca",
            "admin",
            &Subject::client("armadex-e2e-admin", Some("system:masters")),
        )
    }

    /// Makes a certificate for a server that the aggregator reaches as `<service>.<namespace>.svc`.
    pub fn issue_for_service(&self, service: &str, namespace: &str) -> Result<()> {
        let name = format!("{service}.{namespace}.svc");
        self.issue("ca", service, &Subject::server(&name, &[&name]))
    }

    /// Makes a client certificate `<user>.crt` that the apiserver takes for `user` in `group`.
    pub fn issue_for_user(&self, user: &str, group: Option<&str>) -> Result<()> {
        self.issue("ca", user, &Subject::client(user, group))
    }

    fn create_authority(&self, name: &str) -> Result<()> {
        let key = KeyPair::generate()?;
        let certificate = authority(name).self_signed(&key)?;
        self.write(&format!("{name}.key"), &key.serialize_pem())?;
        self.write(&format!("{name}.crt"), &certificate.pem())
    }

    fn issue(&self, by: &str, name: &str, subject: &Subject) -> Result<()> {
        let issuer = Issuer::new(
            authority(by),
            KeyPair::from_pem(&self.read(&format!("{by}.key"))?)?,
        );
        let key = KeyPair::generate()?;
        let certificate = subject.parameters()?.signed_by(&key, &issuer)?;
        self.write(&format!("{name}.key"), &key.serialize_pem())?;
        self.write(&format!("{name}.crt"), &certificate.pem())
    }

    fn write(&self, name: &str, pem: &str) -> Result<()> {
        write_private(&self.file(name), pem)
    }
}

/// Writes a file that only this user can read: keys and kubeconfigs.
pub fn write_private(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(file.write_all(text.as_bytes())?)
}

/// What an authority's certificate says. It is the same each time, so that the key alone brings the authority back.
fn authority(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    parameters
}

/// Whom a certificate is for.
struct Subject {
    name: String,
    group: Option<String>,
    hosts: Vec<String>,
}

impl Subject {
    fn client(name: &str, group: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            group: group.map(str::to_owned),
            hosts: Vec::new(),
        }
    }

    fn server(name: &str, hosts: &[&str]) -> Self {
        let hosts = LOCAL_NAMES
            .iter()
            .chain(hosts)
            .map(|&host| host.to_owned())
            .collect();
        Self {
            name: name.to_owned(),
            group: None,
            hosts,
        }
    }

    fn parameters(&self) -> Result<CertificateParams> {
        let mut parameters = CertificateParams::new(self.hosts.clone())?;
        parameters
            .distinguished_name
            .push(DnType::CommonName, self.name.as_str());
        if let Some(group) = &self.group {
            parameters
                .distinguished_name
                .push(DnType::OrganizationName, group.as_str());
        }
        let usage = if self.hosts.is_empty() {
            ExtendedKeyUsagePurpose::ClientAuth
        } else {
            ExtendedKeyUsagePurpose::ServerAuth
        };
        parameters.extended_key_usages = vec![usage];
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.use_authority_key_identifier_extension = true;
        Ok(parameters)
    }
}
