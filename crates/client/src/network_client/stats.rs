//! [`Stats`]: what a client counts.

use std::time::Duration;

/// Counters of a client, or of what it did with one node. They only rise, but for
/// [`connections`](Self::connections).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections that were made.
    pub connections_opened: u64,
    /// Connections that were made and are no more.
    pub connections_closed: u64,
    /// Attempts to connect that came to nothing.
    pub connections_failed: u64,
    /// Of those closed the ones that had been idle for too long.
    pub connections_expired: u64,
    /// Bytes written, those of frames that were not finished included.
    pub bytes_sent: u64,
    /// Bytes read, those of frames that were not finished included.
    pub bytes_received: u64,
    /// Requests that were handed to a connection, the client's own included.
    pub requests: u64,
    /// Bytes of these requests.
    pub request_bytes: u64,
    /// The largest of these requests.
    pub request_bytes_max: u64,
    /// Answers that came.
    pub answers: u64,
    /// Answers that told a throttle time, 0 included.
    pub throttle_times: u64,
    /// The sum of these times.
    pub throttle_total: Duration,
    /// The longest of these times.
    pub throttle_max: Duration,
}

impl Stats {
    /// Connections that are up.
    pub const fn connections(&self) -> u64 {
        self.connections_opened - self.connections_closed
    }

    pub(crate) fn requested(&mut self, bytes: usize) {
        self.requests += 1;
        self.request_bytes += bytes as u64;
        self.request_bytes_max = self.request_bytes_max.max(bytes as u64);
    }

    pub(crate) fn throttled(&mut self, time: Duration) {
        self.throttle_times += 1;
        self.throttle_total += time;
        self.throttle_max = self.throttle_max.max(time);
    }
}
