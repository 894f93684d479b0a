//! What the nodes answer.

mod metadata;
mod produce;

use klamm_primitives::{BrokerId, ProducerEpoch, ProducerId};
use klamm_wire::messages::api_versions::{ApiVersion, ApiVersionsRequest, ApiVersionsResponse};
use klamm_wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use klamm_wire::messages::metadata::MetadataRequest;
use klamm_wire::messages::produce::ProduceRequest;
use klamm_wire::{
    ApiKey, ApiSet, Encoded, ErrorCode, Listener, Offer, Request, RequestFrame, Versions,
    encode_response,
};

use crate::fault::{Chosen, Fault};
use crate::model::{Acknowledgement, ClusterModel, Node};

/// What a node does with a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It writes this; then these count as acknowledged.
    Write(Encoded, Vec<Acknowledgement>),
    /// It writes nothing: the client expects nothing. These count as acknowledged.
    Silence(Vec<Acknowledgement>),
    /// It closes the connection.
    Close,
}

/// What the nodes can at most be asked.
const SERVED: [ApiKey; 4] = [
    ApiKey::Produce,
    ApiKey::Metadata,
    ApiKey::ApiVersions,
    ApiKey::InitProducerId,
];

/// Any request that the protocol knows, so that the header of each can be read.
pub(crate) const OFFER: Offer = Offer {
    listener: Listener::Broker,
    unstable: true,
    telemetry: true,
    apis: ApiSet::ALL,
};

impl Node {
    /// The versions of a request that the node takes.
    fn takes(&self, key: ApiKey) -> Option<Versions> {
        match self.versions.get(&key) {
            Some(versions) => *versions,
            None if SERVED.contains(&key) => key.served(false),
            None => None,
        }
    }
}

/// The error by which a rule wants a request, or all its partitions, to fail.
pub(crate) fn error_before(faults: &[Chosen]) -> Option<ErrorCode> {
    faults.iter().find_map(|chosen| match chosen.fault {
        Fault::Error(code) => Some(code),
        _ => None,
    })
}

fn throttle_time_ms(faults: &[Chosen]) -> i32 {
    let throttle = faults.iter().find_map(|chosen| match chosen.fault {
        Fault::Throttle(time) => Some(time.as_millis()),
        _ => None,
    });
    i32::try_from(throttle.unwrap_or(0)).unwrap_or(i32::MAX)
}

impl ClusterModel {
    /// Carries a request out.
    pub(crate) fn answer(
        &mut self,
        node: BrokerId,
        request: &RequestFrame,
        faults: &[Chosen],
    ) -> Outcome {
        let takes = self
            .nodes
            .get(&node)
            .and_then(|node| node.takes(request.key));
        let version = request.version();
        if !takes.is_some_and(|versions| versions.contains(version)) {
            return match request.key {
                ApiKey::ApiVersions => self.too_new(node, request),
                _ => Outcome::Close,
            };
        }
        match request.key {
            ApiKey::ApiVersions => {
                let response = self.api_versions(node, faults);
                write::<ApiVersionsRequest>(request, &response)
            }
            ApiKey::Metadata => match request.decode::<MetadataRequest>() {
                Ok(body) => {
                    let response = self.metadata(&body, faults);
                    write::<MetadataRequest>(request, &response)
                }
                Err(_) => Outcome::Close,
            },
            ApiKey::InitProducerId => match request.decode::<InitProducerIdRequest>() {
                Ok(body) => {
                    let response = self.init_producer_id(&body, faults);
                    if self.options.keep_requests {
                        self.producer_ids_asked_for.push(body);
                    }
                    write::<InitProducerIdRequest>(request, &response)
                }
                Err(_) => Outcome::Close,
            },
            ApiKey::Produce => match request.decode::<ProduceRequest>() {
                Ok(body) => self.produce(node, request, body, faults),
                Err(_) => Outcome::Close,
            },
            _ => Outcome::Close,
        }
    }

    fn api_versions(&self, node: BrokerId, faults: &[Chosen]) -> ApiVersionsResponse {
        let node = &self.nodes[&node];
        let listed = ApiKey::ALL.iter().filter_map(|key| {
            let versions = node.takes(*key)?;
            Some(ApiVersion::new(*key, versions))
        });
        ApiVersionsResponse {
            error_code: error_before(faults).unwrap_or_default(),
            api_keys: listed.collect(),
            throttle_time_ms: throttle_time_ms(faults),
            ..ApiVersionsResponse::default()
        }
    }

    /// The answer to a version of ApiVersions that the node does not take.
    fn too_new(&self, node: BrokerId, request: &RequestFrame) -> Outcome {
        let takes = self
            .nodes
            .get(&node)
            .and_then(|node| node.takes(request.key));
        let response = ApiVersionsResponse {
            error_code: ErrorCode::UNSUPPORTED_VERSION,
            api_keys: takes
                .map(|versions| ApiVersion::new(request.key, versions))
                .into_iter()
                .collect(),
            ..ApiVersionsResponse::default()
        };
        write_in::<ApiVersionsRequest>(request, &response, 0)
    }

    fn init_producer_id(
        &mut self,
        request: &InitProducerIdRequest,
        faults: &[Chosen],
    ) -> InitProducerIdResponse {
        let mut response = InitProducerIdResponse {
            throttle_time_ms: throttle_time_ms(faults),
            ..InitProducerIdResponse::default()
        };
        if let Some(code) = error_before(faults) {
            response.error_code = code;
            return response;
        }
        let known = self.producers.get(&request.producer_id);
        let raised =
            known.filter(|epoch| **epoch == request.producer_epoch && epoch.get() < i16::MAX - 1);
        let (id, epoch) = if let Some(epoch) = raised {
            (request.producer_id, ProducerEpoch::new(epoch.get() + 1))
        } else {
            let count = i64::try_from(self.producers.len()).unwrap_or(i64::MAX);
            let id = ProducerId::new(FIRST_PRODUCER_ID.saturating_add(count));
            let epoch = std::mem::replace(&mut self.next_producer_epoch, ProducerEpoch::new(0));
            (id, epoch)
        };
        self.producers.insert(id, epoch);
        response.producer_id = id;
        response.producer_epoch = epoch;
        response
    }
}

/// Not 0, so that an id that was never set is seen.
const FIRST_PRODUCER_ID: i64 = 1_000;

fn write<R: Request>(request: &RequestFrame, response: &R::Response) -> Outcome {
    write_in::<R>(request, response, request.version())
}

fn write_in<R: Request>(request: &RequestFrame, response: &R::Response, version: i16) -> Outcome {
    let encoded = encode_response(request.header.correlation_id, response, version);
    match encoded {
        Ok(frame) => Outcome::Write(frame, Vec::new()),
        Err(error) => {
            tracing::error!(%error, "response cannot be written");
            Outcome::Close
        }
    }
}
