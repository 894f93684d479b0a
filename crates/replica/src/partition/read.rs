//! Reading as the leader, and what a follower's fetch tells. (B3.1, B5.2)

use std::sync::Arc;
use std::time::Instant;

use klamm_io::Disk;
use klamm_log::{DiskFailure, EpochEnd, Isolation, LogReader, Place, ReadError, ReadLimit};
use klamm_primitives::{BrokerEpoch, BrokerId, LeaderEpoch, Offset};

use super::{Partition, State, StorageFailure, rules};
use crate::NotServed;
use crate::fetch_request::{FetchError, FetchPartition, FetchedRecords, Fetcher};
use crate::follow_up::Checks;
use crate::isr_proposal::IsrProposal;
use crate::leadership::{Follower, Leadership};
use crate::progress::Fetched;

/// What is to be read of a partition.
pub(crate) struct Wanted<'a> {
    pub(crate) request: &'a FetchPartition,
    pub(crate) fetcher: Fetcher,
    /// How much the limits leave.
    pub(crate) limit: ReadLimit,
    pub(crate) mode: ReadMode,
}

/// Why it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// The request has just come, and tells how far a follower is.
    Arrival,
    /// It has waited; its position was noted when it came. (PU-059, PU-060)
    AfterWaiting,
}

/// What was read, and from where on to wait for more.
pub(crate) struct Found<D: Disk> {
    pub(crate) records: FetchedRecords<D::File>,
    pub(crate) seen: Seen,
}

/// Where a reader stood when it found too little.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Its fetch offset, and where that is.
    start: Place,
    /// Where its sight ended.
    visible_end: Offset,
}

/// What one who waits could read by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readable {
    /// So many bytes.
    Bytes(u64),
    /// However much it is, there is nothing to wait for.
    AnswerNow,
}

/// What a follower's fetch has led to.
#[derive(Default)]
pub(crate) struct Noted {
    pub(crate) checks: Checks,
    pub(crate) proposal: Option<IsrProposal>,
}

impl Fetcher {
    /// How far it sees. (RE-076)
    pub(crate) const fn isolation(self) -> Isolation {
        match self {
            Self::Consumer => Isolation::HighWatermark,
            Self::CommittedConsumer => Isolation::Committed,
            Self::Follower { .. } => Isolation::LogEnd,
        }
    }
}

impl<D: Disk> Partition<D> {
    /// Reads, and notes how far the follower is if it is one.
    ///
    /// # Errors
    /// [`FetchError`]; nothing was noted.
    pub(crate) fn read(
        &self,
        wanted: &Wanted<'_>,
        now: Instant,
    ) -> Result<(Found<D>, Noted), FetchError> {
        let state = self.state.read();
        let request = wanted.request;
        state.check_topic_id(request)?;
        let (log, leadership) = state.as_leader(request.current_leader_epoch)?;
        let follower = follower_of(leadership, wanted.fetcher)?;

        if let Some(diverging) = diverging(log.reader(), request)? {
            return Ok((diverged(log.reader(), diverging), Noted::default()));
        }
        let isolation = wanted.fetcher.isolation();
        let read = log
            .reader()
            .read(request.fetch_offset, wanted.limit, isolation)
            .map_err(refused)?;
        // A part of one batch helps nobody.
        let range = read.range.filter(|_| !read.first_batch_is_cut);
        let mut found = Found {
            records: FetchedRecords {
                high_watermark: read.offsets.high_watermark,
                last_stable_offset: read.offsets.last_stable,
                log_start_offset: read.offsets.log_start,
                aborted: read.aborted,
                records: range,
                diverging: None,
            },
            seen: Seen {
                start: read.start,
                visible_end: match isolation {
                    Isolation::LogEnd => read.offsets.log_end,
                    Isolation::HighWatermark => read.offsets.high_watermark,
                    Isolation::Committed => read.offsets.last_stable,
                },
            },
        };
        let (Some((follower, broker_epoch)), ReadMode::Arrival) = (follower, wanted.mode) else {
            return Ok((found, Noted::default()));
        };

        let fetched = Fetched {
            place: Place {
                offset: request.fetch_offset,
                ..read.start
            },
            log_start: request.log_start_offset,
            broker_epoch,
            leader_end: read.offsets.log_end,
        };
        let checks = self.note(&state, follower, &fetched, now);
        let records = &mut found.records;
        records.high_watermark = log.reader().offsets().high_watermark;
        let comes_in = leadership.may_come_in(follower, records.high_watermark, &self.around);
        let comes_in = comes_in.then_some(follower.broker);
        drop(state);
        let proposal = comes_in.and_then(|broker| self.propose_growth(broker));
        Ok((found, Noted { checks, proposal }))
    }

    /// Notes how far a follower is, and moves what follows from it.
    fn note(
        &self,
        state: &State<D>,
        follower: &Follower,
        fetched: &Fetched,
        now: Instant,
    ) -> Checks {
        let Ok((log, leadership)) = state.as_leader(None) else {
            return Checks::NONE;
        };
        let log_start_moved = {
            let mut progress = follower.progress.lock();
            let before = progress.log_start;
            progress.fetched(fetched, now);
            progress.log_start != before
        };
        let mut checks = if log_start_moved {
            Checks::DELETE_RECORDS
        } else {
            Checks::NONE
        };
        // One that has nothing beyond the mark cannot have held it back.
        if fetched.place.offset > log.reader().offsets().high_watermark {
            let rules = rules(&self.settings.load(), leadership);
            let moved = leadership.raise_high_watermark(&mut log.lock(), rules, &self.around, now);
            checks = checks.and(Checks::if_high_watermark(moved));
        }
        checks
    }

    /// What one who waits since `seen` could read by now. Reads no records. (PU-053 to PU-058)
    pub(crate) fn readable(
        &self,
        request: &FetchPartition,
        fetcher: Fetcher,
        seen: &Seen,
    ) -> Readable {
        let state = self.state.read();
        let Ok((log, _)) = state.as_leader(request.current_leader_epoch) else {
            return Readable::AnswerNow;
        };
        let reader = log.reader();
        if !matches!(diverging(reader, request), Ok(None)) {
            return Readable::AnswerNow;
        }
        let Ok(end) = reader.visible_end(fetcher.isolation()) else {
            return Readable::AnswerNow;
        };
        let offsets = reader.offsets();
        let offset = request.fetch_offset;
        let was_cut = offset > offsets.log_end
            || offset < offsets.log_start
            || (end.offset < seen.visible_end && end.offset < offset);
        if was_cut {
            return Readable::AnswerNow;
        }
        if end.offset <= offset {
            return Readable::Bytes(0);
        }
        if end.segment_base != seen.start.segment_base {
            return Readable::AnswerNow;
        }
        let bytes = end.position.saturating_sub(seen.start.position);
        Readable::Bytes(bytes.min(request.max_bytes).into())
    }
}

impl<D: Disk> Partition<D> {
    /// What a read that failed says of the log: nothing, unless it is the disk's fault.
    pub(crate) fn failure_of(&self, error: &FetchError) -> Option<StorageFailure<D>> {
        match error {
            FetchError::Read(error) => self.read_failure(error),
            _ => None,
        }
    }

    /// As [`Partition::failure_of`], for whatever was read.
    pub(crate) fn read_failure(&self, error: &Arc<ReadError>) -> Option<StorageFailure<D>> {
        if !error.takes_directory_offline() {
            return None;
        }
        let state = self.state.read();
        let log = state.as_replica(None).ok()?;
        Some(StorageFailure::of(log, error.clone()))
    }
}

impl<D: Disk> State<D> {
    /// A topic that was made again under its name is another. (RE-081)
    fn check_topic_id(&self, request: &FetchPartition) -> Result<(), NotServed> {
        if self.is_of(request.topic_id) {
            Ok(())
        } else {
            Err(NotServed::InconsistentTopicId)
        }
    }
}

/// The follower that fetches, and by which epoch; `None` for consumers. (RE-049, RE-051)
fn follower_of(
    leadership: &Leadership,
    fetcher: Fetcher,
) -> Result<Option<(&Follower, Option<BrokerEpoch>)>, FetchError> {
    let Fetcher::Follower {
        broker,
        broker_epoch,
    } = fetcher
    else {
        return Ok(None);
    };
    let refuse = |broker: BrokerId| FetchError::NotAReplica { broker };
    let follower = leadership.follower(broker).ok_or(refuse(broker))?;
    let broker_epoch = broker_epoch.filter(|it| *it != BrokerEpoch::NONE);
    if broker_epoch.is_some_and(|it| it < follower.progress.lock().broker_epoch) {
        return Err(refuse(broker));
    }
    Ok(Some((follower, broker_epoch)))
}

/// Where the client's log and this one part ways, if they do. (RE-027 to RE-030)
fn diverging<D: Disk>(
    reader: &LogReader<D>,
    request: &FetchPartition,
) -> Result<Option<EpochEnd>, FetchError> {
    let asked = request.last_fetched_epoch;
    let Some(last) = asked.filter(|it| *it != LeaderEpoch::NONE) else {
        return Ok(None);
    };
    let offsets = reader.offsets();
    let offset = request.fetch_offset;
    let out_of_range = FetchError::OffsetOutOfRange {
        offset,
        log_start: offsets.log_start,
        log_end: offsets.log_end,
    };
    if offset < offsets.log_start {
        return Err(out_of_range);
    }
    let Some(end) = reader.end_of_epoch(last) else {
        return Err(out_of_range);
    };
    Ok((end.epoch < last || end.end_offset < offset).then_some(end))
}

/// The answer to one whose log is another than this one. (RE-028)
fn diverged<D: Disk>(reader: &LogReader<D>, diverging: EpochEnd) -> Found<D> {
    let offsets = reader.offsets();
    Found {
        records: FetchedRecords {
            high_watermark: offsets.high_watermark,
            last_stable_offset: offsets.last_stable,
            log_start_offset: offsets.log_start,
            aborted: None,
            records: None,
            diverging: Some(diverging),
        },
        seen: Seen {
            start: Place {
                offset: offsets.log_end,
                segment_base: offsets.log_end,
                position: 0,
            },
            visible_end: offsets.log_end,
        },
    }
}

fn refused(error: ReadError) -> FetchError {
    match error {
        ReadError::OffsetOutOfRange {
            offset,
            log_start,
            log_end,
        } => FetchError::OffsetOutOfRange {
            offset,
            log_start,
            log_end,
        },
        ReadError::Segment(_) => FetchError::Read(Arc::new(error)),
    }
}
