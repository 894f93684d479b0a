//! `ShareAcknowledge` (key 79): says what became of records that `ShareFetch` acquired, without
//! fetching more (KIP-932).
//!
//! It counts as a request of the same share session. v0 was an early form that 4.1 dropped; v2
//! added renewing (KIP-1222).

use crate::prelude::*;

/// Acknowledges acquired records; answered by the leader of the partitions.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(79), versions = 1..=2, flexible = 0.., listeners(broker))]
pub struct ShareAcknowledgeRequest {
    /// The share group. Null may be written, but is of no use to a broker.
    #[wire(nullable = .., default = None)]
    pub group_id: Option<ByteString>,
    /// The member's id. Null may be written, but is of no use to a broker.
    #[wire(nullable = ..)]
    pub member_id: Option<ByteString>,
    /// The request's number within the share session: one more than the last, or -1, which
    /// ends the session. Only a fetch can open one.
    pub share_session_epoch: i32,
    /// Whether some acknowledgement in this request renews (type 4).
    #[wire(versions = 2..)]
    pub is_renew_ack: bool,
    /// The acknowledgements, by topic.
    pub topics: Vec<AcknowledgeTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The partitions of one topic, in [`ShareAcknowledgeRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AcknowledgeTopic {
    /// The topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<AcknowledgePartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The acknowledgements of one partition, in [`AcknowledgeTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AcknowledgePartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// What became of the records, by rising offset and without overlap.
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of a range of acquired records, in [`AcknowledgePartition`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AcknowledgementBatch {
    /// The first offset of the range.
    pub first_offset: Offset,
    /// The last offset of the range, part of it.
    pub last_offset: Offset,
    /// One type for the whole range, or one for each of its offsets: 0 gap (there is no record
    /// at this offset), 1 accept, 2 release (deliver again), 3 reject (never again), from v2
    /// also 4 renew (keep it locked for this member).
    pub acknowledge_types: Vec<i8>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ShareAcknowledgeRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(79), versions = 1..=2, flexible = 0..)]
pub struct ShareAcknowledgeResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0, or why the request was refused as a whole.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Milliseconds for which renewed records are this member's from now on.
    #[wire(versions = 2.., ignorable)]
    pub acquisition_lock_timeout_ms: i32,
    /// The outcomes, by topic.
    pub responses: Vec<ShareAcknowledgeTopicResponse>,
    /// Where the leaders named in partitions with `NOT_LEADER_OR_FOLLOWER` can be reached.
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcomes of one topic, in [`ShareAcknowledgeResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ShareAcknowledgeTopicResponse {
    /// The topic.
    pub topic_id: TopicId,
    /// The outcome for each partition.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The outcome for one partition, in [`ShareAcknowledgeTopicResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// 0, or why the acknowledgements were refused: `INVALID_RECORD_STATE` for records that
    /// are not, or no longer, locked by this member.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Who leads the partition, where the error says that this broker does not.
    pub current_leader: LeaderIdAndEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The leader of a partition, in [`PartitionData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct LeaderIdAndEpoch {
    /// The leader; -1 when it is not known.
    pub leader_id: BrokerId,
    /// The latest leader epoch known to the broker.
    pub leader_epoch: LeaderEpoch,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Where a broker can be reached, in [`ShareAcknowledgeResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct NodeEndpoint {
    /// The broker.
    pub node_id: BrokerId,
    /// Host name or address.
    pub host: ByteString,
    /// TCP port.
    pub port: i32,
    /// The broker's rack; null when it has none.
    #[wire(nullable = .., default = None)]
    pub rack: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
