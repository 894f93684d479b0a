//! [`OffsetIndex`]: from an offset to a position in the segment's file.
//!
//! | position | bytes | field |
//! |---|---|---|
//! | 0 | 4 | offset of a batch's last record, relative to the segment's base offset |
//! | 4 | 4 | position in the file where that batch starts |
//!
//! Entries rise in both. The index is sparse: whoever reads goes forward through the file from
//! the entry found, so it never has to be right to the batch.

use std::path::PathBuf;

use klamm_io::{Disk, DiskError};
use klamm_primitives::Offset;

use crate::entry_file::EntryFile;
use crate::index_error::IndexError;

const ENTRY_LEN: usize = 8;

/// A batch's last offset and where the batch starts, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OffsetPosition {
    pub(crate) offset: Offset,
    pub(crate) position: u32,
}

/// The offset index of one segment.
pub(crate) struct OffsetIndex<D: Disk> {
    entries: EntryFile<D, ENTRY_LEN>,
    base_offset: Offset,
    last: Option<OffsetPosition>,
}

impl<D: Disk> OffsetIndex<D> {
    /// Opens the index of the segment with this base offset; a missing file is an empty index.
    /// `bytes_max` is `segment.index.bytes`, rounded down to whole entries.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] where the length is not one of whole entries or the last entry
    /// lies below the base offset.
    pub(crate) fn open(
        disk: D,
        path: PathBuf,
        base_offset: Offset,
        bytes_max: u64,
    ) -> Result<Self, IndexError> {
        let entries = EntryFile::open(disk, path, bytes_max)?;
        let mut index = Self {
            entries,
            base_offset,
            last: None,
        };
        index.last = index.entries.last()?.map(|entry| index.decode(entry));
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
        // The base offset itself can only be the first: otherwise these are zeros that were
        // never written over.
        let is_only_one = self.len() <= 1;
        match self.last {
            Some(OffsetPosition { offset, .. })
                if offset < self.base_offset || (offset == self.base_offset && !is_only_one) =>
            {
                let base = self.base_offset;
                damaged(format!(
                    "last offset {offset} does not lie behind base offset {base}"
                ))
            }
            _ => Ok(()),
        }
    }

    /// The last entry.
    pub(crate) fn last(&self) -> Option<OffsetPosition> {
        self.last
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> u64 {
        self.entries.len()
    }

    /// Whether the log must roll before another entry.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.is_full()
    }

    fn relative(&self, offset: Offset) -> Option<u32> {
        let relative = offset.get().checked_sub(self.base_offset.get())?;
        let relative = i32::try_from(relative).ok()?;
        u32::try_from(relative).ok()
    }

    /// Adds an entry behind the last one.
    ///
    /// # Errors
    /// [`IndexError::NotRising`], [`IndexError::OutOfReach`] and [`IndexError::Full`] leave the
    /// index as it was, before a byte is written; so does [`IndexError::Disk`], but for entries
    /// that were added before.
    pub(crate) fn append(&mut self, entry: OffsetPosition) -> Result<(), IndexError> {
        let OffsetPosition { offset, position } = entry;
        let path = || self.entries.path().to_owned();
        if self.entries.is_full() {
            return Err(IndexError::Full { path: path() });
        }
        let Some(relative) = self.relative(offset) else {
            return Err(IndexError::OutOfReach {
                path: path(),
                offset,
                base: self.base_offset,
            });
        };
        if let Some(last) = self.last.filter(|last| offset <= last.offset) {
            return Err(IndexError::NotRising {
                path: path(),
                offset,
                last: last.offset,
            });
        }
        let mut bytes = [0; ENTRY_LEN];
        bytes[..4].copy_from_slice(&relative.to_be_bytes());
        bytes[4..].copy_from_slice(&position.to_be_bytes());
        self.entries.push(bytes)?;
        self.last = Some(entry);
        Ok(())
    }

    /// The greatest entry whose offset is at most `target`; the start of the segment where there
    /// is none.
    pub(crate) fn look_up(&self, target: Offset) -> Result<OffsetPosition, DiskError> {
        let start = OffsetPosition {
            offset: self.base_offset,
            position: 0,
        };
        if let Some(last) = self.last.filter(|last| last.offset <= target) {
            return Ok(last);
        }
        let after = self
            .entries
            .partition_point(|entry| self.decode(*entry).offset <= target)?;
        match after.checked_sub(1) {
            Some(index) => Ok(self.entry(index)?.unwrap_or(start)),
            None => Ok(start),
        }
    }

    /// The smallest entry whose position is at least `size` bytes past that of `from`; `None`
    /// past the last.
    pub(crate) fn upper_bound(
        &self,
        from: OffsetPosition,
        size: u32,
    ) -> Result<Option<OffsetPosition>, DiskError> {
        let position = u64::from(from.position) + u64::from(size);
        let index = self
            .entries
            .partition_point(|entry| u64::from(self.decode(*entry).position) < position)?;
        self.entry(index)
    }

    /// The entry at `index`, `None` past the last.
    pub(crate) fn entry(&self, index: u64) -> Result<Option<OffsetPosition>, DiskError> {
        let entry = self.entries.get(index)?;
        Ok(entry.map(|entry| self.decode(entry)))
    }

    /// Drops the entries at and behind this offset.
    pub(crate) fn truncate_to(&mut self, offset: Offset) -> Result<(), DiskError> {
        let base = self.base_offset;
        let len = self
            .entries
            .partition_point(|entry| decode(base, *entry).offset < offset)?;
        self.entries.truncate(len)?;
        self.last = self.entries.last()?.map(|entry| decode(base, entry));
        Ok(())
    }

    /// Writes and syncs what there is.
    pub(crate) fn sync(&mut self) -> Result<(), DiskError> {
        self.entries.sync()
    }

    /// Cuts the file to its entries: the segment is no longer appended to.
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

    fn decode(&self, entry: [u8; ENTRY_LEN]) -> OffsetPosition {
        decode(self.base_offset, entry)
    }
}

fn decode(base_offset: Offset, entry: [u8; ENTRY_LEN]) -> OffsetPosition {
    let (relative, position) = entry.split_at(4);
    let number = |bytes: &[u8]| {
        bytes
            .try_into()
            .expect("an entry is two numbers of 4 bytes")
    };
    OffsetPosition {
        offset: Offset::new(
            base_offset
                .get()
                .wrapping_add(i64::from(i32::from_be_bytes(number(relative)))),
        ),
        position: u32::from_be_bytes(number(position)),
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::RealDisk;
    use tempfile::TempDir;

    use super::*;

    const BASE: Offset = Offset::new(45);

    fn path(directory: &TempDir) -> PathBuf {
        directory.path().join("00000000000000000045.index")
    }

    fn open(directory: &TempDir, bytes_max: u64) -> Result<OffsetIndex<RealDisk>, IndexError> {
        OffsetIndex::open(RealDisk, path(directory), BASE, bytes_max)
    }

    fn at(offset: i64, position: u32) -> OffsetPosition {
        OffsetPosition {
            offset: Offset::new(offset),
            position,
        }
    }

    fn entries(index: &OffsetIndex<RealDisk>) -> Vec<OffsetPosition> {
        (0..index.len())
            .map(|it| index.entry(it).unwrap().unwrap())
            .collect()
    }

    /// Covers LG-014, LG-016, LG-022.
    #[test]
    fn entries_stand_in_kafkas_form() {
        let directory = tempfile::tempdir().unwrap();
        let golden = hex::decode("000000040000000000000064000010007fffffff7ffff1c0").unwrap();
        let path = directory.path().join("00000000000000001000.index");
        let base = Offset::new(1000);
        let mut index = OffsetIndex::open(RealDisk, path.clone(), base, 240).unwrap();
        let wanted = [
            at(1004, 0),
            at(1100, 4096),
            at(2_147_484_647, 2_147_480_000),
        ];
        for entry in wanted {
            index.append(entry).unwrap();
        }
        index.trim().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), golden);

        let index = OffsetIndex::open(RealDisk, path, base, 240).unwrap();
        assert_eq!(entries(&index), wanted);
    }

    #[test]
    fn lg_017_look_up_gives_the_greatest_entry_at_or_below() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory, 1 << 20).unwrap();
        assert_eq!(index.look_up(Offset::new(92)).unwrap(), at(45, 0));
        // More entries than wait in memory and than one read takes, and some in memory still.
        for it in 0..2000u32 {
            index.append(at(46 + 10 * i64::from(it), 7 * it)).unwrap();
        }
        for it in 0..2000u32 {
            let offset = 46 + 10 * i64::from(it);
            for target in [offset, offset + 3, offset + 9] {
                let found = index.look_up(Offset::new(target)).unwrap();
                assert_eq!(found, at(offset, 7 * it), "{target}");
            }
        }
        assert_eq!(index.look_up(Offset::new(45)).unwrap(), at(45, 0));
        assert_eq!(index.look_up(Offset::new(0)).unwrap(), at(45, 0));
    }

    #[test]
    fn lg_019_offsets_rise_strictly() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory, 80).unwrap();
        index.append(at(46, 0)).unwrap();
        for offset in [45, 46] {
            let refused = index.append(at(offset, 1));
            assert!(matches!(refused, Err(IndexError::NotRising { .. })));
        }
        assert_eq!(entries(&index), [at(46, 0)]);
    }

    #[test]
    fn lg_020_a_full_index_refuses_more() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory, 30).unwrap();
        for it in 0..3 {
            assert!(!index.is_full());
            index.append(at(50 + it, 0)).unwrap();
        }
        assert!(index.is_full());
        let refused = index.append(at(99, 0));
        assert!(matches!(refused, Err(IndexError::Full { .. })));
    }

    #[test]
    fn lg_021_the_file_has_its_full_size_until_it_is_trimmed() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory, 1003).unwrap();
        index.append(at(46, 5)).unwrap();
        index.sync().unwrap();
        let len = || std::fs::metadata(path(&directory)).unwrap().len();
        assert_eq!(len(), 1000);
        index.append(at(47, 6)).unwrap();
        index.trim().unwrap();
        assert_eq!(len(), 16);

        // Reopened for appending it is grown back.
        let mut index = open(&directory, 1003).unwrap();
        index.append(at(48, 7)).unwrap();
        index.sync().unwrap();
        assert_eq!(len(), 1000);
        assert_eq!(entries(&index), [at(46, 5), at(47, 6), at(48, 7)]);
    }

    #[test]
    fn lg_023_truncation_drops_the_entries_from_an_offset_on() {
        for synced in [false, true] {
            for (to, kept) in [(57, 9), (55, 9), (54, 8), (50, 4), (46, 0), (40, 0)] {
                let directory = tempfile::tempdir().unwrap();
                let mut index = open(&directory, 400).unwrap();
                for it in 1..10 {
                    index.append(at(45 + it, 3)).unwrap();
                }
                if synced {
                    index.sync().unwrap();
                }
                index.truncate_to(Offset::new(to)).unwrap();
                assert_eq!(index.len(), kept, "to {to}");
                // What was cut can be written anew, and is not there after reopening.
                index.append(at(100, 9)).unwrap();
                index.trim().unwrap();
                let index = open(&directory, 400).unwrap();
                assert_eq!(index.len(), kept + 1);
                assert_eq!(index.last().map(|it| it.offset), Some(Offset::new(100)));
            }
        }
    }

    #[test]
    fn lg_024_the_upper_bound_is_the_first_entry_past_a_budget() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory, 400).unwrap();
        let entries = [at(46, 0), at(47, 10), at(48, 23), at(49, 37)];
        for entry in entries {
            index.append(entry).unwrap();
        }
        let bound = |from, size| index.upper_bound(from, size).unwrap();
        assert_eq!(bound(entries[0], 5), Some(entries[1]));
        assert_eq!(bound(entries[0], 10), Some(entries[1]));
        assert_eq!(bound(entries[0], 11), Some(entries[2]));
        assert_eq!(bound(entries[2], 14), Some(entries[3]));
        assert_eq!(bound(entries[2], 15), None);
        assert_eq!(bound(entries[3], u32::MAX), None);
    }

    #[test]
    fn lg_025_a_corrupt_index_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let damaged = || matches!(open(&directory, 400), Err(IndexError::Damaged { .. }));
        std::fs::write(path(&directory), [0; 9]).unwrap();
        assert!(damaged(), "no multiple of 8");
        std::fs::write(path(&directory), [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]).unwrap();
        assert!(damaged(), "last offset below the base");
        std::fs::write(path(&directory), []).unwrap();
        assert!(!damaged());
    }

    /// Covers LG-026, LG-028.
    #[test]
    fn the_base_offset_itself_may_have_an_entry() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory, 400).unwrap();
        index.append(at(45, 0)).unwrap();
        assert_eq!(index.entry(0).unwrap(), Some(at(45, 0)));
        assert_eq!(index.entry(1).unwrap(), None);
    }

    #[test]
    fn lg_027_offsets_out_of_reach_are_refused_before_a_byte_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory, 400).unwrap();
        for offset in [44, 45 + (1 << 31), i64::MAX, i64::MIN] {
            let refused = index.append(at(offset, 0));
            assert!(matches!(refused, Err(IndexError::OutOfReach { .. })));
        }
        index.append(at(45 + i64::from(i32::MAX), 0)).unwrap();
        assert_eq!(index.len(), 1);
    }

    #[test]
    fn lg_029_an_idle_index_makes_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory, 10 << 20).unwrap();
        index.sync().unwrap();
        assert!(!path(&directory).exists());
        index.append(at(46, 0)).unwrap();
        assert!(
            !path(&directory).exists(),
            "the first entries wait in memory"
        );
    }
}
