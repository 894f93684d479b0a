//! Appending: as the leader, who gives out offsets, and as a follower, who takes them.

use std::io::IoSlice;

use bytes::Bytes;
use klamm_io::{Disk, DiskError};
use klamm_primitives::{LeaderEpoch, Offset};
use klamm_records::{
    BatchError, BatchHeader, Codecs, ControlError, EndMarker, HEADER_LEN, RecordBatch,
    RecordsError, ValidBatch,
};
use thiserror::Error;

use crate::bounds::Place;
use crate::indexer::Indexed;
use crate::log::{ChangeError, Log, Unavailable};
use crate::producer_state::{
    Appended as ProducersAppended, Batch, Marker, Origin, ProducerStateError,
};
use crate::roll::Incoming;
use crate::segment::{NotWritten, SegmentError};
use crate::transaction_index::AbortedTransaction;

/// What an append did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first record.
    pub first_offset: Offset,
    /// The offset of the last record.
    pub last_offset: Offset,
    /// The largest timestamp of the records.
    pub max_timestamp_ms: i64,
    /// The records were in the log already: a producer has sent them again. The offsets are
    /// those that they have, and nothing was written.
    pub is_duplicate: bool,
    /// The segment was rolled before.
    pub has_rolled: bool,
    /// So many records are unsynced that `flush.messages` asks for a sync.
    pub flush_is_due: bool,
    /// The log start offset.
    pub log_start_offset: Offset,
    /// The log end offset and its place.
    pub log_end: Place,
}

/// An append was refused, or failed.
#[derive(Debug, Error)]
pub enum AppendError {
    /// The log takes no changes.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A batch is larger than `max.message.bytes`. The log is as it was.
    #[error("a batch of {size} bytes, and max.message.bytes is {size_max}")]
    BatchTooLarge {
        /// Bytes of the batch.
        size: usize,
        /// The setting.
        size_max: u32,
    },
    /// The batches together are larger than `segment.bytes`. The log is as it was.
    #[error("batches of {size} bytes, and segment.bytes is {size_max}")]
    SetTooLarge {
        /// Bytes of the batches.
        size: u64,
        /// The setting.
        size_max: u32,
    },
    /// The offsets of a follower's batches do not rise from the log end offset on. The log is as
    /// it was.
    #[error("a batch with offsets {base} to {last} where {expected} or more should follow")]
    NotRising {
        /// The batch's first offset.
        base: Offset,
        /// Its last offset.
        last: Offset,
        /// The least offset that may follow.
        expected: Offset,
    },
    /// The offsets of a follower's batches are too far apart for one segment, and they may not
    /// be divided. The log is as it was; they can be appended one by one.
    #[error("batches with offsets {first} to {last} do not fit into one segment")]
    TooFarApart {
        /// The first batch's first offset.
        first: Offset,
        /// The last batch's last offset.
        last: Offset,
    },
    /// No offset is left. The log is as it was.
    #[error("no offset is left behind {log_end_offset}")]
    OffsetsUsedUp {
        /// Where the log ends.
        log_end_offset: Offset,
    },
    /// A producer's sequence, epoch or transaction does not fit. The log is as it was.
    #[error(transparent)]
    Producer(#[from] ProducerStateError),
    /// A control batch does not hold a marker that makes sense. The log is as it was.
    #[error("a control batch without a good marker: {0}")]
    Marker(#[from] MarkerError),
    /// The disk refused the batches, and what it may have written of them was taken back; or what
    /// goes before them (a look at the segment, rolling it) could not be done because the disk is
    /// full, or the process has no descriptor or memory left. The log is as it was and can be
    /// appended to.
    #[error("nothing was appended: {0}")]
    NotWritten(#[source] DiskError),
    /// The disk refused something else, or taking back. The log has failed; the log end offset
    /// may have moved.
    #[error(transparent)]
    Failed(#[from] SegmentError),
}

/// What is wrong with a control batch.
#[derive(Debug, Error)]
pub enum MarkerError {
    /// It is no batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Its record cannot be read.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// Its record is no marker.
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// A batch that is about to be written: its own header, and the records as they came.
struct Outgoing<'a> {
    header: BatchHeader,
    bytes: [u8; HEADER_LEN],
    records: &'a Bytes,
}

impl<D: Disk> Log<D> {
    /// Appends what clients produced, as the leader of `leader_epoch`.
    ///
    /// The batches get the offsets from the log end offset on and, where the topic has it,
    /// `now_ms` (Unix time) as log append time; each is written as a fresh header and its
    /// untouched records, all in one write. Nothing is synced: see [`Log::begin_flush`].
    ///
    /// A batch that a producer sends again is told as if it were appended now, by the offsets
    /// that it has; several at once are out of order then.
    ///
    /// No batch at all is no append: the offsets of the answer are then those of an empty range.
    ///
    /// # Errors
    /// By variant; only [`AppendError::Failed`] leaves the log unusable. (B2.2)
    pub fn append(
        &mut self,
        batches: &[ValidBatch],
        leader_epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        self.append_as_leader(batches, leader_epoch, now_ms, Origin::Client)
    }

    /// Appends what the broker itself has to say: markers of transactions and the records of its
    /// coordinators. As [`Log::append`], but that producers' sequences are not judged.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub fn append_own(
        &mut self,
        batches: &[ValidBatch],
        leader_epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        self.append_as_leader(batches, leader_epoch, now_ms, Origin::Coordinator)
    }

    /// Appends what a leader appended before, with its offsets, leader epochs and timestamps.
    /// Offsets must rise from the log end offset on; gaps are fine, a compacted log has them.
    ///
    /// # Errors
    /// As [`Log::append`]; [`AppendError::NotRising`] and [`AppendError::TooFarApart`] as well.
    /// Sizes of batches, timestamps and
    /// sequences are not judged: the leader has done that.
    pub fn append_as_follower(
        &mut self,
        batches: &[ValidBatch],
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        self.check_available()?;
        let log_end_offset = self.log_end_offset();
        let mut expected = log_end_offset;
        let mut outgoing = Vec::with_capacity(batches.len());
        for batch in batches {
            let header = *batch.header();
            if header.base_offset < expected || header.last_offset() < header.base_offset {
                return Err(AppendError::NotRising {
                    base: header.base_offset,
                    last: header.last_offset(),
                    expected,
                });
            }
            expected = header
                .last_offset()
                .checked_add(1)
                .ok_or(AppendError::OffsetsUsedUp { log_end_offset })?;
            outgoing.push(Outgoing::new(header, batch));
        }
        self.append_outgoing(&outgoing, Origin::Replication, now_ms)
    }

    fn append_as_leader(
        &mut self,
        batches: &[ValidBatch],
        leader_epoch: LeaderEpoch,
        now_ms: i64,
        origin: Origin,
    ) -> Result<Appended, AppendError> {
        self.check_available()?;
        let log_end_offset = self.log_end_offset();
        let mut next = log_end_offset;
        let mut outgoing = Vec::with_capacity(batches.len());
        for batch in batches {
            let size_max = self.config.batch_bytes_max;
            if batch.size() > size_max as usize {
                let size = batch.size();
                return Err(AppendError::BatchTooLarge { size, size_max });
            }
            let header = batch.stamped(next, leader_epoch, now_ms);
            next = next
                .checked_add(i64::from(header.last_offset_delta) + 1)
                .ok_or(AppendError::OffsetsUsedUp { log_end_offset })?;
            outgoing.push(Outgoing::new(header, batch));
        }
        self.append_outgoing(&outgoing, origin, now_ms)
    }

    fn append_outgoing(
        &mut self,
        outgoing: &[Outgoing<'_>],
        origin: Origin,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        let (Some(first), Some(last)) = (outgoing.first(), outgoing.last()) else {
            return Ok(self.nothing_appended());
        };
        let incoming = Incoming {
            size: outgoing.iter().map(|it| it.header.size() as u64).sum(),
            last_offset: last.header.last_offset(),
            max_timestamp_ms: max_timestamp(outgoing),
        };
        let size_max = self.config.segment_bytes;
        if incoming.size > u64::from(size_max) {
            let size = incoming.size;
            return Err(AppendError::SetTooLarge { size, size_max });
        }
        let (first_offset, last_offset) = (first.header.base_offset, incoming.last_offset);
        if last_offset - first_offset > i64::from(i32::MAX) {
            return Err(AppendError::TooFarApart {
                first: first_offset,
                last: last_offset,
            });
        }
        let staged = match self.stage_producers(outgoing, origin)? {
            Staged::New(staged) => staged,
            Staged::Duplicate(duplicate) => return Ok(duplicate),
        };
        let must_roll = self.active.must_roll(&self.config, &incoming, now_ms);
        let must_roll = self.before_writing(must_roll)?;
        if must_roll {
            // Segments follow each other without a gap, even where the offsets have one, so that
            // recovery can tell when the end of one is lost; but if they are too far apart.
            let log_end_offset = self.log_end_offset();
            let is_near = last_offset - log_end_offset <= i64::from(i32::MAX);
            let base_offset = if is_near {
                log_end_offset
            } else {
                first_offset
            };
            let rolled = self.roll(base_offset, now_ms);
            rolled.map_err(|error| self.not_rolled(error))?;
        }
        let assigned = self.assign_epochs(outgoing);
        self.before_writing(assigned.map_err(SegmentError::from))?;
        let aborted = staged.aborted(self.producers.transactions());
        if !aborted.is_empty() {
            let prepared = self.active.segment.prepare_to_note_aborted();
            self.before_writing(prepared.map_err(SegmentError::from))?;
        }
        let appended = self.write_and_apply(outgoing, staged, &aborted, incoming);
        if appended.is_err() && !aborted.is_empty() {
            self.active.segment.let_go_of_aborted();
        }
        appended?;

        let bounds = *self.shared.bounds.lock();
        Ok(Appended {
            first_offset,
            last_offset,
            max_timestamp_ms: incoming.max_timestamp_ms,
            is_duplicate: false,
            has_rolled: must_roll,
            flush_is_due: self.flush_is_due(),
            log_start_offset: bounds.log_start,
            log_end: bounds.log_end,
        })
    }

    fn write_and_apply(
        &mut self,
        outgoing: &[Outgoing<'_>],
        staged: ProducersAppended,
        aborted: &[AbortedTransaction],
        incoming: Incoming,
    ) -> Result<(), AppendError> {
        self.write_outgoing(outgoing, incoming)?;
        let applied = self.apply(outgoing, staged, aborted, incoming);
        Ok(self.or_fail(applied)?)
    }

    /// Passes on what came of a step before the batches are written.
    fn before_writing<T>(&mut self, result: Result<T, SegmentError>) -> Result<T, AppendError> {
        let result = self.or_fail_unless_it_may_pass(result);
        result.map_err(|error| self.not_written(error))
    }

    fn not_rolled(&self, error: ChangeError) -> AppendError {
        match error {
            ChangeError::Unavailable(error) => error.into(),
            ChangeError::Segment(error) => self.not_written(error),
            ChangeError::Disk(error) => self.not_written(error.into()),
        }
    }

    /// An error before a byte was written, which the log may have survived.
    fn not_written(&self, error: SegmentError) -> AppendError {
        if self.is_failed() {
            return AppendError::Failed(error);
        }
        match error.into_disk_error() {
            Ok(error) => AppendError::NotWritten(error),
            Err(error) => AppendError::Failed(error),
        }
    }

    fn nothing_appended(&self) -> Appended {
        let bounds = *self.shared.bounds.lock();
        Appended {
            first_offset: bounds.log_end.offset,
            last_offset: bounds.log_end.offset - 1,
            max_timestamp_ms: -1,
            is_duplicate: false,
            has_rolled: false,
            flush_is_due: false,
            log_start_offset: bounds.log_start,
            log_end: bounds.log_end,
        }
    }

    /// Judges the batches by their producers, and stages what they change.
    fn stage_producers(
        &self,
        outgoing: &[Outgoing<'_>],
        origin: Origin,
    ) -> Result<Staged, AppendError> {
        let mut staging = self.producers.append(origin);
        for it in outgoing {
            let header = &it.header;
            if header.producer_id.get() < 0 {
                continue;
            }
            if header.attributes.is_control() {
                if let Some(marker) = it.marker()? {
                    staging.marker(&marker)?;
                }
                continue;
            }
            let batch = producer_batch(header);
            // A producer sends one batch a partition. One that is repeated among others is out of
            // order: half of a set cannot be answered for.
            if origin == Origin::Client
                && outgoing.len() == 1
                && let Some(written) = staging.duplicate_of(&batch)
            {
                let bounds = *self.shared.bounds.lock();
                return Ok(Staged::Duplicate(Appended {
                    first_offset: written.first_offset(),
                    last_offset: written.last_offset,
                    max_timestamp_ms: written.timestamp_ms,
                    is_duplicate: true,
                    has_rolled: false,
                    flush_is_due: false,
                    log_start_offset: bounds.log_start,
                    log_end: bounds.log_end,
                }));
            }
            staging.data(&batch)?;
        }
        Ok(Staged::New(staging.finish()))
    }

    /// Should the batches not be written after all, there is an epoch too many at the log's end,
    /// which the next append replaces or makes true.
    fn assign_epochs(&mut self, outgoing: &[Outgoing<'_>]) -> Result<(), DiskError> {
        for it in outgoing {
            self.assign_epoch(it.header.leader_epoch, it.header.base_offset)?;
        }
        Ok(())
    }

    /// One vectored write: a header and records for each batch.
    fn write_outgoing(
        &mut self,
        outgoing: &[Outgoing<'_>],
        incoming: Incoming,
    ) -> Result<(), AppendError> {
        let segment = self.active.segment.clone();
        // A client sends one batch a partition.
        let written = if let [one] = outgoing {
            segment.write(&one.pieces())
        } else {
            let pieces: Vec<_> = outgoing.iter().flat_map(Outgoing::pieces).collect();
            segment.write(&pieces)
        };
        let position = match written {
            Ok(position) => position,
            Err(NotWritten::AsItWas(error)) => return Err(AppendError::NotWritten(error)),
            Err(NotWritten::InDoubt(error)) => {
                self.fail();
                return Err(AppendError::Failed(error.into()));
            }
        };
        let size = u32::try_from(incoming.size).expect("it is not above segment.bytes");
        segment.written(position + size);
        Ok(())
    }

    /// The records are in the file: moves the log end, then all that follows from them.
    fn apply(
        &mut self,
        outgoing: &[Outgoing<'_>],
        staged: ProducersAppended,
        aborted: &[AbortedTransaction],
        incoming: Incoming,
    ) -> Result<(), SegmentError> {
        let segment = self.active.segment.clone();
        let mut bounds = *self.shared.bounds.lock();
        bounds.log_end = Place {
            offset: incoming.last_offset + 1,
            segment_base: segment.base_offset(),
            position: segment.size(),
        };
        self.shared.bounds.lock().log_end = bounds.log_end;

        let within_segment = "it is not above segment.bytes";
        let mut next = segment.size() - u32::try_from(incoming.size).expect(within_segment);
        let written = outgoing.iter().map(|it| {
            let size = u32::try_from(it.header.size()).expect(within_segment);
            let position = next;
            next += size;
            Indexed {
                position,
                size,
                last_offset: it.header.last_offset(),
                max_timestamp_ms: it.header.max_timestamp_ms,
            }
        });
        self.active.index(written, &self.config)?;

        // The index before the state: readers of committed records go on only once they can tell
        // which of them were aborted.
        if !aborted.is_empty() {
            segment.note_aborted(aborted)?;
        }
        self.producers.apply(staged, bounds.log_end.offset);
        self.publish(bounds);
        Ok(())
    }
}

enum Staged {
    New(ProducersAppended),
    Duplicate(Appended),
}

impl<'a> Outgoing<'a> {
    fn new(header: BatchHeader, batch: &'a ValidBatch) -> Self {
        Self {
            header,
            bytes: header.to_bytes(),
            records: batch.records(),
        }
    }

    fn pieces(&self) -> [IoSlice<'_>; 2] {
        [IoSlice::new(&self.bytes), IoSlice::new(self.records)]
    }

    /// The marker in a control batch; `None` for control records of other kinds.
    fn marker(&self) -> Result<Option<Marker>, MarkerError> {
        let bytes = [&self.bytes, &self.records[..]].concat();
        read_marker(&RecordBatch::parse(Bytes::from(bytes))?)
    }
}

/// The marker of a control batch; `None` for control records of other kinds, and for a batch of
/// which compaction has left the header alone.
pub(crate) fn read_marker(batch: &RecordBatch) -> Result<Option<Marker>, MarkerError> {
    let header = batch.header();
    let mut codecs = Codecs::default();
    let mut records = batch.read(&mut codecs)?;
    let Some(record) = records.next()? else {
        return Ok(None);
    };
    let marker = match EndMarker::parse(record.key, record.value) {
        Ok(marker) => marker,
        Err(ControlError::NoEndMarker { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(Some(Marker {
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        coordinator_epoch: marker.coordinator_epoch,
        offset: record.offset,
        timestamp_ms: record.timestamp_ms,
        aborts: marker.outcome == klamm_records::Outcome::Abort,
    }))
}

/// A batch of data as its producer's state wants to know it.
pub(crate) fn producer_batch(header: &BatchHeader) -> Batch {
    Batch {
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        base_sequence: header.base_sequence,
        last_sequence: header.last_sequence(),
        base_offset: header.base_offset,
        last_offset: header.last_offset(),
        timestamp_ms: header.max_timestamp_ms,
        is_transactional: header.attributes.is_transactional(),
    }
}

fn max_timestamp(outgoing: &[Outgoing<'_>]) -> i64 {
    let timestamps = outgoing.iter().map(|it| it.header.max_timestamp_ms);
    timestamps.max().unwrap_or(-1)
}
