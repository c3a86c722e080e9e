//! `armadex store copy`: moves a store to another database.

use std::io::{IsTerminal as _, Stderr, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use armadex_storage_sql::{Copied, CopyStep, Pace};
use clap::Args;

use crate::store::named::{self, Named};

/// Copy a store into another database, SQLite, PostgreSQL or MySQL in any direction, and leave.
///
/// Stop each `armadex synchro` and `armadex all` that writes to FROM before, and start them on TO afterwards: they go on from where they were without a
/// list, and tokens and versions that clients have stay good. `armadex apiserver` may go on with FROM meanwhile. A copy that was interrupted goes on where
/// it was when the same command is run again; until it is whole nothing opens TO. FROM keeps all that it has, and gets another incarnation in the end:
/// should it be used again, nothing of the two is mixed up. docs/upkeep.md has more. A password stands in a file, or in the environment: everybody sees it here.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// The store that is read: `sqlite:PATH`, `postgres://USER@HOST/DATABASE` or `mysql://USER@HOST/DATABASE` (docs/stores.md).
    #[arg(value_name = "FROM")]
    from: String,
    /// The store that is made: a file that is not there yet, or an empty database.
    #[arg(value_name = "TO")]
    to: String,
    /// File with the password of FROM's user. Else it is taken from $ARMADEX_STORE_PASSWORD, or from $PGPASSWORD or $MYSQL_PWD.
    #[arg(long, value_name = "FILE")]
    from_password_file: Option<PathBuf>,
    /// File with the password of TO's user. Else it is taken from $ARMADEX_STORE_PASSWORD, or from $PGPASSWORD or $MYSQL_PWD: what they have for
    /// FROM is sent to TO's server then.
    #[arg(long, value_name = "FILE")]
    to_password_file: Option<PathBuf>,
}

/// Copies, tells how far it is, and leaves.
pub(crate) async fn run(flags: Flags) -> anyhow::Result<()> {
    let from = named::location(
        &Named::FROM,
        &flags.from,
        flags.from_password_file.as_deref(),
    )?;
    let to = named::location(&Named::TO, &flags.to, flags.to_password_file.as_deref())?;
    let mut teller = Teller::new();
    let mut tell = |step| teller.tell(&step, Instant::now());
    let copied = armadex_storage_sql::copy(&from, &to, &Pace::default(), &mut tell).await;
    teller.end();
    let copied = copied.with_context(|| format!("cannot copy {from} to {to}"))?;
    let Copied {
        revision,
        rows,
        was_whole,
    } = copied;
    let what = match was_whole {
        true => format!("{to} is the whole copy of {from} already"),
        false => format!("copied {from} to {to}"),
    };
    writeln!(
        std::io::stdout().lock(),
        "{what}: {rows} rows, up to revision {revision}"
    )?;
    Ok(())
}

/// A line of the log each time, where nobody watches.
const EVERY: Duration = Duration::from_secs(10);
/// As often as a line is worth to be written anew for somebody who does.
const OFTEN: Duration = Duration::from_millis(200);

/// Tells how far a copy is, not too often.
struct Teller<W> {
    /// Where somebody watches, whose line is written over.
    watched: Option<W>,
    last: Option<Instant>,
}

impl Teller<Stderr> {
    fn new() -> Self {
        let stderr = std::io::stderr();
        Self {
            watched: stderr.is_terminal().then_some(stderr),
            last: None,
        }
    }
}

impl<W: Write> Teller<W> {
    fn tell(&mut self, step: &CopyStep, now: Instant) {
        let pause = match self.watched {
            Some(_) => OFTEN,
            None => EVERY,
        };
        if self.last.is_some_and(|last| now - last < pause) {
            return;
        }
        self.last = Some(now);
        let words = words(step);
        match &mut self.watched {
            // A line that cannot be shown is nothing to give up for.
            Some(line) => drop(write!(line, "\r\x1b[K{words}")),
            None => tracing::info!("{words}"),
        }
    }

    /// What comes next begins a line.
    fn end(&mut self) {
        if let (Some(line), Some(_)) = (&mut self.watched, self.last) {
            drop(writeln!(line));
        }
    }
}

fn words(step: &CopyStep) -> String {
    match step {
        CopyStep::Watching(time) => format!(
            "a process did the periodic work of FROM and did not say that it ended: looking for {} s whether it still does",
            time.as_secs()
        ),
        CopyStep::Rows {
            table,
            number,
            tables,
            share,
            rows,
        } => {
            let share = share.map(|share| format!(" {:.0} %", 100.0 * share));
            let share = share.unwrap_or_default();
            format!("copied {rows} rows: {table}{share}, table {number} of {tables}")
        }
        CopyStep::Counting => "copied all rows: counting those of both".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: u64) -> CopyStep {
        CopyStep::Rows {
            table: "ver",
            number: 16,
            tables: 17,
            share: Some(0.626),
            rows,
        }
    }

    #[test]
    fn whoever_watches_sees_one_line_that_is_written_over_not_too_often() {
        let mut teller = Teller {
            watched: Some(Vec::new()),
            last: None,
        };
        teller.end();
        let began = Instant::now();
        for (milliseconds, number) in [(0, 1), (199, 2), (200, 3), (399, 4)] {
            teller.tell(&rows(number), began + Duration::from_millis(milliseconds));
        }
        teller.end();
        let shown = String::from_utf8(teller.watched.expect("a line"));
        let line = |number| format!("\r\x1b[K{}", words(&rows(number)));
        assert_eq!(shown.expect("text"), format!("{}{}\n", line(1), line(3)));
    }

    #[test]
    fn a_step_is_told_in_a_line() {
        let mut step = rows(81_200);
        assert_eq!(words(&step), "copied 81200 rows: ver 63 %, table 16 of 17");
        if let CopyStep::Rows { share, .. } = &mut step {
            *share = None;
        }
        assert_eq!(words(&step), "copied 81200 rows: ver, table 16 of 17");
        let watching = words(&CopyStep::Watching(Duration::from_secs(60)));
        assert!(watching.ends_with("for 60 s whether it still does"));
    }
}
