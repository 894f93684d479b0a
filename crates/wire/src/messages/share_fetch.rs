//! `ShareFetch` (key 78): acquires records for a member of a share group, and acknowledges
//! records acquired before (KIP-932).
//!
//! Requests between a member and a leader belong to a share session: the broker remembers the
//! partitions, and each request names only those that are new, that have something to
//! acknowledge, or that are to be forgotten. v0 was an early form that 4.1 dropped; its limit of
//! bytes per partition is left out here, since no version that exists carries it. v2 added the
//! acquire mode (KIP-1206) and renewing (KIP-1222).

use crate::prelude::*;

/// Acquires and acknowledges records; answered by the leader of the partitions.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(78), versions = 1..=2, flexible = 0.., listeners(broker))]
pub struct ShareFetchRequest {
    /// The share group. Null may be written, but is of no use to a broker.
    #[wire(nullable = .., default = None)]
    pub group_id: Option<ByteString>,
    /// The member's id. Null may be written, but is of no use to a broker.
    #[wire(nullable = ..)]
    pub member_id: Option<ByteString>,
    /// The request's number within the share session: 0 opens one, -1 ends it, and in between
    /// each request is one more than the last.
    pub share_session_epoch: i32,
    /// How many milliseconds the broker may wait for `min_bytes`.
    pub max_wait_ms: i32,
    /// The bytes of records that end the wait.
    pub min_bytes: i32,
    /// The most bytes of records wanted. The first batch is sent whole even if it is larger.
    #[wire(default = i32::MAX)]
    pub max_bytes: i32,
    /// The most records to acquire. In acquire mode 0 the broker may go past it up to the end
    /// of a record batch.
    #[wire(versions = 1..)]
    pub max_records: i32,
    /// How many records the client would like in a batch of acquired records, and thus in one
    /// batch of acknowledgements.
    #[wire(versions = 1..)]
    pub batch_size: i32,
    /// 0: acquire whole record batches where possible; 1: never more than `max_records`.
    #[wire(versions = 2.., ignorable)]
    pub share_acquire_mode: i8,
    /// Whether some acknowledgement in this request renews (type 4); such a request acquires
    /// nothing.
    #[wire(versions = 2..)]
    pub is_renew_ack: bool,
    /// The partitions that are new to the session or have something to acknowledge.
    pub topics: Vec<FetchTopic>,
    /// The partitions to take out of the session.
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The partitions of one topic, in [`ShareFetchRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct FetchTopic {
    /// The topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<FetchPartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition to fetch from, in [`FetchTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct FetchPartition {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// What became of records acquired before, by rising offset and without overlap.
    pub acknowledgement_batches: Vec<AcknowledgementBatch>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of a range of acquired records, in [`FetchPartition`].
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

/// The partitions of one topic to take out of the session, in [`ShareFetchRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ForgottenTopic {
    /// The topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ShareFetchRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(78), versions = 1..=2, flexible = 0..)]
pub struct ShareFetchResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0, or why the request was refused as a whole. `SHARE_SESSION_NOT_FOUND` and
    /// `INVALID_SHARE_SESSION_EPOCH`: open a new session with epoch 0.
    pub error_code: ErrorCode,
    /// The error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// Milliseconds for which the acquired records are this member's; what it has not
    /// acknowledged by then goes to others.
    #[wire(versions = 1..)]
    pub acquisition_lock_timeout_ms: i32,
    /// The partitions that have records, an error or the outcome of an acknowledgement.
    pub responses: Vec<ShareFetchableTopicResponse>,
    /// Where the leaders named in partitions with `NOT_LEADER_OR_FOLLOWER` can be reached.
    pub node_endpoints: Vec<NodeEndpoint>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The partitions of one topic, in [`ShareFetchResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ShareFetchableTopicResponse {
    /// The topic.
    pub topic_id: TopicId,
    /// Its partitions.
    pub partitions: Vec<PartitionData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition, in [`ShareFetchableTopicResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct PartitionData {
    /// The partition.
    pub partition_index: PartitionIndex,
    /// 0, or why nothing was fetched.
    pub error_code: ErrorCode,
    /// The fetch error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub error_message: Option<ByteString>,
    /// 0, or why the acknowledgements were refused: `INVALID_RECORD_STATE` for records that
    /// are not, or no longer, locked by this member.
    pub acknowledge_error_code: ErrorCode,
    /// The acknowledgement's error in words; null without an error or without more to say.
    #[wire(nullable = .., default = None)]
    pub acknowledge_error_message: Option<ByteString>,
    /// Who leads the partition, where the error says that this broker does not.
    pub current_leader: LeaderIdAndEpoch,
    /// Whole record batches as stored, which may hold more than was acquired. Never null: only
    /// v0 had null.
    pub records: Records,
    /// Which of these records the member has acquired; it must pass over all others.
    pub acquired_records: Vec<AcquiredRecords>,
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

/// A range of acquired records, in [`PartitionData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AcquiredRecords {
    /// The first offset of the range.
    pub first_offset: Offset,
    /// The last offset of the range, part of it.
    pub last_offset: Offset,
    /// How many times these records have been delivered, this time included.
    pub delivery_count: i16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Where a broker can be reached, in [`ShareFetchResponse`].
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
