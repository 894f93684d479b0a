//! `Envelope` (key 58): a client's request that a broker hands on to the active controller.
//!
//! Flexible from the start, one version (KIP-590). The controller answers as if the client had
//! asked it, with the client's rights; so only brokers may send one.

use crate::prelude::*;

/// Carries another request; sent by a broker to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(58), versions = 0..=0, flexible = 0.., listeners(controller))]
pub struct EnvelopeRequest {
    /// The client's request, header and body, without the size that leads a frame.
    pub request_data: Bytes,
    /// The client's principal, in the format of the brokers' principal builder: by default an
    /// int16 version and a `DefaultPrincipalData` in it. `None` names nobody.
    #[wire(nullable = ..)]
    pub request_principal: Option<Bytes>,
    /// The client's address: 4 bytes of IPv4 or 16 of IPv6.
    pub client_host_address: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`EnvelopeRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(58), versions = 0..=0, flexible = 0..)]
pub struct EnvelopeResponse {
    /// The answer for the client, header and body, without the size that leads a frame; `None`
    /// when the envelope itself failed.
    #[wire(nullable = .., default = None)]
    pub response_data: Option<Bytes>,
    /// What concerns the envelope: `NOT_CONTROLLER`, `CLUSTER_AUTHORIZATION_FAILED`,
    /// `PRINCIPAL_DESERIALIZATION_FAILURE`. An error of the carried request is in its own answer.
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
