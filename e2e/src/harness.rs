//! A fleet of real control planes: one host with the Cluster API, members, and what people do with them.
//!
//! A harness either owns its processes (tests, the demo: they end with it, whatever ends it) or attaches to a folder whose
//! processes another terminal started.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::apiserver::Work;
use crate::attached::{self, Reach};
use crate::cluster::{Cluster, Shape};
use crate::control_plane::{ClusterApi, ControlPlane, ControlPlaneKind, Controllers};
use crate::etcd::{self, Etcd};
use crate::folder::{Folder, check_member_name};
use crate::kubectl::Kubectl;
use crate::kubelet;
use crate::process::{Guard, stop_all};
use crate::progress::note;
use crate::record::Record;
use crate::requests;
use crate::seats::{self, Seat};
use crate::stand_in::Aggregated;
use crate::store::{Store, StoreKind};
use crate::tools::Tools;

/// The record of the process that owns a fleet: `down` ends it, and it ends the rest.
pub const OWNER: &str = "owner";

/// How to start a fleet.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How many members there are at first: `member1`, `member2`, ...
    pub members: usize,
    /// Where it lives; a temporary folder when absent, removed after [`Harness::finish`] and kept after a failure.
    pub folder: Option<PathBuf>,
    /// Leaves the Cluster API to [`Harness::install_cluster_api`]: a policy may come before it.
    pub late_cluster_api: bool,
    /// More arguments for the apiservers of members, such as APIs that are off by default.
    pub member_arguments: Vec<String>,
    /// A folder of kubeconfigs of clusters that somebody else runs, as `e2e/kind/up.sh` makes it: nothing is started, and all members that have
    /// joined are known.
    pub attach_to: Option<PathBuf>,
    /// Whether the control plane writes down what Armadex asks of it, for [`crate::requests`].
    pub writes_requests_down: bool,
    /// Where Armadex keeps its copy, if not where [`StoreKind::of_environment`] says.
    pub store: Option<StoreKind>,
    /// Whether the control plane has an etcd of its own, as [`crate::restore`] needs. It is the stand-in then, whatever is installed: Karmada's programs
    /// would be restored under as well, and tell nobody.
    pub is_restored: bool,
    /// Whether the control plane finds Services by their names in [`Folder::names`], as one does that is a pod of the cluster in which they are.
    pub finds_services: bool,
    /// Whether the control plane is a cluster that runs pods as well, by a [`crate::kubelet`].
    pub runs_pods: bool,
}

/// What is remembered of the control plane in its folder.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    kind: ControlPlaneKind,
    etcd: String,
    reach: Reach,
}

impl Description {
    fn write(&self, folder: &Folder) -> Result<()> {
        Ok(std::fs::write(
            folder.control_plane(),
            serde_json::to_vec_pretty(self)?,
        )?)
    }
}

/// Who ends the processes.
#[derive(Debug)]
enum Lifetime {
    /// This harness, with what it needs for that.
    Owned {
        /// What somebody else runs takes none.
        _seat: Option<Seat>,
        _guard: Guard,
        controllers: Option<Controllers>,
        temporary: Option<TempDir>,
    },
    /// Whoever calls `down`.
    Detached,
}

/// A fleet.
#[derive(Debug)]
pub struct Harness {
    folder: Folder,
    tools: Tools,
    control_plane: ControlPlane,
    etcd: String,
    reach: Reach,
    member_arguments: Vec<String>,
    store: Store,
    lifetime: Lifetime,
}

impl Harness {
    /// Starts a fleet that ends with this value, when there is room for one: see [`seats`].
    pub async fn start(options: Options) -> Result<Self> {
        install_crypto();
        let seat = match options.attach_to {
            Some(_) => None,
            None => Some(seats::take().await?),
        };
        let temporary = match options.folder {
            Some(_) => None,
            None => Some(tempfile::Builder::new().prefix("armadex-e2e-").tempdir()?),
        };
        let root = options
            .folder
            .as_deref()
            .or(temporary.as_ref().map(TempDir::path))
            .context("no folder")?;
        let folder = Folder::new(root)?;
        prepare(&folder)?;
        let own = i32::try_from(std::process::id()).context("process ids are positive i32")?;
        Record::write(&folder.run(), OWNER, own)?;
        let tools = Tools::ensure()?;
        let guard = Guard::start(&folder)?;
        let half_way = HalfWay(Some(&folder));
        let started = Self::start_in(&folder, tools, &options).await;
        let mut harness = match started {
            Ok(harness) => harness,
            Err(error) => {
                drop(half_way);
                keep(temporary, &folder);
                return Err(error);
            }
        };
        half_way.succeeded();
        harness.lifetime = Lifetime::Owned {
            _seat: seat,
            _guard: guard,
            controllers: None,
            temporary,
        };
        let kind = options.store.map_or_else(StoreKind::of_environment, Ok)?;
        harness.store = harness.start_store(kind).await?;
        if !options.late_cluster_api {
            harness.install_cluster_api().await?;
        }
        Ok(harness)
    }

    /// Starts a fleet in `folder` that goes on when this process ends.
    pub async fn start_detached(folder: &Folder, members: usize) -> Result<Self> {
        install_crypto();
        prepare(folder)?;
        let started = async {
            let options = Options {
                members,
                ..Options::default()
            };
            let fleet = Self::start_in(folder, Tools::ensure()?, &options).await?;
            fleet.control_plane.install(&fleet.tools.kubectl).await?;
            Ok(fleet)
        };
        started.await.inspect_err(|_| stop_all(folder))
    }

    /// The fleet that runs in `folder`.
    pub fn attach(folder: &Folder) -> Result<Self> {
        install_crypto();
        let path = folder.control_plane();
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("no fleet in {}: start one first", folder.root().display()))?;
        let Description { kind, etcd, reach } = serde_json::from_str(&text)?;
        let host = Cluster::open(folder, "host")?;
        if !host.is_running() {
            bail!(
                "the fleet in {} does not run: start one first",
                folder.root().display()
            );
        }
        Ok(Self {
            folder: folder.clone(),
            tools: Tools::ensure()?,
            control_plane: ControlPlane::new(kind, host, folder.clone()),
            etcd,
            reach,
            member_arguments: Vec::new(),
            store: Store::file(folder),
            lifetime: Lifetime::Detached,
        })
    }

    /// Takes the clusters as they are.
    fn attached(folder: &Folder, tools: Tools, clusters: &Path) -> Result<Self> {
        note(format_args!(
            "attaching to the clusters of {}",
            clusters.display()
        ));
        let reach = attached::adopt(folder, clusters)?;
        let (kind, host) = (ControlPlaneKind::Attached, Cluster::open(folder, "host")?);
        let description = Description {
            kind,
            etcd: String::new(),
            reach: reach.clone(),
        };
        description.write(folder)?;
        Ok(Self {
            folder: folder.clone(),
            tools,
            control_plane: ControlPlane::new(kind, host, folder.clone()),
            etcd: String::new(),
            reach,
            member_arguments: Vec::new(),
            store: Store::file(folder),
            lifetime: Lifetime::Detached,
        })
    }

    async fn start_in(folder: &Folder, tools: Tools, options: &Options) -> Result<Self> {
        if let Some(clusters) = &options.attach_to {
            return Self::attached(folder, tools, clusters);
        }
        let members = options.members;
        let kind = match options.is_restored {
            true => ControlPlaneKind::StandIn,
            false => ControlPlaneKind::detect(),
        };
        note(format_args!(
            "starting etcd, the control plane and {members} members; the control plane is {kind}"
        ));
        for part in kind.skipped() {
            note(format_args!("  not run here: {part}"));
            if !options.is_restored {
                armadex_databases::tell_at_the_end(&format!("the end-to-end tests with {part}"))?;
            }
        }
        let etcd = etcd::start(folder, &tools, "etcd").await?;
        let own = match options.is_restored {
            true => etcd::start(folder, &tools, &etcd::of("host")).await?,
            false => etcd.clone(),
        };
        let shape = of_host(folder, at(&own, "host"), options)?;
        let host = Cluster::create(folder, &tools, "host", &shape).await?;
        let description = Description {
            kind,
            etcd: etcd.clone(),
            reach: Reach::default(),
        };
        description.write(folder)?;
        let control_plane = ControlPlane::new(kind, host, folder.clone());
        let harness = Self {
            folder: folder.clone(),
            tools,
            control_plane,
            etcd,
            reach: Reach::default(),
            member_arguments: options.member_arguments.clone(),
            store: Store::file(folder),
            lifetime: Lifetime::Detached,
        };
        let names: Vec<_> = (1..=members)
            .map(|number| format!("member{number}"))
            .collect();
        try_join_all(names.iter().map(|name| harness.start_member(name))).await?;
        Ok(harness)
    }

    /// Installs the Cluster API, which [`Options::late_cluster_api`] left out.
    pub async fn install_cluster_api(&mut self) -> Result<()> {
        self.control_plane.install(&self.tools.kubectl).await?;
        self.start_controllers().await
    }

    /// The same, aggregated, as Karmada's is anyway.
    pub async fn install_aggregated_cluster_api(&mut self) -> Result<ClusterApi> {
        let api = match self.control_plane.kind() {
            ControlPlaneKind::Karmada => {
                let api = self.control_plane.install_karmada(&self.tools.kubectl);
                ClusterApi::Karmada(Box::new(api.await?))
            }
            ControlPlaneKind::StandIn => {
                let keeper = self.start_member("keeper").await?;
                let api = Aggregated::serve(self.control_plane.host(), &keeper).await?;
                ClusterApi::StandIn(api)
            }
            ControlPlaneKind::Attached => bail!("somebody else runs this control plane"),
        };
        self.start_controllers().await?;
        Ok(api)
    }

    async fn start_controllers(&mut self) -> Result<()> {
        let started = self.control_plane.start_controllers().await?;
        if let Lifetime::Owned { controllers, .. } = &mut self.lifetime {
            *controllers = started;
        }
        Ok(())
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The programs.
    #[must_use]
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Where Armadex keeps its copy.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Armadex is started with that one from then on.
    pub fn replace_store(&mut self, store: Store) {
        self.store = store;
    }

    /// One that nothing is in yet, beside its own.
    pub(crate) async fn start_store(&self, kind: StoreKind) -> Result<Store> {
        let folder = self.folder.clone();
        tokio::task::spawn_blocking(move || Store::start(kind, &folder)).await?
    }

    /// How its control plane reaches this machine.
    #[must_use]
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The control plane.
    #[must_use]
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// The cluster of the control plane.
    #[must_use]
    pub fn host(&self) -> &Cluster {
        self.control_plane.host()
    }

    /// A member by its name.
    pub fn member(&self, name: &str) -> Result<Cluster> {
        Cluster::open(&self.folder, name)
    }

    /// Starts a new member, which is not joined yet. The second one gets an etcd of its own: without one, no test would
    /// ever see two clusters whose resource versions are unrelated.
    pub async fn start_member(&self, name: &str) -> Result<Cluster> {
        check_member_name(name)?;
        let etcd = if name == "member2" {
            at(
                &etcd::start(&self.folder, &self.tools, &etcd::of(name)).await?,
                name,
            )
        } else {
            at(&self.etcd, name)
        };
        let shape = Shape {
            etcd,
            arguments: self.member_arguments.clone(),
            ..Shape::default()
        };
        let member = Cluster::create(&self.folder, &self.tools, name, &shape).await?;
        note(format_args!("  {name} serves at {}", member.url()));
        Ok(member)
    }

    /// Starts a cluster that is no member, whose controllers make pods for a [`crate::kubelet`] to run.
    pub async fn start_cluster_of_pods(&self, name: &str) -> Result<Cluster> {
        check_member_name(name)?;
        let shape = Shape {
            etcd: at(&self.etcd, name),
            work: Work::Pods,
            ..Shape::default()
        };
        Cluster::create(&self.folder, &self.tools, name, &shape).await
    }

    /// Joins `name`, starting it first if there is no such member.
    pub async fn join(&self, name: &str) -> Result<()> {
        check_member_name(name)?;
        let member = match Cluster::exists(&self.folder, name) {
            true => self.member(name)?,
            false => self.start_member(name).await?,
        };
        self.control_plane.join(&member).await
    }

    /// Takes `name` out of the fleet; its apiserver goes on.
    pub async fn unjoin(&self, name: &str) -> Result<()> {
        self.control_plane.unjoin(&self.member(name)?).await
    }

    /// Replaces the token by which the control plane reaches `name`, and revokes the old one.
    pub async fn rotate(&self, name: &str) -> Result<()> {
        self.control_plane.rotate(&self.member(name)?).await
    }

    /// kubectl straight to the apiserver of `cluster`.
    #[must_use]
    pub fn kubectl(&self, cluster: &str) -> Kubectl {
        Kubectl::new(
            &self.tools.kubectl,
            self.folder.kubeconfig(cluster),
            cluster,
        )
    }

    /// kubectl through Armadex: `clusterpedia` is the fleet, else one member.
    #[must_use]
    pub fn fleet_kubectl(&self, context: &str) -> Kubectl {
        Kubectl::new(&self.tools.kubectl, self.folder.fleet_kubeconfig(), context)
    }

    /// Stops everything and removes a temporary folder: the end of a run that went well.
    pub async fn finish(mut self) {
        if let Lifetime::Owned { controllers, .. } = &mut self.lifetime
            && let Some(controllers) = controllers.take()
        {
            controllers.stop().await;
        }
        stop_all(&self.folder);
        self.lifetime = Lifetime::Detached;
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        if let Lifetime::Owned { temporary, .. } = &mut self.lifetime {
            let temporary = temporary.take();
            stop_all(&self.folder);
            keep(temporary, &self.folder);
        }
    }
}

/// Ends what was started when a start is given up, be it by an error or by Ctrl-C, and waits until it is gone. The guard would end it too,
/// and not wait.
struct HalfWay<'a>(Option<&'a Folder>);

impl HalfWay<'_> {
    fn succeeded(mut self) {
        self.0 = None;
    }
}

impl Drop for HalfWay<'_> {
    fn drop(&mut self) {
        if let Some(folder) = self.0 {
            stop_all(folder);
        }
    }
}

/// A temporary folder outlives a failure, for its logs.
fn keep(temporary: Option<TempDir>, folder: &Folder) {
    if let Some(temporary) = temporary {
        let _kept = temporary.keep();
        note(format_args!(
            "the logs are kept in {}",
            folder.root().join("logs").display()
        ));
    }
}

/// Makes room for a new fleet, unless one runs there.
fn prepare(folder: &Folder) -> Result<()> {
    if Record::all(&folder.run()).iter().any(Record::is_alive) {
        bail!(
            "a fleet runs in {} already: stop it first",
            folder.root().display()
        );
    }
    folder.clear()?;
    folder.create()
}

/// What the control plane is to be.
fn of_host(folder: &Folder, etcd: Etcd, options: &Options) -> Result<Shape> {
    let mut arguments = match options.writes_requests_down {
        true => requests::arguments(folder)?,
        false => Vec::new(),
    };
    let work = match options.runs_pods {
        true => Work::Pods,
        false => Work::Objects,
    };
    if options.runs_pods {
        arguments.push(kubelet::services_on_loopback());
    }
    Ok(Shape {
        etcd,
        arguments,
        work,
        names: options.finds_services.then(|| names(folder)).transpose()?,
    })
}

/// The file of names, as this machine has them so far.
fn names(folder: &Folder) -> Result<PathBuf> {
    let path = folder.names();
    let text = std::fs::read_to_string("/etc/hosts").context("cannot read /etc/hosts")?;
    std::fs::write(&path, format!("{}\n", text.trim_end()))?;
    Ok(path)
}

fn at(url: &str, cluster: &str) -> Etcd {
    Etcd {
        url: url.to_owned(),
        prefix: format!("/registry-{cluster}"),
    }
}

/// One provider for every TLS client of the process; a second call finds it installed.
pub fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
