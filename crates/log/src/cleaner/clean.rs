//! [`Cleaning`]: one pass over a log, off its lock.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::{Disk, DiskError};
use klamm_primitives::Offset;
use klamm_records::{BatchHeader, Codecs, FilterErrorCause, RecordBatches, filter};
use thiserror::Error;

use super::group::{Sizes, group};
use super::offset_map::OffsetMap;
use super::output::{Output, Place, Written};
use super::rules::{LastOfProducers, PassRules, Rules};
use super::runs::{Run, Runs, damaged};
use super::swap::Cleaned;
use super::transactions::{Control, TransactionWalk};
use crate::index_error::IndexError;
use crate::names::FileContent;
use crate::scan::ScanError;
use crate::segment::{Segment, SegmentError};
use crate::transaction_index::AbortedTransaction;

/// Bytes of an entry of the two indexes.
const OFFSET_ENTRY_LEN: u64 = 8;
const TIME_ENTRY_LEN: u64 = 12;

/// A log could not be cleaned. It is as it was.
#[derive(Debug, Error)]
pub enum CleanError {
    /// It was told to stop.
    #[error("the cleaning was stopped")]
    Stopped,
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A segment cannot be read, or its new form not written.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// A batch is damaged, or of magic 0 or 1. The log cannot be cleaned as it is. (LG-214)
    #[error("{}, byte {position}: {cause}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the batch begins, in bytes.
        position: u64,
        /// What is wrong with it.
        #[source]
        cause: FilterErrorCause,
    },
}

impl From<ScanError> for CleanError {
    fn from(error: ScanError) -> Self {
        Self::Segment(error.into())
    }
}

impl From<IndexError> for CleanError {
    fn from(error: IndexError) -> Self {
        Self::Segment(error.into())
    }
}

/// What a pass has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleaningCounts {
    /// Keys among the dirty records.
    pub keys: u64,
    /// Bytes of the segments that were read to be written anew.
    pub bytes_read: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
    /// Records that were looked at.
    pub records_read: u64,
    /// Records that stayed.
    pub records_kept: u64,
}

/// How large things may be, in bytes: what of the log's settings a pass needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) segment: u32,
    pub(super) index: u32,
    pub(super) index_interval: u32,
    pub(super) batch: u32,
    pub(super) map: usize,
}

/// A segment that is to be cleaned.
struct Source<D: Disk> {
    segment: Arc<Segment<D>>,
    /// Where the next one begins.
    next_base: Offset,
}

/// One pass over a log: taken out of it, run without its lock, and handed back piece by piece.
///
/// Dropping it ends the pass; what was swapped in stays, and what was not is no loss.
#[must_use = "nothing is cleaned before it runs"]
pub struct Cleaning<D: Disk> {
    place: Place<D>,
    limits: Limits,
    sources: Vec<Source<D>>,
    first_dirty: Offset,
    end_offset: Offset,
    walk: TransactionWalk,
    producers: LastOfProducers,
    now_ms: i64,
    horizon_ms: i64,
    /// How often the log had been cut when the pass began.
    cuts: u64,
    keys: Option<OffsetMap>,
    /// What is left to be written anew, once the keys are known.
    groups: VecDeque<Vec<Source<D>>>,
    /// One past the last offset of the groups.
    groups_end: Offset,
    counts: CleaningCounts,
    codecs: Codecs,
    buffer: Vec<u8>,
}

impl<D: Disk> Cleaning<D> {
    #[expect(clippy::too_many_arguments, reason = "taken apart from a log, once")]
    pub(super) fn new(
        disk: D,
        directory: PathBuf,
        limits: Limits,
        segments: Vec<Arc<Segment<D>>>,
        (first_dirty, end_offset): (Offset, Offset),
        walk: TransactionWalk,
        producers: LastOfProducers,
        (now_ms, tombstone_retention_ms): (i64, i64),
        cuts: u64,
    ) -> Self {
        let mut next_base = end_offset;
        let mut sources = Vec::with_capacity(segments.len());
        for segment in segments.into_iter().rev() {
            let base_offset = segment.base_offset();
            sources.push(Source { segment, next_base });
            next_base = base_offset;
        }
        sources.reverse();
        Self {
            place: Place {
                disk,
                directory,
                index_bytes: limits.index,
                index_interval_bytes: limits.index_interval,
            },
            limits,
            sources,
            first_dirty,
            end_offset,
            walk,
            producers,
            now_ms,
            horizon_ms: now_ms.saturating_add(tombstone_retention_ms),
            cuts,
            keys: None,
            groups: VecDeque::new(),
            groups_end: end_offset,
            counts: CleaningCounts::default(),
            codecs: Codecs::default(),
            buffer: Vec::new(),
        }
    }

    /// Writes the next segments anew, reading the dirty keys first when it is called for the
    /// first time; `None` when all are done. Blocks for long, without any lock of the log;
    /// `stop` is asked between the parts of the work.
    ///
    /// # Errors
    /// [`CleanError`]; the pass is over then.
    pub fn next(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Cleaned<D>>, CleanError> {
        if self.keys.is_none() {
            let keys = self.read_keys(stop)?;
            self.counts.keys = keys.len() as u64;
            self.plan(&keys)?;
            self.keys = Some(keys);
        }
        let Some(sources) = self.groups.pop_front() else {
            return Ok(None);
        };
        let mut outputs = Outputs {
            written: Vec::new(),
            current: None,
        };
        match self.write_group(&sources, &mut outputs, stop) {
            Ok(()) => {
                let segments = sources.into_iter().map(|it| it.segment).collect();
                let place = self.place.clone();
                let written = outputs.written;
                Ok(Some(Cleaned::new(place, segments, written, self.cuts)))
            }
            Err(error) => {
                let current = outputs.current.map(|it| it.base_offset);
                for base_offset in outputs
                    .written
                    .iter()
                    .map(|it| it.base_offset)
                    .chain(current)
                {
                    self.place.discard(base_offset);
                }
                Err(error)
            }
        }
    }

    /// The first offset that was not cleaned, once [`Cleaning::next`] has given `None`: less than
    /// what was asked for if there were more keys than memory for them. (LG-211, LG-220)
    pub fn end_offset(&self) -> Offset {
        self.end_offset
    }

    /// What was done so far.
    pub fn counts(&self) -> CleaningCounts {
        self.counts
    }

    /// Notes the newest offset of each key in the dirty part, as far as there is memory.
    fn read_keys(&mut self, stop: &dyn Fn() -> bool) -> Result<OffsetMap, CleanError> {
        let records_max = self.end_offset.get().saturating_sub(self.first_dirty.get());
        let records_max = u64::try_from(records_max).unwrap_or(0);
        let mut map = OffsetMap::new(self.limits.map, records_max);
        let mut walk = self.walk.anew();
        for source in &self.sources {
            if source.next_base <= self.first_dirty {
                continue;
            }
            let segment = &*source.segment;
            let Some(first) = segment.find(self.first_dirty)? else {
                continue;
            };
            let mut runs = Runs::new(segment, first.position, self.limits.batch);
            while let Some(run) = runs.next()? {
                check_stop(stop)?;
                let read = read_run_keys(
                    segment,
                    &run,
                    self.first_dirty,
                    &mut map,
                    &mut walk,
                    &mut self.codecs,
                )?;
                if read == KeysRead::Full {
                    return Ok(map);
                }
            }
        }
        // Nothing was left out, so what lies behind the last record is clean as well.
        if self.end_offset > self.first_dirty {
            map.set_latest(self.end_offset - 1);
        }
        Ok(map)
    }

    /// Decides which segments are written anew, and together with which.
    fn plan(&mut self, keys: &OffsetMap) -> Result<(), CleanError> {
        let end_offset = keys.latest().map_or(self.first_dirty, |latest| latest + 1);
        self.end_offset = end_offset;
        let sources = std::mem::take(&mut self.sources);
        let mut sources: VecDeque<_> = sources
            .into_iter()
            .filter(|it| it.segment.base_offset() < end_offset)
            .collect();
        if let Some(last) = sources.back() {
            self.groups_end = last.next_base;
        }
        let mut sizes = Vec::with_capacity(sources.len());
        for source in &sources {
            let (offset, time) = source
                .segment
                .with_indexes(|it| Ok::<_, IndexError>((it.offset.len(), it.time.len())))?;
            sizes.push(Sizes {
                base_offset: source.segment.base_offset(),
                next_base: source.next_base,
                log_bytes: u64::from(source.segment.size()),
                index_bytes: (offset * OFFSET_ENTRY_LEN).max(time * TIME_ENTRY_LEN),
            });
        }
        let (log_max, index_max) = (self.limits.segment, self.limits.index);
        for range in group(&sizes, u64::from(log_max), u64::from(index_max)) {
            self.groups
                .push_back(sources.drain(..range.len()).collect());
        }
        Ok(())
    }

    fn write_group(
        &mut self,
        sources: &[Source<D>],
        outputs: &mut Outputs<D>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), CleanError> {
        let first = sources.first().expect("a group has a segment");
        let base_offset = first.segment.base_offset();
        outputs.current = Some(Output::create(&self.place, base_offset)?);
        for source in sources {
            let mut runs = Runs::new(&source.segment, 0, self.limits.batch);
            while let Some(run) = runs.next()? {
                check_stop(stop)?;
                self.write_run(&source.segment, &run, outputs)?;
            }
        }
        let last = sources.last().expect("a group has a segment");
        let path = last.segment.path(FileContent::Log);
        let modified_ms = self.place.disk.metadata(&path)?.modified_ms;
        outputs.finish(modified_ms)?;
        Ok(())
    }

    /// Writes what stays of a run.
    fn write_run(
        &mut self,
        segment: &Segment<D>,
        run: &Run,
        outputs: &mut Outputs<D>,
    ) -> Result<(), CleanError> {
        let controls = controls(run, &mut self.codecs);
        let pass = PassRules {
            map: self.keys.as_ref().expect("read before anything is written"),
            producers: &self.producers,
            end_offset: self.groups_end,
            now_ms: self.now_ms,
            horizon_ms: self.horizon_ms,
        };
        let mut rules = Rules::new(&pass, &mut self.walk, controls);
        self.buffer.clear();
        let filtered = filter(
            &run.bytes,
            &mut rules,
            &mut self.buffer,
            usize::MAX,
            &mut self.codecs,
        )
        .map_err(|error| {
            let position = u64::from(run.position) + error.position as u64;
            damaged(segment, position, error.cause)
        })?;
        self.counts.bytes_read += filtered.bytes_read as u64;
        self.counts.bytes_written += filtered.bytes_kept as u64;
        self.counts.records_read += filtered.records_read as u64;
        self.counts.records_kept += filtered.records_kept as u64;
        let aborted = std::mem::take(&mut rules.aborted);
        outputs.write(&self.place, &self.buffer, &aborted)
    }
}

fn check_stop(stop: &dyn Fn() -> bool) -> Result<(), CleanError> {
    if stop() {
        Err(CleanError::Stopped)
    } else {
        Ok(())
    }
}

/// What the control batches of a run hold, in order.
fn controls(run: &Run, codecs: &mut Codecs) -> VecDeque<Control> {
    // What is damaged here, the filter will say.
    RecordBatches::new(run.bytes.clone())
        .map_while(Result::ok)
        .filter(|batch| batch.header().attributes.is_control())
        .map(|batch| Control::of(&batch, codecs))
        .collect()
}

#[derive(PartialEq, Eq)]
enum KeysRead {
    All,
    Full,
}

/// Notes the keys of a run, from the first dirty offset on.
fn read_run_keys<D: Disk>(
    segment: &Segment<D>,
    run: &Run,
    first_dirty: Offset,
    map: &mut OffsetMap,
    walk: &mut TransactionWalk,
    codecs: &mut Codecs,
) -> Result<KeysRead, CleanError> {
    let mut batches = RecordBatches::new(run.bytes.clone());
    loop {
        let position = u64::from(run.position) + batches.position() as u64;
        let fail = |cause| damaged(segment, position, cause);
        let Some(batch) = batches.next() else {
            return Ok(KeysRead::All);
        };
        let batch = batch.map_err(|error| fail(error.into()))?;
        batch.check_crc().map_err(|error| fail(error.into()))?;
        let header = batch.header();
        let is_control = header.attributes.is_control();
        let counts = if is_control {
            walk.control(header, Control::of(&batch, codecs));
            false
        } else {
            !walk.data(header)
        };
        if counts {
            let mut records = batch.read(codecs).map_err(|error| fail(error.into()))?;
            while let Some(record) = records.next().map_err(|error| fail(error.into()))? {
                if record.offset < first_dirty {
                    continue;
                }
                if let Some(key) = record.key
                    && !map.put(key, record.offset)
                {
                    return Ok(KeysRead::Full);
                }
                map.set_latest(record.offset);
            }
        }
        if header.last_offset() >= first_dirty {
            map.set_latest(header.last_offset());
        }
    }
}

/// The segments that a group becomes: one, unless its offsets or bytes are too many for one.
struct Outputs<D: Disk> {
    written: Vec<Written>,
    current: Option<Output<D>>,
}

impl<D: Disk> Outputs<D> {
    /// Adds whole batches, and notes the aborted transactions whose markers are among them.
    fn write(
        &mut self,
        place: &Place<D>,
        bytes: &[u8],
        aborted: &[AbortedTransaction],
    ) -> Result<(), CleanError> {
        let mut aborted = aborted.iter().peekable();
        let (mut start, mut position) = (0, 0);
        let mut batches = Vec::new();
        while position < bytes.len() {
            let batch = BatchHeader::read(&bytes[position..]).expect("it was written just now");
            let pending = u32::try_from(position - start).unwrap_or(u32::MAX);
            if !self.current().has_room_for(pending, &batch) {
                self.current().write(&bytes[start..position], &batches)?;
                batches.clear();
                start = position;
                let next = Output::create(place, batch.base_offset)?;
                let full = self.current.replace(next).expect("one is being written");
                self.written.push(full.finish(batch.max_timestamp_ms)?);
            }
            while let Some(it) = aborted.next_if(|it| it.last_offset <= batch.last_offset()) {
                self.current().note_aborted(it)?;
            }
            batches.push(batch);
            position += batch.size();
        }
        self.current().write(&bytes[start..], &batches)?;
        for it in aborted {
            self.current().note_aborted(it)?;
        }
        Ok(())
    }

    fn finish(&mut self, modified_ms: i64) -> Result<(), CleanError> {
        let last = self.current.take().expect("one is being written");
        self.written.push(last.finish(modified_ms)?);
        Ok(())
    }

    fn current(&mut self) -> &mut Output<D> {
        self.current.as_mut().expect("one is being written")
    }
}
