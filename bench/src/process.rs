//! What the kernel says of a process: processor time so far.

use anyhow::{Context as _, Result};

/// Clock ticks in a second in `/proc/PID/stat`: USER_HZ, which is 100 on every Linux that Rust's tier 1 runs on.
const TICKS: f64 = 100.0;

/// User and system time so far, in seconds.
pub(crate) fn cpu_seconds(pid: i32) -> Result<f64> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    // The second field is the program's name in parentheses, which may hold anything.
    let fields: Vec<&str> = text
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .with_context(|| format!("{path} has no name"))?;
    let ticks = |index: usize| {
        fields
            .get(index)
            .and_then(|field| field.parse::<f64>().ok())
    };
    let (user, system) = ticks(11)
        .zip(ticks(12))
        .with_context(|| format!("{path} is short"))?;
    Ok((user + system) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_grows_while_this_process_works() {
        let own = i32::try_from(std::process::id()).expect("a pid");
        let before = cpu_seconds(own).expect("readable");
        let mut number = 1_u64;
        while cpu_seconds(own).expect("readable") <= before {
            number = std::hint::black_box(number.wrapping_mul(3));
        }
    }
}
