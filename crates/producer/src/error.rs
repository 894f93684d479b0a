//! Why a record was not sent: what is wrong with the call comes from the call ([`SendError`]),
//! what became of the record comes through its delivery ([`DeliveryError`]). (P2.9)

use std::sync::Arc;
use std::time::Duration;

use bytestring::ByteString;
use klamm_client::Trouble;
use klamm_primitives::{Offset, PartitionIndex};
use klamm_wire::ErrorCode;
use thiserror::Error;

use crate::record::RecordMetadata;
use crate::serializer::SerializeError;

/// Something is wrong with the call: no record was taken.
///
/// How it lies in memory is no promise: the representation is chosen for speed and may change with any
/// version.
// With a whole word for the variant the delivery behind it is moved by whole words, too. With a
// byte it is moved at odd addresses right after it was written, and waits for the stores each time.
#[derive(Debug, Error)]
#[repr(u64)]
pub enum SendError {
    /// The producer was closed before the call.
    #[error("the producer is closed")]
    Closed,
    /// The producer was closed while the call waited for metadata or for memory.
    #[error("the producer was closed while a record was being sent")]
    ClosedDuringSend,
    /// A serializer refused a key or a value.
    #[error("the {field} for topic {topic} could not be serialized")]
    Serialize {
        /// Which of the two.
        field: Field,
        /// The record's topic.
        topic: Arc<str>,
        /// What the serializer says.
        source: SerializeError,
    },
    /// A partitioner chose what the topic does not have.
    #[error("the partitioner chose partition {chosen} of topic {topic}, which has {count}")]
    NoSuchPartition {
        /// The record's topic.
        topic: Arc<str>,
        /// What was chosen.
        chosen: PartitionIndex,
        /// How many partitions the topic has.
        count: u32,
    },
    /// The producer failed for good earlier; it can only be closed.
    #[error("the producer cannot go on: {0}")]
    Fatal(Failure),
}

/// A part of a record that has a serializer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// The key.
    Key,
    /// The value.
    Value,
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Key => "key",
            Self::Value => "value",
        })
    }
}

/// What became of a record that was not acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a record for {topic}{}: {failure}", .partition.map_or_else(String::new, |p| format!("-{p}")))]
pub struct DeliveryError {
    /// The record's topic.
    pub topic: Arc<str>,
    /// Its partition, if one had been chosen.
    pub partition: Option<PartitionIndex>,
    /// Why.
    pub failure: Failure,
}

impl DeliveryError {
    /// Whether sending the record once more could succeed. It may then be in the log twice where
    /// [`Failure::may_have_been_written`] says so.
    pub fn is_retriable(&self) -> bool {
        self.failure.is_retriable()
    }

    /// The metadata of a record that has none: topic and, if known, partition.
    pub fn metadata(&self) -> RecordMetadata {
        RecordMetadata {
            topic: self.topic.clone(),
            partition: self.partition,
            offset: Offset::UNKNOWN,
            timestamp_ms: -1,
            key_size: None,
            value_size: None,
        }
    }
}

/// Why a record, or all of a batch, failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Failure {
    /// Nothing was known of the topic within `max.block.ms`.
    #[error(
        "topic not in the metadata after {} ms (max.block.ms){}{}",
        .waited.as_millis(),
        cause_text(*.cause),
        last_text(.last.as_ref())
    )]
    TopicMissing {
        /// How long the call waited.
        waited: Duration,
        /// What the cluster said of the topic last, if it said anything.
        cause: Option<ErrorCode>,
        /// What has kept brokers from answering since the last answer, if anything has.
        last: Option<Obstacle>,
    },
    /// The topic did not get as many partitions within `max.block.ms`.
    #[error("the topic has {count} partitions after {} ms (max.block.ms)", .waited.as_millis())]
    PartitionMissing {
        /// How many partitions the topic has.
        count: u32,
        /// How long the call waited.
        waited: Duration,
    },
    /// No cluster allows such a name.
    #[error("the topic's name is not legal")]
    InvalidTopic,
    /// The cluster does not let this producer see or write the topic.
    #[error("not authorized for the topic")]
    TopicUnauthorized,
    /// The record alone is larger than a setting allows.
    #[error("{size} bytes with all overhead, uncompressed, are more than {setting} = {limit}")]
    RecordTooLarge {
        /// The most that the record can take.
        size: usize,
        /// What is allowed.
        limit: u64,
        /// The setting that says so.
        setting: &'static str,
    },
    /// A broker refused a batch of this record alone for its size.
    #[error("the broker refused the record for its size (max.message.bytes of the topic)")]
    RecordRefusedForSize,
    /// Memory for the record did not become free within what was left of `max.block.ms`.
    #[error("no {size} bytes of buffer.memory became free within {} ms (max.block.ms)", .waited.as_millis())]
    BufferExhausted {
        /// The bytes that were asked for.
        size: usize,
        /// How long the call waited.
        waited: Duration,
    },
    /// `delivery.timeout.ms` went by.
    #[error(
        "expiring {record_count} records for {partition}: {} ms have passed since the batch was \
         begun (delivery.timeout.ms){}",
        .age.as_millis(),
        last_text(.last.as_ref())
    )]
    Expired {
        /// How many records the batch has.
        record_count: u32,
        /// Topic and partition.
        partition: Arc<str>,
        /// Since the batch was begun.
        age: Duration,
        /// Whether the batch had been sent, so that it may have been written.
        sent: bool,
        /// What stood in its way at the end, if anything is known of it.
        last: Option<Obstacle>,
    },
    /// A broker refused the batch.
    #[error("{}", broker_text(*.code, .message.as_deref()))]
    Broker {
        /// Its code.
        code: ErrorCode,
        /// Its words, if it said any.
        message: Option<ByteString>,
    },
    /// A broker refused the batch for this record.
    #[error("the broker refused the record{}", .message.as_ref().map_or_else(String::new, |text| format!(": {text}")))]
    RecordRefused {
        /// What is wrong with it.
        message: Option<ByteString>,
    },
    /// A broker refused the batch for other records in it. This one was fine.
    #[error("the broker refused the batch for other records in it")]
    BatchRefused,
    /// The brokers that can be reached do not speak a version of the request that is known here.
    #[error("the broker does not support {0} in a version that this producer speaks")]
    UnsupportedVersion(&'static str),
    /// The producer was closed before the record was acknowledged.
    #[error("the producer was closed before the record was acknowledged")]
    Closed,
    /// The producer failed for good for another reason, which is this.
    #[error("the producer cannot go on: {0}")]
    ProducerFailed(Arc<Failure>),
    /// The call that sent the record failed, for this reason. Only interceptors see it: the caller
    /// has the [`SendError`].
    #[error("{0}")]
    CallFailed(Arc<str>),
    /// The system had no memory for a batch.
    #[error("the system did not give {size} bytes for a batch")]
    OutOfMemory {
        /// The bytes that were asked for.
        size: usize,
    },
    /// The batch could not be finished: a codec failed.
    #[error("the batch could not be built: {0}")]
    Unbuildable(klamm_records::CloseError),
}

/// What stood in the way of a record whose time ran out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The connection to the node that the record was for, or that was asked for metadata, could
    /// not be made or was lost, and is not there again.
    Connection(Arc<Trouble>),
    /// A broker, or the lack of its answer, said that this is to be tried again.
    Answer(ErrorCode),
    /// No leader is known of the record's partition.
    NoLeader,
    /// No address of `bootstrap.servers` has answered, and no connection was lost: one is being
    /// made still, or nobody speaks on it.
    Silence,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connection(trouble) => trouble.fmt(f),
            Self::Answer(code) => f.write_str(&broker_text(*code, None)),
            Self::NoLeader => f.write_str("no leader is known of the partition"),
            Self::Silence => f.write_str("no address of bootstrap.servers has answered"),
        }
    }
}

impl Failure {
    /// Whether the same record could succeed if it was sent once more.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::TopicMissing { .. }
            | Self::PartitionMissing { .. }
            | Self::BufferExhausted { .. }
            | Self::OutOfMemory { .. }
            | Self::Expired { .. }
            | Self::BatchRefused => true,
            Self::Broker { code, .. } => code.is_retriable(),
            Self::InvalidTopic
            | Self::TopicUnauthorized
            | Self::RecordTooLarge { .. }
            | Self::RecordRefusedForSize
            | Self::RecordRefused { .. }
            | Self::UnsupportedVersion(_)
            | Self::Closed
            | Self::CallFailed(_)
            | Self::ProducerFailed(_)
            | Self::Unbuildable(_) => false,
        }
    }

    /// Whether the record may be in the log all the same: the answer did not come, or said so.
    pub fn may_have_been_written(&self) -> bool {
        match self {
            Self::Expired { sent, .. } => *sent,
            Self::Closed => true,
            Self::Broker { code, .. } => matches!(
                *code,
                ErrorCode::REQUEST_TIMED_OUT
                    | ErrorCode::NETWORK_EXCEPTION
                    | ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND
            ),
            _ => false,
        }
    }

    /// A broker's answer without words of its own.
    pub(crate) fn of(code: ErrorCode) -> Self {
        Self::Broker {
            code,
            message: None,
        }
    }
}

fn cause_text(code: Option<ErrorCode>) -> String {
    code.map_or_else(String::new, |code| format!(": {}", broker_text(code, None)))
}

fn last_text(last: Option<&Obstacle>) -> String {
    last.map_or_else(String::new, |last| format!("; last: {last}"))
}

/// The broker's words, else the code's own.
fn broker_text(code: ErrorCode, message: Option<&str>) -> String {
    match (message, code.meaning()) {
        (Some(message), _) => format!("{code}: {message}"),
        (None, Some(meaning)) => format!("{code}: {meaning}"),
        (None, None) => code.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pr_070_the_brokers_words_go_before_those_of_the_code() {
        let text = |message: Option<&str>| {
            let code = ErrorCode::INVALID_RECORD;
            let message = message.map(Into::into);
            Failure::Broker { code, message }.to_string()
        };
        assert_eq!(text(Some("no key")), "INVALID_RECORD: no key");
        let standard = ErrorCode::INVALID_RECORD.meaning().unwrap();
        assert_eq!(text(None), format!("INVALID_RECORD: {standard}"));
    }

    /// Covers PR-008, P2.9.
    #[test]
    fn an_error_names_topic_and_partition_and_gives_metadata_without_numbers() {
        let mut error = DeliveryError {
            topic: "clicks".into(),
            partition: None,
            failure: Failure::InvalidTopic,
        };
        assert!(error.to_string().starts_with("a record for clicks: "));
        error.partition = Some(3.into());
        assert!(error.to_string().starts_with("a record for clicks-3: "));
        let expected = RecordMetadata {
            topic: "clicks".into(),
            partition: Some(3.into()),
            offset: Offset::UNKNOWN,
            timestamp_ms: -1,
            key_size: None,
            value_size: None,
        };
        assert_eq!(error.metadata(), expected);
        assert!(!error.is_retriable());
    }
}
