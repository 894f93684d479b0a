//! `SaslAuthenticate` (key 36): one step of a SASL exchange.
//!
//! Follows a `SaslHandshake` of version 1, which chose the mechanism; a client sends as many as
//! the mechanism has steps, and may begin anew on a living connection (KIP-368). v1 added the
//! session's lifetime, v2 is flexible.

use crate::prelude::*;

/// Carries the client's next token; answered by whichever node the connection is to.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(36), versions = 0..=2, flexible = 2.., listeners(broker, controller))]
pub struct SaslAuthenticateRequest {
    /// The client's token, in the mechanism's own format. It may hold a password: never log it.
    pub auth_bytes: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`SaslAuthenticateRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(36), versions = 0..=2, flexible = 2..)]
pub struct SaslAuthenticateResponse {
    /// `SASL_AUTHENTICATION_FAILED` when the credentials are refused, after which the server
    /// closes the connection; `ILLEGAL_SASL_STATE` when no handshake came before.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did. It must not tell an unknown
    /// user from a wrong password.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// The server's token, in the mechanism's own format; empty where it has nothing to say.
    pub auth_bytes: Bytes,
    /// Milliseconds until the server closes the connection unless the client authenticates again;
    /// 0 when it never does.
    #[wire(versions = 1.., ignorable)]
    pub session_lifetime_ms: i64,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
