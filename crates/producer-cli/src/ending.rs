//! [`Ending`]: how a run that began has ended, and the exit code for it.

use std::process::ExitCode;

/// How a run that began has ended. One that could not begin (a wrong option or setting, no such
/// file, no such topic) has an error in place of this, and exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Every record was acknowledged, and nothing was left out: exit code 0.
    Complete,
    /// A record failed, or the input could not be read to its end: exit code 2.
    Incomplete,
    /// Somebody asked the program to end early; what was sent until then is acknowledged: exit
    /// code 130, as shells have it for Ctrl-C.
    Interrupted,
}

/// The exit code of [`Ending::Interrupted`], and of a program that is asked twice to end.
pub(crate) const INTERRUPTED: u8 = 130;

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Complete => Self::SUCCESS,
            Ending::Incomplete => Self::from(2),
            Ending::Interrupted => Self::from(INTERRUPTED),
        }
    }
}
