//! [`validate`]: what a leader checks before it appends what was produced.
//!
//! In this order, with the code that a broker answers:
//!
//! | what | else |
//! |---|---|
//! | exactly one batch, of magic 2; a cut one does not count | `INVALID_RECORD` |
//! | zstd only where the request's version allows it | `UNSUPPORTED_COMPRESSION_TYPE` |
//! | base offset 0 (clients) | `INVALID_RECORD` |
//! | not larger than the topic allows | `MESSAGE_TOO_LARGE` |
//! | the checksum | `CORRUPT_MESSAGE` |
//! | record count above 0 and one more than the last offset delta (clients) | `INVALID_RECORD` |
//! | no control batch; a base sequence beside a producer id (clients) | `INVALID_RECORD` |
//! | create time in the attributes (clients) | `INVALID_TIMESTAMP` |
//! | a codec that there is | `UNSUPPORTED_COMPRESSION_TYPE` |
//! | every record well-formed, nothing behind the last | `INVALID_RECORD` |
//! | what is compressed can be inflated | `CORRUPT_MESSAGE` |
//! | and is not too much then, which Apache Kafka does not ask | `MESSAGE_TOO_LARGE` |
//! | a key in each record, if the topic is compacted | `INVALID_RECORD` |
//! | timestamps within the topic's bounds, if it keeps create time | `INVALID_TIMESTAMP` |
//!
//! Then the batch is kept as it is, its max timestamp put right, or written anew: where the topic
//! asks for another codec, and where offset deltas do not run 0, 1, 2 and so on. Apache Kafka
//! writes the latter anew only if they are compressed and stores the others with offsets that may
//! lie outside the batch's; here none are stored.

use bytes::Bytes;
use klamm_primitives::{Offset, Sequence};
use thiserror::Error;

use crate::attributes::TimestampType;
use crate::batch::RecordBatch;
use crate::batches::RecordBatches;
use crate::builder::{BatchOptions, BuildError, RecordBatchBuilder};
use crate::compression::{Codec, Codecs, Compression, TopicCompression};
use crate::header::{BatchError, BatchHeader, NO_TIMESTAMP};
use crate::record::RecordMeta;
use crate::records::RecordsError;
use crate::valid_batch::ValidBatch;

/// How many failing records are listed. An answer with more would help nobody, and a few KiB of
/// compressed input could make it hundreds of MiB.
const FAILURES_LISTED_MAX: usize = 10_000;

/// What a topic, and the version of the request, ask of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidationRules {
    /// `compression.type` with its levels.
    pub compression: TopicCompression,
    /// `message.timestamp.type`
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`: how far a create time may lie behind.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`: how far a create time may lie ahead.
    pub timestamp_after_max_ms: i64,
    /// Whether each record needs a key: `cleanup.policy` has `compact`.
    pub key_required: bool,
    /// `max.message.bytes`: the size of the largest batch.
    pub batch_size_max: usize,
    /// Whether zstd may be used: produce requests from version 7 on.
    pub zstd_allowed: bool,
}

impl Default for ValidationRules {
    /// A topic with Apache Kafka's default settings, and a new request.
    fn default() -> Self {
        Self {
            compression: TopicCompression::Producer,
            timestamp_type: TimestampType::Create,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 60 * 60 * 1000,
            key_required: false,
            batch_size_max: 1024 * 1024 + 12,
            zstd_allowed: true,
        }
    }
}

/// Why a batch is not appended; nothing of it is. The codes to answer are in the table on
/// [`validate`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValidationError {
    /// There is no whole batch.
    #[error("no record batch")]
    NoBatch,
    /// There are several batches.
    #[error("more than one record batch for a partition")]
    SeveralBatches,
    /// A message set of magic 0 or 1.
    #[error("magic {magic}: record batches must have magic 2")]
    LegacyMagic {
        /// 0 or 1.
        magic: u8,
    },
    /// The bytes are not one batch, or its checksum is wrong. `CORRUPT_MESSAGE`, but
    /// `MESSAGE_TOO_LARGE` for [`BatchError::TooLarge`].
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The request's version does not allow zstd.
    #[error("zstd needs a produce request of version 7 or above")]
    ZstdNotAllowed,
    /// Offsets are the leader's to give.
    #[error("base offset {base_offset} in a produced batch, 0 is expected")]
    BaseOffset {
        /// What the header says.
        base_offset: Offset,
    },
    /// Count and offsets do not agree, or there is no record.
    #[error("{record_count} records with a last offset delta of {last_offset_delta}")]
    Count {
        /// What the header says.
        record_count: i32,
        /// What the header says.
        last_offset_delta: i32,
    },
    /// Control batches are the brokers'.
    #[error("a control batch from a client")]
    Control,
    /// A producer id without a sequence.
    #[error("producer id with base sequence {base_sequence}")]
    Sequence {
        /// What the header says.
        base_sequence: Sequence,
    },
    /// Log append time is the leader's to give. `INVALID_TIMESTAMP`.
    #[error("a produced batch with log append time")]
    LogAppendTime,
    /// The records cannot be read.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// Records were read and are not allowed. `INVALID_TIMESTAMP` if any has a bad
    /// [timestamp](RecordFailures::any_timestamp), else `INVALID_RECORD`.
    #[error("{} of the records are not allowed", .0.count)]
    Failures(RecordFailures),
    /// The batch could not be written anew; the broker's own fault.
    #[error("writing the batch anew: {0}")]
    Rebuild(#[from] BuildError),
}

/// The records of a batch that are not allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordFailures {
    /// They and why, in their order; at most 10 000 of them.
    pub listed: Vec<RecordFailure>,
    /// How many there are.
    pub count: usize,
    /// Whether any has a timestamp out of bounds.
    pub any_timestamp: bool,
}

/// A record that is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordFailure {
    /// Its place in the batch, from 0.
    pub index: u32,
    /// Why.
    pub reason: FailureReason,
}

/// Why a record is not allowed. Its text is what the client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FailureReason {
    /// The topic is compacted, and the record has no key.
    #[error("a compacted topic needs a key in each record")]
    MissingKey,
    /// The timestamp is too far from the leader's time.
    #[error("timestamp {timestamp_ms} is out of the topic's bounds")]
    Timestamp {
        /// The record's, in Unix milliseconds.
        timestamp_ms: i64,
    },
}

/// Checks what a client produced to one partition: `records` of a produce request.
///
/// `now_ms` is Unix time, compared with the records' timestamps. Where nothing has to be written
/// anew no record is copied: the batch is read twice, for the checksum and from record to record.
/// Nothing is allocated for an uncompressed batch.
///
/// # Errors
/// Any of [`ValidationError`]:
///
/// | error | code |
/// |---|---|
/// | [`Batch`](ValidationError::Batch) with [`BatchError::TooLarge`] | `MESSAGE_TOO_LARGE` |
/// | [`Batch`](ValidationError::Batch) otherwise | `CORRUPT_MESSAGE` |
/// | [`ZstdNotAllowed`](ValidationError::ZstdNotAllowed), [`Records`](ValidationError::Records) with [`RecordsError::UnknownCodec`] | `UNSUPPORTED_COMPRESSION_TYPE` |
/// | [`Records`](ValidationError::Records) with [`RecordsError::Inflate`] for [`InflateError::TooLarge`](crate::InflateError::TooLarge) | `MESSAGE_TOO_LARGE` |
/// | [`Records`](ValidationError::Records) with [`RecordsError::Inflate`] otherwise | `CORRUPT_MESSAGE` |
/// | [`LogAppendTime`](ValidationError::LogAppendTime), [`Failures`](ValidationError::Failures) with a timestamp | `INVALID_TIMESTAMP` |
/// | [`Rebuild`](ValidationError::Rebuild) | `UNKNOWN_SERVER_ERROR` |
/// | all others | `INVALID_RECORD` |
pub fn validate(
    records: Bytes,
    rules: &ValidationRules,
    now_ms: i64,
    codecs: &mut Codecs,
) -> Result<ValidBatch, ValidationError> {
    let batch = only_batch(records, rules)?;
    let header = batch.header();
    if header.base_offset != Offset::ZERO {
        return Err(ValidationError::BaseOffset {
            base_offset: header.base_offset,
        });
    }
    check_size(batch.size(), rules)?;
    batch.check_crc()?;
    check_client(header)?;
    accept(batch, rules, now_ms, codecs)
}

/// Checks what the broker itself appends, be it a marker or a coordinator's records. What only
/// clients may not do is allowed: control batches, offsets, no sequence.
///
/// # Errors
/// As [`validate`], but for the checks that are marked there as for clients alone.
pub fn validate_own(
    batch: RecordBatch,
    rules: &ValidationRules,
    now_ms: i64,
    codecs: &mut Codecs,
) -> Result<ValidBatch, ValidationError> {
    check_size(batch.size(), rules)?;
    batch.check_crc()?;
    accept(batch, rules, now_ms, codecs)
}

fn only_batch(records: Bytes, rules: &ValidationRules) -> Result<RecordBatch, ValidationError> {
    let mut batches = RecordBatches::new(records);
    let batch = match batches.next() {
        Some(Ok(batch)) => batch,
        Some(Err(BatchError::LegacyMagic { magic })) => {
            return Err(ValidationError::LegacyMagic { magic });
        }
        Some(Err(error)) => return Err(error.into()),
        None => return Err(ValidationError::NoBatch),
    };
    if batch.header().attributes.codec() == Ok(Codec::Zstd) && !rules.zstd_allowed {
        return Err(ValidationError::ZstdNotAllowed);
    }
    match batches.next() {
        None => Ok(batch),
        Some(Ok(_)) => Err(ValidationError::SeveralBatches),
        Some(Err(error)) => Err(error.into()),
    }
}

fn check_size(size: usize, rules: &ValidationRules) -> Result<(), BatchError> {
    if size <= rules.batch_size_max {
        return Ok(());
    }
    Err(BatchError::TooLarge {
        size,
        limit: rules.batch_size_max,
    })
}

fn check_client(header: &BatchHeader) -> Result<(), ValidationError> {
    let offsets = i64::from(header.last_offset_delta) + 1;
    if header.record_count <= 0 || i64::from(header.record_count) != offsets {
        return Err(ValidationError::Count {
            record_count: header.record_count,
            last_offset_delta: header.last_offset_delta,
        });
    }
    if header.attributes.is_control() {
        return Err(ValidationError::Control);
    }
    if header.producer_id.get() >= 0 && header.base_sequence.is_none() {
        return Err(ValidationError::Sequence {
            base_sequence: header.base_sequence,
        });
    }
    if header.attributes.timestamp_type() == TimestampType::LogAppend {
        return Err(ValidationError::LogAppendTime);
    }
    Ok(())
}

/// Reads the records of a batch whose header is good, and keeps it or writes it anew.
fn accept(
    batch: RecordBatch,
    rules: &ValidationRules,
    now_ms: i64,
    codecs: &mut Codecs,
) -> Result<ValidBatch, ValidationError> {
    let codec = batch
        .header()
        .attributes
        .codec()
        .map_err(RecordsError::from)?;
    let findings = inspect(&batch, rules, now_ms, codecs)?;
    let target = rules.compression.target(codec);
    if target.codec() != codec || !findings.consecutive {
        let rebuilt = rebuild(&batch, target, rules, codecs)?;
        check_size(rebuilt.size(), rules)?;
        return Ok(ValidBatch::new(
            *rebuilt.header(),
            rebuilt,
            rules.timestamp_type,
        ));
    }
    let mut header = *batch.header();
    if rules.timestamp_type == TimestampType::Create {
        header.set_timestamps(TimestampType::Create, findings.max_timestamp_ms);
    }
    Ok(ValidBatch::new(header, batch, rules.timestamp_type))
}

/// What reading the records showed.
struct Findings {
    max_timestamp_ms: i64,
    /// Whether offset deltas run 0, 1, 2 and so on.
    consecutive: bool,
}

fn inspect(
    batch: &RecordBatch,
    rules: &ValidationRules,
    now_ms: i64,
    codecs: &mut Codecs,
) -> Result<Findings, ValidationError> {
    let mut findings = Findings {
        max_timestamp_ms: NO_TIMESTAMP,
        consecutive: true,
    };
    let mut failures = RecordFailures::default();
    for (index, meta) in (0..).zip(batch.skim(codecs)?) {
        let meta = meta?;
        findings.max_timestamp_ms = findings.max_timestamp_ms.max(meta.timestamp_ms);
        findings.consecutive &= meta.offset_delta.cast_unsigned() == index;
        if let Some(reason) = judge(&meta, rules, now_ms) {
            failures.add(RecordFailure { index, reason });
        }
    }
    match failures.count {
        0 => Ok(findings),
        _ => Err(ValidationError::Failures(failures)),
    }
}

#[inline]
fn judge(meta: &RecordMeta, rules: &ValidationRules, now_ms: i64) -> Option<FailureReason> {
    if rules.key_required && !meta.has_key() {
        return Some(FailureReason::MissingKey);
    }
    let timestamp_ms = meta.timestamp_ms;
    if rules.timestamp_type == TimestampType::LogAppend || timestamp_ms == NO_TIMESTAMP {
        return None;
    }
    let too_early = now_ms.saturating_sub(timestamp_ms) > rules.timestamp_before_max_ms;
    let too_late = timestamp_ms.saturating_sub(now_ms) > rules.timestamp_after_max_ms;
    (too_early || too_late).then_some(FailureReason::Timestamp { timestamp_ms })
}

impl RecordFailures {
    #[cold]
    fn add(&mut self, failure: RecordFailure) {
        self.count += 1;
        self.any_timestamp |= matches!(failure.reason, FailureReason::Timestamp { .. });
        if self.listed.len() < FAILURES_LISTED_MAX {
            self.listed.push(failure);
        }
    }
}

/// Writes the records into a new batch with consecutive offsets. All else of them stays, and so
/// does what the header says of producer and transaction.
///
/// Stored plain it is given up where it passes the topic's limit, so that what inflates to much
/// more than that is not gathered first.
fn rebuild(
    batch: &RecordBatch,
    compression: Compression,
    rules: &ValidationRules,
    codecs: &mut Codecs,
) -> Result<RecordBatch, ValidationError> {
    let header = batch.header();
    let options = BatchOptions {
        base_offset: header.base_offset,
        leader_epoch: header.leader_epoch,
        compression,
        transactional: header.attributes.is_transactional(),
        control: header.attributes.is_control(),
        producer: header.producer(),
        delete_horizon_ms: header.delete_horizon_ms(),
        ..BatchOptions::default()
    };
    let mut builder = RecordBatchBuilder::new(options, Vec::with_capacity(batch.size()));
    let mut offset = header.base_offset;
    let mut reader = batch.read(codecs)?;
    while let Some(record) = reader.next()? {
        builder
            .append_record(offset, record)
            .map_err(BuildError::from)?;
        if compression == Compression::None {
            check_size(builder.estimated_size(), rules)?;
        }
        offset = Offset::new(offset.get().wrapping_add(1));
    }
    drop(reader);
    Ok(builder.finish(codecs)?)
}
