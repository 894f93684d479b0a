//! The log, on the standard error.

use std::io::{IsTerminal, stderr};

use anyhow::{Context, Result};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Starts logging what `filter` lets through.
///
/// # Errors
/// If the filter is none.
pub(crate) fn start(filter: &str) -> Result<()> {
    let targets: Targets = filter
        .parse()
        .with_context(|| format!("--log: `{filter}` does not say what to log"))?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        .with_target(false);
    let log = tracing_subscriber::registry().with(targets);
    log.with(lines).init();
    Ok(())
}
