//! The standard output, which may be gone: `println!` would panic then.

use std::io::{Write, stdout};

use anyhow::{Context, Result};

/// Prints a line.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn line(text: &str) -> Result<()> {
    writeln!(stdout(), "{text}").context("standard output")
}
