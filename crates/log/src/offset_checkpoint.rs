//! The four `…-offset-checkpoint` files in the root of a log directory: an offset a partition.
//!
//! ```text
//! 0                          version
//! 2                          number of entries
//! orders 0 1207              topic, partition, offset
//! payments.eu 11 98
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError};
use klamm_primitives::{Offset, PartitionIndex, TopicPartition};

use crate::small_file::{self, SmallFileError};

/// Which offset a checkpoint keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Checkpoint {
    /// Up to where the log is known to be synced.
    RecoveryPoint,
    /// Where the log starts, if that is not where its first segment does.
    LogStart,
    /// The high watermark.
    HighWatermark,
    /// Where the part begins that compaction has not been through.
    Cleaner,
}

impl Checkpoint {
    /// The file that keeps it.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::RecoveryPoint => "recovery-point-offset-checkpoint",
            Self::LogStart => "log-start-offset-checkpoint",
            Self::HighWatermark => "replication-offset-checkpoint",
            Self::Cleaner => "cleaner-offset-checkpoint",
        }
    }

    fn path(self, directory: &Path) -> PathBuf {
        directory.join(self.file_name())
    }

    /// Reads the offsets of a log directory; none where the file is missing or empty.
    ///
    /// # Errors
    /// [`SmallFileError::Damaged`] for another version, a count that does not match, an entry
    /// that is none, or a partition that is there twice; [`SmallFileError::Disk`].
    pub fn read<D: Disk>(
        self,
        disk: &D,
        directory: &Path,
    ) -> Result<BTreeMap<TopicPartition, Offset>, SmallFileError> {
        let path = self.path(directory);
        let Some(text) = small_file::read(disk, &path)? else {
            return Ok(BTreeMap::new());
        };
        let entries = small_file::checkpoint_entries(&path, &text, parse_entry)?;
        let count = entries.len();
        let offsets: BTreeMap<_, _> = entries.into_iter().collect();
        if offsets.len() == count {
            Ok(offsets)
        } else {
            Err(small_file::damaged(&path, "a partition has two entries"))
        }
    }

    /// Replaces the offsets of a log directory, durably.
    ///
    /// # Errors
    /// The former file is still there, or the new one, whole.
    pub fn write<D: Disk>(
        self,
        disk: &D,
        directory: &Path,
        offsets: &BTreeMap<TopicPartition, Offset>,
    ) -> Result<(), DiskError> {
        let mut text = format!("0\n{}\n", offsets.len());
        for (TopicPartition { topic, partition }, offset) in offsets {
            writeln!(text, "{topic} {partition} {offset}").expect("a string takes any text");
        }
        small_file::replace(disk, &self.path(directory), &text)
    }
}

fn parse_entry(fields: &[&str]) -> Option<(TopicPartition, Offset)> {
    let &[topic, partition, offset] = fields else {
        return None;
    };
    let partition = PartitionIndex::new(partition.parse().ok().filter(|&it: &i32| it >= 0)?);
    let offset = Offset::new(offset.parse().ok()?);
    Some((TopicPartition::new(topic, partition), offset))
}

#[cfg(test)]
mod tests {
    use klamm_io::RealDisk;

    use super::*;

    fn partition(topic: &str, index: i32) -> TopicPartition {
        TopicPartition::new(topic, PartitionIndex::new(index))
    }

    fn read(text: &str) -> Result<BTreeMap<TopicPartition, Offset>, SmallFileError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(Checkpoint::HighWatermark.file_name());
        std::fs::write(path, text).unwrap();
        Checkpoint::HighWatermark.read(&RealDisk, directory.path())
    }

    /// Covers LG-195, LG-008.
    #[test]
    fn offsets_are_written_and_read_in_kafkas_form() {
        let directory = tempfile::tempdir().unwrap();
        let offsets = BTreeMap::from([
            (partition("orders", 0), Offset::new(1207)),
            (partition("payments.eu", 11), Offset::new(i64::MAX)),
        ]);
        let checkpoint = Checkpoint::HighWatermark;
        checkpoint
            .write(&RealDisk, directory.path(), &offsets)
            .unwrap();

        let path = directory.path().join("replication-offset-checkpoint");
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(
            text,
            "0\n2\norders 0 1207\npayments.eu 11 9223372036854775807\n"
        );
        assert_eq!(
            checkpoint.read(&RealDisk, directory.path()).unwrap(),
            offsets
        );
        let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "the temporary file is gone: {names:?}");
    }

    #[test]
    fn lg_195_an_empty_or_missing_file_means_no_entries() {
        let directory = tempfile::tempdir().unwrap();
        let missing = Checkpoint::Cleaner.read(&RealDisk, directory.path());
        assert_eq!(missing.unwrap(), BTreeMap::new());
        assert_eq!(read("").unwrap(), BTreeMap::new());
        assert_eq!(read("0\n0\n").unwrap(), BTreeMap::new());
    }

    #[test]
    fn lg_195_garbage_is_refused_with_its_path_and_line() {
        for (text, what) in [
            ("1\n0\n", "version"),
            ("x", "version"),
            ("0\n", "line 2"),
            ("0\n-1\n", "line 2"),
            ("0\n2\na 0 1\n", "1 entries instead of 2"),
            ("0\n1\na 0 1\nb 0 1\n", "2 entries instead of 1"),
            ("0\n1\na 0\n", "line 3"),
            ("0\n1\na 0 1 2\n", "line 3"),
            ("0\n1\na -1 1\n", "line 3"),
            ("0\n1\na 0 one\n", "line 3"),
            ("0\n1\na 0 9223372036854775808\n", "line 3"),
            ("0\n2\na 0 1\na 0 2\n", "two entries"),
            ("0\n4000000000\na 0 1\n", "1 entries instead of 4000000000"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(what), "{text:?}: {error}");
            assert!(error.contains("replication-offset-checkpoint"), "{error}");
        }
    }

    #[test]
    fn lg_195_any_white_space_parts_the_fields() {
        let offsets = read("0\r\n1\r\n  a\t0   5 \r\n\r\n").unwrap();
        assert_eq!(
            offsets,
            BTreeMap::from([(partition("a", 0), Offset::new(5))])
        );
    }
}
