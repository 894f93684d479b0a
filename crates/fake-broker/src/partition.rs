//! [`PartitionLog`]: what a leader keeps of a partition.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use klamm_primitives::{BrokerId, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    BatchError, BatchHeader, Codecs, RecordBatch, RecordsError, ValidationError, ValidationRules,
    validate,
};
use klamm_wire::ErrorCode;

/// So many batches of a producer are remembered to know one that is sent again.
const BATCHES_REMEMBERED: usize = 5;

/// A batch that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBatch {
    /// The offset of its first record.
    pub base_offset: Offset,
    /// Its records.
    pub record_count: i32,
    /// The size, header included.
    pub size: usize,
    /// Who produced it; none if it was not idempotent.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The sequence of its first record.
    pub base_sequence: Sequence,
    /// The leader that stored it.
    pub leader: BrokerId,
    /// The whole batch; empty if the cluster only counts.
    bytes: Bytes,
}

/// A record that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its offset.
    pub offset: Offset,
    /// Unix time in milliseconds.
    pub timestamp_ms: i64,
    /// The key.
    pub key: Option<Bytes>,
    /// The value.
    pub value: Option<Bytes>,
    /// The headers, in their order.
    pub headers: Vec<(Bytes, Option<Bytes>)>,
}

/// A partition: its leader, and the batches that were stored.
#[derive(Debug)]
pub(crate) struct PartitionLog {
    pub(crate) leader: Option<BrokerId>,
    pub(crate) leader_epoch: LeaderEpoch,
    /// As answers tell it.
    pub(crate) log_start_offset: Offset,
    pub(crate) log_end_offset: Offset,
    /// As answers tell it: -1 if records keep their own.
    pub(crate) append_time_ms: i64,
    pub(crate) batches: Vec<StoredBatch>,
    producers: HashMap<ProducerId, Producer>,
}

/// What is known of an idempotent producer.
#[derive(Debug)]
struct Producer {
    epoch: ProducerEpoch,
    /// The newest last: first and last sequence, and the offset of the first record.
    batches: VecDeque<(Sequence, Sequence, Offset)>,
}

/// What an append has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Appended {
    pub(crate) base_offset: Offset,
    pub(crate) record_count: i32,
    /// The batch had been stored before.
    pub(crate) is_duplicate: bool,
}

impl PartitionLog {
    pub(crate) fn new(leader: BrokerId) -> Self {
        Self {
            leader: Some(leader),
            leader_epoch: LeaderEpoch::new(0),
            log_start_offset: Offset::ZERO,
            log_end_offset: Offset::ZERO,
            append_time_ms: -1,
            batches: Vec::new(),
            producers: HashMap::new(),
        }
    }

    /// Another leader, of a higher epoch.
    pub(crate) fn move_to(&mut self, leader: Option<BrokerId>) {
        self.leader = leader;
        self.leader_epoch = LeaderEpoch::new(self.leader_epoch.get() + 1);
    }

    /// Checks a batch as a leader does, and stores it. With `keep` false only its header is
    /// looked at, and nothing but the numbers is kept.
    pub(crate) fn append(
        &mut self,
        records: Bytes,
        batch_bytes_max: usize,
        keep: bool,
        codecs: &mut Codecs,
    ) -> Result<Appended, ErrorCode> {
        if keep {
            let rules = ValidationRules {
                batch_size_max: batch_bytes_max,
                timestamp_after_max_ms: i64::MAX,
                ..ValidationRules::default()
            };
            validate(records.clone(), &rules, 0, codecs).map_err(|error| code_of(&error))?;
        }
        let batch = RecordBatch::parse(records).map_err(|_| ErrorCode::CORRUPT_MESSAGE)?;
        let header = *batch.header();
        if let Some(base_offset) = self.check_producer(&header)? {
            return Ok(Appended {
                base_offset,
                record_count: header.record_count,
                is_duplicate: true,
            });
        }
        let base_offset = self.log_end_offset;
        self.log_end_offset = base_offset + i64::from(header.record_count);
        self.remember(&header, base_offset);
        if keep {
            self.batches.push(StoredBatch {
                base_offset,
                record_count: header.record_count,
                size: batch.size(),
                producer_id: header.producer_id,
                producer_epoch: header.producer_epoch,
                base_sequence: header.base_sequence,
                leader: self.leader.unwrap_or(BrokerId::NONE),
                bytes: batch.into_bytes(),
            });
        }
        Ok(Appended {
            base_offset,
            record_count: header.record_count,
            is_duplicate: false,
        })
    }

    /// Whether a batch was stored before.
    pub(crate) fn knows(&self, header: &BatchHeader) -> bool {
        matches!(self.check_producer(header), Ok(Some(_)))
    }

    /// Whether the batch is the next of its producer; yields the offset of one that was stored
    /// before. A producer of which nothing is known may begin anywhere, as its state may have
    /// been forgotten.
    fn check_producer(&self, header: &BatchHeader) -> Result<Option<Offset>, ErrorCode> {
        if header.producer_id.get() < 0 {
            return Ok(None);
        }
        let Some(producer) = self.producers.get(&header.producer_id) else {
            return Ok(None);
        };
        if header.producer_epoch < producer.epoch {
            return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
        }
        if header.producer_epoch > producer.epoch {
            return match header.base_sequence {
                Sequence::ZERO => Ok(None),
                _ => Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER),
            };
        }
        let (first, last) = (header.base_sequence, header.last_sequence());
        let known = producer
            .batches
            .iter()
            .find(|known| (known.0, known.1) == (first, last));
        if let Some((.., base_offset)) = known {
            return Ok(Some(*base_offset));
        }
        match producer.batches.back() {
            Some((_, newest, _)) if newest.advance(1) == first => Ok(None),
            _ => Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER),
        }
    }

    fn remember(&mut self, header: &BatchHeader, base_offset: Offset) {
        if header.producer_id.get() < 0 {
            return;
        }
        let producer = self.producers.entry(header.producer_id);
        let producer = producer.or_insert_with(|| Producer {
            epoch: header.producer_epoch,
            batches: VecDeque::new(),
        });
        if producer.epoch != header.producer_epoch {
            producer.epoch = header.producer_epoch;
            producer.batches.clear();
        }
        let batch = (header.base_sequence, header.last_sequence(), base_offset);
        producer.batches.push_back(batch);
        if producer.batches.len() > BATCHES_REMEMBERED {
            producer.batches.pop_front();
        }
    }

    /// Forgets all producers, as happens to idle ones.
    pub(crate) fn forget_producers(&mut self) {
        self.producers.clear();
    }

    /// All records, by offset.
    pub(crate) fn records(&self, codecs: &mut Codecs) -> Vec<StoredRecord> {
        let mut stored = Vec::new();
        for batch in &self.batches {
            batch.read_into(&mut stored, codecs);
        }
        stored
    }
}

impl StoredBatch {
    /// The batch as it came, with base offset 0.
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    fn read_into(&self, stored: &mut Vec<StoredRecord>, codecs: &mut Codecs) {
        const CHECKED: &str = "it was checked when it was stored";
        let batch = RecordBatch::parse(self.bytes.clone()).expect(CHECKED);
        let mut records = batch.read(codecs).expect(CHECKED);
        let owned = Bytes::copy_from_slice;
        while let Some(record) = records.next().expect(CHECKED) {
            let headers = record
                .headers
                .map(|header| (owned(header.key), header.value.map(owned)));
            stored.push(StoredRecord {
                offset: self.base_offset + record.offset.get(),
                timestamp_ms: record.timestamp_ms,
                key: record.key.map(owned),
                value: record.value.map(owned),
                headers: headers.collect(),
            });
        }
    }
}

/// How a leader answers a batch that it does not take.
fn code_of(error: &ValidationError) -> ErrorCode {
    match error {
        ValidationError::Batch(BatchError::TooLarge { .. }) => ErrorCode::MESSAGE_TOO_LARGE,
        ValidationError::Batch(_) | ValidationError::Records(RecordsError::Inflate { .. }) => {
            ErrorCode::CORRUPT_MESSAGE
        }
        ValidationError::Records(RecordsError::UnknownCodec(_)) => {
            ErrorCode::UNSUPPORTED_COMPRESSION_TYPE
        }
        _ => ErrorCode::INVALID_RECORD,
    }
}

#[cfg(test)]
mod tests {
    use klamm_records::{BatchOptions, ProducerStamp, RecordBatchBuilder};

    use super::*;

    fn batch(producer: i64, epoch: i16, sequence: i32, count: usize) -> Bytes {
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        for at in 0..count {
            let value = format!("{producer}/{epoch}/{sequence}+{at}");
            builder
                .append(7, None, Some(value.as_bytes()), &[])
                .unwrap();
        }
        if producer >= 0 {
            let stamp = ProducerStamp {
                producer_id: producer.into(),
                producer_epoch: epoch.into(),
                base_sequence: sequence.into(),
            };
            builder.set_producer(stamp).unwrap();
        }
        builder.close(&mut Codecs::default()).unwrap();
        builder.into_bytes().unwrap()
    }

    fn append(log: &mut PartitionLog, bytes: Bytes) -> Result<(i64, bool), ErrorCode> {
        let appended = log.append(bytes, 1_000, true, &mut Codecs::default())?;
        Ok((appended.base_offset.get(), appended.is_duplicate))
    }

    #[test]
    fn sequences_are_checked_as_a_leader_does() {
        let mut log = PartitionLog::new(BrokerId::new(0));
        let out_of_order = Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert_eq!(append(&mut log, batch(7, 0, 0, 2)), Ok((0, false)));
        assert_eq!(append(&mut log, batch(7, 0, 2, 1)), Ok((2, false)));
        assert_eq!(append(&mut log, batch(7, 0, 0, 2)), Ok((0, true)));
        assert_eq!(append(&mut log, batch(7, 0, 4, 1)), out_of_order);
        assert_eq!(append(&mut log, batch(7, 0, 2, 2)), out_of_order);
        assert_eq!(append(&mut log, batch(7, 1, 3, 1)), out_of_order);
        assert_eq!(append(&mut log, batch(7, 1, 0, 1)), Ok((3, false)));
        let fenced = Err(ErrorCode::INVALID_PRODUCER_EPOCH);
        assert_eq!(append(&mut log, batch(7, 0, 3, 1)), fenced);
        // Another producer, one of whom nothing is known, and one without an id.
        assert_eq!(append(&mut log, batch(8, 0, 0, 1)), Ok((4, false)));
        assert_eq!(append(&mut log, batch(9, 3, 55, 1)), Ok((5, false)));
        assert_eq!(append(&mut log, batch(-1, 0, 0, 1)), Ok((6, false)));
        log.forget_producers();
        assert_eq!(append(&mut log, batch(7, 1, 99, 1)), Ok((7, false)));
        let records = log.records(&mut Codecs::default());
        let offsets: Vec<i64> = records.iter().map(|record| record.offset.get()).collect();
        assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(records[2].value.as_deref(), Some(&b"7/0/2+0"[..]));
    }

    #[test]
    fn only_the_last_five_batches_are_known_again() {
        let mut log = PartitionLog::new(BrokerId::new(0));
        for sequence in 0..6 {
            append(&mut log, batch(7, 0, sequence, 1)).unwrap();
        }
        assert_eq!(append(&mut log, batch(7, 0, 1, 1)), Ok((1, true)));
        let out_of_order = Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        assert_eq!(append(&mut log, batch(7, 0, 0, 1)), out_of_order);
    }

    #[test]
    fn sequences_go_on_from_0_after_the_greatest() {
        let mut log = PartitionLog::new(BrokerId::new(0));
        append(&mut log, batch(7, 0, i32::MAX - 1, 3)).unwrap();
        assert_eq!(append(&mut log, batch(7, 0, 1, 1)), Ok((3, false)));
    }

    #[test]
    fn what_is_no_batch_is_refused() {
        let mut log = PartitionLog::new(BrokerId::new(0));
        let mut flipped = batch(7, 0, 0, 1).to_vec();
        *flipped.last_mut().unwrap() ^= 1;
        for (bytes, code) in [
            (Bytes::new(), ErrorCode::INVALID_RECORD),
            (flipped.into(), ErrorCode::CORRUPT_MESSAGE),
            (batch(7, 0, 0, 200), ErrorCode::MESSAGE_TOO_LARGE),
        ] {
            assert_eq!(append(&mut log, bytes), Err(code));
        }
        assert_eq!(log.log_end_offset, Offset::ZERO);
    }
}
