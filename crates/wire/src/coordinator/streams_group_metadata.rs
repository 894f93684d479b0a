//! Record type 17 of `__consumer_offsets`: the epoch of a streams group (KIP-1071).
//!
//! This record makes a group exist. Streams groups came with 4.1; the fields on topology
//! descriptions are of 4.4.

use crate::prelude::*;

/// Names the group.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(17), versions = 0..=0)]
pub struct StreamsGroupMetadataKey {
    /// The group's id, which is the application's.
    pub group_id: ByteString,
}

/// The group's epoch; a tombstone in its place means that the group is gone.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(17), versions = 0..=0, flexible = 0..)]
pub struct StreamsGroupMetadataValue {
    /// Counts the changes that ask for a new assignment: of members, topology and topics.
    pub epoch: i32,
    /// A hash over what the assignor reads of the topology's topics, by which a change of them is
    /// noticed.
    pub metadata_hash: i64,
    /// The topology epoch whose topics were found to be as the topology needs them; -1 for none.
    #[wire(tag = 0, default = -1)]
    pub validated_topology_epoch: i32,
    /// The settings that the assignor last worked with. Empty, as an absent field reads, or `None`
    /// where the writer did not tell.
    #[wire(nullable = .., tag = 1)]
    pub last_assignment_configs: Option<Vec<LastAssignmentConfig>>,
    /// The topology epoch whose description was last stored; -1 for none.
    #[wire(tag = 2, default = -1)]
    pub stored_description_topology_epoch: i32,
    /// The topology epoch whose description could not be stored for good; -1 for none.
    #[wire(tag = 3, default = -1)]
    pub failed_description_topology_epoch: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One setting of the assignor, in [`StreamsGroupMetadataValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct LastAssignmentConfig {
    /// The setting's name.
    pub key: ByteString,
    /// Its value.
    pub value: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
