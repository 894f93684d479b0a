//! [`check`]: what is in a partition's directory, what is wrong with it and where, and what a
//! repair would cut. Reads everything and writes nothing.
//!
//! A repair is [`Log::open`](crate::Log::open) as after an unclean stop, with `compact` among the
//! policies: gaps between segments are then no damage. What this says it would cut is what that
//! cuts.

mod batches;
mod indexes;
mod problem;

use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError, FileKind};
use klamm_primitives::Offset;
use klamm_records::Codecs;

use self::batches::SegmentCheck;
pub use self::problem::{Fault, Problem};
use crate::leader_epochs::LeaderEpochs;
use crate::names::{FileContent, FileName};
use crate::partition_metadata;
use crate::producer_state::SnapshotFiles;
use crate::recover::Cut;
use crate::small_file::SmallFileError;

/// Problems that are told one by one; a directory of garbage has no end of them.
const PROBLEMS_MAX: usize = 1000;

/// How closely a check looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Depth {
    /// Headers, checksums, offsets and indexes.
    #[default]
    Batches,
    /// The records of each batch as well.
    Records,
}

/// What was found in a partition's directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The segments, oldest first.
    pub segments: Vec<SegmentSummary>,
    /// What is wrong, in the order of the files; at most a thousand.
    pub problems: Vec<Problem>,
    /// How many more there were.
    pub problems_left_out: u64,
    /// Files on their way in or out of the log. Opening removes them or puts them in their place.
    pub left_overs: Vec<PathBuf>,
    /// What a repair would cut off; a batch that is out of its segment's reach, and those behind
    /// it, it moves into a segment of their own before.
    pub would_cut: Option<Cut>,
    /// The segments behind a cut, which a repair would remove; not those that go on where the log ends.
    pub would_remove: Vec<PathBuf>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, problem: Problem) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        } else {
            self.problems_left_out += 1;
        }
    }
}

/// One segment, as far as its batches can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentSummary {
    /// The file of batches.
    pub path: PathBuf,
    /// Its length in bytes.
    pub len: u64,
    /// Whole batches.
    pub batches: u64,
    /// Records, by the headers of the batches.
    pub records: u64,
    /// The offset of the first batch.
    pub first_offset: Option<Offset>,
    /// The last offset of the last batch.
    pub last_offset: Option<Offset>,
    /// The largest timestamp, Unix milliseconds.
    pub max_timestamp_ms: Option<i64>,
}

/// Looks at all files of a partition's directory. Never writes.
///
/// Takes memory for one batch at a time (with [`Depth::Records`]) or a few hundred KiB.
///
/// # Errors
/// What the disk refuses. Whatever a file holds is no error: it is in the report.
/// (LG-227 to LG-231)
pub fn check<D: Disk>(disk: &D, directory: &Path, depth: Depth) -> Result<Report, DiskError> {
    let names = list(disk, directory)?;
    let mut report = Report::default();
    let path = |name: &FileName| directory.join(name.to_string());
    let in_transit = names.iter().filter(|name| name.transit.is_some());
    report.left_overs = in_transit.map(&path).collect();
    let in_use: Vec<_> = names.iter().filter(|it| it.transit.is_none()).collect();

    let epochs = small_file(LeaderEpochs::read(disk, directory), &mut report)?;
    small_file(partition_metadata::read(disk, directory), &mut report)?;

    let mut codecs = Codecs::default();
    let logs = in_use.iter().filter(|it| it.content == FileContent::Log);
    let logs: Vec<_> = logs.collect();
    let mut expected = Offset::ZERO;
    // Where a repair would have the log end before the next segment.
    let mut cut: Option<Offset> = None;
    for (index, log) in logs.iter().enumerate() {
        let is_removed = cut.is_some_and(|end| log.offset != end);
        if is_removed {
            report.would_remove.push(path(log));
        }
        let segment = SegmentCheck {
            disk,
            directory,
            base_offset: log.offset,
            follower: logs.get(index + 1).map(|it| it.offset),
            epochs: &epochs,
            depth,
        };
        let walked = segment.run(expected, &mut codecs, &mut report)?;
        expected = walked.expected;
        if !is_removed {
            cut = walked.cut;
        }
    }
    for name in &in_use {
        let log = FileName::new(name.offset, FileContent::Log);
        let is_index = name.content != FileContent::ProducerSnapshot;
        if is_index && !in_use.contains(&&log) {
            report.add(Problem::of_file(path(name), Fault::NoLog));
        }
    }
    check_snapshots(disk, directory, &names, &mut report)?;
    Ok(report)
}

/// The names that a log knows, in the order of their offsets.
fn list<D: Disk>(disk: &D, directory: &Path) -> Result<Vec<FileName>, DiskError> {
    let entries = disk.list(directory)?;
    let files = entries.iter().filter(|entry| entry.kind == FileKind::File);
    let mut names: Vec<_> = files
        .filter_map(|entry| FileName::parse(entry.name.to_str()?))
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// A small file's content; that it is damaged goes into the report.
fn small_file<T: Default>(
    read: Result<T, SmallFileError>,
    report: &mut Report,
) -> Result<T, DiskError> {
    match read {
        Ok(content) => Ok(content),
        Err(SmallFileError::Disk(error)) => Err(error),
        Err(SmallFileError::Damaged { path, what }) => {
            report.add(Problem::of_file(path, Fault::SmallFile(what)));
            Ok(T::default())
        }
    }
}

fn check_snapshots<D: Disk>(
    disk: &D,
    directory: &Path,
    names: &[FileName],
    report: &mut Report,
) -> Result<(), DiskError> {
    let directory = directory.to_owned();
    let snapshots = SnapshotFiles::new(disk.clone(), directory.clone(), names.iter().copied());
    for offset in snapshots.offsets() {
        if let Err(error) = snapshots.read(offset)? {
            let name = FileName::new(offset, FileContent::ProducerSnapshot);
            let path = directory.join(name.to_string());
            report.add(Problem::of_file(path, Fault::Snapshot(error)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
