//! Produce: batches go into the logs that the node leads.

use std::sync::Arc;

use bytes::Bytes;
use klamm_primitives::{BrokerId, Offset, TopicPartition};
use klamm_records::RecordBatch;
use klamm_wire::messages::produce::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceData,
    PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceData,
    TopicProduceResponse,
};
use klamm_wire::{ErrorCode, RequestFrame};

use super::{Outcome, throttle_time_ms, write};
use crate::fault::{Chosen, Fault};
use crate::model::{Acknowledgement, ClusterModel, SeenBatch};

/// From this version on an answer names the new leader, with its address.
const LEADERS_SINCE: i16 = 10;

/// What all batches of a request have in common.
struct Produced<'a> {
    node: BrokerId,
    version: i16,
    acks: i16,
    timeout_ms: i32,
    faults: &'a [Chosen],
}

impl ClusterModel {
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
        let produced = Produced {
            node,
            version: frame.version(),
            acks: request.acks,
            timeout_ms: request.timeout_ms,
            faults,
        };
        let mut response = ProduceResponse {
            throttle_time_ms: throttle_time_ms(faults),
            ..ProduceResponse::default()
        };
        let mut acknowledged = Vec::new();
        for topic in request.topic_data {
            let name = self.produced_topic(&topic);
            let mut partition_responses = Vec::with_capacity(topic.partition_data.len());
            for data in topic.partition_data {
                let mut answer = PartitionProduceResponse {
                    index: data.index,
                    base_offset: Offset::UNKNOWN,
                    ..PartitionProduceResponse::default()
                };
                match &name {
                    None if topic.topic_id.is_zero() => {
                        answer.error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
                    }
                    None => answer.error_code = ErrorCode::UNKNOWN_TOPIC_ID,
                    Some(name) => {
                        let partition = TopicPartition::new(name.clone(), data.index);
                        match self.append(&produced, &partition, &data) {
                            Ok(acknowledgement) => {
                                answer.base_offset = acknowledgement.base_offset;
                                acknowledged.push(acknowledgement);
                            }
                            Err(code) => answer.error_code = code,
                        }
                        self.tell_more(&produced, &partition, &mut answer, &mut response);
                    }
                }
                partition_responses.push(answer);
            }
            if self.options.reverse_answers {
                partition_responses.reverse();
            }
            response.responses.push(TopicProduceResponse {
                name: topic.name,
                topic_id: topic.topic_id,
                partition_responses,
                ..TopicProduceResponse::default()
            });
        }
        if self.options.reverse_answers {
            response.responses.reverse();
        }
        if request.acks == 0 {
            let mut answers = response
                .responses
                .iter()
                .flat_map(|topic| &topic.partition_responses);
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
        produced: &Produced<'_>,
        partition: &TopicPartition,
        data: &PartitionProduceData,
    ) -> Result<Acknowledgement, ErrorCode> {
        let records = data.records.as_ref().and_then(|records| records.bytes());
        let records = records.cloned().ok_or(ErrorCode::INVALID_RECORD)?;
        self.note_batch(produced, partition, &records);
        if !matches!(produced.acks, -1..=1) {
            return Err(ErrorCode::INVALID_REQUIRED_ACKS);
        }
        let (mut before, mut after) = (None, None);
        for fault in concerning(produced.faults, partition) {
            match fault {
                Fault::Error(code) | Fault::RefuseRecords { code, .. } => before = Some(*code),
                Fault::ErrorAfter(code) => after = Some(*code),
                _ => {}
            }
        }
        if let Some(code) = before
            && (code.is_retriable() || !self.is_stored(partition, &records))
        {
            return Err(code);
        }
        if self.unauthorized.contains(&*partition.topic) {
            return Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
        }
        let (keep, bytes_max) = (self.options.keep_records, self.options.batch_bytes_max);
        let bytes = records.len() as u64;
        let mut codecs = std::mem::take(&mut self.codecs);
        let appended = match self.partition_mut(&partition.topic, partition.partition) {
            None => Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            Some(log) if log.leader != Some(produced.node) => {
                Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)
            }
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
                partition: partition.clone(),
                base_offset: appended.base_offset,
                record_count: appended.record_count,
                is_duplicate: appended.is_duplicate,
            }),
        }
    }

    fn note_batch(&mut self, produced: &Produced<'_>, partition: &TopicPartition, bytes: &Bytes) {
        if self.options.keep_requests
            && let Ok(batch) = RecordBatch::parse(bytes.clone())
        {
            self.batches_seen.push(SeenBatch {
                node: produced.node,
                version: produced.version,
                acks: produced.acks,
                timeout_ms: produced.timeout_ms,
                partition: partition.clone(),
                header: *batch.header(),
            });
        }
    }

    /// Whether a batch comes again that was stored: of such a one no leader finds that it is
    /// wrong.
    fn is_stored(&self, partition: &TopicPartition, records: &Bytes) -> bool {
        let log = self.partition(&partition.topic, partition.partition);
        let batch = RecordBatch::parse(records.clone());
        log.zip(batch.ok())
            .is_some_and(|(log, batch)| log.knows(batch.header()))
    }

    /// What an answer says beside offset and error.
    fn tell_more(
        &self,
        produced: &Produced<'_>,
        partition: &TopicPartition,
        answer: &mut PartitionProduceResponse,
        response: &mut ProduceResponse,
    ) {
        let Some(log) = self.partition(&partition.topic, partition.partition) else {
            return;
        };
        answer.log_start_offset = log.log_start_offset;
        if answer.error_code.is_none() {
            answer.log_append_time_ms = log.append_time_ms;
        }
        for fault in concerning(produced.faults, partition) {
            if let Fault::RefuseRecords { code, records } = fault
                && *code == answer.error_code
            {
                answer.error_message = Some("the batch was refused".into());
                let guilty = records.iter().map(|(index, message)| {
                    let message = message.as_str();
                    BatchIndexAndErrorMessage {
                        batch_index: *index,
                        batch_index_error_message: Some(message.into()),
                        ..BatchIndexAndErrorMessage::default()
                    }
                });
                answer.record_errors.extend(guilty);
            }
        }
        let moved = answer.error_code == ErrorCode::NOT_LEADER_OR_FOLLOWER;
        if !moved || produced.version < LEADERS_SINCE {
            return;
        }
        let Some((id, node)) = log.leader.and_then(|id| Some((id, self.nodes.get(&id)?))) else {
            return;
        };
        answer.current_leader = LeaderIdAndEpoch {
            leader_id: id,
            leader_epoch: log.leader_epoch,
            ..LeaderIdAndEpoch::default()
        };
        let mut known = response.node_endpoints.iter();
        if !known.any(|known| known.node_id == id) {
            response.node_endpoints.push(NodeEndpoint {
                node_id: id,
                host: node.host.as_str().into(),
                port: node.port.into(),
                ..NodeEndpoint::default()
            });
        }
    }
}

fn concerning<'a>(
    faults: &'a [Chosen],
    partition: &'a TopicPartition,
) -> impl Iterator<Item = &'a Fault> {
    let concerned = faults.iter().filter(|chosen| chosen.concerns(partition));
    concerned.map(|chosen| &chosen.fault)
}
