//! How many files this process may have open: members that it plays are two connections each and more.

use anyhow::{Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Makes room for `needed`, or says how to.
pub(crate) fn allow(needed: u64) -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    let is_enough = maximum.is_none_or(|maximum| maximum >= needed);
    ensure!(
        is_enough && setrlimit(Resource::Nofile, raised).is_ok(),
        "{needed} open files are needed: raise the hard limit (ulimit -Hn)"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_can_be_is_refused_with_the_way_out() {
        assert!(allow(1).is_ok());
        let Some(maximum) = getrlimit(Resource::Nofile).maximum else {
            return;
        };
        let words = allow(maximum + 1).expect_err("no room").to_string();
        assert!(words.contains("ulimit -Hn"), "{words}");
    }
}
