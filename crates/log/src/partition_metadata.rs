//! `partition.metadata`: which topic a partition's directory belongs to, by its id.
//!
//! ```text
//! version: 0
//! topic_id: AAECAwQFBgcICQoLDA0ODw
//! ```
//!
//! It is there before the first record is. A directory whose topic id is not the expected one
//! holds the records of a topic of the same name that was deleted.

use std::path::Path;

use klamm_io::{Disk, DiskError, DiskFile, OpenMode};
use klamm_primitives::TopicId;

use crate::small_file::{self, SmallFileError};

pub(crate) const FILE_NAME: &str = "partition.metadata";

/// Reads the topic id of a partition's directory; `None` where the file is missing, as in
/// directories of Kafka before 2.8.
///
/// # Errors
/// [`SmallFileError::Damaged`] where a line is missing, unknown or makes no sense, or the id is
/// the one that means none; [`SmallFileError::Disk`].
pub(crate) fn read<D: Disk>(disk: &D, directory: &Path) -> Result<Option<TopicId>, SmallFileError> {
    let path = directory.join(FILE_NAME);
    let Some(text) = small_file::read(disk, &path)? else {
        return Ok(None);
    };
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some("version: 0") {
        return Err(small_file::damaged(&path, "line 1 is not `version: 0`"));
    }
    let id = lines
        .next()
        .and_then(|line| line.trim_end().strip_prefix("topic_id: ")?.parse().ok())
        .filter(|id: &TopicId| !id.is_zero())
        .ok_or_else(|| small_file::damaged(&path, "line 2 is not `topic_id: ` and an id"))?;
    if lines.any(|line| !line.trim().is_empty()) {
        return Err(small_file::damaged(&path, "more than two lines"));
    }
    Ok(Some(id))
}

/// Writes the topic id of a partition's directory, durably.
pub(crate) fn write<D: Disk>(disk: &D, directory: &Path, id: TopicId) -> Result<(), DiskError> {
    small_file::replace(disk, &directory.join(FILE_NAME), &text(id))
}

/// Writes the topic id into a directory that is being made, and leaves syncing the file and the
/// directory to the caller.
pub(crate) fn create<D: Disk>(
    disk: &D,
    directory: &Path,
    id: TopicId,
) -> Result<D::File, DiskError> {
    let file = disk.open(&directory.join(FILE_NAME), OpenMode::CreateNew)?;
    file.write_all_at(text(id).as_bytes(), 0)?;
    Ok(file)
}

fn text(id: TopicId) -> String {
    format!("version: 0\ntopic_id: {id}")
}

#[cfg(test)]
mod tests {
    use klamm_io::RealDisk;

    use super::*;

    /// Covers LG-009, LG-010.
    #[test]
    fn the_topic_id_is_written_and_read_in_kafkas_form() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(&RealDisk, directory.path()).unwrap(), None);

        let id: TopicId = "AAECAwQFBgcICQoLDA0ODw".parse().unwrap();
        write(&RealDisk, directory.path(), id).unwrap();
        let text = std::fs::read_to_string(directory.path().join("partition.metadata")).unwrap();
        assert_eq!(text, "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw");
        assert_eq!(read(&RealDisk, directory.path()).unwrap(), Some(id));
    }

    #[test]
    fn lg_009_garbage_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for text in [
            "",
            "version: 0",
            "version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw",
            "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0OD",
            "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
            "version: 0\ntopic: AAECAwQFBgcICQoLDA0ODw",
            "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\nmore",
        ] {
            std::fs::write(directory.path().join("partition.metadata"), text).unwrap();
            let error = read(&RealDisk, directory.path()).unwrap_err().to_string();
            assert!(error.contains("partition.metadata"), "{text:?}: {error}");
        }
    }
}
