//! Replicas and their leaders.

use crate::settings::definition::{Change, Definition, row, unset};
use crate::settings::kind::{Kind, any_int, any_long, int, long};

const MAX_LONG: &str = "9223372036854775807";

#[rustfmt::skip] // A row a line, as a table is read.
pub(super) const TABLE: &[Definition] = &[
    row("replica.lag.time.max.ms", any_long(), "30000", "a replica that was behind for so long is no longer in sync"),
    row("replica.fetch.max.bytes", int(0), "1048576", "bytes of a partition in one answer to a follower"),
    row("replica.fetch.response.max.bytes", int(0), "10485760", "bytes in one answer to a follower"),
    row("replica.fetch.min.bytes", any_int(), "1", "so many bytes are worth an answer to a follower"),
    row("replica.fetch.wait.max.ms", any_int(), "500", "how long a follower's fetch waits for them"),
    row("replica.fetch.backoff.ms", int(0), "1000", "the pause of a partition after an error"),
    row("replica.socket.timeout.ms", any_int(), "30000", "how long a follower waits for its leader"),
    row("replica.socket.receive.buffer.bytes", any_int(), "65536", "a follower's receive buffer"),
    row("num.replica.fetchers", any_int(), "1", "fetchers for each broker that leads").change(Change::Cluster),
    row("replica.high.watermark.checkpoint.interval.ms", any_long(), "5000", "how often high watermarks are written down"),
    unset("replica.selector.class", Kind::Text, "how a nearer replica is chosen for a consumer"),
    row("auto.leader.rebalance.enable", Kind::Bool, "true", "whether leaders move back to the preferred replicas"),
    row("leader.imbalance.check.interval.seconds", long(1), "300", "how often that is looked at"),
    row("leader.imbalance.per.broker.percentage", any_int(), "10", "misplaced leaders of a broker that are let be"),
    row("unclean.leader.election.interval.ms", long(1), "300000", "how often partitions without a leader are looked at"),
    row("controller.socket.timeout.ms", any_int(), "30000", "how long calls between controller and brokers may take"),
    row("leader.replication.throttled.rate", long(0), MAX_LONG, "bytes per second to throttled followers").change(Change::Broker),
    row("follower.replication.throttled.rate", long(0), MAX_LONG, "bytes per second for throttled replicas").change(Change::Broker),
];
