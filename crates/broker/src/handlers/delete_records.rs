//! `DeleteRecords` (key 21): deletes the oldest records of partitions.
//!
//! v1 lets the client wait out a throttle, v2 is flexible. Offset -1 is the high watermark.

use std::sync::Arc;
use std::time::Duration;

use klamm_io::{Clock, Disk};
use klamm_network::Parked;
use klamm_primitives::Offset;
use klamm_replica::{DeleteRecordsOutcome, PartitionDeleted};
use klamm_wire::ErrorCode;
use klamm_wire::messages::delete_records::{
    DeleteRecordsPartitionResult, DeleteRecordsRequest, DeleteRecordsResponse,
    DeleteRecordsTopicResult,
};

use super::Ticket;
use crate::call::{Call, ParkedCall};
use crate::error_code;
use crate::layout::{Layout, Named};
use crate::node::Node;

/// A request that waits until all replicas have deleted.
pub(crate) struct Waiting<F> {
    call: ParkedCall<F>,
    layout: Layout,
}

impl<F> Waiting<F> {
    /// Answers with what has become of the partitions that were passed on.
    pub(crate) fn answer(self, results: Vec<PartitionDeleted>) {
        self.call.answer(&response(&self.layout, results));
    }
}

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let Some((call, request)) = call.decode::<DeleteRecordsRequest>() else {
        return;
    };
    let image = node.image();
    let mut layout = Layout::with_capacity(request.topics.len());
    let mut entries = Vec::new();
    for topic in &request.topics {
        let named = Named::Name(&topic.name);
        let mut open = layout.topic(&image, named, topic.partitions.len());
        for asked in &topic.partitions {
            if let Some(partition) = open.partition(asked.partition_index) {
                let before = Some(asked.offset).filter(|it| *it != Offset::UNKNOWN);
                entries.push((partition, before));
            }
        }
    }
    let timeout_ms = u64::try_from(request.timeout_ms).unwrap_or(0);
    let deletion = klamm_replica::DeleteRecordsRequest {
        timeout: Duration::from_millis(timeout_ms),
        entries,
    };
    let (outcome, then) = node.replicas.delete_records(deletion, node.clock.now());
    match outcome {
        DeleteRecordsOutcome::Done(results) => call.answer(&response(&layout, results)),
        DeleteRecordsOutcome::Waits(wait) => {
            let call = call.park(Parked::Other);
            let ticket = Ticket::DeleteRecords(Waiting { call, layout });
            let mut finished = Vec::new();
            node.replicas
                .wait_delete_records(wait, ticket, &mut finished);
            node.settle(finished);
        }
    }
    node.follow_up(then);
}

fn response(layout: &Layout, results: Vec<PartitionDeleted>) -> DeleteRecordsResponse {
    let mut results = results.into_iter();
    let mut topics = Vec::with_capacity(layout.topics.len());
    for topic in &layout.topics {
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let result = match partition.refused {
                Some(code) => Err(code),
                None => match results.next().map(|it| it.result) {
                    Some(result) => result.map_err(|error| error_code::of_delete_records(&error)),
                    None => Err(ErrorCode::UNKNOWN_SERVER_ERROR),
                },
            };
            partitions.push(DeleteRecordsPartitionResult {
                partition_index: partition.index,
                low_watermark: result.unwrap_or(Offset::UNKNOWN),
                error_code: result.err().unwrap_or_default(),
                ..DeleteRecordsPartitionResult::default()
            });
        }
        topics.push(DeleteRecordsTopicResult {
            name: (&*topic.name).into(),
            partitions,
            ..DeleteRecordsTopicResult::default()
        });
    }
    DeleteRecordsResponse {
        topics,
        ..DeleteRecordsResponse::default()
    }
}
