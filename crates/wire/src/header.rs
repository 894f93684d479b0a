//! The headers in front of every request and response.

pub use klamm_primitives::CorrelationId;

use crate::prelude::*;

/// Stands before a request's body.
///
/// Version 1 goes with versions of the request that are not flexible, version 2, which adds the
/// tagged section, with those that are.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(header, versions = 1..=2, flexible = 2..)]
pub struct RequestHeader {
    /// Which request it is: an [`ApiKey`](crate::ApiKey), if this crate knows it.
    pub request_api_key: i16,
    /// The version of the request.
    pub request_api_version: i16,
    /// Comes back with the answer, whatever it is.
    pub correlation_id: CorrelationId,
    /// How the client calls itself, for logs, quotas and metrics; null counts as empty. Its
    /// length has the old form in both versions.
    #[wire(versions = 1.., nullable = 1.., flexible = none)]
    pub client_id: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Stands before a response's body.
///
/// Version 0 goes with versions of the response that are not flexible, version 1, which adds the
/// tagged section, with those that are. ApiVersions is answered with version 0 always: who asks
/// does not know yet what the server speaks.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(header, versions = 0..=1, flexible = 1..)]
pub struct ResponseHeader {
    /// The request's.
    pub correlation_id: CorrelationId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
