//! Names on disk: the files of a segment and the directories of partitions.
//!
//! They are Apache Kafka's, letter for letter, so that either can open what the other wrote.
//!
//! | name | what it is |
//! |---|---|
//! | `00000000000000000042.log` | a segment whose first possible offset is 42 |
//! | `….index`, `….timeindex`, `….txnindex` | its indexes |
//! | `….snapshot` | the producers' state before offset 42 |
//! | `….log.cleaned`, `….log.swap`, `….log.deleted` | being written, ready to be swapped in, waiting to be removed |
//! | `clicks-eu-3` | the directory of partition 3 of topic `clicks-eu` |
//! | `clicks-eu-3.<32 hex digits>-delete` | the same, waiting to be removed |

use std::fmt;

use klamm_primitives::{Offset, PartitionIndex, TopicPartition};
use thiserror::Error;

/// Bytes that a file name has at most on the file systems that matter.
pub(crate) const NAME_LEN_MAX: usize = 255;

/// Digits of the offset in a file name: those of the largest `i64`, and one.
const OFFSET_DIGITS: usize = 20;

/// What a file of a partition's directory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FileContent {
    /// Record batches.
    Log,
    /// Offset to position.
    OffsetIndex,
    /// Timestamp to offset.
    TimeIndex,
    /// Aborted transactions.
    TransactionIndex,
    /// The state of the producers before the offset.
    ProducerSnapshot,
}

impl FileContent {
    /// The files that belong to one segment and come and go with it.
    pub(crate) const OF_A_SEGMENT: [Self; 4] = [
        Self::Log,
        Self::OffsetIndex,
        Self::TimeIndex,
        Self::TransactionIndex,
    ];

    const ALL: [Self; 5] = [
        Self::Log,
        Self::OffsetIndex,
        Self::TimeIndex,
        Self::TransactionIndex,
        Self::ProducerSnapshot,
    ];

    const fn extension(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeindex",
            Self::TransactionIndex => "txnindex",
            Self::ProducerSnapshot => "snapshot",
        }
    }
}

/// Where a file stands on its way in or out of the log; put at the very end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Transit {
    /// Waiting to be removed.
    Deleted,
    /// Being written by compaction or a split; worthless after a crash.
    Cleaned,
    /// Whole and synced; takes the place of what it was made from.
    Swap,
}

impl Transit {
    const ALL: [Self; 3] = [Self::Deleted, Self::Cleaned, Self::Swap];

    const fn suffix(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Cleaned => "cleaned",
            Self::Swap => "swap",
        }
    }
}

/// The name of a file in a partition's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileName {
    /// The segment's base offset, or the one that a snapshot is of.
    pub(crate) offset: Offset,
    /// What the file holds.
    pub(crate) content: FileContent,
    /// Set while the file is on its way in or out.
    pub(crate) transit: Option<Transit>,
}

impl FileName {
    /// A file that is in use.
    pub(crate) const fn new(offset: Offset, content: FileContent) -> Self {
        Self {
            offset,
            content,
            transit: None,
        }
    }

    /// The same file on its way in or out.
    pub(crate) const fn in_transit(self, transit: Transit) -> Self {
        Self {
            transit: Some(transit),
            ..self
        }
    }

    /// Reads a name; `None` for one of another pattern, which is somebody else's file and is
    /// left alone.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('.');
        let digits = parts.next().filter(|digits| {
            digits.len() == OFFSET_DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit())
        })?;
        let extension = parts.next()?;
        let suffix = parts.next();
        if parts.next().is_some() {
            return None;
        }
        let content = FileContent::ALL
            .into_iter()
            .find(|content| content.extension() == extension)?;
        let transit = match suffix {
            None => None,
            Some(suffix) => Some(
                Transit::ALL
                    .into_iter()
                    .find(|transit| transit.suffix() == suffix)?,
            ),
        };
        Some(Self {
            offset: Offset::new(digits.parse().ok()?),
            content,
            transit,
        })
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offset, extension) = (self.offset.get(), self.content.extension());
        write!(f, "{offset:0OFFSET_DIGITS$}.{extension}")?;
        match self.transit {
            None => Ok(()),
            Some(transit) => write!(f, ".{}", transit.suffix()),
        }
    }
}

/// Why a partition's directory has a name other than its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fate {
    /// Its partition was deleted; the files follow after a while.
    Delete,
    /// It becomes the partition's directory once it has caught up.
    Future,
    /// Its partition does not belong to this broker.
    Stray,
}

impl Fate {
    const ALL: [Self; 3] = [Self::Delete, Self::Future, Self::Stray];

    const fn suffix(self) -> &'static str {
        match self {
            Self::Delete => "-delete",
            Self::Future => "-future",
            Self::Stray => "-stray",
        }
    }
}

/// The name of a directory in a log directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum DirectoryName {
    /// A partition in use.
    Partition(TopicPartition),
    /// A partition on its way in or out. Its topic may have been cut short to make room.
    Fated {
        /// The partition, its topic perhaps cut short.
        partition: TopicPartition,
        /// What keeps two directories of one partition apart.
        unique: u128,
        /// Why it has this name.
        fate: Fate,
    },
    /// Kept beside the partitions for other purposes, by Apache Kafka or by this project's
    /// controller.
    Reserved,
}

/// The names of [`DirectoryName::Reserved`].
const RESERVED: [&str; 3] = [
    "remote-log-index-cache",
    "__cluster_metadata-0",
    "klamm-metadata",
];

/// A directory that stands among partitions and is none; see LG-197 for what follows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{name}` is not a partition's directory: expected `<topic>-<partition>`, or that and \
     `.<32 hex digits>` before -delete, -future or -stray"
)]
pub(crate) struct DirectoryNameError {
    name: String,
}

impl DirectoryName {
    /// Reads a name. The last `-` divides topic and partition.
    ///
    /// # Errors
    /// [`DirectoryNameError`] for everything that is not a partition's.
    pub(crate) fn parse(name: &str) -> Result<Self, DirectoryNameError> {
        let unknown = || DirectoryNameError {
            name: name.to_owned(),
        };
        if RESERVED.contains(&name) {
            return Ok(Self::Reserved);
        }
        let fated = Fate::ALL
            .into_iter()
            .find_map(|fate| Some((name.strip_suffix(fate.suffix())?, fate)));
        let Some((rest, fate)) = fated else {
            return Ok(Self::Partition(name.parse().map_err(|_| unknown())?));
        };
        let (partition, unique) = rest.rsplit_once('.').ok_or_else(unknown)?;
        if unique.len() != 32 || !unique.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(unknown());
        }
        Ok(Self::Fated {
            partition: partition.parse().map_err(|_| unknown())?,
            unique: u128::from_str_radix(unique, 16).map_err(|_| unknown())?,
            fate,
        })
    }

    /// The name that a partition's directory gets with its fate. `unique` is random.
    ///
    /// A directory to be removed is known by its random part alone, so its topic is cut short
    /// where the name would be longer than a file system takes; one that is to come into use
    /// keeps its topic whole.
    pub(crate) fn fated(partition: &TopicPartition, unique: u128, fate: Fate) -> Self {
        let TopicPartition { topic, partition } = partition;
        let rest = fated_rest(*partition, unique, fate);
        let room = match fate {
            Fate::Delete | Fate::Stray => NAME_LEN_MAX.saturating_sub(rest.len()),
            Fate::Future => topic.len(),
        };
        let cut = topic.floor_char_boundary(room);
        Self::Fated {
            partition: TopicPartition::new(&topic[..cut], *partition),
            unique,
            fate,
        }
    }
}

/// What follows the topic in the name.
fn fated_rest(partition: PartitionIndex, unique: u128, fate: Fate) -> String {
    format!("-{partition}.{unique:032x}{}", fate.suffix())
}

impl fmt::Display for DirectoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Partition(partition) => write!(f, "{partition}"),
            Self::Fated {
                partition: TopicPartition { topic, partition },
                unique,
                fate,
            } => write!(f, "{topic}{}", fated_rest(*partition, *unique, *fate)),
            Self::Reserved => f.write_str("(reserved)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(topic: &str, index: i32) -> TopicPartition {
        TopicPartition::new(topic, PartitionIndex::new(index))
    }

    #[test]
    fn lg_001_offsets_in_names_have_twenty_digits() {
        let name = |content| FileName::new(Offset::ZERO, content).to_string();
        assert_eq!(name(FileContent::Log), "00000000000000000000.log");
        assert_eq!(name(FileContent::OffsetIndex), "00000000000000000000.index");
        assert_eq!(
            name(FileContent::TimeIndex),
            "00000000000000000000.timeindex"
        );
        assert_eq!(
            name(FileContent::TransactionIndex),
            "00000000000000000000.txnindex"
        );
        assert_eq!(
            FileName::new(Offset::new(i64::MAX), FileContent::ProducerSnapshot).to_string(),
            "09223372036854775807.snapshot"
        );
    }

    /// Covers LG-002, LG-012.
    #[test]
    fn transit_is_told_by_the_last_suffix() {
        for content in FileContent::ALL {
            let plain = FileName::new(Offset::new(42), content);
            assert_eq!(FileName::parse(&plain.to_string()), Some(plain));
            for transit in Transit::ALL {
                let name = plain.in_transit(transit);
                assert!(name.to_string().ends_with(transit.suffix()));
                assert_eq!(FileName::parse(&name.to_string()), Some(name));
                assert_eq!(name.offset, plain.offset);
            }
        }
    }

    #[test]
    fn lg_007_other_files_are_left_alone() {
        for name in [
            "",
            ".log",
            "42.log",
            "leader-epoch-checkpoint",
            "partition.metadata",
            "0000000000000000000a.log",
            "00000000000000000042",
            "00000000000000000042.tmp",
            "00000000000000000042.log.bak",
            "00000000000000000042.log.deleted.deleted",
            "99999999999999999999.log",
            "+0000000000000000042.log",
        ] {
            assert_eq!(FileName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn lg_003_the_last_hyphen_divides() {
        let parse = |name: &str| DirectoryName::parse(name).unwrap();
        assert_eq!(
            parse("foo.bar-baz-3"),
            DirectoryName::Partition(partition("foo.bar-baz", 3))
        );
        assert_eq!(
            parse("clicks-delete-0"),
            DirectoryName::Partition(partition("clicks-delete", 0))
        );
    }

    #[test]
    fn lg_004_fates_are_read_back() {
        for fate in Fate::ALL {
            let name = DirectoryName::fated(&partition("a-b.c", 12), 0xab, fate);
            assert_eq!(
                name.to_string(),
                format!("a-b.c-12.{:032x}{}", 0xab, fate.suffix())
            );
            assert_eq!(DirectoryName::parse(&name.to_string()), Ok(name));
        }
    }

    #[test]
    fn lg_005_long_topics_are_cut_and_never_share_a_name() {
        let long = partition(&"t".repeat(249), 2_147_483_647);
        for fate in [Fate::Delete, Fate::Stray] {
            let first = DirectoryName::fated(&long, 1, fate).to_string();
            let second = DirectoryName::fated(&long, 2, fate).to_string();
            assert_eq!(first.len(), NAME_LEN_MAX);
            assert_ne!(first, second);
            assert!(DirectoryName::parse(&first).is_ok());
        }
        let short = DirectoryName::fated(&partition("short", 0), 1, Fate::Delete);
        assert!(short.to_string().starts_with("short-0."));
    }

    #[test]
    fn lg_006_refused_names_are_told() {
        for name in [
            "",
            "-",
            "topic",
            "-0",
            "topic-",
            "topic-x",
            "topic--delete",
            "topic-0-delete",
            "topic-0.-delete",
            "topic-0.xyz-delete",
            "topic-0.0123456789abcdef0123456789abcde-delete",
            "topic-0.0123456789abcdef0123456789abcdeg-stray",
        ] {
            let error = DirectoryName::parse(name).unwrap_err();
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
    }

    #[test]
    fn lg_011_directories_of_other_purposes_are_not_partitions() {
        for name in [
            "remote-log-index-cache",
            "__cluster_metadata-0",
            "klamm-metadata",
        ] {
            assert_eq!(DirectoryName::parse(name), Ok(DirectoryName::Reserved));
        }
    }
}
