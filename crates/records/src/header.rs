//! [`BatchHeader`]: the first 61 bytes of a record batch, and what can be known from them.

use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use thiserror::Error;

use crate::attributes::{Attributes, TimestampType};
use crate::crc::{carry_through, crc32c};

/// How the protocol writes "no timestamp".
pub const NO_TIMESTAMP: i64 = -1;

/// The format of batches that this crate reads and writes.
pub const MAGIC: u8 = 2;

/// Bytes of a batch before its records.
pub const HEADER_LEN: usize = RECORD_COUNT + 4;

/// Bytes from which the size and the magic of a batch of any format can be told.
pub const PREFIX_LEN: usize = MAGIC_AT + 1;

/// Bytes that the length field does not count: itself and the base offset before it.
pub(crate) const NOT_COUNTED_LEN: usize = LEADER_EPOCH;

/// Where the bytes begin that the checksum covers.
pub(crate) const CHECKED_FROM: usize = ATTRIBUTES;

const BASE_OFFSET: usize = 0;
const LENGTH: usize = BASE_OFFSET + 8;
const LEADER_EPOCH: usize = LENGTH + 4;
const MAGIC_AT: usize = LEADER_EPOCH + 4;
const CRC: usize = MAGIC_AT + 1;
const ATTRIBUTES: usize = CRC + 4;
const LAST_OFFSET_DELTA: usize = ATTRIBUTES + 2;
const BASE_TIMESTAMP: usize = LAST_OFFSET_DELTA + 4;
const MAX_TIMESTAMP: usize = BASE_TIMESTAMP + 8;
const PRODUCER_ID: usize = MAX_TIMESTAMP + 8;
const PRODUCER_EPOCH: usize = PRODUCER_ID + 8;
const BASE_SEQUENCE: usize = PRODUCER_EPOCH + 2;
const RECORD_COUNT: usize = BASE_SEQUENCE + 4;

/// The least that the length field says: a header without records.
const LENGTH_MIN: i32 = 49;

/// The least that the length field says in the formats before, where it counts from the CRC on.
const LEGACY_LENGTH_MIN: i32 = 14;

/// The header of a record batch of magic 2, all numbers big-endian:
///
/// | position | bytes | field |
/// |---|---|---|
/// | 0 | 8 | base offset |
/// | 8 | 4 | length: the bytes behind this field, so the whole size less 12; at least 49 |
/// | 12 | 4 | leader epoch |
/// | 16 | 1 | magic: 2 |
/// | 17 | 4 | CRC-32C of everything from position 21 to the end of the batch |
/// | 21 | 2 | [`Attributes`] |
/// | 23 | 4 | last offset delta |
/// | 27 | 8 | base timestamp |
/// | 35 | 8 | max timestamp |
/// | 43 | 8 | producer id |
/// | 51 | 2 | producer epoch |
/// | 53 | 4 | base sequence |
/// | 57 | 4 | record count |
/// | 61 | | records, compressed as one stream where the attributes name a codec |
///
/// A plain value: changing a field changes no batch. Base offset and leader epoch lie before
/// what the checksum covers and may be set as they are; for the rest there are methods that keep
/// [`crc`](Self::crc) true. Reading trusts nothing but magic and length, so counts may be
/// negative and sums wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// The offset of the first record; what the batch's offset deltas count from.
    pub base_offset: Offset,
    /// The epoch of the leader that appended the batch, [`LeaderEpoch::NONE`] from a producer.
    pub leader_epoch: LeaderEpoch,
    /// The checksum as it stands in the batch, right or wrong.
    pub crc: u32,
    /// The flags.
    pub attributes: Attributes,
    /// Offset of the last record (also of one that compaction took away) less base offset.
    pub last_offset_delta: i32,
    /// What the timestamp deltas count from, in Unix milliseconds: the first record's timestamp
    /// or, where the attributes say so, the delete horizon.
    pub base_timestamp_ms: i64,
    /// The largest timestamp in the batch in Unix milliseconds, or [`NO_TIMESTAMP`].
    pub max_timestamp_ms: i64,
    /// Who produced the batch, [`ProducerId::NONE`] if not idempotent.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The sequence of the first record.
    pub base_sequence: Sequence,
    /// How many records the batch says it holds.
    pub record_count: i32,
    pub(crate) records_len: u32,
}

/// What a producer marks its batches with, so that the leader knows a resent one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProducerStamp {
    /// Who produces.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
    /// The sequence of the batch's first record.
    pub base_sequence: Sequence,
}

/// Why some bytes are not one whole batch of magic 2.
///
/// A broker answers all of them with `CORRUPT_MESSAGE`, but a magic before 2 in a produce request
/// with `INVALID_RECORD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BatchError {
    /// There are fewer bytes than are needed.
    #[error("a record batch needs {needed} bytes, {available} are there")]
    Truncated {
        /// Bytes that are there.
        available: usize,
        /// Bytes of the header, or of the batch where the header says so.
        needed: usize,
    },
    /// A message set of magic 0 or 1, which Kafka wrote before 0.11 (KIP-98) and which this
    /// crate does not read.
    #[error("a message set of magic {magic}: only record batches of magic 2 are supported")]
    LegacyMagic {
        /// 0 or 1.
        magic: u8,
    },
    /// No magic that ever was.
    #[error("unknown magic {magic} in a record batch")]
    UnknownMagic {
        /// The byte at position 16.
        magic: u8,
    },
    /// The length field is below what the smallest batch has.
    #[error("the length field of a record batch is {length}, at least {least} is needed")]
    TooSmall {
        /// The field, which does not count its own and the 8 bytes before it.
        length: i32,
        /// What the smallest batch of that magic has.
        least: i32,
    },
    /// The batch is larger than the caller allows.
    #[error("a record batch of {size} bytes, {limit} are allowed")]
    TooLarge {
        /// Its whole size, or how much of it was written when it passed the limit.
        size: usize,
        /// The caller's limit.
        limit: usize,
    },
    /// More bytes follow where one batch was expected.
    #[error("{count} bytes behind a record batch of {size}")]
    TrailingBytes {
        /// Its whole size.
        size: usize,
        /// Bytes behind it.
        count: usize,
    },
    /// The stored checksum is not that of the bytes.
    #[error("a record batch has the CRC {computed:#010x}, its header says {stored:#010x}")]
    Crc {
        /// The header's.
        stored: u32,
        /// The one over the bytes.
        computed: u32,
    },
}

/// Size and magic of a batch of any format, told from its first [`PREFIX_LEN`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchPrefix {
    /// The whole size; its bytes may not be there yet.
    pub size: usize,
    /// 0, 1 or 2.
    pub magic: u8,
}

impl BatchPrefix {
    /// Reads the prefix from the front of `bytes`, or `None` if too few are there to tell.
    ///
    /// # Errors
    /// [`BatchError::TooSmall`], as soon as the length field can be read, and
    /// [`BatchError::UnknownMagic`].
    pub fn peek(bytes: &[u8]) -> Result<Option<Self>, BatchError> {
        let Some(length) = bytes.get(LENGTH..).and_then(|rest| rest.first_chunk()) else {
            return Ok(None);
        };
        let length = i32::from_be_bytes(*length);
        let check_least = |least| {
            if length < least {
                return Err(BatchError::TooSmall { length, least });
            }
            Ok(())
        };
        check_least(LEGACY_LENGTH_MIN)?;
        let Some(&magic) = bytes.get(MAGIC_AT) else {
            return Ok(None);
        };
        match magic {
            0 | 1 => {}
            MAGIC => check_least(LENGTH_MIN)?,
            _ => return Err(BatchError::UnknownMagic { magic }),
        }
        Ok(Some(Self {
            size: length.cast_unsigned() as usize + NOT_COUNTED_LEN,
            magic,
        }))
    }
}

impl ProducerStamp {
    /// How batches of a producer that is not idempotent are marked.
    pub const NONE: Self = Self {
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
        base_sequence: Sequence::NONE,
    };
}

impl Default for ProducerStamp {
    fn default() -> Self {
        Self::NONE
    }
}

impl BatchHeader {
    /// Reads the header at the front of `bytes`; what lies behind the 61 bytes is not looked at
    /// and need not be there.
    ///
    /// # Errors
    /// [`BatchError::Truncated`] with fewer than [`HEADER_LEN`] bytes,
    /// [`BatchError::LegacyMagic`], [`BatchError::UnknownMagic`], [`BatchError::TooSmall`].
    pub fn read(bytes: &[u8]) -> Result<Self, BatchError> {
        let prefix = BatchPrefix::peek(bytes)?;
        if let Some(BatchPrefix { magic, .. }) = prefix.filter(|prefix| prefix.magic != MAGIC) {
            return Err(BatchError::LegacyMagic { magic });
        }
        let Some(header) = bytes.first_chunk::<HEADER_LEN>() else {
            return Err(BatchError::Truncated {
                available: bytes.len(),
                needed: HEADER_LEN,
            });
        };
        Ok(Self::from_array(header))
    }

    /// Reads a header whose magic and length have been looked at.
    #[inline]
    fn from_array(bytes: &[u8; HEADER_LEN]) -> Self {
        let length = i32::from_be_bytes(at::<LENGTH, 4>(bytes));
        debug_assert!(length >= LENGTH_MIN, "the prefix was looked at");
        Self {
            base_offset: Offset::new(i64::from_be_bytes(at::<BASE_OFFSET, 8>(bytes))),
            leader_epoch: LeaderEpoch::new(i32::from_be_bytes(at::<LEADER_EPOCH, 4>(bytes))),
            crc: u32::from_be_bytes(at::<CRC, 4>(bytes)),
            attributes: Attributes::from_bits(u16::from_be_bytes(at::<ATTRIBUTES, 2>(bytes))),
            last_offset_delta: i32::from_be_bytes(at::<LAST_OFFSET_DELTA, 4>(bytes)),
            base_timestamp_ms: i64::from_be_bytes(at::<BASE_TIMESTAMP, 8>(bytes)),
            max_timestamp_ms: i64::from_be_bytes(at::<MAX_TIMESTAMP, 8>(bytes)),
            producer_id: ProducerId::new(i64::from_be_bytes(at::<PRODUCER_ID, 8>(bytes))),
            producer_epoch: ProducerEpoch::new(i16::from_be_bytes(at::<PRODUCER_EPOCH, 2>(bytes))),
            base_sequence: Sequence::new(i32::from_be_bytes(at::<BASE_SEQUENCE, 4>(bytes))),
            record_count: i32::from_be_bytes(at::<RECORD_COUNT, 4>(bytes)),
            records_len: length.saturating_sub(LENGTH_MIN).cast_unsigned(),
        }
    }

    /// The header of a batch without records, to be filled in.
    pub(crate) fn empty(base_offset: Offset, leader_epoch: LeaderEpoch) -> Self {
        Self {
            base_offset,
            leader_epoch,
            crc: 0,
            attributes: Attributes::default(),
            last_offset_delta: -1,
            base_timestamp_ms: NO_TIMESTAMP,
            max_timestamp_ms: NO_TIMESTAMP,
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            base_sequence: Sequence::NONE,
            record_count: 0,
            records_len: 0,
        }
    }

    /// The bytes as they stand in a batch.
    #[inline]
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        let length = self.records_len + LENGTH_MIN.cast_unsigned();
        put::<BASE_OFFSET, 8>(&mut bytes, self.base_offset.get().to_be_bytes());
        put::<LENGTH, 4>(&mut bytes, length.to_be_bytes());
        put::<LEADER_EPOCH, 4>(&mut bytes, self.leader_epoch.get().to_be_bytes());
        put::<MAGIC_AT, 1>(&mut bytes, [MAGIC]);
        put::<CRC, 4>(&mut bytes, self.crc.to_be_bytes());
        put::<ATTRIBUTES, 2>(&mut bytes, self.attributes.bits().to_be_bytes());
        put::<LAST_OFFSET_DELTA, 4>(&mut bytes, self.last_offset_delta.to_be_bytes());
        put::<BASE_TIMESTAMP, 8>(&mut bytes, self.base_timestamp_ms.to_be_bytes());
        put::<MAX_TIMESTAMP, 8>(&mut bytes, self.max_timestamp_ms.to_be_bytes());
        put::<PRODUCER_ID, 8>(&mut bytes, self.producer_id.get().to_be_bytes());
        put::<PRODUCER_EPOCH, 2>(&mut bytes, self.producer_epoch.get().to_be_bytes());
        put::<BASE_SEQUENCE, 4>(&mut bytes, self.base_sequence.get().to_be_bytes());
        put::<RECORD_COUNT, 4>(&mut bytes, self.record_count.to_be_bytes());
        bytes
    }

    /// The size of the whole batch in bytes.
    pub fn size(&self) -> usize {
        HEADER_LEN + self.records_len()
    }

    /// The size of what follows the header.
    pub fn records_len(&self) -> usize {
        self.records_len as usize
    }

    /// The offset of the last record, told without reading the records.
    pub fn last_offset(&self) -> Offset {
        Offset::new(
            self.base_offset
                .get()
                .wrapping_add(self.last_offset_delta.into()),
        )
    }

    /// One past the last record: where the next batch may begin.
    pub fn next_offset(&self) -> Offset {
        Offset::new(self.last_offset().get().wrapping_add(1))
    }

    /// The sequence of the last record (also of one that compaction took away), or none.
    pub fn last_sequence(&self) -> Sequence {
        self.base_sequence.advance(self.last_offset_delta)
    }

    /// What the producer marked the batch with.
    pub fn producer(&self) -> ProducerStamp {
        ProducerStamp {
            producer_id: self.producer_id,
            producer_epoch: self.producer_epoch,
            base_sequence: self.base_sequence,
        }
    }

    /// The time from which tombstones and markers of this batch may go, if one is set.
    pub fn delete_horizon_ms(&self) -> Option<i64> {
        self.attributes
            .has_delete_horizon()
            .then_some(self.base_timestamp_ms)
    }

    /// The leader epoch, if one is set: an answer to an offset look-up carries it so (KIP-320).
    pub fn leader_epoch_if_set(&self) -> Option<LeaderEpoch> {
        (self.leader_epoch.get() >= 0).then_some(self.leader_epoch)
    }

    /// Moves the batch so that its last record has `last_offset`. Outside the checksum.
    pub fn set_last_offset(&mut self, last_offset: Offset) {
        self.base_offset = Offset::new(
            last_offset
                .get()
                .wrapping_sub(self.last_offset_delta.into()),
        );
    }

    /// Sets timestamp type and max timestamp, and the checksum anew. Nothing is touched, the
    /// checksum included, where both are so already.
    pub fn set_timestamps(&mut self, timestamp_type: TimestampType, max_timestamp_ms: i64) {
        if self.attributes.timestamp_type() == timestamp_type
            && self.max_timestamp_ms == max_timestamp_ms
        {
            return;
        }
        self.amend(|header| {
            header.attributes = header.attributes.with_timestamp_type(timestamp_type);
            header.max_timestamp_ms = max_timestamp_ms;
        });
    }

    /// Sets what marks the producer, and the checksum anew.
    pub fn set_producer(&mut self, producer: ProducerStamp) {
        self.amend(|header| {
            header.producer_id = producer.producer_id;
            header.producer_epoch = producer.producer_epoch;
            header.base_sequence = producer.base_sequence;
        });
    }

    /// Sets how many bytes follow the header; the checksum is the caller's.
    pub(crate) fn set_records_len(&mut self, records_len: u32) {
        assert!(
            records_len <= i32::MAX.cast_unsigned() - LENGTH_MIN.cast_unsigned(),
            "the length field has 31 bits; builders refuse more before"
        );
        self.records_len = records_len;
    }

    /// Changes fields under the checksum and makes it fit again. The records are not read: the
    /// checksum is linear, so what the header changes in it is carried through them (see
    /// [`carry_through`]). A wrong checksum stays wrong.
    fn amend(&mut self, change: impl FnOnce(&mut Self)) {
        let before = crc32c(&self.to_bytes()[CHECKED_FROM..]);
        change(self);
        let after = crc32c(&self.to_bytes()[CHECKED_FROM..]);
        self.crc ^= carry_through(before ^ after, self.records_len);
    }
}

#[inline]
fn at<const POSITION: usize, const LEN: usize>(bytes: &[u8; HEADER_LEN]) -> [u8; LEN] {
    const { assert!(POSITION + LEN <= HEADER_LEN) };
    let mut field = [0; LEN];
    field.copy_from_slice(&bytes[POSITION..POSITION + LEN]);
    field
}

#[inline]
fn put<const POSITION: usize, const LEN: usize>(bytes: &mut [u8; HEADER_LEN], field: [u8; LEN]) {
    const { assert!(POSITION + LEN <= HEADER_LEN) };
    bytes[POSITION..POSITION + LEN].copy_from_slice(&field);
}
