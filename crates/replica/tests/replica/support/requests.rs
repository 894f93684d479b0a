//! Requests and batches in short form, and what answers hold.

use std::time::Duration;

use bytes::Bytes;
use klamm_io::Clock as _;
use klamm_io::sim::{SimClock, SimFile};
use klamm_primitives::{BrokerEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{BatchOptions, Codecs, ProducerStamp, RecordBatchBuilder, RecordBatches};
use klamm_replica::{
    AppendEntry, AppendRequest, FetchPartition, FetchRequest, FetchedRecords, Fetcher, Finished,
    Origin, PartitionDeleted,
};

use super::{AppendResult, Done, Fetched, appended, broker, offset, partition, secs};

pub(crate) fn append_request(acks: i16, entries: &[(&str, Bytes)]) -> AppendRequest {
    AppendRequest {
        acks,
        timeout: secs(30),
        origin: Origin::Client,
        zstd_allowed: true,
        entries: entries
            .iter()
            .map(|(name, records)| AppendEntry {
                partition: partition(name),
                topic_id: None,
                records: records.clone(),
            })
            .collect(),
    }
}

/// A fetch that does not wait.
pub(crate) fn fetch_request(fetcher: Fetcher, partitions: Vec<FetchPartition>) -> FetchRequest {
    FetchRequest {
        fetcher,
        max_wait: Duration::ZERO,
        min_bytes: 1,
        max_bytes: 1 << 20,
        partitions,
    }
}

/// A fetch that waits up to ten seconds for so many bytes.
pub(crate) fn patient(
    fetcher: Fetcher,
    min_bytes: u32,
    partitions: Vec<FetchPartition>,
) -> FetchRequest {
    FetchRequest {
        max_wait: secs(10),
        min_bytes,
        ..fetch_request(fetcher, partitions)
    }
}

pub(crate) fn wanted(name: &str, from: i64) -> FetchPartition {
    FetchPartition {
        partition: partition(name),
        topic_id: None,
        fetch_offset: offset(from),
        log_start_offset: None,
        max_bytes: 1 << 20,
        current_leader_epoch: None,
        last_fetched_epoch: None,
    }
}

pub(crate) fn from_follower(name: &str, from: i64) -> FetchPartition {
    FetchPartition {
        log_start_offset: Some(Offset::ZERO),
        ..wanted(name, from)
    }
}

pub(crate) fn follower(id: i32) -> Fetcher {
    Fetcher::Follower {
        broker: broker(id),
        broker_epoch: Some(BrokerEpoch::new(0)),
    }
}

/// A batch of so many records.
pub(crate) fn records(count: usize) -> Bytes {
    batch(&BatchOptions::default(), count, b"value")
}

/// A batch of one record with a value of this length.
pub(crate) fn sized(len: usize) -> Bytes {
    batch(&BatchOptions::default(), 1, &vec![b'x'; len])
}

/// A batch by an idempotent producer.
pub(crate) fn idempotent(producer: i64, sequence: i32) -> BatchOptions {
    BatchOptions {
        producer: ProducerStamp {
            producer_id: ProducerId::new(producer),
            producer_epoch: ProducerEpoch::new(0),
            base_sequence: Sequence::new(sequence),
        },
        ..BatchOptions::default()
    }
}

pub(crate) fn batch(options: &BatchOptions, count: usize, value: &[u8]) -> Bytes {
    let mut builder = RecordBatchBuilder::new(options.clone(), Vec::new());
    for _ in 0..count {
        let unix_ms = SimClock::new().unix_ms();
        builder.append(unix_ms, None, Some(value), &[]).unwrap();
    }
    builder.close(&mut Codecs::default()).unwrap();
    builder.into_bytes().unwrap()
}

/// The offsets of the records that a fetch has found.
pub(crate) fn offsets_in(found: &FetchedRecords<SimFile>) -> Vec<i64> {
    let Some(range) = &found.records else {
        return Vec::new();
    };
    let mut codecs = Codecs::default();
    let mut offsets = Vec::new();
    for batch in RecordBatches::new(range.read().unwrap()) {
        let batch = batch.unwrap();
        let mut reader = batch.read(&mut codecs).unwrap();
        while let Some(record) = reader.next().unwrap() {
            offsets.push(record.offset.get());
        }
    }
    offsets
}

/// The ticket and the results of an append that has waited.
pub(crate) fn produced(done: Vec<Done>) -> (u32, Vec<AppendResult>) {
    match only(done) {
        Finished::Produced { ticket, results } => {
            (ticket.0, results.iter().map(appended).collect())
        }
        other => panic!("{other:?}"),
    }
}

/// The ticket and the results of a fetch that has waited.
pub(crate) fn fetched(done: Vec<Done>) -> (u32, Vec<Fetched>) {
    match only(done) {
        Finished::Fetched { ticket, results } => {
            (ticket.0, results.into_iter().map(|it| it.result).collect())
        }
        other => panic!("{other:?}"),
    }
}

/// The ticket and the results of a deletion that has waited.
pub(crate) fn deleted(done: Vec<Done>) -> (u32, Vec<PartitionDeleted>) {
    match only(done) {
        Finished::DeletedRecords { ticket, results } => (ticket.0, results),
        other => panic!("{other:?}"),
    }
}

fn only(mut done: Vec<Done>) -> Done {
    assert_eq!(done.len(), 1, "{done:?}");
    done.remove(0)
}

pub(crate) fn tickets(done: &[Done]) -> Vec<u32> {
    let ticket = |it: &Done| match it {
        Finished::Produced { ticket, .. }
        | Finished::Fetched { ticket, .. }
        | Finished::Abandoned { ticket }
        | Finished::DeletedRecords { ticket, .. } => ticket.0,
    };
    done.iter().map(ticket).collect()
}
