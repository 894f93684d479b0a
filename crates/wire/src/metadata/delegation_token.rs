//! `DelegationTokenRecord` (type 10) and `RemoveDelegationTokenRecord` (type 26): tokens with which
//! a client can log in on behalf of a user.
//!
//! The token's secret is not recorded: it is computed from its id and the cluster's secret key.
//! Times are in milliseconds since 1970.

use crate::prelude::*;

/// Makes a token or changes its expiry. Principals are written like `User:alice`.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(10), versions = 0..=0, flexible = 0..)]
pub struct DelegationTokenRecord {
    /// Who logs in with the token.
    pub owner: ByteString,
    /// Who asked for the token; the owner or another.
    pub requester: ByteString,
    /// Who may renew the token, besides the owner.
    pub renewers: Vec<ByteString>,
    /// When the token was made.
    pub issue_timestamp: i64,
    /// When the token ends at the latest, however often it is renewed.
    pub max_timestamp: i64,
    /// When the token ends unless it is renewed before.
    pub expiration_timestamp: i64,
    /// Names the token.
    pub token_id: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Removes a token.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(26), versions = 0..=0, flexible = 0..)]
pub struct RemoveDelegationTokenRecord {
    /// The token.
    pub token_id: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
