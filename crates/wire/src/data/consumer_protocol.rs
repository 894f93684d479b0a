//! What the members of a classic group tell one another through the broker: the subscription in
//! `JoinGroup` and the assignment in `SyncGroup`, when their protocol type is `consumer`.
//!
//! A version stands in front of both: see [`version_prefix`](super::version_prefix). Members of
//! one group may run different releases, so a newer version than is known is read as the highest
//! known one, and what is left behind it is passed over.

use crate::prelude::*;

/// What a member wants to consume; the metadata of an assignor in a `JoinGroup` request.
///
/// v1 added the owned partitions (KIP-429), v2 the generation (KIP-792), v3 the rack (KIP-881).
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=3)]
pub struct ConsumerProtocolSubscription {
    /// The topics subscribed to.
    pub topics: Vec<ByteString>,
    /// What the member's assignor adds for its own use; null when it adds nothing.
    #[wire(nullable = .., default = None)]
    pub user_data: Option<Bytes>,
    /// The partitions that the member owns while the group rebalances.
    #[wire(versions = 1.., ignorable)]
    pub owned_partitions: Vec<TopicPartition>,
    /// The generation in which the member came to own them; -1 when it is not known. Of two
    /// members who claim a partition, the one with the later generation is right.
    #[wire(versions = 2.., default = -1, ignorable)]
    pub generation_id: i32,
    /// The member's rack; null when it has none.
    #[wire(versions = 3.., nullable = 3.., default = None, ignorable)]
    pub rack_id: Option<ByteString>,
}

/// What a member shall consume; its assignment in a `SyncGroup` request and response.
///
/// The versions keep step with those of the subscription and all have the same fields.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=3)]
pub struct ConsumerProtocolAssignment {
    /// The partitions to consume, one entry for each topic.
    pub assigned_partitions: Vec<TopicPartition>,
    /// What the leader's assignor adds for the member's; null when it adds nothing.
    #[wire(nullable = .., default = None)]
    pub user_data: Option<Bytes>,
}

/// Some partitions of one topic, owned or assigned.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: ByteString,
    /// Which of its partitions.
    pub partitions: Vec<PartitionIndex>,
}
