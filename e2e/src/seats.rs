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
    // Where there is nothing to read, the cores alone say it.
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    Semaphore::new(room(cores, available(&meminfo).unwrap_or(usize::MAX)))
});

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
}
