//! `durable-point`: up to where the log has been synced.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the first offset that is not durable, big-endian |
//! | 4 | CRC-32C of these, big-endian |
//!
//! Overwritten in place after each sync of the log, and not synced itself, so that it costs no more
//! than a write into the page cache. A killed process leaves the newest point, a power cut one that
//! may be as old as the operating system's last writing back. It is never ahead of the log.

use std::path::Path;

use bytes::Buf;
use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};
use klamm_primitives::Offset;
use klamm_records::crc32c;
use tracing::warn;

const FILE_NAME: &str = "durable-point";
const LEN: usize = 8 + 4;

/// Up to where a log has been synced, and the file that keeps it.
pub(super) struct DurablePoint<F> {
    file: F,
    offset: Offset,
}

/// The point that a directory has; `None` where there is none, or none that can be read. That is
/// no error: without a point less is known of a log, and nothing wrong.
pub(super) fn read<D: Disk>(disk: &D, directory: &Path) -> Result<Option<Offset>, DiskError> {
    let path = directory.join(FILE_NAME);
    let file = match disk.open(&path, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == DiskErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A byte more than there may be tells that there are too many.
    let mut bytes = file.read_bytes_at(0, LEN + 1)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let is_sound = bytes.len() == LEN && crc32c(&bytes[..8]).to_be_bytes() == bytes[8..];
    if !is_sound {
        warn!(path = %path.display(), "damaged, so that damage to the last entries may not be told from a torn write");
        return Ok(None);
    }
    Ok(Some(Offset::new(bytes.get_i64())))
}

impl<F: DiskFile> DurablePoint<F> {
    /// Opens the file, and writes the point that the log was found to have.
    pub(super) fn open<D: Disk<File = F>>(
        disk: &D,
        directory: &Path,
        offset: Offset,
    ) -> Result<Self, DiskError> {
        let file = disk.open(&directory.join(FILE_NAME), OpenMode::OpenOrCreate)?;
        if file.metadata()?.len > LEN as u64 {
            file.set_len(LEN as u64)?;
        }
        let point = Self { file, offset };
        point.write()?;
        Ok(point)
    }

    /// Notes that everything below is durable. Where that cannot be written the former point
    /// stands, which is true as well.
    pub(super) fn raise(&mut self, offset: Offset) {
        if offset <= self.offset {
            return;
        }
        self.offset = offset;
        if let Err(error) = self.write() {
            warn!(%error, "the point up to which the metadata log is durable was not written");
        }
    }

    /// Takes it back, durably, before the log is cut there.
    pub(super) fn lower(&mut self, offset: Offset) -> Result<(), DiskError> {
        if offset < self.offset {
            self.offset = offset;
            self.write()?;
            self.file.sync_data()?;
        }
        Ok(())
    }

    fn write(&self) -> Result<(), DiskError> {
        let offset = self.offset.get().to_be_bytes();
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&offset);
        bytes[8..].copy_from_slice(&crc32c(&offset).to_be_bytes());
        self.file.write_all_at(&bytes, 0)
    }
}
