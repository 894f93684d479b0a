//! Keeping what recovery takes out of a log although it may be good: a person may want it back.
//!
//! A file of such batches is called `<base offset>.log.cut-<offset>`, by the segment that it is of
//! and where the log ended when it was taken out. No opening looks at it, Apache Kafka's neither, and
//! it goes with the partition.

use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};
use klamm_primitives::Offset;

use super::Segment;
use crate::names::{FileContent, FileName, Transit};

/// Bytes that are copied at once.
const COPY_CHUNK_LEN: usize = 256 << 10;

impl<D: Disk> Segment<D> {
    /// Copies the bytes from a position on behind the beginning of another file, durably.
    pub(crate) fn copy_from(&self, position: u32, to: &D::File) -> Result<(), DiskError> {
        let file = self.file()?;
        let (mut from, mut chunk) = (position, vec![0; COPY_CHUNK_LEN]);
        while from < self.size() {
            let part_len = COPY_CHUNK_LEN.min((self.size() - from) as usize);
            let part = &mut chunk[..part_len];
            file.read_exact_at(part, u64::from(from))?;
            to.write_all_at(part, u64::from(from - position))?;
            from += u32::try_from(part_len).expect("a chunk is small");
        }
        to.sync_data()
    }

    /// Keeps a copy of the bytes from a position on, durably: they are about to be cut off where the
    /// log ends now. Returns where it is. Without room for it nothing is left.
    pub(crate) fn save_from(&self, position: u32, log_end: Offset) -> Result<PathBuf, DiskError> {
        // The next opening removes what has such a name: half a copy is worth nothing.
        let unfinished = FileName::new(self.base_offset, FileContent::Log);
        let unfinished = unfinished.in_transit(Transit::Cleaned).to_string();
        let unfinished = self.home.directory.join(unfinished);
        let copy = self
            .home
            .disk
            .open(&unfinished, OpenMode::CreateOrTruncate)?;
        let saved = self
            .copy_from(position, &copy)
            .and_then(|()| self.rename_to_saved(&unfinished, log_end));
        if saved.is_err() {
            // Where this fails too, the next opening does it.
            _ = self.home.disk.remove_file(&unfinished);
        }
        let saved = saved?;
        self.home.disk.sync_dir(&self.home.directory)?;
        Ok(saved)
    }

    /// Takes the segment out of the log and keeps its batches. Returns where they are. The name is
    /// durable once the directory is synced.
    pub(crate) fn set_aside(&self, log_end: Offset) -> Result<PathBuf, DiskError> {
        let saved = self.rename_to_saved(&self.path(FileContent::Log), log_end)?;
        self.remove()?;
        Ok(saved)
    }

    fn rename_to_saved(&self, from: &Path, log_end: Offset) -> Result<PathBuf, DiskError> {
        let plain = FileName::new(self.base_offset, FileContent::Log);
        let mut to = self.home.directory.join(format!("{plain}.cut-{log_end}"));
        // What was kept before stays; there are as many of it as files in the directory, at most.
        let mut count = 1;
        while self.is_there(&to)? {
            count += 1;
            to = self
                .home
                .directory
                .join(format!("{plain}.cut-{log_end}-{count}"));
        }
        self.home.disk.rename(from, &to)?;
        Ok(to)
    }

    fn is_there(&self, path: &Path) -> Result<bool, DiskError> {
        match self.home.disk.metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == DiskErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}
