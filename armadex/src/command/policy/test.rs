//! `armadex policy test`: holds what policies make against what is expected of them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use armadex_policy::SecretNamespaces;
use clap::Args;
use serde_json::Value;
use similar::TextDiff;

use super::made::Outcome;
use super::render::rendered;
use super::{files, printed};
use crate::credentials::CredentialFlags;

const POLICY: &str = "policy.yaml";
const FROM: &str = "from";
const EXPECTED: &str = "expected.yaml";
/// What a line of the expected text begins with that says what does not come about.
const REFUSED: &str = "# not made: ";

/// Hold what policies make of objects in files against what is expected, without a control plane.
///
/// Each folder of DIR is a case. It has policy.yaml and a folder named from with files of objects, as `armadex policy render` takes
/// them, and what that prints in expected.yaml. What does not come about is expected there too, in comments that begin with `# not made: `.
/// Other comments, and how the YAML is laid out, make no difference. For each case a line is printed, with the differences if there are
/// any; the exit code is 1 unless all are as expected. It is made for the CI of whoever writes policies.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Folder with a folder for each case.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Policy of the cases that have no policy.yaml of their own.
    #[arg(long, short, value_name = "FILE")]
    filename: Option<PathBuf>,
    /// Write expected.yaml where it is not there, or is another.
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    credentials: CredentialFlags,
}

/// What has come of a case.
enum Verdict {
    AsExpected,
    Updated,
    /// With the differences.
    Differs(String),
}

/// Tries every case, and prints what has come of each.
pub(crate) fn run(flags: &Flags) -> anyhow::Result<()> {
    let cases = cases(&flags.folder)?;
    let mut out = std::io::stdout().lock();
    let mut failed = 0;
    for case in &cases {
        let name = case.file_name().unwrap_or_default().display();
        match try_case(case, flags) {
            Ok(Verdict::AsExpected) => writeln!(out, "{name}: ok")?,
            Ok(Verdict::Updated) => writeln!(out, "{name}: updated")?,
            Ok(Verdict::Differs(differences)) => {
                failed += 1;
                write!(out, "{name}: differs\n{differences}")?;
            }
            Err(error) => {
                failed += 1;
                writeln!(out, "{name}: fails: {error:#}")?;
            }
        }
    }
    let (all, verb) = (cases.len(), if failed == 1 { "is" } else { "are" });
    ensure!(
        failed == 0,
        "{failed} of {all} cases {verb} not as expected"
    );
    Ok(())
}

fn cases(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let reading = || format!("cannot read {}", folder.display());
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder).with_context(reading)? {
        let path = entry.with_context(reading)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') {
            cases.push(path);
        }
    }
    cases.sort();
    ensure!(
        !cases.is_empty(),
        "no cases in {}: each is a folder with {POLICY}, {FROM} and {EXPECTED}",
        folder.display()
    );
    Ok(cases)
}

fn try_case(case: &Path, flags: &Flags) -> anyhow::Result<Verdict> {
    let own = Some(case.join(POLICY)).filter(|path| path.exists());
    let policy = own.or_else(|| flags.filename.clone());
    let policy = policy.with_context(|| format!("no {POLICY}, and no --filename"))?;
    let from = case.join(FROM);
    ensure!(from.is_dir(), "no folder {FROM}");
    let secrets = SecretNamespaces::new(&flags.credentials.credential_namespaces);
    let made = text(&rendered(&[policy], &[from], &secrets)?)?;
    let path = case.join(EXPECTED);
    let expected = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && flags.update => String::new(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            anyhow::bail!("no {EXPECTED}: --update writes it");
        }
        Err(error) => return Err(error).context(format!("cannot read {EXPECTED}")),
    };
    // One that can't be read is another.
    let is_as_expected = meaning(&expected).is_ok_and(|told| Some(told) == meaning(&made).ok());
    if is_as_expected && path.exists() {
        return Ok(Verdict::AsExpected);
    }
    if flags.update {
        fs::write(&path, made).with_context(|| format!("cannot write {EXPECTED}"))?;
        return Ok(Verdict::Updated);
    }
    let differences = TextDiff::from_lines(&expected, &made);
    let mut differences = differences.unified_diff();
    let differences = differences.header(EXPECTED, "what is made");
    Ok(Verdict::Differs(differences.to_string()))
}

/// What does not come about, and then what does.
fn text(outcome: &Outcome) -> anyhow::Result<String> {
    let refused = outcome.refused.iter();
    let mut text: String = refused
        .map(|refusal| format!("{REFUSED}{refusal}\n"))
        .collect();
    text.push_str(&printed::yaml(&printed::objects(outcome)?)?);
    Ok(text)
}

/// What such a text says, however it is laid out.
fn meaning(text: &str) -> anyhow::Result<(Vec<&str>, Vec<Value>)> {
    let refused = text.lines().filter_map(|line| line.strip_prefix(REFUSED));
    Ok((refused.map(str::trim_end).collect(), files::values(text)?))
}
