//! [`RecordBatchBuilder`]: writes records into a batch as they come.

use klamm_primitives::{LeaderEpoch, Offset};

use crate::compression::Compression;
use crate::control::{ControlType, EndMarker};
use crate::header::{BatchHeader, HEADER_LEN, NO_TIMESTAMP};
use crate::record::{Header, Record};
use crate::size::estimate_packed;

mod close;
mod encode;
mod error;
mod options;

pub use error::{AppendError, BuildError, CloseError, StateError};
pub use options::{BatchOptions, Timestamps};

/// The largest batch that its length field can tell.
const SIZE_MAX: usize = i32::MAX as usize + 12;

/// Builds one batch after the other in a buffer that is reused.
///
/// Records are encoded uncompressed where they will lie, as they are appended: a record costs no
/// allocation, and appending is short enough to be done under a lock. Closing writes the header
/// and, with a codec, compresses all records at once into the same buffer, so that this work is
/// done outside the lock by whoever sends the batch. Until then a compressed batch takes as much
/// of the buffer as an uncompressed one, and whether it is full is estimated from how well such
/// records shrank before.
///
/// The buffer may hold bytes already: the batch begins behind them. It is any `Vec`, of a pool or
/// fresh; it grows where one record needs more.
///
/// | state | appending | producer | closing | bytes |
/// |---|---|---|---|---|
/// | open | yes | may be set | writes the batch | none yet |
/// | closed | [`StateError::Closed`] | fixed | does nothing | the batch |
/// | reopened | [`StateError::Closed`] | may be set | sets header and CRC | none yet |
/// | aborted | [`StateError::Aborted`] | refused | refused | refused |
///
/// ```
/// use klamm_records::{BatchOptions, Codecs, Header, RecordBatch, RecordBatchBuilder};
///
/// let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::with_capacity(16_384));
/// builder.append(1_700_000_000_000, Some(b"key"), Some(b"value"), &[])?;
/// builder.append(1_700_000_000_001, None, None, &[Header::new("trace", Some(b"7f"))])?;
/// builder.close(&mut Codecs::default())?;
///
/// let batch = RecordBatch::parse(builder.into_bytes()?)?;
/// assert_eq!(batch.header().record_count, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordBatchBuilder {
    options: BatchOptions,
    /// Bytes before the batch, the batch, and bytes that mean nothing.
    buffer: Vec<u8>,
    /// Where the batch begins in the buffer.
    start: usize,
    /// Where what is written of the batch ends.
    end: usize,
    state: State,
    /// Whether the batch is open, has a record, and takes more of them as they come: all that an
    /// append has to know of the state and of the options.
    steady: bool,
    contents: Contents,
    /// Of the batch as it was closed last.
    header: BatchHeader,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
    Reopened,
    Aborted,
}

/// What has been appended.
#[derive(Debug, Clone, Copy)]
struct Contents {
    count: u32,
    last_offset_delta: i32,
    base_timestamp_ms: i64,
    max_timestamp_ms: i64,
    /// Bytes of the records before they were compressed, once they are.
    plain_len: usize,
}

impl Contents {
    const NOTHING: Self = Self {
        count: 0,
        last_offset_delta: -1,
        base_timestamp_ms: NO_TIMESTAMP,
        max_timestamp_ms: NO_TIMESTAMP,
        plain_len: 0,
    };
}

impl RecordBatchBuilder {
    /// Builds a batch behind what `buffer` holds.
    pub fn new(options: BatchOptions, buffer: Vec<u8>) -> Self {
        let start = buffer.len();
        Self::at(start, options, buffer)
    }

    /// Builds a batch over what `buffer` holds: of a pool that keeps buffers as they come back,
    /// which saves setting all their bytes to 0 again.
    pub fn over(options: BatchOptions, buffer: Vec<u8>) -> Self {
        Self::at(0, options, buffer)
    }

    fn at(start: usize, options: BatchOptions, mut buffer: Vec<u8>) -> Self {
        // So that no batch becomes too large while it stays within the buffer.
        buffer.truncate(start + SIZE_MAX + encode::SLACK);
        Self {
            options,
            buffer,
            start,
            end: start,
            state: State::Open,
            steady: false,
            contents: Contents::NOTHING,
            header: BatchHeader::empty(Offset::ZERO, LeaderEpoch::NONE),
        }
    }

    /// Begins anew in the same place of the same buffer, whatever the state.
    pub fn reset(&mut self, options: BatchOptions) {
        self.options = options;
        self.clear();
        self.state = State::Open;
    }

    fn clear(&mut self) {
        self.end = self.start;
        self.steady = false;
        self.contents = Contents::NOTHING;
    }

    /// Appends a record at the next offset. Returns its place in the batch, from 0.
    ///
    /// `timestamp_ms` is Unix time, or [`NO_TIMESTAMP`]; not used with log append time.
    ///
    /// # Errors
    /// Any of [`AppendError`] that is not about control records. Room is not asked for: see
    /// [`has_room_for`](Self::has_room_for).
    #[inline]
    pub fn append(
        &mut self,
        timestamp_ms: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> Result<u32, AppendError> {
        if self.steady
            && headers.is_empty()
            && timestamp_ms >= NO_TIMESTAMP
            && let Some(index) = self.append_short(timestamp_ms, key, value)
        {
            return Ok(index);
        }
        self.append_any(timestamp_ms, key, value, headers)
    }

    /// Appends a record as nearly all are: not the first, short, and with room for it in the
    /// buffer. `None` if it is not so; then nothing was done.
    ///
    /// Not to be inlined: as a part of larger loops it was seen to be taken apart, so that its
    /// numbers went through memory and took twice the time.
    #[inline(never)]
    fn append_short(
        &mut self,
        timestamp_ms: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Option<u32> {
        // An overflow is negative, and so not short.
        let offset_delta = self.contents.last_offset_delta.wrapping_add(1);
        let draft = encode::Draft {
            timestamp_delta: timestamp_ms.wrapping_sub(self.contents.base_timestamp_ms),
            offset_delta,
            key,
            value,
        };
        self.end += encode::short(self.buffer.get_mut(self.end..)?, draft)?;
        Some(self.count_one(offset_delta, timestamp_ms))
    }

    #[inline(never)]
    fn append_any(
        &mut self,
        timestamp_ms: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> Result<u32, AppendError> {
        self.check_data(timestamp_ms)?;
        let offset_delta = self.next_offset_delta()?;
        let headers = headers.iter().copied();
        self.push(offset_delta, timestamp_ms, key, value, headers)
    }

    /// Appends a record at an offset above that of the record before; else as
    /// [`append`](Self::append).
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_at(
        &mut self,
        offset: Offset,
        timestamp_ms: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) -> Result<u32, AppendError> {
        self.check_data(timestamp_ms)?;
        let offset_delta = self.offset_delta(offset)?;
        let headers = headers.iter().copied();
        self.push(offset_delta, timestamp_ms, key, value, headers)
    }

    /// Appends a record that another batch holds. Its timestamp stays, be it negative.
    pub(crate) fn append_record(
        &mut self,
        offset: Offset,
        record: Record<'_>,
    ) -> Result<u32, AppendError> {
        self.check_open()?;
        let offset_delta = self.offset_delta(offset)?;
        let Record {
            timestamp_ms,
            key,
            value,
            headers,
            ..
        } = record;
        self.push(offset_delta, timestamp_ms, key, value, headers)
    }

    /// Appends a control record whose value the caller encoded: of the metadata log's types,
    /// version 0 of the message that belongs to the type.
    ///
    /// # Errors
    /// [`AppendError::ControlInDataBatch`] and those of [`append`](Self::append); for a
    /// [leader change](ControlType::LeaderChange)
    /// [`AppendError::LeaderChangeTransactional`] and [`AppendError::LeaderChangeWithoutEpoch`].
    pub fn append_control(
        &mut self,
        timestamp_ms: i64,
        control_type: ControlType,
        value: &[u8],
    ) -> Result<u32, AppendError> {
        if !self.options.control {
            return Err(AppendError::ControlInDataBatch);
        }
        match control_type {
            ControlType::Abort | ControlType::Commit if !self.options.transactional => {
                return Err(AppendError::MarkerNotTransactional);
            }
            ControlType::LeaderChange if self.options.transactional => {
                return Err(AppendError::LeaderChangeTransactional);
            }
            ControlType::LeaderChange if self.options.leader_epoch.get() < 0 => {
                return Err(AppendError::LeaderChangeWithoutEpoch);
            }
            _ => {}
        }
        self.check_open()?;
        check_timestamp(timestamp_ms)?;
        let offset_delta = self.next_offset_delta()?;
        let key = control_type.key();
        let headers = std::iter::empty();
        self.push(offset_delta, timestamp_ms, Some(&key), Some(value), headers)
    }

    /// Appends the marker that ends a transaction.
    ///
    /// # Errors
    /// [`AppendError::ControlInDataBatch`], [`AppendError::MarkerNotTransactional`], and those of
    /// [`append`](Self::append).
    pub fn append_end_marker(
        &mut self,
        timestamp_ms: i64,
        marker: EndMarker,
    ) -> Result<u32, AppendError> {
        self.append_control(timestamp_ms, marker.outcome.into(), &marker.value())
    }

    fn check_data(&self, timestamp_ms: i64) -> Result<(), AppendError> {
        self.check_open()?;
        if self.options.control {
            return Err(AppendError::DataInControlBatch);
        }
        check_timestamp(timestamp_ms)
    }

    fn check_open(&self) -> Result<(), StateError> {
        match self.state {
            State::Open => Ok(()),
            State::Closed | State::Reopened => Err(StateError::Closed),
            State::Aborted => Err(StateError::Aborted),
        }
    }

    fn next_offset_delta(&self) -> Result<i32, AppendError> {
        let next = self.contents.last_offset_delta.checked_add(1);
        next.ok_or_else(|| AppendError::OffsetTooFar {
            offset: self.offset_at(i64::from(i32::MAX) + 1),
            base_offset: self.options.base_offset,
        })
    }

    /// For what errors tell: base offsets of any size come from batches that are written anew.
    fn offset_at(&self, delta: i64) -> Offset {
        Offset::new(self.options.base_offset.get().wrapping_add(delta))
    }

    fn offset_delta(&self, offset: Offset) -> Result<i32, AppendError> {
        let base_offset = self.options.base_offset;
        let too_far = AppendError::OffsetTooFar {
            offset,
            base_offset,
        };
        let delta = offset.get().checked_sub(base_offset.get()).ok_or(too_far)?;
        if delta <= i64::from(self.contents.last_offset_delta) {
            return Err(AppendError::OffsetNotRising {
                offset,
                last: self.offset_at(self.contents.last_offset_delta.into()),
            });
        }
        i32::try_from(delta).map_err(|_| too_far)
    }

    /// Writes a record of any kind, for which the buffer may have to grow.
    fn push<'h>(
        &mut self,
        offset_delta: i32,
        timestamp_ms: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl ExactSizeIterator<Item = Header<'h>> + Clone,
    ) -> Result<u32, AppendError> {
        let timestamp_ms = match self.options.timestamps {
            Timestamps::Create => timestamp_ms,
            Timestamps::LogAppend { at_ms } => at_ms,
        };
        let first = self.is_empty();
        let (at, base_timestamp_ms) = if first {
            let horizon = self.options.delete_horizon_ms;
            (self.start + HEADER_LEN, horizon.unwrap_or(timestamp_ms))
        } else {
            (self.end, self.contents.base_timestamp_ms)
        };
        let draft = encode::Draft {
            timestamp_delta: timestamp_ms.wrapping_sub(base_timestamp_ms),
            offset_delta,
            key,
            value,
        };
        let (body_len, size) = encode::sizes(draft, headers.clone());
        let end = at + size;
        if end - self.start > SIZE_MAX {
            return Err(AppendError::TooLarge { size });
        }
        if self.buffer.len() < end + encode::SLACK {
            // What is written to has to be set before: once for each buffer, if it does not move.
            self.buffer.reserve(end + encode::SLACK - self.buffer.len());
            let most = self.start + SIZE_MAX + encode::SLACK;
            self.buffer.resize(self.buffer.capacity().min(most), 0);
        }
        encode::write(&mut self.buffer[at..], body_len, draft, headers);
        self.end = end;
        self.contents.base_timestamp_ms = base_timestamp_ms;
        self.steady = !self.options.control && self.options.timestamps == Timestamps::Create;
        Ok(self.count_one(offset_delta, timestamp_ms))
    }

    /// Counts a record that was written. Returns its place in the batch.
    #[inline]
    fn count_one(&mut self, offset_delta: i32, timestamp_ms: i64) -> u32 {
        let contents = &mut self.contents;
        let index = contents.count;
        contents.count = index + 1;
        contents.last_offset_delta = offset_delta;
        contents.max_timestamp_ms = contents.max_timestamp_ms.max(timestamp_ms);
        index
    }

    /// What the batch is built with.
    pub fn options(&self) -> &BatchOptions {
        &self.options
    }

    /// How many records were appended.
    pub fn count(&self) -> u32 {
        self.contents.count
    }

    /// Whether nothing was appended; then closing gives no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.contents.count == 0
    }

    /// Whether a record of at most `record_size_max` bytes (see
    /// [`record_size_max`](crate::record_size_max)) still belongs into this batch. The first
    /// always does; no gain from compressing a later one is counted on.
    #[inline]
    pub fn has_room_for(&self, record_size_max: usize) -> bool {
        match self.state {
            State::Open if self.is_empty() => true,
            State::Open => {
                let size = self.estimated_size().saturating_add(record_size_max);
                size <= self.options.size_limit
            }
            _ => false,
        }
    }

    /// Whether nothing more belongs into this batch.
    pub fn is_full(&self) -> bool {
        match self.state {
            State::Open if self.is_empty() => false,
            State::Open => self.estimated_size() >= self.options.size_limit,
            _ => true,
        }
    }

    /// The size of the batch: as it is, or while it is open with a codec as it is expected to
    /// become.
    #[inline]
    pub fn estimated_size(&self) -> usize {
        match (self.state, self.options.compression) {
            (State::Closed | State::Reopened, _) => self.header.size(),
            (_, Compression::None) => HEADER_LEN + self.plain_len(),
            _ => {
                let ratio = self.options.expected_ratio;
                HEADER_LEN + estimate_packed(self.plain_len(), ratio)
            }
        }
    }

    /// The bytes of the records before they are compressed, the header not counted.
    pub fn plain_len(&self) -> usize {
        match self.state {
            State::Open => (self.end - self.start).saturating_sub(HEADER_LEN),
            _ => self.contents.plain_len,
        }
    }

    /// What part of their size the records kept when they were compressed, once the batch is
    /// closed; for [`CompressionRatios::observe`](crate::CompressionRatios::observe).
    #[expect(clippy::cast_precision_loss, reason = "a ratio for estimates")]
    pub fn compression_ratio(&self) -> Option<f32> {
        match self.state {
            State::Closed if !self.is_empty() => {
                Some(self.header.records_len() as f32 / self.contents.plain_len as f32)
            }
            _ => None,
        }
    }
}

fn check_timestamp(timestamp_ms: i64) -> Result<(), AppendError> {
    if timestamp_ms < NO_TIMESTAMP {
        return Err(AppendError::NegativeTimestamp { timestamp_ms });
    }
    Ok(())
}
