//! `armadex policy test`: holds what policies make against what is expected of them.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use armadex_policy::SecretNamespaces;
use clap::Args;
use serde_json::Value;
use similar::TextDiff;

use super::made::Outcome;
use super::render::rendered;
use super::room::Rooms;
use super::{files, printed};
use crate::credentials::CredentialFlags;
use crate::visible::visible;

const POLICY: &str = "policy.yaml";
const FROM: &str = "from";
const EXPECTED: &str = "expected.yaml";
/// What a line of the expected text begins with that says what does not come about.
const REFUSED: &str = "# not made: ";
/// For the differences of one case. Of long texts that have little in common a rough answer does, and the best takes hours.
const COMPARING: Duration = Duration::from_secs(2);

/// Hold what policies make of objects in files against what is expected, without a control plane.
///
/// Each folder of DIR is a case. It has policy.yaml and a folder named from with files of objects, as `armadex policy render` takes
/// them, and what that prints in expected.yaml. What does not come about is expected there too, in comments that begin with `# not made: `.
/// Other comments, and how the YAML is laid out, make no difference. For each case a line is printed, with the differences if there are
/// any; the exit code is 1 unless all are as expected. It is made for the CI of whoever writes policies, and may be given a stranger's cases: a case
/// with links in it fails, for they could lead to files that are nobody's business, and no more than 64 MiB are read and 256 MiB made in a run.
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
    let is_input = flags.filename.as_deref() == Some(Path::new("-"));
    ensure!(
        !is_input,
        "- stands for standard input, which can be read once, and each case reads the policy: name a file"
    );
    let cases = cases(&flags.folder)?;
    let mut out = std::io::stdout().lock();
    let mut rooms = Rooms::default();
    let mut failed = 0;
    for case in &cases {
        let name = case.file_name().unwrap_or_default().display();
        let (failure, words) = match try_case(case, flags, &mut rooms) {
            Ok(Verdict::AsExpected) => (0, format!("{name}: ok\n")),
            Ok(Verdict::Updated) => (0, format!("{name}: updated\n")),
            Ok(Verdict::Differs(differences)) => (1, format!("{name}: differs\n{differences}")),
            Err(error) => (1, format!("{name}: fails: {error:#}\n")),
        };
        failed += failure;
        out.write_all(visible(&words).as_bytes())?;
    }
    let (all, verb) = (cases.len(), if failed == 1 { "is" } else { "are" });
    ensure!(
        failed == 0,
        "{failed} of {all} cases {verb} not as expected"
    );
    Ok(())
}

/// The folders of this one. A link that is none to a file counts: that it is no case is better told than left out.
fn cases(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let reading = || format!("cannot read {}", folder.display());
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder).with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let (path, kind) = (entry.path(), entry.file_type().with_context(reading)?);
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !is_hidden && (kind.is_dir() || kind.is_symlink() && !path.is_file()) {
            cases.push(path);
        }
    }
    cases.sort();
    let from = folder.join(FROM);
    let is_case = cases.contains(&from) && !from.join(FROM).exists();
    ensure!(
        !is_case,
        "{} is itself a case: name the folder that it is in",
        folder.display()
    );
    ensure!(
        !cases.is_empty(),
        "no cases in {}: each is a folder with {POLICY}, {FROM} and {EXPECTED}",
        folder.display()
    );
    Ok(cases)
}

fn try_case(case: &Path, flags: &Flags, rooms: &mut Rooms) -> anyhow::Result<Verdict> {
    ensure!(is_folder(case), "it is a link, and no folder");
    let own = case.join(POLICY);
    let policy = match files::is_own(&own)? {
        true => own,
        false => flags
            .filename
            .clone()
            .with_context(|| format!("no {POLICY}, and no --filename"))?,
    };
    let from = case.join(FROM);
    ensure!(is_folder(&from), "no folder {FROM}");
    let secrets = SecretNamespaces::new(&flags.credentials.credential_namespaces);
    let made = text(&rendered(&[policy], &[from], &secrets, rooms)?)?;
    let path = case.join(EXPECTED);
    let expected = files::own_text(&path, &mut rooms.read)?;
    match expected.as_deref().map(meaning) {
        Some(Ok(told)) if told == meaning(&made)? => Ok(Verdict::AsExpected),
        _ if flags.update => {
            replace(&path, &made).with_context(|| format!("cannot write {EXPECTED}"))?;
            Ok(Verdict::Updated)
        }
        None => bail!("no {EXPECTED}: --update writes it"),
        Some(Err(error)) => Err(error.context(EXPECTED)),
        Some(Ok(_)) => Ok(Verdict::Differs(differences(
            &expected.unwrap_or_default(),
            &made,
        ))),
    }
}

/// It is one itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Beside it and then renamed: a link that takes its place is replaced, and nothing is written where it leads.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let beside = path.with_file_name(format!(".{EXPECTED}.{}", std::process::id()));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(&beside)?;
    let written = file.write_all(text.as_bytes());
    let written = written.and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| {
        // What went wrong is told; that is what is to be mended.
        let _ = fs::remove_file(&beside);
    })
}

fn differences(expected: &str, made: &str) -> String {
    let mut comparison = TextDiff::configure();
    let differences = comparison.timeout(COMPARING).diff_lines(expected, made);
    let mut differences = differences.unified_diff();
    differences.header(EXPECTED, "what is made").to_string()
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
