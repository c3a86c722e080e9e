//! The control plane that Armadex is installed on: how it is reached.

mod context;
mod proxy;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use armadex_control_plane::limited;
use armadex_synchro::ControlPlane as Way;
use clap::Args;
use http::Uri;
use kube::config::{AuthInfo, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tracing::warn;

/// Which control plane, and as whom.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ControlPlaneFlags {
    /// Kubeconfig of the control plane. Without it: `$KUBECONFIG`, the service account of the pod, `~/.kube/config`. Its `proxy-url` counts, or else `$HTTPS_PROXY` but for what `$NO_PROXY` names.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, if not its current one.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl ControlPlaneFlags {
    /// A client for the control plane, each of whose requests ends: the only one that there is, so nothing of this program waits
    /// for ever.
    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        Ok(self.client_and_server().await?.0)
    }

    /// The same, and the API server that it asks, as it is told to people.
    pub(crate) async fn client_and_server(&self) -> anyhow::Result<(Client, String)> {
        client_of(self.config().await?)
    }

    /// The file from which the token of the kubeconfig is read again and again. That of a pod's service account is the kubelet's to renew, and none of these.
    pub(crate) async fn token_file(&self) -> anyhow::Result<Option<PathBuf>> {
        match self.origin(&Environment::of_process()) {
            Origin::Pod => Ok(None),
            Origin::Files(_) => {
                let AuthInfo {
                    token, token_file, ..
                } = self.config().await?.auth_info;
                Ok(token_file.filter(|_| token.is_none()).map(PathBuf::from))
            }
        }
    }

    /// The way to members that only the control plane reaches. One that cannot be gone is told of, and all others go on without it.
    pub(crate) async fn way_to_members(&self) -> anyhow::Result<Option<Way>> {
        let config = self.config().await?;
        let way = Way::new(&config);
        if let Err(error) = &way {
            let server = server(&config);
            warn!(%server, %error, "members are not asked by the control plane");
        }
        Ok(way.ok())
    }

    /// The kubeconfigs that are read as one, the first with most weight, where it is not the pod's service account that counts.
    pub(crate) fn kubeconfigs(&self) -> anyhow::Result<Vec<PathBuf>> {
        match self.origin(&Environment::of_process()) {
            Origin::Files(files) => existing(&files),
            Origin::Pod => bail!("no kubeconfig: pass --kubeconfig or set KUBECONFIG"),
        }
    }

    /// How it is reached, and as whom.
    pub(crate) async fn config(&self) -> anyhow::Result<Config> {
        let files = match self.origin(&Environment::of_process()) {
            Origin::Files(files) => existing(&files)?,
            Origin::Pod => {
                return Config::incluster_env()
                    .context("cannot use the service account of this pod");
            }
        };
        let mut all = Kubeconfig::default();
        for path in &files {
            let next = read(path)?;
            all = all
                .merge(next)
                .with_context(|| format!("cannot use the kubeconfig {}", path.display()))?;
        }
        let environment = proxy::Environment::of_process();
        context::config(&all, self.context.as_deref(), &environment)
            .with_context(|| format!("cannot use the kubeconfig {}", listed(&files)))
    }

    /// Where the control plane is said. What was said first counts, also where it is wrong: the next place may lead to another cluster, which would be taken
    /// for the control plane.
    fn origin(&self, environment: &Environment) -> Origin {
        if let Some(path) = &self.kubeconfig {
            return Origin::Files(vec![path.clone()]);
        }
        let named = environment.kubeconfig.as_deref().unwrap_or_default();
        let named = std::env::split_paths(named).filter(|path| !path.as_os_str().is_empty());
        let named: Vec<PathBuf> = named.collect();
        if !named.is_empty() {
            Origin::Files(named)
        } else if environment.is_pod && self.context.is_none() {
            Origin::Pod
        } else {
            let home = environment.home.clone().unwrap_or_default();
            Origin::Files(vec![home.join(".kube/config")])
        }
    }
}

/// The same for the cluster that this process is a pod of, whatever its variables say, by the service account of the pod.
pub(crate) fn client_of_pod() -> anyhow::Result<(Client, String)> {
    client_of(Config::incluster_env().context("cannot use the service account of this pod")?)
}

/// A client that asks the same API server with a token, and with nothing of whoever the kubeconfig is of.
pub(crate) fn client_with_token(config: &Config, token: String) -> anyhow::Result<Client> {
    let mut config = config.clone();
    config.auth_info = AuthInfo {
        token: Some(token.into()),
        ..AuthInfo::default()
    };
    Ok(client_of(config)?.0)
}

fn client_of(mut config: Config) -> anyhow::Result<(Client, String)> {
    // The client's own retries would hide a 503 for minutes; every caller backs off by itself and says so.
    config.default_retry = false;
    let server = server(&config);
    let client = Client::try_from(config);
    let client = client.with_context(|| format!("cannot make a client for {server}"))?;
    Ok((limited(client), server))
}

/// With the proxy on the way, if there is one: what goes wrong may be wrong there.
fn server(config: &Config) -> String {
    let server = told(&config.cluster_url);
    match &config.proxy_url {
        Some(proxy) => format!("{server} by the proxy {}", told(proxy)),
        None => server,
    }
}

/// Without what somebody may have written before an @.
fn told(url: &Uri) -> String {
    let scheme = url.scheme_str().unwrap_or("https");
    let authority = url.authority().map_or("", |authority| authority.as_str());
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}")
}

/// Where the control plane is said.
#[derive(Debug, PartialEq, Eq)]
enum Origin {
    Files(Vec<PathBuf>),
    /// The service account of the pod, whose cluster is the control plane.
    Pod,
}

/// What the process was started with.
#[derive(Default)]
struct Environment {
    kubeconfig: Option<OsString>,
    home: Option<PathBuf>,
    is_pod: bool,
}

impl Environment {
    fn of_process() -> Self {
        Self {
            kubeconfig: std::env::var_os("KUBECONFIG"),
            home: std::env::var_os("HOME").map(PathBuf::from),
            is_pod: std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
        }
    }
}

/// Of several files those that are there, as kubectl reads them.
fn existing(files: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    if let [only] = files {
        return Ok(vec![only.clone()]);
    }
    let there = files.iter().filter(|path| path.exists());
    let there: Vec<PathBuf> = there.cloned().collect();
    ensure!(
        !there.is_empty(),
        "there is no kubeconfig {}",
        listed(files)
    );
    Ok(there)
}

fn listed(files: &[PathBuf]) -> String {
    let names = files.iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}

fn read(path: &Path) -> anyhow::Result<Kubeconfig> {
    let read = Kubeconfig::read_from(path).map_err(|error| match error {
        // It names the file again.
        KubeconfigError::ReadConfig(error, _) => anyhow::Error::from(error),
        other => other.into(),
    });
    read.with_context(|| format!("cannot read the kubeconfig {}", path.display()))
}

#[cfg(test)]
mod tests {
    use armadex_control_plane::ANSWER_LIMIT;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    fn origin(flag: Option<&str>, context: Option<&str>, kubeconfig: &str, is_pod: bool) -> Origin {
        let flags = ControlPlaneFlags {
            kubeconfig: flag.map(PathBuf::from),
            context: context.map(str::to_owned),
        };
        flags.origin(&Environment {
            kubeconfig: Some(kubeconfig.into()),
            home: Some("/home/me".into()),
            is_pod,
        })
    }

    fn files(names: &[&str]) -> Origin {
        Origin::Files(names.iter().map(PathBuf::from).collect())
    }

    /// A server that takes one request and never answers; its address, and when it has taken it.
    async fn silent() -> (String, tokio::task::JoinHandle<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let taken = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.expect("a connection");
            let begun = socket.read_u8().await.expect("a request");
            assert_eq!(begun, b'G');
            socket
        });
        (format!("http://{address}"), taken)
    }

    #[tokio::test]
    async fn a_control_plane_that_takes_a_request_and_does_not_answer_is_given_up() {
        let (server, taken) = silent().await;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kubeconfig");
        let named =
            |field: &str, value: String| format!("{field}s: [{{name: a, {field}: {value}}}]\n");
        let text = named("cluster", format!("{{server: \"{server}\"}}"))
            + &named("user", "{}".to_owned())
            + &named("context", "{cluster: a, user: a}".to_owned())
            + "current-context: a\n";
        std::fs::write(&path, text).expect("written");
        let flags = ControlPlaneFlags {
            kubeconfig: Some(path),
            context: None,
        };
        let client = flags.client().await.expect("a client");
        let asked = tokio::spawn(async move { client.apiserver_version().await.map(drop) });
        let socket = taken.await.expect("it was asked");
        tokio::time::pause();
        let answer = tokio::time::timeout(2 * ANSWER_LIMIT, asked).await;
        let answer = answer.expect("an end").expect("no panic");
        let error = answer.expect_err("no answer");
        assert!(error.to_string().contains("no answer within"), "{error}");
        drop(socket);
    }

    #[test]
    fn what_is_said_first_counts_and_nothing_else_is_tried() {
        for is_pod in [true, false] {
            assert_eq!(origin(Some("/a"), None, "/b:/c", is_pod), files(&["/a"]));
            assert_eq!(origin(None, None, "/b::/c", is_pod), files(&["/b", "/c"]));
            assert_eq!(
                origin(None, Some("x"), "", is_pod),
                files(&["/home/me/.kube/config"])
            );
        }
        assert_eq!(origin(None, None, "", true), Origin::Pod);
        assert_eq!(
            origin(None, None, "", false),
            files(&["/home/me/.kube/config"])
        );
    }

    /// As a kubelet mounts a Secret, of which it puts the next one in the place of a link.
    #[tokio::test]
    async fn a_token_is_read_by_the_name_that_stays_when_the_secret_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let (now, text) = (
            folder.path().join("..1"),
            "clusters: [{name: a, cluster: {server: \"https://a\"}}]\nusers: [{name: a, user: {tokenFile: token}}]\n\
             contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n",
        );
        std::fs::create_dir(&now).expect("a folder");
        std::os::unix::fs::symlink("..1", folder.path().join("..data")).expect("a link");
        for (name, text) in [("kubeconfig", text), ("token", "t")] {
            std::fs::write(now.join(name), text).expect("written");
            let visible = folder.path().join(name);
            std::os::unix::fs::symlink(Path::new("..data").join(name), visible).expect("a link");
        }
        let flags = ControlPlaneFlags {
            kubeconfig: Some(folder.path().join("kubeconfig")),
            context: None,
        };
        let file = flags.token_file().await.expect("a kubeconfig");
        assert_eq!(file, Some(folder.path().join("token")));
    }

    #[test]
    fn a_server_is_told_without_the_password_of_its_address() {
        let of = |url: &str| server(&Config::new(url.parse().expect("an address")));
        assert_eq!(of("https://10.0.0.1:6443/"), "https://10.0.0.1:6443");
        assert_eq!(
            of("https://me:secret@[::1]:6443/prefix"),
            "https://[::1]:6443"
        );
        let mut config = Config::new(Uri::from_static("https://karmada:5443"));
        config.proxy_url = Some(Uri::from_static("http://me:secret@proxy:3128"));
        assert_eq!(
            server(&config),
            "https://karmada:5443 by the proxy http://proxy:3128"
        );
    }

    #[test]
    fn files_that_are_not_there_are_left_out_while_one_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let there = folder.path().join("there");
        std::fs::write(&there, "").expect("written");
        let missing = PathBuf::from("/not/there");
        let found = existing(&[missing.clone(), there.clone()]);
        assert_eq!(found.expect("one"), [there]);
        let error = existing(&[missing.clone(), missing]).expect_err("none");
        assert_eq!(
            error.to_string(),
            "there is no kubeconfig /not/there, /not/there"
        );
    }
}
