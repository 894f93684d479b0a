//! `DeleteShareGroupOffsets` (key 92): forgets what a share group knows of some topics (KIP-932).
//!
//! The group must have no members. It starts afresh, by its reset rule, when it subscribes to
//! such a topic again.

use crate::prelude::*;

/// Forgets a share group's state of some topics; answered by the group's coordinator.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(92), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct DeleteShareGroupOffsetsRequest {
    /// The group.
    pub group_id: ByteString,
    /// The topics, each with all of its partitions.
    pub topics: Vec<DeleteShareGroupOffsetsRequestTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic, in [`DeleteShareGroupOffsetsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteShareGroupOffsetsRequestTopic {
    /// The topic's name.
    pub topic_name: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DeleteShareGroupOffsetsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(92), versions = 0..=0, flexible = 0..)]
pub struct DeleteShareGroupOffsetsResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0, or why nothing was deleted: `NON_EMPTY_GROUP` while the group has members.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// The outcome for each topic.
    pub responses: Vec<DeleteShareGroupOffsetsResponseTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcome for one topic, in [`DeleteShareGroupOffsetsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DeleteShareGroupOffsetsResponseTopic {
    /// The topic's name.
    pub topic_name: ByteString,
    /// The topic's id; zero for an unknown topic.
    pub topic_id: TopicId,
    /// 0 or what went wrong.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
