//! Record type 5 of `__consumer_offsets`: a member of a consumer group and what it subscribes to.
//!
//! Members that still speak the classic protocol are here too, while a group is being converted.

use crate::prelude::*;

/// Names the member.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(5), versions = 0..=0)]
pub struct ConsumerGroupMemberMetadataKey {
    /// The group's id.
    pub group_id: ByteString,
    /// The member's id.
    pub member_id: ByteString,
}

/// What the member told of itself; a tombstone in its place means that it left.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(5), versions = 0..=0, flexible = 0..)]
pub struct ConsumerGroupMemberMetadataValue {
    /// The id that a static member gave itself (`group.instance.id`); `None` for a dynamic one.
    #[wire(nullable = ..)]
    pub instance_id: Option<ByteString>,
    /// The rack or zone that it stands in; `None` when not told.
    #[wire(nullable = ..)]
    pub rack_id: Option<ByteString>,
    /// The client id of its requests.
    pub client_id: ByteString,
    /// The address that it came from, as text.
    pub client_host: ByteString,
    /// The topics that it subscribes to by name.
    pub subscribed_topic_names: Vec<ByteString>,
    /// The pattern that it subscribes by, in RE2's syntax; `None` or empty for none. What it
    /// matches is kept by [record type 16](super::consumer_group_regular_expression).
    #[wire(nullable = ..)]
    pub subscribed_topic_regex: Option<ByteString>,
    /// Milliseconds that it may take to give up partitions; -1 when not told.
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The server's assignor that it would like; `None` leaves it to the group.
    #[wire(nullable = ..)]
    pub server_assignor: Option<ByteString>,
    /// What a member of the classic protocol told besides; `None` for one of the newer protocol.
    /// An absent field reads as empty metadata, so `None` is written out.
    #[wire(nullable = .., tag = 0)]
    pub classic_member_metadata: Option<ClassicMemberMetadata>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The classic side of a member, in [`ConsumerGroupMemberMetadataValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ClassicMemberMetadata {
    /// Milliseconds without heartbeat after which the member counts as failed.
    pub session_timeout_ms: i32,
    /// The assignors that it can work with, best first.
    pub supported_protocols: Vec<ClassicProtocol>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One assignor of the client, in [`ClassicMemberMetadata`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ClassicProtocol {
    /// The assignor's name.
    pub name: ByteString,
    /// What the member offered for it: an int16 version and a `ConsumerProtocolSubscription`.
    pub metadata: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
