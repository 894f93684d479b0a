//! `AlterClientQuotas` (key 49): sets or removes limits of users, client ids and addresses.
//!
//! v1 is flexible. A broker passes the request on to the active controller (KIP-546).

use crate::prelude::*;

/// Changes the quotas of some entities.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(49), versions = 0..=1, flexible = 1.., listeners(broker, controller))]
pub struct AlterClientQuotasRequest {
    /// The entities to change; one entry an entity, each succeeds or fails alone.
    pub entries: Vec<RequestEntryData>,
    /// Whether to check only, and to change nothing.
    pub validate_only: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The changes to one entity, in [`AlterClientQuotasRequest`]. (`EntryData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct RequestEntryData {
    /// Whom the quotas bind: all parts together name one entity, such as a user with one of its
    /// client ids.
    pub entity: Vec<EntityData>,
    /// The limits to set or remove.
    pub ops: Vec<OpData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One part of an entity's name, in [`RequestEntryData`] and [`ResponseEntryData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct EntityData {
    /// `user`, `client-id` or `ip`; the last stands alone.
    pub entity_type: ByteString,
    /// The user, client id or address; `None` is the default, for those without quotas of their
    /// own.
    #[wire(nullable = ..)]
    pub entity_name: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One limit to change, in [`RequestEntryData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct OpData {
    /// What is limited, such as `producer_byte_rate`.
    pub key: ByteString,
    /// The limit, in the key's own unit: bytes or events a second, or per cent of a thread. Not
    /// looked at when the limit is removed.
    pub value: f64,
    /// Whether to remove the limit instead of setting it.
    pub remove: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AlterClientQuotasRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(49), versions = 0..=1, flexible = 1..)]
pub struct AlterClientQuotasResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each entity asked for.
    pub entries: Vec<ResponseEntryData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one entity, in [`AlterClientQuotasResponse`]. (`EntryData` in Kafka's schema.)
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ResponseEntryData {
    /// Why the entity's limits stayed as they were, such as `INVALID_REQUEST` for an unknown
    /// entity type or key.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// The entity, as in the request.
    pub entity: Vec<EntityData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
