//! What becomes of a test for which there is no server, or no other program: it says so, or fails where all have to be run.

use std::fs::OpenOptions;
use std::io::Write;

use anyhow::{Result, bail};

use crate::engine::Engine;
use crate::programs::missing;

/// What cannot be tested is an error if this variable says `require`; nothing is started if it says `none`.
const WANTED: &str = "ARMADEX_TEST_DATABASES";
/// The file that names what was not run are appended to.
const NOT_RUN: &str = "ARMADEX_TEST_NOT_RUN";

/// What is to be done without a server.
fn wanted() -> String {
    std::env::var(WANTED).unwrap_or_default()
}

/// What a test is not run for; an error where all have to be.
pub(crate) fn do_without(why: &str) -> Result<()> {
    match wanted().as_str() {
        "require" => bail!("{why}"),
        _ => note_not_run(why),
    }
}

/// Why none can be started here.
pub(crate) fn none_here(engine: Engine) -> Option<String> {
    let why = match missing(engine) {
        Some(missing) => format!("{missing} is not installed (make databases)"),
        None if wanted() == "none" => format!("${WANTED} is none"),
        None => return None,
    };
    Some(format!("no {}: {why}", engine.product()))
}

/// Says that this test was not run, past the test runner's capture and at the end of `make test`.
///
/// # Errors
/// It cannot be written.
pub fn note_not_run(why: &str) -> Result<()> {
    let thread = std::thread::current();
    let what = format!("{}: {why}", thread.name().unwrap_or("a test"));
    std::io::stderr().write_all(line(&what).as_bytes())?;
    tell_at_the_end(&what)
}

/// Puts what was not run, and why, into the file that `make test` ends with, if there is to be one.
///
/// # Errors
/// It cannot be written.
pub fn tell_at_the_end(what: &str) -> Result<()> {
    if let Some(path) = std::env::var_os(NOT_RUN) {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(line(what).as_bytes())?;
    }
    Ok(())
}

fn line(what: &str) -> String {
    format!("not run: {what}\n")
}
