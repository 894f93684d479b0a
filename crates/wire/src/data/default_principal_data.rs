//! `DefaultPrincipalData`: who sent a request that a broker forwards to the controller.
//!
//! The principal in an `Envelope` request is these bytes with an int16 version in front, as long
//! as the cluster uses Kafka's own class for principals.

use crate::prelude::*;

/// An authenticated user, as the forwarding broker saw it.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(data, versions = 0..=0, flexible = 0..)]
pub struct DefaultPrincipalData {
    /// The kind of principal, `User` as a rule.
    pub r#type: ByteString,
    /// The principal's name; `ANONYMOUS` for a connection without authentication.
    pub name: ByteString,
    /// Whether the user logged in with a delegation token, which forbids it to get another.
    pub token_authenticated: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
