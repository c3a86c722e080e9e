//! Who holds a Lease, in words by which whoever runs on the same machine can see that the process is gone: its next start need not wait until the Lease has
//! run out. Whoever cannot see it takes it to be there.
//!
//! A machine is told by its boot, since names are given twice; the numbers of processes count within one namespace of them, as of a container.

use std::fs;

/// A process, as `HOST_BOOT_NAMESPACE_PROCESS_STARTED`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    /// The boot of the machine, and the namespace of processes.
    seen_from: String,
    number: u32,
    /// In ticks since the boot: numbers are used again.
    started: u64,
}

/// This process; where it cannot be told from others by that, by chance.
pub(super) fn own() -> String {
    let host = std::env::var("HOSTNAME")
        .or_else(|_| fs::read_to_string("/proc/sys/kernel/hostname"))
        .unwrap_or_default();
    let host = host.trim();
    match text(std::process::id()) {
        Some(process) => format!("{host}_{process}"),
        None => format!("{host}_{:016x}", rand::random::<u64>()),
    }
}

/// Whether a holder is certainly gone.
pub(super) fn is_gone(holder: &str) -> bool {
    // Where other users' processes are hidden nothing can be told.
    let can_tell = || fs::read_to_string("/proc/1/stat").is_ok();
    match parse(holder) {
        Some(process) if Some(&process.seen_from) == seen_from().as_ref() => {
            started(process.number) != Some(process.started) && can_tell()
        }
        _ => false,
    }
}

/// A process of this machine, without the host.
fn text(number: u32) -> Option<String> {
    Some(format!("{}_{number}_{}", seen_from()?, started(number)?))
}

fn parse(holder: &str) -> Option<Process> {
    let mut parts = holder.rsplitn(5, '_');
    let started = parts.next()?.parse().ok()?;
    let number = parts.next()?.parse().ok()?;
    let (namespace, boot) = (parts.next()?, parts.next()?);
    Some(Process {
        seen_from: format!("{boot}_{namespace}"),
        number,
        started,
    })
}

fn seen_from() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let namespace = namespace.to_str()?;
    let namespace = namespace.trim_matches(|sign: char| !sign.is_ascii_digit());
    Some(format!("{}_{namespace}", boot.trim()))
}

/// When a process that lives was started.
fn started(number: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name of its program, in parentheses, may have spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    // What was killed and not waited for yet does nothing any more.
    let lives = !matches!(state, "Z" | "X");
    fields.nth(18).filter(|_| lives)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_gone_when_it_has_ended_and_not_before() {
        let mut child = Command::new("cat");
        let mut child = child.stdin(Stdio::piped()).spawn().expect("a process");
        let number = child.id();
        let holder = format!("my_host_{}", text(number).expect("it can be told"));
        assert!(!is_gone(&holder));
        child.kill().expect("killed");
        // Until it is waited for it is seen, and does nothing.
        while started(number).is_some() {
            std::thread::yield_now();
        }
        assert!(is_gone(&holder));
        child.wait().expect("ended");
        assert!(is_gone(&holder));
    }

    #[test]
    fn of_whom_nothing_can_be_seen_nothing_is_said() {
        let own = own();
        assert!(!is_gone(&own));
        let process = parse(&own).expect("it can be told");
        let Process {
            seen_from,
            number,
            started,
        } = process;
        assert_eq!(number, std::process::id());
        let other = |seen_from: &str| format!("h_{seen_from}_{number}_{}", started + 1);
        assert!(is_gone(&other(&seen_from)), "its number is used again");
        assert!(!is_gone(&other(&format!("another{seen_from}"))));
        assert!(!is_gone("some-host_0123456789abcdef"));
        assert!(!is_gone(""));
    }
}
