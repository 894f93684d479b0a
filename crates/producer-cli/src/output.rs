//! The standard output, which may be gone: `println!` would panic then. And words for it.

use std::io::{Write, stdout};

use anyhow::{Context, Result};

/// Prints a line.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn line(text: &str) -> Result<()> {
    writeln!(stdout(), "{text}").context("standard output")
}

/// So many records, in words.
pub(crate) fn records(count: u64) -> String {
    if count == 1 {
        "1 record".to_owned()
    } else {
        format!("{count} records")
    }
}
