//! What is wrong with a setting, and what is only odd.

use std::fmt;

use thiserror::Error;

/// A setting that no producer is built with. Values of secret settings are not repeated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The value is not of the setting's kind.
    #[error("{name} = `{value}`: expected {expected}")]
    Unreadable {
        /// The setting.
        name: String,
        /// What it was given.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// The value is of the right kind and not allowed.
    #[error("{name} = {value}: expected {expected}")]
    OutOfRange {
        /// The setting.
        name: String,
        /// What it was given.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// The setting asks for what this producer does not do, and would go wrong without.
    #[error("{name} is not supported: {reason}")]
    Refused {
        /// The setting.
        name: String,
        /// What is missing.
        reason: &'static str,
    },
    /// Two settings contradict each other.
    #[error("{name} = {value} contradicts {other} = {other_value}: {rule}")]
    Conflict {
        /// The one.
        name: &'static str,
        /// Its value.
        value: String,
        /// The other.
        other: &'static str,
        /// Its value.
        other_value: String,
        /// What has to hold.
        rule: &'static str,
    },
    /// One of the settings that all clients have.
    #[error(transparent)]
    Client(#[from] klamm_client::ConfigError),
}

/// A setting that is odd, and was let pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigWarning {
    /// No producer has a setting of this name.
    Unknown {
        /// The name.
        name: String,
    },
    /// A setting of Apache Kafka's producer that has no effect here.
    Unused {
        /// The name.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// Of a setting that all clients have.
    Client(klamm_client::ConfigWarning),
    /// A default was changed so that it goes with what was set.
    Adjusted {
        /// The setting whose default was changed.
        name: &'static str,
        /// What it is now.
        value: String,
        /// What for.
        reason: &'static str,
    },
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => write!(f, "unknown setting {name}"),
            Self::Unused { name, reason } => write!(f, "{name} has no effect: {reason}"),
            Self::Client(warning) => warning.fmt(f),
            Self::Adjusted {
                name,
                value,
                reason,
            } => write!(f, "{name} is {value}: {reason}"),
        }
    }
}
