//! Opening a log: from its files as they are after a clean stop, otherwise by recovering it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::{Disk, DiskError, FileKind};
use klamm_primitives::Offset;
use parking_lot::{Mutex, RwLock};
use thiserror::Error;
use tracing::warn;

use crate::bounds::{Bound, Bounds, Place};
use crate::config::LogConfig;
use crate::index_error::IndexError;
use crate::leader_epochs::LeaderEpochs;
use crate::log::{ChangeError, Condition, Log, Shared, millis};
use crate::names::{FileContent, FileName, Transit};
use crate::producer_state::{ProducerStates, SnapshotFiles};
use crate::recover::{Cut, recover};
use crate::replay::{Replay, replay};
use crate::roll::Active;
use crate::scan::ScanError;
use crate::segment::{Segment, SegmentError};
use crate::small_file::SmallFileError;
use crate::truncate::reopen;

/// How a log was left, and what its checkpoints say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// It was closed well: nothing is read but where it ends.
    pub was_clean: bool,
    /// Everything below is synced.
    pub recovery_point: Offset,
    /// The log start offset, if a checkpoint has it.
    pub log_start: Offset,
    /// The high watermark, if a checkpoint has it.
    pub high_watermark: Offset,
    /// Unix time.
    pub now_ms: i64,
}

impl OpenOptions {
    /// A log of which no checkpoint says anything, closed well or not.
    pub fn new(was_clean: bool, now_ms: i64) -> Self {
        Self {
            was_clean,
            recovery_point: Offset::ZERO,
            log_start: Offset::ZERO,
            high_watermark: Offset::ZERO,
            now_ms,
        }
    }
}

/// What opening found, and what it took away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opening {
    /// Segments that were read through.
    pub segments_recovered: usize,
    /// What was cut off, because it was no whole and good batch.
    pub cut: Option<Cut>,
    /// Segments behind the cut, which went as a whole.
    pub segments_removed: Vec<PathBuf>,
}

/// A log could not be opened. Its records are as they were.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A file beside the segments is damaged.
    #[error(transparent)]
    SmallFile(#[from] SmallFileError),
    /// A segment could not be read.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// A segment's file is larger than a segment can be.
    #[error("{path} has {len} bytes, more than a segment can", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        len: u64,
    },
}

impl From<IndexError> for OpenError {
    fn from(error: IndexError) -> Self {
        Self::Segment(error.into())
    }
}

impl From<ScanError> for OpenError {
    fn from(error: ScanError) -> Self {
        Self::Segment(error.into())
    }
}

impl<D: Disk> Log<D> {
    /// Opens the log of a partition's directory, making both if they are missing.
    ///
    /// After an unclean stop every segment from the one that holds the recovery point on is read
    /// through and its indexes made anew; at the first batch that is not whole and good the log
    /// is cut, and what went is told.
    ///
    /// # Errors
    /// [`OpenError`]; nothing was cut but what recovery had to.
    pub fn open(
        disk: D,
        directory: PathBuf,
        config: LogConfig,
        options: &OpenOptions,
    ) -> Result<(Self, Opening), OpenError> {
        disk.create_dir_all(&directory)?;
        let mut opener = Opener {
            names: list(&disk, &directory)?,
            disk,
            directory,
            config,
            options: *options,
            opening: Opening::default(),
        };
        opener.clear_left_overs()?;
        let log = opener.open()?;
        Ok((log, opener.opening))
    }
}

fn list<D: Disk>(disk: &D, directory: &std::path::Path) -> Result<Vec<FileName>, DiskError> {
    let entries = disk.list(directory)?;
    let names = entries.iter().filter(|entry| entry.kind == FileKind::File);
    Ok(names
        .filter_map(|entry| FileName::parse(entry.name.to_str()?))
        .collect())
}

struct Opener<D: Disk> {
    disk: D,
    directory: PathBuf,
    config: LogConfig,
    options: OpenOptions,
    names: Vec<FileName>,
    opening: Opening,
}

impl<D: Disk> Opener<D> {
    fn path(&self, name: FileName) -> PathBuf {
        self.directory.join(name.to_string())
    }

    /// Removes files that were waiting for it, ends or undoes a swap that was under way, and
    /// removes indexes without a log.
    fn clear_left_overs(&mut self) -> Result<(), OpenError> {
        let names = std::mem::take(&mut self.names);
        let unfinished = names
            .iter()
            .filter(|it| it.transit == Some(Transit::Cleaned));
        let unfinished = unfinished.map(|it| it.offset).min();
        let mut kept = Vec::new();
        let mut swaps = Vec::new();
        for name in names {
            match name.transit {
                None => kept.push(name),
                // A split whose parts are not all there yet has its source still.
                Some(Transit::Swap) if unfinished.is_none_or(|offset| name.offset < offset) => {
                    swaps.push(name);
                }
                Some(_) => self.disk.remove_file(&self.path(name))?,
            }
        }
        self.finish_swaps(&swaps, &mut kept)?;
        let has_log = |offset| {
            let log = FileName::new(offset, FileContent::Log);
            kept.contains(&log)
        };
        for name in &kept {
            if FileContent::OF_A_SEGMENT.contains(&name.content) && !has_log(name.offset) {
                warn!(path = %self.path(*name).display(), "index without a log, removing it");
                self.disk.remove_file(&self.path(*name))?;
            } else {
                self.names.push(*name);
            }
        }
        Ok(())
    }

    /// Puts segments that compaction had finished in the place of those they were made from.
    fn finish_swaps(&self, swaps: &[FileName], kept: &mut Vec<FileName>) -> Result<(), OpenError> {
        let logs = swaps.iter().filter(|it| it.content == FileContent::Log);
        for log in logs {
            let end = self.end_of_file(*log)?;
            let replaced = |it: &FileName| {
                let of_segment = FileContent::OF_A_SEGMENT.contains(&it.content);
                of_segment && it.offset >= log.offset && it.offset < end
            };
            for name in kept.iter().filter(|it| replaced(it)) {
                self.disk.remove_file(&self.path(*name))?;
            }
            kept.retain(|it| !replaced(it));
        }
        // The logs first: a log that still waits takes the indexes of its name for those of a
        // segment that it replaces.
        let mut swaps = swaps.to_vec();
        swaps.sort_unstable_by_key(|it| it.content != FileContent::Log);
        for swap in swaps {
            let name = FileName::new(swap.offset, swap.content);
            self.disk.rename(&self.path(swap), &self.path(name))?;
            kept.retain(|it| *it != name);
            kept.push(name);
        }
        self.disk.sync_dir(&self.directory)?;
        Ok(())
    }

    /// One past the last offset of a log file that is about to be swapped in.
    fn end_of_file(&self, name: FileName) -> Result<Offset, OpenError> {
        use klamm_io::{DiskFile as _, OpenMode};
        let file = self.disk.open(&self.path(name), OpenMode::Read)?;
        let len = self.file_len(name, file.metadata()?.len)?;
        let mut scan = crate::scan::Scan::new(&file, 0, len);
        let mut end = name.offset + 1;
        while let Some(batch) = scan.next()? {
            end = batch.last_offset + 1;
        }
        Ok(end)
    }

    fn file_len(&self, name: FileName, len: u64) -> Result<u32, OpenError> {
        let fits = u32::try_from(len)
            .ok()
            .filter(|&len| len <= i32::MAX.unsigned_abs());
        let path = || self.path(name);
        fits.ok_or_else(|| OpenError::TooLarge { path: path(), len })
    }

    fn open(&mut self) -> Result<Log<D>, OpenError> {
        let mut segments = self.segments()?;
        let mut epochs = LeaderEpochs::read(&self.disk, &self.directory)?;
        let names = self.names.iter().copied();
        let mut snapshots = SnapshotFiles::new(self.disk.clone(), self.directory.clone(), names);

        let (_, last) = segments
            .last_key_value()
            .expect("one was made if none was there");
        let end = if self.options.was_clean {
            clean_end(last).ok()
        } else {
            None
        };
        let log_end = match end {
            Some(end) => end,
            None => self.recover(&mut segments, &mut epochs, &mut snapshots)?,
        };
        let first_base = *segments.keys().next().expect("one is left");
        let log_start = self.options.log_start.max(first_base).min(log_end.offset);
        self.tidy_epochs(&mut epochs, log_start, log_end.offset)?;

        let segments_by_age: Vec<_> = segments.values().cloned().collect();
        let replay_to = Replay {
            end_offset: log_end.offset,
            log_start,
            now_ms: self.options.now_ms,
            expiration_ms: millis(self.config.producer_id_expiration),
        };
        snapshots.remove_above(log_end.offset)?;
        let producers = replay(&mut snapshots, &segments_by_age, &replay_to)?;
        let last = segments_by_age.last().expect("one is left").clone();
        let active = reopen(last, &self.config, self.options.now_ms)?;
        Ok(self.assemble(
            segments, epochs, snapshots, producers, active, log_start, log_end,
        ))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a log, once")]
    fn assemble(
        &self,
        segments: BTreeMap<Offset, Arc<Segment<D>>>,
        epochs: LeaderEpochs,
        snapshots: SnapshotFiles<D>,
        producers: ProducerStates,
        active: Active<D>,
        log_start: Offset,
        log_end: Place,
    ) -> Log<D> {
        let high_watermark = self
            .options
            .high_watermark
            .max(log_start)
            .min(log_end.offset);
        let bounds = Bounds {
            log_start,
            last_stable: Bound::at(high_watermark),
            high_watermark: Bound::at(high_watermark),
            log_end,
            cuts: 0,
            swaps: 0,
        };
        let shared = Shared {
            segments: RwLock::new(segments),
            bounds: Mutex::new(bounds),
            epochs: RwLock::new(epochs),
        };
        let recovery_point = self
            .options
            .recovery_point
            .max(log_start)
            .min(log_end.offset);
        let mut log = Log {
            disk: self.disk.clone(),
            directory: self.directory.clone(),
            config: self.config.clone(),
            shared: Arc::new(shared),
            active,
            producers,
            snapshots,
            // After a clean stop everything was synced, whatever an old checkpoint says.
            recovery_point: if self.options.was_clean && self.opening.cut.is_none() {
                log_end.offset
            } else {
                recovery_point
            },
            has_new_names: true,
            condition: Condition::Open,
        };
        log.set_high_watermark(high_watermark);
        log
    }

    /// The segments that are there; a new one if none is.
    fn segments(&self) -> Result<BTreeMap<Offset, Arc<Segment<D>>>, OpenError> {
        let mut segments = BTreeMap::new();
        for name in self
            .names
            .iter()
            .filter(|it| it.content == FileContent::Log)
        {
            let len = self.disk.metadata(&self.path(*name))?.len;
            let segment = Segment::new(
                self.disk.clone(),
                self.directory.clone(),
                name.offset,
                self.config.index_bytes,
                self.file_len(*name, len)?,
            );
            segments.insert(name.offset, Arc::new(segment));
        }
        if segments.is_empty() {
            let base_offset = self.options.log_start;
            let preallocated = self.config.preallocate.then_some(self.config.segment_bytes);
            let segment = Segment::create(
                self.disk.clone(),
                self.directory.clone(),
                base_offset,
                self.config.index_bytes,
                preallocated,
            )?;
            segments.insert(base_offset, Arc::new(segment));
        }
        Ok(segments)
    }

    /// Reads through the segments from the one that holds the recovery point on, and cuts the log
    /// where it is damaged. Returns where it ends.
    fn recover(
        &mut self,
        segments: &mut BTreeMap<Offset, Arc<Segment<D>>>,
        epochs: &mut LeaderEpochs,
        snapshots: &mut SnapshotFiles<D>,
    ) -> Result<Place, OpenError> {
        let point = self.options.recovery_point;
        let first = segments.range(..=point).next_back().map(|it| *it.0);
        let first = first.unwrap_or_else(|| *segments.keys().next().expect("one is there"));
        let trusted: Vec<_> = segments.range(..first).map(|it| it.1.clone()).collect();
        let replay_to = Replay {
            end_offset: first,
            log_start: self.options.log_start,
            now_ms: self.options.now_ms,
            expiration_ms: millis(self.config.producer_id_expiration),
        };
        // Snapshots behind may have been written of what was lost.
        snapshots.remove_above(first)?;
        let mut producers = replay(snapshots, &trusted, &replay_to)?;
        let mut end = Place {
            offset: first,
            segment_base: first,
            position: 0,
        };
        let suspects: Vec<_> = segments.range(first..).map(|it| it.1.clone()).collect();
        for (index, segment) in suspects.iter().enumerate() {
            snapshots.write(segment.base_offset(), &producers.to_snapshot())?;
            let config = &self.config;
            let recovered = recover(segment, config, end.offset, epochs, &mut producers)?;
            self.opening.segments_recovered += 1;
            end = Place {
                offset: recovered.end_offset,
                segment_base: segment.base_offset(),
                position: segment.size(),
            };
            if let Some(cut) = recovered.cut {
                warn!(path = %cut.path.display(), position = cut.position, bytes = cut.bytes,
                    next_offset = %end.offset, reason = cut.reason, "log cut behind its last good batch");
                self.opening.cut = Some(cut);
                for lost in suspects[index + 1..].iter().rev() {
                    let path = lost.path(FileContent::Log);
                    warn!(path = %path.display(), bytes = lost.size(), "segment behind a cut, removing it");
                    lost.remove()?;
                    snapshots.remove(lost.base_offset())?;
                    segments.remove(&lost.base_offset());
                    self.opening.segments_removed.push(path);
                }
                break;
            }
        }
        self.disk.sync_dir(&self.directory)?;
        Ok(end)
    }

    /// Drops leader epochs of records that are not there.
    fn tidy_epochs(
        &self,
        epochs: &mut LeaderEpochs,
        log_start: Offset,
        log_end: Offset,
    ) -> Result<(), OpenError> {
        let before = epochs.clone();
        epochs.truncate_from_end(log_end);
        epochs.truncate_from_start(log_start);
        if *epochs != before {
            epochs.write(&self.disk, &self.directory)?;
        }
        Ok(())
    }
}

/// Where a log ends that was closed well: behind the last batch, which is near the last entry of
/// the index.
fn clean_end<D: Disk>(last: &Segment<D>) -> Result<Place, SegmentError> {
    let near = last.with_indexes(|it| -> Result<_, SegmentError> {
        Ok(it.offset.look_up(Offset::new(i64::MAX))?.position)
    })?;
    let mut scan = last.scan(near.min(last.size()))?;
    let mut offset = last.base_offset();
    while let Some(batch) = scan.next()? {
        offset = batch.last_offset + 1;
    }
    Ok(Place {
        offset,
        segment_base: last.base_offset(),
        position: last.size(),
    })
}

impl From<ChangeError> for OpenError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Segment(error) => Self::Segment(error),
            ChangeError::Disk(error) => Self::Disk(error),
            ChangeError::Unavailable(_) => unreachable!("a log that is being opened is available"),
        }
    }
}
