//! What the kernel says of a process: processor time so far, memory, open files.

use anyhow::{Context as _, Result};
use armadex_e2e::Record;

/// Clock ticks in a second in `/proc/PID/stat`: USER_HZ, which is 100 on every Linux that Rust's tier 1 runs on.
const TICKS: f64 = 100.0;

/// User and system time so far, in seconds.
pub(crate) fn cpu_seconds(pid: i32) -> Result<f64> {
    seconds_of(pid, &[11, 12])
}

/// The same with that of its children that have ended.
pub(crate) fn cpu_seconds_with_ended_children(pid: i32) -> Result<f64> {
    seconds_of(pid, &[11, 12, 13, 14])
}

/// The sum of some fields, counted from behind the name.
fn seconds_of(pid: i32, indexes: &[usize]) -> Result<f64> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    // The second field is the program's name in parentheses, which may hold anything.
    let fields: Vec<&str> = text
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .with_context(|| format!("{path} has no name"))?;
    let ticks = indexes
        .iter()
        .map(|index| fields.get(*index)?.parse::<f64>().ok());
    let ticks: Option<f64> = ticks.sum();
    Ok(ticks.with_context(|| format!("{path} is short"))? / TICKS)
}

/// Bytes that it has given to the kernel to write so far, whatever became of them.
pub(crate) fn written_bytes(pid: i32) -> Result<u64> {
    let path = format!("/proc/{pid}/io");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    text.lines()
        .find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
        .with_context(|| format!("{path} has no wchar"))
}

/// How many files and sockets it has open.
pub(crate) fn open_files(pid: i32) -> Result<u64> {
    let path = format!("/proc/{pid}/fd");
    let entries = std::fs::read_dir(&path).with_context(|| format!("cannot read {path}"))?;
    Ok(entries.count() as u64)
}

/// How many of those are sockets.
pub(crate) fn sockets(pid: i32) -> Result<u64> {
    let path = format!("/proc/{pid}/fd");
    let entries = std::fs::read_dir(&path).with_context(|| format!("cannot read {path}"))?;
    // One that is closed meanwhile is none.
    let links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let sockets = links.filter(|link| link.to_string_lossy().starts_with("socket:"));
    Ok(sockets.count() as u64)
}

/// Makes the peak of its memory begin anew with what it holds now.
pub(crate) fn forget_peak(pid: i32) -> Result<()> {
    let path = format!("/proc/{pid}/clear_refs");
    // "5" is the peak alone, see proc_pid_clear_refs(5).
    std::fs::write(&path, "5").with_context(|| format!("cannot write {path}"))
}

/// The most memory that a process ever held, in MiB.
#[expect(clippy::cast_precision_loss, reason = "sizes far below 2^52")]
pub(crate) fn peak_mib(record: &Record) -> Result<f64> {
    let kib = record.peak_rss_kib().context("the process has ended")?;
    Ok(kib as f64 / 1024.0)
}

/// Memory that is resident now, in MiB.
pub(crate) fn resident_mib(pid: i32) -> Result<f64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))
        .and_then(|number| number.parse::<f64>().ok())
        .with_context(|| format!("{path} has no VmRSS"))?;
    Ok(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> i32 {
        i32::try_from(std::process::id()).expect("a pid")
    }

    #[test]
    fn memory_is_more_than_nothing() {
        assert!(resident_mib(own()).expect("readable") > 0.5);
    }

    #[test]
    fn time_grows_while_this_process_works() {
        let before = cpu_seconds(own()).expect("readable");
        let mut number = 1_u64;
        while cpu_seconds(own()).expect("readable") <= before {
            number = std::hint::black_box(number.wrapping_mul(3));
        }
    }

    #[test]
    fn what_is_written_is_counted() {
        let before = written_bytes(own()).expect("readable");
        let mut file = tempfile::tempfile().expect("a file");
        std::io::Write::write_all(&mut file, &[0; 5_000]).expect("written");
        assert!(written_bytes(own()).expect("readable") >= before + 5_000);
    }

    #[test]
    fn an_open_file_is_counted() {
        let files: Vec<_> = (0..50)
            .map(|_| std::fs::File::open("/proc/self/stat").expect("a file"))
            .collect();
        assert!(open_files(own()).expect("readable") >= files.len() as u64);
    }

    #[test]
    fn of_open_files_only_sockets_are_counted_as_such() {
        let ears: Vec<_> = (0..50)
            .map(|_| std::net::UdpSocket::bind("127.0.0.1:0").expect("a port"))
            .collect();
        let _file = std::fs::File::open("/proc/self/stat").expect("a file");
        let found = sockets(own()).expect("readable");
        assert!(found >= ears.len() as u64);
        assert!(found < open_files(own()).expect("readable"));
    }
}
