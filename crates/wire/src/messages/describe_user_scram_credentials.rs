//! `DescribeUserScramCredentials` (key 50): which users can log in by SCRAM, and how.
//!
//! Flexible from the start, one version (KIP-554). Tells mechanisms and iterations, never salts or
//! keys.

use crate::prelude::*;

/// Asks for the SCRAM credentials of some users.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(50), versions = 0..=0, flexible = 0.., listeners(broker, controller))]
pub struct DescribeUserScramCredentialsRequest {
    /// The users to describe; `None` or an empty list means all that have credentials.
    #[wire(nullable = ..)]
    pub users: Option<Vec<UserName>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One user, in [`DescribeUserScramCredentialsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct UserName {
    /// The user's name; one that comes twice is answered with `DUPLICATE_RESOURCE`.
    pub name: ByteString,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`DescribeUserScramCredentialsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(50), versions = 0..=0, flexible = 0..)]
pub struct DescribeUserScramCredentialsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// What concerns the request as a whole, such as `CLUSTER_AUTHORIZATION_FAILED`.
    pub error_code: ErrorCode,
    /// Text for people on the top-level error; `None` when there is none.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// One entry for each user.
    pub results: Vec<DescribeUserScramCredentialsResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One user's credentials, in [`DescribeUserScramCredentialsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct DescribeUserScramCredentialsResult {
    /// The user's name.
    pub user: ByteString,
    /// `RESOURCE_NOT_FOUND` when the user has no SCRAM credentials.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// One entry for each mechanism by which the user can log in.
    pub credential_infos: Vec<CredentialInfo>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One credential, in [`DescribeUserScramCredentialsResult`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct CredentialInfo {
    /// 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512, 0 one that the server does not know.
    pub mechanism: i8,
    /// How many rounds of hashing stand between password and key.
    pub iterations: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
