//! Who this process is, and the quorum that it belongs to.

use crate::settings::definition::{Definition, row, unset};
use crate::settings::kind::{Kind, any_int, any_long, int, long};

/// What a process can be.
pub(crate) const ROLES: &[&str] = &["broker", "controller"];

#[rustfmt::skip] // A row a line, as a table is read.
pub(super) const TABLE: &[Definition] = &[
    row("process.roles", Kind::Words(ROLES), "", "what this process is; empty: both"),
    row("node.id", int(0), "-1", "this node's number in the cluster, for both of its roles"),
    unset("broker.id", int(0), "another name for node.id; where both are given they must be the same"),
    unset("broker.rack", Kind::Text, "what fails together with this broker; replicas are spread over racks"),
    row("controller.quorum.voters", Kind::List, "", "the controllers that vote, as id@host:port"),
    row("controller.quorum.bootstrap.servers", Kind::List, "", "where a controller is found, as host:port"),
    unset("controller.listener.names", Kind::List, "the listeners that controllers serve; brokers call the first"),
    row("controller.quorum.election.timeout.ms", any_int(), "1000", "a candidate without a majority tries again after so long"),
    row("controller.quorum.fetch.timeout.ms", any_int(), "2000", "a voter that has not heard of the leader for so long stands for election"),
    row("controller.quorum.election.backoff.max.ms", any_int(), "1000", "the longest random pause between two elections"),
    row("controller.quorum.append.linger.ms", any_int(), "25", "records are gathered for so long before they are written"),
    row("controller.quorum.request.timeout.ms", any_int(), "2000", "how long a request of the quorum may take"),
    row("controller.quorum.retry.backoff.ms", any_int(), "20", "the pause before such a request is sent again"),
    unset("metadata.log.dir", Kind::Text, "the directory of the metadata log; without it the first of the log directories"),
    row("metadata.log.segment.bytes", int(12), "1073741824", "the size of a segment of the metadata log"),
    row("metadata.log.segment.ms", any_long(), "604800000", "the age at which a segment of the metadata log is closed"),
    row("metadata.log.max.record.bytes.between.snapshots", long(1), "20971520", "so many bytes of new records call for a snapshot"),
    row("metadata.log.max.snapshot.interval.ms", long(0), "3600000", "after so long a snapshot is made in any case; 0: not by time"),
    row("metadata.max.retention.bytes", any_long(), "104857600", "old parts of the metadata log go when it is larger"),
    row("metadata.max.retention.ms", any_long(), "604800000", "parts of the metadata log go when they are older"),
    row("metadata.max.idle.interval.ms", int(0), "500", "how often the active controller writes although nothing happens; 0: never"),
    row("broker.heartbeat.interval.ms", any_int(), "2000", "how often a broker tells the controller that it lives"),
    row("broker.session.timeout.ms", any_int(), "9000", "a broker that has not done so for so long is fenced"),
    row("initial.broker.registration.timeout.ms", any_int(), "60000", "a broker that is not registered by then does not start"),
    row("controlled.shutdown.enable", Kind::Bool, "true", "whether a broker hands its partitions over before it stops"),
];
