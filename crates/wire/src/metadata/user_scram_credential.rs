//! `UserScramCredentialRecord` (type 11) and `RemoveUserScramCredentialRecord` (type 22): what a
//! server keeps of a user's password for SASL/SCRAM (RFC 5802, KIP-900).
//!
//! Mechanisms: 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512.

use crate::prelude::*;

/// Sets a user's credential for one mechanism. Its debug form shows the keys: not for logs.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(11), versions = 0..=0, flexible = 0..)]
pub struct UserScramCredentialRecord {
    /// The user's name.
    pub name: ByteString,
    /// The mechanism.
    pub mechanism: i8,
    /// The salt of the password's hash.
    pub salt: Bytes,
    /// `StoredKey`: the hash of the client's key, against which a login is checked.
    pub stored_key: Bytes,
    /// `ServerKey`: with which the server proves that it knows the user.
    pub server_key: Bytes,
    /// How many rounds the password was hashed.
    pub iterations: i32,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Removes a user's credential for one mechanism.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(metadata_record(22), versions = 0..=0, flexible = 0..)]
pub struct RemoveUserScramCredentialRecord {
    /// The user's name.
    pub name: ByteString,
    /// The mechanism.
    pub mechanism: i8,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
