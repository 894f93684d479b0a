//! [`Traffic`]: records that can be made again to be compared.

use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use klamm_primitives::{Offset, PartitionIndex, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{BatchOptions, Codecs, ProducerStamp, RecordBatchBuilder, RecordBatches};
use klamm_wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use klamm_wire::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use klamm_wire::messages::init_producer_id::InitProducerIdRequest;
use klamm_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};

use crate::wire_client::WireClient;

const TOPIC: &str = "end-to-end";

/// Versions that go by names, so that nothing has to be remembered over a restart.
const PRODUCE: i16 = 12;
const FETCH: i16 = 12;

/// Records of a batch.
const BATCH_RECORDS: usize = 1000;

/// Requests that may be unanswered, as many as the broker takes of a connection.
const IN_FLIGHT: usize = 5;

/// So many bytes of a partition are asked for.
const FETCH_BYTES: i32 = 1 << 20;

/// Records that can be made again. Batch n goes to partition n modulo their count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Traffic {
    pub(super) records: usize,
    pub(super) value_bytes: usize,
    pub(super) partitions: usize,
}

impl Traffic {
    /// Creates the topic.
    ///
    /// # Errors
    /// It is there, or cannot be.
    pub(super) fn create_topic(self, client: &mut WireClient) -> Result<()> {
        let topic = CreatableTopic {
            name: TOPIC.into(),
            num_partitions: i32::try_from(self.partitions)?,
            replication_factor: 1,
            ..CreatableTopic::default()
        };
        let request = CreateTopicsRequest {
            topics: vec![topic],
            ..CreateTopicsRequest::default()
        };
        let answer = client.call(&request, 7)?;
        let told = answer.topics.first().context("no answer for the topic")?;
        Ok(told.error_code.ok()?)
    }

    /// Produces all records as an idempotent producer, and waits for each acknowledgement.
    ///
    /// # Errors
    /// A batch was refused, or is not where it should be.
    pub(super) fn produce(self, client: &mut WireClient) -> Result<()> {
        let request = InitProducerIdRequest {
            transactional_id: None,
            ..InitProducerIdRequest::default()
        };
        let given = client.call(&request, 4)?;
        given.error_code.ok()?;
        let mut next_offsets = vec![0; self.partitions];
        let mut unanswered = VecDeque::new();
        for batch in 0..self.batches() {
            let partition = batch % self.partitions;
            let first: i64 = next_offsets[partition];
            let count = self.records_of(batch).len();
            next_offsets[partition] += i64::try_from(count)?;
            let records = self.batch(batch, given.producer_id, first)?;
            let id = client.send(&produce_request(partition, records)?, PRODUCE)?;
            unanswered.push_back((id, first));
            if unanswered.len() == IN_FLIGHT {
                acknowledged(client, &mut unanswered)?;
            }
        }
        while !unanswered.is_empty() {
            acknowledged(client, &mut unanswered)?;
        }
        Ok(())
    }

    /// Fetches everything, and compares it with what was produced.
    ///
    /// # Errors
    /// A record is missing, or is another one, or is there twice.
    pub(super) fn compare(self, client: &mut WireClient) -> Result<()> {
        let mut codecs = Codecs::default();
        for partition in 0..self.partitions {
            let batches = (partition..self.batches()).step_by(self.partitions);
            let mut wanted = batches.flat_map(|batch| self.records_of(batch));
            let mut next = 0;
            let mut value = Vec::with_capacity(self.value_bytes);
            let end = loop {
                let answer = client.call(&fetch_request(partition, next)?, FETCH)?;
                let topic = answer.responses.first().context("no topic")?;
                let data = topic.partitions.first().context("no partition")?;
                data.error_code.ok()?;
                let records = data.records.as_ref().and_then(|it| it.bytes());
                if next == data.high_watermark.get() {
                    break next;
                }
                for batch in RecordBatches::new(records.cloned().unwrap_or_default()) {
                    // The last one may be cut.
                    let Ok(batch) = batch else { break };
                    batch.check_crc()?;
                    let mut read = batch.read(&mut codecs)?;
                    while let Some(record) = read.next()? {
                        // The first batch may begin before what was asked for.
                        if record.offset.get() < next {
                            continue;
                        }
                        let number = wanted.next().context("more records than were produced")?;
                        self.value(number, &mut value);
                        ensure!(
                            record.offset.get() == next && record.value == Some(&value[..]),
                            "partition {partition}: offset {} is not record {number}",
                            record.offset
                        );
                        next += 1;
                    }
                }
            };
            let left = wanted.count();
            ensure!(
                left == 0,
                "partition {partition}: {left} records are missing behind {end}"
            );
        }
        Ok(())
    }

    fn batches(self) -> usize {
        self.records.div_ceil(BATCH_RECORDS)
    }

    /// The numbers of the records of a batch.
    fn records_of(self, batch: usize) -> std::ops::Range<usize> {
        let first = batch * BATCH_RECORDS;
        first..self.records.min(first + BATCH_RECORDS)
    }

    fn batch(self, batch: usize, producer: ProducerId, first: i64) -> Result<Bytes> {
        let options = BatchOptions {
            size_limit: usize::MAX,
            producer: ProducerStamp {
                producer_id: producer,
                producer_epoch: ProducerEpoch::new(0),
                base_sequence: Sequence::new(i32::try_from(first)?),
            },
            ..BatchOptions::default()
        };
        let room = BATCH_RECORDS * (self.value_bytes + 16);
        let mut builder = RecordBatchBuilder::new(options, Vec::with_capacity(room));
        let mut value = Vec::with_capacity(self.value_bytes);
        let now_ms = unix_ms()?;
        for number in self.records_of(batch) {
            self.value(number, &mut value);
            builder.append(now_ms, None, Some(&value), &[])?;
        }
        builder.close(&mut Codecs::default())?;
        Ok(builder.into_bytes()?)
    }

    /// Makes the value of a record, which tells its number.
    fn value(self, number: usize, value: &mut Vec<u8>) {
        value.clear();
        let digits = number.to_string();
        value.extend(digits.bytes().chain([b' ']).cycle().take(self.value_bytes));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "records of another time would be old at once"
)]
fn unix_ms() -> Result<i64> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(i64::try_from(since_1970.as_millis())?)
}

fn acknowledged(
    client: &mut WireClient,
    unanswered: &mut VecDeque<(klamm_wire::header::CorrelationId, i64)>,
) -> Result<()> {
    let (id, first) = unanswered.pop_front().context("nothing is unanswered")?;
    let answer = client.receive::<ProduceRequest>(id, PRODUCE)?;
    let topic = answer.responses.first().context("no topic")?;
    let partition = topic.partition_responses.first().context("no partition")?;
    partition.error_code.ok()?;
    let base_offset = partition.base_offset;
    ensure!(
        base_offset.get() == first,
        "a batch is at {base_offset} instead of {first}"
    );
    Ok(())
}

fn produce_request(partition: usize, records: Bytes) -> Result<ProduceRequest> {
    let data = PartitionProduceData {
        index: PartitionIndex::new(i32::try_from(partition)?),
        records: Some(records.into()),
        ..PartitionProduceData::default()
    };
    Ok(ProduceRequest {
        acks: -1,
        timeout_ms: 30_000,
        topic_data: vec![TopicProduceData {
            name: TOPIC.into(),
            partition_data: vec![data],
            ..TopicProduceData::default()
        }],
        ..ProduceRequest::default()
    })
}

fn fetch_request(partition: usize, offset: i64) -> Result<FetchRequest> {
    let wanted = FetchPartition {
        partition: PartitionIndex::new(i32::try_from(partition)?),
        fetch_offset: Offset::new(offset),
        partition_max_bytes: FETCH_BYTES,
        ..FetchPartition::default()
    };
    Ok(FetchRequest {
        max_bytes: FETCH_BYTES,
        topics: vec![FetchTopic {
            topic: TOPIC.into(),
            partitions: vec![wanted],
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    })
}
