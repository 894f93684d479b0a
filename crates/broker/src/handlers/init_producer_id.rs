//! `InitProducerId` (key 22), for idempotent producers.
//!
//! v3 lets a producer tell the id that it has; without a transactional id it gets a new one all the
//! same. Differs from Apache Kafka: there is no coordinator of transactions, so that a request with
//! a transactional id is refused for good.

use std::sync::Arc;

use klamm_controller::{AllocateProducerIds, ProducerIdBlock};
use klamm_io::{Clock, Disk};
use klamm_network::Parked;
use klamm_primitives::{ProducerEpoch, ProducerId};
use klamm_wire::ErrorCode;
use klamm_wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use tracing::warn;

use crate::call::Call;
use crate::error_code;
use crate::node::Node;

pub(super) fn handle<D: Disk, C: Clock>(node: &Arc<Node<D, C>>, call: Call<D::File>) {
    let Some((call, request)) = call.decode::<InitProducerIdRequest>() else {
        return;
    };
    if let Some(code) = refusal(&request) {
        call.answer(&failed(code));
        return;
    }
    if let Some(id) = node.producer_ids.take() {
        call.answer(&given(id));
        return;
    }
    let call = call.park(Parked::Other);
    let node = Arc::clone(node);
    node.clone().runtime.spawn(async move {
        match node.producer_ids.take_or(ask(&node)).await {
            Ok(id) => call.answer(&given(id)),
            Err(code) => call.answer(&failed(code)),
        }
    });
}

/// Asks the controller for a block of ids.
async fn ask<D: Disk, C: Clock>(node: &Node<D, C>) -> Result<ProducerIdBlock, ErrorCode> {
    let request = AllocateProducerIds {
        broker: node.id(),
        epoch: node.epoch(),
    };
    let asked = node.controller.allocate_producer_ids(request, None).await;
    asked.map_err(|error| {
        warn!(
            error = &error as &dyn std::error::Error,
            "no producer ids to be had"
        );
        error_code::of_producer_ids(&error)
    })
}

/// Why a request gets no id, if it does not.
fn refusal(request: &InitProducerIdRequest) -> Option<ErrorCode> {
    let has_id = request.producer_id != ProducerId::NONE;
    let has_epoch = request.producer_epoch != ProducerEpoch::NONE;
    match request.transactional_id.as_deref() {
        Some("") => Some(ErrorCode::INVALID_REQUEST),
        _ if has_id != has_epoch => Some(ErrorCode::INVALID_REQUEST),
        Some(_) => Some(ErrorCode::UNSUPPORTED_VERSION),
        None => None,
    }
}

fn given(producer_id: ProducerId) -> InitProducerIdResponse {
    InitProducerIdResponse {
        producer_id,
        producer_epoch: ProducerEpoch::new(0),
        ..InitProducerIdResponse::default()
    }
}

fn failed(error_code: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse {
        error_code,
        producer_epoch: ProducerEpoch::NONE,
        ..InitProducerIdResponse::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_idempotent_producers_get_an_id() {
        let request = |transactional_id: Option<&'static str>| InitProducerIdRequest {
            transactional_id: transactional_id.map(Into::into),
            ..InitProducerIdRequest::default()
        };
        assert_eq!(refusal(&request(None)), None);
        assert_eq!(
            refusal(&request(Some(""))),
            Some(ErrorCode::INVALID_REQUEST)
        );
        let transactional = refusal(&request(Some("t")));
        assert_eq!(transactional, Some(ErrorCode::UNSUPPORTED_VERSION));
        let half = InitProducerIdRequest {
            producer_id: ProducerId::new(5),
            ..request(None)
        };
        assert_eq!(refusal(&half), Some(ErrorCode::INVALID_REQUEST));
    }
}
