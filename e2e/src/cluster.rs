//! One Kubernetes API as plain processes: a kube-apiserver and its kube-controller-manager.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use http::Request;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use serde::{Deserialize, Serialize};

use crate::apiserver::{self, Work};
use crate::etcd::Etcd;
use crate::folder::Folder;
use crate::kubeconfig;
use crate::pki::{Pki, write_private};
use crate::ports::free_port;
use crate::process::{Program, last_words};
use crate::record::Record;
use crate::tools::Tools;
use crate::wait::{wait_for, wait_until};

/// A cold apiserver on a busy machine of two cores takes some 15 s.
const START_LIMIT: Duration = Duration::from_secs(120);
/// A chosen port can be taken by somebody else before the server binds it; thrice in a row it is not.
const ATTEMPTS: usize = 3;

/// What a cluster is to be.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Shape {
    /// Where its objects are kept.
    pub etcd: Etcd,
    /// Arguments of its apiserver beside those that all have.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// What it is there for.
    #[serde(default)]
    pub work: Work,
    /// A file by which its apiserver finds names, in the place of `/etc/hosts`: it can only run as root then.
    #[serde(default)]
    pub names: Option<PathBuf>,
}

/// What is remembered of a cluster in its folder.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Description {
    /// Where it is, if somebody else runs it: what follows is nothing then.
    #[serde(default)]
    url: Option<String>,
    port: u16,
    #[serde(flatten)]
    shape: Shape,
}

/// A process that stands still until this is dropped.
#[derive(Debug)]
pub struct Frozen(Record);

impl Drop for Frozen {
    fn drop(&mut self) {
        self.0.thaw();
    }
}

/// A cluster whose processes were started in a folder.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// `host` or the name of a member.
    pub name: String,
    folder: Folder,
    description: Description,
}

impl Cluster {
    /// Starts a new cluster and waits until it serves.
    pub async fn create(folder: &Folder, tools: &Tools, name: &str, shape: &Shape) -> Result<Self> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let description = Description {
                url: None,
                port: free_port()?,
                shape: shape.clone(),
            };
            let cluster = Self {
                name: name.to_owned(),
                folder: folder.clone(),
                description,
            };
            cluster.write_files()?;
            match cluster.start(tools).await {
                Ok(()) => return Ok(cluster),
                Err(error) if cluster.port_was_taken() => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.expect("at least one attempt was made"))
    }

    /// Takes in a cluster that somebody else runs, of which there is a kubeconfig.
    pub fn adopt(folder: &Folder, name: &str, kubeconfig: &Path) -> Result<Self> {
        let cluster = Self {
            name: name.to_owned(),
            folder: folder.clone(),
            description: Description {
                url: Some(kubeconfig::server(kubeconfig)?),
                ..Description::default()
            },
        };
        let text = std::fs::read_to_string(kubeconfig)?;
        write_private(&cluster.kubeconfig(), &text)?;
        // For the certificate of Armadex; nobody else's is of these authorities.
        cluster.pki().create()?;
        cluster.describe()?;
        Ok(cluster)
    }

    /// Whether somebody else runs it.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.description.url.is_some()
    }

    /// The cluster called `name` that was created in `folder` before.
    pub fn open(folder: &Folder, name: &str) -> Result<Self> {
        let path = folder.cluster(name).join("cluster.json");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("no cluster {name} in {}", folder.root().display()))?;
        let description = serde_json::from_str(&text)
            .with_context(|| format!("cannot parse {}", path.display()))?;
        Ok(Self {
            name: name.to_owned(),
            folder: folder.clone(),
            description,
        })
    }

    /// Whether a cluster called `name` was created in `folder`.
    #[must_use]
    pub fn exists(folder: &Folder, name: &str) -> bool {
        folder.cluster(name).join("cluster.json").exists()
    }

    /// The address of its apiserver.
    #[must_use]
    pub fn url(&self) -> String {
        let Description { url, port, .. } = &self.description;
        let own = || format!("https://127.0.0.1:{port}");
        url.clone().unwrap_or_else(own)
    }

    /// Where its objects are kept.
    #[must_use]
    pub fn etcd(&self) -> &Etcd {
        &self.description.shape.etcd
    }

    /// Where its apiserver listens on this machine.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.description.port
    }

    /// Where its apiserver finds names, if not where all do.
    #[must_use]
    pub fn names(&self) -> Option<&Path> {
        self.description.shape.names.as_deref()
    }

    /// Its keys and certificates.
    #[must_use]
    pub fn pki(&self) -> Pki {
        Pki::at(self.folder.cluster(&self.name))
    }

    /// Its administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.kubeconfig(&self.name)
    }

    /// Writes a kubeconfig for a client certificate of `user` in `group` and gives its path.
    pub fn kubeconfig_for(&self, user: &str, group: Option<&str>) -> Result<PathBuf> {
        let pki = self.pki();
        pki.issue_for_user(user, group)?;
        let path = self
            .folder
            .cluster(&self.name)
            .join(format!("{user}.kubeconfig"));
        kubeconfig::write_for_user(&path, &self.name, &self.url(), &pki, user)?;
        Ok(path)
    }

    /// A client with all rights.
    pub async fn client(&self) -> Result<kube::Client> {
        kubeconfig::client(&self.kubeconfig()).await
    }

    /// Starts both processes and waits until they serve.
    pub async fn start(&self, tools: &Tools) -> Result<()> {
        self.start_apiserver(tools).await?;
        self.start_controller_manager(tools).await
    }

    /// Starts the apiserver alone, as after [`Self::kill_apiserver`].
    pub async fn start_apiserver(&self, tools: &Tools) -> Result<()> {
        let name = self.apiserver_name();
        let record = self.apiserver(&name, tools).start(&self.folder)?;
        let client = self.client().await?;
        let ready = wait_for(&format!("{name} is ready"), START_LIMIT, || async {
            if !record.is_alive() {
                return Ok(Some(false));
            }
            client
                .request_text(Request::get("/readyz").body(Vec::new())?)
                .await?;
            Ok(Some(true))
        })
        .await
        .with_context(|| last_words(&self.folder, &name))?;
        if !ready {
            record.forget();
            bail!("{name} ended; {}", last_words(&self.folder, &name));
        }
        Ok(())
    }

    fn apiserver(&self, name: &str, tools: &Tools) -> Program {
        let Description { port, shape, .. } = &self.description;
        let mut arguments = apiserver::apiserver(*port, &shape.etcd, &self.pki(), shape.work);
        arguments.extend_from_slice(&shape.arguments);
        Program::new(name, &tools.kube_apiserver, arguments).finding(self.names())
    }

    async fn start_controller_manager(&self, tools: &Tools) -> Result<()> {
        let kubeconfig = self.kubeconfig().display().to_string();
        let work = self.description.shape.work;
        let arguments = apiserver::controller_manager(&kubeconfig, &self.pki(), work);
        let name = self.controller_manager_name();
        Program::new(&name, &tools.kube_controller_manager, arguments).start(&self.folder)?;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, "default");
        wait_until(
            &format!("{name} makes ServiceAccounts"),
            START_LIMIT,
            || async { Ok(accounts.get_opt("default").await?.is_some()) },
        )
        .await
        .with_context(|| last_words(&self.folder, &name))
    }

    /// Ends the apiserver at once, as a crash would; its data stay in etcd.
    pub fn kill_apiserver(&self) {
        self.kill(&self.apiserver_name());
    }

    /// Ends both processes at once; their data stay in etcd.
    pub fn kill_all(&self) {
        self.kill(&self.controller_manager_name());
        self.kill_apiserver();
    }

    /// Has its apiserver stand still until the value that is given back is dropped: connections stay open, and nobody is answered.
    pub fn freeze_apiserver(&self) -> Result<Frozen> {
        let name = self.apiserver_name();
        let record = Record::find(&self.folder.run(), &name);
        let record = record.with_context(|| format!("{name} does not run"))?;
        record.freeze();
        Ok(Frozen(record))
    }

    /// Whether its apiserver runs, as far as this harness can know.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_foreign()
            || Record::find(&self.folder.run(), &self.apiserver_name())
                .is_some_and(|record| record.is_alive())
    }

    fn kill(&self, process: &str) {
        if let Some(record) = Record::find(&self.folder.run(), process) {
            record.kill();
        }
    }

    fn apiserver_name(&self) -> String {
        format!("{}-apiserver", self.name)
    }

    fn controller_manager_name(&self) -> String {
        format!("{}-controller-manager", self.name)
    }

    fn port_was_taken(&self) -> bool {
        last_words(&self.folder, &self.apiserver_name()).contains("address already in use")
    }

    fn write_files(&self) -> Result<()> {
        let pki = self.pki();
        pki.create()?;
        kubeconfig::write(&self.kubeconfig(), &self.name, &self.url(), &pki)?;
        self.describe()
    }

    fn describe(&self) -> Result<()> {
        let path = self.folder.cluster(&self.name).join("cluster.json");
        std::fs::write(&path, serde_json::to_vec_pretty(&self.description)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}
