//! Produce: batches go into the logs that the node leads.

use std::sync::Arc;

use klamm_primitives::{BrokerId, LeaderEpoch, Offset, TopicPartition};
use klamm_wire::messages::produce::{
    LeaderIdAndEpoch, NodeEndpoint, PartitionProduceData, PartitionProduceResponse, ProduceRequest,
    ProduceResponse, TopicProduceData, TopicProduceResponse,
};
use klamm_wire::{ErrorCode, RequestFrame};

use super::{Outcome, throttle_time_ms, write};
use crate::fault::{Chosen, Fault};
use crate::model::{Acknowledgement, Model};

/// From this version on an answer names the new leader, with its address.
const LEADERS_SINCE: i16 = 10;

impl Model {
    /// The topic's name, whichever way the request says it.
    pub(crate) fn produced_topic(&self, topic: &TopicProduceData) -> Option<Arc<str>> {
        if topic.topic_id.is_zero() {
            let known = self.topics.get_key_value(&*topic.name);
            known.map(|(name, _)| name.clone())
        } else {
            self.topic_name(topic.topic_id)
        }
    }

    pub(super) fn produce(
        &mut self,
        node: BrokerId,
        frame: &RequestFrame,
        request: ProduceRequest,
        faults: &[Chosen],
    ) -> Outcome {
        let mut response = ProduceResponse {
            throttle_time_ms: throttle_time_ms(faults),
            ..ProduceResponse::default()
        };
        let mut acknowledged = Vec::new();
        let acks = request.acks;
        for topic in request.topic_data {
            let name = self.produced_topic(&topic);
            let mut partition_responses = Vec::with_capacity(topic.partition_data.len());
            for partition in topic.partition_data {
                let mut answer = PartitionProduceResponse {
                    index: partition.index,
                    base_offset: Offset::UNKNOWN,
                    ..PartitionProduceResponse::default()
                };
                let appended = match &name {
                    None if topic.topic_id.is_zero() => Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
                    None => Err(ErrorCode::UNKNOWN_TOPIC_ID),
                    Some(_) if !matches!(acks, -1..=1) => Err(ErrorCode::INVALID_REQUIRED_ACKS),
                    Some(name) => self.append(node, name, &partition, faults),
                };
                match appended {
                    Ok(acknowledgement) => {
                        answer.base_offset = acknowledgement.base_offset;
                        answer.log_start_offset = Offset::ZERO;
                        acknowledged.push(acknowledgement);
                    }
                    Err(code) => answer.error_code = code,
                }
                let moved = answer.error_code == ErrorCode::NOT_LEADER_OR_FOLLOWER;
                if let (true, Some(name)) = (moved && frame.version() >= LEADERS_SINCE, &name) {
                    self.name_leader(name, &mut answer, &mut response);
                }
                partition_responses.push(answer);
            }
            response.responses.push(TopicProduceResponse {
                name: topic.name,
                topic_id: topic.topic_id,
                partition_responses,
                ..TopicProduceResponse::default()
            });
        }
        if acks == 0 {
            let mut answers = response
                .responses
                .iter()
                .flat_map(|t| &t.partition_responses);
            // A client that awaits no answer learns of an error by the loss of its connection.
            return if answers.any(|answer| !answer.error_code.is_none()) {
                Outcome::Close
            } else {
                Outcome::Silence(acknowledged)
            };
        }
        match write::<ProduceRequest>(frame, &response) {
            Outcome::Write(frame, _) => Outcome::Write(frame, acknowledged),
            other => other,
        }
    }

    fn append(
        &mut self,
        node: BrokerId,
        topic: &Arc<str>,
        data: &PartitionProduceData,
        faults: &[Chosen],
    ) -> Result<Acknowledgement, ErrorCode> {
        let partition = TopicPartition::new(topic.clone(), data.index);
        let mut after = None;
        for chosen in faults.iter().filter(|chosen| chosen.concerns(&partition)) {
            match chosen.fault {
                Fault::Error(code) => return Err(code),
                Fault::ErrorAfter(code) => after = Some(code),
                _ => {}
            }
        }
        if self.unauthorized.contains(&**topic) {
            return Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
        }
        let (keep, bytes_max) = (self.options.keep_records, self.options.batch_bytes_max);
        let records = data.records.as_ref().and_then(|records| records.bytes());
        let records = records.cloned().ok_or(ErrorCode::INVALID_RECORD)?;
        let bytes = records.len() as u64;
        let mut codecs = std::mem::take(&mut self.codecs);
        let log = self.partition(topic, data.index);
        let appended = match log {
            None => Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            Some(log) if log.leader != Some(node) => Err(ErrorCode::NOT_LEADER_OR_FOLLOWER),
            Some(log) => log.append(records, bytes_max, keep, &mut codecs),
        };
        self.codecs = codecs;
        let appended = appended?;
        if !appended.is_duplicate {
            self.stored.0 += u64::from(appended.record_count.unsigned_abs());
            self.stored.1 += bytes;
        }
        match after {
            Some(code) => Err(code),
            None => Ok(Acknowledgement {
                partition,
                base_offset: appended.base_offset,
                record_count: appended.record_count,
                is_duplicate: appended.is_duplicate,
            }),
        }
    }

    fn name_leader(
        &mut self,
        topic: &str,
        answer: &mut PartitionProduceResponse,
        response: &mut ProduceResponse,
    ) {
        let Some(log) = self.partition(topic, answer.index) else {
            return;
        };
        let (leader, leader_epoch): (_, LeaderEpoch) = (log.leader, log.leader_epoch);
        let Some((id, node)) = leader.and_then(|id| Some((id, self.nodes.get(&id)?))) else {
            return;
        };
        answer.current_leader = LeaderIdAndEpoch {
            leader_id: id,
            leader_epoch,
            ..LeaderIdAndEpoch::default()
        };
        let known = response
            .node_endpoints
            .iter()
            .any(|known| known.node_id == id);
        if !known {
            response.node_endpoints.push(NodeEndpoint {
                node_id: id,
                host: node.host.as_str().into(),
                port: node.address.port().into(),
                ..NodeEndpoint::default()
            });
        }
    }
}
