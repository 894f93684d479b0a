//! Record type 22 of `__consumer_offsets`: the tasks that a member of a streams group runs at
//! present.
//!
//! Written at each step from the old assignment to the target. A task is one subtopology on one
//! partition of its source topics.

use crate::prelude::*;

/// Names the member.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(22), versions = 0..=0)]
pub struct StreamsGroupCurrentMemberAssignmentKey {
    /// The group's id, which is the application's.
    pub group_id: ByteString,
    /// The member's id.
    pub member_id: ByteString,
}

/// The member's epoch and tasks; a tombstone in its place means that the member left.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(22), versions = 0..=0, flexible = 0..)]
pub struct StreamsGroupCurrentMemberAssignmentValue {
    /// The epoch that the member's next heartbeat has to name.
    pub member_epoch: i32,
    /// The epoch before that one. A heartbeat may still name it, for the answer that told the new
    /// one may have been lost.
    pub previous_member_epoch: i32,
    /// 0: nothing left to do. 1: the member owes tasks. 2: tasks of its target are still with
    /// other members. 127: unknown to the writer.
    pub state: i8,
    /// The tasks that it processes.
    pub active_tasks: Vec<TaskIds>,
    /// The tasks whose state it keeps a copy of.
    pub standby_tasks: Vec<TaskIds>,
    /// The tasks whose state it copies because they will move to it.
    pub warmup_tasks: Vec<TaskIds>,
    /// The active tasks that it must give up before it may move to its target's epoch.
    pub active_tasks_pending_revocation: Vec<TaskIds>,
    /// The standby tasks that it must give up likewise.
    pub standby_tasks_pending_revocation: Vec<TaskIds>,
    /// The warm-up tasks that it must give up likewise.
    pub warmup_tasks_pending_revocation: Vec<TaskIds>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Tasks of one subtopology, in [`StreamsGroupCurrentMemberAssignmentValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct TaskIds {
    /// The subtopology, as [`streams_group_topology`](super::streams_group_topology) names it.
    pub subtopology_id: ByteString,
    /// The partitions, one task each.
    pub partitions: Vec<PartitionIndex>,
    /// For each entry of `partitions` the member epoch in which the member got the task, by which
    /// late commits are judged. Empty, as an absent field reads, or `None` where the writer did not
    /// tell.
    #[wire(nullable = .., tag = 0)]
    pub assignment_epochs: Option<Vec<i32>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
