//! Programs that end by themselves, and what becomes of those that do not: each is ended when its time is over.

use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
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
        .stderr(Stdio::piped());
    let mut child = begun(command, &name)?;
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

/// A program that ends with its owner.
fn begun(command: &mut Command, name: &str) -> Result<Child> {
    command
        // Ctrl-C of a terminal reaches its owner alone, which ends it.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot run {name}"))
}

/// Kills a program in the middle of its work, once a line of its standard error has these words; returns when it is gone.
pub(crate) async fn killed_at(command: &mut Command, words: &str) -> Result<()> {
    let name = in_words(command);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = begun(command, &name)?;
    let said = child.stderr.take().context("standard error was piped")?;
    let mut lines = BufReader::new(said).lines();
    let is_said = async {
        while let Some(line) = lines.next_line().await? {
            if line.contains(words) {
                return Ok(true);
            }
        }
        anyhow::Ok(false)
    };
    let is_said = timeout(LIMIT, is_said).await;
    let is_said = is_said.with_context(|| format!("{name} did not say {words:?}"))??;
    ensure!(is_said, "{name} ended and never said {words:?}");
    child.start_kill()?;
    let status = child.wait().await?;
    ensure!(
        status.code().is_none(),
        "{name} ended before it was killed: {status}"
    );
    Ok(())
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
    async fn a_program_is_killed_at_its_words_and_not_where_it_ends_without_them() {
        let mut waits = shell("echo so far >&2; exec sleep 600");
        killed_at(&mut waits, "so far").await.unwrap();
        let error = killed_at(&mut shell("echo no >&2"), "so far").await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains("never said \"so far\""), "{error}");
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
