//! `OffsetFetch` (key 9): the offsets that groups have committed; answered by their coordinator.
//!
//! v2 lets null topics ask for everything and has an error for the whole group, v3 added the
//! throttle time, v5 the leader epoch, v6 is flexible, v7 can insist on stable offsets (KIP-447),
//! v8 asks for several groups at once (KIP-709), v9 names the member, which fences members of the
//! consumer protocol (KIP-848), v10 names topics by id.
//!
//! The flat fields serve up to v7, `groups` from v8 on.
//!
//! A writer sets the name or the id of a topic, whichever the version has: the other is dropped, so
//! that a topic with the wrong one goes out without either.

use crate::form::{FormError, only};
use crate::prelude::*;

/// Asks what groups have committed, for named partitions or for all.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(9), versions = 1..=10, flexible = 6.., listeners(broker))]
pub struct OffsetFetchRequest {
    /// The one group asked for, up to v7.
    #[wire(versions = ..=7)]
    pub group_id: ByteString,
    /// The partitions asked for, up to v7; null (from v2 on) asks for all that the group has
    /// committed, empty for none.
    #[wire(versions = ..=7, nullable = 2..=7)]
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    /// The groups asked for, from v8 on.
    #[wire(versions = 8..)]
    pub groups: Vec<OffsetFetchRequestGroup>,
    /// Whether a partition whose offset a transaction may still change is answered
    /// `UNSTABLE_OFFSET_COMMIT` in place of the last settled offset.
    #[wire(versions = 7..)]
    pub require_stable: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic asked for up to v7, in [`OffsetFetchRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetFetchRequestTopic {
    /// The topic's name.
    #[wire(versions = ..=7)]
    pub name: ByteString,
    /// The partitions asked for.
    #[wire(versions = ..=7)]
    pub partition_indexes: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One group asked for from v8 on, in [`OffsetFetchRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetFetchRequestGroup {
    /// The group.
    #[wire(versions = 8..)]
    pub group_id: ByteString,
    /// The sender's member id in a group of the consumer protocol; null when it is no member, and
    /// then nothing is fenced.
    #[wire(versions = 9.., nullable = 9.., default = None, ignorable)]
    pub member_id: Option<ByteString>,
    /// The sender's member epoch in a group of the consumer protocol; -1 when it is no member.
    #[wire(versions = 9.., default = -1, ignorable)]
    pub member_epoch: i32,
    /// The partitions asked for; null asks for all that the group has committed.
    #[wire(versions = 8.., nullable = 8..)]
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic asked for from v8 on, in [`OffsetFetchRequestGroup`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetFetchRequestTopics {
    /// The topic's name, up to v9.
    #[wire(versions = 8..=9, ignorable)]
    pub name: ByteString,
    /// The topic's id, from v10 on.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: TopicId,
    /// The partitions asked for.
    #[wire(versions = 8..)]
    pub partition_indexes: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`OffsetFetchRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(9), versions = 1..=10, flexible = 6..)]
pub struct OffsetFetchResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota was exceeded.
    #[wire(versions = 3.., ignorable)]
    pub throttle_time_ms: i32,
    /// The one group's offsets, up to v7.
    #[wire(versions = ..=7)]
    pub topics: Vec<OffsetFetchResponseTopic>,
    /// Why the one group cannot be answered, v2 to v7; 0 when it can. In v1 such an error stands
    /// at every partition.
    #[wire(versions = 2..=7, ignorable)]
    pub error_code: ErrorCode,
    /// One entry for each group asked for, from v8 on.
    #[wire(versions = 8..)]
    pub groups: Vec<OffsetFetchResponseGroup>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's offsets up to v7, in [`OffsetFetchResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetFetchResponseTopic {
    /// The topic's name.
    #[wire(versions = ..=7)]
    pub name: ByteString,
    /// The offsets, by partition.
    #[wire(versions = ..=7)]
    pub partitions: Vec<OffsetFetchResponsePartition>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's offset up to v7, in [`OffsetFetchResponseTopic`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetFetchResponsePartition {
    /// The partition.
    #[wire(versions = ..=7)]
    pub partition_index: PartitionIndex,
    /// Where the group goes on; -1 when it has committed nothing here, or on error.
    #[wire(versions = ..=7)]
    pub committed_offset: Offset,
    /// The leader epoch that was committed with the offset; -1 when none was.
    #[wire(versions = 5..=7, default = -1, ignorable)]
    pub committed_leader_epoch: LeaderEpoch,
    /// The text that was committed with the offset; empty when there is none.
    #[wire(versions = ..=7, nullable = ..=7)]
    pub metadata: Option<ByteString>,
    /// Why this partition has no answer; 0 when it has, also when nothing was committed.
    #[wire(versions = ..=7)]
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One group's offsets from v8 on, in [`OffsetFetchResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetFetchResponseGroup {
    /// The group.
    #[wire(versions = 8..)]
    pub group_id: ByteString,
    /// The offsets, by topic.
    #[wire(versions = 8..)]
    pub topics: Vec<OffsetFetchResponseTopics>,
    /// Why this group cannot be answered; 0 when it can. Then `topics` is empty.
    #[wire(versions = 8..)]
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One topic's offsets from v8 on, in [`OffsetFetchResponseGroup`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetFetchResponseTopics {
    /// The topic's name, up to v9.
    #[wire(versions = 8..=9, ignorable)]
    pub name: ByteString,
    /// The topic's id, from v10 on.
    #[wire(versions = 10.., ignorable)]
    pub topic_id: TopicId,
    /// The offsets, by partition.
    #[wire(versions = 8..)]
    pub partitions: Vec<OffsetFetchResponsePartitions>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One partition's offset from v8 on, in [`OffsetFetchResponseTopics`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OffsetFetchResponsePartitions {
    /// The partition.
    #[wire(versions = 8..)]
    pub partition_index: PartitionIndex,
    /// Where the group goes on; -1 when it has committed nothing here, or on error.
    #[wire(versions = 8..)]
    pub committed_offset: Offset,
    /// The leader epoch that was committed with the offset; -1 when none was.
    #[wire(versions = 8.., default = -1, ignorable)]
    pub committed_leader_epoch: LeaderEpoch,
    /// The text that was committed with the offset; empty when there is none.
    #[wire(versions = 8.., nullable = 8..)]
    pub metadata: Option<ByteString>,
    /// Why this partition has no answer; 0 when it has, also when nothing was committed.
    #[wire(versions = 8..)]
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The first version that takes several groups.
const LIST_SINCE: i16 = 8;
/// The first version whose answer has an error for the whole group.
const GROUP_ERROR_SINCE: i16 = 2;
/// The first version that can insist on stable offsets.
const STABLE_SINCE: i16 = 7;

impl OffsetFetchRequest {
    /// Puts a request that lists its `groups` into the form of `version`. The member, which serves
    /// for fencing alone, is left out where the version has no place for it.
    ///
    /// # Errors
    /// [`FormError::Count`] unless below v8 there is exactly one group.
    pub fn for_version(self, version: i16) -> Result<Self, FormError> {
        if version >= LIST_SINCE {
            return Ok(self);
        }
        let only = only("groups", self.groups, version)?;
        let flat = |topic: OffsetFetchRequestTopics| OffsetFetchRequestTopic {
            name: topic.name,
            partition_indexes: topic.partition_indexes,
            unknown_tags: topic.unknown_tags,
        };
        Ok(Self {
            group_id: only.group_id,
            topics: only
                .topics
                .map(|topics| topics.into_iter().map(flat).collect()),
            groups: Vec::new(),
            ..self
        })
    }

    /// Makes a request that came in `version` list its one or more `groups`.
    #[must_use]
    pub fn from_version(self, version: i16) -> Self {
        if version >= LIST_SINCE {
            return self;
        }
        let listed = |topic: OffsetFetchRequestTopic| OffsetFetchRequestTopics {
            name: topic.name,
            partition_indexes: topic.partition_indexes,
            unknown_tags: topic.unknown_tags,
            ..Default::default()
        };
        Self {
            groups: vec![OffsetFetchRequestGroup {
                group_id: self.group_id,
                topics: self
                    .topics
                    .map(|topics| topics.into_iter().map(listed).collect()),
                ..Default::default()
            }],
            require_stable: self.require_stable,
            unknown_tags: self.unknown_tags,
            ..Self::default()
        }
    }

    /// Insists on stable offsets where `version` can (v7 on), and goes without where it cannot.
    /// Who must not go without sets `require_stable`: below v7 the request then does not encode.
    #[must_use]
    pub fn stable_if_supported(mut self, version: i16) -> Self {
        self.require_stable = version >= STABLE_SINCE;
        self
    }
}

impl OffsetFetchRequestGroup {
    /// The answer to a group that cannot be answered: in v1, which has no error for the whole
    /// group, every partition asked for has it.
    pub fn failed(&self, error_code: ErrorCode, version: i16) -> OffsetFetchResponseGroup {
        let topics = match &self.topics {
            Some(topics) if version < GROUP_ERROR_SINCE => topics.as_slice(),
            _ => &[],
        };
        let failed = |&partition_index: &PartitionIndex| OffsetFetchResponsePartitions {
            partition_index,
            committed_offset: Offset::UNKNOWN,
            error_code,
            ..Default::default()
        };
        let topics = topics.iter().map(|topic| OffsetFetchResponseTopics {
            name: topic.name.clone(),
            partitions: topic.partition_indexes.iter().map(failed).collect(),
            ..Default::default()
        });
        OffsetFetchResponseGroup {
            group_id: self.group_id.clone(),
            topics: topics.collect(),
            error_code,
            unknown_tags: UnknownTags::new(),
        }
    }
}

impl OffsetFetchResponse {
    /// Puts a response that lists its `groups` into the form of `version`.
    ///
    /// # Errors
    /// [`FormError::Count`] unless below v8 there is exactly one group.
    pub fn for_version(self, version: i16) -> Result<Self, FormError> {
        if version >= LIST_SINCE {
            return Ok(self);
        }
        let only = only("groups", self.groups, version)?;
        Ok(Self {
            topics: only
                .topics
                .into_iter()
                .map(OffsetFetchResponseTopics::flat)
                .collect(),
            error_code: only.error_code,
            groups: Vec::new(),
            ..self
        })
    }

    /// Makes a response that came in `version` list its `groups`; `group_id` is that of the
    /// request, should the version have room for one only.
    #[must_use]
    pub fn from_version(self, version: i16, group_id: &ByteString) -> Self {
        if version >= LIST_SINCE {
            return self;
        }
        Self {
            throttle_time_ms: self.throttle_time_ms,
            groups: vec![OffsetFetchResponseGroup {
                group_id: group_id.clone(),
                topics: self
                    .topics
                    .into_iter()
                    .map(OffsetFetchResponseTopic::listed)
                    .collect(),
                error_code: self.error_code,
                unknown_tags: UnknownTags::new(),
            }],
            unknown_tags: self.unknown_tags,
            ..Self::default()
        }
    }
}

impl OffsetFetchResponseTopics {
    fn flat(self) -> OffsetFetchResponseTopic {
        let flat = |partition: OffsetFetchResponsePartitions| OffsetFetchResponsePartition {
            partition_index: partition.partition_index,
            committed_offset: partition.committed_offset,
            committed_leader_epoch: partition.committed_leader_epoch,
            metadata: partition.metadata,
            error_code: partition.error_code,
            unknown_tags: partition.unknown_tags,
        };
        OffsetFetchResponseTopic {
            name: self.name,
            partitions: self.partitions.into_iter().map(flat).collect(),
            unknown_tags: self.unknown_tags,
        }
    }
}

impl OffsetFetchResponseTopic {
    fn listed(self) -> OffsetFetchResponseTopics {
        let listed = |partition: OffsetFetchResponsePartition| OffsetFetchResponsePartitions {
            partition_index: partition.partition_index,
            committed_offset: partition.committed_offset,
            committed_leader_epoch: partition.committed_leader_epoch,
            metadata: partition.metadata,
            error_code: partition.error_code,
            unknown_tags: partition.unknown_tags,
        };
        OffsetFetchResponseTopics {
            name: self.name,
            partitions: self.partitions.into_iter().map(listed).collect(),
            unknown_tags: self.unknown_tags,
            ..Default::default()
        }
    }
}
