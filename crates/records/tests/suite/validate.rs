//! What a leader checks, refuses and writes anew.

mod kept;
mod records;
mod refused;

use bytes::Bytes;
use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    BatchError, BatchOptions, Codec, Codecs, Compression, EndMarker, FailureReason, GzipLevel,
    HEADER_LEN, Levels, Outcome, ProducerStamp, RecordBatch, RecordFailure, RecordsError,
    TimestampType, Timestamps, TopicCompression, ValidBatch, ValidationError, ValidationRules,
    validate, validate_own,
};

use crate::compression::pack;
use crate::support::{
    Plain, batch_around, build, compressions, mend, read, run_of, three, three_plain, with_bytes,
};

const NOW_MS: i64 = 2000;

fn check_bytes(records: Bytes, rules: &ValidationRules) -> Result<ValidBatch, ValidationError> {
    validate(records, rules, NOW_MS, &mut Codecs::default())
}

fn check(batch: &RecordBatch, rules: &ValidationRules) -> Result<ValidBatch, ValidationError> {
    check_bytes(batch.bytes().clone(), rules)
}

fn default_check(batch: &RecordBatch) -> Result<ValidBatch, ValidationError> {
    check(batch, &ValidationRules::default())
}

/// What a log would hold.
fn stored(valid: &ValidBatch, base_offset: i64, leader_epoch: i32, now_ms: i64) -> RecordBatch {
    let header = valid.stamped(base_offset.into(), LeaderEpoch::new(leader_epoch), now_ms);
    let bytes = [&header.to_bytes(), &valid.records()[..]].concat();
    let batch = RecordBatch::parse(bytes.into()).unwrap();
    assert_eq!(batch.check_crc(), Ok(()));
    assert_eq!(*batch.header(), header);
    batch
}

fn fixed(compression: Compression) -> ValidationRules {
    ValidationRules {
        compression: TopicCompression::Fixed(compression),
        ..ValidationRules::default()
    }
}

fn log_append() -> ValidationRules {
    ValidationRules {
        timestamp_type: TimestampType::LogAppend,
        ..ValidationRules::default()
    }
}
