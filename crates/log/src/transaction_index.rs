//! [`TransactionIndex`]: the aborted transactions whose marker lies in a segment.
//!
//! | position | bytes | field |
//! |---|---|---|
//! | 0 | 2 | version, 0 |
//! | 2 | 8 | producer id |
//! | 10 | 8 | first offset of the transaction |
//! | 18 | 8 | offset of its marker |
//! | 26 | 8 | last stable offset when the marker was written |
//!
//! Marker offsets rise. Most segments have none, so the file is made with the first entry and
//! opened only while it is used.

use std::path::PathBuf;

use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};
use klamm_primitives::{Offset, ProducerId};

use crate::flush::sync_file;
use crate::index_error::IndexError;

const ENTRY_LEN: usize = 34;

/// A transaction that was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AbortedTransaction {
    /// Whose it was.
    pub producer_id: ProducerId,
    /// The offset of its first record.
    pub first_offset: Offset,
    /// The offset of its marker.
    pub last_offset: Offset,
    /// The last stable offset when the marker was written.
    pub last_stable_offset: Offset,
}

/// What a search in one segment's index gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Search {
    /// The transactions that overlap the range.
    pub(crate) found: Vec<AbortedTransaction>,
    /// Whether those of later segments may overlap it too.
    pub(crate) go_on: bool,
}

/// The transaction index of one segment.
pub(crate) struct TransactionIndex<D: Disk> {
    disk: D,
    path: PathBuf,
    /// Bytes of the file's entries; 0 also where there is no file.
    len: u64,
    last_offset: Option<Offset>,
    /// The file, while an append is under way that must not want for a descriptor.
    held: Option<D::File>,
    /// Whether the file was changed and not synced since.
    is_dirty: bool,
}

impl<D: Disk> TransactionIndex<D> {
    /// Opens an index; a missing file is an empty one.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] where the length is not one of whole entries, a version is above
    /// 0, or an offset lies below the base offset or does not rise.
    pub(crate) fn open(disk: D, path: PathBuf, base_offset: Offset) -> Result<Self, IndexError> {
        let mut index = Self {
            disk,
            path,
            len: 0,
            last_offset: None,
            held: None,
            is_dirty: false,
        };
        index.len = match index.disk.metadata(&index.path) {
            Ok(metadata) => metadata.len,
            Err(error) if error.kind() == DiskErrorKind::NotFound => 0,
            Err(error) => return Err(error.into()),
        };
        let mut last: Option<Offset> = None;
        for entry in index.entries()? {
            let follows = last.is_none_or(|last| last < entry.last_offset);
            if !follows || entry.last_offset < base_offset {
                let offset = entry.last_offset;
                return Err(index.damaged(format!("marker offset {offset} is out of place")));
            }
            last = Some(entry.last_offset);
        }
        index.last_offset = last;
        Ok(index)
    }

    /// Adds an entry and writes it. Not synced.
    ///
    /// # Errors
    /// [`IndexError::NotRising`] where the marker does not lie behind the last one's; the index
    /// is as it was then, and also after [`IndexError::Disk`].
    pub(crate) fn append(&mut self, entry: &AbortedTransaction) -> Result<(), IndexError> {
        if let Some(last) = self.last_offset.filter(|last| entry.last_offset <= *last) {
            return Err(IndexError::NotRising {
                path: self.path.clone(),
                offset: entry.last_offset,
                last,
            });
        }
        let file = match &self.held {
            Some(file) => file.clone(),
            None => self.disk.open(&self.path, OpenMode::OpenOrCreate)?,
        };
        self.is_dirty = true;
        file.write_all_at(&encode(entry), self.len)?;
        self.len += ENTRY_LEN as u64;
        self.last_offset = Some(entry.last_offset);
        Ok(())
    }

    /// Opens the file, until it is [let go](Self::let_go).
    pub(crate) fn hold_open(&mut self) -> Result<(), IndexError> {
        if self.held.is_none() {
            self.held = Some(self.disk.open(&self.path, OpenMode::OpenOrCreate)?);
        }
        Ok(())
    }

    /// Lets go of the file.
    pub(crate) fn let_go(&mut self) {
        self.held = None;
    }

    /// All entries, in the order of their markers.
    pub(crate) fn entries(&self) -> Result<Vec<AbortedTransaction>, IndexError> {
        if self.len == 0 {
            return Ok(Vec::new());
        }
        let len = usize::try_from(self.len)
            .map_err(|_| self.damaged(format!("{} bytes are too many", self.len)))?;
        let file = self.disk.open(&self.path, OpenMode::Read)?;
        let bytes = file.read_bytes_at(0, len)?;
        let (entries, rest) = bytes.as_chunks::<ENTRY_LEN>();
        if !rest.is_empty() {
            return Err(self.damaged(format!("its length is no multiple of {ENTRY_LEN}")));
        }
        entries.iter().map(|entry| self.decode(entry)).collect()
    }

    /// The transactions of this segment that have records in `from..to`.
    pub(crate) fn search(&self, from: Offset, to: Offset) -> Result<Search, IndexError> {
        let mut found = Vec::new();
        for entry in self.entries()? {
            if entry.last_offset >= from && entry.first_offset < to {
                found.push(entry);
            }
            // Everything below the last stable offset was decided when this marker came.
            if entry.last_stable_offset >= to {
                return Ok(Search {
                    found,
                    go_on: false,
                });
            }
        }
        Ok(Search { found, go_on: true })
    }

    /// Drops the entries whose marker lies at or behind this offset.
    pub(crate) fn truncate_to(&mut self, offset: Offset) -> Result<(), IndexError> {
        let entries = self.entries()?;
        let kept = entries.partition_point(|entry| entry.last_offset < offset);
        if kept < entries.len() {
            let len = (kept * ENTRY_LEN) as u64;
            self.is_dirty = true;
            self.disk
                .open(&self.path, OpenMode::ReadWrite)?
                .set_len(len)?;
            self.len = len;
            self.last_offset = entries[..kept].last().map(|entry| entry.last_offset);
        }
        Ok(())
    }

    /// Makes durable what was changed. A file that was removed meanwhile is fine.
    pub(crate) fn sync(&mut self) -> Result<(), DiskError> {
        if !self.is_dirty {
            return Ok(());
        }
        sync_file(&self.disk, &self.path)?;
        self.is_dirty = false;
        Ok(())
    }

    /// Whether the file was changed and not synced since.
    pub(crate) fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Says that the file was changed before it was opened here, and not synced since.
    pub(crate) fn set_dirty(&mut self) {
        self.is_dirty = true;
    }

    /// Says that the file has another name by now.
    pub(crate) fn set_path(&mut self, path: PathBuf) {
        self.path = path;
    }

    fn decode(&self, entry: &[u8; ENTRY_LEN]) -> Result<AbortedTransaction, IndexError> {
        let version = i16::from_be_bytes([entry[0], entry[1]]);
        if version != 0 {
            return Err(self.damaged(format!("version {version} instead of 0")));
        }
        let number = |position: usize| {
            let bytes = entry[position..position + 8].try_into();
            i64::from_be_bytes(bytes.expect("8 bytes were taken"))
        };
        Ok(AbortedTransaction {
            producer_id: ProducerId::new(number(2)),
            first_offset: Offset::new(number(10)),
            last_offset: Offset::new(number(18)),
            last_stable_offset: Offset::new(number(26)),
        })
    }

    fn damaged(&self, what: String) -> IndexError {
        IndexError::Damaged {
            path: self.path.clone(),
            what,
        }
    }
}

fn encode(entry: &AbortedTransaction) -> [u8; ENTRY_LEN] {
    let mut bytes = [0; ENTRY_LEN];
    let numbers = [
        entry.producer_id.get(),
        entry.first_offset.get(),
        entry.last_offset.get(),
        entry.last_stable_offset.get(),
    ];
    for (place, number) in bytes[2..].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use klamm_io::RealDisk;
    use tempfile::TempDir;

    use super::*;

    const BASE: Offset = Offset::new(100);

    fn path(directory: &TempDir) -> PathBuf {
        directory.path().join("00000000000000000100.txnindex")
    }

    fn open(directory: &TempDir) -> Result<TransactionIndex<RealDisk>, IndexError> {
        TransactionIndex::open(RealDisk, path(directory), BASE)
    }

    fn aborted(id: i64, first: i64, last: i64, stable: i64) -> AbortedTransaction {
        AbortedTransaction {
            producer_id: ProducerId::new(id),
            first_offset: Offset::new(first),
            last_offset: Offset::new(last),
            last_stable_offset: Offset::new(stable),
        }
    }

    #[test]
    fn lg_155_entries_stand_in_kafkas_form() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory).unwrap();
        let entries = [
            aborted(1001, 100, 120, 118),
            aborted(i64::MAX, 130, 4_294_967_400, 131),
        ];
        for entry in &entries {
            index.append(entry).unwrap();
        }
        assert_eq!(
            hex::encode(std::fs::read(path(&directory)).unwrap()),
            "000000000000000003e900000000000000640000000000000078000000000000007600007fffffffffffffff\
             000000000000008200000001000000680000000000000083"
        );
        assert_eq!(open(&directory).unwrap().entries().unwrap(), entries);
    }

    #[test]
    fn lg_157_marker_offsets_rise() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory).unwrap();
        index.append(&aborted(1, 100, 120, 100)).unwrap();
        for last in [119, 120] {
            let refused = index.append(&aborted(2, 100, last, 100));
            assert!(matches!(refused, Err(IndexError::NotRising { .. })));
        }
        // Reopened, it goes on after what is there.
        let mut index = open(&directory).unwrap();
        assert!(index.append(&aborted(2, 100, 120, 100)).is_err());
        index.append(&aborted(2, 100, 121, 100)).unwrap();
    }

    #[test]
    fn lg_158_truncation_and_the_file_that_comes_with_its_first_entry() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory).unwrap();
        index.sync().unwrap();
        index.truncate_to(Offset::ZERO).unwrap();
        assert!(!path(&directory).exists());

        for last in [110, 120, 130] {
            index.append(&aborted(1, 100, last, 100)).unwrap();
        }
        index.truncate_to(Offset::new(120)).unwrap();
        assert_eq!(index.entries().unwrap(), [aborted(1, 100, 110, 100)]);
        index.append(&aborted(1, 100, 115, 100)).unwrap();
        assert_eq!(open(&directory).unwrap().entries().unwrap().len(), 2);

        std::fs::write(path(&directory), [[0, 1].as_slice(), &[0; 32]].concat()).unwrap();
        assert!(matches!(open(&directory), Err(IndexError::Damaged { .. })));
    }

    #[test]
    fn lg_156_a_search_gives_what_overlaps_the_range() {
        let directory = tempfile::tempdir().unwrap();
        let mut index = open(&directory).unwrap();
        let first = aborted(1, 100, 110, 105);
        let second = aborted(2, 105, 120, 112);
        let third = aborted(3, 130, 140, 135);
        for entry in [&first, &second, &third] {
            index.append(entry).unwrap();
        }
        let search = |from: i64, to: i64| index.search(Offset::new(from), Offset::new(to)).unwrap();
        assert_eq!(search(100, 105).found, [first]);
        assert!(!search(100, 105).go_on, "all below 105 was decided");
        assert_eq!(search(100, 106).found, [first, second]);
        assert_eq!(search(111, 130).found, [second]);
        assert_eq!(search(121, 130).found, []);
        assert_eq!(search(100, 200).found, [first, second, third]);
        assert!(search(100, 200).go_on);
    }

    #[test]
    fn lg_122_a_corrupt_index_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let damaged = || matches!(open(&directory), Err(IndexError::Damaged { .. }));
        std::fs::write(path(&directory), [0; 35]).unwrap();
        assert!(damaged(), "no multiple of 34");
        std::fs::write(path(&directory), encode(&aborted(1, 90, 99, 0))).unwrap();
        assert!(damaged(), "marker below the base offset");
        let twice = [
            encode(&aborted(1, 100, 120, 0)),
            encode(&aborted(1, 100, 120, 0)),
        ];
        std::fs::write(path(&directory), twice.concat()).unwrap();
        assert!(damaged(), "markers that do not rise");
    }
}
