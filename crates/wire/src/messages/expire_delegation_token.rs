//! `ExpireDelegationToken` (key 40): sets the expiry of a delegation token, or ends it at once.
//!
//! v2 is flexible. Allowed to the token's owner and to the renewers named when it was made.

use crate::prelude::*;

/// Asks for another expiry of a token; a broker passes it on to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(40), versions = 1..=2, flexible = 2.., listeners(broker, controller))]
pub struct ExpireDelegationTokenRequest {
    /// The token's secret, which is also how it is found.
    pub hmac: Bytes,
    /// Milliseconds from now until the new expiry; below 0 the token is removed at once.
    pub expiry_time_period_ms: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`ExpireDelegationTokenRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(40), versions = 1..=2, flexible = 2..)]
pub struct ExpireDelegationTokenResponse {
    /// Why the expiry stayed as it was: `DELEGATION_TOKEN_NOT_FOUND`, `DELEGATION_TOKEN_EXPIRED`
    /// or `DELEGATION_TOKEN_OWNER_MISMATCH` for a caller that may not expire it.
    pub error_code: ErrorCode,
    /// The expiry in Unix milliseconds: the new one, or the present moment for a removed token.
    pub expiry_timestamp_ms: i64,
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
