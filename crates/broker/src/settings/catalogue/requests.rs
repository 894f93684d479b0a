//! What requests may do.

use crate::settings::definition::{Change, Definition, row};
use crate::settings::kind::{Kind, any_int, int};

#[rustfmt::skip] // A row a line, as a table is read.
pub(super) const TABLE: &[Definition] = &[
    row("auto.create.topics.enable", Kind::Bool, "true", "whether asking for a topic may create it"),
    row("num.partitions", int(1), "1", "partitions of a topic that is created without a number"),
    row("default.replication.factor", any_int(), "1", "replicas of a topic that is created without a number"),
    row("delete.topic.enable", Kind::Bool, "true", "whether topics can be deleted"),
    row("fetch.max.bytes", int(1024), "57671680", "the largest answer to a fetch; a first batch that is larger comes whole"),
    row("max.incremental.fetch.session.cache.slots", int(0), "1000", "fetch sessions that are kept"),
    row("max.request.partition.size.limit", int(1), "2000", "partitions in one answer that describes topics"),
    row("background.threads", int(1), "10", "threads for what is done from time to time").change(Change::Cluster),
    row("fetch.purgatory.purge.interval.requests", any_int(), "1000", "so many fetches that no longer wait make their lists be swept"),
    row("producer.purgatory.purge.interval.requests", any_int(), "1000", "the same for produce requests"),
    row("delete.records.purgatory.purge.interval.requests", any_int(), "1", "the same for requests that delete records"),
];
