//! Programs that end by themselves, and what becomes of those that do not: each is ended when its time is over.

use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

/// The longest that is run is `armadex audit` of a member with 20,000 objects, which takes some 10 s on a busy machine; kubectl itself gives up
/// on a server that hangs after a minute at the earliest, and never on a `--wait`.
const LIMIT: Duration = Duration::from_secs(120);

/// What a program prints, which gets nothing to read.
pub async fn output_of(command: &mut Command) -> Result<Output> {
    output_within(command, &[], LIMIT).await
}

/// What a program prints that reads `input`.
pub(crate) async fn output_given(command: &mut Command, input: &[u8]) -> Result<Output> {
    output_within(command, input, LIMIT).await
}

async fn output_within(command: &mut Command, input: &[u8], limit: Duration) -> Result<Output> {
    let name = in_words(command);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C of a terminal reaches its owner alone, which ends it.
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot run {name}"))?;
    let mut stdin = child.stdin.take().context("standard input was piped")?;
    let work = async {
        // Who does not read it all says why by what it prints.
        let _ = stdin.write_all(input).await;
        drop(stdin);
        child.wait_with_output().await
    };
    let ended = timeout(limit, work).await;
    let ended = ended.with_context(|| format!("{name} did not end within {limit:?}"))?;
    ended.with_context(|| format!("cannot read what {name} prints"))
}

/// Without the manifest or the token that may come with it: those are on standard input or in files.
fn in_words(command: &Command) -> String {
    let command = command.as_std();
    let arguments = command.get_args().map(|text| text.to_string_lossy());
    let words = std::iter::once(command.get_program().to_string_lossy()).chain(arguments);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn a_program_reads_what_it_is_given_and_nothing_is_an_end_too() {
        let output = output_given(&mut shell("cat"), b"manifest").await.unwrap();
        assert_eq!(output.stdout, b"manifest");
        let output = output_of(&mut shell("cat; echo no >&2; exit 3"))
            .await
            .unwrap();
        assert_eq!(
            (output.status.code(), &*output.stderr),
            (Some(3), &b"no\n"[..])
        );
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_ended_and_named() {
        let started = Instant::now();
        let (mut waits, limit) = (shell("exec sleep 600"), Duration::from_millis(100));
        let error = output_within(&mut waits, &[], limit).await.unwrap_err();
        assert!(error.to_string().contains("exec sleep 600 did not end"));
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}
