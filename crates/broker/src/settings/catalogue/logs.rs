//! Log directories, and what is done to all logs.

use crate::settings::definition::{Change, Definition, row, unset};
use crate::settings::kind::{Kind, any_int, any_long, int, long, threads};

const NO_BOUND: &str = "1.7976931348623157E308";
const MAX_LONG: &str = "9223372036854775807";
const ANY: Kind = Kind::Double {
    min: f64::MIN,
    max: f64::MAX,
};

#[rustfmt::skip] // A row a line, as a table is read.
pub(super) const TABLE: &[Definition] = &[
    unset("log.dirs", Kind::List, "the data directories"),
    row("log.dir", Kind::List, "/tmp/kafka-logs", "the data directories, where the setting above is not given"),
    row("log.retention.check.interval.ms", long(1), "300000", "how often old segments are looked for"),
    row("log.flush.scheduler.interval.ms", any_long(), MAX_LONG, "how often logs are looked for that must be synced by time"),
    row("log.flush.offset.checkpoint.interval.ms", int(0), "60000", "how often recovery points are written down"),
    row("log.flush.start.offset.checkpoint.interval.ms", int(0), "60000", "how often log start offsets are written down"),
    row("num.recovery.threads.per.data.dir", threads(1), "2", "logs of a directory that are opened or closed at a time").change(Change::Cluster),
    row("log.dir.failure.timeout.ms", long(1), "30000", "a broker that cannot report a lost directory by then stops"),
    row("log.cleaner.enable", Kind::Bool, "true", "whether logs are compacted"),
    row("log.cleaner.threads", threads(0), "1", "threads that compact").change(Change::Cluster),
    row("log.cleaner.dedupe.buffer.size", any_long(), "134217728", "memory for the keys, of all of them").change(Change::Cluster),
    row("log.cleaner.io.buffer.size", int(0), "524288", "memory for copying, of all of them").change(Change::Cluster),
    row("log.cleaner.io.buffer.load.factor", ANY, "0.9", "how full the memory for the keys may become").change(Change::Cluster),
    row("log.cleaner.io.max.bytes.per.second", ANY, NO_BOUND, "bytes per second that are read and written").change(Change::Cluster),
    row("log.cleaner.backoff.ms", long(0), "15000", "the pause when nothing is to be compacted").change(Change::Cluster),
    row("producer.id.expiration.ms", int(1), "86400000", "a log forgets a producer that has been idle for so long").change(Change::Cluster),
    row("transaction.partition.verification.enable", Kind::Bool, "true", "whether the coordinator is asked before transactional records are written")
        .change(Change::Cluster),
    unset("log.retention.minutes", any_int(), "how long records are kept, where no milliseconds are given"),
    row("log.retention.hours", any_int(), "168", "how long records are kept, where nothing finer is given"),
    row("log.roll.hours", int(1), "168", "the age at which a segment is closed, where no milliseconds are given"),
    row("log.roll.jitter.hours", int(0), "0", "the random part of that, where no milliseconds are given"),
];
