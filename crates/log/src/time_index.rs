//! [`TimeIndex`]: from a timestamp to an offset.
//!
//! | position | bytes | field |
//! |---|---|---|
//! | 0 | 8 | the largest timestamp of the segment so far |
//! | 8 | 4 | last offset of the batch that has it, relative to the segment's base offset |
//!
//! An entry says: every record with a greater timestamp lies behind this offset. Timestamps
//! rise strictly.

use std::path::PathBuf;

use klamm_io::{Disk, DiskError};
use klamm_primitives::Offset;

use crate::entry_file::EntryFile;
use crate::index_error::IndexError;

const ENTRY_LEN: usize = 12;

/// A timestamp in Unix milliseconds and the offset that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TimestampOffset {
    pub(crate) timestamp_ms: i64,
    pub(crate) offset: Offset,
}

/// The time index of one segment.
pub(crate) struct TimeIndex<D: Disk> {
    entries: EntryFile<D, ENTRY_LEN>,
    base_offset: Offset,
    last: Option<TimestampOffset>,
}

impl<D: Disk> TimeIndex<D> {
    /// Opens the index of the segment with this base offset; a missing file is an empty index.
    /// `bytes_max` is `segment.index.bytes`, rounded down to whole entries.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] where the length is not one of whole entries, the last timestamp
    /// lies below the first, or the last offset below the base offset.
    pub(crate) fn open(
        disk: D,
        path: PathBuf,
        base_offset: Offset,
        bytes_max: u64,
    ) -> Result<Self, IndexError> {
        let mut index = Self {
            entries: EntryFile::open(disk, path, bytes_max)?,
            base_offset,
            last: None,
        };
        index.last = index.entry(index.len().wrapping_sub(1))?;
        index.check()?;
        Ok(index)
    }

    fn check(&self) -> Result<(), IndexError> {
        let damaged = |what: String| {
            let path = self.entries.path().to_owned();
            Err(IndexError::Damaged { path, what })
        };
        if !self.entries.has_whole_entries() {
            return damaged(format!("its length is no multiple of {ENTRY_LEN}"));
        }
        let (Some(first), Some(last)) = (self.entry(0)?, self.last) else {
            return Ok(());
        };
        if self.len() > 1 && last.timestamp_ms <= first.timestamp_ms {
            return damaged(format!(
                "last timestamp {} does not lie behind the first, {}",
                last.timestamp_ms, first.timestamp_ms
            ));
        }
        if last.offset < self.base_offset {
            return damaged(format!(
                "last offset {} below the base offset {}",
                last.offset, self.base_offset
            ));
        }
        Ok(())
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> u64 {
        self.entries.len()
    }

    /// Whether the log must roll before another entry. One place is kept free, for the entry
    /// that is added when it does.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() + 1 >= self.entries.capacity()
    }

    /// The last entry.
    pub(crate) fn last(&self) -> Option<TimestampOffset> {
        self.last
    }

    /// Adds an entry behind the last one; nothing where the timestamp has not risen.
    ///
    /// # Errors
    /// [`IndexError::NotRising`] for a smaller timestamp or offset than the last entry's,
    /// [`IndexError::OutOfReach`], [`IndexError::Full`]: the index is as it was, before a byte is
    /// written; so it is after [`IndexError::Disk`], but for entries that were added before.
    pub(crate) fn append(&mut self, entry: TimestampOffset) -> Result<(), IndexError> {
        let TimestampOffset {
            timestamp_ms,
            offset,
        } = entry;
        let path = || self.entries.path().to_owned();
        if let Some(last) = self.last {
            if offset < last.offset || timestamp_ms < last.timestamp_ms {
                return Err(IndexError::NotRising {
                    path: path(),
                    offset,
                    last: last.offset,
                });
            }
            if timestamp_ms == last.timestamp_ms {
                return Ok(());
            }
        }
        let relative = offset.get().checked_sub(self.base_offset.get());
        let relative = relative.and_then(|relative| i32::try_from(relative).ok());
        let Some(relative) = relative.filter(|&relative| relative >= 0) else {
            return Err(IndexError::OutOfReach {
                path: path(),
                offset,
                base: self.base_offset,
            });
        };
        if self.entries.is_full() {
            return Err(IndexError::Full { path: path() });
        }
        let mut bytes = [0; ENTRY_LEN];
        bytes[..8].copy_from_slice(&timestamp_ms.to_be_bytes());
        bytes[8..].copy_from_slice(&relative.to_be_bytes());
        self.entries.push(bytes)?;
        self.last = Some(entry);
        Ok(())
    }

    /// As [`TimeIndex::append`], but that nothing is added either where the last entry lies behind:
    /// it came when the index was made anew, and has seen the batch already.
    pub(crate) fn append_if_later(&mut self, entry: TimestampOffset) -> Result<(), IndexError> {
        let is_later = |last: TimestampOffset| {
            last.timestamp_ms < entry.timestamp_ms && last.offset <= entry.offset
        };
        if self.last.is_none_or(is_later) {
            self.append(entry)?;
        }
        Ok(())
    }

    /// The greatest entry whose timestamp is at most `timestamp_ms`; timestamp -1 and the base
    /// offset where there is none.
    pub(crate) fn look_up(&self, timestamp_ms: i64) -> Result<TimestampOffset, DiskError> {
        let none = TimestampOffset {
            timestamp_ms: -1,
            offset: self.base_offset,
        };
        let after = self
            .entries
            .partition_point(|entry| self.decode(entry).timestamp_ms <= timestamp_ms)?;
        match after.checked_sub(1) {
            Some(index) => Ok(self.entry(index)?.unwrap_or(none)),
            None => Ok(none),
        }
    }

    /// The entry at `index`, `None` past the last.
    pub(crate) fn entry(&self, index: u64) -> Result<Option<TimestampOffset>, DiskError> {
        let entry = self.entries.get(index)?;
        Ok(entry.map(|entry| self.decode(&entry)))
    }

    /// Drops the entries at and behind this offset.
    pub(crate) fn truncate_to(&mut self, offset: Offset) -> Result<(), DiskError> {
        let len = self
            .entries
            .partition_point(|entry| self.decode(entry).offset < offset)?;
        self.entries.truncate(len)?;
        self.last = self.entry(len.wrapping_sub(1))?;
        Ok(())
    }

    /// Writes and syncs what there is.
    pub(crate) fn sync(&mut self) -> Result<(), DiskError> {
        self.entries.sync()
    }

    /// Cuts the file to its entries and lets go of it: the segment is no longer appended to.
    pub(crate) fn trim(&mut self) -> Result<(), DiskError> {
        self.entries.trim()
    }

    /// Its entries on disk.
    pub(crate) fn file(&self) -> &EntryFile<D, ENTRY_LEN> {
        &self.entries
    }

    /// The same, to change.
    pub(crate) fn file_mut(&mut self) -> &mut EntryFile<D, ENTRY_LEN> {
        &mut self.entries
    }

    /// Says that the file has another name by now.
    pub(crate) fn set_path(&mut self, path: PathBuf) {
        self.entries.set_path(path);
    }

    fn decode(&self, entry: &[u8; ENTRY_LEN]) -> TimestampOffset {
        let (timestamp, relative) = entry.split_at(8);
        let timestamp = timestamp.try_into().expect("8 bytes stand in front");
        let relative = relative.try_into().expect("4 bytes stand behind them");
        let relative = i64::from(i32::from_be_bytes(relative));
        TimestampOffset {
            timestamp_ms: i64::from_be_bytes(timestamp),
            offset: Offset::new(self.base_offset.get().wrapping_add(relative)),
        }
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::RealDisk;
    use tempfile::TempDir;

    use super::*;

    const BASE: Offset = Offset::new(45);

    fn path(directory: &TempDir) -> PathBuf {
        directory.path().join("00000000000000000045.timeindex")
    }

    fn open(directory: &TempDir) -> Result<TimeIndex<RealDisk>, IndexError> {
        TimeIndex::open(RealDisk, path(directory), BASE, 120)
    }

    fn at(timestamp_ms: i64, offset: i64) -> TimestampOffset {
        TimestampOffset {
            timestamp_ms,
            offset: Offset::new(offset),
        }
    }

    fn filled(directory: &TempDir) -> TimeIndex<RealDisk> {
        let mut index = open(directory).unwrap();
        for it in 1..=5 {
            index.append(at(10 * it, 45 + 10 * it)).unwrap();
        }
        index
    }

    #[test]
    fn lg_031_entries_stand_in_kafkas_form() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("00000000000000001000.timeindex");
        let base = Offset::new(1000);
        let mut index = TimeIndex::open(RealDisk, path.clone(), base, 120).unwrap();
        index.append(at(1_722_470_400_000, 1004)).unwrap();
        index.append(at(1_722_470_460_000, 1100)).unwrap();
        index.trim().unwrap();
        let golden = "000001910b3c800000000004000001910b3d6a6000000064";
        assert_eq!(hex::encode(std::fs::read(&path).unwrap()), golden);
        let index = TimeIndex::open(RealDisk, path, base, 120).unwrap();
        assert_eq!(index.last(), Some(at(1_722_470_460_000, 1100)));
        assert_eq!(index.len(), 2);
    }

    #[test]
    fn lg_033_equal_timestamps_add_nothing_and_smaller_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = filled(&directory);
        index.append(at(50, 99)).unwrap();
        assert_eq!(index.len(), 5);
        for entry in [at(49, 99), at(60, 94)] {
            let refused = index.append(entry);
            assert!(matches!(refused, Err(IndexError::NotRising { .. })));
        }
        assert_eq!(index.last(), Some(at(50, 95)));
    }

    #[test]
    fn lg_034_look_up_gives_the_greatest_entry_at_or_below() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(open(&directory).unwrap().look_up(100).unwrap(), at(-1, 45));
        for index in [filled(&directory), {
            filled(&directory).trim().unwrap();
            open(&directory).unwrap()
        }] {
            assert_eq!(index.look_up(25).unwrap(), at(20, 65));
            assert_eq!(index.look_up(30).unwrap(), at(30, 75));
            assert_eq!(index.look_up(9).unwrap(), at(-1, 45));
            assert_eq!(index.look_up(i64::MAX).unwrap(), at(50, 95));
        }
    }

    #[test]
    fn lg_035_truncation_drops_the_entries_from_an_offset_on() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = filled(&directory);
        index.sync().unwrap();
        index.truncate_to(Offset::new(66)).unwrap();
        assert_eq!(index.len(), 2);
        assert_eq!(index.last(), Some(at(20, 65)));
        assert_eq!(index.look_up(100).unwrap(), at(20, 65));
        index.truncate_to(Offset::new(45)).unwrap();
        assert_eq!(index.last(), None);
        assert_eq!(index.look_up(100).unwrap(), at(-1, 45));
    }

    #[test]
    fn lg_036_a_corrupt_index_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let damaged = |bytes: &[u8]| {
            std::fs::write(path(&directory), bytes).unwrap();
            matches!(open(&directory), Err(IndexError::Damaged { .. }))
        };
        let entry = |timestamp: i64, relative: i32| {
            let mut bytes = timestamp.to_be_bytes().to_vec();
            bytes.extend(relative.to_be_bytes());
            bytes
        };
        assert!(damaged(&[0; 13]), "no multiple of 12");
        assert!(
            damaged(&[entry(9, 1), entry(8, 2)].concat()),
            "time goes back"
        );
        assert!(damaged(&entry(9, -1)), "last offset below the base");
        assert!(!damaged(&[entry(8, 1), entry(9, 2)].concat()));
    }

    #[test]
    fn a_full_index_and_an_offset_out_of_reach_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = filled(&directory);
        let refused = index.append(at(60, 45 + (1 << 31)));
        assert!(matches!(refused, Err(IndexError::OutOfReach { .. })));
        for it in 6..=9 {
            assert!(!index.is_full());
            index.append(at(10 * it, 200)).unwrap();
        }
        assert!(index.is_full());
        index.append(at(100, 200)).unwrap();
        let refused = index.append(at(999, 999));
        assert!(matches!(refused, Err(IndexError::Full { .. })));
    }
}
