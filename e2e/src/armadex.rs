//! Armadex itself as a process behind the control plane: its binary, its certificate, its APIService.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::account;
use crate::aggregation::ApiService;
use crate::deploy;
pub use crate::deploy::{NAMESPACE, SERVING_NAMESPACE};
use crate::harness::Harness;
use crate::http::Http;
use crate::limit::{killed_at, output_of};
use crate::log;
use crate::ports::free_port;
use crate::process::{Program, last_words};
use crate::progress::note;
use crate::record::Record;
use crate::store::StoreKind;
use crate::wait::wait_until;

/// The counter of lists that were asked of members: a restart and a rotation ask for none.
pub const LISTS: &str = "armadex_member_lists_total";
/// The counter of watches that were begun.
pub const WATCHES: &str = "armadex_member_watches_total";
const SERVICE: &str = "armadex-apiserver";
/// What is said of a store that `armadex store copy` was to make.
const UNFINISHED: &str = "it is a copy that is not finished";
/// Opening a store and the first discovery take a second; the limit is for a busy machine.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Armadex closes its store and its streams within this when asked to end.
const GRACE: Duration = Duration::from_secs(15);

/// One Armadex process, or one that was.
#[derive(Debug, Clone)]
pub struct Armadex {
    program: Program,
    /// Where its API listens.
    pub listen: u16,
    /// Where its admin port listens.
    pub admin: u16,
    folder: crate::folder::Folder,
    record: Record,
}

/// Which processes of Armadex there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Everything in one process.
    All,
    /// The API alone.
    Apiserver,
    /// The members' data alone.
    Synchro,
    /// The policies alone.
    Controllers,
}

impl Role {
    /// What it is called on the command line.
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Apiserver => "apiserver",
            Self::Synchro => "synchro",
            Self::Controllers => "controllers",
        }
    }

    /// Whom the control plane takes it for.
    #[must_use]
    pub fn account(self) -> &'static str {
        match self {
            Self::All => account::ACCOUNT,
            Self::Apiserver => account::APISERVER.account,
            Self::Synchro => account::SYNCHRO.account,
            Self::Controllers => account::CONTROLLERS.account,
        }
    }

    fn syncs(self) -> bool {
        matches!(self, Self::All | Self::Synchro)
    }

    fn serves(self) -> bool {
        matches!(self, Self::All | Self::Apiserver)
    }
}

impl Armadex {
    /// Starts the binary in `role` against the host of `fleet`, with `extra` arguments, and waits until it is ready.
    pub async fn start(fleet: &Harness, role: Role, extra: &[&str]) -> Result<Self> {
        let name = format!("armadex-{}", role.command());
        let kubeconfig = fleet.folder().account_kubeconfig(role.account());
        Self::start_as(fleet, role, (&name, &kubeconfig), extra).await
    }

    /// The same beside another one of that role: under a name of its own, by a kubeconfig of its own.
    pub async fn start_as(
        fleet: &Harness,
        role: Role,
        way: (&str, &Path),
        extra: &[&str],
    ) -> Result<Self> {
        Self::start_built(fleet, binary()?, role, way, extra).await
    }

    /// The same of another build of the binary.
    pub async fn start_built(
        fleet: &Harness,
        binary: PathBuf,
        role: Role,
        way: (&str, &Path),
        extra: &[&str],
    ) -> Result<Self> {
        let serving = Serving::Files;
        Self::start_serving(fleet, binary, role, way, (serving, extra)).await
    }

    /// Starts the binary in `role`, which makes its certificate and registers itself on the host, and waits until it is available there.
    pub async fn start_registered(fleet: &Harness, role: Role, extra: &[&str]) -> Result<Self> {
        let name = format!("armadex-{}", role.command());
        let kubeconfig = fleet.folder().account_kubeconfig(role.account());
        let (way, serving) = ((name.as_str(), kubeconfig.as_path()), Serving::Registered);
        let armadex = Self::start_serving(fleet, binary()?, role, way, (serving, extra)).await?;
        armadex.wait_until_available(fleet).await?;
        Ok(armadex)
    }

    async fn start_serving(
        fleet: &Harness,
        binary: PathBuf,
        role: Role,
        (name, kubeconfig): (&str, &Path),
        (serving, extra): (Serving, &[&str]),
    ) -> Result<Self> {
        let (listen, admin) = (free_port()?, free_port()?);
        let mut arguments = arguments(fleet, role, kubeconfig, listen, admin);
        if role.serves() {
            arguments.extend(serving.arguments(fleet, listen)?);
        }
        arguments.extend(extra.iter().map(|&argument| argument.to_owned()));
        let program = Program::new(name, binary, arguments);
        let record = program.start(fleet.folder())?;
        let armadex = Self {
            program,
            listen,
            admin,
            folder: fleet.folder().clone(),
            record,
        };
        armadex.wait_until_ready().await?;
        Ok(armadex)
    }

    /// Starts it again with the same arguments, after it ended or was killed.
    pub async fn restart(&mut self) -> Result<()> {
        self.record = self.program.start(&self.folder)?;
        self.wait_until_ready().await
    }

    /// Ends it as a crash would.
    pub fn kill(&self) {
        self.record.kill();
    }

    /// Asks it to end and waits.
    pub fn end(&self) {
        self.record.stop(GRACE);
    }

    /// Ends it, and reads what it said in all of its life: nothing in it broke, and nothing that it said is secret.
    pub fn stop(&self) -> Result<()> {
        self.end();
        log::check(&self.folder, &self.program.name)
    }

    /// Its process.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// What it wrote into its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.log(&self.program.name)).unwrap_or_default()
    }

    /// The text of its metrics.
    pub async fn metrics(&self) -> Result<String> {
        Http::default()
            .get(&format!("http://127.0.0.1:{}/metrics", self.admin))
            .await
    }

    /// The sum of one of its counters over all labels; an error when it has no such counter.
    pub async fn counter(&self, name: &str) -> Result<f64> {
        let text = self.metrics().await?;
        sum(&text, name).with_context(|| format!("{} has no counter {name}", self.program.name))
    }

    /// Registers it as `v1beta1.clusterpedia.io` on the host, by the shipped manifest, and waits until that is available.
    pub async fn register(&self, fleet: &Harness) -> Result<()> {
        let authority = fleet.host().pki().read("ca.crt")?;
        let manifest = deploy::registration(&fleet.reach().name, self.listen, &authority)?;
        fleet.kubectl("host").apply(&manifest).await?;
        self.wait_until_available(fleet).await
    }

    async fn wait_until_available(&self, fleet: &Harness) -> Result<()> {
        let host = fleet.host().client().await?;
        api_service(self.listen).wait_until_available(&host).await
    }

    /// Takes the registration away again.
    pub async fn unregister(&self, fleet: &Harness) -> Result<()> {
        api_service(self.listen)
            .remove(&fleet.host().client().await?)
            .await
    }

    async fn wait_until_ready(&self) -> Result<()> {
        let http = Http::default();
        let url = format!("http://127.0.0.1:{}/readyz", self.admin);
        wait_until(
            &format!("{} is ready", self.program.name),
            START_LIMIT,
            || async {
                if !self.record.is_alive() {
                    return Ok(true);
                }
                http.get(&url).await.map(|_| true)
            },
        )
        .await
        .with_context(|| last_words(&self.folder, &self.program.name))?;
        ensure!(
            self.record.is_alive(),
            "armadex ended; {}",
            last_words(&self.folder, &self.program.name)
        );
        Ok(())
    }
}

/// The sum of the samples of `name` in a text of metrics.
fn sum(text: &str, name: &str) -> Option<f64> {
    let samples = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value = match rest.strip_prefix('{') {
            Some(labels) => labels.rsplit_once('}')?.1,
            None => rest.strip_prefix(' ')?,
        };
        value.split_whitespace().next()?.parse::<f64>().ok()
    });
    samples.reduce(|sum, value| sum + value)
}

fn api_service(port: u16) -> ApiService {
    ApiService {
        group: "clusterpedia.io",
        version: "v1beta1",
        service: SERVICE,
        namespace: NAMESPACE,
        port,
    }
}

/// The name that its certificate is made for.
#[must_use]
pub fn server_name() -> String {
    format!("{SERVICE}.{NAMESPACE}.svc")
}

fn arguments(
    fleet: &Harness,
    role: Role,
    kubeconfig: &Path,
    listen: u16,
    admin: u16,
) -> Vec<String> {
    let mut arguments = vec![
        role.command().to_owned(),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--admin-listen=127.0.0.1:{admin}"),
    ];
    if role.syncs() {
        arguments.push(format!("--namespace={NAMESPACE}"));
        let namespaces = format!("{NAMESPACE},{}", crate::stand_in::NAMESPACE);
        arguments.push(format!("--credential-namespaces={namespaces}"));
    }
    if role != Role::Controllers {
        arguments.extend(fleet.store().arguments());
    }
    if role.serves() {
        arguments.push(format!("--listen={}:{listen}", fleet.reach().listen()));
    }
    arguments
}

/// Where its certificate comes from, and who registers it.
#[derive(Clone, Copy)]
enum Serving {
    /// Files of the harness, which registers it.
    Files,
    /// A Secret that it keeps, and itself.
    Registered,
}

impl Serving {
    fn arguments(self, fleet: &Harness, listen: u16) -> Result<Vec<String>> {
        let pki = fleet.host().pki();
        let file = |end: &str| pki.file(&format!("{SERVICE}.{end}"));
        Ok(match self {
            Self::Files => {
                pki.issue_for_service(SERVICE, NAMESPACE)?;
                vec![
                    format!("--tls-cert-file={}", file("crt").display()),
                    format!("--tls-private-key-file={}", file("key").display()),
                ]
            }
            Self::Registered => vec![
                format!("--namespace={NAMESPACE}"),
                "--serving-secret=armadex-serving".to_owned(),
                format!("--serving-namespace={SERVING_NAMESPACE}"),
                format!("--register={}:{listen}", fleet.reach().name),
            ],
        })
    }
}

/// The binary: `$ARMADEX_BIN`, else the one that was built beside this program or test.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("ARMADEX_BIN") {
        return Ok(PathBuf::from(path));
    }
    let own = std::env::current_exe().context("this program does not know its own path")?;
    let found = own
        .ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join("armadex"))
        .find(|path| path.is_file());
    found.with_context(|| {
        format!(
            "no armadex beside {}: build it (cargo build -p armadex) or set ARMADEX_BIN",
            own.display()
        )
    })
}

/// Runs one of the binary's commands that end by themselves, and gives what it printed.
pub async fn run(arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(binary()?);
    let output = output_of(command.args(arguments)).await?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "armadex {} failed: {complaint}",
        arguments.join(" ")
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Compares what a fleet's store has of each object with the object itself, and fails for each difference: lists alone do not show an index that is behind its
/// objects.
pub async fn check_store(fleet: &Harness) -> Result<()> {
    let store = fleet.store().arguments();
    let check: Vec<&str> = ["store", "check"]
        .into_iter()
        .chain(store.iter().map(String::as_str))
        .collect();
    note(run(&check).await?.trim());
    Ok(())
}

/// Copies what a fleet's Armadex keeps into a store of another kind, which it is started with from then on. No process may have the former one. The first that copies is
/// killed on its way: until the next has gone on from there, nobody takes what there is for a store.
pub async fn move_store(fleet: &mut Harness, kind: StoreKind) -> Result<()> {
    let to = fleet.start_store(kind).await?;
    let copy = fleet.store().arguments_to_copy(&to);
    let copy = Vec::from_iter(copy.iter().map(String::as_str));
    killed_at(Command::new(binary()?).args(&copy), "copied ").await?;
    let store = to.arguments();
    let store = store.iter().map(String::as_str);
    let stats = Vec::from_iter(["store", "stats"].into_iter().chain(store));
    let refused = run(&stats).await.err().context("half a copy was opened")?;
    let refused = format!("{refused:#}");
    ensure!(refused.contains(UNFINISHED), "{refused}");
    run(&copy).await?;
    fleet.replace_store(to);
    Ok(())
}

/// Installs on the host the CRDs and the account as which `armadex all` then runs there, with what the policy for Karmada needs.
pub async fn install(fleet: &Harness) -> Result<()> {
    install_for(fleet, &[]).await?;
    account::use_one(&fleet.kubectl("host"), fleet.folder()).await
}

/// The same with an account for each part.
pub async fn install_apart(fleet: &Harness) -> Result<()> {
    install_for(fleet, &["--apart"]).await?;
    account::use_apart(&fleet.kubectl("host"), fleet.folder()).await
}

async fn install_for(fleet: &Harness, more: &[&str]) -> Result<()> {
    let kubeconfig = fleet.host().kubeconfig().display().to_string();
    let install = [
        "install",
        "--kubeconfig",
        &kubeconfig,
        "--rights",
        "karmada",
    ];
    run(&[&install, more].concat()).await.map(drop)
}

/// Writes the fleet's kubeconfig, with a context for every member that is on-boarded now.
pub async fn write_kubeconfig(fleet: &Harness) -> Result<()> {
    let host = fleet.host().kubeconfig().display().to_string();
    let output = fleet.folder().fleet_kubeconfig().display().to_string();
    run(&["kubeconfig", "--kubeconfig", &host, "--output", &output])
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_summed_over_its_labels() {
        let text = "# TYPE lists counter\nlists_total{cluster=\"a\"} 2\nlists_total{cluster=\"b\"} 3\n\
                    lists_total_more 9\nplain 4\n# EOF\n";
        assert_eq!(sum(text, "lists_total"), Some(5.0));
        assert_eq!(sum(text, "plain"), Some(4.0));
        assert_eq!(sum(text, "none"), None);
    }
}
