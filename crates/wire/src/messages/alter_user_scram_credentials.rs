//! `AlterUserScramCredentials` (key 51): gives users SCRAM credentials, or takes them away.
//!
//! Flexible from the start, one version (KIP-554). The client salts and hashes the password, so
//! that the server never sees it; still, who reads a salted password can log in with it. A broker
//! passes the request on to the active controller.

use crate::prelude::*;

/// Changes SCRAM credentials.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(51), versions = 0..=0, flexible = 0.., listeners(broker, controller))]
pub struct AlterUserScramCredentialsRequest {
    /// The credentials to remove. A pair of user and mechanism may come in one of the two lists
    /// only.
    pub deletions: Vec<ScramCredentialDeletion>,
    /// The credentials to set, in place of any that the user has for that mechanism.
    pub upsertions: Vec<ScramCredentialUpsertion>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One credential to remove, in [`AlterUserScramCredentialsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ScramCredentialDeletion {
    /// The user's name.
    pub name: ByteString,
    /// 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512.
    pub mechanism: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// One credential to set, in [`AlterUserScramCredentialsRequest`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct ScramCredentialUpsertion {
    /// The user's name.
    pub name: ByteString,
    /// 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512.
    pub mechanism: i8,
    /// How many rounds of hashing were done: 4096 to 16384, or `UNACCEPTABLE_CREDENTIAL`.
    pub iterations: i32,
    /// Random bytes that the client mixed into the password.
    pub salt: Bytes,
    /// The password after salting and hashing (`SaltedPassword` in RFC 5802).
    pub salted_password: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`AlterUserScramCredentialsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(51), versions = 0..=0, flexible = 0..)]
pub struct AlterUserScramCredentialsResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// One entry for each user, however many of its credentials were to change.
    pub results: Vec<AlterUserScramCredentialsResult>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// What became of one user, in [`AlterUserScramCredentialsResponse`].
#[derive(Debug, Clone, PartialEq, Struct)]
pub struct AlterUserScramCredentialsResult {
    /// The user's name.
    pub user: ByteString,
    /// Why the user's credentials stayed as they were: `RESOURCE_NOT_FOUND` for one to remove that
    /// is not there, `DUPLICATE_RESOURCE`, `UNSUPPORTED_SASL_MECHANISM`,
    /// `UNACCEPTABLE_CREDENTIAL`.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
