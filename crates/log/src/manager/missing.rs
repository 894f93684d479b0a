//! [`MissingPartition`]: one that a checkpoint speaks of and no directory has.

use std::collections::HashSet;
use std::path::PathBuf;

use klamm_io::Disk;
use klamm_primitives::{Offset, TopicPartition};

use super::load::Load;
use crate::names::{DirectoryName, NAME_LEN_MAX};

/// A partition that has had records by a checkpoint of its recovery point, and of which no log
/// directory that is online has anything, not even what waits to be removed.
///
/// Nobody who deletes a topic leaves this for long. So it was removed by hand, unless the last run
/// was cut short within seconds of the removal of a deleted one: whoever knows the topics can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// The log directory that it was in.
    pub directory: PathBuf,
    /// Up to where its records were durable, by the checkpoint.
    pub recovery_point: Offset,
}

/// Finds them. `doomed` are the directories that wait to be removed.
pub(super) fn missing<D: Disk>(loads: &[Load<D>], doomed: &[PathBuf]) -> Vec<MissingPartition> {
    let there: HashSet<_> = loads.iter().flat_map(|it| &it.partitions).collect();
    let mut missing = Vec::new();
    for load in loads {
        for (partition, &recovery_point) in &load.former.recovery_point {
            let log_start = load.former.log_start.get(partition).copied();
            if recovery_point > log_start.unwrap_or(Offset::ZERO) && !there.contains(partition) {
                missing.push(MissingPartition {
                    partition: partition.clone(),
                    directory: load.directory.path().to_owned(),
                    recovery_point,
                });
            }
        }
    }
    if !missing.is_empty() {
        let doomed = Doomed::new(doomed);
        missing.retain(|it| !doomed.has(&it.partition));
    }
    missing
}

/// Partitions that wait to be removed.
#[derive(Default)]
struct Doomed {
    whole: HashSet<TopicPartition>,
    /// Their topics have been cut short to make room in the name.
    cut: Vec<TopicPartition>,
}

impl Doomed {
    fn new(paths: &[PathBuf]) -> Self {
        let mut doomed = Self::default();
        for name in paths.iter().filter_map(|it| it.file_name()?.to_str()) {
            let Ok(DirectoryName::Fated { partition, .. }) = DirectoryName::parse(name) else {
                continue;
            };
            // A character may have had no room that has several bytes.
            if name.len() + 4 > NAME_LEN_MAX {
                doomed.cut.push(partition.clone());
            }
            doomed.whole.insert(partition);
        }
        doomed
    }

    fn has(&self, partition: &TopicPartition) -> bool {
        let is_cut = |it: &TopicPartition| {
            it.partition == partition.partition && partition.topic.starts_with(&*it.topic)
        };
        self.whole.contains(partition) || self.cut.iter().any(is_cut)
    }
}
