//! What is answered to a produce request.

use std::fmt::Write as _;

use klamm_controller::MetadataImage;
use klamm_primitives::{Offset, TopicPartition};
use klamm_records::ValidationError;
use klamm_replica::{AppendError, AppendedRecords, PartitionAppended};
use klamm_wire::ErrorCode;
use klamm_wire::messages::produce::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse,
    ProduceResponse, TopicProduceResponse,
};

use crate::error_code;
use crate::layout::Layout;
use crate::node::CurrentLeader;

/// The first version that tells where the leader has gone.
const LEADERS_SINCE: i16 = 10;

/// The answer: each partition of the request once, in its order.
pub(super) fn response(
    layout: &Layout,
    results: Vec<PartitionAppended>,
    image: &MetadataImage,
    listener: &str,
    version: i16,
) -> ProduceResponse {
    let mut results = results.into_iter();
    let mut node_endpoints: Vec<NodeEndpoint> = Vec::new();
    let mut responses = Vec::with_capacity(layout.topics.len());
    for topic in &layout.topics {
        let mut partition_responses = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let mut answer = match partition.refused {
                Some(code) => refused(code),
                None => match results.next().map(|it| it.result) {
                    Some(Ok(appended)) => appended_at(appended),
                    Some(Err(error)) => failed(&error),
                    None => refused(ErrorCode::UNKNOWN_SERVER_ERROR),
                },
            };
            answer.index = partition.index;
            let has_moved = answer.error_code == ErrorCode::NOT_LEADER_OR_FOLLOWER;
            if has_moved && version >= LEADERS_SINCE {
                let name = TopicPartition::new(topic.name.clone(), partition.index);
                if let Some(leader) = CurrentLeader::of(image, &name, listener) {
                    answer.current_leader = LeaderIdAndEpoch {
                        leader_id: leader.id,
                        leader_epoch: leader.epoch,
                        ..LeaderIdAndEpoch::default()
                    };
                    add_endpoint(&mut node_endpoints, &leader);
                }
            }
            partition_responses.push(answer);
        }
        responses.push(TopicProduceResponse {
            name: (&*topic.name).into(),
            topic_id: topic.id,
            partition_responses,
            ..TopicProduceResponse::default()
        });
    }
    ProduceResponse {
        responses,
        node_endpoints,
        ..ProduceResponse::default()
    }
}

/// So many partitions with errors are named in a line of the log.
const NAMED_MAX: usize = 20;

/// The partitions with errors and their codes, for people; empty if there are none.
pub(super) fn errors(layout: &Layout, results: &[PartitionAppended]) -> String {
    let mut results = results.iter();
    let mut errors = String::new();
    let mut count = 0;
    for topic in &layout.topics {
        for partition in &topic.partitions {
            let code = partition.refused.or_else(|| {
                let result = results.next()?.result.as_ref();
                result.err().map(error_code::of_append)
            });
            let Some(code) = code else { continue };
            count += 1;
            if count <= NAMED_MAX {
                let before = if errors.is_empty() { "" } else { ", " };
                // Writing to a string does not fail.
                _ = write!(errors, "{before}{}-{}: {code}", topic.name, partition.index);
            }
        }
    }
    if count > NAMED_MAX {
        _ = write!(errors, ", and {} more", count - NAMED_MAX);
    }
    errors
}

fn appended_at(appended: AppendedRecords) -> PartitionProduceResponse {
    PartitionProduceResponse {
        base_offset: appended.first_offset,
        log_append_time_ms: appended.log_append_time_ms.unwrap_or(-1),
        log_start_offset: appended.log_start_offset,
        ..PartitionProduceResponse::default()
    }
}

fn refused(code: ErrorCode) -> PartitionProduceResponse {
    PartitionProduceResponse {
        error_code: code,
        base_offset: Offset::UNKNOWN,
        ..PartitionProduceResponse::default()
    }
}

fn failed(error: &AppendError) -> PartitionProduceResponse {
    let mut answer = refused(error_code::of_append(error));
    if let AppendError::Invalid(error) = error {
        // The producer's own mistake is told in words, and so are its records. (AP-011)
        answer.error_message = Some(error.to_string().into());
        if let ValidationError::Failures(failures) = &**error {
            let listed = failures.listed.iter().map(|it| BatchIndexAndErrorMessage {
                batch_index: i32::try_from(it.index).unwrap_or(i32::MAX),
                batch_index_error_message: Some(it.reason.to_string().into()),
                ..BatchIndexAndErrorMessage::default()
            });
            answer.record_errors = listed.collect();
        }
    }
    answer
}

fn add_endpoint(endpoints: &mut Vec<NodeEndpoint>, leader: &CurrentLeader<'_>) {
    let address = leader.endpoint_beside(endpoints.iter().map(|it| it.node_id));
    endpoints.extend(address.map(|it| NodeEndpoint {
        node_id: leader.id,
        host: it.host,
        port: it.port,
        rack: it.rack,
        ..NodeEndpoint::default()
    }));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use klamm_primitives::{BrokerId, LeaderEpoch, PartitionIndex, Uuid};
    use klamm_replica::NotServed;
    use klamm_wire::metadata::partition::PartitionRecord;
    use klamm_wire::metadata::register_broker::{BrokerEndpoint, RegisterBrokerRecord};
    use klamm_wire::metadata::topic::TopicRecord;

    use super::*;
    use crate::layout::{PartitionLayout, TopicLayout};

    fn layout(refused: [Option<ErrorCode>; 3]) -> Layout {
        let partitions = (0..).zip(refused);
        Layout {
            topics: vec![TopicLayout {
                name: "t".into(),
                id: klamm_primitives::Uuid::ONE,
                partitions: partitions
                    .map(|(index, refused)| PartitionLayout {
                        index: PartitionIndex::new(index),
                        refused,
                    })
                    .collect(),
            }],
        }
    }

    fn result(index: i32, result: Result<AppendedRecords, AppendError>) -> PartitionAppended {
        PartitionAppended {
            partition: TopicPartition::new("t", PartitionIndex::new(index)),
            result,
        }
    }

    fn appended(offset: i64) -> AppendedRecords {
        AppendedRecords {
            first_offset: Offset::new(offset),
            last_offset: Offset::new(offset),
            log_append_time_ms: None,
            log_start_offset: Offset::ZERO,
        }
    }

    /// Covers AP-001, AP-002, AP-007, AP-008.
    #[test]
    fn each_partition_is_answered_once_and_in_order_whatever_its_fate() {
        let layout = layout([None, Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), None]);
        let results = || {
            vec![
                result(0, Ok(appended(7))),
                result(2, Err(NotServed::NotLeader.into())),
            ]
        };
        let image = MetadataImage::new("c");
        let answer = response(&layout, results(), &image, "A", 12);
        let partitions = &answer.responses[0].partition_responses;
        let shown: Vec<_> = partitions
            .iter()
            .map(|it| (it.index.get(), it.error_code.get(), it.base_offset.get()))
            .collect();
        assert_eq!(shown, [(0, 0, 7), (1, 3, -1), (2, 6, -1)]);
        assert_eq!(partitions[0].log_append_time_ms, -1);
        assert_eq!(partitions[0].log_start_offset, Offset::ZERO);
        assert_eq!(partitions[1].log_append_time_ms, -1);
        assert_eq!(partitions[1].log_start_offset, Offset::UNKNOWN);
        // Nobody knows the leader, so none is told. (AP-015)
        assert_eq!(partitions[2].current_leader, LeaderIdAndEpoch::default());
        assert!(answer.node_endpoints.is_empty());

        assert_eq!(
            errors(&layout, &results()),
            "t-1: UNKNOWN_TOPIC_OR_PARTITION, t-2: NOT_LEADER_OR_FOLLOWER"
        );
    }

    /// Partition 0 of `t` is led by broker 2, which is at `two:9` by listener `A`.
    fn led_elsewhere() -> MetadataImage {
        let broker = RegisterBrokerRecord {
            broker_id: BrokerId::new(2),
            fenced: false,
            end_points: vec![BrokerEndpoint {
                name: "A".into(),
                host: "two".into(),
                port: 9,
                ..BrokerEndpoint::default()
            }],
            ..RegisterBrokerRecord::default()
        };
        let topic = TopicRecord {
            name: "t".into(),
            topic_id: Uuid::ONE,
            ..TopicRecord::default()
        };
        let partition = |index| PartitionRecord {
            partition_id: PartitionIndex::new(index),
            topic_id: Uuid::ONE,
            replicas: vec![2.into()],
            isr: vec![2.into()],
            leader: 2.into(),
            leader_epoch: LeaderEpoch::new(5),
            ..PartitionRecord::default()
        };
        let records = [
            broker.into(),
            topic.into(),
            partition(0).into(),
            partition(1).into(),
        ];
        let image = MetadataImage::new("c");
        image.apply(&records, image.offset() + 1).unwrap()
    }

    #[test]
    fn ap_015_whoever_asks_the_wrong_broker_is_told_the_leader_and_where_it_is() {
        let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        let layout = layout([None, None, Some(unknown)]);
        let image = led_elsewhere();
        let answered = |listener, version| {
            let moved = |index| result(index, Err(NotServed::NotLeader.into()));
            response(&layout, vec![moved(0), moved(1)], &image, listener, version)
        };
        let answer = answered("A", 10);
        let leaders = answer.responses[0].partition_responses.iter();
        let leaders: Vec<_> = leaders
            .map(|it| &it.current_leader)
            .map(|it| (it.leader_id.get(), it.leader_epoch.get()))
            .collect();
        assert_eq!(leaders, [(2, 5), (2, 5), (-1, -1)]);
        let [at] = &answer.node_endpoints[..] else {
            panic!("each broker once: {answer:?}");
        };
        assert_eq!((at.node_id.get(), &*at.host, at.port), (2, "two", 9));
        // By a listener that it does not have, its address is not told.
        assert!(answered("B", 10).node_endpoints.is_empty());
        let old = answered("A", 9);
        let leader = &old.responses[0].partition_responses[0].current_leader;
        assert_eq!(*leader, LeaderIdAndEpoch::default());
        assert!(old.node_endpoints.is_empty());
    }

    #[test]
    fn ap_011_records_with_bad_timestamps_are_told_by_their_index() {
        let failures = klamm_records::RecordFailures {
            listed: vec![klamm_records::RecordFailure {
                index: 4,
                reason: klamm_records::FailureReason::Timestamp { timestamp_ms: 1 },
            }],
            count: 1,
            any_timestamp: true,
        };
        let error = AppendError::Invalid(Arc::new(ValidationError::Failures(failures)));
        let answer = failed(&error);
        assert_eq!(answer.error_code, ErrorCode::INVALID_TIMESTAMP);
        assert_eq!(answer.record_errors[0].batch_index, 4);
        assert!(answer.record_errors[0].batch_index_error_message.is_some());
        assert!(answer.error_message.is_some());
    }
}
