//! `DescribeTopicPartitions` (key 75): metadata of partitions, page by page (KIP-966).
//!
//! Unlike `Metadata` it bounds the answer: the broker stops after a number of partitions and
//! says where to go on. It also tells which replicas may become leader outside of the ISR.

use crate::prelude::*;

/// Asks any broker for the state of some topics' partitions.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(75), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct DescribeTopicPartitionsRequest {
    /// The topics; an empty list asks for all that the caller may see. Answered in the order
    /// of their names, whatever the order here.
    pub topics: Vec<TopicRequest>,
    /// The most partitions to put in one answer; the broker may stop earlier
    /// (`max.request.partition.size.limit`).
    #[wire(default = 2000)]
    pub response_partition_limit: i32,
    /// Where to go on, as the last answer said; null starts from the first topic.
    #[wire(nullable = .., default = None)]
    pub cursor: Option<Cursor>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic asked for, in [`DescribeTopicPartitionsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TopicRequest {
    /// The topic's name.
    pub name: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The place between two pages, in both directions: the first partition of the next page.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Cursor {
    /// The topic that the page starts in. If it is gone by then, the page starts with the next
    /// name after it.
    pub topic_name: ByteString,
    /// The first partition of that topic to describe.
    pub partition_index: PartitionIndex,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeTopicPartitionsRequest`] with one page.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(75), versions = 0..=0, flexible = 0..)]
pub struct DescribeTopicPartitionsResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    #[wire(ignorable)]
    pub throttle_time_ms: i32,
    /// The topics of this page.
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    /// Where the next page starts; null when this was the last one.
    #[wire(nullable = .., default = None)]
    pub next_cursor: Option<Cursor>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic, in [`DescribeTopicPartitionsResponse`]. A topic cut by the end of a page shows up
/// in the next one again, with its further partitions.
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeTopicPartitionsResponseTopic {
    /// 0, or why the topic is not described.
    pub error_code: ErrorCode,
    /// The topic's name; null is possible on the wire, but no broker is known to send it.
    #[wire(nullable = ..)]
    pub name: Option<ByteString>,
    /// The topic's id; zero where there is an error.
    #[wire(ignorable)]
    pub topic_id: TopicId,
    /// Whether this is one of the broker's own topics, such as `__consumer_offsets`.
    #[wire(ignorable)]
    pub is_internal: bool,
    /// The partitions of this page, by rising index.
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    /// The operations that the caller may perform, a bit for each operation's code;
    /// `i32::MIN` where that is not told.
    #[wire(default = i32::MIN)]
    pub topic_authorized_operations: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition, in [`DescribeTopicPartitionsResponseTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeTopicPartitionsResponsePartition {
    /// 0, or what is wrong: `LEADER_NOT_AVAILABLE` without a leader that is up.
    pub error_code: ErrorCode,
    /// The partition.
    pub partition_index: PartitionIndex,
    /// The leader; -1 when there is none.
    pub leader_id: BrokerId,
    /// The leader's epoch; -1 when it is not known.
    #[wire(default = -1, ignorable)]
    pub leader_epoch: LeaderEpoch,
    /// All replicas, the preferred leader first.
    pub replica_nodes: Vec<BrokerId>,
    /// The in-sync replicas.
    pub isr_nodes: Vec<BrokerId>,
    /// Replicas outside of the ISR that hold all committed records, from which the next leader
    /// may be taken when the ISR is empty; null when that is not told.
    #[wire(nullable = .., default = None)]
    pub eligible_leader_replicas: Option<Vec<BrokerId>>,
    /// Replicas that were eligible until an unclean shutdown; null when that is not told.
    #[wire(nullable = .., default = None)]
    pub last_known_elr: Option<Vec<BrokerId>>,
    /// Replicas whose broker or log directory is down.
    #[wire(ignorable)]
    pub offline_replicas: Vec<BrokerId>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
