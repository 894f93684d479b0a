//! [`CleanerOffsets`]: how far the logs of one directory are clean, in a file of it.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use klamm_io::{Disk, DiskError};
use klamm_primitives::{Offset, TopicPartition};

use crate::offset_checkpoint::Checkpoint;
use crate::small_file::SmallFileError;

/// The first dirty offset of each log that a pass has been over, kept in
/// `cleaner-offset-checkpoint`. Each change is on disk when its call returns.
///
/// Losing an entry costs a longer pass and nothing else. One that is too high would cost records
/// their cleaning, so a log that is cut must be [told](Self::log_was_cut).
pub struct CleanerOffsets<D> {
    disk: D,
    directory: PathBuf,
    offsets: BTreeMap<TopicPartition, Offset>,
}

impl<D: Disk> CleanerOffsets<D> {
    /// Reads the file of a log directory; none is as good as an empty one.
    ///
    /// # Errors
    /// [`SmallFileError`]; a damaged file may be removed.
    pub fn open(disk: D, directory: PathBuf) -> Result<Self, SmallFileError> {
        let offsets = Checkpoint::Cleaner.read(&disk, &directory)?;
        Ok(Self {
            disk,
            directory,
            offsets,
        })
    }

    /// None is known.
    pub(crate) fn none(disk: D, directory: PathBuf) -> Self {
        Self {
            disk,
            directory,
            offsets: BTreeMap::new(),
        }
    }

    /// The first dirty offset of a log, if a pass has noted it.
    pub fn get(&self, partition: &TopicPartition) -> Option<Offset> {
        self.offsets.get(partition).copied()
    }

    /// The logs of which something is noted.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.offsets.keys()
    }

    /// Notes how far a pass came. (LG-220)
    ///
    /// # Errors
    /// The file is as it was; the next call writes both changes.
    pub fn set(&mut self, partition: &TopicPartition, offset: Offset) -> Result<(), DiskError> {
        if self.get(partition) == Some(offset) {
            return Ok(());
        }
        self.offsets.insert(partition.clone(), offset);
        self.write()
    }

    /// The log ends at `end_offset` now: everything behind it will be new. (LG-206)
    ///
    /// # Errors
    /// As [`CleanerOffsets::set`].
    pub fn log_was_cut(
        &mut self,
        partition: &TopicPartition,
        end_offset: Offset,
    ) -> Result<(), DiskError> {
        match self.get(partition) {
            Some(offset) if offset > end_offset => self.set(partition, end_offset),
            _ => Ok(()),
        }
    }

    /// The partition is no longer here. (LG-206)
    ///
    /// # Errors
    /// As [`CleanerOffsets::set`].
    pub fn remove(&mut self, partition: &TopicPartition) -> Result<(), DiskError> {
        match self.offsets.remove(partition) {
            Some(_) => self.write(),
            None => Ok(()),
        }
    }

    /// These partitions are no longer here.
    pub(crate) fn remove_all(&mut self, gone: &HashSet<TopicPartition>) -> Result<(), DiskError> {
        let before = self.offsets.len();
        self.offsets
            .retain(|partition, _| !gone.contains(partition));
        if self.offsets.len() < before {
            self.write()?;
        }
        Ok(())
    }

    fn write(&self) -> Result<(), DiskError> {
        Checkpoint::Cleaner.write(&self.disk, &self.directory, &self.offsets)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use klamm_io::sim::SimDisk;
    use klamm_primitives::PartitionIndex;

    use super::*;

    fn open(disk: &SimDisk) -> CleanerOffsets<SimDisk> {
        CleanerOffsets::open(disk.clone(), "/data".into()).unwrap()
    }

    fn partition(index: i32) -> TopicPartition {
        TopicPartition::new("t", PartitionIndex::new(index))
    }

    #[test]
    fn lg_220_offsets_are_on_disk_at_once() {
        let disk = SimDisk::new(1);
        disk.create_dir_all(Path::new("/data")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        let mut offsets = open(&disk);
        assert_eq!(offsets.get(&partition(0)), None);
        offsets.set(&partition(0), Offset::new(7)).unwrap();
        offsets.set(&partition(1), Offset::new(8)).unwrap();

        let disk = disk.crash(klamm_io::sim::Crash::PowerLossLosingAll);
        let offsets = open(&disk);
        assert_eq!(offsets.get(&partition(0)), Some(Offset::new(7)));
        assert_eq!(offsets.get(&partition(1)), Some(Offset::new(8)));
    }

    #[test]
    fn lg_206_a_cut_lowers_the_offset_and_a_deletion_removes_it() {
        let disk = SimDisk::new(1);
        disk.create_dir_all(Path::new("/data")).unwrap();
        let mut offsets = open(&disk);
        offsets.set(&partition(0), Offset::new(7)).unwrap();
        offsets.log_was_cut(&partition(0), Offset::new(9)).unwrap();
        assert_eq!(offsets.get(&partition(0)), Some(Offset::new(7)));
        offsets.log_was_cut(&partition(0), Offset::new(5)).unwrap();
        offsets.log_was_cut(&partition(1), Offset::new(5)).unwrap();
        assert_eq!(open(&disk).get(&partition(0)), Some(Offset::new(5)));
        assert_eq!(open(&disk).get(&partition(1)), None);
        offsets.remove(&partition(0)).unwrap();
        assert_eq!(open(&disk).get(&partition(0)), None);
    }
}
