//! Appending as the leader. (B2.2, B2.3, B5.3)

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use klamm_io::Disk;
use klamm_log::{Appended, DiskFailure, Now, PartitionLog, Unavailable};
use klamm_primitives::{LeaderEpoch, Offset, TopicId};
use klamm_records::{
    Codecs, RecordBatch, TimestampType, ValidBatch, ValidationError, ValidationRules, validate,
    validate_own,
};

use super::{Partition, rules};
use crate::acks::Acks;
use crate::append_request::{AppendError, AppendedRecords, Origin};
use crate::follow_up::Checks;
use crate::{NotServed, TopicSettings};

/// By whom something is appended, and how surely.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) acks: Acks,
    pub(crate) origin: Origin,
    pub(crate) zstd_allowed: bool,
}

/// What an append did.
pub(crate) struct Done {
    pub(crate) records: AppendedRecords,
    /// What must be reached before the append may be acknowledged, unless it has been.
    pub(crate) awaits: Option<Awaits>,
}

/// What an append that is not safe yet waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Awaits {
    /// One past the last record.
    pub(crate) required: Offset,
    /// The leader epoch of the append.
    pub(crate) leader_epoch: LeaderEpoch,
    /// Whether all in-sync replicas must have it, or the leader's disk alone.
    pub(crate) all_replicas: bool,
}

/// A log that has failed under a change, to be reported once no lock is held.
pub(crate) struct StorageFailure<D: Disk> {
    pub(crate) log: Arc<PartitionLog<D>>,
    pub(crate) error: Arc<dyn Error + Send + Sync>,
    /// The disk is to blame, so that the whole directory cannot be relied upon.
    pub(crate) is_the_disks: bool,
}

impl<D: Disk> StorageFailure<D> {
    pub(super) fn of<E>(log: &Arc<PartitionLog<D>>, error: Arc<E>) -> Self
    where
        E: DiskFailure + Error + Send + Sync + 'static,
    {
        Self {
            log: log.clone(),
            is_the_disks: error.takes_directory_offline(),
            error,
        }
    }
}

/// An append that was refused, and what has to be done about the log, if anything.
pub(crate) struct Refused<D: Disk> {
    pub(crate) error: AppendError,
    pub(crate) failure: Option<StorageFailure<D>>,
}

impl<D: Disk, E: Into<AppendError>> From<E> for Refused<D> {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            failure: None,
        }
    }
}

impl<D: Disk> Partition<D> {
    /// Appends one batch as the leader: checks it without any lock, then takes the partition's
    /// for reading and the log's, each once.
    ///
    /// # Errors
    /// [`AppendError`]; but for [`AppendError::Log`] with a failed log nothing was written.
    pub(crate) fn append(
        &self,
        topic_id: Option<TopicId>,
        records: Bytes,
        terms: Terms,
        codecs: &mut Codecs,
        now: Now,
    ) -> Result<(Done, Checks), Refused<D>> {
        let settings = self.settings.load();
        let checked = check(records, terms, &settings, now.unix_ms, codecs);

        let state = self.state.read();
        if !state.is_of(topic_id) {
            return Err(AppendError::UnknownTopicId.into());
        }
        let (log, leadership) = state.as_leader(None)?;
        let min_in_sync = leadership.min_in_sync(settings.min_in_sync_replicas);
        let in_sync = leadership.in_sync.committed().len();
        if terms.acks == Acks::All && in_sync < min_in_sync {
            return Err(AppendError::NotEnoughReplicas {
                in_sync,
                min_in_sync,
            }
            .into());
        }
        let valid = checked.map_err(Arc::new)?;
        let rules = rules(&settings, leadership);
        let (appended, high_watermark, moved, is_synced) = {
            let mut log_guard = log.lock();
            let batches = std::slice::from_ref(&valid);
            let appended = match terms.origin {
                Origin::Client => log_guard.append(batches, state.leader_epoch, now.unix_ms),
                Origin::Coordinator => {
                    log_guard.append_own(batches, state.leader_epoch, now.unix_ms)
                }
            };
            let appended = match appended {
                Ok(appended) => appended,
                Err(error) => {
                    drop(log_guard);
                    return Err(refused(log, error));
                }
            };
            let moved =
                leadership.raise_high_watermark(&mut log_guard, rules, &self.around, now.instant);
            let is_synced = log_guard.recovery_point() > appended.last_offset;
            (appended, log_guard.high_watermark(), moved, is_synced)
        };
        if appended.flush_is_due || (rules.syncs_first && !is_synced) {
            log.request_sync();
        }

        let required = appended.last_offset + 1;
        let is_safe = match terms.acks {
            Acks::None => true,
            Acks::Leader => !rules.syncs_first || is_synced,
            Acks::All => high_watermark >= required,
        };
        let awaits = (!is_safe).then_some(Awaits {
            required,
            leader_epoch: state.leader_epoch,
            all_replicas: terms.acks == Acks::All,
        });
        let checks = if appended.is_duplicate {
            Checks::NONE
        } else {
            Checks::FETCH
        };
        let done = Done {
            records: told(&appended, &settings),
            awaits,
        };
        Ok((done, checks.and(Checks::if_high_watermark(moved))))
    }
}

/// What the producer is told of its records.
fn told(appended: &Appended, settings: &TopicSettings) -> AppendedRecords {
    let by_the_leader = settings.rules.timestamp_type == TimestampType::LogAppend;
    AppendedRecords {
        first_offset: appended.first_offset,
        last_offset: appended.last_offset,
        log_append_time_ms: by_the_leader.then_some(appended.max_timestamp_ms),
        log_start_offset: appended.log_start_offset,
    }
}

fn check(
    records: Bytes,
    terms: Terms,
    settings: &TopicSettings,
    now_ms: i64,
    codecs: &mut Codecs,
) -> Result<ValidBatch, ValidationError> {
    let rules = ValidationRules {
        zstd_allowed: terms.zstd_allowed,
        ..settings.rules
    };
    match terms.origin {
        Origin::Client => validate(records, &rules, now_ms, codecs),
        Origin::Coordinator => {
            let own = RecordBatch::parse(records)?;
            validate_own(own, &rules, now_ms, codecs)
        }
    }
}

fn refused<D: Disk>(log: &Arc<PartitionLog<D>>, error: klamm_log::AppendError) -> Refused<D> {
    use klamm_log::AppendError as E;
    match &error {
        E::Unavailable(Unavailable::Failed) => NotServed::Offline.into(),
        // It was deleted a moment ago, or the broker stops.
        E::Unavailable(Unavailable::Closed) => NotServed::NotLeader.into(),
        E::BatchTooLarge { .. }
        | E::SetTooLarge { .. }
        | E::NotRising { .. }
        | E::TooFarApart { .. }
        | E::OffsetsUsedUp { .. }
        | E::Producer(_)
        | E::Marker(_) => Arc::new(error).into(),
        // A full disk, and want of descriptors, refuse this append alone.
        E::NotWritten(_) => {
            let has_failed = error.takes_directory_offline();
            with_failure(log, error, has_failed)
        }
        E::Failed(_) => with_failure(log, error, true),
    }
}

fn with_failure<D: Disk>(
    log: &Arc<PartitionLog<D>>,
    error: klamm_log::AppendError,
    has_failed: bool,
) -> Refused<D> {
    let error = Arc::new(error);
    Refused {
        failure: has_failed.then(|| StorageFailure::of(log, error.clone())),
        error: error.into(),
    }
}
