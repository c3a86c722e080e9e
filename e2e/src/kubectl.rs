//! kubectl as people use it: with a kubeconfig and a context.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// A kubectl bound to one kubeconfig, and to one context of it.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    context: String,
}

impl Kubectl {
    /// kubectl at `program` with `context` of the file `kubeconfig`.
    pub fn new(program: impl Into<PathBuf>, kubeconfig: impl AsRef<Path>, context: &str) -> Self {
        let kubeconfig = kubeconfig.as_ref().to_owned();
        Self {
            program: program.into(),
            kubeconfig,
            context: context.to_owned(),
        }
    }

    /// What a successful run prints; a failed one is an error with what it printed.
    pub async fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = self.output(arguments).await?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "kubectl {} failed: {complaint}",
            arguments.join(" ")
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Applies a manifest.
    pub async fn apply(&self, manifest: &str) -> Result<()> {
        let mut child = self
            .command(&["apply", "--filename", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        let mut stdin = child.stdin.take().context("standard input was piped")?;
        stdin.write_all(manifest.as_bytes()).await?;
        drop(stdin);
        let output = child.wait_with_output().await?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl apply failed: {complaint}");
        Ok(())
    }

    /// The outcome of a run, whatever it is.
    pub async fn output(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null());
        command
            .output()
            .await
            .with_context(|| format!("cannot run {}", self.program.display()))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--context", &self.context])
            .args(arguments)
            .kill_on_drop(true);
        // Discovery is cached on disk; a fleet of another run must not be found there.
        command.env(
            "KUBECACHEDIR",
            self.kubeconfig
                .with_file_name("state")
                .join("kubectl-cache"),
        );
        command
    }
}
