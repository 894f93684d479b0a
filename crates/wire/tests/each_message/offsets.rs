//! ListOffsets and `OffsetForLeaderEpoch`, version by version.

use klamm_primitives::{BrokerId, LeaderEpoch, Offset};
use klamm_wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopic, ListOffsetsTopicResponse,
};
use klamm_wire::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition, OffsetForLeaderTopic, OffsetForLeaderTopicResult,
};
use klamm_wire::{ErrorCode, Message};

use crate::coding::{assert_needs, assert_not_in_version, passed_on};

fn found(partition: ListOffsetsPartitionResponse) -> ListOffsetsResponse {
    ListOffsetsResponse {
        topics: vec![ListOffsetsTopicResponse {
            partitions: vec![partition],
            ..ListOffsetsTopicResponse::default()
        }],
        throttle_time_ms: 4,
        ..ListOffsetsResponse::default()
    }
}

/// Version 0, which asked for several offsets and got a list, is no longer spoken.
#[test]
fn wi_078_one_timestamp_and_one_offset_from_v1_on() {
    assert_eq!(ListOffsetsRequest::VERSIONS.min, 1);
    let request = ListOffsetsRequest {
        replica_id: BrokerId::NONE,
        topics: vec![ListOffsetsTopic {
            partitions: vec![ListOffsetsPartition {
                current_leader_epoch: LeaderEpoch::new(6),
                timestamp: 1234,
                ..ListOffsetsPartition::default()
            }],
            ..ListOffsetsTopic::default()
        }],
        ..ListOffsetsRequest::default()
    };
    let answer = found(ListOffsetsPartitionResponse {
        timestamp: 1234,
        offset: Offset::new(9),
        ..ListOffsetsPartitionResponse::default()
    });
    for version in 1..=ListOffsetsRequest::VERSIONS.max {
        let partition = &passed_on(&request, version).topics[0].partitions[0];
        assert_eq!(partition.timestamp, 1234);
        let epoch = if version >= 4 { 6 } else { -1 };
        assert_eq!(
            partition.current_leader_epoch,
            LeaderEpoch::new(epoch),
            "v{version}"
        );
        let passed = passed_on(&answer, version);
        assert_eq!(passed.throttle_time_ms == 4, version >= 2, "v{version}");
        assert_eq!(passed.topics, answer.topics, "v{version}");
    }
    let committed_only = ListOffsetsRequest {
        isolation_level: 1,
        ..ListOffsetsRequest::default()
    };
    assert_needs(&committed_only, 2, "isolation_level");
    let with_epoch = found(ListOffsetsPartitionResponse {
        leader_epoch: LeaderEpoch::new(3),
        ..ListOffsetsPartitionResponse::default()
    });
    assert_not_in_version(&with_epoch, 3, "topics[0].partitions[0].leader_epoch");
    assert_eq!(passed_on(&with_epoch, 4), with_epoch);
}

#[test]
fn wi_079_special_timestamps_need_versions() {
    let version_min = |timestamp| {
        ListOffsetsPartition {
            timestamp,
            ..ListOffsetsPartition::default()
        }
        .version_min()
    };
    for (timestamp, version) in [
        (0, Some(1)),
        (i64::MAX, Some(1)),
        (-1, Some(1)),
        (-2, Some(1)),
        (-3, Some(7)),
        (-4, Some(8)),
        (-5, Some(9)),
        (-6, Some(11)),
        (-7, None),
        (i64::MIN, None),
    ] {
        assert_eq!(version_min(timestamp), version, "timestamp {timestamp}");
    }
}

#[test]
fn wi_080_a_partition_in_error_has_no_offset_timestamp_or_epoch() {
    let failed = ListOffsetsPartitionResponse {
        error_code: ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ..ListOffsetsPartitionResponse::default()
    };
    assert_eq!((failed.offset, failed.timestamp), (Offset::UNKNOWN, -1));
    assert_eq!(failed.leader_epoch, LeaderEpoch::NONE);
    for version in 1..=ListOffsetsResponse::VERSIONS.max {
        let passed = passed_on(&found(failed.clone()), version);
        assert_eq!(
            passed.topics[0].partitions,
            std::slice::from_ref(&failed),
            "v{version}"
        );
    }
}

#[test]
fn wi_081_offsets_for_leader_epochs() {
    let request = OffsetForLeaderEpochRequest {
        replica_id: BrokerId::new(7),
        topics: vec![OffsetForLeaderTopic {
            partitions: vec![OffsetForLeaderPartition {
                current_leader_epoch: LeaderEpoch::new(5),
                leader_epoch: LeaderEpoch::new(4),
                ..OffsetForLeaderPartition::default()
            }],
            ..OffsetForLeaderTopic::default()
        }],
        ..OffsetForLeaderEpochRequest::default()
    };
    assert_eq!(
        OffsetForLeaderEpochRequest::default().replica_id,
        BrokerId::new(-2)
    );
    let epoch = OffsetForLeaderPartition::default().current_leader_epoch;
    assert_eq!(epoch, LeaderEpoch::NONE);
    for version in 2..=OffsetForLeaderEpochRequest::VERSIONS.max {
        let passed = passed_on(&request, version);
        let replica = if version >= 3 { 7 } else { -2 };
        assert_eq!(passed.replica_id, BrokerId::new(replica), "v{version}");
        assert_eq!(passed.topics, request.topics, "v{version}");
    }
    let undefined = EpochEndOffset {
        error_code: ErrorCode::UNKNOWN_LEADER_EPOCH,
        partition: 2.into(),
        ..EpochEndOffset::default()
    };
    assert_eq!(undefined.leader_epoch, LeaderEpoch::NONE);
    assert_eq!(undefined.end_offset, Offset::UNKNOWN);
    let answer = OffsetForLeaderEpochResponse {
        topics: vec![OffsetForLeaderTopicResult {
            partitions: vec![undefined],
            ..OffsetForLeaderTopicResult::default()
        }],
        ..OffsetForLeaderEpochResponse::default()
    };
    for version in 2..=OffsetForLeaderEpochResponse::VERSIONS.max {
        assert_eq!(passed_on(&answer, version), answer, "v{version}");
    }
}
