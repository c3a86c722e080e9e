//! Types of which the store keeps what was superseded for longer than the watch window.

use std::str::FromStr;
use std::time::Duration;

use anyhow::ensure;
use armadex_crds::is_subdomain;
use armadex_storage_sql::History;
use clap::Args;

/// Of which types there is a history.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Store")]
pub(super) struct HistoryFlags {
    /// Types of which superseded versions and traces of what was deleted are kept beyond the watch window: `pods,deployments.apps`, or `none`. The store remembers what it was told
    /// last, for processes that do not say; a type that is not named any more loses its history.
    #[arg(long, value_name = "RESOURCES", value_delimiter = ',')]
    history_of: Vec<Named>,
    /// How long these are kept, in seconds. [default: 604800, a week]
    #[arg(long, value_name = "SECONDS", requires = "history_of")]
    history_window: Option<u64>,
    /// How much of them is kept at most, in MiB as it is stored: beyond it the oldest goes before its time is over. 0: any number. [default: 16384]
    #[arg(long, value_name = "MIB", requires = "history_of")]
    history_window_mib: Option<u64>,
}

impl HistoryFlags {
    /// What they say, beside a watch window; `None` if nothing.
    pub(super) fn told(&self, watch_window: Duration) -> anyhow::Result<Option<History>> {
        if self.history_of.is_empty() {
            return Ok(None);
        }
        ensure!(
            self.history_of == [Named::Nothing] || !self.history_of.contains(&Named::Nothing),
            "--history-of: `none` stands alone"
        );
        let usual = History::default();
        let of = self.history_of.iter().filter_map(|named| match named {
            Named::Resource(group, resource) => Some((group.clone(), resource.clone())),
            Named::Nothing => None,
        });
        let history = History {
            of: of.collect(),
            window: self
                .history_window
                .map_or(usual.window, Duration::from_secs),
            bytes: self
                .history_window_mib
                .map_or(usual.bytes, |mib| mib.saturating_mul(1 << 20)),
        };
        if !history.of.is_empty() {
            ensure!(
                !watch_window.is_zero(),
                "--history-of: with --watch-window 0 nothing is kept of what was superseded; give it some minutes at least"
            );
            ensure!(
                history.window > watch_window,
                "--history-window {}: everything is kept for the {} s of --watch-window; give a longer time, or leave --history-of away",
                history.window.as_secs(),
                watch_window.as_secs()
            );
        }
        Ok(Some(history))
    }
}

/// What is named.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Nothing,
    /// By group and plural name.
    Resource(String, String),
}

/// Of these each change is news of something else, and there is no end of them.
const WITHOUT: [(&str, &str); 3] = [
    ("", "events"),
    ("events.k8s.io", "events"),
    ("coordination.k8s.io", "leases"),
];

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" {
            return Ok(Self::Nothing);
        }
        let (resource, group) = text.split_once('.').unwrap_or((text, ""));
        if !is_subdomain(text) || text.split('.').any(|label| label.len() > 63) {
            return Err("a resource is named by its plural name, and behind a dot by its group if it has one: pods, deployments.apps".to_owned());
        }
        if WITHOUT.contains(&(group, resource)) {
            return Err(format!(
                "{resource} have no history: they change without end, and what was is of no use; --watch-window says how long all changes are kept"
            ));
        }
        Ok(Self::Resource(group.to_owned(), resource.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        history: HistoryFlags,
    }

    const HOUR: Duration = Duration::from_secs(3600);

    fn told(flags: &[&str], watch_window: Duration) -> Result<Option<History>, String> {
        let flags = ["armadex"].iter().chain(flags);
        let flags = Flags::try_parse_from(flags).map_err(|err| err.to_string())?;
        let told = flags.history.told(watch_window);
        told.map_err(|err| format!("{err:#}"))
    }

    fn refused(flags: &[&str], watch_window: Duration) -> String {
        told(flags, watch_window).expect_err("refused")
    }

    #[test]
    fn resources_are_told_by_plural_name_and_group() {
        let history = told(
            &[
                "--history-of=pods,deployments.apps",
                "--history-of=ingresses.networking.k8s.io",
                "--history-window=7200",
                "--history-window-mib=3",
            ],
            HOUR,
        );
        let named = |group: &str, resource: &str| (group.to_owned(), resource.to_owned());
        let expected = History {
            of: vec![
                named("", "pods"),
                named("apps", "deployments"),
                named("networking.k8s.io", "ingresses"),
            ],
            window: 2 * HOUR,
            bytes: 3 << 20,
        };
        assert_eq!(history, Ok(Some(expected)));
        assert_eq!(told(&[], Duration::ZERO), Ok(None));
        let none = told(&["--history-of=none"], Duration::ZERO);
        assert_eq!(none, Ok(Some(History::default())));
        let said = refused(&["--history-of=pods,none"], HOUR);
        assert!(said.contains("stands alone"), "{said}");
    }

    #[test]
    fn what_is_no_resource_or_has_no_history_is_refused_by_name() {
        for wrong in [
            "Pods",
            "",
            "pods.",
            ".apps",
            "apps/v1/deployments",
            "*",
            "a..b",
        ] {
            let said = refused(&[&format!("--history-of={wrong}")], HOUR);
            assert!(said.contains("plural name"), "{wrong}: {said}");
        }
        for endless in [
            "events",
            "events.events.k8s.io",
            "leases.coordination.k8s.io",
        ] {
            let said = refused(&[&format!("--history-of=pods,{endless}")], HOUR);
            assert!(said.contains("have no history"), "{said}");
        }
    }

    #[test]
    fn a_history_is_longer_than_the_watch_window_and_not_without_one() {
        let pods = "--history-of=pods";
        let said = refused(&[pods], Duration::ZERO);
        assert!(said.contains("--watch-window 0"), "{said}");
        let said = refused(&[pods, "--history-window=3600"], HOUR);
        assert!(said.contains("--history-window 3600"), "{said}");
        let said = refused(&["--history-window=7200"], HOUR);
        assert!(said.contains("--history-of"), "{said}");
    }
}
