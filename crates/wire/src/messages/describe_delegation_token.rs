//! `DescribeDelegationToken` (key 41): lists the delegation tokens that the caller may see.
//!
//! v2 is flexible, v3 tells who asked for each token (KIP-373). Any broker answers, out of its
//! copy of the metadata.

use crate::prelude::*;

/// Asks for the tokens of some owners.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(41), versions = 1..=3, flexible = 2.., listeners(broker, controller))]
pub struct DescribeDelegationTokenRequest {
    /// Whose tokens to list: `None` means those of all owners, an empty list those of none.
    #[wire(nullable = ..)]
    pub owners: Option<Vec<DescribeDelegationTokenOwner>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One owner, in [`DescribeDelegationTokenRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeDelegationTokenOwner {
    /// The owner's type, such as `User`.
    pub principal_type: ByteString,
    /// The owner's name.
    pub principal_name: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeDelegationTokenRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(41), versions = 1..=3, flexible = 2..)]
pub struct DescribeDelegationTokenResponse {
    /// Why nothing is listed, such as `DELEGATION_TOKEN_AUTH_DISABLED`.
    pub error_code: ErrorCode,
    /// The tokens that match and that the caller owns, may renew or may describe.
    pub tokens: Vec<DescribedDelegationToken>,
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One token, in [`DescribeDelegationTokenResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribedDelegationToken {
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
    pub issue_timestamp: i64,
    /// When the token expires unless it is renewed, in Unix milliseconds.
    pub expiry_timestamp: i64,
    /// When the token expires for good, in Unix milliseconds.
    pub max_timestamp: i64,
    /// The token's public name.
    pub token_id: ByteString,
    /// The token's secret: whoever has it can act as the owner.
    pub hmac: Bytes,
    /// Who may put off the token's expiry, besides the owner.
    pub renewers: Vec<DescribedDelegationTokenRenewer>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One principal that may renew, in [`DescribedDelegationToken`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribedDelegationTokenRenewer {
    /// The renewer's type, such as `User`.
    pub principal_type: ByteString,
    /// The renewer's name.
    pub principal_name: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
