//! Record type 19 of `__consumer_offsets`: a member of a streams group.

use crate::prelude::*;

/// Names the member.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_key(19), versions = 0..=0)]
pub struct StreamsGroupMemberMetadataKey {
    /// The group's id, which is the application's.
    pub group_id: ByteString,
    /// The member's id.
    pub member_id: ByteString,
}

/// What the member told of itself; a tombstone in its place means that it left.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(coordinator_value(19), versions = 0..=0, flexible = 0..)]
pub struct StreamsGroupMemberMetadataValue {
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
    /// Milliseconds that it may take to give up tasks; -1 when not told.
    #[wire(default = -1)]
    pub rebalance_timeout_ms: i32,
    /// The version of the topology that it runs.
    pub topology_epoch: i32,
    /// Names the process that it runs in; members of one process share local state.
    pub process_id: ByteString,
    /// Where queries of its state can be sent; `None` when it takes none.
    #[wire(nullable = .., default = None)]
    pub user_endpoint: Option<Endpoint>,
    /// Labels by which standby tasks are spread, such as over zones.
    pub client_tags: Vec<KeyValue>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// An address, in [`StreamsGroupMemberMetadataValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct Endpoint {
    /// Host name or address.
    pub host: ByteString,
    /// TCP port.
    pub port: u16,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One label, in [`StreamsGroupMemberMetadataValue`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct KeyValue {
    /// The label's name.
    pub key: ByteString,
    /// The label's value.
    pub value: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
