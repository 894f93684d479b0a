//! Asking the cluster for a producer id. (PR-097, PR-100 to PR-104)

use std::time::Instant;

use klamm_client::{Answer, AnswerError, NetworkClient, NodeId, RequestId, SendOptions};
use klamm_primitives::{ProducerEpoch, ProducerId};
use klamm_wire::ErrorCode;
use klamm_wire::messages::init_producer_id::InitProducerIdRequest;
use tracing::{debug, warn};

use crate::error::Failure;
use crate::idempotence::Identity;
use crate::sender::{Sender, earlier};

/// How far the asking is.
#[derive(Debug, Default)]
pub(super) struct IdRequest {
    /// The request that is out.
    pending: Option<RequestId>,
    /// The next one not before.
    not_before: Option<Instant>,
    /// Which node is to be asked, and since when it is waited for.
    waits_for: Option<(NodeId, Instant)>,
}

impl Sender {
    /// Asks for a producer id where one is needed and nothing stands against it. Returns when to
    /// look again.
    pub(super) fn ask_producer_id(
        &mut self,
        now: Instant,
        client: &mut NetworkClient,
    ) -> Option<Instant> {
        let is_needed = self.idempotence.as_ref().is_some_and(|ids| !ids.has_id());
        if !is_needed || self.id_request.pending.is_some() {
            return None;
        }
        if let Some(not_before) = self.id_request.not_before
            && now < not_before
        {
            return Some(not_before);
        }
        let node = match self.id_request.waits_for {
            Some((node, _)) if self.can_wait_for(node, client) => Some(node),
            _ => client.least_loaded(now).ok().and_then(|found| found.node),
        };
        let Some(node) = node else {
            return self.ask_later(now, client);
        };
        if client.ready(node, now) {
            self.id_request.waits_for = None;
            return self.send_id_request(node, now, client);
        }
        let since = match self.id_request.waits_for {
            Some((waited_for, since)) if waited_for == node => since,
            _ => now,
        };
        let give_up = since + self.rules.request_timeout;
        if give_up <= now {
            return self.ask_later(now, client);
        }
        self.id_request.waits_for = Some((node, since));
        let delay = client.poll_delay(node, now);
        earlier(Some(give_up), delay.map(|delay| now + delay))
    }

    /// Whether a node that is not ready may become so, without another one being dialled.
    fn can_wait_for(&self, node: NodeId, client: &NetworkClient) -> bool {
        self.cluster.node(node).is_some() && !client.connection_failed(node)
    }

    fn send_id_request(
        &mut self,
        node: NodeId,
        now: Instant,
        client: &mut NetworkClient,
    ) -> Option<Instant> {
        let request = InitProducerIdRequest {
            transactional_id: None,
            transaction_timeout_ms: i32::MAX,
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            ..InitProducerIdRequest::default()
        };
        match client.send(node, &request, SendOptions::default(), now) {
            Ok(id) => {
                self.id_request.pending = Some(id);
                None
            }
            Err(_) => self.ask_later(now, client),
        }
    }

    fn ask_later(&mut self, now: Instant, client: &NetworkClient) -> Option<Instant> {
        client.metadata().request_update();
        self.back_off_id_request(now);
        self.id_request.not_before
    }

    /// The wait does not grow from try to try. (PR-100)
    fn back_off_id_request(&mut self, now: Instant) {
        let wait = self
            .rules
            .backoff
            .first
            .max(std::time::Duration::from_millis(1));
        self.id_request.not_before = Some(now + wait);
        self.id_request.waits_for = None;
    }

    pub(super) fn producer_id_answered(&mut self, now: Instant, answer: &Answer) {
        if self.id_request.pending != Some(answer.id) {
            return;
        }
        self.id_request.pending = None;
        let response = match answer.decode::<InitProducerIdRequest>() {
            Ok(response) => response,
            Err(AnswerError::Failed(failure)) if failure.is_disconnect() => {
                debug!(%failure, "no answer to the request for a producer id");
                return self.back_off_id_request(now);
            }
            Err(AnswerError::Failed(failure)) => {
                warn!(%failure, "no producer id can be had");
                return self.fail_for_good(now, Failure::UnsupportedVersion("InitProducerId"));
            }
            Err(AnswerError::Malformed(error)) => {
                warn!(%error, "the answer to the request for a producer id cannot be read");
                return self.back_off_id_request(now);
            }
        };
        match response.error_code {
            ErrorCode::NONE => {
                let identity = Identity {
                    producer_id: response.producer_id,
                    producer_epoch: response.producer_epoch,
                };
                if let Some(idempotence) = &mut self.idempotence {
                    let renumbered = idempotence.set_identity(identity);
                    self.renumber(renumbered);
                }
            }
            code if code.is_retriable() => {
                debug!(%code, "no producer id yet");
                self.back_off_id_request(now);
            }
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED => {
                // What is there fails; permission may come, so it is asked again. (PR-101)
                warn!("not authorized for a producer id");
                self.fail_all(now, &Failure::of(response.error_code));
                self.back_off_id_request(now);
            }
            code => self.fail_for_good(now, Failure::of(code)),
        }
    }
}
