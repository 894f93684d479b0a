//! `RenewDelegationToken` (key 39): puts off the expiry of a delegation token.
//!
//! v2 is flexible. Allowed to the token's owner and to the renewers named when it was made.

use crate::prelude::*;

/// Asks for more time for a token; a broker passes it on to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(39), versions = 1..=2, flexible = 2.., listeners(broker, controller))]
pub struct RenewDelegationTokenRequest {
    /// The token's secret, which is also how it is found.
    pub hmac: Bytes,
    /// Milliseconds from now until the new expiry; the server's `delegation.token.expiry.time.ms`
    /// caps it, and stands for values that are not positive (-1 by custom).
    pub renew_period_ms: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`RenewDelegationTokenRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(39), versions = 1..=2, flexible = 2..)]
pub struct RenewDelegationTokenResponse {
    /// Why the expiry stayed as it was: `DELEGATION_TOKEN_NOT_FOUND`, `DELEGATION_TOKEN_EXPIRED`
    /// or `DELEGATION_TOKEN_OWNER_MISMATCH` for a caller that may not renew.
    pub error_code: ErrorCode,
    /// The new expiry in Unix milliseconds, never past the token's last moment.
    pub expiry_timestamp_ms: i64,
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
