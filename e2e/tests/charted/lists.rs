//! What Armadex asked members for as lists, as the members themselves wrote it down.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How Armadex calls itself.
const AGENT: &str = "armadex/";

/// By one object it looks how far a kind has come, and lists nothing.
const A_LOOK: &str = "?limit=1";

/// The place of what members write down.
pub(crate) struct Lists {
    folder: TempDir,
}

impl Lists {
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let policy = json!({
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [{"level": "Metadata", "verbs": ["list"], "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
        });
        let lists = Self { folder };
        std::fs::write(lists.file("policy"), policy.to_string())?;
        Ok(lists)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Those of a member's apiserver. All append to one file.
    pub(crate) fn arguments(&self) -> Vec<String> {
        vec![
            format!("--audit-policy-file={}", self.file("policy").display()),
            format!("--audit-log-path={}", self.file("log").display()),
        ]
    }

    /// How many there were so far: some.
    pub(crate) fn count(&self) -> Result<usize> {
        let listed = self.so_far()?.len();
        ensure!(listed > 0, "members were asked for no list");
        Ok(listed)
    }

    /// Since there were so many there was none.
    pub(crate) fn are_no_more_than(&self, listed: usize) -> Result<()> {
        let more = self.so_far()?.split_off(listed);
        ensure!(more.is_empty(), "members were asked for lists: {more:#?}");
        Ok(())
    }

    /// The lists so far, by path.
    fn so_far(&self) -> Result<Vec<String>> {
        let text =
            std::fs::read_to_string(self.file("log")).context("members wrote nothing down")?;
        let asked = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).context("a line that is no JSON")?;
            let agent = line["userAgent"].as_str().unwrap_or_default();
            let uri = line["requestURI"].as_str().unwrap_or_default();
            let is_list = agent.starts_with(AGENT) && !uri.ends_with(A_LOOK);
            Ok(is_list.then(|| uri.to_owned()))
        });
        asked.filter_map(Result::transpose).collect()
    }
}
