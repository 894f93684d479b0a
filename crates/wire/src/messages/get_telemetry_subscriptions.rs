//! `GetTelemetrySubscriptions` (key 71): a client asks which of its own metrics the cluster
//! wants to see (KIP-714).
//!
//! Brokers list this key only while something that receives client metrics is configured. What
//! was asked for is then sent by `PushTelemetry`.

use crate::prelude::*;

/// Asks for the metrics subscriptions that match this client.
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(request(71), versions = 0..=0, flexible = 0.., listeners(broker))]
pub struct GetTelemetrySubscriptionsRequest {
    /// The id that a broker gave this client instance; zero in the first request.
    pub client_instance_id: Uuid,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}

/// Answers [`GetTelemetrySubscriptionsRequest`].
#[derive(Debug, Clone, PartialEq, Message)]
#[wire(response(71), versions = 0..=0, flexible = 0..)]
pub struct GetTelemetrySubscriptionsResponse {
    /// Milliseconds for which a quota holds the client back; 0 when none does.
    pub throttle_time_ms: i32,
    /// 0 or what went wrong: `THROTTLING_QUOTA_EXCEEDED` when the client asks again before its
    /// interval is over.
    pub error_code: ErrorCode,
    /// The id that the client instance keeps for its lifetime, chosen by the broker. It counts
    /// only in the answer to a request whose own id was zero.
    pub client_instance_id: Uuid,
    /// Identifies this very set of subscriptions; pushes name it, so that a change shows.
    pub subscription_id: i32,
    /// The codecs that the broker can unpack, best liked first: 0 none, 1 gzip, 2 snappy,
    /// 3 lz4, 4 zstd.
    pub accepted_compression_types: Vec<i8>,
    /// Milliseconds between two pushes: the shortest interval of the matching subscriptions.
    pub push_interval_ms: i32,
    /// The most bytes of metrics, after compression, that the broker takes in one push.
    pub telemetry_max_bytes: i32,
    /// Whether counters are sent as the difference from the last push (true) or as totals.
    pub delta_temporality: bool,
    /// Prefixes of the names of the metrics wanted. An empty list wants none; a list with one
    /// empty string wants all.
    pub requested_metrics: Vec<ByteString>,
    /// Tagged fields that this schema does not name.
    pub unknown_tags: UnknownTags,
}
