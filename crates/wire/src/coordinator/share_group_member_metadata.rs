//! Record type 10 of `__consumer_offsets`: a member of a share group and what it subscribes to.

use crate::prelude::*;

/// Names the member.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(10), versions = 0..=0)]
pub struct ShareGroupMemberMetadataKey {
    /// The group's id.
    pub group_id: ByteString,
    /// The member's id.
    pub member_id: ByteString,
}

/// What the member told of itself; a tombstone in its place means that it left.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(10), versions = 0..=0, flexible = 0..)]
pub struct ShareGroupMemberMetadataValue {
    /// The rack or zone that it stands in; `None` when not told.
    #[wire(nullable = ..)]
    pub rack_id: Option<ByteString>,
    /// The client id of its requests.
    pub client_id: ByteString,
    /// The address that it came from, as text.
    pub client_host: ByteString,
    /// The topics that it subscribes to.
    pub subscribed_topic_names: Vec<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
