//! The log: where it goes, in which form, and what is in it.

use std::io::{IsTerminal, stderr};

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;

use crate::arguments::{Arguments, LogFormat};

/// What is logged where nobody says it. The consensus library tells at `info` what is for its
/// own developers.
const DEFAULT_FILTER: &str = "info,openraft=warn";

/// Starts logging to the standard error.
///
/// # Errors
/// If the filter is none.
pub(crate) fn start(arguments: &Arguments) -> Result<()> {
    let variable = |name| std::env::var(name).ok().filter(|it| !it.is_empty());
    let filter = arguments.log.clone();
    let filter = filter
        .or_else(|| variable("KLAMM_LOG"))
        .or_else(|| variable("RUST_LOG"));
    let filter = filter.unwrap_or_else(|| DEFAULT_FILTER.to_owned());
    let filter = EnvFilter::try_new(&filter)
        .with_context(|| format!("`{filter}` does not say what to log"))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal());
    match arguments.log_format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}
