//! Processor time and memory, as Linux tells them.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// The time that the calling thread has run so far.
pub(crate) fn of_this_thread() -> Result<Duration> {
    ran("/proc/thread-self/schedstat")
}

/// The time that all threads of a process which live now have run so far. A thread that ends
/// takes its time along, so two calls are to be compared only where threads stay.
pub(crate) fn of_process(id: u32) -> Result<Duration> {
    let mut sum = Duration::ZERO;
    for thread in fs::read_dir(format!("/proc/{id}/task")).context("the broker has ended")? {
        sum += ran(&format!("{}/schedstat", thread?.path().display()))?;
    }
    Ok(sum)
}

/// Bytes of a process that are in memory.
pub(crate) fn resident_bytes(id: u32) -> Result<u64> {
    from_status(id, "VmRSS:")
}

/// The most bytes of a process that were in memory at a time.
pub(crate) fn peak_bytes(id: u32) -> Result<u64> {
    from_status(id, "VmHWM:")
}

fn from_status(id: u32, name: &str) -> Result<u64> {
    let status =
        fs::read_to_string(format!("/proc/{id}/status")).context("the process has ended")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kibibytes.with_context(|| format!("no {name} in /proc"))? * 1024)
}

fn ran(path: &str) -> Result<Duration> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let nanos = text.split(' ').next().and_then(|word| word.parse().ok());
    Ok(Duration::from_nanos(
        nanos.context("no number in schedstat")?,
    ))
}
