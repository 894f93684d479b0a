//! Which of the protocol's error codes stands for which error of the crates below.
//!
//! No `match` here has a `_`: a new variant does not compile until its code is chosen.

use klamm_controller::{
    ControllerError, CreateTopicError, DeleteTopicError, ProducerIdsError, ProposeError,
};
use klamm_log::ProducerStateError;
use klamm_records::{BatchError, InflateError, RecordsError, ValidationError};
use klamm_replica::{AppendError, DeleteRecordsError, FetchError, NotServed, OffsetError};
use klamm_wire::ErrorCode;

/// What is answered for a partition that is not served.
pub(crate) fn of_not_served(error: NotServed) -> ErrorCode {
    match error {
        NotServed::UnknownPartition => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        NotServed::NotLeader => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        NotServed::Offline => ErrorCode::KAFKA_STORAGE_ERROR,
        NotServed::FencedLeaderEpoch { .. } => ErrorCode::FENCED_LEADER_EPOCH,
        NotServed::UnknownLeaderEpoch { .. } => ErrorCode::UNKNOWN_LEADER_EPOCH,
        NotServed::InconsistentTopicId => ErrorCode::INCONSISTENT_TOPIC_ID,
    }
}

/// What is answered for records that were not appended, or not as surely as asked for.
pub(crate) fn of_append(error: &AppendError) -> ErrorCode {
    match error {
        AppendError::NotServed(error) => of_not_served(*error),
        AppendError::UnknownTopicId => ErrorCode::UNKNOWN_TOPIC_ID,
        AppendError::InvalidRequiredAcks { .. } => ErrorCode::INVALID_REQUIRED_ACKS,
        AppendError::InternalTopic => ErrorCode::INVALID_TOPIC_EXCEPTION,
        AppendError::NotEnoughReplicas { .. } => ErrorCode::NOT_ENOUGH_REPLICAS,
        AppendError::NotEnoughReplicasAfterAppend { .. } => {
            ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND
        }
        AppendError::TimedOut => ErrorCode::REQUEST_TIMED_OUT,
        AppendError::Invalid(error) => of_validation(error),
        AppendError::Log(error) => of_log_append(error),
    }
}

/// What is answered for a batch that may not be appended.
pub(crate) fn of_validation(error: &ValidationError) -> ErrorCode {
    match error {
        ValidationError::Batch(error) => of_batch(error),
        ValidationError::ZstdNotAllowed => ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
        ValidationError::LogAppendTime => ErrorCode::INVALID_TIMESTAMP,
        ValidationError::Records(error) => of_records(error),
        ValidationError::Failures(failures) if failures.any_timestamp => {
            ErrorCode::INVALID_TIMESTAMP
        }
        ValidationError::NoBatch
        | ValidationError::SeveralBatches
        | ValidationError::LegacyMagic { .. }
        | ValidationError::BaseOffset { .. }
        | ValidationError::Count { .. }
        | ValidationError::Control
        | ValidationError::Sequence { .. }
        | ValidationError::Failures(_) => ErrorCode::INVALID_RECORD,
        ValidationError::Rebuild(_) => ErrorCode::UNKNOWN_SERVER_ERROR,
    }
}

fn of_batch(error: &BatchError) -> ErrorCode {
    match error {
        BatchError::TooLarge { .. } => ErrorCode::MESSAGE_TOO_LARGE,
        BatchError::Truncated { .. }
        | BatchError::LegacyMagic { .. }
        | BatchError::UnknownMagic { .. }
        | BatchError::TooSmall { .. }
        | BatchError::TrailingBytes { .. }
        | BatchError::Crc { .. } => ErrorCode::CORRUPT_MESSAGE,
    }
}

fn of_records(error: &RecordsError) -> ErrorCode {
    match error {
        RecordsError::UnknownCodec(_) => ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
        // Smaller batches may fit: the producer is told to divide it, not to send it again.
        RecordsError::Inflate {
            source: InflateError::TooLarge { .. },
            ..
        } => ErrorCode::MESSAGE_TOO_LARGE,
        RecordsError::Inflate { .. } => ErrorCode::CORRUPT_MESSAGE,
        RecordsError::Compressed { .. }
        | RecordsError::NegativeCount { .. }
        | RecordsError::Record { .. }
        | RecordsError::TrailingBytes { .. } => ErrorCode::INVALID_RECORD,
    }
}

fn of_log_append(error: &klamm_log::AppendError) -> ErrorCode {
    use klamm_log::AppendError as Error;
    match error {
        Error::BatchTooLarge { .. } => ErrorCode::MESSAGE_TOO_LARGE,
        Error::SetTooLarge { .. } => ErrorCode::RECORD_LIST_TOO_LARGE,
        Error::Producer(error) => of_producer_state(error),
        Error::Marker(_) => ErrorCode::INVALID_RECORD,
        // Of followers' appends alone; a leader that met one would be at fault itself.
        Error::NotRising { .. } | Error::TooFarApart { .. } => ErrorCode::UNKNOWN_SERVER_ERROR,
        Error::Unavailable(_)
        | Error::OffsetsUsedUp { .. }
        | Error::NotWritten(_)
        | Error::Failed(_) => ErrorCode::KAFKA_STORAGE_ERROR,
    }
}

fn of_producer_state(error: &ProducerStateError) -> ErrorCode {
    match error {
        ProducerStateError::OutOfOrderSequence { .. } => ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
        ProducerStateError::InvalidProducerEpoch { .. } => ErrorCode::INVALID_PRODUCER_EPOCH,
        ProducerStateError::NotInTransaction { .. } => ErrorCode::INVALID_TXN_STATE,
        ProducerStateError::CoordinatorFenced { .. } => ErrorCode::TRANSACTION_COORDINATOR_FENCED,
    }
}

/// What is answered for a partition that was not read.
pub(crate) fn of_fetch(error: &FetchError) -> ErrorCode {
    match error {
        FetchError::NotServed(error) => of_not_served(*error),
        FetchError::OffsetOutOfRange { .. } => ErrorCode::OFFSET_OUT_OF_RANGE,
        FetchError::NotAReplica { .. } => ErrorCode::NOT_LEADER_OR_FOLLOWER,
        FetchError::Read(error) => of_read(error),
    }
}

fn of_read(error: &klamm_log::ReadError) -> ErrorCode {
    match error {
        klamm_log::ReadError::OffsetOutOfRange { .. } => ErrorCode::OFFSET_OUT_OF_RANGE,
        klamm_log::ReadError::Segment(_) => ErrorCode::KAFKA_STORAGE_ERROR,
    }
}

/// What is answered for an offset that could not be told.
pub(crate) fn of_offset(error: &OffsetError) -> ErrorCode {
    match error {
        OffsetError::NotServed(error) => of_not_served(*error),
        OffsetError::NotAvailable { .. } => ErrorCode::OFFSET_NOT_AVAILABLE,
        OffsetError::Read(error) => of_read(error),
    }
}

/// What is answered for records that were not deleted.
pub(crate) fn of_delete_records(error: &DeleteRecordsError) -> ErrorCode {
    match error {
        DeleteRecordsError::NotServed(error) => of_not_served(*error),
        DeleteRecordsError::PolicyViolation => ErrorCode::POLICY_VIOLATION,
        DeleteRecordsError::OffsetOutOfRange { .. } => ErrorCode::OFFSET_OUT_OF_RANGE,
        DeleteRecordsError::Log(_) => ErrorCode::KAFKA_STORAGE_ERROR,
        DeleteRecordsError::TimedOut => ErrorCode::REQUEST_TIMED_OUT,
    }
}

/// What is answered where the controller did nothing about a request.
pub(crate) fn of_controller(error: &ControllerError) -> ErrorCode {
    match error {
        // One that has stopped may be found elsewhere, or here when it is up again.
        ControllerError::NotController { .. } | ControllerError::Stopped => {
            ErrorCode::NOT_CONTROLLER
        }
        ControllerError::TimedOut => ErrorCode::REQUEST_TIMED_OUT,
        ControllerError::Quorum(error) => of_propose(error),
    }
}

fn of_propose(error: &ProposeError) -> ErrorCode {
    match error {
        ProposeError::NotLeader { .. } => ErrorCode::NOT_CONTROLLER,
        ProposeError::TooLarge { .. } => ErrorCode::INVALID_REQUEST,
        ProposeError::Unencodable(_) | ProposeError::Rejected(_) => ErrorCode::UNKNOWN_SERVER_ERROR,
        // A client may try again, and there may be room then.
        ProposeError::NoRoom { .. } => ErrorCode::KAFKA_STORAGE_ERROR,
        ProposeError::Unsure { .. } => ErrorCode::REQUEST_TIMED_OUT,
    }
}

/// What is answered for a topic that was not created.
pub(crate) fn of_create_topic(error: &CreateTopicError) -> ErrorCode {
    match error {
        CreateTopicError::Exists => ErrorCode::TOPIC_ALREADY_EXISTS,
        CreateTopicError::NamedTwice | CreateTopicError::NumbersBesideAssignments => {
            ErrorCode::INVALID_REQUEST
        }
        CreateTopicError::InvalidName(_) => ErrorCode::INVALID_TOPIC_EXCEPTION,
        CreateTopicError::InvalidPartitionCount { .. } => ErrorCode::INVALID_PARTITIONS,
        CreateTopicError::TooManyPartitions => ErrorCode::POLICY_VIOLATION,
        CreateTopicError::InvalidReplicationFactor { .. } | CreateTopicError::NoActiveBroker => {
            ErrorCode::INVALID_REPLICATION_FACTOR
        }
        CreateTopicError::InvalidAssignment(_) => ErrorCode::INVALID_REPLICA_ASSIGNMENT,
        CreateTopicError::InvalidSetting(_) => ErrorCode::INVALID_CONFIG,
    }
}

/// What is answered for a topic that was not deleted. Below version 3 clients do not know that
/// deletion can be switched off.
pub(crate) fn of_delete_topic(error: &DeleteTopicError, version: i16) -> ErrorCode {
    match error {
        DeleteTopicError::UnknownName { .. } => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        DeleteTopicError::UnknownId { .. } => ErrorCode::UNKNOWN_TOPIC_ID,
        DeleteTopicError::NamedTwice => ErrorCode::INVALID_REQUEST,
        DeleteTopicError::Disabled if version < 3 => ErrorCode::INVALID_REQUEST,
        DeleteTopicError::Disabled => ErrorCode::TOPIC_DELETION_DISABLED,
    }
}

/// What is answered where no producer id could be had. A producer tries again after that.
pub(crate) fn of_producer_ids(error: &ProducerIdsError) -> ErrorCode {
    match error {
        ProducerIdsError::Controller(_) | ProducerIdsError::StaleEpoch(_) => {
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        }
        ProducerIdsError::UsedUp { .. } => ErrorCode::UNKNOWN_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use klamm_primitives::LeaderEpoch;
    use klamm_records::Codec;

    use super::*;

    #[test]
    fn partitions_that_are_not_served_are_told_apart() {
        let epochs = (LeaderEpoch::new(1), LeaderEpoch::new(2));
        let (requested, current) = epochs;
        for (error, code) in [
            (NotServed::UnknownPartition, 3),
            (NotServed::NotLeader, 6),
            (NotServed::Offline, 56),
            (NotServed::FencedLeaderEpoch { requested, current }, 74),
            (NotServed::UnknownLeaderEpoch { requested, current }, 75),
            (NotServed::InconsistentTopicId, 103),
        ] {
            assert_eq!(of_not_served(error).get(), code, "{error}");
            assert_eq!(of_append(&error.into()).get(), code);
            assert_eq!(of_fetch(&error.into()).get(), code);
            assert_eq!(of_offset(&error.into()).get(), code);
        }
    }

    #[test]
    fn batches_are_refused_by_what_is_wrong_with_them() {
        let crc = BatchError::Crc {
            stored: 1,
            computed: 2,
        };
        let large = BatchError::TooLarge { size: 2, limit: 1 };
        let inflate = |source| {
            ValidationError::Records(RecordsError::Inflate {
                index: 0,
                position: 0,
                source,
            })
        };
        for (error, code) in [
            (ValidationError::NoBatch, 87),
            (ValidationError::Batch(crc), 2),
            (ValidationError::Batch(large), 10),
            (ValidationError::ZstdNotAllowed, 76),
            (ValidationError::LogAppendTime, 32),
            (ValidationError::Control, 87),
            (inflate(InflateError::TooLarge { limit: 1 }), 10),
            (inflate(InflateError::Truncated { codec: Codec::Gzip }), 2),
        ] {
            assert_eq!(of_validation(&error).get(), code, "{error}");
        }
    }

    #[test]
    fn switched_off_deletion_is_an_invalid_request_to_old_clients() {
        assert_eq!(of_delete_topic(&DeleteTopicError::Disabled, 2).get(), 42);
        assert_eq!(of_delete_topic(&DeleteTopicError::Disabled, 3).get(), 73);
    }
}
