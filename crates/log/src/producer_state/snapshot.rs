//! The bytes of a producer snapshot: the state of a log's producers at an offset.
//!
//! | position | bytes | field |
//! |---|---|---|
//! | 0 | 2 | version, 1 |
//! | 2 | 4 | CRC-32C of what follows |
//! | 6 | 4 | number of producers |
//! | 10 | 46 each | a producer: |
//! | +0 | 8 | producer id |
//! | +8 | 2 | producer epoch |
//! | +10 | 4 | last sequence, -1 if markers are all it wrote |
//! | +14 | 8 | last offset |
//! | +22 | 4 | that less the first offset of the last batch |
//! | +26 | 8 | when it last wrote, Unix milliseconds |
//! | +34 | 4 | coordinator epoch of its last marker, -1 if none |
//! | +38 | 8 | first offset of its open transaction, -1 if none |
//!
//! Apache Kafka writes one entry for each producer, and of several that it reads the last one counts.
//! So a producer's older batches stand here before its last: one that was written before a stop, and
//! whose answer was lost with it, is known again when it is sent once more. Kafka would refuse it for
//! its sequence, or have the producer number anew and write again what is there already.

use klamm_primitives::{Offset, ProducerEpoch, ProducerId, Sequence};
use thiserror::Error;

use super::entry::{Entry, WrittenBatch};

const VERSION: i16 = 1;
const HEAD_LEN: usize = 10;
const CRC_FROM: usize = 6;
const ENTRY_LEN: usize = 46;

/// One producer, as a snapshot keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SnapshotEntry {
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) last_sequence: Sequence,
    pub(crate) last_offset: Offset,
    pub(crate) offset_delta: i32,
    pub(crate) timestamp_ms: i64,
    pub(crate) coordinator_epoch: i32,
    pub(crate) open_transaction: Option<Offset>,
}

/// A producer snapshot is damaged. It is made from the log, so the log is read instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SnapshotError {
    /// Another version than 1.
    #[error("version {0} instead of 1")]
    Version(i16),
    /// The checksum does not match.
    #[error("checksum {stored:#010x}, but the bytes have {computed:#010x}")]
    Checksum {
        /// What the file says.
        stored: u32,
        /// What its bytes have.
        computed: u32,
    },
    /// The length is not that of the producers it says it has.
    #[error("{len} bytes for {count} producers")]
    Length {
        /// Bytes of the file.
        len: usize,
        /// Producers, -1 where not even their number is there.
        count: i32,
    },
}

impl SnapshotEntry {
    /// What is kept of a producer: each of its remembered batches, the last one last.
    pub(super) fn of(producer_id: ProducerId, entry: &Entry) -> impl Iterator<Item = Self> {
        let newest = Self {
            producer_id,
            producer_epoch: entry.epoch(),
            last_sequence: Sequence::NONE,
            last_offset: Offset::UNKNOWN,
            offset_delta: 0,
            timestamp_ms: entry.last_timestamp_ms(),
            coordinator_epoch: entry.coordinator_epoch(),
            open_transaction: entry.open_transaction(),
        };
        let with = move |it: &WrittenBatch| Self {
            last_sequence: it.last_sequence,
            last_offset: it.last_offset,
            offset_delta: it.offset_delta,
            ..newest
        };
        let older = entry.older_batches().map(move |it| Self {
            timestamp_ms: it.timestamp_ms,
            open_transaction: None,
            ..with(it)
        });
        older.chain([entry.last_batch().map_or(newest, with)])
    }

    pub(super) fn to_entry(self) -> Entry {
        let last_batch = (!self.last_sequence.is_none()).then_some(WrittenBatch {
            last_sequence: self.last_sequence,
            last_offset: self.last_offset,
            offset_delta: self.offset_delta,
            timestamp_ms: self.timestamp_ms,
        });
        Entry::restored(
            self.producer_epoch,
            last_batch,
            self.coordinator_epoch,
            self.open_transaction,
            self.timestamp_ms,
        )
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.producer_id.get().to_be_bytes());
        bytes.extend(self.producer_epoch.get().to_be_bytes());
        bytes.extend(self.last_sequence.get().to_be_bytes());
        bytes.extend(self.last_offset.get().to_be_bytes());
        bytes.extend(self.offset_delta.to_be_bytes());
        bytes.extend(self.timestamp_ms.to_be_bytes());
        bytes.extend(self.coordinator_epoch.to_be_bytes());
        let open = self.open_transaction.unwrap_or(Offset::UNKNOWN);
        bytes.extend(open.get().to_be_bytes());
    }

    fn decode(bytes: &[u8; ENTRY_LEN]) -> Self {
        let open = Offset::new(i64::from_be_bytes(at(bytes, 38)));
        Self {
            producer_id: ProducerId::new(i64::from_be_bytes(at(bytes, 0))),
            producer_epoch: ProducerEpoch::new(i16::from_be_bytes(at(bytes, 8))),
            last_sequence: Sequence::new(i32::from_be_bytes(at(bytes, 10))),
            last_offset: Offset::new(i64::from_be_bytes(at(bytes, 14))),
            offset_delta: i32::from_be_bytes(at(bytes, 22)),
            timestamp_ms: i64::from_be_bytes(at(bytes, 26)),
            coordinator_epoch: i32::from_be_bytes(at(bytes, 34)),
            open_transaction: Some(open).filter(|&open| open >= Offset::ZERO),
        }
    }
}

/// The `N` bytes at a position that the caller knows to be inside.
fn at<const N: usize>(bytes: &[u8], position: usize) -> [u8; N] {
    let taken = &bytes[position..position + N];
    taken.try_into().expect("as many bytes as were taken")
}

/// Writes a snapshot.
pub(super) fn encode(entries: &[SnapshotEntry]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_LEN + ENTRY_LEN * entries.len());
    bytes.extend(VERSION.to_be_bytes());
    bytes.extend([0; 4]);
    let count = i32::try_from(entries.len()).expect("fewer producers than 2^31");
    bytes.extend(count.to_be_bytes());
    for entry in entries {
        entry.encode(&mut bytes);
    }
    let crc = klamm_records::crc32c(&bytes[CRC_FROM..]);
    bytes[2..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// Reads a snapshot.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<SnapshotEntry>, SnapshotError> {
    let len = bytes.len();
    if len < HEAD_LEN {
        return Err(SnapshotError::Length { len, count: -1 });
    }
    let version = i16::from_be_bytes(at(bytes, 0));
    if version != VERSION {
        return Err(SnapshotError::Version(version));
    }
    let stored = u32::from_be_bytes(at(bytes, 2));
    let computed = klamm_records::crc32c(&bytes[CRC_FROM..]);
    if stored != computed {
        return Err(SnapshotError::Checksum { stored, computed });
    }
    let count = i32::from_be_bytes(at(bytes, CRC_FROM));
    let (entries, rest) = bytes[HEAD_LEN..].as_chunks::<ENTRY_LEN>();
    if !rest.is_empty() || usize::try_from(count) != Ok(entries.len()) {
        return Err(SnapshotError::Length { len, count });
    }
    Ok(entries.iter().map(SnapshotEntry::decode).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &str = "00015f47550c0000000200000000000003e90003000000290000000000001388000000020\
                          00001910b3c8000ffffffffffffffffffffffff00000000000003ea7fff000000000000000000\
                          00138b00000000000001910b3c800100000009000000000000138b";

    fn golden() -> [SnapshotEntry; 2] {
        let entry = |id, epoch, sequence, offset, delta, timestamp_ms| SnapshotEntry {
            producer_id: ProducerId::new(id),
            producer_epoch: ProducerEpoch::new(epoch),
            last_sequence: Sequence::new(sequence),
            last_offset: Offset::new(offset),
            offset_delta: delta,
            timestamp_ms,
            coordinator_epoch: -1,
            open_transaction: None,
        };
        [
            entry(1001, 3, 41, 5000, 2, 1_722_470_400_000),
            SnapshotEntry {
                coordinator_epoch: 9,
                open_transaction: Some(Offset::new(5003)),
                ..entry(1002, i16::MAX, 0, 5003, 0, 1_722_470_400_001)
            },
        ]
    }

    #[test]
    fn lg_143_snapshots_stand_in_kafkas_form() {
        assert_eq!(hex::encode(encode(&golden())), GOLDEN);
        assert_eq!(hex::encode(encode(&[])), "000148674bc700000000");
        assert_eq!(decode(&hex::decode(GOLDEN).unwrap()), Ok(golden().to_vec()));
        assert_eq!(
            decode(&hex::decode("000148674bc700000000").unwrap()),
            Ok(vec![])
        );
    }

    /// Covers LG-232.
    #[test]
    fn a_damaged_snapshot_is_told() {
        let bytes = hex::decode(GOLDEN).unwrap();
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "cut at {len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&flipped).is_err(), "bit {bit}");
        }
        assert!(decode(&[bytes, vec![0]].concat()).is_err());
    }

    fn of(producer_id: ProducerId, entry: &Entry) -> Vec<SnapshotEntry> {
        SnapshotEntry::of(producer_id, entry).collect()
    }

    /// Covers LG-144, LG-145.
    #[test]
    fn a_snapshot_keeps_the_last_batch_of_each_producer() {
        let [first, second] = golden();
        for kept in [first, second] {
            assert_eq!(of(kept.producer_id, &kept.to_entry()), [kept]);
        }
        let last = *first.to_entry().last_batch().unwrap();
        assert_eq!(last.first_sequence(), Sequence::new(39));
        assert_eq!(last.first_offset(), Offset::new(4998));

        let markers_alone = SnapshotEntry {
            last_sequence: Sequence::NONE,
            last_offset: Offset::UNKNOWN,
            offset_delta: 0,
            coordinator_epoch: 4,
            ..first
        };
        let entry = markers_alone.to_entry();
        assert_eq!(entry.last_batch(), None);
        assert_eq!(of(first.producer_id, &entry), [markers_alone]);
    }
}
