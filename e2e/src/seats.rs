//! How many fleets one program may have at the same time. Tests begin as many as there are cores, and a machine may have many cores and little memory: where it
//! has none left, an apiserver is killed, and a test fails with words about something else.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use anyhow::{Context as _, Result};
use tokio::sync::{Semaphore, SemaphorePermit};

/// What a fleet has in kilobytes: up to four apiservers of 300 MB, etcd and Armadex.
const FLEET: usize = 1_500_000;
/// They mostly wait: more of them make no test end sooner, and share one disk.
const MOST: usize = 4;

/// There are as many as the machine has room for when the first one is taken: before this program's own fleets.
static SEATS: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, usize::from);
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let groups = GROUPS
        .iter()
        .map(|[limit, used, stat, cache]| left(&read(limit), &read(used), &read(stat), cache));
    // Where there is nothing to read, the cores alone say it.
    let kilobytes = groups
        .flatten()
        .chain(available(&read("/proc/meminfo")))
        .min();
    Semaphore::new(room(cores, kilobytes.unwrap_or(usize::MAX)))
});

/// Where a container sees what it may have, what it has, and its account, with the line of what it can do without: that of files. By cgroups 2 and 1.
const GROUPS: [[&str; 4]; 2] = [
    [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory.current",
        "/sys/fs/cgroup/memory.stat",
        "file",
    ],
    [
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
        "total_cache",
    ],
];

/// The room for one fleet, which is free again when this is dropped.
#[derive(Debug)]
pub struct Seat {
    _permit: SemaphorePermit<'static>,
}

/// Waits until there is room for another fleet; who waits longest is next.
pub async fn take() -> Result<Seat> {
    let permit = SEATS.acquire().await.context("no seats for fleets")?;
    Ok(Seat { _permit: permit })
}

fn room(cores: usize, kilobytes: usize) -> usize {
    cores.min(kilobytes / FLEET).clamp(1, MOST)
}

/// What may be taken without anything else being pushed out.
fn available(meminfo: &str) -> Option<usize> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The same of a container, in kilobytes as well; `None` if it has no limit.
fn left(limit: &str, used: &str, stat: &str, cache: &str) -> Option<usize> {
    let limit: usize = limit.trim().parse().ok()?;
    let used: usize = used.trim().parse().ok()?;
    let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
    let cache = lines.find_map(|(name, bytes)| (name == cache).then_some(bytes));
    let cache: usize = cache.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cache)) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_fleets_than_cores_and_memory_allow() {
        let gigabytes = |count: usize| count * 1_000_000;
        assert_eq!(room(2, gigabytes(22)), 2);
        assert_eq!(room(16, gigabytes(5)), 3);
        assert_eq!(room(16, gigabytes(64)), 4);
        assert_eq!(room(1, usize::MAX), 1);
        // One is always tried.
        assert_eq!(room(8, gigabytes(1)), 1);
    }

    #[test]
    fn the_memory_that_is_available_is_read_as_the_kernel_tells_it() {
        let meminfo = "MemTotal:       24000000 kB\nMemFree:  100 kB\nMemAvailable:   4321000 kB\n";
        assert_eq!(available(meminfo), Some(4_321_000));
        assert_eq!(available(""), None);
    }

    #[test]
    fn a_container_has_what_its_limit_leaves() {
        let stat = "anon 700000\nfile 300000\nkernel 5\n";
        let has = |limit: &str| left(limit, "1000000\n", stat, "file");
        assert_eq!(has("4000000\n"), Some(3_300));
        assert_eq!(has("500000\n"), Some(0));
        assert_eq!(has("max\n"), None);
        assert_eq!(left("", "", "", "total_cache"), None);
    }
}
