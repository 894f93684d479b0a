//! `SaslHandshake` (key 17): agrees on a SASL mechanism at the start of a connection; the node at
//! the other end answers.
//!
//! Both versions have the same bytes; they differ in what follows. After v0 come bare tokens, each
//! with its size before it and no header; after v1 tokens travel in `SaslAuthenticate` requests
//! (KIP-152). Never flexible.

use crate::prelude::*;

/// Proposes a mechanism.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(17), versions = 0..=1, listeners(broker, controller))]
pub struct SaslHandshakeRequest {
    /// The mechanism by its registered name, such as `PLAIN` or `SCRAM-SHA-256`.
    pub mechanism: ByteString,
}

/// Answers [`SaslHandshakeRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(17), versions = 0..=1)]
pub struct SaslHandshakeResponse {
    /// 0 when the mechanism is agreed; `UNSUPPORTED_SASL_MECHANISM` when it is not enabled here,
    /// `ILLEGAL_SASL_STATE` when no handshake was due.
    pub error_code: ErrorCode,
    /// The mechanisms that this listener has enabled.
    pub mechanisms: Vec<ByteString>,
}
