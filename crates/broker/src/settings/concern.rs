//! [`Warning`]: what is said of settings that do not keep the broker from starting.

use std::fmt;

use super::sources::Origin;

/// Something given that has no effect, or another than might be thought. The broker starts all the
/// same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The setting.
    pub name: String,
    /// Where it was given.
    pub origin: Origin,
    /// What is to be said of it.
    pub reason: Concern,
}

/// Why a setting is warned of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    /// Nobody knows the name.
    Unknown,
    /// Apache Kafka knows it, Klamm does not use it.
    NotUsed,
    /// It is for users and clients, and set while running.
    ForEntities,
    /// Something would be done without a pause.
    TooOften,
    /// A heartbeat that is a little late would be too late.
    HardlyBeats,
    /// It asks for more brokers than there are.
    TooManyReplicas,
    /// It is a variable of the environment that is another program's.
    NotRead,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Concern::NotRead => write!(
                f,
                "{}: give the setting as `--set {}=…`, in a file, or with KLAMM_ in front",
                self.reason, self.name
            ),
            reason => reason.fmt(f),
        }
    }
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotRead => "variable is not read",
            Self::Unknown => "unknown setting",
            Self::NotUsed => "setting is not used by klamm",
            Self::ForEntities => "setting is for users and clients, not for a broker",
            Self::TooOften => "shortest interval is 10 ms, which is taken instead",
            Self::HardlyBeats => {
                "is more than half of broker.session.timeout.ms, so a late heartbeat fences the broker"
            }
            Self::TooManyReplicas => {
                "this cluster has one broker, so a topic that is created without a number of \
                 replicas, as on first use, will be refused"
            }
        })
    }
}
