//! The standard output, which may be gone: `println!` would panic then. And words for it.

use std::fmt;
use std::io::{self, ErrorKind, Write, stdout};

use anyhow::{Context, Result};

/// Prints a line. With nobody left to read it, it is dropped.
///
/// # Errors
/// If it cannot be written for another reason.
pub(crate) fn line(text: &str) -> Result<()> {
    or_unread(writeln!(stdout(), "{text}")).context("standard output")
}

/// Whoever reads the output may have seen enough, as `head` has: that is no error.
pub(crate) fn or_unread(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// So many records, for people.
pub(crate) struct Records(pub(crate) u64);

impl fmt::Display for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 record"),
            count => write!(f, "{count} records"),
        }
    }
}
