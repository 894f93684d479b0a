//! Groups, transactions and quotas.

use crate::settings::definition::{Change, Definition, row};
use crate::settings::kind::{Kind, any_int, int, long, short};

const MAX_INT: &str = "2147483647";
const MAX_LONG: &str = "9223372036854775807";
const MAX_DOUBLE: &str = "1.7976931348623157E308";
const RATE: Kind = Kind::Double {
    min: f64::MIN_POSITIVE,
    max: f64::MAX,
};
const PROTOCOLS: Kind = Kind::Words(&["classic", "consumer", "share", "streams"]);

#[rustfmt::skip] // A row a line, as a table is read.
pub(super) const GROUPS: &[Definition] = &[
    row("group.min.session.timeout.ms", any_int(), "6000", "the shortest session that a member may ask for"),
    row("group.max.session.timeout.ms", any_int(), "1800000", "the longest one"),
    row("group.initial.rebalance.delay.ms", any_int(), "3000", "how long an empty group waits for more members"),
    row("group.max.size", int(1), MAX_INT, "members of a classic group"),
    row("group.coordinator.threads", int(1), "1", "threads of the coordinator"),
    row("group.coordinator.rebalance.protocols", PROTOCOLS, "classic,consumer", "the protocols that groups may use"),
    row("group.consumer.session.timeout.ms", int(1), "45000", "a session in the newer protocol"),
    row("group.consumer.min.session.timeout.ms", int(1), "45000", "its shortest"),
    row("group.consumer.max.session.timeout.ms", int(1), "60000", "its longest"),
    row("group.consumer.heartbeat.interval.ms", int(1), "5000", "how often members of the newer protocol tell that they live"),
    row("group.consumer.min.heartbeat.interval.ms", int(1), "5000", "its shortest"),
    row("group.consumer.max.heartbeat.interval.ms", int(1), "15000", "its longest"),
    row("group.consumer.max.size", int(1), MAX_INT, "members of a group in the newer protocol"),
    row("group.consumer.assignors", Kind::List, "uniform,range", "what shares partitions out; the first is the default"),
    row("offset.metadata.max.bytes", any_int(), "4096", "the note beside a committed offset"),
    row("offsets.commit.timeout.ms", int(1), "5000", "how long a commit waits for the replicas"),
    row("offsets.load.buffer.size", int(1), "5242880", "memory for reading offsets back; larger batches still fit"),
    row("offsets.retention.minutes", int(1), "10080", "how long the offsets of a group without members are kept"),
    row("offsets.retention.check.interval.ms", long(1), "600000", "how often that is looked at"),
    row("offsets.topic.num.partitions", int(1), "50", "partitions of the offsets topic; not to be changed later"),
    row("offsets.topic.replication.factor", short(1), "3", "its replicas; with fewer brokers it is not created"),
    row("offsets.topic.segment.bytes", int(1), "104857600", "the size of its segments"),
    row("offsets.topic.compression.codec", any_int(), "0", "the number of the codec of its records"),
];

#[rustfmt::skip] // A row a line, as a table is read.
pub(super) const TRANSACTIONS: &[Definition] = &[
    row("transaction.max.timeout.ms", int(1), "900000", "the longest time-out that a producer may ask for"),
    row("transactional.id.expiration.ms", int(1), "604800000", "a transactional id is forgotten when idle for so long"),
    row("transaction.abort.timed.out.transaction.cleanup.interval.ms", int(1), "10000", "how often transactions are looked for whose time is up"),
    row("transaction.remove.expired.transaction.cleanup.interval.ms", int(1), "3600000", "how often ids are looked for that can be forgotten"),
    row("transaction.state.log.num.partitions", int(1), "50", "partitions of the transactions topic; not to be changed later"),
    row("transaction.state.log.replication.factor", short(1), "3", "its replicas; with fewer brokers it is not created"),
    row("transaction.state.log.min.isr", int(1), "2", "its replicas that must be in sync"),
    row("transaction.state.log.segment.bytes", int(1), "104857600", "the size of its segments"),
    row("transaction.state.log.load.buffer.size", int(1), "5242880", "memory for reading it back"),
];

#[rustfmt::skip] // A row a line, as a table is read.
pub(super) const QUOTAS: &[Definition] = &[
    row("quota.window.num", int(1), "11", "samples that clients' quotas are measured over"),
    row("quota.window.size.seconds", int(1), "1", "the length of one"),
    row("replication.quota.window.num", int(1), "11", "the same for replication"),
    row("replication.quota.window.size.seconds", int(1), "1", "the length of one"),
    row("controller.quota.window.num", int(1), "11", "the same for changes of topics"),
    row("controller.quota.window.size.seconds", int(1), "1", "the length of one"),
    row("producer_byte_rate", long(1), MAX_LONG, "bytes produced per second").change(Change::Entity),
    row("consumer_byte_rate", long(1), MAX_LONG, "bytes fetched per second").change(Change::Entity),
    row("request_percentage", RATE, MAX_DOUBLE, "share of the threads' time").change(Change::Entity),
    row("controller_mutation_rate", RATE, MAX_DOUBLE, "partitions created or deleted per second").change(Change::Entity),
];
