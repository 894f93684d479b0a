//! Small files that are read and replaced as a whole: checkpoints, properties, markers.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use rustix::io::Errno;

use crate::disk::unexpected_end;
use crate::{Disk, DiskError, DiskFile, DiskOperation, OpenMode};

/// Reads a file of at most `len_max` bytes. Blocks.
///
/// # Errors
/// `Failed`, with `EFBIG` as the cause, where it is longer; otherwise as [`Disk::open`] and
/// [`DiskFile::read_at`].
pub fn read_whole<D: Disk>(disk: &D, path: &Path, len_max: usize) -> Result<Bytes, DiskError> {
    let file = disk.open(path, OpenMode::Read)?;
    match usize::try_from(file.metadata()?.len) {
        Ok(len) if len <= len_max => {
            let bytes = file.read_bytes_at(0, len)?;
            if bytes.len() == len {
                Ok(bytes)
            } else {
                Err(unexpected_end(path))
            }
        }
        _ => Err(DiskError::new(
            DiskOperation::Read,
            path,
            Errno::FBIG.into(),
        )),
    }
}

/// Puts a file with these contents in the place of the one that has this name, if any: written
/// beside it under the name with `.tmp` behind, synced, renamed, the directory synced. After a
/// crash at any point the name stands for all of the old contents or all of the new; after a
/// success, for the new. Blocks.
///
/// Two calls for one path at a time would write to one temporary file: the caller keeps them apart.
///
/// # Errors
/// As [`Disk::open`], [`DiskFile::write_all_at`], [`DiskFile::sync_data`], [`Disk::rename`]. The
/// old contents stand, except that after a failed [`Disk::sync_dir`] it is unknown which of the
/// two a power cut would leave.
pub fn replace_whole<D: Disk>(disk: &D, path: &Path, contents: &[u8]) -> Result<(), DiskError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);

    let write = || {
        let file = disk.open(&temporary, OpenMode::CreateOrTruncate)?;
        file.write_all_at(contents, 0)?;
        file.sync_data()?;
        disk.rename(&temporary, path)
    };
    if let Err(error) = write() {
        // It may hold space that a full disk needs; where it cannot be removed, the next
        // replacement truncates it.
        _ = disk.remove_file(&temporary);
        return Err(error);
    }
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => disk.sync_dir(directory),
        _ => disk.sync_dir(Path::new(".")),
    }
}
