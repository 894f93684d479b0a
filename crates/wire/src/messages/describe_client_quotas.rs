//! `DescribeClientQuotas` (key 48): the limits set for users, client ids and addresses.
//!
//! v1 is flexible. Any broker answers, out of its copy of the metadata (KIP-546).

use crate::prelude::*;

/// Asks for the quotas whose entities match a filter.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(48), versions = 0..=1, flexible = 1.., listeners(broker))]
pub struct DescribeClientQuotasRequest {
    /// Conditions that all must hold, at most one for each entity type. Without any, every entity
    /// matches, unless `strict` is set.
    pub components: Vec<ComponentData>,
    /// Whether an entity must not have types beside those in `components`: with a condition on
    /// `user` alone, `true` leaves out what is set for a user together with a client id.
    pub strict: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One condition, in [`DescribeClientQuotasRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ComponentData {
    /// The part of the entity that is looked at: `user`, `client-id` or `ip`.
    pub entity_type: ByteString,
    /// 0 matches the name in `match`, 1 the default entity, 2 any named entity.
    pub match_type: i8,
    /// The name to match; `None` unless `match_type` is 0.
    #[wire(nullable = ..)]
    pub r#match: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeClientQuotasRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(48), versions = 0..=1, flexible = 1..)]
pub struct DescribeClientQuotasResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Why nothing is listed, such as `CLUSTER_AUTHORIZATION_FAILED`.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// The entities that match and have a quota; `None` after an error.
    #[wire(nullable = ..)]
    pub entries: Option<Vec<EntryData>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// The quotas of one entity, in [`DescribeClientQuotasResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct EntryData {
    /// Whom the quotas bind: all parts together name one entity, such as a user with one of its
    /// client ids.
    pub entity: Vec<EntityData>,
    /// The limits set for that entity itself; what it inherits from defaults is not here.
    pub values: Vec<ValueData>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One part of an entity's name, in [`EntryData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct EntityData {
    /// `user`, `client-id` or `ip`.
    pub entity_type: ByteString,
    /// The user, client id or address; `None` is the default, for those without quotas of their
    /// own.
    #[wire(nullable = ..)]
    pub entity_name: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One limit, in [`EntryData`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ValueData {
    /// What is limited, such as `producer_byte_rate`.
    pub key: ByteString,
    /// The limit, in the key's own unit: bytes or events a second, or per cent of a thread.
    pub value: f64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
