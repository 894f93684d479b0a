//! [`Event`]: what is printed, each as one JSON object on a line. (PR-159)

use std::sync::Arc;
use std::time::Duration;

use klamm_producer::{DeliveryError, Failure, RecordMetadata, SendError};
use serde::Serialize;
use serde_json::Number;

/// What was sent, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Sent {
    pub(crate) key: Option<String>,
    pub(crate) value: String,
    #[serde(serialize_with = "as_text")]
    pub(crate) topic: Arc<str>,
}

/// What has happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub(crate) enum Event {
    /// Records are being sent from now on.
    StartupComplete,
    /// A record was acknowledged.
    ProducerSendSuccess {
        #[serde(flatten)]
        sent: Sent,
        /// -1 if it is not known.
        partition: i32,
        /// -1 if it is not known, as without acknowledgements.
        offset: i64,
    },
    /// A record was not acknowledged.
    ProducerSendError {
        #[serde(flatten)]
        sent: Sent,
        /// Which kind of failure: a broker's error code, or one of the producer's own.
        exception: String,
        /// The failure in words.
        message: String,
    },
    /// Every record has been told of.
    ShutdownComplete,
    /// The account of the run.
    ToolData {
        /// Records that were handed to the producer.
        sent: u64,
        /// Records that were acknowledged.
        acked: u64,
        /// What was asked for: records a second, -1 for no limit.
        target_throughput: Number,
        /// Records a second that were acknowledged.
        avg_throughput: f64,
    },
}

impl Event {
    /// A record was acknowledged.
    pub(crate) fn acknowledged(sent: Sent, metadata: &RecordMetadata) -> Self {
        let partition = match metadata.partition {
            Some(partition) => partition.get(),
            None => -1,
        };
        Self::ProducerSendSuccess {
            sent,
            partition,
            offset: metadata.offset.get(),
        }
    }

    /// A record failed on its way.
    pub(crate) fn failed(sent: Sent, error: &DeliveryError) -> Self {
        Self::ProducerSendError {
            sent,
            exception: name_of(&error.failure),
            message: error.to_string(),
        }
    }

    /// A record was not taken.
    pub(crate) fn refused(sent: Sent, error: &SendError) -> Self {
        Self::ProducerSendError {
            sent,
            exception: "NotTaken".to_owned(),
            message: error.to_string(),
        }
    }

    /// The account of a run that took so long.
    pub(crate) fn tool_data(sent: u64, acked: u64, target: f64, elapsed: Duration) -> Self {
        // Whole numbers are printed as such.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is cut off where it is beyond"
        )]
        let number = if target.fract() == 0.0 {
            Number::from(target as i64)
        } else {
            Number::from_f64(target).unwrap_or_else(|| 0.into())
        };
        #[expect(clippy::cast_precision_loss, reason = "2^53 records are many")]
        let avg_throughput = if elapsed.is_zero() {
            0.0
        } else {
            acked as f64 / elapsed.as_secs_f64()
        };
        Self::ToolData {
            sent,
            acked,
            target_throughput: number,
            avg_throughput,
        }
    }

    /// The event as a line, without its end.
    pub(crate) fn line(&self, timestamp_ms: i64) -> String {
        #[derive(Serialize)]
        struct Line<'a> {
            timestamp: i64,
            #[serde(flatten)]
            event: &'a Event,
        }
        let line = Line {
            timestamp: timestamp_ms,
            event: self,
        };
        serde_json::to_string(&line).expect("numbers and texts are always JSON")
    }
}

fn as_text<S: serde::Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// One word for a failure.
fn name_of(failure: &Failure) -> String {
    let name = match failure {
        Failure::TopicMissing { .. } => "TopicMissing",
        Failure::PartitionMissing { .. } => "PartitionMissing",
        Failure::InvalidTopic => "InvalidTopic",
        Failure::TopicUnauthorized => "TopicUnauthorized",
        Failure::RecordTooLarge { .. } => "RecordTooLarge",
        Failure::RecordRefusedForSize => "RecordRefusedForSize",
        Failure::BufferExhausted { .. } => "BufferExhausted",
        Failure::Expired { .. } => "Expired",
        Failure::Broker { code, .. } => return code.to_string(),
        Failure::RecordRefused { .. } => "RecordRefused",
        Failure::BatchRefused => "BatchRefused",
        Failure::UnsupportedVersion(_) => "UnsupportedVersion",
        Failure::Closed => "Closed",
        Failure::ProducerFailed(_) => "ProducerFailed",
        Failure::CallFailed(_) => "CallFailed",
        Failure::OutOfMemory { .. } => "OutOfMemory",
        Failure::Unbuildable(_) => "Unbuildable",
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent() -> Sent {
        Sent {
            key: None,
            value: "1.0".to_owned(),
            topic: "t".into(),
        }
    }

    #[test]
    fn pr_159_each_event_is_an_object_with_timestamp_and_name() {
        assert_eq!(
            Event::StartupComplete.line(7),
            r#"{"timestamp":7,"name":"startup_complete"}"#
        );
        assert_eq!(
            Event::ShutdownComplete.line(8),
            r#"{"timestamp":8,"name":"shutdown_complete"}"#
        );
        let data = Event::tool_data(10, 9, -1.0, Duration::from_secs(2));
        assert_eq!(
            data.line(9),
            r#"{"timestamp":9,"name":"tool_data","sent":10,"acked":9,"target_throughput":-1,"avg_throughput":4.5}"#
        );
        let fraction = Event::tool_data(0, 0, 0.5, Duration::ZERO).line(9);
        assert!(fraction.contains(r#""target_throughput":0.5,"avg_throughput":0.0"#));
    }

    #[test]
    fn pr_159_a_success_says_where_and_an_error_says_why() {
        let failure = Failure::InvalidTopic;
        let topic = Arc::from("t");
        let partition = Some(3.into());
        let error = DeliveryError {
            topic,
            partition,
            failure,
        };
        let mut metadata = error.metadata();
        assert_eq!(
            Event::acknowledged(sent(), &metadata).line(7),
            r#"{"timestamp":7,"name":"producer_send_success","key":null,"value":"1.0","topic":"t","partition":3,"offset":-1}"#
        );
        metadata.partition = None;
        let keyed = Sent {
            key: Some("k".to_owned()),
            ..sent()
        };
        let unknown = Event::acknowledged(keyed, &metadata).line(7);
        assert!(unknown.contains(r#""key":"k""#) && unknown.contains(r#""partition":-1"#));
        assert_eq!(
            Event::failed(sent(), &error).line(7),
            r#"{"timestamp":7,"name":"producer_send_error","key":null,"value":"1.0","topic":"t","exception":"InvalidTopic","message":"a record for t-3: the topic's name is not legal"}"#
        );
        let refused = Event::refused(sent(), &SendError::Closed).line(7);
        assert!(refused.contains(r#""exception":"NotTaken","message":"the producer is closed""#));
    }
}
