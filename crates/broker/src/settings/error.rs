//! [`SettingsError`]: why a broker does not start with these settings.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::properties::BadEscape;
use super::sources::Origin;

/// Why a broker does not start with these settings. Shown, it is one line that names the setting
/// and where it was given.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not one of properties.
    #[error("{}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: BadEscape,
    },
    /// `--set` was given something else than `name=value`.
    #[error("--set {text}: expected name=value")]
    NotAssignment {
        /// What was given.
        text: String,
    },
    /// A value is of the wrong kind, or out of its range.
    #[error("{origin}: {name} is {value:?}, expected {expected}")]
    Invalid {
        /// The setting.
        name: String,
        /// The value.
        value: String,
        /// What it may be.
        expected: String,
        /// Where it was given.
        origin: Origin,
    },
    /// A setting that must be given was not.
    #[error("{name} must be given, {why}")]
    Missing {
        /// The setting.
        name: &'static str,
        /// Why it must.
        why: &'static str,
    },
    /// Settings contradict each other.
    #[error("{origin}: {name} {problem}")]
    Contradiction {
        /// One of the settings.
        name: &'static str,
        /// What does not go together, as the rest of a sentence.
        problem: String,
        /// Where it was given.
        origin: Origin,
    },
    /// A setting promises protection that this version does not have. Its value is not told: it
    /// may be a secret.
    #[error(
        "{origin}: {name} asks for protection that this version does not have; it must not be \
         taken for granted, so the broker does not start"
    )]
    NotProtected {
        /// The setting.
        name: String,
        /// Where it was given.
        origin: Origin,
    },
}
