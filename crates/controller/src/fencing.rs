//! What happens to partitions when a broker comes, goes, or is about to go. (CO-026, CO-027,
//! CO-030, CO-034)
//!
//! Each of these walks over all partitions. They are as rare as brokers starting and stopping,
//! and an index of partitions by broker would cost every change of an ISR.

use klamm_primitives::{BrokerId, Uuid};
use klamm_wire::metadata::ClusterMetadataRecord as Record;
use klamm_wire::metadata::broker_registration_change::BrokerRegistrationChangeRecord;

use crate::core::Core;
use crate::image::{BrokerImage, MetadataImage, PartitionImage};
use crate::partition_change::{PartitionChange, has_replica_online, may_lead};

/// How a [`BrokerRegistrationChangeRecord`] writes "fenced from now on".
const FENCE: i8 = 1;

/// And "no longer fenced".
const UNFENCE: i8 = -1;

/// The broker leaves all ISRs, others lead where it led, and then it is fenced.
pub(crate) fn fence(core: &Core, image: &MetadataImage, broker: &BrokerImage) -> Vec<Record> {
    let mut records = leave_partitions(core, image, broker.id);
    let change = BrokerRegistrationChangeRecord {
        fenced: FENCE,
        ..change_of(broker)
    };
    records.push(change.into());
    records
}

/// The broker may lead again, and does where nobody else can.
pub(crate) fn unfence(core: &Core, image: &MetadataImage, broker: &BrokerImage) -> Vec<Record> {
    let change = BrokerRegistrationChangeRecord {
        fenced: UNFENCE,
        ..change_of(broker)
    };
    let mut records = vec![Record::from(change)];
    let may = |partition: &PartitionImage, id| {
        if id == broker.id {
            has_replica_online(image, partition, id)
        } else {
            may_lead(image, partition, id)
        }
    };
    for topic in image.topics() {
        let election = core.election(image, topic);
        for (index, partition) in topic.indexed() {
            if partition.leader.is_some() || !partition.is_replica(broker.id) {
                continue;
            }
            let change = PartitionChange::of(topic.id, index, partition);
            let change = change.build(election, |id| may(partition, id));
            records.extend(change.map(Record::from));
        }
    }
    records
}

/// The broker is about to stop: it leaves all ISRs, and others lead where it led.
pub(crate) fn begin_shutdown(
    core: &Core,
    image: &MetadataImage,
    broker: &BrokerImage,
) -> Vec<Record> {
    let mut records = Vec::new();
    if !broker.in_controlled_shutdown {
        let change = BrokerRegistrationChangeRecord {
            in_controlled_shutdown: 1,
            ..change_of(broker)
        };
        records.push(change.into());
    }
    records.extend(leave_partitions(core, image, broker.id));
    records
}

/// Directories of the broker have failed: others lead what was in them.
pub(crate) fn lose_directories(
    core: &Core,
    image: &MetadataImage,
    broker: &BrokerImage,
    failed: &[Uuid],
) -> Vec<Record> {
    let is_failed = |directory: &Uuid| failed.contains(directory);
    let (lost, left): (Vec<Uuid>, Vec<Uuid>) = broker.log_dirs.iter().copied().partition(is_failed);
    // A broker that has lost its last directory stops by itself; an empty list would say that
    // none of its directories is known.
    if lost.is_empty() || left.is_empty() {
        return Vec::new();
    }
    let change = BrokerRegistrationChangeRecord {
        log_dirs: left,
        ..change_of(broker)
    };
    let mut records = vec![Record::from(change)];
    for topic in image.topics() {
        let election = core.election(image, topic);
        for (index, partition) in topic.indexed() {
            let directory = partition.directory(broker.id);
            let is_affected =
                partition.isr.contains(&broker.id) || partition.leader == Some(broker.id);
            if !is_affected || !directory.is_some_and(|it| lost.contains(&it)) {
                continue;
            }
            let change = PartitionChange::of(topic.id, index, partition).without(broker.id);
            let change = change.build(election, |id| {
                id != broker.id && may_lead(image, partition, id)
            });
            records.extend(change.map(Record::from));
        }
    }
    records
}

/// The broker leaves all ISRs and leads nothing.
pub(crate) fn leave_partitions(core: &Core, image: &MetadataImage, gone: BrokerId) -> Vec<Record> {
    let mut records = Vec::new();
    for topic in image.topics() {
        let election = core.election(image, topic);
        for (index, partition) in topic.indexed() {
            if !partition.isr.contains(&gone) && partition.leader != Some(gone) {
                continue;
            }
            let change = PartitionChange::of(topic.id, index, partition).without(gone);
            let change = change.build(election, |id| id != gone && may_lead(image, partition, id));
            records.extend(change.map(Record::from));
        }
    }
    records
}

/// Whether the broker leads any partition.
pub(crate) fn leads_any(image: &MetadataImage, broker: BrokerId) -> bool {
    let mut partitions = image.topics().flat_map(|topic| &topic.partitions);
    partitions.any(|partition| partition.leader == Some(broker))
}

fn change_of(broker: &BrokerImage) -> BrokerRegistrationChangeRecord {
    BrokerRegistrationChangeRecord {
        broker_id: broker.id,
        broker_epoch: broker.epoch,
        ..BrokerRegistrationChangeRecord::default()
    }
}
