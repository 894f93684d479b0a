//! `PushTelemetry` (key 72): a client sends its own metrics to a broker (KIP-714).
//!
//! Brokers list this key only while something that receives client metrics is configured.

use crate::prelude::*;

/// Sends the metrics that `GetTelemetrySubscriptions` asked for.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(72), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct PushTelemetryRequest {
    /// The id that a broker gave this client instance.
    pub client_instance_id: Uuid,
    /// The set of subscriptions that this push serves.
    pub subscription_id: i32,
    /// Whether this is the client's last push, which may come before the interval is over.
    pub terminating: bool,
    /// How `metrics` is compressed: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
    pub compression_type: i8,
    /// The metrics, as a protobuf `MetricsData` of OpenTelemetry's version 1, compressed as
    /// said. Bound the size while unpacking: nothing here announces it.
    pub metrics: Bytes,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`PushTelemetryRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(72), versions = 0..=0, flexible = 0..)]
pub struct PushTelemetryResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong. `UNKNOWN_SUBSCRIPTION_ID`: ask for the subscriptions again.
    /// `TELEMETRY_TOO_LARGE`: more than the limit that came with the subscriptions.
    pub error_code: ErrorCode,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
