//! Which of several processes does the work: the one that has its Lease, or each that has one of those who share it.

use armadex_control_plane::{LeaseStanding, LeaseTerms};
use clap::{ArgAction, Args};
use tokio::sync::watch;

use crate::admin::Checks;
use crate::credentials::NamespaceFlag;

/// Whether a process needs a Lease to work, and where that lies.
#[derive(Clone, Debug, Args)]
pub(crate) struct LeaderFlags {
    #[command(flatten)]
    pub(crate) own: NamespaceFlag,
    /// Work only while this process has a Lease in `--namespace`. Of the policy controllers one has `armadex-controllers`, and the others wait for it. The synchros of one
    /// `--sharding-name` and one store share the clusters: each has one of `armadex-synchro[-SHARDING_NAME]-STORE`, the same with `.1`, and so on. `false`: there is
    /// one process alone, and no Lease.
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true"
    )]
    pub(crate) leader_elect: bool,
}

impl LeaderFlags {
    /// For this process; `None` where it works without one.
    pub(crate) fn lease(&self, name: &str) -> Option<LeaseTerms> {
        let terms = || LeaseTerms::of_this_process(&self.own.namespace, name);
        self.leader_elect.then(terms)
    }
}

/// Who waits for another process is ready to take its place; who cannot even ask is not, or a rolling update would end the process that works.
pub(crate) fn add_check(checks: &mut Checks, name: &'static str, lease: &LeaseTerms) {
    let standing = lease.standing.subscribe();
    checks.add(name, move || {
        let outcome = may_ask(&standing);
        async move { outcome }
    });
}

fn may_ask(standing: &watch::Receiver<LeaseStanding>) -> Result<(), String> {
    match &*standing.borrow() {
        LeaseStanding::Waits | LeaseStanding::Holds => Ok(()),
        LeaseStanding::Refused(words) => Err(words.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_ready_and_who_cannot_ask_is_not() {
        let standing = watch::Sender::new(LeaseStanding::Waits);
        let ready = || may_ask(&standing.subscribe());
        assert_eq!(ready(), Ok(()));
        let words = "may not get leases".to_owned();
        standing.send_replace(LeaseStanding::Refused(words.clone()));
        assert_eq!(ready(), Err(words));
        standing.send_replace(LeaseStanding::Holds);
        assert_eq!(ready(), Ok(()));
    }
}
