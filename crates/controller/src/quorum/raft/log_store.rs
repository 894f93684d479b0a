//! [`LogStore`]: the Raft log in a [`Log`], and the vote beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};
use std::path::PathBuf;
use std::sync::Arc;

use klamm_io::{Clock, Disk, DiskError};
use klamm_log::{
    AppendError, ChangeError, DiskFailure, FlushError, Isolation, Log, LogReader, ReadError,
    ReadLimit,
};
use klamm_primitives::{BrokerId, LeaderEpoch, Offset};
use klamm_records::{
    BatchError, BatchOptions, Codecs, RecordBatch, RecordBatchBuilder, RecordBatches, RecordsError,
    ValidBatch, ValidationRules, validate_own,
};
use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{BasicNode, CommittedLeaderId, EntryPayload, LogState, RaftLogReader};
use parking_lot::Mutex;
use thiserror::Error;
use tracing::warn;

use super::durable_point::DurablePoint;
use super::entry::{self, EntryError, EntryKey};
use super::quorum_state::QuorumState;
use super::reserve::Reserve;
use super::room::Room;
use super::{Entry, LogId, Membership, StorageError, StorageIoError, Types, Vote, offset_of};
use crate::quorum::PROPOSAL_SIZE_MAX;

/// Bytes that are read at once; one batch comes whole even if it is longer.
const READ_SIZE: u32 = 1 << 20;

/// Bytes of a batch beside the records that were proposed: its header and the entry's.
const BATCH_OVERHEAD_MAX: usize = 4096;

/// The largest batch that is written.
pub(super) const BATCH_SIZE_MAX: usize = PROPOSAL_SIZE_MAX + BATCH_OVERHEAD_MAX;

/// The log of a node, with its vote. A clone is the same log.
///
/// All that touches the disk blocks, and runs on the runtime's blocking threads; openraft never
/// has two writes under way.
pub(super) struct LogStore<D: Disk, C: Clock> {
    inner: Arc<Inner<D, C>>,
}

impl<D: Disk, C: Clock> Clone for LogStore<D, C> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }
}

struct Inner<D: Disk, C: Clock> {
    disk: D,
    directory: PathBuf,
    clock: C,
    reader: LogReader<D>,
    /// Held through writes and syncs. That of the room is taken under it.
    written: Mutex<Written<D>>,
    room: Room<D>,
    /// So that nobody else opens the directory.
    _lock: D::Lock,
}

struct Written<D: Disk> {
    log: Log<D>,
    /// None before the log was read for the first time.
    durable: Option<DurablePoint<D::File>>,
    state: QuorumState,
    /// The last entry of the log, if it has one.
    last: Option<LogId>,
}

/// The log could not be read or written.
#[derive(Debug, Error)]
pub(crate) enum LogStoreError {
    /// A read was refused.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log refused a batch.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A sync failed.
    #[error(transparent)]
    Flush(#[from] FlushError),
    /// The log could not be cut.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// A batch is damaged.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A batch's records are damaged.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// An entry is damaged.
    #[error("the entry at {offset} cannot be read")]
    Entry {
        /// Where it stands.
        offset: Offset,
        /// What is wrong with it.
        source: EntryError,
    },
    /// A batch is not that of one entry.
    #[error("the batch at {offset} holds no entry")]
    NoEntry {
        /// Where it stands.
        offset: Offset,
    },
    /// An entry does not follow the last one.
    #[error("entry {index} cannot follow {expected}")]
    Gap {
        /// Its index.
        index: u64,
        /// The index that is next.
        expected: Offset,
    },
    /// A batch could not be made. Sizes were checked before, so this should not be.
    #[error("a batch could not be made: {reason}")]
    Make {
        /// Why.
        reason: String,
    },
    /// The thread that did it is gone.
    #[error("the work on the log did not end: {reason}")]
    Thread {
        /// Why.
        reason: String,
    },
}

impl<D: Disk, C: Clock> LogStore<D, C> {
    /// Takes over what was opened.
    pub(super) fn new(
        disk: D,
        directory: PathBuf,
        clock: C,
        log: Log<D>,
        state: QuorumState,
        reserve: Reserve<D>,
        lock: D::Lock,
    ) -> Self {
        let reader = log.reader();
        let written = Written {
            log,
            durable: None,
            state,
            last: None,
        };
        Self {
            inner: Arc::new(Inner {
                room: Room::new(directory.clone(), reserve),
                disk,
                directory,
                clock,
                reader,
                written: Mutex::new(written),
                _lock: lock,
            }),
        }
    }

    /// Makes what was found durable, and reads it all, oldest first. It must go on from `from`, the
    /// last entry of the snapshot, if there is one. Blocks.
    pub(super) fn replay(
        &self,
        from: Option<LogId>,
        mut each: impl FnMut(Entry) -> Result<(), super::open::OpenQuorumError>,
    ) -> Result<(), super::open::OpenQuorumError> {
        let (mut next, end) = {
            let mut written = self.inner.written.lock();
            let (start, end) = (written.log.log_start_offset(), written.log.log_end_offset());
            if start < end {
                let flushed = self.inner.room.flush(&mut written.log);
                flushed.map_err(LogStoreError::from)?;
            }
            let (disk, directory) = (&self.inner.disk, &self.inner.directory);
            let open = || DurablePoint::open(disk, directory, end);
            let opened = self.inner.room.with_reserve(open);
            written.durable = Some(opened.map_err(LogStoreError::from)?);
            (start, end)
        };
        let expected = from.map_or(Offset::ZERO, |from| offset_of(from.index) + 1);
        if next < end && next > expected {
            let index = u64::try_from(next.get()).unwrap_or(0);
            return Err(LogStoreError::Gap { index, expected }.into());
        }
        let mut last = None;
        while next < end {
            let entries = self.read_some(next, end)?;
            for entry in entries {
                last = Some(entry.log_id);
                next = offset_of(entry.log_id.index) + 1;
                each(entry)?;
            }
        }
        self.inner.written.lock().last = last;
        Ok(())
    }

    /// The vote, and whether the log has ever had an entry.
    pub(super) fn vote(&self) -> Option<Vote> {
        self.inner.written.lock().state.vote
    }

    /// The last entry that the log had, whether it was cut since or not.
    pub(super) fn last(&self) -> Option<LogId> {
        let written = self.inner.written.lock();
        written.last.or(written.state.purged)
    }

    /// Closes the log: the next opening need not recover it. Blocks.
    pub(super) fn close(&self) -> Result<(), ChangeError> {
        self.inner.written.lock().log.close()
    }

    /// Begins the log of a quorum of one: the node has voted for itself, which is a majority, and its
    /// first entry says that there is nobody else. What an election would come to, at fewer syncs.
    /// Returns the entry. Blocks.
    ///
    /// The entry becomes durable with the next one. Until then nobody has been promised anything, and
    /// a log without it is begun once more, in the same term.
    pub(super) fn begin(&self, node: BrokerId) -> Result<Entry, LogStoreError> {
        let former = self.vote();
        let term = former.map_or(1, |vote| vote.leader_id.term.max(1));
        let vote = Vote::new_committed(term, node);
        // Whoever was interrupted here has left it.
        if former != Some(vote) {
            self.save_vote_now(vote)?;
            // That has synced the directory, in which the log's first segment was before.
            self.inner.written.lock().log.note_directory_synced();
        }
        let nodes = BTreeMap::from([(node, BasicNode::default())]);
        let membership = Membership::new(vec![BTreeSet::from([node])], nodes);
        let leader = CommittedLeaderId::new(term, node);
        let entry = Entry {
            log_id: LogId::new(leader, 0),
            payload: EntryPayload::Membership(membership),
        };
        self.write_now(&mut self.inner.written.lock(), std::slice::from_ref(&entry))?;
        Ok(entry)
    }

    /// Entries from `from` on, at least one and all below `end`. Blocks.
    fn read_some(&self, from: Offset, end: Offset) -> Result<Vec<Entry>, LogStoreError> {
        let limit = ReadLimit {
            bytes_max: READ_SIZE,
            whole_first_batch: true,
        };
        let read = self.inner.reader.read(from, limit, Isolation::LogEnd)?;
        let Some(range) = read.range else {
            return Err(LogStoreError::NoEntry { offset: from });
        };
        let mut codecs = Codecs::default();
        let mut entries: Vec<Entry> = Vec::new();
        for batch in RecordBatches::new(range.read()?) {
            let batch = batch?;
            let last = entries.last();
            let offset = last.map_or(from, |last| offset_of(last.log_id.index) + 1);
            if offset == end {
                break;
            }
            let entry = entry_of(&batch, &mut codecs)?;
            if offset_of(entry.log_id.index) != offset {
                return Err(LogStoreError::NoEntry { offset });
            }
            entries.push(entry);
        }
        if entries.is_empty() {
            return Err(LogStoreError::NoEntry { offset: from });
        }
        Ok(entries)
    }

    /// Writes entries and makes them durable. Blocks.
    fn append_now(&self, entries: &[Entry]) -> Result<(), LogStoreError> {
        let inner = &self.inner;
        let mut written = inner.written.lock();
        self.write_now(&mut written, entries)?;
        inner.room.flush(&mut written.log)?;
        let durable = written.log.recovery_point();
        if let Some(point) = &mut written.durable {
            point.raise(durable);
        }
        Ok(())
    }

    /// Writes entries, and leaves it to the next append to make them durable. Blocks.
    fn write_now(&self, written: &mut Written<D>, entries: &[Entry]) -> Result<(), LogStoreError> {
        let inner = &self.inner;
        let now_ms = inner.clock.unix_ms();
        let mut codecs = Codecs::default();
        let durable = written.log.recovery_point();
        for entry in entries {
            let expected = written.log.log_end_offset();
            if offset_of(entry.log_id.index) != expected {
                return Err(LogStoreError::Gap {
                    index: entry.log_id.index,
                    expected,
                });
            }
            let batch = batch_of(entry, durable, now_ms, &mut codecs)?;
            let term = term_as_epoch(entry.log_id.leader_id.term)?;
            inner.room.append(&mut written.log, batch, term, now_ms)?;
            written.last = Some(entry.log_id);
        }
        Ok(())
    }

    /// Writes another vote. Blocks.
    fn save_vote_now(&self, vote: Vote) -> Result<(), LogStoreError> {
        let mut written = self.inner.written.lock();
        let state = QuorumState {
            vote: Some(vote),
            ..written.state.clone()
        };
        let (disk, directory) = (&self.inner.disk, &self.inner.directory);
        let room = &self.inner.room;
        room.with_reserve(|| state.write(disk, directory))?;
        written.state = state;
        Ok(())
    }

    /// Whether a change of this size finds its room; where it may have it, in the reserve. To be
    /// asked before the change is on its way: one that finds none then ends the node.
    ///
    /// While the reserve is whole this does not wait, so that changes keep the order in which they
    /// are proposed.
    pub(super) async fn has_room_for(&self, size: usize, may_use_reserve: bool) -> bool {
        if let Some(known) = self.inner.room.has_room_for(size, may_use_reserve) {
            return known;
        }
        let look = move |this: &Self| Ok(this.inner.room.has_room_now_for(size, may_use_reserve));
        // Who cannot look finds out.
        self.blocking(look).await.unwrap_or(true)
    }

    /// Takes entries off the log's end. Blocks.
    fn truncate_now(&self, since: LogId) -> Result<(), LogStoreError> {
        let mut written = self.inner.written.lock();
        let offset = offset_of(since.index);
        let now_ms = self.inner.clock.unix_ms();
        if let Some(point) = &mut written.durable {
            point.lower(offset)?;
        }
        written.log.truncate_to(offset, now_ms)?;
        let start = written.log.log_start_offset();
        written.last = None;
        drop(written);
        if offset > start {
            let before = self.read_some(offset - 1, offset)?;
            self.inner.written.lock().last = before.last().map(|entry| entry.log_id);
        }
        Ok(())
    }

    /// Takes entries off the log's front, up to and with this one, which may lie behind the end:
    /// a snapshot has taken the place of all. Blocks.
    fn purge_now(&self, up_to: LogId) -> Result<(), LogStoreError> {
        let mut written = self.inner.written.lock();
        // First the note of it: entries without a note are only too many, so that a disk which has
        // no room for the note is no reason to stop.
        let state = QuorumState {
            purged: Some(up_to),
            ..written.state.clone()
        };
        if let Err(error) = state.write(&self.inner.disk, &self.inner.directory) {
            warn!(%error, "the metadata log was not cut behind its snapshot");
            return Ok(());
        }
        written.state = state;
        let start = offset_of(up_to.index) + 1;
        let now_ms = self.inner.clock.unix_ms();
        let log = &mut written.log;
        if start > log.log_end_offset() {
            log.truncate_fully_and_start_at(start, None, now_ms)?;
            written.last = None;
            return Ok(());
        }
        match cut_front(log, start, now_ms) {
            // The log is as a crash behind the note leaves it; the next cut takes more.
            Err(error) if error.may_pass() && !log.is_failed() => {
                let error = &error as &dyn std::error::Error;
                warn!(error, "the metadata log was not cut behind its snapshot");
            }
            cut => cut?,
        }
        if start == log.log_end_offset() {
            written.last = None;
        }
        Ok(())
    }

    /// Does something that blocks where that is allowed.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, LogStoreError> + Send + 'static,
    ) -> Result<T, LogStoreError> {
        let this = self.clone();
        match tokio::task::spawn_blocking(move || work(&this)).await {
            Ok(done) => done,
            Err(error) => Err(LogStoreError::Thread {
                reason: error.to_string(),
            }),
        }
    }
}

impl<D: Disk, C: Clock> RaftLogReader<Types> for LogStore<D, C> {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + Send>(
        &mut self,
        range: R,
    ) -> Result<Vec<Entry>, StorageError> {
        let first = match range.start_bound() {
            Bound::Included(first) => *first,
            Bound::Excluded(before) => before + 1,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last + 1,
            Bound::Excluded(end) => *end,
            Bound::Unbounded => u64::MAX,
        };
        // Entries were just written, so they are read from memory: no thread is worth it.
        let offsets = self.inner.reader.offsets();
        let log_end = u64::try_from(offsets.log_end.get()).unwrap_or(0);
        let log_start = u64::try_from(offsets.log_start.get()).unwrap_or(0);
        let (mut next, end) = (first.max(log_start), end.min(log_end));
        let mut entries = Vec::new();
        while next < end {
            let some = self.read_some(offset_of(next), offset_of(end));
            let some = some.map_err(|error| StorageIoError::read_logs(&error))?;
            next += some.len() as u64;
            entries.extend(some);
        }
        Ok(entries)
    }
}

impl<D: Disk, C: Clock> RaftLogStorage<Types> for LogStore<D, C> {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError> {
        let written = self.inner.written.lock();
        Ok(LogState {
            last_purged_log_id: written.state.purged,
            last_log_id: written.last.or(written.state.purged),
        })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        let vote = *vote;
        let saved = self.blocking(move |this| this.save_vote_now(vote)).await;
        saved.map_err(|error| StorageIoError::write_vote(&error).into())
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        Ok(self.vote())
    }

    async fn append<I>(
        &mut self,
        entries: I,
        callback: LogFlushed<Types>,
    ) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry> + Send,
        I::IntoIter: Send,
    {
        let entries: Vec<_> = entries.into_iter().collect();
        let appended = self.blocking(move |this| this.append_now(&entries)).await;
        match appended {
            Ok(()) => {
                callback.log_io_completed(Ok(()));
                Ok(())
            }
            Err(error) => {
                callback.log_io_completed(Err(std::io::Error::other(error.to_string())));
                Err(StorageIoError::write_logs(&error).into())
            }
        }
    }

    async fn truncate(&mut self, since: LogId) -> Result<(), StorageError> {
        let cut = self.blocking(move |this| this.truncate_now(since)).await;
        cut.map_err(|error| StorageIoError::write_logs(&error).into())
    }

    async fn purge(&mut self, up_to: LogId) -> Result<(), StorageError> {
        let cut = self.blocking(move |this| this.purge_now(up_to)).await;
        cut.map_err(|error| StorageIoError::write_logs(&error).into())
    }
}

/// Lets go of what is before `start`. Segments go as a whole: what is behind `start` in the last one
/// begins the log then, and goes with the next cut.
fn cut_front<D: Disk>(log: &mut Log<D>, start: Offset, now_ms: i64) -> Result<(), ChangeError> {
    let end = log.log_end_offset();
    log.roll(end, now_ms)?;
    log.set_high_watermark(end);
    log.raise_log_start(start)?;
    log.delete_old_segments(now_ms)?.remove()?;
    Ok(())
}

/// The batch of an entry: one record. Everything below `durable` is synced.
fn batch_of(
    entry: &Entry,
    durable: Offset,
    now_ms: i64,
    codecs: &mut Codecs,
) -> Result<ValidBatch, LogStoreError> {
    let make = |error: &dyn std::error::Error| LogStoreError::Make {
        reason: error.to_string(),
    };
    let value = entry::encode(entry);
    let term = entry.log_id.leader_id.term;
    let key = EntryKey { durable, term }.encode();
    let buffer = Vec::with_capacity(value.len() + BATCH_OVERHEAD_MAX);
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), buffer);
    // Only people read it, and records know no time before 1970.
    let timestamp_ms = now_ms.max(0);
    let appended = builder.append(timestamp_ms, Some(&key), Some(&value), &[]);
    appended.map_err(|error| make(&error))?;
    builder.close(codecs).map_err(|error| make(&error))?;
    let batch = RecordBatch::parse(builder.into_bytes().map_err(|error| make(&error))?)?;
    let rules = ValidationRules {
        timestamp_after_max_ms: i64::MAX,
        batch_size_max: BATCH_SIZE_MAX,
        ..ValidationRules::default()
    };
    validate_own(batch, &rules, now_ms, codecs).map_err(|error| make(&error))
}

/// The entry in a batch.
fn entry_of(batch: &RecordBatch, codecs: &mut Codecs) -> Result<Entry, LogStoreError> {
    batch.check_crc()?;
    let header = batch.header();
    let offset = header.base_offset;
    let mut records = batch.read(codecs)?;
    let record = records.next()?.filter(|_| header.last_offset_delta == 0);
    let record = record.ok_or(LogStoreError::NoEntry { offset })?;
    let value = record.value.ok_or(LogStoreError::NoEntry { offset })?;
    if let Some(key) = record.key.and_then(EntryKey::decode)
        && !key.is_of(header.leader_epoch)
    {
        let (found, batch) = (key.term, header.leader_epoch);
        let source = EntryError::OtherTerm { found, batch };
        return Err(LogStoreError::Entry { offset, source });
    }
    // The entry's strings outlive the batch, which is no larger than they are.
    let value = batch.bytes().slice_ref(value);
    entry::decode(offset, header.leader_epoch, value)
        .map_err(|source| LogStoreError::Entry { offset, source })
}

fn term_as_epoch(term: u64) -> Result<LeaderEpoch, LogStoreError> {
    let epoch = i32::try_from(term).map_err(|error| LogStoreError::Make {
        reason: error.to_string(),
    })?;
    Ok(LeaderEpoch::new(epoch))
}
