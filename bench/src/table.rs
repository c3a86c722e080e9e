//! Figures, what they should be, and both as a table or as an error.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

/// A figure and what it should be.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) measured: String,
    pub(crate) aim: String,
    pub(crate) met: bool,
}

/// A figure that may be anything.
pub(crate) fn told(what: &str, measured: String) -> Row {
    Row {
        what: what.to_owned(),
        measured,
        aim: String::new(),
        met: true,
    }
}

/// A figure that has a limit, both with `digits` after the point.
pub(crate) fn at_most(what: &str, measured: f64, most: f64, unit: &str, digits: usize) -> Row {
    bounded(
        what,
        measured,
        ("at most", most, measured <= most),
        unit,
        digits,
    )
}

/// A figure that has to reach something.
pub(crate) fn at_least(what: &str, measured: f64, least: f64, unit: &str, digits: usize) -> Row {
    bounded(
        what,
        measured,
        ("at least", least, measured >= least),
        unit,
        digits,
    )
}

fn bounded(
    what: &str,
    measured: f64,
    (words, bound, met): (&str, f64, bool),
    unit: &str,
    digits: usize,
) -> Row {
    let with_unit = |number: f64| format!("{number:.digits$} {unit}").trim_end().to_owned();
    Row {
        what: what.to_owned(),
        measured: with_unit(measured),
        aim: format!("{words} {}", with_unit(bound)),
        met,
    }
}

/// The figures that are not what they should be.
pub(crate) fn missed(rows: &[Row]) -> Vec<String> {
    let missed = rows.iter().filter(|row| !row.met);
    missed
        .map(|row| format!("{} was {} instead of {}", row.what, row.measured, row.aim))
        .collect()
}

/// As a table of Markdown.
pub(crate) fn table(commit: &str, rows: &[Row]) -> String {
    let mut text = format!("| what, at {commit} | measured | aim |\n| --- | --- | --- |\n");
    for Row {
        what,
        measured,
        aim,
        met,
    } in rows
    {
        let mark = if *met { "" } else { " **missed**" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {what} | {measured}{mark} | {aim} |");
    }
    text
}

/// How a report is given.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Form {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Succeed whatever the figures are.
    #[arg(long)]
    report_only: bool,
}

/// Prints `rows`, or the report that they were made of; an error if one was missed.
pub(crate) fn finish(report: &impl Serialize, rows: &[Row], form: Form) -> Result<()> {
    let text = if form.json {
        serde_json::to_string_pretty(report)? + "\n"
    } else {
        table(&commit(), rows)
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("cannot print the report")?;
    match missed(rows).as_slice() {
        missed if missed.is_empty() || form.report_only => Ok(()),
        missed => bail!("missed: {}", missed.join("; ")),
    }
}

/// What the sources are that the programs were built from; a figure without it is compared with nothing.
fn commit() -> String {
    let Some(checked_out) = git(&["describe", "--always", "--dirty"]) else {
        return "an unknown commit".to_owned();
    };
    let moved = git(&[
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "logs/HEAD",
    ]);
    let moved = moved.and_then(|log| changed(Path::new(&log)));
    let programs = [
        std::env::current_exe().ok(),
        armadex_e2e::armadex::binary().ok(),
    ];
    let built = programs
        .iter()
        .flatten()
        .filter_map(|path| changed(path))
        .min();
    built_from(&checked_out, built, moved)
}

fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    let output = command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let said = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path)
        .and_then(|file| file.modified())
        .ok()
}

/// A program that is older than the moment in which another commit was checked out may be of the one before.
fn built_from(checked_out: &str, built: Option<SystemTime>, moved: Option<SystemTime>) -> String {
    match (built, moved) {
        (Some(built), Some(moved)) if built >= moved => checked_out.to_owned(),
        (Some(_), Some(_)) => {
            format!("an earlier commit than {checked_out}, which was checked out after the build")
        }
        _ => format!("{checked_out} or another commit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_was_built_before_a_commit_was_checked_out_is_not_said_to_be_of_it() {
        let before = SystemTime::UNIX_EPOCH;
        let after = before + Duration::from_secs(1);
        assert_eq!(built_from("abc", Some(after), Some(before)), "abc");
        let earlier = built_from("abc", Some(before), Some(after));
        assert!(
            earlier.starts_with("an earlier commit than abc"),
            "{earlier}"
        );
        assert_eq!(
            built_from("abc", None, Some(after)),
            "abc or another commit"
        );
    }

    #[test]
    fn a_figure_that_is_missed_is_named_and_marked() {
        let rows = [
            told("clusters", "7".to_owned()),
            at_most("memory", 11.94, 12.0, "KiB", 1),
            at_most("share of a core", 0.0214, 0.02, "", 3),
        ];
        assert_eq!(
            missed(&rows),
            ["share of a core was 0.021 instead of at most 0.020"]
        );
        let table = table("v1-2-g3", &rows);
        assert!(table.starts_with("| what, at v1-2-g3 |"), "{table}");
        assert!(
            table.contains("| memory | 11.9 KiB | at most 12.0 KiB |"),
            "{table}"
        );
        assert!(table.contains("0.021 **missed** |"), "{table}");
    }

    #[test]
    fn a_report_that_is_only_told_is_no_error() {
        let rows = [at_most("seconds", 2.0, 1.0, "s", 0)];
        let form = |report_only| Form {
            json: true,
            report_only,
        };
        assert!(finish(&"text", &rows, form(true)).is_ok());
        assert!(finish(&"text", &rows, form(false)).is_err());
    }
}
