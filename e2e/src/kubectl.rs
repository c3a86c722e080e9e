//! kubectl as people use it: with a kubeconfig and a context.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Result, ensure};
use tokio::process::Command;

use crate::limit::{output_given, output_of};

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
        let mut command = self.command(&["apply", "--filename", "-"]);
        let output = output_given(&mut command, manifest.as_bytes()).await?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl apply failed: {complaint}");
        Ok(())
    }

    /// The outcome of a run, whatever it is.
    pub async fn output(&self, arguments: &[&str]) -> Result<Output> {
        output_of(&mut self.command(arguments)).await
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--context", &self.context])
            .args(arguments);
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
