//! [`Definition`]: one setting as the catalogue has it.

use super::kind::Kind;

/// One setting: its name and all that is known of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Definition {
    /// The name, which is Apache Kafka's; `klamm.` stands before those that are not.
    pub name: &'static str,
    /// What its text may be.
    pub kind: Kind,
    /// The text that it has when none is given; `None` where that is no value at all.
    pub default: Option<&'static str>,
    /// When it may change.
    pub change: Change,
    /// Whether it promises protection that this version does not have. Given with anything but
    /// its default, the broker does not start: an open door must not look closed.
    pub is_guard: bool,
    /// What it does, for people.
    pub meaning: &'static str,
}

/// When a setting may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is read at the start alone.
    AtStart,
    /// While running, for all brokers at once.
    Cluster,
    /// While running, for all brokers or for one.
    Broker,
    /// While running, for a single listener too.
    Listener,
    /// While running, for each topic.
    Topic,
    /// While running, for users and clients; it is never in a file.
    Entity,
}

/// A setting that is read at the start.
pub(super) const fn row(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    meaning: &'static str,
) -> Definition {
    Definition {
        name,
        kind,
        default: Some(default),
        change: Change::AtStart,
        is_guard: false,
        meaning,
    }
}

/// A setting that is read at the start and has no value unless it is given.
pub(super) const fn unset(name: &'static str, kind: Kind, meaning: &'static str) -> Definition {
    Definition {
        default: None,
        ..row(name, kind, "", meaning)
    }
}

impl Definition {
    pub(super) const fn change(self, change: Change) -> Self {
        Self { change, ..self }
    }

    pub(super) const fn guard(self) -> Self {
        Self {
            is_guard: true,
            ..self
        }
    }
}
