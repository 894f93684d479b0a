//! [`NetworkTraffic`]: what connections do, over time. (PR-145)
//!
//! The client counts what was done since the beginning; here it is seen from time to time, so that
//! there are rates, too. What has no meaning here is missing: selects and their waits (sockets wake
//! the task, nobody asks them), logins, and the ciphers of connections.

use std::time::Instant;

use klamm_client::Stats;

use crate::config::MetricsWindow;
use crate::metrics::sampled::Sampled;
use crate::metrics::{Numbered, count};

/// What connections do, over time.
pub(super) struct NetworkTraffic {
    /// As of the last look.
    seen: Stats,
    created: Sampled,
    closed: Sampled,
    sent: Sampled,
    received: Sampled,
    requests: Sampled,
    request_bytes: Sampled,
    answers: Sampled,
}

impl NetworkTraffic {
    pub(super) fn new(window: &MetricsWindow, now: Instant) -> Self {
        let sampled = || Sampled::new(window, now);
        Self {
            seen: Stats::default(),
            created: sampled(),
            closed: sampled(),
            sent: sampled(),
            received: sampled(),
            requests: sampled(),
            request_bytes: sampled(),
            answers: sampled(),
        }
    }

    /// Takes in what the client has counted by now.
    pub(super) fn seen(&mut self, stats: &Stats, now: Instant) {
        if *stats == self.seen {
            return;
        }
        let before = std::mem::replace(&mut self.seen, *stats);
        for (sampled, newer, older) in [
            (
                &mut self.created,
                stats.connections_opened,
                before.connections_opened,
            ),
            (
                &mut self.closed,
                stats.connections_closed,
                before.connections_closed,
            ),
            (&mut self.sent, stats.bytes_sent, before.bytes_sent),
            (
                &mut self.received,
                stats.bytes_received,
                before.bytes_received,
            ),
            (&mut self.requests, stats.requests, before.requests),
            (
                &mut self.request_bytes,
                stats.request_bytes,
                before.request_bytes,
            ),
            (&mut self.answers, stats.answers, before.answers),
        ] {
            if newer > older {
                sampled.record(count(newer - older), now);
            }
        }
    }

    /// All numbers. What is written and what is read counts as input and output by whole messages.
    pub(super) fn read(&self, now: Instant) -> impl Iterator<Item = Numbered> {
        let messages = self.requests.total() + self.answers.total();
        let messages_rate = self.requests.rate(now) + self.answers.rate(now);
        let size_avg = self.request_bytes.rate(now) / self.requests.rate(now);
        [
            ("connection-creation-rate", self.created.rate(now)),
            ("connection-creation-total", self.created.total()),
            ("connection-close-rate", self.closed.rate(now)),
            ("connection-close-total", self.closed.total()),
            ("connection-count", count(self.seen.connections())),
            ("network-io-rate", messages_rate),
            ("network-io-total", messages),
            ("outgoing-byte-rate", self.sent.rate(now)),
            ("outgoing-byte-total", self.sent.total()),
            ("incoming-byte-rate", self.received.rate(now)),
            ("incoming-byte-total", self.received.total()),
            ("request-rate", self.requests.rate(now)),
            ("request-total", self.requests.total()),
            ("request-size-avg", size_avg),
            ("request-size-max", count(self.seen.request_bytes_max)),
            ("response-rate", self.answers.rate(now)),
            ("response-total", self.answers.total()),
        ]
        .into_iter()
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::Clock;
    use klamm_io::sim::SimClock;

    use super::*;

    #[test]
    fn pr_145_totals_follow_the_client_and_rates_what_is_new() {
        let now = SimClock::new().now();
        let mut traffic = NetworkTraffic::new(&MetricsWindow::default(), now);
        let mut stats = Stats {
            connections_opened: 2,
            connections_closed: 1,
            bytes_sent: 300,
            requests: 3,
            request_bytes: 300,
            request_bytes_max: 200,
            ..Stats::default()
        };
        traffic.seen(&stats, now);
        traffic.seen(&stats, now);
        stats.requests = 5;
        stats.request_bytes = 360;
        traffic.seen(&stats, now);
        let value = |name| traffic.read(now).find(|it| it.0 == name).unwrap().1;
        for (name, expected) in [
            ("connection-count", 1.0),
            ("connection-creation-total", 2.0),
            ("outgoing-byte-total", 300.0),
            ("outgoing-byte-rate", 10.0),
            ("request-total", 5.0),
            ("request-size-avg", 72.0),
            ("request-size-max", 200.0),
            ("network-io-total", 5.0),
        ] {
            let found: f64 = value(name);
            assert!((found - expected).abs() < 1e-9, "{name} is {found}");
        }
    }
}
