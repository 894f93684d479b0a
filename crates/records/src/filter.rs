//! [`filter`]: a run of batches without the records that compaction lets go.

use bytes::Bytes;
use klamm_primitives::Offset;
use thiserror::Error;

use crate::attributes::Attributes;
use crate::batch::RecordBatch;
use crate::batches::RecordBatches;
use crate::builder::{BatchOptions, BuildError, RecordBatchBuilder, Timestamps};
use crate::compression::{Codec, Codecs, Levels};
use crate::crc::crc32c;
use crate::header::{BatchError, BatchHeader, CHECKED_FROM, NO_TIMESTAMP};
use crate::record::Record;
use crate::records::RecordsError;
use crate::{TimestampType, header::HEADER_LEN};

/// What decides which records stay.
pub trait RecordFilter {
    /// What is to become of a batch; asked before its records.
    fn batch(&mut self, header: &BatchHeader) -> BatchVerdict;

    /// Whether a record stays; asked once for each record of a batch that is not deleted, in
    /// order.
    fn keep(&mut self, header: &BatchHeader, record: &Record<'_>) -> bool;
}

/// What is to become of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchVerdict {
    /// It goes as a whole; its records are not asked for.
    Delete,
    /// Each record is asked for.
    Filter {
        /// What happens if no record stays.
        emptied: Emptied,
        /// From when on tombstones may go.
        horizon: Horizon,
    },
}

/// What becomes of a batch without records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emptied {
    /// Its header stays, so that its producer's last sequence and the log's end are kept.
    KeepHeader,
    /// It goes.
    Delete,
}

/// Whether a batch gets a delete horizon (KIP-534); one that it has already stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Horizon {
    /// No.
    Leave,
    /// This one in Unix milliseconds, if the batch keeps a tombstone.
    IfTombstones {
        /// When tombstones may go.
        at_ms: i64,
    },
    /// This one in Unix milliseconds, if the batch keeps any record: the marker of a transaction
    /// of which nothing else is left.
    Always {
        /// When the marker may go.
        at_ms: i64,
    },
}

/// What was read and what was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filtered {
    /// Bytes of the run that were read: whole batches. Less than the run where the output was
    /// full, or where a batch was cut.
    pub bytes_read: usize,
    /// Records in the batches that were read and not deleted as a whole.
    pub records_read: usize,
    /// Bytes that were written.
    pub bytes_kept: usize,
    /// Records that were written.
    pub records_kept: usize,
    /// The last offset of the last batch that was kept.
    pub max_offset: Option<Offset>,
    /// The largest max timestamp of the batches that were kept, or [`NO_TIMESTAMP`].
    pub max_timestamp_ms: i64,
    /// The last offset of the first batch with that timestamp.
    pub max_timestamp_offset: Option<Offset>,
}

/// Why filtering stopped; what was written before is whole batches.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the batch at byte {position}: {cause}")]
pub struct FilterError {
    /// Where the batch begins in the run.
    pub position: usize,
    /// What is wrong with it.
    #[source]
    pub cause: FilterErrorCause,
}

/// What is wrong with a batch that was to be filtered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FilterErrorCause {
    /// It is none, or its checksum is wrong: writing it anew would hide that.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Its records cannot be read.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// It could not be written anew.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Writes the batches of `run` to the end of `out` without the records that `rules` lets go.
///
/// A batch that keeps all its records is copied byte for byte. One that loses some is written
/// anew with the same codec (at its default level), timestamp type, producer, leader epoch, flags
/// and the same first and last offset. Offsets and timestamps of records stay as they are.
///
/// Stops before a batch that would make `out` longer than `out_len_max`; a batch that is larger
/// alone is written if it is the first.
///
/// # Errors
/// [`FilterError`].
pub fn filter(
    run: &Bytes,
    rules: &mut impl RecordFilter,
    out: &mut Vec<u8>,
    out_len_max: usize,
    codecs: &mut Codecs,
) -> Result<Filtered, FilterError> {
    let start = out.len();
    let mut filtered = Filtered {
        bytes_read: 0,
        records_read: 0,
        bytes_kept: 0,
        records_kept: 0,
        max_offset: None,
        max_timestamp_ms: NO_TIMESTAMP,
        max_timestamp_offset: None,
    };
    let mut kept = Vec::new();
    let mut batches = RecordBatches::new(run.clone());
    loop {
        let position = batches.position();
        let fail = |cause| FilterError { position, cause };
        let Some(batch) = batches
            .next()
            .transpose()
            .map_err(|error| fail(error.into()))?
        else {
            break;
        };
        if out.len() > start && out.len() + batch.size() > out_len_max {
            break;
        }
        let read = filter_batch(&batch, rules, out, &mut kept, codecs).map_err(fail)?;
        filtered.records_read += kept.len();
        filtered.bytes_read = position + batch.size();
        if let Some(written) = read {
            filtered.records_kept += kept.iter().filter(|kept| **kept).count();
            filtered.count(&written);
        }
    }
    Ok(filtered)
}

impl Filtered {
    fn count(&mut self, written: &BatchHeader) {
        self.bytes_kept += written.size();
        self.max_offset = Some(written.last_offset());
        if written.max_timestamp_ms > self.max_timestamp_ms {
            self.max_timestamp_ms = written.max_timestamp_ms;
            self.max_timestamp_offset = Some(written.last_offset());
        }
    }
}

/// Writes what stays of one batch; gives the header that was written, if any, and in `kept` for
/// each record that was asked for whether it stays.
fn filter_batch(
    batch: &RecordBatch,
    rules: &mut impl RecordFilter,
    out: &mut Vec<u8>,
    kept: &mut Vec<bool>,
    codecs: &mut Codecs,
) -> Result<Option<BatchHeader>, FilterErrorCause> {
    kept.clear();
    batch.check_crc()?;
    let header = batch.header();
    let (emptied, horizon) = match rules.batch(header) {
        BatchVerdict::Delete => return Ok(None),
        BatchVerdict::Filter { emptied, horizon } => (emptied, horizon),
    };
    let mut keeps_tombstone = false;
    let mut reader = batch.read(codecs)?;
    while let Some(record) = reader.next()? {
        let keep = rules.keep(header, &record);
        keeps_tombstone |= keep && record.value.is_none();
        kept.push(keep);
    }
    drop(reader);

    if !kept.contains(&true) {
        return Ok(match emptied {
            Emptied::Delete => None,
            Emptied::KeepHeader => Some(write_emptied(header, out)),
        });
    }
    let new_horizon = match horizon {
        _ if header.attributes.has_delete_horizon() => None,
        Horizon::Leave => None,
        Horizon::IfTombstones { at_ms } => keeps_tombstone.then_some(at_ms),
        Horizon::Always { at_ms } => Some(at_ms),
    };
    if new_horizon.is_none() && !kept.contains(&false) {
        out.extend_from_slice(batch.bytes());
        return Ok(Some(*header));
    }
    let horizon = new_horizon.or(header.delete_horizon_ms());
    write_kept(batch, kept, horizon, out, codecs).map(Some)
}

/// Writes the header of a batch of which no record stays.
fn write_emptied(header: &BatchHeader, out: &mut Vec<u8>) -> BatchHeader {
    let mut attributes = Attributes::default()
        .with_codec(Codec::None)
        .with_timestamp_type(header.attributes.timestamp_type());
    if header.attributes.is_transactional() {
        attributes = attributes.with_transactional();
    }
    if header.attributes.is_control() {
        attributes = attributes.with_control();
    }
    let mut written = BatchHeader {
        attributes,
        base_timestamp_ms: NO_TIMESTAMP,
        record_count: 0,
        ..*header
    };
    written.set_records_len(0);
    written.crc = crc32c(&written.to_bytes()[CHECKED_FROM..HEADER_LEN]);
    out.extend_from_slice(&written.to_bytes());
    written
}

/// Writes a batch with those of the records that stay.
fn write_kept(
    batch: &RecordBatch,
    kept: &[bool],
    delete_horizon_ms: Option<i64>,
    out: &mut Vec<u8>,
    codecs: &mut Codecs,
) -> Result<BatchHeader, FilterErrorCause> {
    let header = batch.header();
    let codec = header.attributes.codec().map_err(RecordsError::from)?;
    let options = BatchOptions {
        base_offset: header.base_offset,
        leader_epoch: header.leader_epoch,
        compression: codec.at(&Levels::default()),
        timestamps: match header.attributes.timestamp_type() {
            TimestampType::Create => Timestamps::Create,
            TimestampType::LogAppend => Timestamps::LogAppend {
                at_ms: header.max_timestamp_ms,
            },
        },
        transactional: header.attributes.is_transactional(),
        control: header.attributes.is_control(),
        producer: header.producer(),
        delete_horizon_ms,
        ..BatchOptions::default()
    };
    let start = out.len();
    let mut builder = RecordBatchBuilder::new(options, std::mem::take(out));
    let built = build_kept(batch, kept, &mut builder, codecs);
    *out = builder.into_buffer();
    if built.is_err() {
        out.truncate(start);
    }
    built
}

fn build_kept(
    batch: &RecordBatch,
    kept: &[bool],
    builder: &mut RecordBatchBuilder,
    codecs: &mut Codecs,
) -> Result<BatchHeader, FilterErrorCause> {
    let mut reader = batch.read(codecs)?;
    for keep in kept {
        let Some(record) = reader.next()? else {
            break;
        };
        if *keep {
            let offset = record.offset;
            builder
                .append_record(offset, record)
                .map_err(BuildError::from)?;
        }
    }
    drop(reader);
    builder.end_at(batch.header().last_offset_delta);
    builder.close(codecs).map_err(BuildError::from)?;
    let header = builder.header().expect("the batch was closed just now");
    Ok(*header)
}
