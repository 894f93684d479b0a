//! `UnregisterBroker` (key 64): makes the cluster forget a broker that will not come back.
//!
//! Flexible from the start, one version. A broker passes the request on to the active controller.

use crate::prelude::*;

/// Asks to remove one registration.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(64), versions = 0..=0, flexible = 0.., listeners(broker, controller))]
pub struct UnregisterBrokerRequest {
    /// The broker to forget. Its replicas stay assigned to it until they are moved.
    pub broker_id: BrokerId,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`UnregisterBrokerRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(64), versions = 0..=0, flexible = 0..)]
pub struct UnregisterBrokerResponse {
    /// Milliseconds for which the client should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Why the registration is still there, or `BROKER_ID_NOT_REGISTERED` when there was none.
    pub error_code: ErrorCode,
    /// Text for people on what went wrong; `None` when nothing did.
    #[wire(nullable = ..)]
    pub error_message: Option<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
