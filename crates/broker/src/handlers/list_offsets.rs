//! ListOffsets (key 2).
//!
//! v2 asks for committed transactions, v4 fences by leader epoch and tells one, v7 finds the
//! largest timestamp (-3), v8 and above know places in remote storage: without any, the first
//! local offset (-4) is the first one, and the others are nowhere. Below v5 clients do not know
//! that a new leader may not be able to tell yet.

use std::sync::Arc;

use klamm_io::{Clock, Disk};
use klamm_log::Isolation;
use klamm_primitives::{BrokerId, LeaderEpoch, Offset};
use klamm_replica::{OffsetQuery, OffsetTarget};
use klamm_wire::ErrorCode;
use klamm_wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse,
};

use crate::call::Call;
use crate::error_code;
use crate::layout::{Layout, Named};
use crate::node::Node;

/// A client that looks for faults, and may ask any replica.
const DEBUGGER: BrokerId = BrokerId::new(-2);

/// The first version that tells a leader epoch.
const EPOCHS_SINCE: i16 = 4;

/// The first version whose clients know `OFFSET_NOT_AVAILABLE`.
const NOT_AVAILABLE_SINCE: i16 = 5;

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let version = call.version();
    let Some((call, request)) = call.decode::<ListOffsetsRequest>() else {
        return;
    };
    let image = node.image();
    let isolation = isolation(&request);
    let mut layout = Layout::with_capacity(request.topics.len());
    let topics = node.codecs.lend(|codecs| {
        let topics = request.topics.iter().map(|topic| {
            let named = Named::Name(&topic.name);
            let mut open = layout.topic(&image, named, topic.partitions.len());
            let partitions = topic.partitions.iter().map(|asked| {
                let Some(partition) = open.partition(asked.partition_index) else {
                    return failed(asked, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
                };
                let Some(place) = place(asked, version) else {
                    return failed(asked, ErrorCode::UNSUPPORTED_VERSION);
                };
                let Place::Of(target) = place else {
                    return nowhere(asked);
                };
                let query = OffsetQuery {
                    target,
                    isolation,
                    current_leader_epoch: Some(asked.current_leader_epoch)
                        .filter(|it| *it != LeaderEpoch::NONE),
                    from_any_replica: request.replica_id == DEBUGGER,
                };
                match node.replicas.list_offsets(&partition, &query, codecs) {
                    Ok(Some(found)) => ListOffsetsPartitionResponse {
                        timestamp: found.timestamp_ms.unwrap_or(-1),
                        offset: found.offset,
                        leader_epoch: found
                            .leader_epoch
                            .filter(|_| version >= EPOCHS_SINCE)
                            .unwrap_or(LeaderEpoch::NONE),
                        ..nowhere(asked)
                    },
                    Ok(None) => nowhere(asked),
                    Err(error) => match error_code::of_offset(&error) {
                        ErrorCode::OFFSET_NOT_AVAILABLE if version < NOT_AVAILABLE_SINCE => {
                            failed(asked, ErrorCode::LEADER_NOT_AVAILABLE)
                        }
                        code => failed(asked, code),
                    },
                }
            });
            ListOffsetsTopicResponse {
                name: topic.name.clone(),
                partitions: partitions.collect(),
                ..ListOffsetsTopicResponse::default()
            }
        });
        topics.collect()
    });
    call.answer(&ListOffsetsResponse {
        topics,
        ..ListOffsetsResponse::default()
    });
}

/// How far the client may see: replicas and debuggers to the log end. (AP-057)
fn isolation(request: &ListOffsetsRequest) -> Isolation {
    if request.replica_id != BrokerId::NONE {
        Isolation::LogEnd
    } else if request.isolation_level == 1 {
        Isolation::Committed
    } else {
        Isolation::HighWatermark
    }
}

/// What a timestamp asks for.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Of(OffsetTarget),
    /// In remote storage, which there is none of.
    Remote,
}

/// What a timestamp asks for; `None` if it means nothing in this version. (AP-060)
fn place(asked: &ListOffsetsPartition, version: i16) -> Option<Place> {
    if asked.version_min().is_none_or(|min| version < min) {
        return None;
    }
    Some(match asked.timestamp {
        ListOffsetsPartition::LATEST => Place::Of(OffsetTarget::Latest),
        ListOffsetsPartition::EARLIEST | ListOffsetsPartition::EARLIEST_LOCAL => {
            Place::Of(OffsetTarget::Earliest)
        }
        ListOffsetsPartition::MAX_TIMESTAMP => Place::Of(OffsetTarget::MaxTimestamp),
        timestamp if timestamp >= 0 => Place::Of(OffsetTarget::AtOrAfter(timestamp)),
        _ => Place::Remote,
    })
}

fn nowhere(asked: &ListOffsetsPartition) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse {
        partition_index: asked.partition_index,
        timestamp: -1,
        offset: Offset::UNKNOWN,
        ..ListOffsetsPartitionResponse::default()
    }
}

fn failed(asked: &ListOffsetsPartition, error_code: ErrorCode) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse {
        error_code,
        ..nowhere(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_060_places_are_known_from_some_version_on() {
        let place = |timestamp, version| {
            let asked = ListOffsetsPartition {
                timestamp,
                ..ListOffsetsPartition::default()
            };
            place(&asked, version)
        };
        let of = |target| Some(Place::Of(target));
        assert_eq!(place(0, 1), of(OffsetTarget::AtOrAfter(0)));
        assert_eq!(place(-1, 1), of(OffsetTarget::Latest));
        assert_eq!(place(-2, 1), of(OffsetTarget::Earliest));
        assert_eq!(place(-3, 6), None);
        assert_eq!(place(-3, 7), of(OffsetTarget::MaxTimestamp));
        assert_eq!(place(-4, 7), None);
        assert_eq!(place(-4, 8), of(OffsetTarget::Earliest));
        assert_eq!(place(-5, 8), None);
        assert_eq!(place(-5, 9), Some(Place::Remote));
        assert_eq!(place(-7, 11), None);
        assert_eq!(place(i64::MIN, 11), None);
    }

    #[test]
    fn ap_057_who_asks_decides_how_far_is_seen() {
        let request = |replica: i32, isolation_level| ListOffsetsRequest {
            replica_id: replica.into(),
            isolation_level,
            ..ListOffsetsRequest::default()
        };
        assert_eq!(isolation(&request(-1, 0)), Isolation::HighWatermark);
        assert_eq!(isolation(&request(-1, 1)), Isolation::Committed);
        assert_eq!(isolation(&request(2, 1)), Isolation::LogEnd);
        assert_eq!(isolation(&request(-2, 0)), Isolation::LogEnd);
    }
}
