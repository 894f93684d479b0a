//! Epochs: numbers that rise with each change of an owner, so that the former one is known by
//! its lower number and fenced. Each is a type of its own; Raft's number is a `term`.

use crate::number::number;

number! {
    /// Counts the leaders of one partition; stamped on every record batch by the leader that
    /// appended it.
    LeaderEpoch(i32)
}

number! {
    /// Counts the incarnations of one producer id.
    ProducerEpoch(i16)
}

number! {
    /// Counts the registrations of one broker id with the controller.
    BrokerEpoch(i64)
}

impl LeaderEpoch {
    /// How the protocol writes "no leader epoch".
    pub const NONE: Self = Self::new(-1);
}

impl ProducerEpoch {
    /// How the protocol writes "not idempotent".
    pub const NONE: Self = Self::new(-1);
}

impl BrokerEpoch {
    /// How the protocol writes "not registered".
    pub const NONE: Self = Self::new(-1);
}
