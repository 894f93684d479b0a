//! `BrokerHeartbeat` (key 63): a registered broker tells the controller that it lives.
//!
//! Flexible from the start. v1 added failed log directories (KIP-858), v2 those closed to new
//! partitions (KIP-1066). A broker that stays silent for `broker.session.timeout.ms` is fenced:
//! it leads nothing and counts for nothing.

use crate::prelude::*;

/// A sign of life; sent by a broker to the active controller.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(63), versions = 0..=2, flexible = 0.., listeners(controller))]
pub struct BrokerHeartbeatRequest {
    /// The broker that lives.
    pub broker_id: BrokerId,
    /// Its present registration; another one than the controller's is `STALE_BROKER_EPOCH`.
    #[wire(default = -1)]
    pub broker_epoch: BrokerEpoch,
    /// The offset of the last metadata record that the broker has applied.
    pub current_metadata_offset: Offset,
    /// Whether the broker asks to stay out of service, as it does until it has started.
    pub want_fence: bool,
    /// Whether the broker asks to be relieved of its leaderships, so that it may shut down.
    pub want_shut_down: bool,
    /// Log directories that have failed. Their replicas are out of sync, and stay so until the
    /// broker restarts.
    #[wire(versions = 1.., tag = 0)]
    pub offline_log_dirs: Vec<Uuid>,
    /// Log directories that the operator has closed to new partitions; `None` leaves what the
    /// controller knows as it is.
    #[wire(versions = 2.., nullable = 2.., tag = 1, default = None)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`BrokerHeartbeatRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(63), versions = 0..=2, flexible = 0..)]
pub struct BrokerHeartbeatResponse {
    /// Milliseconds for which the broker should hold back; 0 when no quota is exceeded.
    pub throttle_time_ms: i32,
    /// Why the sign of life does not count: `NOT_CONTROLLER`, `STALE_BROKER_EPOCH`,
    /// `BROKER_ID_NOT_REGISTERED`.
    pub error_code: ErrorCode,
    /// Whether the broker has applied nearly all metadata there is.
    pub is_caught_up: bool,
    /// Whether the broker is out of service.
    #[wire(default = true)]
    pub is_fenced: bool,
    /// Whether the broker leads nothing any more and may go.
    pub should_shut_down: bool,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
