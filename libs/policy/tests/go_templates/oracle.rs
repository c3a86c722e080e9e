//! Asks Go: a small program with Go's text/template and sprig, built once, renders all templates in one run.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use serde::Deserialize;
use serde_json::json;

use super::draw::Drawn;

/// What Go says of a template.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "why is shown where both differ")]
pub(crate) enum Answer {
    Output(String),
    Parse(String),
    Execute(String),
}

/// An answer for each.
pub(crate) fn ask<'a>(drawn: impl Iterator<Item = &'a Drawn>) -> Vec<Answer> {
    let program = built();
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("it is piped");
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let lines: Vec<String> = drawn.map(line).collect();
    let asked = lines.len();
    let writing = thread::spawn(move || {
        for line in lines {
            writeln!(input, "{line}").expect("it is read");
        }
    });
    let answers = output.lines().map(|line| {
        let line = line.expect("it is text");
        serde_json::from_str(&line).expect("it is an answer")
    });
    let answers: Vec<Answer> = answers.collect();
    writing.join().expect("all is written");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(answers.len(), asked);
    answers
}

fn line(drawn: &Drawn) -> String {
    let data = json!({"source": drawn.source, "references": {"secret": drawn.secret}});
    json!({"template": drawn.template, "data": data}).to_string()
}

/// Deaf to workspaces and flags of the user, as the tools of the end-to-end tests.
fn built() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-templates");
    let built = Command::new("go")
        .current_dir(source)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env("GOFLAGS", "-mod=readonly -buildvcs=false")
        .arg("build")
        .arg("-o")
        .arg(&program)
        .status()
        .expect("Go 1.26 or later is needed");
    assert!(built.success(), "go build fails");
    program
}
