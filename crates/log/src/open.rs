//! Opening a log: from its files as they are after a clean stop, otherwise by recovering it.

mod epochs;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use klamm_io::{Disk, DiskError, DiskErrorKind, FileKind};
use klamm_primitives::Offset;
use parking_lot::{Mutex, RwLock};
use thiserror::Error;
use tracing::warn;

use crate::bounds::{Bound, Bounds, Place};
use crate::config::LogConfig;
use crate::damage::Told;
use crate::flush::Syncs;
use crate::index_error::IndexError;
use crate::log::{Condition, Log, Shared, millis};
use crate::names::{FileContent, FileName, Transit};
use crate::open_files::OpenFiles;
use crate::producer_state::{ProducerStates, SnapshotFiles};
use crate::recover::{Cut, Saved};
use crate::recovery::Recovery;
use crate::replay::{Replay, replay};
use crate::roll::Active;
use crate::scan::{Scan, ScanError};
use crate::segment::{Home, Segment, SegmentError};
use crate::small_file::SmallFileError;
use crate::transaction_index::TransactionIndex;

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

    /// Refuses a log that ends before the records that were durable do. A recovery point at the log
    /// start was raised along with that, and says nothing of records.
    pub(crate) fn check_tail(&self, directory: &Path, log_end: Offset) -> Result<(), OpenError> {
        if self.recovery_point <= log_end.max(self.log_start) {
            return Ok(());
        }
        Err(OpenError::TailLost {
            path: directory.to_owned(),
            log_end,
            recovery_point: self.recovery_point,
        })
    }
}

/// What opening found, and what it took away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opening {
    /// Segments that were read through, 0 after a clean stop.
    pub segments_recovered: usize,
    /// What was cut off, because it was no whole and good batch.
    pub cut: Option<Cut>,
    /// Segments behind a cut or a hole, which went as a whole.
    pub segments_removed: Vec<PathBuf>,
    /// Good batches among all that, and where they are now.
    pub saved: Vec<Saved>,
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
    /// Records are missing at the end that were durable: the recovery point of the directory's
    /// checkpoint lies behind the last record that is there. Offsets that were given out would be
    /// given out again.
    #[error(
        "{path} ends at offset {log_end} and was durable up to {recovery_point}: put the missing \
         files back; or, to go on without the missing records, stop the broker and set the \
         partition's offset in recovery-point-offset-checkpoint to {log_end}",
        path = path.display()
    )]
    TailLost {
        /// The partition's directory.
        path: PathBuf,
        /// Where what is there ends.
        log_end: Offset,
        /// Up to where it was durable.
        recovery_point: Offset,
    },
    /// A segment's file is larger than a segment can be.
    #[error("{path} has {len} bytes, more than a segment can", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        len: u64,
    },
    /// The recovery was to end, and has between two segments: the manager stops, or the partition
    /// is deleted. It begins anew at the next opening.
    #[error("recovering the log was stopped")]
    Stopped,
}

/// What is told while a log is opened.
#[derive(Clone, Copy)]
pub(crate) struct Listening<'a> {
    /// A log that was closed well is about to be changed beyond what the next opening would do again.
    pub(crate) changes: &'a dyn Fn(),
    /// A segment was read through; the opening may be ended there ([`OpenError::Stopped`]).
    pub(crate) recovered: &'a dyn Fn() -> ControlFlow<()>,
}

impl Listening<'static> {
    /// Nobody wants to know.
    pub(crate) const NOBODY: Self = Self {
        changes: &|| (),
        recovered: &|| ControlFlow::Continue(()),
    };
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
    /// is cut, and what went is told. Records below the recovery point are never cut. Good batches
    /// behind the cut are kept in files beside the segments ([`Saved`]). No file stays open.
    ///
    /// # Errors
    /// [`OpenError`]; nothing was cut but what recovery had to. Among them is a segment that is
    /// damaged in front of records that were durable, and a log that has lost some at its end: no
    /// crash does that, and they may be worth saving.
    pub fn open(
        disk: D,
        directory: PathBuf,
        config: LogConfig,
        options: &OpenOptions,
    ) -> Result<(Self, Opening), OpenError> {
        let open_files = OpenFiles::new(None);
        let nobody = Listening::NOBODY;
        Self::open_telling(disk, open_files, directory, config, options, nobody)
    }

    /// As [`Log::open`], with segments among those `open_files`.
    pub(crate) fn open_telling(
        disk: D,
        open_files: Arc<OpenFiles<D::File>>,
        directory: PathBuf,
        config: LogConfig,
        options: &OpenOptions,
        listening: Listening<'_>,
    ) -> Result<(Self, Opening), OpenError> {
        let names = match list(&disk, &directory) {
            Err(error) if error.kind() == DiskErrorKind::NotFound => {
                disk.create_dir_all(&directory)?;
                Vec::new()
            }
            names => names?,
        };
        let mut opener = Opener {
            names,
            disk,
            open_files,
            directory,
            config,
            options: *options,
            opening: Opening::default(),
            created_segment: false,
        };
        opener.clear_left_overs(listening.changes)?;
        let log = opener.open(listening)?;
        Ok((log, opener.opening))
    }
}

fn list<D: Disk>(disk: &D, directory: &Path) -> Result<Vec<FileName>, DiskError> {
    let entries = disk.list(directory)?;
    let names = entries.iter().filter(|entry| entry.kind == FileKind::File);
    Ok(names
        .filter_map(|entry| FileName::parse(entry.name.to_str()?))
        .collect())
}

struct Opener<D: Disk> {
    disk: D,
    open_files: Arc<OpenFiles<D::File>>,
    directory: PathBuf,
    config: LogConfig,
    options: OpenOptions,
    names: Vec<FileName>,
    opening: Opening,
    created_segment: bool,
}

impl<D: Disk> Opener<D> {
    fn path(&self, name: FileName) -> PathBuf {
        self.directory.join(name.to_string())
    }

    /// Removes files that were waiting for it, ends or undoes a swap that was under way, and
    /// removes indexes without a log.
    fn clear_left_overs(&mut self, changes: &dyn Fn()) -> Result<(), OpenError> {
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
        if self.options.was_clean && !swaps.is_empty() {
            changes();
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
        if swaps.is_empty() {
            return Ok(());
        }
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
        let mut scan = crate::scan::Scan::new(file, 0, len);
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

    fn open(&mut self, listening: Listening<'_>) -> Result<Log<D>, OpenError> {
        let mut segments = self.segments()?;
        let (epochs_on_disk, mut epochs) = self.epochs(&segments)?;
        let names = self.names.iter().copied();
        let mut snapshots = SnapshotFiles::new(self.disk.clone(), self.directory.clone(), names);

        let damaged = self.damaged_transaction_index()?;
        let clean_end = self.clean_end(damaged.is_none(), &segments, listening.changes)?;
        let (mut log_end, mut known) = if let Some(log_end) = clean_end {
            (log_end, None)
        } else {
            let point = self.options.recovery_point;
            let trusted_to = damaged.map_or(point, |base| point.min(base + 1));
            let recovery = Recovery {
                disk: &self.disk,
                directory: &self.directory,
                config: &self.config,
                options: &self.options,
                trusted_to,
                opening: &mut self.opening,
                segments: &mut segments,
                epochs: &mut epochs,
                snapshots: &mut snapshots,
            };
            let (log_end, producers) = recovery.run(listening.recovered)?;
            (log_end, Some(producers))
        };
        let was_recovered = known.is_some();
        self.options.check_tail(&self.directory, log_end.offset)?;
        if log_end.offset < self.options.log_start {
            log_end = self.start_over(&mut segments, &mut snapshots)?;
            known = None;
        }
        let first_base = *segments.keys().next().expect("one is left");
        let log_start = self.options.log_start.max(first_base).min(log_end.offset);
        epochs.truncate_from_start(log_start);
        epochs.truncate_from_end(log_end.offset);
        let has_begun_epoch = !self.write(epochs_on_disk.as_ref(), &epochs)?;

        snapshots.remove_above(log_end.offset)?;
        let mut producers = self.producers(known, &segments, &mut snapshots, log_end.offset)?;
        producers.log_start_moved(log_start);
        // Space is reserved for who appends soon.
        let is_reserved = self.created_segment && self.config.preallocate;
        if !is_reserved {
            for segment in segments.values_mut().filter(|it| it.is_open()) {
                *segment = Arc::new(segment.let_go());
            }
        }
        let last = last_of(&segments).clone();
        for sealed in segments.values().filter(|it| !Arc::ptr_eq(it, &last)) {
            sealed.set_sealed(None);
        }
        let now_ms = self.options.now_ms;
        let active = if is_reserved {
            Active::reopen(last, &self.config, now_ms)?
        } else {
            Active::idle(last, &self.config, now_ms)
        };

        let syncs = Syncs::default();
        if was_recovered || self.created_segment {
            syncs.made_a_name();
        }
        let bounds = Bounds {
            log_start,
            last_stable: Bound::at(log_start),
            high_watermark: Bound::at(log_start),
            log_end,
            cuts: 0,
            swaps: 0,
        };
        let mut log = Log {
            disk: self.disk.clone(),
            open_files: self.open_files.clone(),
            directory: self.directory.clone(),
            config: self.config.clone(),
            shared: Arc::new(Shared {
                segments: RwLock::new(segments),
                bounds: Mutex::new(bounds),
                epochs: RwLock::new(epochs),
                watcher: OnceLock::new(),
                damage: Told::default(),
            }),
            active,
            producers,
            snapshots,
            // After a clean stop everything was synced, whatever an old checkpoint says.
            recovery_point: if was_recovered {
                self.options
                    .recovery_point
                    .max(log_start)
                    .min(log_end.offset)
            } else {
                log_end.offset
            },
            syncs: Arc::new(syncs),
            has_begun_epoch,
            condition: Condition::Open,
        };
        log.set_high_watermark(self.options.high_watermark);
        Ok(log)
    }

    /// Where the log ends, if it was closed well and `may_be` as it was then.
    fn clean_end(
        &self,
        may_be: bool,
        segments: &Segments<D>,
        changes: &dyn Fn(),
    ) -> Result<Option<Place>, SegmentError> {
        if !self.options.was_clean {
            return Ok(None);
        }
        let clean_end = if may_be {
            clean_end(last_of(segments))?
        } else {
            None
        };
        if clean_end.is_none() {
            changes();
        }
        Ok(clean_end)
    }

    /// What is known of the producers where the log ends: as recovery has found it, or by the
    /// snapshots.
    fn producers(
        &self,
        known: Option<ProducerStates>,
        segments: &Segments<D>,
        snapshots: &mut SnapshotFiles<D>,
        log_end_offset: Offset,
    ) -> Result<ProducerStates, OpenError> {
        let is_undecided = |it: &ProducerStates| {
            self.options.high_watermark < log_end_offset && it.has_transactions()
        };
        match known {
            Some(producers) if !is_undecided(&producers) => Ok(producers),
            _ => {
                let all: Vec<_> = segments.values().cloned().collect();
                let to = replay_to(&self.options, &self.config, log_end_offset);
                Ok(replay(snapshots, &all, &to)?)
            }
        }
    }

    /// The first segment whose transaction index cannot be right. It can only be made anew along
    /// with the producers' state, so its segment must be recovered.
    fn damaged_transaction_index(&self) -> Result<Option<Offset>, OpenError> {
        for name in &self.names {
            if name.content != FileContent::TransactionIndex {
                continue;
            }
            let path = self.path(*name);
            match TransactionIndex::open(self.disk.clone(), path, name.offset) {
                Ok(_) => {}
                Err(error @ IndexError::Damaged { .. }) => {
                    warn!(%error, "recovering the segment of a damaged transaction index");
                    return Ok(Some(name.offset));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Replaces a log that ends before its log start offset, where nothing of it is ever read, by
    /// an empty one that goes on from there: offsets that were given out are not given out again.
    fn start_over(
        &mut self,
        segments: &mut Segments<D>,
        snapshots: &mut SnapshotFiles<D>,
    ) -> Result<Place, OpenError> {
        let log_start = self.options.log_start;
        let directory = self.directory.display();
        warn!(%directory, %log_start, "the log ends before its start, beginning anew there");
        snapshots.remove_all()?;
        while let Some((_, newest)) = segments.pop_last() {
            newest.remove()?;
        }
        let segment = self.create_segment(log_start)?;
        segments.insert(log_start, Arc::new(segment));
        Ok(Place {
            offset: log_start,
            segment_base: log_start,
            position: 0,
        })
    }

    /// The segments that are there; a new one if none is.
    fn segments(&mut self) -> Result<Segments<D>, OpenError> {
        let mut segments = BTreeMap::new();
        for name in self
            .names
            .iter()
            .filter(|it| it.content == FileContent::Log)
        {
            let len = self.disk.metadata(&self.path(*name))?.len;
            let size = self.file_len(*name, len)?;
            let segment = Segment::new(self.home(), name.offset, size);
            segments.insert(name.offset, Arc::new(segment));
        }
        if segments.is_empty() {
            let base_offset = self.options.log_start;
            let segment = self.create_segment(base_offset)?;
            segments.insert(base_offset, Arc::new(segment));
        }
        Ok(segments)
    }

    fn create_segment(&mut self, base_offset: Offset) -> Result<Segment<D>, OpenError> {
        self.created_segment = true;
        let config = &self.config;
        let preallocated = config.preallocate.then_some(config.segment_bytes);
        Ok(Segment::create(self.home(), base_offset, preallocated)?)
    }

    fn home(&self) -> Home<D> {
        let (disk, directory) = (self.disk.clone(), self.directory.clone());
        Home::new(disk, directory, &self.config, &self.open_files)
    }
}

/// By base offset; never empty.
pub(crate) type Segments<D> = BTreeMap<Offset, Arc<Segment<D>>>;

fn last_of<D: Disk>(segments: &Segments<D>) -> &Arc<Segment<D>> {
    let (_, last) = segments.last_key_value().expect("a log has a segment");
    last
}

pub(crate) fn replay_to(options: &OpenOptions, config: &LogConfig, end_offset: Offset) -> Replay {
    Replay {
        end_offset,
        high_watermark: options.high_watermark,
        now_ms: options.now_ms,
        expiration_ms: millis(config.producer_id_expiration),
    }
}

/// Where the log ends that was closed well. `None` if it does not look as if it were.
fn clean_end<D: Disk>(last: &Segment<D>) -> Result<Option<Place>, SegmentError> {
    match end_of_segment(last) {
        Ok(log_end) => Ok(Some(log_end)),
        Err(SegmentError::Scan(error @ ScanError::Damaged { .. })) => {
            warn!(%error, "a log that was closed well is damaged, recovering it");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Where a segment ends: behind the last batch, which is near the last entry of the index. Opens
/// what it reads for this once: it may be that nobody asks for the partition for long.
fn end_of_segment<D: Disk>(last: &Segment<D>) -> Result<Place, SegmentError> {
    let mut offset = last.base_offset();
    if last.size() > 0 {
        let near = last.position_near_end()?;
        let file = last.open_anew()?;
        let mut scan = Scan::new(file, near, last.size());
        while let Some(batch) = scan.next()? {
            offset = batch.last_offset + 1;
        }
    }
    Ok(Place {
        offset,
        segment_base: last.base_offset(),
        position: last.size(),
    })
}
