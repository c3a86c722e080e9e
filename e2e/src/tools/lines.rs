//! What a program prints, line by line while it runs, and its end: when its time is over it is ended.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Gives each line that `child` prints into `output`, and how it ended; an error if it has not within `limit`.
pub(super) fn follow(
    mut child: Child,
    output: impl Read + Send + 'static,
    limit: Duration,
    mut line: impl FnMut(String),
) -> Result<ExitStatus> {
    let lines = lines_of(output);
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(text) => line(text),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                child.kill().context("it cannot be ended")?;
                child.wait()?;
                bail!("it did not end within {limit:?}");
            }
        }
    }
    // Who prints no more ends.
    Ok(child.wait()?)
}

/// The lines of an output, as a thread of its own reads them: that may wait for as long as what the program has started holds the output.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let read = BufReader::new(output).lines().map_while(Result::ok);
        for text in read {
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn shell(script: &str, limit: Duration) -> (Result<ExitStatus>, Vec<String>) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let mut lines = Vec::new();
        let ended = follow(child, output, limit, |text| lines.push(text));
        (ended, lines)
    }

    #[test]
    fn lines_and_the_end_are_told() {
        let (ended, lines) = shell("echo a; echo b; exit 3", Duration::from_secs(60));
        assert_eq!(ended.unwrap().code(), Some(3));
        assert_eq!(lines, ["a", "b"]);
    }

    #[test]
    fn a_program_that_prints_nothing_more_and_does_not_end_is_ended() {
        let started = Instant::now();
        let (ended, lines) = shell("echo a; exec sleep 600", Duration::from_millis(500));
        assert!(
            ended
                .unwrap_err()
                .to_string()
                .contains("did not end within")
        );
        assert_eq!(lines, ["a"]);
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}
