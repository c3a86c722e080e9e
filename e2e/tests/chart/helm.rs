//! helm on the chart, without a cluster.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use armadex_e2e::{chart, tools};
use serde_json::Value;
use tempfile::TempDir;

/// The name of the release, and of its namespace.
pub(crate) const RELEASE: &str = "armadex";
pub(crate) const NAMESPACE: &str = "armadex-system";

/// helm with folders of its own.
pub(crate) struct Helm {
    program: PathBuf,
    home: TempDir,
}

impl Helm {
    pub(crate) fn ensure() -> Result<Self> {
        Ok(Self {
            program: tools::helm()?,
            home: tempfile::tempdir()?,
        })
    }

    /// Whether it has apiservers merge what it applies, and says of which fields others have changed. helm 3 merges for itself.
    pub(crate) fn applies(&self) -> Result<bool> {
        let version = ["version", "--template", "{{.Version}}"];
        let output = self.command().args(version).output()?;
        Ok(!output.stdout.starts_with(b"v3."))
    }

    /// What is made of a file of values and of further flags.
    pub(crate) fn render(&self, values: &Path, flags: &[&str]) -> Result<Vec<Value>> {
        let output = self.template(Some(values), flags)?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {complaint}", values.display());
        objects(&String::from_utf8(output.stdout)?)
    }

    /// What is made of values, as it is printed; `None`: they are refused.
    pub(crate) fn made(&self, values: &Value) -> Result<Option<Vec<u8>>> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), values.to_string())?;
        let output = self.template(Some(file.path()), &[])?;
        Ok(output.status.success().then_some(output.stdout))
    }

    /// What helm says of values that it refuses.
    pub(crate) fn complaint(&self, flags: &[&str]) -> Result<String> {
        let output = self.template(None, flags)?;
        ensure!(!output.status.success(), "{flags:?} were taken");
        Ok(String::from_utf8(output.stderr)?)
    }

    /// What helm prints after an installation.
    pub(crate) fn notes(&self, values: &Path, flags: &[&str]) -> Result<String> {
        let install = [
            "install",
            RELEASE,
            "--dry-run=client",
            "--namespace",
            NAMESPACE,
        ];
        let printed = self.run(&[&install[..], flags, &["--values"]].concat(), values)?;
        let notes = printed.split_once("NOTES:");
        Ok(notes.context("there are notes")?.1.to_owned())
    }

    /// A run on the chart with a file of values, which has to go well.
    pub(crate) fn run(&self, arguments: &[&str], values: &Path) -> Result<String> {
        let mut command = self.command();
        command.args(arguments).arg(values).arg(chart::folder());
        let output = command.output().context("helm does not run")?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{}: {printed}{complaint}",
            values.display()
        );
        Ok(printed)
    }

    /// A run on a cluster, which has to go well.
    pub(crate) fn release(&self, kubeconfig: &Path, arguments: &[&str]) -> Result<String> {
        let mut command = self.command();
        command.args(arguments).args(["--namespace", NAMESPACE]);
        let output = command.arg("--kubeconfig").arg(kubeconfig).output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{arguments:?}: {complaint}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// What is made of a release of another name, as it is printed.
    pub(crate) fn text(&self, release: &str, flags: &[&str]) -> Result<String> {
        let output = self.template_of(release, None, flags)?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{release}: {complaint}");
        Ok(String::from_utf8(output.stdout)?)
    }

    fn template(&self, values: Option<&Path>, flags: &[&str]) -> Result<Output> {
        self.template_of(RELEASE, values, flags)
    }

    fn template_of(&self, release: &str, values: Option<&Path>, flags: &[&str]) -> Result<Output> {
        let mut command = self.command();
        command.args(["template", release, "--namespace", NAMESPACE]);
        if let Some(values) = values {
            command.arg("--values").arg(values);
        }
        command.args(flags).arg(chart::folder());
        command.output().context("helm does not run")
    }

    fn command(&self) -> Command {
        let mut command = limited(&self.program);
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, self.home.path().join(name));
        }
        // There is no cluster to be asked.
        command.env("KUBECONFIG", self.home.path().join("none"));
        command
    }
}

/// A program that is ended if it does not end by itself.
pub(crate) fn limited(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg("120").arg(program);
    command
}

/// Every file of values.
pub(crate) fn all_values() -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(chart::folder().join("ci"))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    ensure!(paths.len() > 5, "{paths:?}");
    Ok(paths)
}

pub(crate) fn values_named(name: &str) -> PathBuf {
    chart::folder().join(format!("ci/{name}-values.yaml"))
}

/// The objects of some YAML, in which parts may be empty.
pub(crate) fn objects(text: &str) -> Result<Vec<Value>> {
    let parts = text.trim_start_matches("---\n").split("\n---\n");
    let parts = parts.filter(|part| part.lines().any(|line| line.starts_with("kind:")));
    let object =
        |text: &str| serde_saphyr::from_str(text).with_context(|| format!("no object: {text}"));
    parts.map(object).collect()
}

/// Its kind and name.
pub(crate) fn named(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    format!(
        "{} {} in {:?}",
        text(&object["kind"]),
        text(&metadata["name"]),
        text(&metadata["namespace"])
    )
}

/// The pods of Deployments, StatefulSets, Jobs and CronJobs.
pub(crate) fn pods(made: &[Value]) -> Vec<(String, Value)> {
    let places = ["/spec/template", "/spec/jobTemplate/spec/template"];
    let pod = |object: &Value| {
        let found = places.iter().find_map(|place| object.pointer(place));
        found.map(|template| (named(object), template.clone()))
    };
    made.iter().filter_map(pod).collect()
}
