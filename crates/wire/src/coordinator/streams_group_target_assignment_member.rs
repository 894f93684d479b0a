//! Record type 21 of `__consumer_offsets`: the tasks that a member of a streams group shall run.
//!
//! A task is one subtopology on one partition of its source topics.

use crate::prelude::*;

/// Names the member.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(21), versions = 0..=0)]
pub struct StreamsGroupTargetAssignmentMemberKey {
    /// The group's id, which is the application's.
    pub group_id: ByteString,
    /// The member's id.
    pub member_id: ByteString,
}

/// The member's target; a tombstone in its place means that the member left.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(21), versions = 0..=0, flexible = 0..)]
pub struct StreamsGroupTargetAssignmentMemberValue {
    /// The tasks that it shall process.
    pub active_tasks: Vec<TaskIds>,
    /// The tasks whose state it shall keep a copy of, to take over when their member fails.
    pub standby_tasks: Vec<TaskIds>,
    /// The tasks whose state it shall copy because they will move to it.
    pub warmup_tasks: Vec<TaskIds>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Tasks of one subtopology, in [`StreamsGroupTargetAssignmentMemberValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TaskIds {
    /// The subtopology, as [`streams_group_topology`](super::streams_group_topology) names it.
    pub subtopology_id: ByteString,
    /// The partitions, one task each.
    pub partitions: Vec<PartitionIndex>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
