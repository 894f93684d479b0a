//! `OffsetForLeaderEpoch` (key 23): where leader epochs ended.
//!
//! v3 tells the follower, v4 is flexible. Unknown epochs are -1 and -1, without an error.

use std::sync::Arc;

use klamm_io::{Clock, Disk};
use klamm_primitives::LeaderEpoch;
use klamm_wire::ErrorCode;
use klamm_wire::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition, OffsetForLeaderTopicResult,
};

use crate::call::Call;
use crate::error_code;
use crate::layout::{Layout, Named};
use crate::node::Node;

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let Some((call, request)) = call.decode::<OffsetForLeaderEpochRequest>() else {
        return;
    };
    let image = node.image();
    let mut layout = Layout::with_capacity(request.topics.len());
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let named = Named::Name(&topic.topic);
        let mut open = layout.topic(&image, named, topic.partitions.len());
        let look_up = |asked: &OffsetForLeaderPartition| {
            let Some(partition) = open.partition(asked.partition) else {
                return failed(asked, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
            };
            let current = asked.current_leader_epoch;
            let current = Some(current).filter(|it| *it != LeaderEpoch::NONE);
            let replicas = &node.replicas;
            match replicas.offset_for_leader_epoch(&partition, current, asked.leader_epoch) {
                Ok(Some(end)) => EpochEndOffset {
                    leader_epoch: end.epoch,
                    end_offset: end.end_offset,
                    ..failed(asked, ErrorCode::NONE)
                },
                Ok(None) => failed(asked, ErrorCode::NONE),
                Err(error) => failed(asked, error_code::of_not_served(error)),
            }
        };
        topics.push(OffsetForLeaderTopicResult {
            topic: topic.topic.clone(),
            partitions: topic.partitions.iter().map(look_up).collect(),
            ..OffsetForLeaderTopicResult::default()
        });
    }
    call.answer(&OffsetForLeaderEpochResponse {
        topics,
        ..OffsetForLeaderEpochResponse::default()
    });
}

/// An answer without an offset.
fn failed(asked: &OffsetForLeaderPartition, error_code: ErrorCode) -> EpochEndOffset {
    EpochEndOffset {
        error_code,
        partition: asked.partition,
        ..EpochEndOffset::default()
    }
}
