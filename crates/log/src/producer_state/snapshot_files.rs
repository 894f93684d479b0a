//! [`SnapshotFiles`]: which producer snapshots a partition's directory holds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};
use klamm_primitives::Offset;

use super::snapshot::{self, SnapshotEntry, SnapshotError};
use crate::names::{FileContent, FileName, Transit};
use crate::small_file;

/// Largest snapshot that is read: some two million producers.
const LEN_MAX: u64 = 96 << 20;

/// The snapshots of one log, by the offset that they are of.
#[derive(Clone)]
pub(crate) struct SnapshotFiles<D: Disk> {
    disk: D,
    directory: PathBuf,
    offsets: BTreeSet<Offset>,
    /// Those that were written since this was last asked for.
    unsynced: Vec<Offset>,
}

impl<D: Disk> SnapshotFiles<D> {
    /// Takes the names of a directory's files; those of other content are passed over.
    pub(crate) fn new(disk: D, directory: PathBuf, names: impl Iterator<Item = FileName>) -> Self {
        let offsets = names
            .filter(|name| name.content == FileContent::ProducerSnapshot && name.transit.is_none())
            .map(|name| name.offset)
            .collect();
        Self {
            disk,
            directory,
            offsets,
            unsynced: Vec::new(),
        }
    }

    /// Says that the directory has another name by now.
    pub(crate) fn set_directory(&mut self, directory: PathBuf) {
        self.directory = directory;
    }

    /// The offsets of the snapshots, oldest first.
    pub(crate) fn offsets(&self) -> impl DoubleEndedIterator<Item = Offset> {
        self.offsets.iter().copied()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// The newest snapshot at or below an offset.
    pub(crate) fn newest_at(&self, offset: Offset) -> Option<Offset> {
        self.offsets.range(..=offset).next_back().copied()
    }

    fn path(&self, offset: Offset) -> PathBuf {
        let name = FileName::new(offset, FileContent::ProducerSnapshot);
        self.directory.join(name.to_string())
    }

    /// Writes the snapshot of this offset, unless it is there. Not synced: half a snapshot is
    /// known by its checksum and costs no more than reading the log from the one before. Where it
    /// cannot be written, for the disk is full, say, none is left.
    pub(crate) fn write(
        &mut self,
        offset: Offset,
        entries: &[SnapshotEntry],
    ) -> Result<(), DiskError> {
        if self.offsets.contains(&offset) {
            return Ok(());
        }
        let path = self.path(offset);
        let file = self.disk.open(&path, OpenMode::CreateOrTruncate)?;
        if let Err(error) = file.write_all_at(&snapshot::encode(entries), 0) {
            // Where this fails too, the next opening finds half of it.
            _ = remove_file(&self.disk, &path);
            return Err(error);
        }
        self.offsets.insert(offset);
        self.unsynced.push(offset);
        Ok(())
    }

    /// Whether any was written since [`SnapshotFiles::take_unsynced`] was last called.
    pub(crate) fn has_unsynced(&self) -> bool {
        !self.unsynced.is_empty()
    }

    /// Hands over those that were written since this was last asked for.
    pub(crate) fn take_unsynced(&mut self) -> Vec<(Offset, PathBuf)> {
        let unsynced = std::mem::take(&mut self.unsynced).into_iter();
        unsynced.map(|offset| (offset, self.path(offset))).collect()
    }

    /// Takes back what was handed over and not synced.
    pub(crate) fn not_synced(&mut self, offsets: impl Iterator<Item = Offset>) {
        self.unsynced.extend(offsets);
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// The outer one where the disk refuses, the inner one where the file is damaged; it may
    /// then be [removed](Self::remove) and an older one read.
    pub(crate) fn read(
        &self,
        offset: Offset,
    ) -> Result<Result<Vec<SnapshotEntry>, SnapshotError>, DiskError> {
        let file = self.disk.open(&self.path(offset), OpenMode::Read)?;
        Ok(match small_file::read_whole(&file, LEN_MAX)? {
            Ok(bytes) => snapshot::decode(&bytes),
            Err(len) => {
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                Err(SnapshotError::Length { len, count: -1 })
            }
        })
    }

    /// Removes a snapshot; fine where it is gone.
    pub(crate) fn remove(&mut self, offset: Offset) -> Result<(), DiskError> {
        remove_file(&self.disk, &self.path(offset))?;
        self.offsets.remove(&offset);
        Ok(())
    }

    /// Removes the snapshots above this offset.
    pub(crate) fn remove_above(&mut self, offset: Offset) -> Result<(), DiskError> {
        while let Some(&newest) = self.offsets.last()
            && newest > offset
        {
            self.remove(newest)?;
        }
        Ok(())
    }

    /// Removes all snapshots.
    pub(crate) fn remove_all(&mut self) -> Result<(), DiskError> {
        while let Some(&newest) = self.offsets.last() {
            self.remove(newest)?;
        }
        Ok(())
    }

    /// Gives the snapshot of this offset the name of a file that waits to be removed. Returns
    /// its new path, `None` where there is no such snapshot.
    pub(crate) fn retire(&mut self, offset: Offset) -> Result<Option<PathBuf>, DiskError> {
        if !self.offsets.contains(&offset) {
            return Ok(None);
        }
        let name = FileName::new(offset, FileContent::ProducerSnapshot);
        let retired = self
            .directory
            .join(name.in_transit(Transit::Deleted).to_string());
        self.disk.rename(&self.path(offset), &retired)?;
        self.offsets.remove(&offset);
        Ok(Some(retired))
    }
}

/// Removes a file; fine where it is gone.
fn remove_file<D: Disk>(disk: &D, path: &Path) -> Result<(), DiskError> {
    match disk.remove_file(path) {
        Err(error) if error.kind() != DiskErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::{DiskOperation, RealDisk};

    use super::*;

    fn open(directory: &Path) -> SnapshotFiles<RealDisk> {
        let names = RealDisk.list(directory).unwrap();
        let names: Vec<_> = names
            .iter()
            .filter_map(|entry| FileName::parse(entry.name.to_str()?))
            .collect();
        SnapshotFiles::new(RealDisk, directory.to_owned(), names.into_iter())
    }

    fn offsets(files: &SnapshotFiles<RealDisk>) -> Vec<i64> {
        files.offsets().map(Offset::get).collect()
    }

    /// Covers LG-142, LG-148.
    #[test]
    fn one_offset_has_one_file_and_the_list_is_what_is_on_disk() {
        let directory = tempfile::tempdir().unwrap();
        let mut files = open(directory.path());
        assert!(offsets(&files).is_empty());
        for offset in [5, 0, 9] {
            files.write(Offset::new(offset), &[]).unwrap();
        }
        let path = directory.path().join("00000000000000000005.snapshot");
        std::fs::write(&path, "kept").unwrap();
        files.write(Offset::new(5), &[]).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"kept", "written once");

        std::fs::write(
            directory
                .path()
                .join("00000000000000000007.snapshot.deleted"),
            "",
        )
        .unwrap();
        let files = open(directory.path());
        assert_eq!(offsets(&files), [0, 5, 9]);
        assert_eq!(files.newest_at(Offset::new(8)), Some(Offset::new(5)));
        assert_eq!(files.newest_at(Offset::new(-1)), None);
    }

    #[test]
    fn a_snapshot_that_finds_no_room_leaves_no_file() {
        use klamm_io::sim::{Fault, SimDisk};
        let disk = SimDisk::new(1);
        disk.create_dir_all(Path::new("/t-0")).unwrap();
        let mut files = SnapshotFiles::new(disk.clone(), "/t-0".into(), std::iter::empty());
        for bytes in [0, 3] {
            let fault = Fault::on(DiskOperation::Write).failing_with(DiskErrorKind::Full);
            disk.inject(fault.stopping_after_bytes(bytes));
            files.write(Offset::new(5), &[]).unwrap_err();
            assert!(files.is_empty() && !files.has_unsynced());
            assert!(disk.list(Path::new("/t-0")).unwrap().is_empty());
        }
        files.write(Offset::new(5), &[]).unwrap();
        assert_eq!(files.read(Offset::new(5)).unwrap(), Ok(Vec::new()));
    }

    #[test]
    fn lg_149_truncation_removes_the_snapshots_above() {
        let directory = tempfile::tempdir().unwrap();
        let mut files = open(directory.path());
        for offset in [0, 5, 9] {
            files.write(Offset::new(offset), &[]).unwrap();
        }
        files.remove_above(Offset::new(5)).unwrap();
        assert_eq!(offsets(&open(directory.path())), [0, 5]);
        files.remove_all().unwrap();
        assert!(offsets(&open(directory.path())).is_empty());
        files.remove(Offset::new(5)).unwrap();
    }

    #[test]
    fn lg_146_a_retired_snapshot_waits_under_another_name() {
        let directory = tempfile::tempdir().unwrap();
        let mut files = open(directory.path());
        files.write(Offset::new(5), &[]).unwrap();
        let retired = files.retire(Offset::new(5)).unwrap().unwrap();
        assert!(retired.ends_with("00000000000000000005.snapshot.deleted"));
        assert!(retired.exists());
        assert_eq!(files.retire(Offset::new(5)).unwrap(), None);
    }
}
