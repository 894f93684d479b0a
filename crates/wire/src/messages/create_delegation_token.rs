//! `CreateDelegationToken` (key 38): issues a secret that lets its bearer act for a principal.
//!
//! v2 is flexible, v3 lets one principal ask for a token that another will own (KIP-373). Refused
//! with `DELEGATION_TOKEN_REQUEST_NOT_ALLOWED` on connections that are not themselves
//! authenticated, or that were authenticated by such a token.

use crate::prelude::*;

/// Asks for a new delegation token; a broker passes it on to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(38), versions = 1..=3, flexible = 2.., listeners(broker, controller))]
pub struct CreateDelegationTokenRequest {
    /// Type of the principal that shall own the token, such as `User`; `None` makes the caller
    /// the owner.
    #[wire(versions = 3.., nullable = 3..)]
    pub owner_principal_type: Option<ByteString>,
    /// Name of the principal that shall own the token; `None` or empty makes the caller the
    /// owner.
    #[wire(versions = 3.., nullable = 3..)]
    pub owner_principal_name: Option<ByteString>,
    /// Who may put off the token's expiry, besides owner and requester.
    pub renewers: Vec<CreatableRenewers>,
    /// Milliseconds after which the token is void however often it is renewed; the server's
    /// `delegation.token.max.lifetime.ms` caps it, and stands for values that are not positive
    /// (-1 by custom).
    pub max_lifetime_ms: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One principal that may renew, in [`CreateDelegationTokenRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CreatableRenewers {
    /// The principal's type; anything but `User` is `INVALID_PRINCIPAL_TYPE`.
    pub principal_type: ByteString,
    /// The principal's name.
    pub principal_name: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`CreateDelegationTokenRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(38), versions = 1..=3, flexible = 2..)]
pub struct CreateDelegationTokenResponse {
    /// Why no token was made, such as `DELEGATION_TOKEN_AUTH_DISABLED`.
    pub error_code: ErrorCode,
    /// Type of the principal that owns the token.
    pub principal_type: ByteString,
    /// Name of the principal that owns the token.
    pub principal_name: ByteString,
    /// Type of the principal that asked for the token.
    #[wire(versions = 3..)]
    pub token_requester_principal_type: ByteString,
    /// Name of the principal that asked for the token.
    #[wire(versions = 3..)]
    pub token_requester_principal_name: ByteString,
    /// When the token was made, in Unix milliseconds.
    pub issue_timestamp_ms: i64,
    /// When the token expires unless it is renewed, in Unix milliseconds.
    pub expiry_timestamp_ms: i64,
    /// When the token expires for good, in Unix milliseconds.
    pub max_timestamp_ms: i64,
    /// The token's public name; a client gives it as its SCRAM user name.
    pub token_id: ByteString,
    /// The secret itself: whoever has it can act as the owner. Its base64 form is the SCRAM
    /// password.
    pub hmac: Bytes,
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
