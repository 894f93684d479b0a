//! Where and when the figures were measured.

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::command;
use crate::workspace::Workspace;

/// A line on the day, the cores, the processor, the kernel and the compiler.
///
/// # Errors
/// The compiler cannot be asked for its version.
pub(super) fn describe(workspace: &Workspace) -> Result<String> {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.arg("--version").current_dir(workspace.root());
    let rustc = command::output(&mut rustc)?;
    let cores = std::thread::available_parallelism().context("cannot count the cores")?;
    let processor = fs::read_to_string("/proc/cpuinfo").ok();
    let processor = processor
        .as_deref()
        .and_then(model_name)
        .unwrap_or("an unknown processor");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    let kernel = kernel.as_deref().map_or("unknown", str::trim);
    Ok(format!(
        "Measured on {}: {cores} cores of {processor}, {} {kernel}, {}.",
        date(since_epoch()),
        std::env::consts::OS,
        rustc.trim(),
    ))
}

fn model_name(cpuinfo: &str) -> Option<&str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim())
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the page says on which day it was measured"
)]
fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// The day in UTC, as year-month-day in the Gregorian calendar.
fn date(since_epoch: Duration) -> String {
    let mut day = since_epoch.as_secs() / 86_400;
    let mut year = 1970;
    let divides = |by: u64, year: u64| year.is_multiple_of(by);
    let is_leap = |year| divides(4, year) && (!divides(100, year) || divides(400, year));
    let days_of = |year: u64| if is_leap(year) { 366 } else { 365 };
    while day >= days_of(year) {
        day -= days_of(year);
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in months {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", day + 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{date, model_name};

    #[test]
    fn days_are_counted_over_leap_years() {
        let day = |days: u64| date(Duration::from_secs(days * 86_400));
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(364), "1970-12-31");
        assert_eq!(day(11_016), "2000-02-29");
        assert_eq!(day(11_017), "2000-03-01");
        assert_eq!(day(20_453), "2025-12-31");
        assert_eq!(day(20_454), "2026-01-01");
    }

    #[test]
    fn the_processors_name_is_the_first_there_is() {
        let cpuinfo = "processor\t: 0\nmodel name\t: A Chip @ 2 GHz\nmodel name\t: B\n";
        assert_eq!(model_name(cpuinfo), Some("A Chip @ 2 GHz"));
        assert_eq!(model_name("processor\t: 0\n"), None);
    }
}
