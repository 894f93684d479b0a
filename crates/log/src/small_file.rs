//! Small files that are replaced as a whole: checkpoints and properties.
//!
//! Written beside themselves as `<name>.tmp`, synced, renamed, and their directory synced: after
//! a crash there is either the former content or the new one.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use klamm_io::{Disk, DiskError, DiskErrorKind, DiskFile, OpenMode};
use thiserror::Error;

/// Largest file that is read as text. A checkpoint line is at most some 280 bytes, so this is
/// room for more than two hundred thousand partitions in one directory.
const LEN_MAX: u64 = 64 << 20;

/// What is shorter is read at once.
const SMALL_LEN: usize = 1024;

/// A small file could not be read, or does not hold what its name promises.
#[derive(Debug, Error)]
pub enum SmallFileError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The file is there and its content makes no sense.
    #[error("{path} is damaged: {what}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line where there is one.
        what: String,
    },
}

/// Reads a whole text; `None` where there is no file.
pub(crate) fn read<D: Disk>(disk: &D, path: &Path) -> Result<Option<String>, SmallFileError> {
    let file = match disk.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == DiskErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let bytes = read_whole(&file, LEN_MAX)?;
    let bytes =
        bytes.map_err(|len| damaged(path, format!("{len} bytes are more than {LEN_MAX}")))?;
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(error) => Err(damaged(path, format!("not UTF-8: {error}"))),
    }
}

/// Reads all bytes of a file; its length where that is more than `len_max`. Most are small enough
/// to be read without being asked for their length: at a start there are several a partition.
pub(crate) fn read_whole<F: DiskFile>(
    file: &F,
    len_max: u64,
) -> Result<Result<Bytes, u64>, DiskError> {
    let beginning = file.read_bytes_at(0, SMALL_LEN)?;
    if beginning.len() < SMALL_LEN {
        return Ok(Ok(beginning));
    }
    let len = file.metadata()?.len;
    match usize::try_from(len) {
        Ok(bytes) if len <= len_max => file.read_bytes_at(0, bytes).map(Ok),
        _ => Ok(Err(len)),
    }
}

/// Replaces the file by this text, durably.
pub(crate) fn replace<D: Disk>(disk: &D, path: &Path, text: &str) -> Result<(), DiskError> {
    klamm_io::replace_whole(disk, path, text.as_bytes())
}

/// The error for a file whose content makes no sense.
pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> SmallFileError {
    SmallFileError::Damaged {
        path: path.to_owned(),
        what: what.into(),
    }
}

/// The lines of a checkpoint: version 0, the number of entries, and the entries.
///
/// An empty file has no entries. White space of any kind parts the fields.
pub(crate) fn checkpoint_entries<'a, T>(
    path: &Path,
    text: &'a str,
    mut parse: impl FnMut(&[&'a str]) -> Option<T>,
) -> Result<Vec<T>, SmallFileError> {
    let mut lines = text.lines().enumerate();
    let Some((_, version)) = lines.next() else {
        return Ok(Vec::new());
    };
    if version.trim() != "0" {
        return Err(damaged(path, format!("version `{version}` instead of 0")));
    }
    let count: usize = lines
        .next()
        .and_then(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| damaged(path, "line 2 is not the number of entries"))?;
    let mut entries = Vec::new();
    let mut fields = Vec::new();
    for (index, line) in lines {
        fields.clear();
        fields.extend(line.split_ascii_whitespace());
        if fields.is_empty() {
            continue;
        }
        let entry = parse(&fields)
            .ok_or_else(|| damaged(path, format!("line {} is no entry", index + 1)))?;
        entries.push(entry);
    }
    if entries.len() == count {
        Ok(entries)
    } else {
        let found = entries.len();
        Err(damaged(path, format!("{found} entries instead of {count}")))
    }
}
