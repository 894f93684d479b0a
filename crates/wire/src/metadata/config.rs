//! `ConfigRecord` (type 4): a setting of a topic, a broker or another resource.

use crate::prelude::*;

/// Sets or removes one setting of one resource.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(4), versions = 0..=0, flexible = 0..)]
pub struct ConfigRecord {
    /// The kind of resource: 2 topic, 4 broker, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The resource's name: a topic's name, or a broker's id in decimal, empty for the default
    /// of all brokers.
    pub resource_name: ByteString,
    /// The setting's name.
    pub name: ByteString,
    /// The setting's value; null goes back to the default. May be a secret: not for logs.
    #[wire(nullable = ..)]
    pub value: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
