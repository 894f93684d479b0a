//! `ClientQuotaRecord` (type 14): a limit for a user, a client id or an address.

use crate::prelude::*;

/// Sets or removes one limit.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(14), versions = 0..=0, flexible = 0..)]
pub struct ClientQuotaRecord {
    /// Whom it limits: one entry, or one for a user and one for a client id.
    pub entity: Vec<EntityData>,
    /// The limit's name, `producer_byte_rate` for instance.
    pub key: ByteString,
    /// The limit, in the unit that the name implies; without meaning where `remove` is set.
    pub value: f64,
    /// Whether the limit is taken away.
    pub remove: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// A part of whom a limit is for, in [`ClientQuotaRecord`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct EntityData {
    /// `user`, `client-id` or `ip`.
    pub entity_type: ByteString,
    /// The user, client id or address; null is all those without a limit of their own.
    #[wire(nullable = ..)]
    pub entity_name: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
