//! Numbers that name a thing: a broker, a partition of a topic, a producer, a request.

use crate::number::number;

number! {
    /// Names a broker within its cluster (`node.id`).
    BrokerId(i32)
}

number! {
    /// Names a partition within its topic, counted from 0.
    PartitionIndex(i32)
}

number! {
    /// Names an idempotent or transactional producer; given out by the cluster, never twice.
    ProducerId(i64)
}

number! {
    /// Ties a response to its request, within a connection; the client chooses it.
    CorrelationId(i32)
}

impl BrokerId {
    /// How the protocol writes "no broker": no leader, or a consumer where a replica could be.
    pub const NONE: Self = Self::new(-1);
}

impl ProducerId {
    /// How the protocol writes "not idempotent".
    pub const NONE: Self = Self::new(-1);
}
