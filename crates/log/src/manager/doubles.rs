//! Partitions that a start finds in two directories.
//!
//! Making a partition fails in one directory, and it is made in another. Where the disk of the first
//! fails so thoroughly that the name cannot be taken back there, or not durably, the next start may
//! find both. The first has never held a record, and goes.
//!
//! Or a topic is deleted while a directory is offline, and made anew, in another one. The next start
//! that has both tells them apart by the ids of their topics.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::{Disk, DiskError, FileKind};
use klamm_primitives::{Offset, TopicId, TopicPartition};
use tracing::warn;

use super::Wiring;
use super::load::Load;
use super::open::StartError;
use crate::directory::LogDirectory;
use crate::names::{DirectoryName, Fate, FileContent, FileName};
use crate::partition_metadata;

/// A directory that is to be removed, and the log directory that it is in.
type LeftOut<D> = (Arc<LogDirectory<D>>, PathBuf);

/// Leaves one of two directories of a partition out, if that one is of a topic that was `deleted`, or
/// was never written to and both are of one topic: it is what the making of a partition has left. It
/// gets the name of one that waits to be removed; where that fails, the next start tries again. Returns
/// those that are to be removed.
///
/// # Errors
/// [`StartError::Twice`]; nothing was changed.
pub(super) fn settle_doubles<D: Disk>(
    loads: &mut [Load<D>],
    deleted: &HashSet<TopicId>,
    wiring: &mut Wiring<D>,
) -> Result<Vec<LeftOut<D>>, StartError> {
    let left_out = unused_ones(loads, deleted)?;
    let mut doomed = Vec::new();
    for (index, partition) in left_out {
        let load = &mut loads[index];
        load.leave_out(&partition);
        let name = DirectoryName::fated(&partition, (wiring.random)(), Fate::Delete);
        let (disk, log_directory) = (load.directory.disk(), load.directory.path());
        let fated = log_directory.join(name.to_string());
        let renamed = disk
            .rename(&load.directory.path_of(&partition), &fated)
            .and_then(|()| disk.sync_dir(log_directory));
        match renamed {
            Ok(()) => doomed.push((load.directory.clone(), fated)),
            Err(error) => warn!(%partition, %error, "it keeps its name until the next start"),
        }
    }
    Ok(doomed)
}

/// The directories of partitions that are left out, by their load.
fn unused_ones<D: Disk>(
    loads: &[Load<D>],
    deleted: &HashSet<TopicId>,
) -> Result<Vec<(usize, TopicPartition)>, StartError> {
    let mut found: HashMap<&TopicPartition, usize> = HashMap::new();
    let mut unused_ones = Vec::new();
    for (second, load) in loads.iter().enumerate() {
        for partition in &load.partitions {
            let Some(&first) = found.get(partition) else {
                found.insert(partition, second);
                continue;
            };
            let [first_path, second_path] =
                [first, second].map(|it| loads[it].directory.path_of(partition));
            let unused = unused_of(loads, deleted, partition, [first, second]);
            let unused = unused.unwrap_or_else(|error| {
                warn!(%partition, %error, "two directories of a partition cannot be told apart");
                None
            });
            let Some(unused) = unused else {
                return Err(StartError::Twice {
                    first: first_path,
                    second: second_path,
                });
            };
            let (used, [path, used_path]) = if unused == first {
                (second, [first_path, second_path])
            } else {
                (first, [second_path, first_path])
            };
            warn!(%partition, path = %path.display(), used = %used_path.display(),
                "partition in two directories, the one that is of no use is left out");
            found.insert(partition, used);
            unused_ones.push((unused, partition.clone()));
        }
    }
    Ok(unused_ones)
}

/// Which of the two is of a deleted topic, or was never written to; the second if neither was, `None`
/// if both were or they belong to two topics.
fn unused_of<D: Disk>(
    loads: &[Load<D>],
    deleted: &HashSet<TopicId>,
    partition: &TopicPartition,
    [first, second]: [usize; 2],
) -> Result<Option<usize>, DiskError> {
    let topic_id = |load: usize| {
        let directory = &loads[load].directory;
        partition_metadata::read(directory.disk(), &directory.path_of(partition)).ok()
    };
    let [first_id, second_id] = [first, second].map(topic_id);
    for (load, id) in [(second, second_id), (first, first_id)] {
        if id.flatten().is_some_and(|id| deleted.contains(&id)) {
            return Ok(Some(load));
        }
    }
    if first_id.is_none() || first_id != second_id {
        return Ok(None);
    }
    for load in [second, first] {
        if was_never_written_to(&loads[load], partition)? {
            return Ok(Some(load));
        }
    }
    Ok(None)
}

/// Whether a partition's directory is as it was made: an empty segment at offset 0 at most, and no
/// checkpoint that says more.
fn was_never_written_to<D: Disk>(
    load: &Load<D>,
    partition: &TopicPartition,
) -> Result<bool, DiskError> {
    let former = &load.former;
    let offsets = [
        &former.recovery_point,
        &former.log_start,
        &former.high_watermark,
    ];
    let mut known = offsets.iter().filter_map(|it| it.get(partition));
    if known.any(|offset| *offset > Offset::ZERO) {
        return Ok(false);
    }
    let (disk, path) = (load.directory.disk(), load.directory.path_of(partition));
    for entry in disk.list(&path)? {
        let name = entry.name.to_str().unwrap_or_default();
        let is_empty_log = FileName::parse(name)
            == Some(FileName::new(Offset::ZERO, FileContent::Log))
            && disk.metadata(&path.join(name))?.len == 0;
        let is_of_the_making = name.starts_with(partition_metadata::FILE_NAME) || is_empty_log;
        if entry.kind != FileKind::File || !is_of_the_making {
            return Ok(false);
        }
    }
    Ok(true)
}
