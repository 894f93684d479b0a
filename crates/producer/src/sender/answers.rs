//! What is made of the answer to a produce request. (P7)

use std::sync::Arc;
use std::time::Instant;

use klamm_client::{Answer, AnswerError, Failure as NoAnswer, LeaderChange, NetworkClient, Node};
use klamm_primitives::{LeaderEpoch, Offset};
use klamm_wire::ErrorCode;
use klamm_wire::messages::produce::{
    NodeEndpoint, PartitionProduceResponse, ProduceRequest, ProduceResponse,
};
use tracing::{debug, warn};

use crate::completion::Outcome;
use crate::config::Acks;
use crate::error::Failure;
use crate::sender::Sender;
use crate::sender::in_flight::InFlight;

/// From here on an answer names topics by their ids.
const BY_ID: i16 = 13;

/// What a broker, or the lack of an answer, says of one batch.
pub(super) struct Verdict {
    pub(super) code: ErrorCode,
    pub(super) response: Option<PartitionProduceResponse>,
}

impl Verdict {
    fn without_answer(code: ErrorCode) -> Self {
        Self {
            code,
            response: None,
        }
    }

    pub(super) fn log_start_offset(&self) -> Offset {
        let response = self.response.as_ref();
        response.map_or(Offset::UNKNOWN, |response| response.log_start_offset)
    }
}

impl Sender {
    /// Settles all batches of a request, each by its own part of the answer. (P7.1, PR-065)
    pub(super) fn produce_answered(
        &mut self,
        now: Instant,
        answer: &Answer,
        client: &mut NetworkClient,
    ) {
        let Some(mut in_flight) = self.in_flight.remove(&answer.id) else {
            return;
        };
        self.shared.metrics.request_done(answer.latency(), now);
        if self.rules.acks == Acks::None && answer.outcome.is_ok() {
            for mut batch in in_flight.into_batches() {
                let outcome = Outcome::Written {
                    base_offset: Offset::UNKNOWN,
                    append_time_ms: -1,
                };
                self.settle(&mut batch, outcome);
                batch.release();
            }
            return;
        }
        match answer.decode::<ProduceRequest>() {
            Ok(response) => {
                let throttle = response.throttle_time_ms;
                self.shared.metrics.throttled(throttle, now);
                Self::learn_leaders(&in_flight, answer.version, &response, client);
                self.apply(now, &mut in_flight, answer.version, response, client);
                // What the broker passed over was perhaps written, perhaps not.
                let code = ErrorCode::NETWORK_EXCEPTION;
                self.answer_rest(now, in_flight, code, client);
            }
            Err(AnswerError::Failed(NoAnswer::TimedOut)) => {
                let code = ErrorCode::REQUEST_TIMED_OUT;
                self.answer_rest(now, in_flight, code, client);
            }
            Err(AnswerError::Failed(failure)) if failure.is_disconnect() => {
                debug!(node = %answer.node, %failure, "a produce request has no answer");
                let code = ErrorCode::NETWORK_EXCEPTION;
                self.answer_rest(now, in_flight, code, client);
            }
            Err(AnswerError::Failed(failure)) => {
                warn!(node = %answer.node, %failure, "batches cannot be sent");
                for batch in in_flight.into_batches() {
                    self.refuse(now, batch, Failure::UnsupportedVersion("Produce"));
                }
                if self.idempotence.is_some() {
                    self.fail_for_good(now, Failure::UnsupportedVersion("Produce"));
                }
            }
            Err(AnswerError::Malformed(error)) => {
                warn!(node = %answer.node, %error, "the answer to a produce request cannot be read");
                client.disconnect(answer.node, now);
                let code = ErrorCode::NETWORK_EXCEPTION;
                self.answer_rest(now, in_flight, code, client);
            }
        }
    }

    fn apply(
        &mut self,
        now: Instant,
        in_flight: &mut InFlight,
        version: i16,
        response: ProduceResponse,
        client: &NetworkClient,
    ) {
        for topic in response.responses {
            let by_id = in_flight.topic_name(topic.topic_id).cloned();
            let name = match by_id {
                Some(name) if version >= BY_ID => name,
                _ => Arc::from(&*topic.name),
            };
            for partition in topic.partition_responses {
                let Some(batch) = in_flight.take(&name, partition.index) else {
                    let partition = partition.index;
                    warn!(%name, %partition, "an answer for a partition that was not asked for");
                    continue;
                };
                let verdict = Verdict {
                    code: partition.error_code,
                    response: Some(partition),
                };
                self.complete(now, batch, &verdict, client);
            }
        }
    }

    /// Settles all batches that have no part of an answer.
    fn answer_rest(
        &mut self,
        now: Instant,
        in_flight: InFlight,
        code: ErrorCode,
        client: &NetworkClient,
    ) {
        for batch in in_flight.into_batches() {
            self.complete(now, batch, &Verdict::without_answer(code), client);
        }
    }

    /// Takes in newer leaders that the answer names, so that batches go to them at once. (P7.7,
    /// PR-078)
    fn learn_leaders(
        in_flight: &InFlight,
        version: i16,
        response: &ProduceResponse,
        client: &NetworkClient,
    ) {
        let mut changes = Vec::new();
        for topic in &response.responses {
            for partition in &topic.partition_responses {
                let moved = matches!(
                    partition.error_code,
                    ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH
                );
                let leader = &partition.current_leader;
                let is_named = leader.leader_id.get() >= 0 && leader.leader_epoch.get() >= 0;
                if !moved || !is_named {
                    continue;
                }
                let name = match in_flight.topic_name(topic.topic_id) {
                    Some(name) if version >= BY_ID => Arc::clone(name),
                    _ => Arc::from(&*topic.name),
                };
                changes.push(LeaderChange {
                    partition: klamm_primitives::TopicPartition::new(name, partition.index),
                    leader: leader.leader_id.into(),
                    leader_epoch: LeaderEpoch::new(leader.leader_epoch.get()),
                });
            }
        }
        if !changes.is_empty() {
            let nodes: Vec<Node> = response.node_endpoints.iter().filter_map(node).collect();
            client.metadata().learn_leaders(&changes, &nodes);
        }
    }
}

fn node(endpoint: &NodeEndpoint) -> Option<Node> {
    Some(Node {
        id: endpoint.node_id.into(),
        host: (*endpoint.host).into(),
        port: u16::try_from(endpoint.port).ok()?,
        rack: endpoint.rack.as_ref().map(|rack| (**rack).into()),
    })
}
