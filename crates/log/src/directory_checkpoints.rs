//! [`DirectoryCheckpoints`]: the offsets that a log directory keeps for the next start.
//!
//! A file holds the partitions of its directory and no others. Written as a whole, and only if
//! something in it has changed.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use klamm_io::{Disk, DiskError};
use klamm_primitives::{Offset, TopicPartition};
use parking_lot::Mutex;
use tracing::warn;

use crate::cleaner::CleanerOffsets;
use crate::offset_checkpoint::Checkpoint;
use crate::small_file::SmallFileError;

/// Offsets by partition, as a checkpoint file has them.
pub(crate) type Offsets = BTreeMap<TopicPartition, Offset>;

/// The offsets of a directory's logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KnownOffsets {
    pub(crate) recovery_point: Offsets,
    pub(crate) log_start: Offsets,
    pub(crate) high_watermark: Offsets,
}

impl KnownOffsets {
    fn of(&self, checkpoint: Checkpoint) -> Option<&Offsets> {
        match checkpoint {
            Checkpoint::RecoveryPoint => Some(&self.recovery_point),
            Checkpoint::LogStart => Some(&self.log_start),
            Checkpoint::HighWatermark => Some(&self.high_watermark),
            Checkpoint::Cleaner => None,
        }
    }
}

/// The checkpoint files of one log directory.
pub(crate) struct DirectoryCheckpoints<D: Disk> {
    disk: D,
    path: PathBuf,
    /// Held while a file is written, so that two writers do not meet; nothing else is locked
    /// under it.
    state: Mutex<State>,
    /// How far the logs are clean. Locked under `state`, and held while its file is written.
    cleaner: Mutex<CleanerOffsets<D>>,
}

#[derive(Default)]
struct State {
    /// Hashes of what the files hold, where this is known.
    written: [Option<u64>; 3],
    /// What is kept for partitions that are there and could not be opened.
    kept: KnownOffsets,
    /// Partitions that are gone and may still have entries. One of the same name that is made
    /// anew must not be taken for them after a crash.
    gone: HashSet<TopicPartition>,
}

impl<D: Disk> DirectoryCheckpoints<D> {
    pub(crate) fn new(disk: D, path: PathBuf) -> Self {
        Self {
            cleaner: Mutex::new(CleanerOffsets::none(disk.clone(), path.clone())),
            disk,
            path,
            state: Mutex::default(),
        }
    }

    /// Reads what the last run has left. A damaged file of recovery points or high watermarks
    /// counts as an empty one, since lower ones are safe: more is recovered, less is shown until
    /// it is known; and so does one of how far logs are clean. One of log starts does not, since
    /// deleted records would come back.
    pub(crate) fn read(&self) -> Result<KnownOffsets, SmallFileError> {
        match CleanerOffsets::open(self.disk.clone(), self.path.clone()) {
            Ok(cleaner) => *self.cleaner.lock() = cleaner,
            Err(error) => {
                or_empty(Err(error))?;
            }
        }
        let read = |checkpoint: Checkpoint| checkpoint.read(&self.disk, &self.path);
        Ok(KnownOffsets {
            recovery_point: or_empty(read(Checkpoint::RecoveryPoint))?,
            log_start: read(Checkpoint::LogStart)?,
            high_watermark: or_empty(read(Checkpoint::HighWatermark))?,
        })
    }

    /// Says which partitions were found. Entries of `unopened` ones are kept as they are, those of
    /// partitions that are not there go with the next writing.
    pub(crate) fn found(
        &self,
        former: &KnownOffsets,
        is_there: impl Fn(&TopicPartition) -> bool,
        unopened: &[&TopicPartition],
    ) {
        let mut state = self.state.lock();
        let all = [
            &former.recovery_point,
            &former.log_start,
            &former.high_watermark,
        ];
        let gone = all.into_iter().flat_map(BTreeMap::keys);
        let cleaner = self.cleaner.lock();
        let gone = gone.chain(cleaner.partitions());
        state.gone = gone.filter(|it| !is_there(it)).cloned().collect();
        let keep = |offsets: &Offsets| {
            let entry = |it: &&TopicPartition| Some(((*it).clone(), *offsets.get(*it)?));
            unopened.iter().filter_map(entry).collect()
        };
        state.kept = KnownOffsets {
            recovery_point: keep(&former.recovery_point),
            log_start: keep(&former.log_start),
            high_watermark: keep(&former.high_watermark),
        };
    }

    /// Says that one of the `unopened` partitions was opened after all: its log tells its offsets.
    pub(crate) fn opened(&self, partition: &TopicPartition) {
        let kept = &mut self.state.lock().kept;
        kept.recovery_point.remove(partition);
        kept.log_start.remove(partition);
        kept.high_watermark.remove(partition);
    }

    /// Keeps what is known of a log that is there and is used no more.
    pub(crate) fn set_aside(&self, known: KnownOffsets) {
        let kept = &mut self.state.lock().kept;
        kept.recovery_point.extend(known.recovery_point);
        kept.log_start.extend(known.log_start);
        kept.high_watermark.extend(known.high_watermark);
    }

    /// The first dirty offset of a log, if a pass has noted it.
    pub(crate) fn cleaner_offset(&self, partition: &TopicPartition) -> Option<Offset> {
        self.cleaner.lock().get(partition)
    }

    /// Notes how far a pass came; on disk when this returns.
    pub(crate) fn set_cleaner_offset(
        &self,
        partition: &TopicPartition,
        offset: Offset,
    ) -> Result<(), DiskError> {
        self.cleaner.lock().set(partition, offset)
    }

    /// Notes that a log ends here now.
    pub(crate) fn log_was_cut(
        &self,
        partition: &TopicPartition,
        end_offset: Offset,
    ) -> Result<(), DiskError> {
        self.cleaner.lock().log_was_cut(partition, end_offset)
    }

    /// Notes that a partition was deleted.
    pub(crate) fn partition_went(&self, partition: &TopicPartition) {
        self.state.lock().gone.insert(partition.clone());
    }

    /// Whether a file may have an entry for a partition that is gone.
    pub(crate) fn may_remember(&self, partition: &TopicPartition) -> bool {
        self.state.lock().gone.contains(partition)
    }

    /// Writes one file, durably, if it would change.
    pub(crate) fn write(&self, checkpoint: Checkpoint, offsets: &Offsets) -> Result<(), DiskError> {
        let mut state = self.state.lock();
        state.write(&self.disk, &self.path, checkpoint, offsets)
    }

    /// Writes all files; from here on no entry of a partition that is gone is left. The log starts
    /// go first: one that was raised has raised its recovery point, and without it a recovery point
    /// behind the end of the log looks as if durable records were missing.
    pub(crate) fn write_all(&self, offsets: &KnownOffsets) -> Result<(), DiskError> {
        let mut state = self.state.lock();
        for checkpoint in [
            Checkpoint::LogStart,
            Checkpoint::RecoveryPoint,
            Checkpoint::HighWatermark,
        ] {
            let of_checkpoint = offsets.of(checkpoint).expect("one of the three");
            state.write(&self.disk, &self.path, checkpoint, of_checkpoint)?;
        }
        if !state.gone.is_empty() {
            self.cleaner.lock().remove_all(&state.gone)?;
        }
        state.gone.clear();
        Ok(())
    }
}

impl State {
    fn write<D: Disk>(
        &mut self,
        disk: &D,
        path: &std::path::Path,
        checkpoint: Checkpoint,
        offsets: &Offsets,
    ) -> Result<(), DiskError> {
        let mut all = offsets.clone();
        if let Some(kept) = self.kept.of(checkpoint) {
            all.extend(kept.iter().map(|(partition, it)| (partition.clone(), *it)));
        }
        let mut hasher = DefaultHasher::new();
        all.hash(&mut hasher);
        let hash = Some(hasher.finish());
        let written = match checkpoint {
            Checkpoint::RecoveryPoint => &mut self.written[0],
            Checkpoint::LogStart => &mut self.written[1],
            Checkpoint::HighWatermark => &mut self.written[2],
            // Compaction writes its own.
            Checkpoint::Cleaner => return Ok(()),
        };
        if *written == hash {
            return Ok(());
        }
        *written = None;
        checkpoint.write(disk, path, &all)?;
        *written = hash;
        Ok(())
    }
}

/// A damaged file counts as an empty one, and says so.
fn or_empty(read: Result<Offsets, SmallFileError>) -> Result<Offsets, DiskError> {
    match read {
        Ok(offsets) => Ok(offsets),
        Err(SmallFileError::Disk(error)) => Err(error),
        Err(error @ SmallFileError::Damaged { .. }) => {
            warn!(%error, "damaged checkpoint, going on without its offsets");
            Ok(Offsets::new())
        }
    }
}
